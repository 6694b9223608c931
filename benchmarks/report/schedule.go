package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// graphData is a graph as scripts have it.
type graphData struct {
	Inputs  []string         `json:"inputs"`
	Kind    []int            `json:"kind,omitzero"`     // of each gate: 0 MAJ, 1 XOR; nil: no graph
	Fanins  []uint32         `json:"fanins,omitzero"`   // three literals of each gate
	Outputs map[int][]string `json:"outputs,omitempty"` // names, by node
}

func newGraphData(g *xmg.Graph) *graphData {
	d := &graphData{Outputs: map[int][]string{}, Inputs: make([]string, g.NumInputs()), Kind: []int{}, Fanins: []uint32{}}
	for i := range d.Inputs {
		d.Inputs[i] = g.InputName(i)
	}
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		kind := 0
		if g.Kind(id) == xmg.Xor {
			kind = 1
		}
		d.Kind = append(d.Kind, kind)
		for _, l := range g.Fanins(id) {
			d.Fanins = append(d.Fanins, uint32(l))
		}
	}
	for _, o := range g.Outputs() {
		d.Outputs[o.Lit.Node()] = append(d.Outputs[o.Lit.Node()], o.Name)
	}
	return d
}

// lanesData is what lies where and when, as the script lanes.js has it.
type lanesData struct {
	Label    string     `json:"label"`
	Groups   []group    `json:"groups"`
	Span     int        `json:"span"`
	Unit     string     `json:"unit"`
	UnitName string     `json:"unitName,omitempty"`
	LaneName string     `json:"laneName"`
	Kinds    []string   `json:"kinds"`
	Items    items      `json:"items"`
	Texts    []string   `json:"texts,omitempty"`
	Arcs     *arcs      `json:"arcs,omitempty"`
	Graph    *graphData `json:"graph,omitempty"`
}

type group struct {
	Name  string   `json:"name"`
	Lanes []string `json:"lanes"`
}

// items are in columns, by lane and then by start.
type items struct {
	Lane  []int    `json:"lane"`
	Start []int    `json:"start"`
	End   []int    `json:"end"`
	Live  []int    `json:"live,omitempty"` // last read; -1 = never, span = an output
	Kind  []int    `json:"kind"`
	Level []int    `json:"level,omitempty"`
	Value []uint32 `json:"value,omitempty"` // literal
	How   []int    `json:"how,omitempty"`   // 0 input, 1 computed, 2 copied
	Text  []int    `json:"text,omitempty"`
	Line  []int    `json:"line,omitempty"` // of a kernel
}

// arcs are copies: from an item to an item.
type arcs struct {
	From []int `json:"from"`
	To   []int `json:"to"`
}

// lifetime is a word in a row from when it is written to when another takes its place.
type lifetime struct {
	array, row       int
	start, live, end int
	value            xmg.Lit
	how, from        int // from: the lifetime that a copy reads
}

// lifetimes replays a program. Without a graph the value of a step is the step: node 1 +
// inputs + step.
func lifetimes(g *xmg.Graph, p *sram.Program) ([]lifetime, error) {
	var list []lifetime
	held := map[sram.Place]int{}
	span := len(p.Instrs)
	put := func(at sram.Place, start int, v xmg.Lit, how, from int) {
		if old, ok := held[at]; ok {
			list[old].end = start
		}
		held[at] = len(list)
		list = append(list, lifetime{at.Array, at.Row, start, -1, span, v, how, from})
	}
	values := make([]xmg.Lit, span) // what each step writes
	if g != nil {
		if _, err := masim.Check(g, p, masim.CheckOptions{Rematerialize: true, Visit: func(step int, l xmg.Lit) { values[step] = l }}); err != nil {
			return nil, fmt.Errorf("report: %w", err)
		}
	}
	for i, in := range p.Inputs {
		put(in.Place, 0, xmg.MakeLit(i+1, false), 0, -1)
	}
	for t := range p.Instrs {
		in := &p.Instrs[t]
		at := sram.Place{Array: int(in.Array), Row: int(in.Dst)}
		if in.Op == sram.Copy {
			from, ok := held[sram.Place{Array: int(in.From), Row: in.Src[0].Row()}]
			if !ok {
				return nil, fmt.Errorf("report: step %d copies a row that holds nothing", t)
			}
			list[from].live = t
			put(at, t, list[from].value, 2, from)
			continue
		}
		for _, s := range in.Src {
			if from, ok := held[sram.Place{Array: int(in.Array), Row: s.Row()}]; ok && !s.IsConst() {
				list[from].live = t
			}
		}
		v := xmg.MakeLit(1+len(p.Inputs)+t, false)
		if g != nil {
			v = values[t]
		}
		put(at, t, v, 1, -1)
	}
	for _, o := range p.Outputs {
		if i, ok := held[sram.Place{Array: o.Array, Row: o.Operand.Row()}]; ok && !o.Operand.IsConst() {
			list[i].live = span
		}
	}
	return list, nil
}

