// lanes: what lies where and when. Lanes are rows of arrays or tracks of a machine, in groups.
//
// data: groups [{name, lanes: [name...]}], span, unit, kinds [text], items: lane, start, live (when it was last
// used), end, kind, text (a number that describes() understands or a string), arcs: item from, item to.
views.lanes = (box, data) => {
  const it = data.items, n = it.lane.length, host = el("div", {class: "stage"});
  const describe = data.texts ? i => data.texts[it.text[i]] : describer(data);
  const lanes = [];
  const place = []; // of each lane: its y in units of rows, and groups before it
  let rows = 0;
  data.groups.forEach((g, k) => g.lanes.forEach(name => { lanes.push({name, group: k}); }));
  const first = new Int32Array(lanes.length + 1);
  for (let i = 0; i < n; i++) first[it.lane[i] + 1]++;
  for (let i = 0; i < lanes.length; i++) first[i + 1] += first[i];
  const head = 20, span = Math.max(data.span, 1);
  let rowH = 0, zoom = 1, fit = 1, hot = -1, chosen = null, mode = "kind", arcs = true;
  const y0 = () => {
    let y = 0;
    place.length = 0;
    let group = -1;
    for (const l of lanes) {
      if (l.group !== group) { group = l.group; y += head; }
      place.push(y);
      y += rowH;
    }
    rows = y;
    return y;
  };
  const laneAt = y => {
    let a = 0, b = place.length - 1;
    while (a < b) { const m = (a + b + 1) >> 1; if (place[m] <= y) a = m; else b = m - 1; }
    return place.length && y >= place[a] && y < place[a] + rowH ? a : -1;
  };
  // itemAt finds what a lane holds at a time, which is sorted.
  const itemAt = (lane, t) => {
    let a = first[lane], b = first[lane + 1] - 1;
    if (b < a) return -1;
    while (a < b) { const m = (a + b + 1) >> 1; if (it.start[m] <= t) a = m; else b = m - 1; }
    return it.start[a] <= t && t < it.end[a] ? a : -1;
  };
  const text = i => {
    const l = lanes[it.lane[i]], g = data.groups[l.group];
    const when = it.end[i] - it.start[i] <= 1 && data.texts ? `${data.unit} ${number(it.start[i])}` : `${data.unit} ${number(it.start[i])} to ${number(it.end[i])}`;
    let s = `${describe(i)}\n${g.name ? g.name + ", " : ""}${l.name}, ${when}`;
    if (!data.texts) s += it.live[i] < 0 ? "\nnever read" : it.live[i] >= span ? "\nan output" : `\nlast read at step ${number(it.live[i])}`;
    return s;
  };
  const shades = () => {
    const bg = rgb(colour("bg")), list = [], faded = [];
    const base = mode === "kind" ? [0, 1, 2, 3, 4, 5, 6, 7].map(k => rgb(colour("k" + k))) :
      Array.from({length: 32}, (_, k) => { const f = k / 31, a = rgb(colour("k5")), b = rgb(colour("k6")); return a.map((v, j) => v + (b[j] - v) * f); });
    const pack = c => (255 << 24 | Math.round(c[2]) << 16 | Math.round(c[1]) << 8 | Math.round(c[0])) >>> 0;
    for (const c of base) {
      list.push(pack(c));
      faded.push(pack(c.map((v, j) => bg[j] + (v - bg[j]) * .22)));
    }
    return {list, faded, bg: pack(bg)};
  };
  let shade = null, most = 1;
  const shadeOf = i => mode === "kind" ? it.kind[i] : Math.min(31, Math.floor(31 * (mode === "life" ? Math.log2(1 + Math.max(0, it.live[i] - it.start[i])) / Math.log2(1 + span) : it.level[i] / most)));
  if (it.level) for (const l of it.level) if (l > most) most = l;

  const draw = (ctx, left, top, w, h, ratio) => {
    const W = ctx.canvas.width, H = ctx.canvas.height;
    if (!W || !H) return;
    shade = shade || shades();
    const image = ctx.createImageData(W, H), px = new Uint32Array(image.data.buffer);
    px.fill(shade.bg);
    const t0 = left / zoom, t1 = (left + w) / zoom, scale = zoom * ratio, gap = rowH * ratio >= 6 ? 1 : 0;
    for (let l = 0; l < lanes.length; l++) {
      if (place[l] + rowH < top) continue;
      if (place[l] > top + h) break;
      const ya = Math.max(0, Math.round((place[l] - top) * ratio)), yb = Math.min(H, Math.max(ya + 1, Math.round((place[l] + rowH - top) * ratio) - gap));
      let a = first[l], b = first[l + 1];
      const last = b;
      while (a < b) { const m = (a + b) >> 1; if (it.end[m] <= t0) a = m + 1; else b = m; }
      const row = ya * W;
      for (let i = a; i < last && it.start[i] < t1; i++) {
        const s = shadeOf(i);
        const xa = Math.max(0, Math.floor((it.start[i] - t0) * scale)), end = Math.min(W, Math.max(xa + 1, Math.floor((it.end[i] - t0) * scale)));
        const used = it.live ? Math.min(end, Math.max(xa + 1, Math.floor((it.live[i] + 1 - t0) * scale))) : end;
        if (used > xa) px.fill(shade.list[s], row + xa, row + used);
        if (end > used) px.fill(shade.faded[s], row + Math.max(xa, used), row + end);
      }
      for (let y = ya + 1; y < yb; y++) px.copyWithin(y * W, row, row + W);
    }
    ctx.setTransform(1, 0, 0, 1, 0, 0);
    ctx.putImageData(image, 0, 0);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    // Heads of groups stay at the left.
    ctx.font = "600 12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    let group = -1;
    for (let l = 0; l < lanes.length; l++) {
      if (lanes[l].group === group) continue;
      group = lanes[l].group;
      const y = place[l] - head - top;
      if (y > h || y < -head) continue;
      ctx.fillStyle = colour("panel");
      ctx.fillRect(0, y, w, head - 2);
      ctx.fillStyle = colour("soft");
      ctx.fillText(data.groups[group].name, 8, y + head / 2 - 1);
    }
    if (rowH >= 14) {
      ctx.font = "11px system-ui, sans-serif";
      for (let l = 0; l < lanes.length; l++) {
        const y = place[l] - top;
        if (y < -rowH || y > h) continue;
        const name = lanes[l].name, width = ctx.measureText(name).width + 8;
        ctx.fillStyle = colour("bg");
        ctx.globalAlpha = .8;
        ctx.fillRect(0, y, width, rowH - 1);
        ctx.globalAlpha = 1;
        ctx.fillStyle = colour("ink");
        ctx.fillText(name, 4, y + rowH / 2);
      }
    }
    if (arcs && data.arcs) {
      const c = data.arcs;
      let seen = 0;
      ctx.strokeStyle = colour("ink");
      ctx.lineWidth = 1;
      const total = c.from.length;
      for (let pass = 0; pass < 2; pass++) {
        if (pass) ctx.globalAlpha = Math.max(.12, Math.min(.75, 60 / seen));
        ctx.beginPath();
        for (let k = 0; k < total; k++) {
          const to = c.to[k], t = it.start[to];
          if (t < t0 - 40 / zoom || t > t1 + 40 / zoom) continue;
          const ya = place[it.lane[c.from[k]]] + rowH / 2 - top, yb = place[it.lane[to]] + rowH / 2 - top;
          if (Math.max(ya, yb) < 0 || Math.min(ya, yb) > h) continue;
          if (!pass) { seen++; continue; }
          const x = (t + .5) * zoom - left;
          ctx.moveTo(x, ya);
          ctx.quadraticCurveTo(x + Math.min(40, 8 + Math.abs(yb - ya) / 6), (ya + yb) / 2, x, yb);
        }
        ctx.stroke();
      }
      ctx.globalAlpha = 1;
    }
    // What is pointed at, everywhere that it lies.
    const mark = (i, c, width) => {
      ctx.strokeStyle = c;
      ctx.lineWidth = width;
      const x = it.start[i] * zoom - left, y = place[it.lane[i]] - top;
      ctx.strokeRect(x, y, Math.max(2, (it.end[i] - it.start[i]) * zoom), Math.max(2, rowH));
    };
    const focus = hot >= 0 ? hot : chosen;
    if (focus != null && focus >= 0) {
      if (it.value) for (const i of same(it.value[focus])) mark(i, colour("mark-line"), 1.5);
      mark(focus, colour("ink"), 2);
    }
    if (lit) for (const i of lit) if (it.lane[i] >= 0) mark(i, colour("mark-line"), 2);
  };
  let lit = null, index = null;
  const same = v => {
    if (!index) { index = new Map(); it.value.forEach((x, i) => { const l = index.get(x); if (l) l.push(i); else index.set(x, [i]); }); }
    return index.get(v) || [];
  };
  const readout = el("p", {class: "readout", role: "status"});
  const pick = (x, y, click) => {
    const lane = x < 0 ? -1 : laneAt(y), t = x / zoom;
    let i = lane < 0 ? -1 : itemAt(lane, t);
    if (i !== hot) { hot = i; p.draw(); }
    if (click && i >= 0) {
      chosen = i;
      readout.textContent = text(i).replace(/\n/g, "; ");
      laneInput.value = String(lane); stepInput.value = String(Math.floor(t));
      if (box.chosen) box.chosen(i);
    }
    return i < 0 ? "" : text(i);
  };
  const p = pane(host, data.label + ": scroll to move, use the fields above to look at one place", () => Math.max(260, Math.min(620, innerHeight * .66)), draw, pick);
  box.items = data; // for tests
  box.text = text;
  const layout = keep => {
    const at = keep == null ? 0 : keep;
    y0();
    p.size(Math.max(span * zoom, 1), rows);
    p.box.scrollLeft = at * zoom - p.box.clientWidth / 2 * (keep == null ? 0 : 1);
    p.draw();
  };
  const middle = () => (p.box.scrollLeft + p.box.clientWidth / 2) / zoom;
  const setZoom = z => { const m = middle(); zoom = Math.min(Math.max(z, fit), 64, 15e6 / span > fit ? 15e6 / span : fit); layout(m); };
  const setRow = r => { const f = (p.box.scrollTop + p.box.clientHeight / 2) / Math.max(rows, 1); rowH = Math.min(24, Math.max(1, r)); layout(middle()); p.box.scrollTop = f * rows - p.box.clientHeight / 2; };
  const stepInput = el("input", {type: "number", min: "0", max: String(span - 1), value: "0"});
  const laneInput = el("select", {});
  if (lanes.length <= 5000) lanes.forEach((l, i) => laneInput.append(el("option", {value: String(i)}, (data.groups[l.group].name ? data.groups[l.group].name + ", " : "") + l.name)));
  const inspect = () => {
    const lane = Number(laneInput.value), t = Number(stepInput.value);
    const i = lane >= 0 && lane < lanes.length ? itemAt(lane, t) : -1;
    chosen = i;
    readout.textContent = i < 0 ? "Nothing lies there at that time." : text(i).replace(/\n/g, "; ");
    p.box.scrollLeft = t * zoom - p.box.clientWidth / 2;
    if (place[lane] != null) p.box.scrollTop = place[lane] - p.box.clientHeight / 2;
    p.draw();
    if (i >= 0 && box.chosen) box.chosen(i);
  };
  stepInput.addEventListener("change", inspect);
  laneInput.addEventListener("change", inspect);
  const tools = el("div", {class: "tools"},
    el("span", {class: "group", role: "group", "aria-label": "Zoom in time"},
      el("button", {type: "button", "aria-label": "Narrower", onclick: () => setZoom(zoom / 1.6)}, "\u2212"),
      el("button", {type: "button", "aria-label": "Wider", onclick: () => setZoom(zoom * 1.6)}, "+"),
      el("button", {type: "button", onclick: () => { zoom = fit = Math.max(p.box.clientWidth - 2, 100) / span; layout(); }}, "Fit")));
  tools.append(el("span", {class: "group", role: "group", "aria-label": "Height of rows"},
    el("button", {type: "button", "aria-label": "Lower rows", onclick: () => setRow(rowH / 1.5)}, "\u2193"),
    el("button", {type: "button", "aria-label": "Higher rows", onclick: () => setRow(Math.max(rowH * 1.5, rowH + 1))}, "\u2191")));
  if (it.level) {
    const s = el("select", {}, el("option", {value: "kind"}, "what it is"), el("option", {value: "level"}, "level of the gate"), el("option", {value: "life"}, "how long it is needed"));
    s.addEventListener("change", () => { mode = s.value; shade = null; p.draw(); keys.replaceWith(keys = key()); });
    tools.append(el("label", {}, "Colours", s));
  }
  if (data.arcs && data.arcs.from.length) {
    const c = el("input", {type: "checkbox", checked: true});
    c.checked = true;
    c.addEventListener("change", () => { arcs = c.checked; p.draw(); });
    tools.append(el("label", {}, c, "Copies"));
  }
  tools.append(el("label", {}, data.laneName, laneInput), el("label", {}, data.unitName || "Step", stepInput));
  const key = () => {
    if (mode !== "kind") return legend([[`linear-gradient(90deg, var(--k5), var(--k6))`, mode === "level" ? `level 0 to ${number(most)}` : "needed shortly to all the time"]]);
    const list = data.kinds.map((k, i) => ["k" + i, k]).filter(k => k[1]);
    if (it.live) list.push(["line", "pale: no longer needed"]);
    if (data.arcs && data.arcs.from.length) list.push(["ink", "copy", true]);
    return legend(list);
  };
  let keys = key();
  box.append(tools, host, keys, readout);
  themed.push(() => { shade = null; p.draw(); });
  rowH = Math.max(1, Math.min(data.texts ? 18 : 12, Math.floor(520 / Math.max(lanes.length, 1)) || 1));
  if (lanes.length > 260) rowH = lanes.length > 1200 ? 1 : 2;
  y0();
  p.size(1, rows);
  p.now();
  zoom = fit = Math.max(p.box.clientWidth - 2, 100) / span;
  layout();
  p.now();
  box.highlight = list => { lit = list; p.draw(); };
  addEventListener("resize", () => { if (zoom === fit) { zoom = fit = Math.max(p.box.clientWidth - 2, 100) / span; layout(); } });
};

