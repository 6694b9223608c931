package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/reproduce"
	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// built is a schedule of a generated circuit.
func built(t testing.TB, kind string, width, arrays, rows int) *masim.Built {
	t.Helper()
	n, err := gen.Build(t.Context(), kind, gen.Options{Width: width})
	require.NoError(t, err)
	b, err := masim.Build(t.Context(), n, masim.BuildOptions{Options: masim.Options{Effort: masim.Fast, Seed: 1}, Geometry: sram.Geometry{Arrays: arrays, Rows: rows, Cols: 64}})
	require.NoError(t, err)
	return b
}

// TestLifetimes executes a program on bits, row by row, and compares what each row holds
// at each step with the value, in the graph, of what the page says lies there.
func TestLifetimes(t *testing.T) {
	b := built(t, "multiplier", 6, 4, 16)
	g, p := b.Graph, b.Result.Program
	require.Positive(t, p.Copies())
	list, err := lifetimes(g, p)
	require.NoError(t, err)
	at := map[sram.Place]map[int]*lifetime{}
	for i := range list {
		l := &list[i]
		place := sram.Place{Array: l.array, Row: l.row}
		if at[place] == nil {
			at[place] = map[int]*lifetime{}
		}
		for s := l.start; s < l.end; s++ {
			require.Nil(t, at[place][s], "two values in a place")
			at[place][s] = l
		}
		require.Less(t, l.live, len(p.Instrs)+1)
	}
	for seed := range uint64(20) {
		// The graph, on one pattern.
		node := make([]bool, g.NumNodes())
		for i := range g.NumInputs() {
			node[i+1] = (seed*0x9E3779B97F4A7C15)>>(i*3%61)&1 == 1
		}
		lit := func(l xmg.Lit) bool { return node[l.Node()] != l.Complemented() }
		gate := func(xor bool, a, b, c bool) bool {
			if xor {
				return a != b != c
			}
			return a && b || a && c || b && c
		}
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			f := g.Fanins(id)
			node[id] = gate(g.Kind(id) == xmg.Xor, lit(f[0]), lit(f[1]), lit(f[2]))
		}
		// The program, on the same.
		row := map[sram.Place]bool{}
		for i, in := range p.Inputs {
			row[in.Place] = node[i+1]
		}
		for step := range p.Instrs {
			in := &p.Instrs[step]
			to := sram.Place{Array: int(in.Array), Row: int(in.Dst)}
			operand := func(array int, o sram.Operand) bool {
				if o.IsConst() {
					return o == sram.One
				}
				from := sram.Place{Array: array, Row: o.Row()}
				// What is read lies there, and the page knows that it is needed.
				l := at[from][max(step-1, 0)]
				require.NotNil(t, l)
				require.GreaterOrEqual(t, l.live, step)
				return row[from] != o.Negated()
			}
			if in.Op == sram.Copy {
				row[to] = operand(int(in.From), in.Src[0])
			} else {
				row[to] = gate(in.Op == sram.Xor, operand(int(in.Array), in.Src[0]), operand(int(in.Array), in.Src[1]), operand(int(in.Array), in.Src[2]))
			}
			for place, v := range row {
				l := at[place][step]
				require.NotNil(t, l, "step %d, %v", step, place)
				require.Equal(t, v, lit(l.value), "step %d, %v", step, place)
			}
		}
	}
	copies := 0
	for _, l := range list {
		if l.how == 2 {
			copies++
			require.Equal(t, list[l.from].value, l.value)
		}
	}
	require.Equal(t, p.Copies(), copies)
}

func TestCriticalPath(t *testing.T) {
	g := built(t, "adder", 8, 2, 64).Graph
	level := levelsOf(g)
	path := criticalPath(g, level)
	deepest := 0
	for _, o := range g.Outputs() {
		deepest = max(deepest, level[o.Lit.Node()])
	}
	require.Len(t, path, deepest+1)
	require.False(t, g.IsGate(path[0]))
	for i := 1; i < len(path); i++ {
		f := g.Fanins(path[i])
		require.Contains(t, []int{f[0].Node(), f[1].Node(), f[2].Node()}, path[i-1])
	}
}

const hostile = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>\n\"'`{{.}}&lt;"

