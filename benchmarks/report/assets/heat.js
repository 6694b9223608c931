// heat: how busy things are over time, a row each.
views.heat = (box, data) => {
  const host = el("div", {class: "stage"}), rows = data.rows.length, columns = data.columns, rowH = Math.max(6, Math.min(18, Math.floor(430 / rows)));
  let hot = null;
  const ramp = () => {
    const a = rgb(colour("panel")), b = rgb(colour("k1")), c = rgb(colour("k6"));
    return v => { const [p, q, f] = v < .5 ? [a, b, v * 2] : [b, c, v * 2 - 1]; return `rgb(${p.map((x, i) => Math.round(x + (q[i] - x) * f)).join(",")})`; };
  };
  const label = 74, above = 5;
  const cell = () => Math.max(2, (p.box.clientWidth - label - 4) / columns);
  const draw = (ctx, left, top, w, h, ratio) => {
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour("bg");
    ctx.fillRect(0, 0, w, h);
    ctx.translate(0, -top);
    const shade = ramp(), cw = cell();
    ctx.font = "11px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    for (let r = 0; r < rows; r++) {
      const y = above + r * rowH;
      if (y + rowH < top || y > top + h) continue;
      for (let c = 0; c < columns; c++) {
        const v = data.values[r][c];
        if (v <= 0) continue;
        ctx.fillStyle = shade(Math.min(1, v / data.most));
        ctx.fillRect(label + c * cw, y, Math.ceil(cw), rowH - (rowH > 8 ? 1 : 0));
      }
      if (rowH >= 11 || r % Math.ceil(12 / rowH) === 0) { ctx.fillStyle = colour("soft"); ctx.fillText(data.rows[r], 4, y + rowH / 2); }
    }
    if (hot) { ctx.strokeStyle = colour("ink"); ctx.lineWidth = 2; ctx.strokeRect(label + hot[1] * cw, above + hot[0] * rowH, Math.max(3, cw), rowH); }
  };
  const readout = el("p", {class: "readout", role: "status"});
  const text = (r, c) => {
    const v = data.values[r][c], a = Math.round(c * data.span / columns), b = Math.round((c + 1) * data.span / columns);
    return `${data.rows[r]}, cycles ${number(a)} to ${number(b)}\n${number(v * data.scale)} ${data.unit}`;
  };
  const pick = (x, y, click) => {
    const r = Math.floor((y - above) / rowH), c = Math.floor((x - label) / cell());
    hot = x >= label && r >= 0 && r < rows && c >= 0 && c < columns ? [r, c] : null;
    p.draw();
    if (hot && click) readout.textContent = text(r, c).replace(/\n/g, ": ");
    return hot ? text(r, c) : "";
  };
  const p = pane(host, data.label, () => 460, draw, pick);
  const chooser = el("select", {}), time = el("input", {type: "number", min: "1", max: String(columns), value: "1"});
  data.rows.forEach((r, i) => chooser.append(el("option", {value: String(i)}, r)));
  const look = () => { const r = Number(chooser.value), c = Math.min(columns, Math.max(1, Number(time.value))) - 1; hot = [r, c]; readout.textContent = text(r, c).replace(/\n/g, ": "); p.draw(); };
  chooser.addEventListener("change", look);
  time.addEventListener("change", look);
  box.append(el("div", {class: "tools"}, el("label", {}, data.rowName, chooser), el("label", {}, `Part of the time, 1 to ${columns}`, time)), host,
    legend([[`linear-gradient(90deg, var(--panel), var(--k1), var(--k6))`, `0 to ${number(data.most * data.scale)} ${data.unit}`]]), readout);
  p.size(1, above + rows * rowH);
  p.now();
};
