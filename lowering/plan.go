package lowering

import (
	"context"
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Target is what a plan is made for: nothing of a chip but its arrays, so that one
// binary has a plan for each common size (Infinity Stream, section 3.4).
type Target struct {
	Tech     string       // array technology
	Rows     int          // of an array, those that the technology reserves included
	Programs *arith.Store // of the operations; nil builds each anew

	// Finals has the last steps of reductions over several tiles computed in arrays too,
	// where the paper leaves them to streams near the memory (section 3.3).
	Finals bool
}

// Register is a word of every bitline: Bits adjacent rows from Row on.
type Register struct{ Row, Bits int }

// Overlaps reports whether two registers share a row.
func (r Register) Overlaps(q Register) bool {
	return r.Row < q.Row+q.Bits && q.Row < r.Row+r.Bits && r.Bits > 0 && q.Bits > 0
}

func (r Register) String() string { return fmt.Sprintf("r%d:%d", r.Row, r.Bits) }

// StepKind is what a step does.
type StepKind uint8

// The kinds of steps.
const (
	ComputeStep   StepKind = iota // Dst = Op of Args
	FillStep                      // Dst = the value of Node, the same everywhere
	CopyStep                      // Dst = Src
	MoveStep                      // Dst = Src moved as Node says
	BroadcastStep                 // Dst = Src broadcast as Node says
	ReduceStep                    // Dst = the groups of Src reduced as Node says, with Tmp
	FinalStep                     // Dst = the groups in Src reduced to one point: near the memory, or with Tmp
	StreamStep                    // Dst = what the streams of Node give; Args are its operands
	ResultStep                    // the scalar of Output is the word in Src
	SpillStep                     // slot Slot in memory = Src
	ReloadStep                    // Dst = slot Slot
)

var stepNames = [...]string{"compute", "fill", "copy", "move", "broadcast", "reduce", "final", "stream", "result", "spill", "reload"}

func (k StepKind) String() string { return stepNames[k] }

// Step is a step of a plan, on all points of the domain of its node. Registers have
// garbage outside the domain of what they hold.
type Step struct {
	Kind   StepKind
	Node   tdfg.NodeID
	Output int // of a ResultStep, and of a CopyStep with Exact

	Src, Dst, Tmp Register
	Args          []Operand
	Slot          int
	Array         int // of a SpillStep or ReloadStep: 1 and the number of the array whose rows make way; 0: a value on all bitlines

	// Exact says that a CopyStep writes a part of an array, and bitlines outside the
	// domain must keep what they hold.
	Exact bool

	// Of a ComputeStep, and of the combination of a ReduceStep, and of a FinalStep in
	// arrays.
	Program *arith.Program
	Code    *sram.KernelCode // Program on the rows of Args and Dst

	// Elem is the operation on elements that the program computes, of type Type, if
	// Direct; package arith says what others compute.
	Elem   scalar.Op
	Type   scalar.Type
	Direct bool
	Swap   bool // Elem takes the operands in the other order
}

// Operand is a register, or a constant that is folded into the program.
type Operand struct {
	Register
	Const bool
	Value scalar.Value
}

// Plan is a graph in the order of its execution, with wordlines for its values. It
// holds for all values of symbols and scalars, and all tile shapes; [Plan.Lower]
// makes commands of it.
type Plan struct {
	Graph  *tdfg.Graph
	Target Target
	Arrays []Register // of each array of the graph; those that have no rows have no bits
	Steps  []Step
	Peak   int // most rows in use at a time, arrays and scratch included
	Slots  int // spilled words
}

// ErrRegisters is wrapped by the error of a graph that does not fit the rows of an
// array even with all other values spilled.
var ErrRegisters = errors.New("not enough rows")

// Resident returns which arrays of a graph must have rows, because tensors are read
// from them or stored to them. Those that only streams use stay in memory.
func Resident(g *tdfg.Graph) []bool {
	list := make([]bool, len(g.Arrays))
	for i := range g.Nodes {
		if g.Nodes[i].Kind == tdfg.Tensor {
			list[g.Nodes[i].Array] = true
		}
	}
	for _, o := range g.Outputs {
		if o.Array >= 0 && !inMemory(g, o) {
			list[o.Array] = true
		}
	}
	return list
}

// inMemory reports whether an output is what streams have written to the array that
// they name.
func inMemory(g *tdfg.Graph, o tdfg.Output) bool {
	n := &g.Nodes[o.Node]
	return o.Array >= 0 && n.Kind == tdfg.Stream && n.Stream.Result == g.Arrays[o.Array].Name
}

// NewPlan schedules a graph. wl has the first row of each of its arrays, -1 for one
// that stays in memory (see Resident), and keep are rows of words that others have
// and that the plan must not write. Building
// the programs of operations takes milliseconds the first time; the rest is
// proportional to the nodes, times the live values where some are spilled.
//
// Nodes are executed in an order that needs few registers, the operand with the
// greater need first (Sethi and Ullman, 1970), and in two others where values are
// spilled in that: the plan with the fewest spilled words counts. What is another value moved, which
// stays, is moved again and not spilled, unless that leads to more. A value gets the lowest rows that
// are free, scratch the highest. Where there are none, the value whose next use is
// furthest is spilled to memory (Belady, 1966), which the paper leaves as future
// work.
func NewPlan(ctx context.Context, g *tdfg.Graph, t Target, wl []int, keep []Register) (*Plan, error) {
	tech, err := sram.LookupTechnology(t.Tech)
	if err != nil {
		return nil, err
	}
	var best *Plan
	var first error
	for i := range 2 * len(orders) { // each order first with values that are made again
		p := &planner{
			again: i%2 == 0, ctx: ctx, g: g, tech: tech, plan: &Plan{Graph: g, Target: t},
			rows: make([]bool, t.Rows-tech.Reserved), loc: make([]location, len(g.Nodes)), uses: make([][]int, len(g.Nodes)),
		}
		for _, r := range keep {
			for row := r.Row; row < r.Row+r.Bits; row++ {
				p.rows[row] = true
			}
		}
		err := p.run(wl, orders[i/2])
		switch {
		case err != nil && !errors.Is(err, ErrRegisters):
			return nil, fmt.Errorf("lowering: %s: %w", g.Name, err)
		case err == nil && (best == nil || p.plan.Slots < best.Slots):
			best = p.plan
		case err != nil && i == 0:
			first = fmt.Errorf("lowering: %s: %w", g.Name, err)
		}
		if best != nil && best.Slots == 0 {
			break
		}
	}
	if best == nil {
		return nil, first
	}
	return best, nil
}

// value is a word that some nodes are.
type value struct {
	reg     Register
	array   int // whose rows these are, -1 if none
	live    int // uses to come, of all nodes that are this value
	nodes   []tdfg.NodeID
	spilled bool
	again   bool // it is spilled without a copy, and made again
	slot    int  // of a copy in memory, -1 if there is none
	held    bool
}

// location is where the result of a node is.
type location struct {
	val  *value
	bits int // the low ones of the value; 0 where the node has no register
}

type planner struct {
	ctx    context.Context
	g      *tdfg.Graph
	tech   *sram.Technology
	plan   *Plan
	rows   []bool // in use
	loc    []location
	uses   [][]int // positions in the order at which a node is used; len(order) for outputs
	order  []tdfg.NodeID
	arrays []*value
	values []*value // with rows, arrays apart, in the order of their making
	at     int      // position in the order
	done   []bool   // outputs that were stored already
	again  bool     // values may be made again instead of being spilled
}

func (p *planner) run(wl []int, order orderOf) error {
	g := p.g
	if len(wl) != len(g.Arrays) {
		return fmt.Errorf("rows for %d arrays, expected %d", len(wl), len(g.Arrays))
	}
	p.done = make([]bool, len(g.Outputs))
	for i, need := range Resident(g) {
		a := g.Arrays[i]
		if wl[i] < 0 {
			if need {
				return fmt.Errorf("array %s has no rows, and tensors are read from it or stored to it", a.Name)
			}
			p.arrays = append(p.arrays, nil)
			p.plan.Arrays = append(p.plan.Arrays, Register{})
			continue
		}
		r := Register{wl[i], a.Type.Bits()}
		if r.Row+r.Bits > len(p.rows) {
			return fmt.Errorf("%w: array %s takes rows %d to %d, expected rows below %d", ErrRegisters, a.Name, r.Row, r.Row+r.Bits-1, len(p.rows))
		}
		for row := r.Row; row < r.Row+r.Bits; row++ {
			if p.rows[row] {
				return fmt.Errorf("array %s takes row %d, which holds another", a.Name, row)
			}
			p.rows[row] = true
		}
		p.arrays = append(p.arrays, &value{reg: r, array: i, slot: -1})
		p.plan.Arrays = append(p.plan.Arrays, r)
	}
	p.sort(order)
	p.peak()
	for i, id := range p.order {
		p.at = i
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if err := p.node(id); err != nil {
			return fmt.Errorf("node %d: %s: %w", id, g.Nodes[id].Kind, err)
		}
		p.release(id)
		p.storeEarly(id)
	}
	p.at = len(p.order)
	return p.outputs()
}

// moves are the steps of nodes that bring values of others.
var moves = map[tdfg.Kind]StepKind{tdfg.Move: MoveStep, tdfg.Broadcast: BroadcastStep, tdfg.Final: FinalStep}

func (p *planner) emit(s Step) { p.plan.Steps = append(p.plan.Steps, s) }

// node emits the steps of a node.
func (p *planner) node(id tdfg.NodeID) error {
	defer p.letGo()
	n := &p.g.Nodes[id]
	if err := p.arraysBack(id); err != nil {
		return err
	}
	switch {
	case n.Kind == tdfg.Stream:
		return p.stream(id)
	case p.uniform(id):
		return nil
	}
	switch n.Kind {
	case tdfg.Tensor:
		p.bind(id, p.arrays[n.Array], p.arrays[n.Array].reg.Bits)
		return nil
	case tdfg.Shrink:
		p.bind(id, p.loc[n.Args[0]].val, p.loc[n.Args[0]].bits)
		return nil
	case tdfg.Compute, tdfg.Convert:
		return p.compute(id)
	}
	src, err := p.fetch(n.Args[0])
	if err != nil {
		return err
	}
	switch {
	case n.Kind == tdfg.Reduce:
		return p.combine(id, src, ReduceStep)
	case n.Kind == tdfg.Final && p.plan.Target.Finals:
		return p.combine(id, src, FinalStep)
	}
	v, err := p.make(n.Type.Bits())
	if err != nil {
		return err
	}
	p.emit(Step{Kind: moves[n.Kind], Node: id, Src: src, Dst: v.reg})
	p.bind(id, v, n.Type.Bits())
	return nil
}