// hostilePage has a name that is markup wherever there is a name.
func hostilePage(t testing.TB) *Page {
	t.Helper()
	g := xmg.New(hostile)
	a, b, c := g.AddInput(hostile), g.AddInput("b"), g.AddInput("c"+hostile)
	x := g.Maj(a, b, c)
	g.AddOutput(hostile, g.Xor(x, a, b))
	p := &sram.Program{Geometry: sram.Geometry{Arrays: 2, Rows: 8, Cols: 64}, Inputs: []sram.Input{{Name: hostile, Place: sram.Place{}}, {Name: "b", Place: sram.Place{Row: 1}}, {Name: "c", Place: sram.Place{Row: 2}}},
		Instrs:  []sram.Instr{{Op: sram.Maj, Dst: 3, Src: [3]sram.Operand{sram.Row(0, false), sram.Row(1, false), sram.Row(2, false)}}, {Op: sram.Xor, Dst: 4, Src: [3]sram.Operand{sram.Row(3, false), sram.Row(0, false), sram.Row(1, false)}}},
		Outputs: []sram.Output{{Name: hostile, Operand: sram.Row(4, false)}}}
	sections, err := Schedule(hostile, g, p)
	require.NoError(t, err)
	sections = append(sections, Circuit(hostile, g)...)
	r := []*sweep.Record{{Key: "k", Params: []sweep.Param{{Name: hostile, Value: hostile}, {Name: "rows", Value: "3"}}, Result: json.RawMessage(`{"copies": 3}`)},
		{Key: "l", Params: []sweep.Param{{Name: hostile, Value: "b"}, {Name: "rows", Value: "4"}}, Exit: 1, Error: hostile}}
	sections = append(sections, Sweep(hostile, r, 2, "")...)
	svg := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" onload="window.pwned=1"><title>` + strings.ReplaceAll(hostileText, "\n", " ") + `</title><script>window.pwned=1</script><foreignObject><b onclick="x">b</b></foreignObject><image href="http://example.com/x.png"/><rect fill="url(http://example.com/#x)" width="9" height="9" onclick="window.pwned=1"/><a href="javascript:x"><text>t</text></a></svg>`
	ours := 1.0
	sections = append(sections, Reproduced([]*reproduce.Report{{ID: "x:" + hostile, Title: hostile, Paper: hostile, Comparisons: []reproduce.Comparison{{Name: hostile, Ours: &ours, Paper: 1, Deviation: &ours, Verdict: "differs"}},
		Measured: &reproduce.Measured{Notes: []string{hostile}, Tables: []reproduce.Table{{Title: hostile, Head: []string{hostile, "n"}, Rows: [][]string{{hostile}}}}, Figures: []reproduce.Figure{{File: hostile, SVG: []byte(svg)}}}}}, []string{hostile})...)
	one, err := Document(hostile, []byte(`{"name": `+quote(hostile)+`, "list": [{"name": `+quote(hostile)+`}]}`))
	require.NoError(t, err)
	return &Page{Title: hostile, Lead: hostile, Sections: append(sections, one...)}
}

const hostileText = "&lt;script&gt;window.pwned=1&lt;/script&gt;"

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// lacks is NotContains without printing the page.
func lacks(t testing.TB, page, text string) {
	t.Helper()
	require.False(t, strings.Contains(page, text), "the page has %q", text)
}

func write(t testing.TB, p *Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.String()
}

// TestHostileNames looks at the text; that nothing runs is for TestBrowser.
func TestHostileNames(t *testing.T) {
	text := write(t, hostilePage(t))
	require.Equal(t, 1, strings.Count(text, "<script>"), "the page's own script only")
	lacks(t, text, "<img")
	lacks(t, text, "http://example.com")
	lacks(t, text, "onload=")
	lacks(t, text, "onclick=")
	lacks(t, text, "javascript:")
	lacks(t, text, "foreignObject")
	require.Empty(t, regexp.MustCompile(`<(a|image|iframe|object|link|base|form)[ >][^>]*(https?:|//)`).FindString(text))
}

