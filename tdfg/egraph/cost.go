package egraph

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Operation is an operation on operands of a type; for a Select it is the type of
// what is chosen from.
type Operation struct {
	Op   scalar.Op
	Type scalar.Type
}

// Conversion is a change of type.
type Conversion struct{ From, To scalar.Type }

// Cost is what the nodes of a graph cost: "architecture-informed" numbers of the
// latency of computations and moves, and of the amount of data moved (Infinity
// Stream, section 3.2). The unit is up to the caller, such as cycles. Each node
// counts once, however often its result is used. Tensors, constants and shrinks
// cost nothing.
//
// Elements are computed at once, so that a computation costs the same for all
// numbers of them up to Lanes.
type Cost struct {
	Compute map[Operation]float64 // also of the steps of a reduction
	Convert map[Conversion]float64
	Lanes   int64 // elements that are computed at once, 0 if all are; more cost in proportion

	MoveBit      float64 // of a move, for each bit of an element
	MoveDistance float64 // for each coordinate that it goes
	MoveElement  float64 // for each bit of each element that arrives

	BroadcastBit     float64
	BroadcastElement float64

	StreamElement float64 // of a stream, for each element of its result
}

// DefaultCost returns relative weights, not latencies: numbers of passes over
// wordlines as bit-serial arithmetic needs them, by the formulas below, where n is
// the width and m that of a significand with its hidden bit. They are of the order
// of Neural Cache's (n+1 for an addition, n²+5n-2 for a product).
//
//	logic, selection, sign            n
//	sum, difference, comparison       n, floating point 2m·log2(m)+2n
//	minimum, maximum                  2n
//	shift                             n·log2(n)
//	product                           n², floating point m²+n
//	quotient, remainder               2n², floating point 2m²+n, also square root
//	conversion                        n·log2(n) of the wider type; between integers n
//	move, broadcast                   2n, a read and a write
//
// Lanes are the elements that are computed at once, at least 1, such as the bitlines of
// a machine. So many make the share of data of a move cost as much as the rest.
func DefaultCost(lanes int64) *Cost {
	c := &Cost{Compute: map[Operation]float64{}, Convert: map[Conversion]float64{}, Lanes: lanes,
		MoveBit: 2, MoveElement: 2 / float64(lanes), BroadcastBit: 2, BroadcastElement: 2 / float64(lanes), StreamElement: 1}
	types := append([]scalar.Type{scalar.Bool}, scalar.Types()...)
	for _, t := range types {
		for _, op := range scalar.Ops() {
			if op.Supports(t) {
				c.Compute[Operation{op, t}] = weight(op, t)
			}
		}
		for _, u := range types {
			n := float64(max(t.Bits(), u.Bits()))
			if t.Float() || u.Float() {
				n *= math.Log2(n)
			}
			c.Convert[Conversion{t, u}] = n
		}
	}
	return c
}

// significand returns the bits of a significand with the hidden one.
func significand(t scalar.Type) float64 {
	switch t {
	case scalar.FP16:
		return 11
	case scalar.BF16:
		return 8
	}
	return 24
}

func weight(op scalar.Op, t scalar.Type) float64 {
	n := float64(t.Bits())
	sum, product, quotient := n, n*n, 2*n*n
	if t.Float() {
		m := significand(t)
		sum, product, quotient = 2*m*math.Ceil(math.Log2(m))+2*n, m*m+n, 2*m*m+n
	}
	switch op {
	case scalar.Add, scalar.Sub:
		return sum
	case scalar.Mul:
		return product
	case scalar.FMA:
		return product + sum
	case scalar.Div, scalar.Rem, scalar.Sqrt:
		return quotient
	case scalar.Min, scalar.Max:
		return 2 * n
	case scalar.Shl, scalar.Shr:
		return n * math.Log2(n)
	}
	return n
}

// Counts are the nodes of a graph that cost something.
type Counts struct {
	Nodes         int // all of them
	Moves         int
	Broadcasts    int
	Computes      int // conversions included
	Reductions    int
	Streams       int
	MovedElements int64 // that arrive, by moves and broadcasts
	Cost          float64
}

// Measure counts the nodes of a graph that its outputs need, and what they cost,
// where sizes has values of symbols: see Options.Sizes.
func Measure(g *tdfg.Graph, cost *Cost, sizes map[string]int64) (Counts, error) {
	m, err := newMeter(&g.Scope, cost, sizes)
	if err != nil {
		return Counts{}, fmt.Errorf("egraph: graph %s: %w", g.Name, err)
	}
	c, err := m.measure(g)
	if err != nil {
		return c, fmt.Errorf("egraph: graph %s: %w", g.Name, err)
	}
	return c, nil
}

