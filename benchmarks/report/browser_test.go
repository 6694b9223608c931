package report

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/sweep"
	"github.com/bitsched/bitsched/benchmarks/workload"
	"github.com/bitsched/bitsched/internal/figure"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tile"
)

//go:embed testdata/a11y.js
var accessibility string

// browser starts a browser, or skips the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("pages are looked at in a browser without -short")
	}
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium in the path: pages are not looked at in a browser (Debian: apt install chromium)")
	}
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), o...)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute) // for a busy machine
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// tab is a page in the browser, with what its console said.
type tab struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	log []string
}

func open(t *testing.T, ctx context.Context) *tab {
	t.Helper()
	b := &tab{t: t, ctx: ctx}
	ready := make(chan bool)
	go func() {
		close(ready)
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.log = append(b.log, fmt.Sprintf("%s: %s", m.Type, m.Text))
			b.mu.Unlock()
		}
	}()
	<-ready
	return b
}

func (b *tab) load(address string, width, height int, theme string) {
	b.t.Helper()
	scheme := func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return chromedp.Void{}, err
	}
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(int64(width), int64(height)), scheme, chromedp.Navigate(address), chromedp.WaitReady("html[data-ready]")))
}

func (b *tab) eval(js string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](js))
	require.NoError(b.t, err, js)
	return fmt.Sprint(v)
}

// click clicks where the first of what matches lies, as a person does.
func (b *tab) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	require.NoError(b.t, json.Unmarshal([]byte(b.eval("(() => { const e = document.querySelector(`"+selector+"`); e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect(); return JSON.stringify({x: r.left + r.width / 2, y: r.top + r.height / 2}); })()")), &at))
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.MouseClickXY(at.X, at.Y)))
}

// quiet checks that the console has no error.
func (b *tab) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.log)
}

// accessible looks for faults of the page as it is now.
func (b *tab) accessible(what string) {
	b.t.Helper()
	var found struct {
		Faults []string
		Texts  int
		Wide   int
	}
	require.NoError(b.t, json.Unmarshal([]byte(b.eval(accessibility)), &found))
	require.Empty(b.t, found.Faults, what)
	require.Greater(b.t, found.Texts, 10, what)
	require.LessOrEqual(b.t, found.Wide, 0, "%s: the page is wider than the window", what)
}

// file writes a page and returns its address. BITSCHED_PAGES is a folder to leave it in.
func file(t *testing.T, name string, p *Page) string {
	t.Helper()
	dir := os.Getenv("BITSCHED_PAGES")
	if dir == "" {
		dir = t.TempDir()
	}
	path := filepath.Join(dir, name+".html")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, p.Write(f))
	require.NoError(t, f.Close())
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return (&url.URL{Scheme: "file", Path: abs}).String()
}

// kernelRun runs a kernel with a trace.
func kernelRun(t *testing.T) []Section {
	t.Helper()
	k, err := workload.Builtin("stencil2d", false)
	require.NoError(t, err)
	require.NoError(t, k.Compile(t.Context(), nil, nil, false))
	opt := system.Options{Machine: tile.Default(), TimingOnly: true, Trace: &system.Trace{}}
	_, err = system.Run(t.Context(), k.Program, k.Sizes, nil, opt)
	require.NoError(t, err)
	prepared, err := system.Prepare(t.Context(), k.Program, k.Sizes, opt)
	require.NoError(t, err)
	run := &KernelRun{Title: "Kernel", Source: k.Source, Trace: opt.Trace, Banks: opt.Machine.Banks(), Facts: Facts{{"sizes", k.SizeText()}}}
	seen := map[*tdfg.Graph]bool{}
	require.NoError(t, k.Program.Each(t.Context(), k.Sizes, func(g *tdfg.Graph, values map[string]int64) error {
		if seen[g] {
			return nil
		}
		seen[g] = true
		var commands []lowering.Command
		commands, err := prepared.Plans[g].Lower(nil, prepared.Grid, values)
		run.Regions = append(run.Regions, KernelRegion{Name: g.Name, Graph: g, Plan: prepared.Plans[g], Commands: commands})
		return err
	}))
	sections, err := Kernel(run)
	require.NoError(t, err)
	return sections
}