// TestNothingOfTheMachine makes pages of files in a folder with a name, and looks for
// it, and for the host's.
func TestNothingOfTheMachine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secret-folder")
	store, err := results.Open(filepath.Join(dir, "plan.results"))
	require.NoError(t, err)
	for i := range 3 {
		key := results.Key(i)
		require.NoError(t, store.Put(key, &sweep.Record{Key: key, Params: []sweep.Param{{Name: "rows", Value: fmt.Sprint(i)}}, Result: json.RawMessage(fmt.Sprintf(`{"copies": %d}`, i))}))
		require.NoError(t, store.Put(results.Key("times", key), &sweep.Times{CPU: 1}))
	}
	bsp := filepath.Join(dir, "mult.bsp")
	var b bytes.Buffer
	_, err = built(t, "multiplier", 4, 2, 24).Result.Program.WriteTo(&b)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(bsp, b.Bytes(), 0o600))
	file := filepath.Join(dir, "result.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"cycles": 3, "layers": [{"name": "a", "cycles": 1}, {"name": "b", "cycles": 2}]}`), 0o600))
	sections, err := Read(t.Context(), filepath.Join(dir, "plan.results"), bsp, file)
	require.NoError(t, err)
	require.Len(t, sections, 3)
	text := write(t, &Page{Title: "all", Sections: sections})
	lacks(t, text, "secret-folder")
	lacks(t, text, os.TempDir())
	host, err := os.Hostname()
	require.NoError(t, err)
	if len(host) > 3 {
		lacks(t, text, host)
	}
	require.Contains(t, text, ">plan<")
	require.Contains(t, text, `"copies":2`)
	// The same results, the same bytes.
	again, err := Read(t.Context(), filepath.Join(dir, "plan.results"), bsp, file)
	require.NoError(t, err)
	require.Equal(t, text, write(t, &Page{Title: "all", Sections: again}))
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "nothere"), "no such file"},
		{file("empty", ""), "is empty, expected a folder of a sweep"},
		{file("text", "hello\n"), "expected a folder of a sweep"},
		{file("bad.json", "{\"a\": \n1,,\n}"), `bad.json:2: no JSON`},
		{file("two.json", "{\"a\": 1}\n{\"a\": 2}\n"), "several documents"},
		{file("lines.jsonl", "{\"key\":\"a\",\"params\":[],\"exit\":0}\n{\"key\":3}\n"), "lines.jsonl:2: .*expected a record"},
		{file("bad.bsp", ".program bitsched 1\n.geometry x\n"), "bad.bsp:2:"},
	} {
		_, err := Read(t.Context(), c.path)
		require.Error(t, err, c.path)
		require.Regexp(t, c.want, err.Error())
		require.NotContains(t, err.Error(), "\n")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Read(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

func TestCleanSVG(t *testing.T) {
	text, err := cleanSVG([]byte(`<svg viewBox="0 0 1 1"><defs><pattern id="p"><rect/></pattern></defs><rect fill="url(#p)" data-line="3"/><style>x</style><text>a &lt; b</text></svg>`))
	require.NoError(t, err)
	require.Regexp(t, `^<svg xmlns="http://www.w3.org/2000/svg" class="drawn" viewBox="0 0 1 1"><defs><pattern id="(d\d+-p)"><rect></rect></pattern></defs><rect fill="url\(#d\d+-p\)" data-line="3"></rect><text>a &lt; b</text></svg>$`, text)
	for _, bad := range []string{"", "x", "<html></html>", "<svg>", "<svg></b></svg>"} {
		_, err := cleanSVG([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestComparisonReport(t *testing.T) {
	copies, energy, published := 3, 4.5, 7
	r := &benchmarks.Report{Schedulers: []string{"a", "b"}, Circuits: []benchmarks.CircuitReport{
		{Name: "x", Rows: 8, Gates: 5, Results: []benchmarks.ResultReport{{Scheduler: "a", Copies: &copies, Energy: &energy, PaperCopies: &published}, {Scheduler: "b", Note: "too few rows"}}},
		{Name: "y", Rows: 8, Gates: 6, Results: []benchmarks.ResultReport{{Scheduler: "a", Copies: &copies}}},
	}}
	table, ok := ComparisonReport("c", r)[0].Parts[0].(*Table)
	require.True(t, ok)
	require.Equal(t, [][]string{{"x", "8", "5", "0", "3", "-", "7"}, {"y", "8", "6", "0", "3", "-", "-"}}, table.Rows)
	require.Len(t, table.Columns, 7)
	require.Equal(t, []string{"x, b: too few rows"}, table.Notes)
}

// mapJSON is of layers that were mapped one by one, jointJSON of a plan for two platforms
// with clocks of their own, whose cycles do not add up.
const (
	mapJSON = `{"work": "net", "platform": "p", "optimizer": "o", "cycles": 30, "bound": 12, "nanoseconds": 15, "breakdown": {"compute": 10, "drain": 20, "idle": 0},
		"layers": [{"name": "a", "operator": "conv", "cycles": 30, "bound": 12, "breakdown": {"compute": 10, "drain": 20, "idle": 0}, "outputs_compared": 7}], "checked": {"outputs": 7, "of": 7, "oracle": "loop nest", "fidelity": "gate"}}`
	jointJSON = `{"work": "net", "platform": "p", "nanoseconds": 24, "layers": [
		{"name": "a", "operator": "conv", "cycles": 30, "breakdown": {"compute": 10, "drain": 20}, "outputs_compared": 7}, {"name": "b", "operator": "gemm", "cycles": 4, "breakdown": {"compute": 4}, "outputs_compared": 2}],
		"joint": {"nanoseconds": 24, "layer_by_layer_nanoseconds": -1, "bound_nanoseconds": 9, "exact": true, "layers": [{"platform": "p", "activations_in_buffer": [false], "result_stays": true, "nanoseconds": 15, "between_nanoseconds": 1},
		{"platform": "q", "activations_in_buffer": [true, false], "result_stays": false, "nanoseconds": 8}]}, "checked": {}}`
)

func TestMapping(t *testing.T) {
	one := document(t, "net.json", mapJSON)[0]
	require.Equal(t, "net on p", one.Title)
	require.Equal(t, Facts{{"cycles", "30"}, {"at least", "12"}, {"microseconds", "0.015"}, {"layers", "1"}, {"optimiser", "o"}}, one.Parts[0])
	require.Equal(t, Note("7 of 7 outputs were executed at gate fidelity and agree with a loop nest."), one.Parts[1])
	view, ok := one.Parts[2].(*View)
	require.True(t, ok)
	bars, ok := view.Data.(*barsData)
	require.True(t, ok)
	require.Equal(t, []string{"compute", "drain"}, bars.Parts)
	require.Equal(t, [][]float64{{10, 20}}, bars.Of)

	both := document(t, "both.json", jointJSON)[0]
	require.Equal(t, "net on p, q", both.Title)
	require.Equal(t, Facts{{"microseconds", "0.024"}, {"at least", "0.009"}, {"layer by layer", "does not go together"}, {"layers", "2"}, {"plan", "exact over the mappings found"}}, both.Parts[0])
	require.Equal(t, Note("Not executed: cycles are of the model alone."), both.Parts[1])
	view, ok = both.Parts[2].(*View)
	require.True(t, ok)
	bars, ok = view.Data.(*barsData)
	require.True(t, ok)
	require.Equal(t, "ns", bars.Unit)
	require.Equal(t, []string{"compute", "drain", "between layers"}, bars.Parts)
	require.Equal(t, [][]float64{{5, 10, 1}, {8, 0, 0}}, bars.Of, "10 of 30 cycles are 5 of 15 ns; those of b last 2 ns each")
	table, ok := both.Parts[3].(*Table)
	require.True(t, ok)
	require.Equal(t, []string{"b", "gemm", "q", "8", "0", "4", "buffer, off chip", "off chip", "2"}, table.Rows[1])
}

// TestWorks: what is worked on are the words of a command and the sizes of its kernel.
func TestWorks(t *testing.T) {
	var list []*sweep.Record
	for _, n := range []string{"N=64", "N=128"} {
		list = append(list, &sweep.Record{Params: []sweep.Param{{Name: "kernel", Value: "mm"}, {Name: "define", Value: n}, {Name: "machine", Value: "m"}},
			Args: []string{"run", "mm", "--define=" + n, "--machine=m", "--json"}, Result: json.RawMessage(`{"cycles": 3}`)})
	}
	d, _ := sweepView(list, 2)
	require.Equal(t, []string{"kernel", "define"}, d.Works)
}

// TestReproducedOrder: papers come in the order of their entries, what nobody knows before
// them, whatever the order of the files that they were read from.
func TestReproducedOrder(t *testing.T) {
	var reports []*reproduce.Report
	for _, e := range slices.Backward(reproduce.Entries) {
		reports = append(reports, &reproduce.Report{ID: e.ID})
	}
	sections := Reproduced(append(reports, &reproduce.Report{ID: "x:other"}), nil)
	require.Len(t, sections, len(reproduce.Entries)+2)
	require.Equal(t, []string{"Claims", "x:other"}, []string{sections[0].Title, sections[1].Title})
	for i, e := range reproduce.Entries {
		require.Equal(t, e.ID, sections[i+2].Title)
	}
}

// FuzzDocument: whatever a document has becomes a page of one script or an error of one
// line.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{"a": [1, {"b": null}]}`, `{"key":"a","params":[{"name":"x","value":"1"}],"exit":0,"result":{"n":1}}`, `{"entries":[{"figures":[{"svg":"PHN2Zy8+"}]}],"size":"small","left_out":[]}`,
		`{"circuits":[{"results":[{}]}],"schedulers":["a"]}`, `{"records":[null],"jobs":2}`, `{"work":"a","platform":"b","layers":[{}],"breakdown":{"x":1}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		sections, err := Document("fuzz.json", text)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := (&Page{Title: "fuzz", Sections: sections}).Write(&b); err != nil {
			return // a drawing that is none
		}
		require.Equal(t, 1, strings.Count(b.String(), "<script>"))
	})
}
