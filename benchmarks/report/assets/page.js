"use strict";
// Views mount on elements with data-view; what they show is the JSON beside them. Texts get
// into the page as text only.
const views = {};
const root = document.documentElement;
const el = (tag, attrs = {}, ...kids) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v === true) e.setAttribute(k, "");
    else if (v !== false && v != null) e.setAttribute(k, v);
  }
  e.append(...kids);
  return e;
};
const svg = (tag, attrs = {}, text) => {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attrs)) if (v != null) e.setAttribute(k, v);
  if (text != null) e.textContent = text;
  return e;
};
const colour = name => getComputedStyle(root).getPropertyValue("--" + name).trim();
const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
const number = v => typeof v !== "number" ? String(v) : Number.isInteger(v) ? v.toLocaleString("en") : Number(v.toPrecision(4)).toLocaleString("en", {maximumSignificantDigits: 4});
let ids = 0;
const fresh = prefix => prefix + "-" + ++ids;
const themed = []; // what draws again when the theme changes

const tip = el("div", {id: "tip", "aria-hidden": "true"});
function showTip(text, x, y) {
  if (!text) { tip.style.display = "none"; return; }
  tip.textContent = text;
  tip.style.display = "block";
  const r = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - r.width - 4)) + "px";
  tip.style.top = (y + 18 + r.height > innerHeight ? Math.max(4, y - r.height - 10) : y + 18) + "px";
}

// The theme is that of the system until the button says another.
function dark() {
  const t = root.dataset.theme;
  return t ? t === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
function applyTheme() {
  root.classList.toggle("dark", dark());
  const b = document.getElementById("theme");
  if (b) b.textContent = dark() ? "Light" : "Dark";
  for (const draw of themed) draw();
}

// Tables sort by their heads and filter by a text; both keep what they show when new rows come.
function table(box) {
  const t = box.querySelector("table"), body = t.tBodies[0], filter = box.querySelector("input[type=search]"), status = box.querySelector(".status");
  const more = box.querySelector("button.more");
  let limit = 200, column = -1, down = false;
  const value = (row, i) => {
    const text = row.cells[i] ? row.cells[i].textContent.trim() : "";
    const n = parseFloat(text.replace(/,/g, ""));
    return {text, n: /^[-+]?[\d.]/.test(text) && !isNaN(n) ? n : null};
  };
  const show = () => {
    const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    let hits = 0;
    const rows = [...body.rows];
    for (const r of rows) {
      const text = words.length ? r.textContent.toLowerCase() : "";
      const hit = words.every(w => text.includes(w));
      if (hit) hits++;
      r.hidden = !hit || hits > limit;
    }
    if (more) more.hidden = hits <= limit;
    if (status) status.textContent = words.length || hits > limit ? `${Math.min(hits, limit)} of ${rows.length} rows` : `${rows.length} ${rows.length === 1 ? "row" : "rows"}`;
  };
  const order = () => {
    if (column >= 0) {
      const rows = [...body.rows].map((r, i) => ({r, i, v: value(r, column)}));
      rows.sort((a, b) => {
        const x = a.v, y = b.v;
        let c = x.n === null || y.n === null ? (x.n === null) - (y.n === null) || (x.text < y.text ? -1 : x.text > y.text ? 1 : 0) : x.n - y.n;
        if ((x.n === null) === (y.n === null) && down) c = -c; // what is no number stays last
        return c || a.i - b.i;
      });
      body.append(...rows.map(x => x.r));
    }
    show();
  };
  [...t.tHead.rows[0].cells].forEach((th, i) => {
    const b = th.querySelector("button");
    if (!b) return;
    b.addEventListener("click", () => {
      down = column === i ? !down : false;
      column = i;
      for (const x of t.tHead.rows[0].cells) x.removeAttribute("aria-sort");
      th.setAttribute("aria-sort", down ? "descending" : "ascending");
      order();
    });
  });
  if (filter) filter.addEventListener("input", show);
  if (more) more.addEventListener("click", () => { limit = Infinity; show(); });
  show();
  box.refresh = order;
}

// pane is a canvas that shows a part of something larger, which scrolls as any element does.
function pane(host, label, height, draw, pick) {
  const canvas = el("canvas", {"aria-hidden": "true"}), space = el("div", {class: "space"});
  const box = el("div", {class: "pane", tabindex: "0", role: "group", "aria-label": label}, space, canvas);
  host.append(box);
  const p = {box, canvas, width: 0, height: 0, total: [0, 0]};
  let asked = false;
  p.size = (w, h) => {
    p.total = [w, h];
    space.style.width = Math.ceil(w) + "px";
    space.style.height = Math.ceil(h) + "px";
    p.draw();
  };
  p.draw = () => { if (!asked) { asked = true; requestAnimationFrame(p.now); } };
  p.now = () => {
    asked = false;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    box.style.height = Math.min(height(), Math.ceil(p.total[1]) + 18) + "px";
    p.width = box.clientWidth;
    p.height = box.clientHeight;
    const w = Math.round(p.width * ratio), h = Math.round(p.height * ratio);
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w; canvas.height = h;
      canvas.style.width = p.width + "px"; canvas.style.height = p.height + "px";
    }
    draw(canvas.getContext("2d"), box.scrollLeft, box.scrollTop, p.width, p.height, ratio);
  };
  box.addEventListener("scroll", p.draw, {passive: true});
  new ResizeObserver(p.draw).observe(box);
  const at = e => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left + box.scrollLeft, e.clientY - r.top + box.scrollTop]; };
  canvas.addEventListener("pointermove", e => showTip(pick(...at(e), false), e.clientX, e.clientY));
  canvas.addEventListener("pointerleave", () => { showTip(""); pick(-1, -1, false); });
  canvas.addEventListener("click", e => pick(...at(e), true));
  themed.push(p.draw);
  addEventListener("beforeprint", p.now);
  return p;
}