// Schedule shows a program: what lies in the rows of every array at every step. g is the
// graph that it computes, which gives names; nil for none.
func Schedule(title string, g *xmg.Graph, p *sram.Program) ([]Section, error) {
	list, err := lifetimes(g, p)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := &list[x], &list[y]
		return cmp.Or(cmp.Compare(a.array, b.array), cmp.Compare(a.row, b.row), cmp.Compare(a.start, b.start))
	})
	rank := make([]int, len(list))
	d := &lanesData{
		Label: "Map of rows and steps", Span: len(p.Instrs), Unit: "steps", LaneName: "Row", Arcs: &arcs{From: []int{}, To: []int{}}, Groups: []group{},
		Items: items{Lane: []int{}, Start: []int{}, End: []int{}, Kind: []int{}, Value: []uint32{}, How: []int{}},
		Kinds: []string{"", "input", "and, or, maj", "xor"},
	}
	if g != nil {
		d.Graph = newGraphData(g)
	} else {
		d.Graph = &graphData{Inputs: []string{}}
		for _, in := range p.Inputs {
			d.Graph.Inputs = append(d.Graph.Inputs, in.Name)
		}
	}
	var levels []int
	if g != nil {
		levels = levelsOf(g)
	}
	summary := make([]arrayUse, p.Geometry.Arrays)
	lane, array, row := -1, -1, -1
	for n, i := range order {
		l := &list[i]
		rank[i] = n
		if l.array != array {
			d.Groups = append(d.Groups, group{Name: fmt.Sprintf("array %d", l.array)})
			array, row = l.array, -1
		}
		if l.row != row {
			row = l.row
			lane++
			last := &d.Groups[len(d.Groups)-1]
			last.Lanes = append(last.Lanes, fmt.Sprintf("row %d", row))
			summary[array].rows++
		}
		kind := 1
		switch {
		case g != nil && g.IsGate(l.value.Node()) && g.Kind(l.value.Node()) == xmg.Xor, g == nil && l.how == 1 && p.Instrs[l.start].Op == sram.Xor:
			kind = 3
		case l.value.Node() > len(p.Inputs):
			kind = 2
		}
		if g == nil && l.how == 2 && l.value.Node() > len(p.Inputs) && p.Instrs[l.value.Node()-1-len(p.Inputs)].Op == sram.Xor {
			kind = 3
		}
		d.Items.Lane = append(d.Items.Lane, lane)
		d.Items.Start = append(d.Items.Start, l.start)
		d.Items.End = append(d.Items.End, max(l.end, l.start+1))
		d.Items.Live = append(d.Items.Live, l.live)
		d.Items.Kind = append(d.Items.Kind, kind)
		d.Items.Value = append(d.Items.Value, uint32(l.value))
		d.Items.How = append(d.Items.How, l.how)
		if levels != nil {
			d.Items.Level = append(d.Items.Level, levels[l.value.Node()])
		}
		u := &summary[array]
		switch l.how {
		case 0:
			u.inputs++
		case 1:
			u.computes++
		case 2:
			u.copiesIn++
			summary[list[l.from].array].copiesOut++
		}
		u.needed += max(min(l.live, d.Span-1)-l.start+1, 0)
	}
	for i := range list {
		if list[i].how == 2 {
			d.Arcs.From = append(d.Arcs.From, rank[list[i].from])
			d.Arcs.To = append(d.Arcs.To, rank[i])
		}
	}
	t := &Table{Table: benchmarks.Table{Title: "Arrays", Columns: []benchmarks.Column{
		{Name: "array", Left: true}, {Name: "rows used"}, {Name: "inputs"}, {Name: "computes"}, {Name: "copies in"}, {Name: "copies out"}, {Name: "rows x steps needed, %"},
	}}}
	for a, u := range summary {
		if u.rows == 0 {
			continue
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("array %d", a), strconv.Itoa(u.rows), strconv.Itoa(u.inputs), strconv.Itoa(u.computes), strconv.Itoa(u.copiesIn),
			strconv.Itoa(u.copiesOut), fmt.Sprintf("%.1f", 100*float64(u.needed)/float64(max(u.rows*d.Span, 1)))})
	}
	return []Section{{
		Title: title, ID: "schedule",
		Lead: "Rows of arrays from top to bottom, steps from left to right. Point at a place to see which gate lies there, and wherever else it does.",
		Parts: []Part{
			Facts{{"steps", commas(len(p.Instrs))}, {"copies", commas(p.Copies())}, {"arrays used", strconv.Itoa(p.ArraysUsed())},
				{"rows of an array", commas(p.Geometry.Rows)}, {"inputs", commas(len(p.Inputs))}, {"outputs", commas(len(p.Outputs))}},
			&View{Kind: "lanes", Title: "Rows over time", Data: d},
			t,
			Note("A value is needed from the step that writes it to the last that reads it; until another takes its row, it lies there for nothing, which is shown pale."),
		},
	}}, nil
}

// arrayUse is what an array is used for.
type arrayUse struct{ rows, inputs, computes, copiesIn, copiesOut, needed int }

// levelsOf returns the level of each node: 0 for inputs, else one more than the highest
// fanin.
func levelsOf(g *xmg.Graph) []int {
	level := make([]int, g.NumNodes())
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		for _, l := range g.Fanins(id) {
			level[id] = max(level[id], level[l.Node()]+1)
		}
	}
	return level
}

// commas prints a number with a comma at each thousand.
func commas(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