// records are those of a sweep of two parameters, one of them failed.
func records() []*sweep.Record {
	var list []*sweep.Record
	for i := range 24 {
		r := &sweep.Record{Key: fmt.Sprint(i), Params: []sweep.Param{{Name: "circuit", Value: []string{"add.v", "mult.v"}[i%2]}, {Name: "rows", Value: fmt.Sprint(16 + i/2*8)}}}
		r.Args = []string{"schedule", r.Params[0].Value, "--rows=" + r.Params[1].Value, "--json"}
		if i == 5 {
			r.Exit, r.Error = 3, "bitsched: too few rows"
		} else {
			r.Result = json.RawMessage(fmt.Sprintf(`{"copies": %d, "energy": %g, "deep": {"n": %d}, "same": 1}`, 900/(min(i, 21)+3), 100+float64(i/4*i/4*9), i%7))
		}
		list = append(list, r)
	}
	return list
}

func TestBrowser(t *testing.T) {
	ctx := browser(t)
	b := open(t, ctx)

	built := built(t, "multiplier", 8, 4, 24)
	schedule, err := Schedule("Schedule", built.Graph, built.Result.Program)
	require.NoError(t, err)
	c := figure.New(300, 120, "A drawing", "of a bar")
	c.Heading()
	c.Bar(20, 80, 50, 30, figure.Series(0), "seven of nine")
	pages := []struct {
		name string
		page *Page
	}{
		{"schedule", &Page{Title: "mult", Lead: "A multiplier.", Sections: append(schedule, Circuit("Circuit", built.Graph)...)}},
		{"kernel", &Page{Title: "stencil2d", Sections: kernelRun(t)}},
		{"sweep", &Page{Title: "plan", Sections: Sweep("Sweep", records(), 30, "")}},
		{"tables", &Page{Title: "tables", Sections: []Section{{Title: "One", Parts: []Part{
			&Table{Table: benchmarks.Table{Title: "Numbers", Columns: []benchmarks.Column{{Name: "name", Left: true}, {Name: "n"}}, Rows: [][]string{{"ten", "10"}, {"nine", "9"}, {"none", "-"}, {"thousand", "1,000"}, {"minus", "-3"}, {"a", "1.5"}, {"b", "2.25"}, {"c", "0"}}}},
			&Figure{SVG: c.Bytes()}, Text("a text\nof lines")}}}}},
		{"mappings", &Page{Title: "net", Sections: append(document(t, "net", mapJSON), document(t, "both", jointJSON)...)}},
		{"comparison", &Page{Title: "compare", Sections: document(t, "compare", `{"schedulers": ["a", "b"], "effort": "fast", "circuits": [{"name": "x", "rows": 8, "gates": 5, "results": [{"scheduler": "a", "copies": 3, "energy": 4.5, "paper_copies": 7}, {"scheduler": "b", "note": "too few rows"}]}]}`)}},
		{"papers", &Page{Title: "papers", Sections: document(t, "papers", `{"entries": [{"id": "masim:table1", "title": "Netlists", "paper": "MASIM, Table I", "size": "small", "notes": ["a note"],
			"comparisons": [{"name": "netlists that differ from all others", "section": "IV", "paper": 3, "ours": 2, "deviation": -1, "verdict": "differs"}, {"name": "more", "section": "V", "paper": 3, "ours": 3, "deviation": 0, "verdict": "reproduced"}],
			"tables": [{"title": "Sizes", "head": ["netlist", "gates"], "rows": [["adder", "256"]]}]}], "size": "small", "left_out": [{"why": "no inputs"}]}`)}},
		{"anything", &Page{Title: "any", Sections: document(t, "any", `{"cycles": 3, "deep": {"a": 1}, "layers": [{"name": "a", "cycles": 1}, {"name": "b", "cycles": 2}]}`)}},
		{"hostile", hostilePage(t)},
	}
	addresses := map[string]string{}
	for _, p := range pages {
		addresses[p.name] = file(t, p.name, p.page)
		for _, theme := range []string{"light", "dark"} {
			b.load(addresses[p.name], 1280, 900, theme)
			b.accessible(p.name + ", " + theme)
			b.load(addresses[p.name], 390, 844, theme)
			b.accessible(p.name + " on a telephone, " + theme)
		}
		b.quiet()
		require.Equal(t, "false", b.eval("'pwned' in window"))
	}
	// What is pointed at is shown as a text too, whatever it is called.
	require.Contains(t, b.eval(`(() => {
		const c = document.querySelector("[data-view=lanes] canvas"), r = c.getBoundingClientRect();
		c.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: r.left + 5, clientY: r.top + 26}));
		return document.getElementById("tip").children.length + document.getElementById("tip").textContent;
	})()`), "0</script><script>window.pwned=1</script>")

	// Tables sort by numbers as such, and filter.
	b.load(addresses["tables"], 1280, 900, "light")
	names := "[...document.querySelectorAll('tbody')[0].rows].filter(r => !r.hidden).map(r => r.cells[0].textContent).join(' ')"
	require.Equal(t, "ten nine none thousand minus a b c", b.eval(names))
	b.click("thead th:nth-child(2) button")
	require.Equal(t, "minus c a b nine ten thousand none", b.eval(names))
	require.Equal(t, "ascending", b.eval("document.querySelector('thead th:nth-child(2)').getAttribute('aria-sort')"))
	b.click("thead th:nth-child(2) button")
	require.Equal(t, "thousand ten nine b a c minus none", b.eval(names))
	b.eval("(() => { const f = document.querySelector('input[type=search]'); f.focus(); f.value = 'n'; f.dispatchEvent(new Event('input')); })()")
	require.Equal(t, "thousand ten nine minus none", b.eval(names))
	require.Equal(t, "5 of 8 rows", b.eval("document.querySelector('.status').textContent"))
	// Drawings say their values.
	b.eval("document.querySelector('figure svg rect[fill^=\"#0\"], figure svg rect:nth-of-type(2)').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 50, clientY: 50}))")
	require.Equal(t, "seven of nine", b.eval("document.getElementById('tip').textContent"))
	// The button changes the theme.
	before := b.eval("getComputedStyle(document.body).backgroundColor")
	b.click("#theme")
	require.NotEqual(t, before, b.eval("getComputedStyle(document.body).backgroundColor"))

	// The map of a schedule says what lies where: of each place what the replay says.
	b.load(addresses["schedule"], 1280, 900, "light")
	list, err := lifetimes(built.Graph, built.Result.Program)
	require.NoError(t, err)
	for _, i := range []int{0, len(list) / 3, len(list) / 2, len(list) - 1} {
		l := list[i]
		b.eval(fmt.Sprintf(`(() => {
			const v = document.querySelector("[data-view=lanes]"), row = [...v.querySelector("select:last-of-type, label select").closest(".tools").querySelectorAll("select")].pop(), step = v.querySelector("input[type=number]");
			row.value = [...row.options].find(o => o.textContent === "array %d, row %d").value;
			step.value = "%d";
			step.dispatchEvent(new Event("change"));
		})()`, l.array, l.row, l.start))
		text := b.eval(`document.querySelector("[data-view=lanes] .readout").textContent`)
		require.Contains(t, text, fmt.Sprintf("array %d, row %d, steps %d to ", l.array, l.row, l.start))
		name := nodeName(built.Graph, l.value.Node())
		if l.value.Complemented() {
			name = "~" + name
		}
		require.Regexp(t, "^"+regexp.QuoteMeta(name)+"[ ,;]", text)
	}
	// Pointing at it says so too.
	require.NotEmpty(t, b.eval(`(() => {
		const c = document.querySelector("[data-view=lanes] canvas"), r = c.getBoundingClientRect();
		c.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: r.left + 5, clientY: r.top + 26}));
		return document.getElementById("tip").textContent;
	})()`))
	// A gate is found by its name.
	b.eval(`(() => { const f = document.querySelector("[data-view=circuit] input[type=text]"); f.value = "` + nodeName(built.Graph, built.Graph.FirstGate()) + `"; f.dispatchEvent(new Event("change")); })()`)
	require.Contains(t, b.eval(`document.querySelector("[data-view=circuit] .readout").textContent`), "; level 1, read by ")

	// A line of C shows what became of it.
	b.load(addresses["kernel"], 1280, 900, "light")
	b.click(".code button")
	require.Regexp(t, `^Line \d+ became \d+ nodes, \d+ steps, \d+ commands, \d+ events\.$`, b.eval(`document.querySelector("[data-view=kernel] .readout").textContent`))
	require.Equal(t, "true", b.eval(`document.querySelector(".code button").getAttribute("aria-pressed")`))
	b.accessible("kernel with a line")
	// A node shows the line.
	b.eval(`document.querySelector(".code button[aria-pressed=true]").click()`)
	b.eval(`document.querySelector(".node").dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
	require.Equal(t, "1", b.eval(`document.querySelectorAll(".code button[aria-pressed=true]").length`))

	// Nothing on the same circuit beats what is on the front, and something beats all else;
	// without the button circuits are rivals.
	b.load(addresses["sweep"], 1280, 900, "light")
	for _, apart := range []string{"true", "false"} {
		require.Equal(t, "[]", b.eval(`(() => {
			const v = document.querySelector("[data-view=sweep]"), rows = JSON.parse(v.querySelector("script").textContent).rows, on = new Set(v.front), wrong = [];
			const [x, y] = [...v.querySelectorAll("select")].map(s => s.value), at = (r, n) => n in r.params ? r.params[n] : r.values[n];
			rows.forEach((r, i) => {
				if (r.error) return;
				const beaten = rows.some(o => !o.error && (!`+apart+` || o.params.circuit === r.params.circuit) && at(o, x) <= at(r, x) && at(o, y) <= at(r, y) && (at(o, x) < at(r, x) || at(o, y) < at(r, y)));
				if (beaten === on.has(i)) wrong.push(i);
			});
			return JSON.stringify(wrong);
		})()`))
		require.Equal(t, apart, b.eval(`document.querySelector("[aria-label='A front for each'] button").getAttribute("aria-pressed")`))
		b.click("[aria-label='A front for each'] button")
	}
	require.Equal(t, "24 of 30 jobs done, 1 failed", b.eval(`document.querySelector("[data-view=sweep] .status").textContent.trim()`))
	b.quiet()
}

// document is what a page shows of a text of JSON.
func document(t *testing.T, name, text string) []Section {
	t.Helper()
	sections, err := Document(name, []byte(text))
	require.NoError(t, err)
	return sections
}

// wide is a program of many rows and steps, which no circuit needs to have.
func wide(arrays, rows, steps int) *sram.Program {
	p := &sram.Program{Geometry: sram.Geometry{Arrays: arrays, Rows: rows, Cols: 64}}
	for a := range arrays {
		for r := range 8 {
			p.Inputs = append(p.Inputs, sram.Input{Name: fmt.Sprintf("x%d", 8*a+r), Place: sram.Place{Array: a, Row: r}})
		}
	}
	at := make([]int, arrays)
	for s := range steps {
		a := s * 7919 % arrays
		dst := 8 + (at[a]*13+s/500)%(rows-8)
		at[a]++
		in := sram.Instr{Op: sram.Op(s % 2), Array: uint16(a), Dst: uint16(dst), Src: [3]sram.Operand{sram.Row(s%8, false), sram.Row((s+1)%8, true), sram.Zero}}
		if s%9 == 0 && arrays > 1 {
			in = sram.Instr{Op: sram.Copy, Array: uint16(a), Dst: uint16(dst), From: uint16((a + 1) % arrays), Src: [3]sram.Operand{sram.Row(s%8, false)}}
		}
		p.Instrs = append(p.Instrs, in)
	}
	return p
}

// TestLargeSchedules opens maps of large schedules and scrolls through them; how long that
// takes is told with -v. The first is as large as that of log2.
func TestLargeSchedules(t *testing.T) {
	ctx := browser(t)
	b := open(t, ctx)
	for _, c := range []struct{ arrays, rows, steps int }{{8, 256, 22_000}, {12, 256, 100_000}} {
		sections, err := Schedule("large", nil, wide(c.arrays, c.rows, c.steps))
		require.NoError(t, err)
		address := file(t, fmt.Sprintf("large%d", c.steps), &Page{Title: "large", Sections: sections})
		start := time.Now()
		b.load(address, 1280, 900, "light")
		opened := time.Since(start)
		b.eval(`window.frames_ = []; (() => {
			const p = document.querySelector(".pane"); let n = 0, last = performance.now();
			for (const e of document.querySelectorAll("[aria-label=Wider]")) { e.click(); e.click(); }
			const step = () => { const now = performance.now(); frames_.push(now - last); last = now; p.scrollTop = n * 37 % (p.scrollHeight - p.clientHeight); p.scrollLeft = n * 53 % (p.scrollWidth - p.clientWidth); if (++n < 60) requestAnimationFrame(step); else window.done_ = true; };
			requestAnimationFrame(step);
		})()`)
		_, err = chromedp.Run(ctx, chromedp.Poll[bool]("window.done_ === true"))
		require.NoError(t, err)
		require.Equal(t, "60", b.eval("frames_.length"))
		require.NotEqual(t, "0", b.eval("document.querySelector('.pane').scrollTop"))
		t.Logf("%d rows x %d steps: open after %v; a frame while scrolling takes %s ms in the median, %s at most", c.arrays*c.rows, c.steps, opened.Round(time.Millisecond),
			b.eval("frames_.slice(1).sort((a, b) => a - b)[29].toFixed(1)"), b.eval("Math.max(...frames_.slice(1)).toFixed(1)"))
	}
	b.quiet()
}