func (m *meter) measure(g *tdfg.Graph) (c Counts, err error) {
	need := needed(g)
	for i := range g.Nodes {
		if !need[i] {
			continue
		}
		n := &g.Nodes[i]
		c.Nodes++
		switch n.Kind {
		case tdfg.Move:
			c.Moves++
		case tdfg.Broadcast:
			c.Broadcasts++
		case tdfg.Compute, tdfg.Convert:
			c.Computes++
		case tdfg.Reduce:
			c.Reductions++
		case tdfg.Stream:
			c.Streams++
		}
		var arg tdfg.Facts
		if len(n.Args) > 0 {
			arg = g.Nodes[n.Args[len(n.Args)-1]].Facts
		}
		if n.Kind == tdfg.Move || n.Kind == tdfg.Broadcast {
			size, err := m.elements(n.Domain)
			if err != nil {
				return c, err
			}
			c.MovedElements += size
		}
		x, err := m.cost1(n, arg)
		if err != nil {
			return c, fmt.Errorf("node %d: %w", i, err)
		}
		c.Cost += x
	}
	return c, nil
}

// needed says which nodes the outputs depend on.
func needed(g *tdfg.Graph) []bool {
	need := make([]bool, len(g.Nodes))
	for _, o := range g.Outputs {
		need[o.Node] = true
	}
	for i := len(need) - 1; i >= 0; i-- {
		if need[i] {
			for _, a := range g.Nodes[i].Args {
				need[a] = true
			}
		}
	}
	return need
}

// meter has the sizes that costs are of.
type meter struct {
	cost   *Cost
	values map[string]int64
}

// typicalSize is the value of a symbol that has none given, and no upper bound.
const typicalSize = 1024

// newMeter gives the symbols without a value one: the middle of their ranges, or
// typicalSize where there is no end.
func newMeter(scope *tdfg.Scope, cost *Cost, sizes map[string]int64) (*meter, error) {
	if cost == nil {
		return nil, errors.New("no table of costs")
	}
	m := &meter{cost: cost, values: map[string]int64{}}
	for _, sym := range scope.Space.Symbols() {
		if v, ok := sizes[sym.Name]; ok {
			m.values[sym.Name] = v
			continue
		}
		v, err := sym.Lo.Eval(m.values)
		if err != nil {
			return nil, fmt.Errorf("size of %s: %w", sym.Name, err)
		}
		if sym.Bounded {
			hi, err := sym.Hi.Eval(m.values)
			if err != nil {
				return nil, fmt.Errorf("size of %s: %w", sym.Name, err)
			}
			v += (hi - v) / 2
		} else {
			v = max(v, typicalSize)
		}
		m.values[sym.Name] = v
	}
	return m, nil
}

func (m *meter) elements(r lattice.Rect) (int64, error) {
	b, err := r.Box(m.values)
	if err != nil {
		return 0, err
	}
	return b.Size(), nil
}

// cost1 returns the cost of a node whose last operand has these facts.
func (m *meter) cost1(n *tdfg.Node, arg tdfg.Facts) (float64, error) {
	width := float64(n.Type.Bits())
	switch n.Kind {
	case tdfg.Compute:
		x, err := m.operation(n.Op, arg.Type)
		if err != nil {
			return 0, err
		}
		return m.rounds(x, n.Domain)
	case tdfg.Convert:
		x, ok := m.cost.Convert[Conversion{arg.Type, n.Type}]
		if !ok {
			return 0, fmt.Errorf("no cost of converting %s to %s", arg.Type, n.Type)
		}
		return m.rounds(x, n.Domain)
	case tdfg.Move:
		dist, err := n.Dist.Eval(m.values)
		if err != nil {
			return 0, err
		}
		size, err := m.elements(n.Domain)
		return m.cost.MoveBit*width + m.cost.MoveDistance*math.Abs(float64(dist)) + m.cost.MoveElement*width*float64(size), err
	case tdfg.Broadcast:
		size, err := m.elements(n.Domain)
		return m.cost.BroadcastBit*width + m.cost.BroadcastElement*width*float64(size), err
	case tdfg.Reduce:
		step, err := m.operation(n.Op, arg.Type)
		if err != nil {
			return 0, err
		}
		group := int64(n.Group)
		if group == 0 {
			if group, err = n.Domain[n.Dim].Len().Eval(m.values); err != nil {
				return 0, err
			}
		}
		// Each step brings one half of a group to the other.
		return m.rounds(float64(bits.Len64(uint64(max(group, 1)-1)))*(step+m.cost.MoveBit*width), n.Domain)
	case tdfg.Final:
		return m.operation(n.Op, arg.Type)
	case tdfg.Stream:
		if n.Domain.Everywhere() {
			return m.cost.StreamElement, nil
		}
		size, err := m.elements(n.Domain)
		return m.cost.StreamElement * float64(size), err
	}
	return 0, nil
}

// rounds returns the cost of computing the elements of a tensor, where that of as many
// as there are lanes is x.
func (m *meter) rounds(x float64, r lattice.Rect) (float64, error) {
	if r.Everywhere() || m.cost.Lanes <= 0 {
		return x, nil
	}
	size, err := m.elements(r)
	return x * max(1, float64(size)/float64(m.cost.Lanes)), err
}

func (m *meter) operation(op scalar.Op, t scalar.Type) (float64, error) {
	x, ok := m.cost.Compute[Operation{op, t}]
	if !ok {
		return 0, fmt.Errorf("no cost of %s of %s", op, t)
	}
	if x < 0 || x != x {
		return 0, fmt.Errorf("cost %v of %s of %s, expected at least 0", x, op, t)
	}
	return x, nil
}
