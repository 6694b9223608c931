// kernel: a line of C, and all that became of it.
views.kernel = box => {
  const section = box.closest("section"), all = [...section.querySelectorAll("[data-line]")];
  const readout = el("p", {class: "readout", role: "status"});
  box.append(readout);
  let chosen = 0;
  const choose = line => {
    chosen = chosen === line ? 0 : line;
    const count = {};
    const first = {};
    for (const e of all) {
      const on = chosen && e.dataset.line.split(" ").includes(String(chosen));
      if (e.tagName === "BUTTON") { e.setAttribute("aria-pressed", String(!!on)); if (on) reveal(e); continue; }
      e.classList.toggle("on", !!on);
      if (on) {
        const kind = e.closest("[data-what]").dataset.what;
        count[kind] = (count[kind] || 0) + 1;
        if (!first[kind]) { first[kind] = true; reveal(e); }
      }
    }
    for (const v of section.querySelectorAll("[data-view=lanes]")) if (v.highlight) {
      const it = v.items.items, list = [];
      if (chosen) for (let i = 0; i < it.line.length; i++) if (it.line[i] === chosen && list.length < 2000) list.push(i);
      if (list.length) count.events = list.length;
      v.highlight(list);
    }
    readout.textContent = chosen ? `Line ${chosen} became ${Object.entries(count).map(([k, n]) => `${number(n)} ${n === 1 ? k.replace(/s$/, "") : k}`).join(", ") || "nothing here"}.` : "";
  };
  // reveal scrolls a box to an element, and not the page.
  const reveal = e => {
    const pane = e.closest(".scroll");
    if (!pane) return;
    const a = e.getBoundingClientRect(), b = pane.getBoundingClientRect();
    if (a.top < b.top || a.bottom > b.bottom) pane.scrollTop += a.top - b.top - b.height / 3;
    if (a.left < b.left || a.right > b.right) pane.scrollLeft += a.left - b.left - b.width / 3;
  };
  for (const e of all) e.addEventListener("click", () => choose(Number(e.dataset.line.split(" ")[0])));
  for (const v of section.querySelectorAll("[data-view=lanes]")) v.chosen = i => { const l = v.items.items.line[i]; if (l && l !== chosen) choose(l); };
};
