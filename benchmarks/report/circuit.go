package report

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/xmg"
)

// circuitData is a graph as the script circuit.js has it.
type circuitData struct {
	Graph *graphData `json:"graph"`
	Level []int      `json:"level"`
	Depth int        `json:"depth"`
	Path  []int      `json:"path"` // the critical path, from an input to an output
}

// MaxCircuit is how many gates of a circuit are drawn at most; of a larger one there are
// figures and levels only.
const MaxCircuit = 200_000

// criticalPath is a longest way from an input to an output.
func criticalPath(g *xmg.Graph, level []int) []int {
	end := 0
	for _, o := range g.Outputs() {
		if id := o.Lit.Node(); level[id] > level[end] {
			end = id
		}
	}
	path := []int{}
	for id := end; id != 0; {
		path = append(path, id)
		next := 0
		if g.IsGate(id) {
			for _, l := range g.Fanins(id) {
				if f := l.Node(); f != 0 && level[f] == level[id]-1 && (next == 0 || f < next) {
					next = f
				}
			}
		}
		id = next
	}
	slices.Reverse(path)
	return path
}

// Circuit shows a graph: its gates by level, and the critical path.
func Circuit(title string, g *xmg.Graph) []Section {
	level := levelsOf(g)
	depth := 0
	for _, l := range level {
		depth = max(depth, l)
	}
	path := criticalPath(g, level)
	maj, xor := g.Counts()
	and := g.CountAnd()
	longest := 0
	if len(path) > 0 {
		longest = level[path[len(path)-1]]
	}
	parts := []Part{Facts{{"gates", commas(g.NumGates())}, {"maj", commas(maj - and)}, {"and, or", commas(and)}, {"xor", commas(xor)}, {"inputs", commas(g.NumInputs())},
		{"outputs", commas(g.NumOutputs())}, {"depth of outputs", commas(longest)}}}
	if g.NumGates() <= MaxCircuit {
		parts = append(parts, &View{Kind: "circuit", Title: "Gates by level", Data: &circuitData{newGraphData(g), level, depth, path}})
	} else {
		parts = append(parts, Note(fmt.Sprintf("A circuit of more than %s gates is not drawn.", commas(MaxCircuit))))
	}
	count := make([][3]int, depth+1)
	for id := 1; id < g.NumNodes(); id++ {
		kind := 0
		if g.IsGate(id) {
			kind = 1
			if g.Kind(id) == xmg.Xor {
				kind = 2
			}
		}
		count[level[id]][kind]++
	}
	critical := make([]string, depth+1)
	for _, id := range path {
		critical[level[id]] = nodeName(g, id)
	}
	t := &Table{Table: benchmarks.Table{Title: "Levels", Columns: []benchmarks.Column{{Name: "level"}, {Name: "inputs"}, {Name: "and, or, maj"}, {Name: "xor"}, {Name: "on the critical path", Left: true}}}}
	for l, c := range count {
		t.Rows = append(t.Rows, []string{strconv.Itoa(l), strconv.Itoa(c[0]), strconv.Itoa(c[1]), strconv.Itoa(c[2]), critical[l]})
	}
	return []Section{{Title: title, ID: "circuit", Lead: "Inputs stand at the left, each gate one level right of the last that it reads. Point at a gate to see what it reads and what reads it.", Parts: append(parts, t)}}
}

// nodeName is the name of an input, or a gate's number.
func nodeName(g *xmg.Graph, id int) string {
	if id >= 1 && id <= g.NumInputs() {
		return g.InputName(id - 1)
	}
	return "n" + strconv.Itoa(id)
}