// describer says what a literal of a graph is.
function describer(data) {
  const g = data.graph;
  return i => nodeText(g, data.items.value[i], data.items.how[i]);
}
function nodeName(g, id) {
  return id === 0 ? "0" : id <= g.inputs.length ? g.inputs[id - 1] : "n" + id;
}
function litName(g, l) {
  return l === 0 ? "0" : l === 1 ? "1" : (l & 1 ? "~" : "") + nodeName(g, l >> 1);
}
function nodeText(g, lit, how) {
  const id = lit >> 1;
  let s = litName(g, lit);
  if (id > g.inputs.length && g.kind) {
    const k = id - 1 - g.inputs.length, f = [0, 1, 2].map(j => g.fanins[3 * k + j]);
    const plain = f.filter(l => l > 1).map(l => litName(g, l));
    const op = g.kind[k] ? "xor" : f.includes(0) ? "and" : f.includes(1) ? "or" : "maj";
    s += ` = ${lit & 1 ? "not " : ""}${g.kind[k] && f.includes(1) ? "not " : ""}${op}(${plain.join(", ")})`;
  } else if (id > 0 && id <= g.inputs.length) s += ", an input";
  else if (id > g.inputs.length) s = `step ${number(id - 1 - g.inputs.length)}`;
  const out = g.outputs && g.outputs[id];
  if (out) s += `\nis output ${out.slice(0, 6).join(", ")}${out.length > 6 ? ` and ${out.length - 6} more` : ""}`;
  if (how === 2) s += "\na copy";
  return s;
}