function legend(entries) {
  const ul = el("ul", {class: "legend"});
  for (const [name, text, line] of entries) {
    const i = el("i", {class: line ? "line" : null});
    if (line) i.style.borderColor = `var(--${name})`; else i.style.background = name.startsWith("linear") ? name : `var(--${name})`;
    if (name.startsWith("linear")) i.style.width = "4rem";
    ul.append(el("li", {}, i, text));
  }
  return ul;
}

function start() {
  document.body.append(tip);
  const b = document.getElementById("theme");
  if (b) b.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; applyTheme(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  for (const box of document.querySelectorAll(".sortable")) table(box);
  for (const box of document.querySelectorAll("[data-view]")) {
    const data = box.querySelector("script[type='application/json']");
    views[box.dataset.view](box, data ? JSON.parse(data.textContent) : null);
  }
  applyTheme();
  for (const s of document.querySelectorAll("figure svg.drawn")) hints(s);
  if (root.dataset.live) live();
  root.dataset.ready = "yes";
}

// hints shows the titles of shapes at once, rather than after a second.
function hints(s) {
  s.addEventListener("pointermove", e => {
    const t = e.target.closest("svg *")?.querySelector(":scope > title");
    showTip(t ? t.textContent : "", e.clientX, e.clientY);
  });
  s.addEventListener("pointerleave", () => showTip(""));
}

// live follows a sweep: the server says that there is more, and the page fetches it.
function live() {
  const line = document.getElementById("live");
  const source = new EventSource("events?since=" + document.documentElement.dataset.version);
  const fetchAll = async () => {
    for (const box of document.querySelectorAll("[data-view][data-live]")) {
      const r = await fetch("data/" + encodeURIComponent(box.dataset.live));
      if (r.ok) box.update(await r.json());
    }
  };
  source.addEventListener("results", fetchAll);
  source.addEventListener("reload", () => location.reload());
  source.addEventListener("open", () => { line.textContent = "Live"; });
  source.addEventListener("error", () => { line.textContent = "The server has ended; this is what it had."; });
  source.addEventListener("end", () => { line.textContent = "The server has ended; this is what it had."; source.close(); });
}
addEventListener("DOMContentLoaded", start);
