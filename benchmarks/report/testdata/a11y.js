// Faults of a page that keep people from using it, after the rules of axe-core that are serious or critical: contrast
// (WCAG 1.4.3), names of controls, of regions and of drawings, headings in order, labels, heads of tables, ids that
// are there once, what scrolls is reached by keyboard, language and title.
(() => {
  const faults = [];
  const where = e => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (typeof e.className === "string" && e.className ? "." + e.className.split(" ").join(".") : "") + " '" + (e.textContent || "").trim().slice(0, 30) + "'";
  const fault = (e, what) => faults.push(what + ": " + where(e));
  const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const rgba = c => { const m = c.match(/[\d.]+/g); return m ? m.map(Number).concat(m.length < 4 ? [1] : []) : [0, 0, 0, 0]; };
  const lum = c => { const f = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3])).concat([1]);
  const ground = e => {
    const stack = [];
    for (let x = e; x; x = x.parentElement) { const c = rgba(getComputedStyle(x).backgroundColor); if (c[3] > 0) stack.push(c); if (c[3] === 1) break; }
    return stack.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]);
  };
  const contrast = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const t = walker.currentNode, e = t.parentElement;
    if (!t.textContent.trim() || ["SCRIPT", "STYLE", "TITLE", "OPTION"].includes(e.tagName) || e.closest("title,desc,#tip") || !shown(e) || e.disabled) continue;
    const s = getComputedStyle(e), svg = e instanceof SVGElement;
    let back = ground(e);
    if (svg) { // a text lies on the last shape before it that holds its middle
      const r = e.getBoundingClientRect(), x = r.left + r.width / 2, y = r.top + r.height / 2;
      for (const shape of e.ownerSVGElement.querySelectorAll("rect")) {
        if (!(shape.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
        const b = shape.getBoundingClientRect(), f = getComputedStyle(shape).fill;
        if (b.left <= x && x <= b.right && b.top <= y && y <= b.bottom && f.startsWith("rgb")) back = over(rgba(f), back);
      }
    }
    const colour = over(rgba(svg ? s.fill : s.color), back), size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && Number(s.fontWeight) >= 700;
    const c = contrast(colour, back);
    texts++;
    if (c < (large ? 3 : 4.5)) fault(e, `contrast ${c.toFixed(2)}`);
  }
  const name = e => {
    const by = e.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map(i => document.getElementById(i)?.textContent || "").join(" ").trim();
    return (e.getAttribute("aria-label") || (e.labels && [...e.labels].map(l => l.textContent).join(" ")) || e.querySelector?.(":scope > title")?.textContent || e.textContent || "").trim();
  };
  for (const e of document.querySelectorAll("button, a[href], input, select, summary")) if (!name(e) && shown(e)) fault(e, "no name");
  for (const e of document.querySelectorAll("input, select")) if (!(e.labels && e.labels.length) && !e.getAttribute("aria-label")) fault(e, "no label");
  for (const e of document.querySelectorAll("[role=img], svg")) if (!e.getAttribute("aria-label") && !e.querySelector("title")) fault(e, "no text");
  for (const e of document.querySelectorAll("[role=region], [role=group]")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) fault(e, "no name");
  for (const e of document.querySelectorAll("canvas")) if (e.getAttribute("aria-hidden") !== "true") fault(e, "a canvas without a text");
  const known = "region group img status presentation".split(" ");
  for (const e of document.querySelectorAll("[role]")) if (!known.includes(e.getAttribute("role"))) fault(e, "unknown role");
  for (const e of document.querySelectorAll("[aria-hidden=true]")) if (e.matches("a,button,input,select,[tabindex]") || e.querySelector("a,button,input,select,[tabindex]")) fault(e, "hidden, and in the order of keys");
  for (const e of document.querySelectorAll("[tabindex]")) if (Number(e.getAttribute("tabindex")) > 0) fault(e, "order of keys");
  let level = 0;
  for (const e of document.querySelectorAll("h1,h2,h3,h4,h5,h6")) {
    const l = Number(e.tagName[1]);
    if (l > level + 1) fault(e, `heading ${l} after ${level}`);
    if (!e.textContent.trim()) fault(e, "empty heading");
    level = l;
  }
  if (document.querySelectorAll("h1").length !== 1) fault(document.body, "not one h1");
  if (document.querySelectorAll("main").length !== 1) fault(document.body, "not one main");
  if (!document.documentElement.lang) fault(document.documentElement, "no language");
  if (!document.title.trim()) fault(document.documentElement, "no title");
  const ids = {};
  for (const e of document.querySelectorAll("[id]")) { if (ids[e.id]) fault(e, "id twice"); ids[e.id] = true; }
  for (const t of document.querySelectorAll("table")) {
    if (!t.querySelector("th[scope=col]")) fault(t, "no heads of columns");
    for (const r of t.tBodies[0].rows) if (!r.querySelector("th[scope=row]")) { fault(r, "no head of a row"); break; }
  }
  for (const e of document.querySelectorAll("*")) {
    const s = getComputedStyle(e);
    if (!/(auto|scroll)/.test(s.overflowX + s.overflowY) || !shown(e) || e === document.documentElement || e === document.body || e.tagName === "UL") continue;
    if ((e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1) && e.tabIndex < 0 && !e.querySelector("a,button,input,select,[tabindex]")) fault(e, "scrolls, and not by keys");
  }
  for (const e of document.querySelectorAll("dl")) for (const k of e.children) if (!["DT", "DD", "DIV"].includes(k.tagName)) fault(k, "in a list of terms");
  for (const e of document.querySelectorAll("ul,ol")) for (const k of e.children) if (k.tagName !== "LI") fault(k, "in a list");
  for (const e of document.querySelectorAll("button, input, select, summary")) { const r = e.getBoundingClientRect(); if (shown(e) && !e.closest("table,.code,label,details") && (r.height < 24 || r.width < 24)) fault(e, "smaller than 24 pixels"); }
  return JSON.stringify({faults: [...new Set(faults)], texts, wide: document.documentElement.scrollWidth - document.documentElement.clientWidth});
})()
