// bars: wholes in parts, a row each.
views.bars = (box, data) => {
  const host = el("div", {class: "plot"});
  const draw = () => {
    const rows = data.rows.length, W = Math.max(320, host.clientWidth || 900), h = rows > 40 ? 14 : 22, left = Math.min(190, W * .3), right = W - 70, H = rows * h + 30;
    const totals = data.of.map(r => r.reduce((a, b) => a + b, 0)), most = Math.max(1, ...totals);
    const x = v => left + (right - left) * v / most;
    const s = svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": data.label + "; the table has the same values"});
    data.rows.forEach((name, i) => {
      const y = 6 + i * h;
      const short = Math.floor((left - 12) / 6.6), t = svg("text", {x: left - 8, y: y + h * .65, "text-anchor": "end", style: "fill: var(--ink)"}, name.length > short ? name.slice(0, short - 1) + "\u2026" : name);
      s.append(t);
      let at = 0;
      data.parts.forEach((part, k) => {
        const v = data.of[i][k];
        if (!v) return;
        const r = svg("rect", {x: x(at).toFixed(1), y, width: Math.max(.5, x(at + v) - x(at)).toFixed(1), height: h - 4, style: `fill: var(--k${(k + 1) % 8})`, "data-tip": `${name}\n${part}: ${number(v)} ${data.unit} of ${number(totals[i])}`});
        s.append(r);
        at += v;
      });
      if (data.marks) s.append(svg("line", {x1: x(data.marks[i]), x2: x(data.marks[i]), y1: y - 2, y2: y + h - 2, style: "stroke: var(--ink); stroke-width: 2", "data-tip": `${name}\n${data.mark}: ${number(data.marks[i])} ${data.unit}`}));
      s.append(svg("text", {x: x(totals[i]) + 6, y: y + h * .65}, number(totals[i])));
    });
    s.addEventListener("pointermove", e => showTip(e.target.dataset ? e.target.dataset.tip || "" : "", e.clientX, e.clientY));
    s.addEventListener("pointerleave", () => showTip(""));
    host.replaceChildren(s);
  };
  box.append(host, legend([...data.parts.map((p, k) => ["k" + (k + 1) % 8, p]), ...(data.marks ? [["ink", data.mark, true]] : [])]));
  draw();
  addEventListener("resize", draw);
};
