// circuit: gates by level from left to right, with the critical path.
views.circuit = (box, data) => {
  const g = data.graph, inputs = g.inputs.length, gates = g.kind.length, nodes = 1 + inputs + gates;
  const level = data.level, path = new Set(data.path), host = el("div", {class: "stage"});
  const depth = data.depth, columns = Array.from({length: depth + 1}, () => []), rank = new Float64Array(nodes);
  const fanins = id => id <= inputs ? [] : [0, 1, 2].map(j => g.fanins[3 * (id - 1 - inputs) + j] >> 1).filter(f => f > 0);
  for (let id = 1; id < nodes; id++) columns[level[id]].push(id);
  // A gate stands near the middle of what it reads.
  columns[0].forEach((id, i) => { rank[id] = i / Math.max(1, columns[0].length); });
  for (let l = 1; l <= depth; l++) {
    for (const id of columns[l]) {
      const f = fanins(id);
      rank[id] = f.length ? f.reduce((s, x) => s + rank[x], 0) / f.length : 0;
    }
    columns[l].sort((a, b) => rank[a] - rank[b] || a - b);
    columns[l].forEach((id, i) => { rank[id] = (i + .5) / columns[l].length; });
  }
  const tallest = Math.max(...columns.map(c => c.length));
  const small = nodes <= 400;
  const dx0 = small ? 84 : Math.max(7, Math.min(40, 1100 / (depth + 1))), dy0 = Math.max(small ? 22 : 2, Math.min(26, 520 / tallest));
  let dx = dx0, dy = dy0, hot = -1;
  const spot = new Map();
  const position = id => spot.get(id);
  const arrange = () => {
    const h = Math.max(tallest * dy, small ? 120 : 300);
    columns.forEach((c, l) => {
      const step = Math.min(dy * 2.2, h / c.length), top = (h - step * c.length) / 2;
      c.forEach((id, i) => spot.set(id, [24 + (l + .5) * dx, 26 + top + (i + .5) * step]));
    });
    p.size(48 + (depth + 1) * dx, h + 52);
  };
  const fanouts = id => {
    if (!outs) { outs = new Map(); for (let n = inputs + 1; n < nodes; n++) for (const f of fanins(n)) { const l = outs.get(f); if (l) l.push(n); else outs.set(f, [n]); } }
    return outs.get(id) || [];
  };
  let outs = null;
  const name = id => nodeText(g, 2 * id, 0);
  const draw = (ctx, left, top, w, h, ratio) => {
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour("bg");
    ctx.fillRect(0, 0, w, h);
    ctx.translate(-left, -top);
    const c = ["", colour("k1"), colour("k2"), colour("k3")], l0 = Math.max(0, Math.floor((left - 24) / dx) - 1), l1 = Math.min(depth, Math.ceil((left + w) / dx) + 1);
    ctx.font = "11px system-ui, sans-serif";
    ctx.fillStyle = colour("soft");
    ctx.textAlign = "center";
    const every = Math.max(1, Math.ceil(36 / dx));
    for (let l = l0; l <= l1; l++) if (l % every === 0) ctx.fillText(l, 24 + (l + .5) * dx, top + 14);
    const wire = (a, b, col, width) => {
      const [x1, y1] = position(a), [x2, y2] = position(b);
      ctx.strokeStyle = col;
      ctx.lineWidth = width;
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.bezierCurveTo(x1 + (x2 - x1) * .5, y1, x2 - (x2 - x1) * .5, y2, x2, y2);
      ctx.stroke();
    };
    if (gates <= 3000) {
      ctx.globalAlpha = small ? .7 : .25;
      for (let l = l0; l <= Math.min(depth, l1 + 12); l++) for (const id of columns[l]) for (const f of fanins(id)) wire(f, id, colour("line"), 1);
      ctx.globalAlpha = 1;
    }
    const size = Math.max(2, Math.min(dy - 1, small ? 12 : 9, dx - 2));
    for (let l = l0; l <= l1; l++) for (const id of columns[l]) {
      const [x, y] = position(id);
      if (y < top - 20 || y > top + h + 20) continue;
      ctx.fillStyle = c[id <= inputs ? 1 : g.kind[id - 1 - inputs] ? 3 : 2];
      ctx.fillRect(x - size / 2, y - size / 2, size, size);
      if (g.outputs[id]) { ctx.strokeStyle = colour("ink"); ctx.lineWidth = 1; if (size > 3) ctx.strokeRect(x - size / 2 - 1.5, y - size / 2 - 1.5, size + 3, size + 3); }
      if (small) {
        ctx.fillStyle = colour("ink");
        const t = g.outputs[id] ? g.outputs[id][0] : id <= inputs ? g.inputs[id - 1] : "";
        if (t) ctx.fillText(t.length > 9 ? t.slice(0, 8) + "\u2026" : t, x, y - size / 2 - 5);
      }
    }
    const way = data.path;
    for (let i = 1; i < way.length; i++) wire(way[i - 1], way[i], colour("k4"), 2);
    for (const id of way) { const [x, y] = position(id); ctx.fillStyle = colour("k4"); ctx.beginPath(); ctx.arc(x, y, Math.max(3, size / 2), 0, 7); ctx.fill(); }
    if (hot > 0) {
      for (const f of fanins(hot)) wire(f, hot, colour("accent"), 2);
      for (const f of fanouts(hot)) wire(hot, f, colour("mark-line"), 1.5);
      const [x, y] = position(hot);
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 2;
      ctx.strokeRect(x - size / 2 - 3, y - size / 2 - 3, size + 6, size + 6);
    }
  };
  const readout = el("p", {class: "readout", role: "status"});
  const text = id => `${name(id)}\nlevel ${level[id]}, read by ${number(fanouts(id).length)}${path.has(id) ? "\non the critical path" : ""}`;
  const pick = (x, y, click) => {
    let best = -1, near = 14 * 14;
    if (x >= 0) {
      const l = Math.floor((x - 24) / dx);
      for (const k of [l - 1, l, l + 1]) for (const id of columns[k] || []) {
        const [a, b] = position(id), d = (a - x) ** 2 + (b - y) ** 2;
        if (d < near) { near = d; best = id; }
      }
    }
    if (best !== hot) { hot = best; p.draw(); }
    if (click && best > 0) { readout.textContent = text(best).replace(/\n/g, "; "); find.value = nodeName(g, best); }
    return best > 0 ? text(best) : "";
  };
  const p = pane(host, "Gates by level: scroll to move, use the field above to look at one gate", () => Math.max(240, Math.min(560, innerHeight * .6)), draw, pick);
  const find = el("input", {type: "text", spellcheck: "false", autocomplete: "off", size: "12"});
  find.addEventListener("change", () => {
    const t = find.value.trim();
    let id = g.inputs.indexOf(t) + 1;
    if (!id && /^n\d+$/.test(t)) id = Number(t.slice(1));
    if (!id) id = Number(Object.keys(g.outputs).find(k => g.outputs[k].includes(t)) || 0);
    if (id > 0 && id < nodes) {
      hot = id;
      readout.textContent = text(id).replace(/\n/g, "; ");
      const [x, y] = position(id);
      p.box.scrollLeft = x - p.width / 2; p.box.scrollTop = y - p.height / 2;
    } else readout.textContent = `No input, output or gate is called ${t}.`;
    p.draw();
  });
  box.append(el("div", {class: "tools"},
    el("span", {class: "group", role: "group", "aria-label": "Size"},
      el("button", {type: "button", "aria-label": "Smaller", onclick: () => { dx = Math.max(3, dx / 1.5); dy = Math.max(1.5, dy / 1.5); arrange(); }}, "\u2212"),
      el("button", {type: "button", "aria-label": "Larger", onclick: () => { dx = Math.min(120, dx * 1.5); dy = Math.min(40, dy * 1.5); arrange(); }}, "+")),
    el("label", {}, "Gate or signal", find)), host,
    legend([["k1", "input"], ["k2", "and, or, maj"], ["k3", "xor"], ["k4", "critical path", true], ["ink", "frame: an output", true]]), readout);
  arrange();
  p.now();
};
