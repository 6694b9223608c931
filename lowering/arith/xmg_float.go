package arith

import (
	"context"

	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/xmg"
)

// xmgFloat returns the circuit of a kind of netlist/gen for the format of the
// operation. more adds to its parameters; it may be nil.
func xmgFloat(kind string, more func(t Type, extra map[string]int)) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, t Type, x [][]lit) []lit {
		f := t.Float
		extra := map[string]int{"exponent": f.Exp, "flush": 0}
		if f.FTZ {
			extra["flush"] = 1
		}
		if more != nil {
			more(t, extra)
		}
		return c.kind(kind, len(x[0]), extra, x)
	}
}

// xmgFloatCompare compares two numbers.
func xmgFloatCompare(order floatOrder) func(*circuit, Type, [][]lit) []lit {
	return func(c *circuit, t Type, x [][]lit) []lit {
		order, x := flipped(order, x)
		kind := map[floatOrder]string{orderEqual: "feq", orderNotEqual: "feq", orderLess: "flt", orderLessEqual: "fle"}[order]
		y := xmgFloat(kind, nil)(c, t, x)
		if order == orderNotEqual && len(y) > 0 {
			y = []lit{y[0].Not()}
		}
		return y
	}
}

// kind adds the circuit of a kind of netlist/gen, of which the operands are the
// inputs, and returns its outputs. An error is kept: some kinds do not take all
// formats.
func (c *circuit) kind(kind string, width int, extra map[string]int, x [][]lit) []lit {
	n, err := gen.Build(context.Background(), kind, gen.Options{Width: width, Extra: extra})
	if err == nil {
		var g *xmg.Graph
		if g, err = xmg.FromNetwork(context.Background(), n, xmg.Options{NoMap: true}); err == nil {
			return c.insert(g, x)
		}
	}
	c.err = err
	return nil
}

// insert adds the gates of g to the circuit.
func (c *circuit) insert(g *xmg.Graph, x [][]lit) []lit {
	to := make([]lit, 1, g.NumNodes())
	to[0] = xmg.False
	for _, w := range x {
		to = append(to, w...)
	}
	at := func(l lit) lit { return to[l.Node()].NotIf(l.Complemented()) }
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		f := g.Fanins(id)
		if g.Kind(id) == xmg.Xor {
			to = append(to, c.xor3(at(f[0]), at(f[1]), at(f[2])))
		} else {
			to = append(to, c.maj(at(f[0]), at(f[1]), at(f[2])))
		}
	}
	y := make([]lit, g.NumOutputs())
	for i := range y {
		y[i] = at(g.Output(i).Lit)
	}
	return y
}
