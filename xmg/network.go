package xmg

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/netlist"
)

// Progress is a report from a running pass.
type Progress struct {
	Phase string // what is being done, a few words
	Done  int    // nodes done in this phase
	Total int    // nodes of this phase
}

// Options are how a network is made a graph. The zero value is the default.
type Options struct {
	// NoMap keeps the gates of the network even if it is AND/INV logic or
	// look-up tables: no search for the XOR and MAJ hidden in it.
	NoMap bool
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

// ticker counts the work of a pass: every so many nodes it reports and looks
// whether the context has ended.
type ticker struct {
	ctx      context.Context
	progress func(Progress)
	phase    string
	total    int
}

const tickNodes = 1 << 16

// tick is called with the number of nodes done so far.
func (t *ticker) tick(done int) error {
	if done%tickNodes != 0 {
		return nil
	}
	if t.progress != nil {
		t.progress(Progress{t.phase, done, t.total})
	}
	if err := t.ctx.Err(); err != nil {
		return fmt.Errorf("xmg: %s: %w", t.phase, err)
	}
	return nil
}

// FromNetwork makes the graph of a circuit: the logic that its outputs depend
// on, inputs and outputs with their names and in their order.
//
// A network of XMG gates (AND, XOR, MAJ, XOR3, and tables that are one of
// these; with at least one that is not an AND) is translated gate for gate, in
// its order, with nothing done but structural hashing and the removal of
// trivial gates. Any other network (plain AND/INV logic, or one with
// multiplexers or larger tables) is translated with good structures for these
// and then mapped with [Map].
//
// An error means that the context ended (it wraps its error) or that n breaks
// an invariant of its package.
func FromNetwork(ctx context.Context, n *netlist.Network, opt Options) (*Graph, error) {
	if err := n.Check(); err != nil {
		return nil, fmt.Errorf("xmg: from a network: %w", err)
	}
	live := liveNodes(n)
	g, err := translate(ctx, n, live, opt.Progress)
	if err != nil {
		return nil, err
	}
	if opt.NoMap || allXMG(n, live) {
		return g, nil
	}
	return Map(ctx, g, opt)
}

// IsXMG reports whether the logic that the outputs depend on is all XMG gates
// (AND, XOR, MAJ, XOR3, and tables that are one of these), not all of them ANDs:
// a circuit that [FromNetwork] takes gate for gate.
func IsXMG(n *netlist.Network) bool { return allXMG(n, liveNodes(n)) }

// allXMG tells whether all live nodes are XMG gates, not all of them ANDs.
func allXMG(n *netlist.Network, live []bool) bool {
	more := false
	for id, l := range live {
		if !l {
			continue
		}
		switch n.Kind(id) {
		case netlist.Xor, netlist.Xor3, netlist.Maj:
			more = true
		case netlist.Mux:
			return false
		case netlist.LUT:
			kind, ok := tableKind(n.Table(id), len(n.Fanins(id)))
			if !ok {
				return false
			}
			more = more || kind
		}
	}
	return more
}

// liveNodes tells which nodes an output depends on.
func liveNodes(n *netlist.Network) []bool {
	live := make([]bool, n.NumNodes())
	for _, o := range n.Outputs() {
		live[o.Lit.Node()] = true
	}
	for id := len(live) - 1; id > 0; id-- {
		if live[id] {
			for _, l := range n.Fanins(id) {
				live[l.Node()] = true
			}
		}
	}
	return live
}

// translate makes a graph of the live nodes, one by one in their order.
func translate(ctx context.Context, n *netlist.Network, live []bool, progress func(Progress)) (*Graph, error) {
	gates := 0
	for id, l := range live {
		if l && n.Kind(id) > netlist.Input {
			gates++
		}
	}
	g := New(n.Name)
	g.Grow(n.NumInputs() + gates)
	lit := make([]Lit, n.NumNodes())
	for i := range n.NumInputs() {
		lit[n.Input(i)] = g.AddInput(n.InputName(i))
	}
	at := func(l netlist.Lit) Lit { return lit[l>>1] ^ Lit(l&1) }
	var tables *tableBuilder
	t := ticker{ctx, progress, "translating", len(live)}
	for id, l := range live {
		if err := t.tick(id); err != nil {
			return nil, err
		}
		kind := n.Kind(id)
		if !l || kind <= netlist.Input {
			continue
		}
		f := n.Fanins(id)
		switch kind {
		case netlist.And:
			lit[id] = g.And(at(f[0]), at(f[1]))
		case netlist.Xor:
			lit[id] = g.Xor2(at(f[0]), at(f[1]))
		case netlist.Xor3:
			lit[id] = g.Xor(at(f[0]), at(f[1]), at(f[2]))
		case netlist.Maj:
			lit[id] = g.Maj(at(f[0]), at(f[1]), at(f[2]))
		case netlist.Mux:
			lit[id] = g.Mux(at(f[0]), at(f[1]), at(f[2]))
		case netlist.LUT:
			if tables == nil {
				tables = newTableBuilder(g)
			}
			var in [netlist.MaxLUT]Lit
			for i, l := range f {
				in[i] = at(l)
			}
			lit[id] = tables.build(n.Table(id), in[:len(f)])
		}
	}
	g.outputs = make([]Output, 0, n.NumOutputs())
	for _, o := range n.Outputs() {
		g.AddOutput(o.Name, at(o.Lit))
	}
	return g.Sweep(), nil
}

// ToNetwork returns the graph as a network for the writers, gate for gate in
// its order: a MAJ or XOR gate with a constant fanin becomes an AND (an OR by
// its edges) or a two-input XOR.
func (g *Graph) ToNetwork() *netlist.Network {
	n := netlist.New(g.Name)
	n.Grow(len(g.nodes) - 1)
	for _, name := range g.inputNames {
		n.AddInput(name)
	}
	// The ids of both are equal; only an OR is the complement of its AND.
	or := make([]netlist.Lit, len(g.nodes))
	at := func(l Lit) netlist.Lit { return netlist.Lit(l) ^ or[l>>1] }
	for id := g.FirstGate(); id < len(g.nodes); id++ {
		f := g.nodes[id]
		a, b, c := at(f[0]), at(f[1]), at(f[2])
		switch {
		case f[0] == False:
			n.And(b, c)
		case f[0] == True:
			or[id] = n.Or(b, c) & 1
		case f[0] < f[1]:
			n.Maj(a, b, c)
		case f[2] == False:
			n.Xor(a, b)
		default:
			n.Xor3(a, b, c)
		}
	}
	for _, o := range g.outputs {
		n.AddOutput(o.Name, at(o.Lit))
	}
	return n
}
