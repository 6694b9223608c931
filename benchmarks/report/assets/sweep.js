// sweep: jobs as lines across axes, and as points with those that nothing beats.
views.sweep = (box, data) => {
  const state = {axes: null, x: null, y: null, lowX: true, lowY: true, hot: -1, works: null};
  const parallel = el("div", {class: "plot"}), scatter = el("div", {class: "plot scatter"}), tools = el("div", {class: "tools"}), axisTools = el("div", {class: "tools", role: "group", "aria-label": "Axes"});
  const readout = el("p", {class: "readout", role: "status"}), status = el("p", {class: "status"}), front = el("p", {class: "note"});
  const twoTools = el("div", {class: "tools"});
  box.append(status, el("h4", {}, "Parameters and results"), axisTools, parallel, readout, el("h4", {}, "Two results against each other"), twoTools, scatter, front, tools);
  for (const h of box.querySelectorAll("h4")) { const t = el("h3", {}, h.textContent); h.replaceWith(t); }
  let columns = [];
  const value = (row, c) => c.param ? row.params[c.name] : row.values[c.name];
  const describe = r => columns.filter(c => value(r, c) != null && (c.param || state.axes.has(c.name))).map(c => `${c.name}: ${number(value(r, c))}`).join("\n") + (r.error ? `\nfailed: ${r.error}` : "");
  const scaleOf = (c, from, to) => {
    const list = data.rows.map(r => value(r, c)).filter(v => v != null);
    if (c.numeric) {
      let lo = Math.min(...list), hi = Math.max(...list);
      if (lo === hi) { lo -= .5; hi += .5; }
      const log = lo > 0 && hi / lo > 50;
      const f = v => log ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo);
      return {at: v => from + (to - from) * f(v), ticks: log ? [lo, Math.sqrt(lo * hi), hi] : [lo, (lo + hi) / 2, hi]};
    }
    const names = [...new Set(list.map(String))];
    return {at: v => from + (to - from) * (names.length < 2 ? .5 : names.indexOf(String(v)) / (names.length - 1)), ticks: names.length > 24 ? [names[0], names[names.length - 1]] : names};
  };
  const look = () => {
    columns = [];
    const params = new Set(), values = new Map();
    for (const r of data.rows) {
      for (const k in r.params) params.add(k);
      for (const k in r.values) { if (!values.has(k)) values.set(k, new Set()); values.get(k).add(r.values[k]); }
    }
    for (const k of params) columns.push({name: k, param: true, numeric: data.rows.every(r => r.params[k] == null || typeof r.params[k] === "number")});
    for (const [k, seen] of values) columns.push({name: k, numeric: true, constant: seen.size < 2});
    const results = columns.filter(c => !c.param && !c.constant);
    const good = ["copies", "energy", "cycles.total", "cycles", "instructions", "arrays_used"].filter(n => results.some(c => c.name === n));
    if (!state.axes) state.axes = new Set([...columns.filter(c => c.param && new Set(data.rows.map(r => r.params[c.name])).size > 1).map(c => c.name), ...(good.length ? good : results.map(c => c.name)).slice(0, 5)]);
    // Jobs on other circuits, kernels or sizes are no rivals: each has a front of its own.
    if (!state.works) state.works = new Set(data.works || []);
    const names = good.concat(results.map(c => c.name).filter(n => !good.includes(n)));
    if (state.x == null || !columns.some(c => c.name === state.x)) state.x = columns.filter(c => c.param && c.numeric && state.axes.has(c.name)).map(c => c.name)[0] || names[0];
    if (state.y == null || !columns.some(c => c.name === state.y)) state.y = names.find(n => n !== state.x);
    return names;
  };
  const ok = () => data.rows.filter(r => !r.error);
  const paint = i => ["k1", "k3", "k2", "k4", "k5", "k6", "k7", "k0"][i % 8];
  const drawParallel = () => {
    const axes = columns.filter(c => state.axes.has(c.name)), narrow = parallel.clientWidth < 560;
    const W = Math.max(parallel.clientWidth || 900, axes.length * (narrow ? 64 : 96)), H = 330, top = 46, bottom = H - 22, left = narrow ? 34 : 60, right = W - (narrow ? 40 : 70);
    const s = svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Parallel coordinates of ${data.rows.length} jobs over ${axes.map(a => a.name).join(", ")}; the table has the same values`});
    if (!axes.length || !data.rows.length) { parallel.replaceChildren(el("p", {class: "note"}, "Nothing to draw yet.")); return; }
    const x = i => axes.length < 2 ? (left + right) / 2 : left + (right - left) * i / (axes.length - 1);
    const scales = axes.map(a => scaleOf(a, bottom, top));
    const by = axes.find(a => a.param && !a.numeric) || axes[0], kinds = by.numeric ? null : [...new Set(data.rows.map(r => String(value(r, by))))];
    const lines = svg("g");
    data.rows.forEach((r, k) => {
      const points = axes.map((a, i) => { const v = value(r, a); return v == null ? null : `${x(i).toFixed(1)},${scales[i].at(v).toFixed(1)}`; }).filter(Boolean);
      if (points.length < 2) return;
      const l = svg("polyline", {points: points.join(" "), fill: "none", "stroke-width": 1.4, class: "mark", style: `stroke: var(--${kinds ? paint(kinds.indexOf(String(value(r, by)))) : "k1"}); opacity: ${data.rows.length > 200 ? .35 : .75}`, "data-row": k});
      lines.append(l);
    });
    s.append(lines);
    axes.forEach((a, i) => {
      s.append(svg("line", {x1: x(i), x2: x(i), y1: top, y2: bottom, class: "axis"}));
      const name = a.name.length > 18 ? a.name.slice(0, 17) + "\u2026" : a.name;
      const t = svg("text", {x: x(i), y: narrow && i % 2 ? 30 : 16, "text-anchor": "middle", style: "fill: var(--ink); font-weight: 600"}, name);
      if (name !== a.name) t.append(svg("title", {}, a.name));
      s.append(t);
      for (const v of scales[i].ticks) {
        const y = scales[i].at(v), text = number(v);
        s.append(svg("line", {x1: x(i) - 3, x2: x(i) + 3, y1: y, y2: y, class: "axis"}));
        s.append(svg("text", {x: x(i) + 6, y: y + 4, style: "paint-order: stroke; stroke: var(--bg); stroke-width: 3px"}, text.length > 11 ? text.slice(0, 10) + "\u2026" : text));
      }
    });
    s.addEventListener("pointermove", e => {
      const k = e.target.dataset && e.target.dataset.row;
      focus(k == null ? -1 : Number(k));
      showTip(k == null ? "" : describe(data.rows[k]), e.clientX, e.clientY);
    });
    s.addEventListener("pointerleave", () => { focus(-1); showTip(""); });
    s.addEventListener("click", e => { const k = e.target.dataset && e.target.dataset.row; if (k != null) readout.textContent = describe(data.rows[k]).replace(/\n/g, "; "); });
    parallel.replaceChildren(s);
    if (kinds) parallel.append(legend(kinds.slice(0, 16).map((k, i) => [paint(i), k, true])));
  };
  const drawScatter = () => {
    const cx = columns.find(c => c.name === state.x), cy = columns.find(c => c.name === state.y);
    if (!cx || !cy || !ok().length) { scatter.replaceChildren(el("p", {class: "note"}, "Nothing to draw yet.")); front.textContent = ""; return; }
    const W = Math.max(300, scatter.clientWidth || 900), H = Math.min(380, W * .75), left = 70, right = W - 16, top = 14, bottom = H - 46;
    const points = [];
    data.rows.forEach((r, k) => { const a = value(r, cx), b = value(r, cy); if (!r.error && typeof a === "number" && typeof b === "number") points.push({x: a, y: b, k}); });
    const sx = scaleOf(cx, left, right), sy = scaleOf(cy, bottom, top);
    const s = svg("svg", {viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${state.y} against ${state.x} of ${points.length} jobs; the table has the same values`});
    for (const v of sx.ticks) { const x = sx.at(v); s.append(svg("line", {x1: x, x2: x, y1: top, y2: bottom, class: "tick"}), svg("text", {x, y: bottom + 18, "text-anchor": "middle"}, number(v))); }
    for (const v of sy.ticks) { const y = sy.at(v); s.append(svg("line", {x1: left, x2: right, y1: y, y2: y, class: "tick"}), svg("text", {x: left - 8, y: y + 4, "text-anchor": "end"}, number(v))); }
    s.append(svg("text", {x: (left + right) / 2, y: H - 8, "text-anchor": "middle", style: "fill: var(--ink)"}, state.x), svg("text", {x: 0, y: 0, transform: `translate(14 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", style: "fill: var(--ink)"}, state.y));
    // Sorted by x, a point is on the front if its y is better than that of all before it.
    const sign = low => low ? 1 : -1;
    const sorted = [...points].sort((a, b) => sign(state.lowX) * (a.x - b.x) || sign(state.lowY) * (a.y - b.y));
    const works = columns.filter(c => state.works.has(c.name));
    const workOf = p => works.map(c => [c, value(data.rows[p.k], c)]).filter(([, v]) => v != null).map(([c, v]) => typeof v === "number" ? `${c.name} ${number(v)}` : v).join(", ");
    const fronts = new Map(points.map(p => [workOf(p), []]));
    for (const [work, best] of fronts) {
      let y = Infinity, x = NaN;
      for (const p of sorted) {
        if (workOf(p) !== work) continue;
        const v = sign(state.lowY) * p.y;
        if (v < y || v === y && p.x === x) { if (v < y) x = p.x; y = v; best.push(p); }
      }
    }
    const on = new Set([...fronts.values()].flat().map(p => p.k)), colours = new Map([...fronts.keys()].map((w, i) => [w, fronts.size > 1 ? paint(i) : "k4"]));
    for (const [work, best] of fronts) {
      let d = "";
      best.forEach((p, i) => { const px = sx.at(p.x).toFixed(1), py = sy.at(p.y).toFixed(1); d += i ? `H${px}V${py}` : `M${px} ${py}`; });
      s.append(svg("path", {d, fill: "none", "stroke-width": 2, style: `stroke: var(--${colours.get(work)})`}));
    }
    for (const p of points) s.append(svg("circle", {cx: sx.at(p.x).toFixed(1), cy: sy.at(p.y).toFixed(1), r: on.has(p.k) ? 6 : 4.5, class: "mark", "stroke-width": 1, style: `fill: var(--${fronts.size > 1 || on.has(p.k) ? colours.get(workOf(p)) : "k1"}); stroke: var(--bg); opacity: ${on.has(p.k) ? 1 : .5}`, "data-row": p.k}));
    s.addEventListener("pointermove", e => { const k = e.target.dataset && e.target.dataset.row; focus(k == null ? -1 : Number(k)); showTip(k == null ? "" : describe(data.rows[k]), e.clientX, e.clientY); });
    s.addEventListener("pointerleave", () => { focus(-1); showTip(""); });
    scatter.replaceChildren(s, fronts.size > 1 ? legend([...fronts.keys()].slice(0, 16).map(w => [colours.get(w), `Pareto front of ${w}`])) : legend([["k4", "Pareto front"], ["k1", "other jobs"]]));
    const others = columns.filter(c => c.param && !state.works.has(c.name)), most = fronts.size > 1 ? 4 : 12;
    front.replaceChildren(...[...fronts].slice(0, 16).flatMap(([work, best], i) => [i ? el("br") : "", `Nothing beats${work ? `, of ${work}` : ""}: ${best.slice(0, most).map(p => `${others.filter(c => value(data.rows[p.k], c) != null).map(c => `${c.name} ${number(value(data.rows[p.k], c))}`).join(", ")} (${number(p.x)}, ${number(p.y)})`).join("; ")}${best.length > most ? ` and ${best.length - most} more` : ""}.`]));
    box.front = [...on];
  };
  const focus = k => {
    if (k === state.hot) return;
    state.hot = k;
    for (const e of box.querySelectorAll("[data-row]")) {
      const hit = Number(e.dataset.row) === k;
      e.classList.toggle("hot", hit);
    }
  };
  const choose = (names, current, set) => {
    const s = el("select", {}, ...names.map(n => el("option", {value: n, selected: n === current}, n)));
    s.addEventListener("change", () => { set(s.value); drawScatter(); });
    return s;
  };
  const build = () => {
    const names = look(), numeric = columns.filter(c => c.numeric && !c.constant).map(c => c.name);
    const done = data.rows.filter(r => !r.error).length;
    status.replaceChildren(el("progress", {max: String(Math.max(data.total, 1)), value: String(data.rows.length), "aria-label": "Jobs done"}), ` ${number(data.rows.length)} of ${number(data.total)} jobs done${data.rows.length > done ? `, ${number(data.rows.length - done)} failed` : ""}`);
    axisTools.replaceChildren(...columns.filter(c => c.param || !c.constant).slice(0, 60).map(c => {
      const b = el("button", {type: "button", "aria-pressed": String(state.axes.has(c.name))}, c.name);
      b.addEventListener("click", () => { if (state.axes.has(c.name)) state.axes.delete(c.name); else state.axes.add(c.name); b.setAttribute("aria-pressed", String(state.axes.has(c.name))); drawParallel(); });
      return b;
    }));
    if (axisTools.children.length > 14) { const rest = el("details", {}, el("summary", {}, "All axes"), el("div", {class: "tools"}, ...axisTools.children)); axisTools.replaceChildren(rest); }
    const side = (name, key) => { const c = el("input", {type: "checkbox"}); c.checked = !state[key]; c.addEventListener("change", () => { state[key] = !c.checked; drawScatter(); }); return el("label", {}, c, name); };
    const apart = columns.filter(c => c.param && new Set(data.rows.map(r => r.params[c.name])).size > 1).map(c => {
      const b = el("button", {type: "button", "aria-pressed": String(state.works.has(c.name))}, c.name);
      b.addEventListener("click", () => { if (state.works.has(c.name)) state.works.delete(c.name); else state.works.add(c.name); b.setAttribute("aria-pressed", String(state.works.has(c.name))); drawScatter(); });
      return b;
    });
    twoTools.replaceChildren(el("label", {}, "Across", choose(numeric, state.x, v => { state.x = v; })), side("more is better", "lowX"), el("label", {}, "Up", choose(numeric, state.y, v => { state.y = v; })), side("more is better", "lowY"), ...apart.length ? [el("div", {class: "tools", role: "group", "aria-label": "A front for each"}, el("span", {}, "A front for each"), ...apart)] : []);
    drawParallel();
    drawScatter();
  };
  box.update = next => {
    data = next.view;
    build();
    for (const t of document.querySelectorAll("[data-rows]")) if (t.dataset.rows === box.dataset.live) {
      const body = t.querySelector("tbody"), lefts = [...t.querySelectorAll("thead th")].map(h => h.classList.contains("left"));
      body.replaceChildren(...next.rows.map(r => el("tr", {}, ...r.map((c, i) => {
        const d = el(i ? "td" : "th", i ? {} : {scope: "row"}, c);
        if (lefts[i]) d.classList.add("left");
        if (/^failed/.test(c)) d.classList.add("bad");
        return d;
      }))));
      t.refresh();
    }
  };
  build();
  themed.push(() => {});
  addEventListener("resize", () => { drawParallel(); drawScatter(); });
};
