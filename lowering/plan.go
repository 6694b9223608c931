package lowering

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
// greater need first (Sethi and Ullman, 1970). A value gets the lowest rows that
// are free, scratch the highest. Where there are none, the value whose next use is
// furthest is spilled to memory (Belady, 1966), which the paper leaves as future
// work.
func NewPlan(ctx context.Context, g *tdfg.Graph, t Target, wl []int, keep []Register) (*Plan, error) {
	tech, err := sram.LookupTechnology(t.Tech)
	if err != nil {
		return nil, err
	}
	p := &planner{
		ctx: ctx, g: g, tech: tech, plan: &Plan{Graph: g, Target: t},
		rows: make([]bool, t.Rows-tech.Reserved), loc: make([]location, len(g.Nodes)), uses: make([][]int, len(g.Nodes)),
	}
	for _, r := range keep {
		for row := r.Row; row < r.Row+r.Bits; row++ {
			p.rows[row] = true
		}
	}
	if err := p.run(wl); err != nil {
		return nil, fmt.Errorf("lowering: %s: %w", g.Name, err)
	}
	return p.plan, nil
}

// value is a word that some nodes are.
type value struct {
	reg     Register
	array   int // whose rows these are, -1 if none
	live    int // uses to come, of all nodes that are this value
	nodes   []tdfg.NodeID
	spilled bool
	slot    int // of a copy in memory, -1 if there is none
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
}

func (p *planner) run(wl []int) error {
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
	p.schedule()
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

// schedule makes the order of the nodes that outputs need, and the positions of
// their uses.
func (p *planner) schedule() {
	g := p.g
	need := make([]int, len(g.Nodes))
	byNeed := func(args []tdfg.NodeID) []tdfg.NodeID {
		args = slices.Clone(args)
		slices.SortStableFunc(args, func(a, b tdfg.NodeID) int { return need[b] - need[a] })
		return args
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for j, a := range byNeed(n.Args) {
			need[i] = max(need[i], need[a]+j)
		}
		if n.Kind != tdfg.Tensor && n.Kind != tdfg.Const {
			need[i] = max(need[i], 1)
		}
	}
	done := make([]bool, len(g.Nodes))
	var visit func(id tdfg.NodeID)
	visit = func(id tdfg.NodeID) {
		if done[id] {
			return
		}
		done[id] = true
		for _, a := range byNeed(g.Nodes[id].Args) {
			visit(a)
		}
		p.order = append(p.order, id)
	}
	for _, o := range g.Outputs {
		visit(o.Node)
	}
	for i, id := range p.order {
		for _, a := range g.Nodes[id].Args {
			p.uses[a] = append(p.uses[a], i)
		}
	}
	for _, o := range g.Outputs {
		p.uses[o.Node] = append(p.uses[o.Node], len(p.order))
	}
}

// uniform reports whether a node is the same everywhere, so that it has no register
// of its own.
func (p *planner) uniform(id tdfg.NodeID) bool { return p.g.Nodes[id].Domain.Everywhere() }

// known returns the value of a uniform node that depends on nothing but constants.
func (p *planner) known(id tdfg.NodeID) (scalar.Value, bool) {
	n := &p.g.Nodes[id]
	if n.Kind == tdfg.Const && (n.Param != "" || n.Index != nil) || n.Kind == tdfg.Stream {
		return 0, false
	}
	for _, a := range n.Args {
		if _, ok := p.known(a); !ok {
			return 0, false
		}
	}
	v, err := Uniform(p.g, id, Inputs{})
	return v, err == nil
}

// be makes a node a value.
func (p *planner) be(id tdfg.NodeID, v *value, bits int) {
	p.loc[id] = location{v, bits}
	v.live += len(p.uses[id])
	v.nodes = append(v.nodes, id)
	if v.live == 0 {
		p.drop(v)
	}
}

// release counts the uses that a node made of its operands.
func (p *planner) release(id tdfg.NodeID) {
	for _, a := range p.g.Nodes[id].Args {
		if v := p.loc[a].val; v != nil {
			if v.live--; v.live == 0 {
				p.drop(v)
			}
		}
	}
}

// drop frees the rows of a value that is not used any more.
func (p *planner) drop(v *value) {
	if v.array < 0 && !v.spilled && v.reg.Bits > 0 {
		p.free(v.reg)
		v.reg.Bits = 0
	}
	if i := slices.Index(p.values, v); i >= 0 {
		p.values = slices.Delete(p.values, i, i+1)
	}
}

func (p *planner) free(r Register) {
	for row := r.Row; row < r.Row+r.Bits; row++ {
		p.rows[row] = false
	}
}

func (p *planner) peak() {
	n := 0
	for _, used := range p.rows {
		if used {
			n++
		}
	}
	p.plan.Peak = max(p.plan.Peak, n)
}

func (p *planner) emit(s Step) { p.plan.Steps = append(p.plan.Steps, s) }

// find returns the lowest rows that are free for a word.
func (p *planner) find(bits int) (Register, bool) {
	run := 0
	for row, used := range p.rows {
		if run++; used {
			run = 0
		}
		if run == bits {
			return Register{row - bits + 1, bits}, true
		}
	}
	return Register{}, false
}

// take finds rows for a word, and spills others until there are some.
func (p *planner) take(bits int) (Register, error) {
	for {
		if r, ok := p.find(bits); ok {
			for row := r.Row; row < r.Row+r.Bits; row++ {
				p.rows[row] = true
			}
			p.peak()
			return r, nil
		}
		if !p.spill() {
			return Register{}, fmt.Errorf("%w: %d adjacent ones for a word, of %d in an array", ErrRegisters, bits, len(p.rows))
		}
	}
}

// life is when a row of a program holds something: from its first write to its last
// read, by the numbers of instructions.
type life struct{ first, last int }

// lives returns the lives of the rows of a program in canonical layout; an input lives
// from -1 on, and a row that nobody reads until it was last written.
func lives(prog *arith.Program) []life {
	k := prog.Kernel
	list := make([]life, k.Rows)
	for i := range list {
		list[i].first, list[i].last = len(k.Instrs), -1
	}
	for _, in := range k.Inputs {
		for r := in.Base; r < in.Base+in.Width; r++ {
			list[r].first = -1
		}
	}
	for i := range k.Instrs {
		m := &k.Instrs[i]
		info := &k.Tech.Ops[m.Op]
		for _, o := range m.Src[:info.Operands] {
			if !o.IsConst() {
				list[o.Row()].last = max(list[o.Row()].last, i)
			}
		}
		if info.Writes {
			l := &list[m.Dst]
			l.first, l.last = min(l.first, i), max(l.last, i)
		}
	}
	return list
}

// scratch finds rows for the scratch of a program whose operands are at rows and whose
// result is at dst: free ones, from the top, and those of dying operands after their
// last reading, each for several rows of the program if they do not live at the same
// time. They count as free again at once: nothing outlives the step.
func (p *planner) scratch(prog *arith.Program, rows []int, dst Register, dying []*value) ([]int, error) {
	if prog.Scratch == 0 {
		return nil, nil
	}
	all := lives(prog)
	// Rows that can be had, and from when on.
	type room struct{ row, from int }
	var rooms []room
	for _, v := range dying {
		for row := v.reg.Row; row < v.reg.Row+v.reg.Bits; row++ {
			if row >= dst.Row && row < dst.Row+dst.Bits {
				continue
			}
			from := -1
			for i, in := range prog.Kernel.Inputs {
				if r := row - rows[i]; r >= 0 && r < in.Width {
					from = max(from, all[in.Base+r].last)
				}
			}
			rooms = append(rooms, room{row, from})
		}
	}
	base := 0
	for _, in := range prog.Kernel.Inputs {
		base += in.Width
	}
	base += prog.ResultWidth()
	order := make([]int, prog.Scratch)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return all[base+a].first - all[base+b].first })
	for {
		free := slices.Clone(rooms)
		for row := len(p.rows) - 1; row >= 0; row-- {
			if !p.rows[row] {
				free = append(free, room{row, -1})
			}
		}
		list := make([]int, prog.Scratch)
		fits := true
		used := map[int]bool{}
		for _, i := range order {
			l := all[base+i]
			j := slices.IndexFunc(free, func(r room) bool { return r.from < l.first })
			if j < 0 {
				fits = false
				break
			}
			list[i] = free[j].row
			free[j].from = max(l.last, l.first)
			used[free[j].row] = true
		}
		if fits {
			n := 0
			for row, u := range p.rows {
				if u || used[row] {
					n++
				}
			}
			p.plan.Peak = max(p.plan.Peak, n)
			return list, nil
		}
		if !p.spill() {
			return nil, fmt.Errorf("%w: %d for scratch beside operands and result, of %d in an array", ErrRegisters, prog.Scratch, len(p.rows))
		}
	}
}

// next returns the position of the next use of a value.
func (p *planner) next(v *value) int {
	first := len(p.order) + 1
	for _, id := range v.nodes {
		for _, u := range p.uses[id] {
			if u >= p.at {
				first = min(first, u)
				break
			}
		}
	}
	return first
}

// spill moves the value whose next use is furthest to memory, and reports whether
// there was one. What the step at hand uses stays.
func (p *planner) spill() bool {
	var pick *value
	for _, v := range p.values {
		if !v.held && !v.spilled && (pick == nil || p.next(v) > p.next(pick)) {
			pick = v
		}
	}
	if pick == nil {
		return false
	}
	if pick.slot < 0 {
		pick.slot = p.plan.Slots
		p.plan.Slots++
		p.emit(Step{Kind: SpillStep, Node: pick.nodes[0], Src: pick.reg, Slot: pick.slot})
	}
	p.free(pick.reg)
	pick.spilled = true
	return true
}

// fetch returns the register of a node's value, reloaded if it was spilled, and
// holds it until the step is done.
func (p *planner) fetch(id tdfg.NodeID) (Register, error) {
	l := p.loc[id]
	v := l.val
	if v.spilled {
		r, err := p.take(v.reg.Bits)
		if err != nil {
			return r, err
		}
		v.reg, v.spilled = r, false
		p.emit(Step{Kind: ReloadStep, Node: v.nodes[0], Dst: r, Slot: v.slot})
	}
	v.held = true
	return Register{v.reg.Row, l.bits}, nil
}

// letGo ends the holding of all values.
func (p *planner) letGo() {
	for _, v := range p.values {
		v.held = false
	}
}

// make gives a node a new value in rows of its own.
func (p *planner) make(bits int) (*value, error) {
	r, err := p.take(bits)
	if err != nil {
		return nil, err
	}
	v := &value{reg: r, array: -1, slot: -1, held: true}
	p.values = append(p.values, v)
	return v, nil
}

// node emits the steps of a node.
func (p *planner) node(id tdfg.NodeID) error {
	defer p.letGo()
	n := &p.g.Nodes[id]
	switch {
	case n.Kind == tdfg.Stream:
		return p.stream(id)
	case p.uniform(id):
		return nil
	}
	switch n.Kind {
	case tdfg.Tensor:
		p.be(id, p.arrays[n.Array], p.arrays[n.Array].reg.Bits)
		return nil
	case tdfg.Shrink:
		p.be(id, p.loc[n.Args[0]].val, p.loc[n.Args[0]].bits)
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
	kind := map[tdfg.Kind]StepKind{tdfg.Move: MoveStep, tdfg.Broadcast: BroadcastStep, tdfg.Final: FinalStep}[n.Kind]
	p.emit(Step{Kind: kind, Node: id, Src: src, Dst: v.reg})
	p.be(id, v, n.Type.Bits())
	return nil
}

// compute emits the operations of a computation, each with rows of its own for the
// result; the last one may go to the array that the node is stored to.
func (p *planner) compute(id tdfg.NodeID) error {
	n := &p.g.Nodes[id]
	list, err := microsOf(p.g, n)
	if err != nil {
		return err
	}
	if len(list) == 0 { // the low bits of the operand
		a := n.Args[0]
		p.be(id, p.loc[a].val, n.Type.Bits())
		return nil
	}
	var mine []*value // results of the micros
	defer func() {
		for _, v := range mine {
			if len(v.nodes) == 0 {
				p.drop(v)
			}
		}
	}()
	fills := map[tdfg.NodeID]*value{}
	for i, m := range list {
		s := Step{Kind: ComputeStep, Node: id, Direct: len(list) == 1}
		for _, a := range m.args {
			o, err := p.operand(n, a, mine, fills)
			if err != nil {
				return err
			}
			s.Args = append(s.Args, o)
		}
		if err := p.program(&s, m); err != nil {
			return err
		}
		last := i == len(list)-1
		dying := p.dying(id, m, list[i+1:], mine, fills)
		if n.Kind == tdfg.Compute && n.Op.Commutative() && len(list) == 1 {
			if err := p.exchange(&s, &m, dying); err != nil {
				return err
			}
		}
		var v *value
		if last {
			v = p.target(id, &s)
		}
		if v == nil {
			v = p.over(&s, dying, m.bits)
		}
		if v == nil {
			if v, err = p.make(m.bits); err != nil {
				return err
			}
		}
		if v.array < 0 {
			mine = append(mine, v)
		}
		s.Dst = Register{v.reg.Row, m.bits}
		if s.Code, err = p.place(s.Program, s.Args, s.Dst, dying); err != nil {
			return err
		}
		if s.Direct {
			s.Elem, s.Type = n.Op, p.g.Nodes[n.Args[len(n.Args)-1]].Type
			s.Direct, s.Swap = direct(n, m)
		}
		p.emit(s)
		if last {
			p.be(id, v, n.Type.Bits())
		}
	}
	for _, v := range fills {
		p.drop(v)
	}
	return nil
}

// dying returns the values that a micro of a node is the last to use, rest being the
// micros after it.
func (p *planner) dying(id tdfg.NodeID, m micro, rest []micro, mine []*value, fills map[tdfg.NodeID]*value) []*value {
	n := &p.g.Nodes[id]
	var list []*value
	for _, a := range m.args {
		uses := func(r micro) bool {
			return slices.ContainsFunc(r.args, func(b source) bool { return b.kind == a.kind && b.index == a.index && a.kind != fromConst })
		}
		var v *value
		switch {
		case slices.ContainsFunc(rest, uses):
			continue
		case a.kind == fromMicro:
			v = mine[a.index]
		case a.kind == fromArg && fills[n.Args[a.index]] != nil:
			v = fills[n.Args[a.index]]
			later := slices.ContainsFunc(rest, func(r micro) bool {
				return slices.ContainsFunc(r.args, func(b source) bool { return b.kind == fromArg && n.Args[b.index] == n.Args[a.index] })
			})
			if later {
				continue
			}
		case a.kind == fromArg:
			if v = p.loc[n.Args[a.index]].val; v == nil || v.array >= 0 {
				continue
			}
			here := 0
			for _, b := range n.Args {
				if p.loc[b].val == v {
					here++
				}
			}
			// Another operand may be another part of the same value.
			later := slices.ContainsFunc(rest, func(r micro) bool {
				return slices.ContainsFunc(r.args, func(b source) bool { return b.kind == fromArg && p.loc[n.Args[b.index]].val == v })
			})
			if v.live > here || later {
				continue
			}
		}
		if v != nil && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// exchange exchanges the operands of a step if its program can then work in place
// on one that dies, and cannot as it is.
func (p *planner) exchange(s *Step, m *micro, dying []*value) error {
	free := func() bool {
		return slices.ContainsFunc(dying, func(v *value) bool { return inPlace(s, v.reg) })
	}
	if s.Args[0].Const || s.Args[1].Const || free() {
		return nil
	}
	s.Args[0], s.Args[1] = s.Args[1], s.Args[0]
	if free() {
		m.args = []source{m.args[1], m.args[0]}
		return nil
	}
	s.Args[0], s.Args[1] = s.Args[1], s.Args[0]
	return nil
}

// inPlace reports whether the program of a step may put its result into a register
// that is an operand, of all the operands that it is.
func inPlace(s *Step, r Register) bool {
	found := false
	for i, k := range s.Program.Args {
		if s.Args[k].Row == r.Row {
			if !s.Program.InPlace[i] {
				return false
			}
			found = true
		}
	}
	return found
}

// over returns a value in the rows of a dying operand that the program of a step may
// work in place on, nil if there is none.
func (p *planner) over(s *Step, dying []*value, bits int) *value {
	for _, k := range s.Program.Args {
		for _, v := range dying {
			if v.reg != s.Args[k].Register || v.reg.Bits != bits || !inPlace(s, v.reg) {
				continue
			}
			// The rows change hands.
			w := &value{reg: v.reg, array: -1, slot: -1, held: true}
			v.reg.Bits = 0
			p.values = append(p.values, w)
			return w
		}
	}
	return nil
}

// direct reports whether a micro computes the operation of its node on elements, and
// whether with the first two operands exchanged.
func direct(n *tdfg.Node, m micro) (ok, swap bool) {
	if n.Kind != tdfg.Compute || len(m.args) != n.Op.Arity() {
		return false, false
	}
	for i, a := range m.args {
		if a.kind != fromArg {
			return false, false
		}
		swap = swap || a.index != i
	}
	return true, swap
}

// operand returns where an operand of a micro is; constants that are known now are
// folded, others are put into rows.
func (p *planner) operand(n *tdfg.Node, a source, mine []*value, fills map[tdfg.NodeID]*value) (o Operand, err error) {
	switch a.kind {
	case fromConst:
		return Operand{Const: true, Value: a.value}, nil
	case fromMicro:
		mine[a.index].held = true
		return Operand{Register: mine[a.index].reg}, nil
	}
	id := n.Args[a.index]
	if p.uniform(id) {
		bits := p.g.Nodes[id].Type.Bits()
		if v, ok := p.known(id); ok {
			if a.low > 0 {
				v &= 1<<a.low - 1
			}
			return Operand{Const: true, Value: v}, nil
		}
		v, ok := fills[id]
		if !ok {
			if v, err = p.make(bits); err != nil {
				return o, err
			}
			fills[id] = v
			p.emit(Step{Kind: FillStep, Node: id, Dst: v.reg})
		}
		o.Register = v.reg
	} else if o.Register, err = p.fetch(id); err != nil {
		return o, err
	}
	if a.low > 0 {
		o.Bits = a.low
	}
	return o, nil
}

// program builds the program of a step, its constants folded.
func (p *planner) program(s *Step, m micro) error {
	spec := arith.Spec{Op: m.op, Tech: p.tech.Name, Rows: p.plan.Target.Rows}
	for i, o := range s.Args {
		if o.Const {
			if spec.Const == nil {
				spec.Const = map[int]uint64{}
			}
			spec.Const[i] = o.Value
		}
	}
	var err error
	s.Program, err = p.plan.Target.Programs.Build(p.ctx, spec)
	return err
}

// place compiles a program for the rows of its operands and its result. Scratch rows
// are used for as long as the program needs each, and may take the rows of operands
// that die once these have been read.
func (p *planner) place(prog *arith.Program, args []Operand, dst Register, dying []*value) (*sram.KernelCode, error) {
	k := &sram.Kernel{Tech: p.tech, Rows: p.plan.Target.Rows}
	rows := make([]int, len(prog.Args))
	for i, a := range prog.Args {
		rows[i] = args[a].Row
		port := prog.Kernel.Inputs[i]
		port.Base = args[a].Row
		// Operands may be the same register, or its low bits.
		if j := slices.IndexFunc(k.Inputs, func(q sram.Port) bool { return q.Base == port.Base }); j >= 0 {
			k.Inputs[j].Width = max(k.Inputs[j].Width, port.Width)
			continue
		}
		k.Inputs = append(k.Inputs, port)
	}
	scratch, err := p.scratch(prog, rows, dst, dying)
	if err != nil {
		return nil, err
	}
	if k.Instrs, err = prog.Place(rows, dst.Row, scratch); err != nil {
		return nil, err
	}
	k.Outputs = []sram.Port{{Name: "y", Base: dst.Row, Width: prog.ResultWidth()}}
	return k.Compile()
}

// target returns the array that a node can be computed into at once: one that it is
// stored to as a whole, which nothing reads any more but this step, and this step
// only if it can work in place.
func (p *planner) target(id tdfg.NodeID, s *Step) *value {
	g := p.g
	if len(p.uses[id]) != 1 {
		return nil
	}
	for j, o := range g.Outputs {
		if o.Node != id || o.Array < 0 {
			continue
		}
		v := p.arrays[o.Array]
		if !g.Nodes[id].Domain.Equal(g.ArrayRect(o.Array)) || p.stored(o.Array) > 1 || p.readLater(o.Array) {
			return nil
		}
		here := 0
		for i, k := range s.Program.Args {
			if a := s.Args[k]; a.Row == v.reg.Row {
				if !s.Program.InPlace[i] {
					return nil
				}
			}
		}
		for _, a := range g.Nodes[id].Args {
			if p.loc[a].val == v {
				here++
			}
		}
		if v.live > here || s.Program.ResultWidth() != v.reg.Bits {
			return nil
		}
		p.done[j] = true
		return v
	}
	return nil
}

// stored returns how many outputs write an array that have not been stored yet.
func (p *planner) stored(array int) int {
	n := 0
	for i, o := range p.g.Outputs {
		if o.Array == array && !p.done[i] {
			n++
		}
	}
	return n
}

// storeEarly stores a node to its array as soon as nothing reads that any more, and
// lets the node be there from now on, so that its rows are free for others.
func (p *planner) storeEarly(id tdfg.NodeID) {
	g := p.g
	l := p.loc[id]
	if l.val == nil || l.val.array >= 0 || len(l.val.nodes) != 1 || l.val.spilled {
		return
	}
	for i, o := range g.Outputs {
		if o.Node != id || o.Array < 0 || p.done[i] {
			continue
		}
		v := p.arrays[o.Array]
		if v == nil { // in memory, where streams have written it
			continue
		}
		first := slices.IndexFunc(g.Outputs, func(q tdfg.Output) bool { return q.Array == o.Array })
		for first < i && (g.Outputs[first].Array != o.Array || p.done[first]) {
			first++
		}
		if first < i || v.live > 0 || p.readLater(o.Array) || l.bits != v.reg.Bits {
			continue
		}
		p.done[i] = true
		p.emit(Step{Kind: CopyStep, Node: id, Output: i, Src: Register{l.val.reg.Row, l.bits}, Dst: v.reg, Exact: !g.Nodes[id].Domain.Equal(g.ArrayRect(o.Array))})
		p.loc[id] = location{v, l.bits}
		v.live += l.val.live - 1
		v.nodes = append(v.nodes, id)
		p.drop(l.val)
		return
	}
}

// readLater reports whether a node still to come reads an array.
func (p *planner) readLater(array int) bool {
	for _, id := range p.order[p.at+1:] {
		n := &p.g.Nodes[id]
		if n.Kind == tdfg.Tensor && n.Array == array || n.Stream != nil && n.Stream.Graph.Array(p.g.Arrays[array].Name) != nil {
			return true
		}
	}
	return false
}

// combine emits the reduction of groups, or of what these have given, which combines a
// register with itself moved. The latter follows the former at once and takes no more
// rows.
func (p *planner) combine(id tdfg.NodeID, src Register, kind StepKind) error {
	n := &p.g.Nodes[id]
	bits := n.Type.Bits()
	var acc *value
	var err error
	if v := p.loc[n.Args[0]].val; v.array < 0 && v.live == 1 && v.reg == src && src.Bits == bits {
		acc = &value{reg: v.reg, array: -1, slot: -1, held: true} // the rows change hands
		v.reg.Bits = 0
		p.values = append(p.values, acc)
	} else if acc, err = p.make(bits); err != nil {
		return err
	}
	tmp, err := p.make(bits)
	if err != nil {
		return err
	}
	s := Step{Kind: kind, Node: id, Src: src, Dst: acc.reg, Tmp: tmp.reg, Elem: n.Op, Type: n.Type, Direct: true}
	s.Args = []Operand{{Register: acc.reg}, {Register: tmp.reg}}
	if err := p.program(&s, micro{name(n.Type, n.Op.String()), []source{arg(0), arg(1)}, bits}); err != nil {
		return err
	}
	// The sum goes to one of the operands, or to rows of its own and back.
	into := acc.reg
	if !s.Program.InPlace[0] {
		sum, err := p.make(bits)
		if err != nil {
			return err
		}
		into = sum.reg
		defer p.drop(sum)
	}
	if s.Code, err = p.place(s.Program, s.Args, into, nil); err != nil {
		return err
	}
	s.Args = append(s.Args, Operand{Register: into})
	p.emit(s)
	p.be(id, acc, bits)
	p.drop(tmp)
	return nil
}

// stream emits the execution of streams near the memory.
func (p *planner) stream(id tdfg.NodeID) error {
	n := &p.g.Nodes[id]
	s := Step{Kind: StreamStep, Node: id}
	for _, a := range n.Args {
		var o Operand
		if !p.uniform(a) && p.loc[a].val != nil {
			r, err := p.fetch(a)
			if err != nil {
				return err
			}
			o.Register = r
		}
		s.Args = append(s.Args, o)
	}
	if n.Domain.Everywhere() || InMemoryOnly(p.g, id) { // the host or the memory keeps it
		p.emit(s)
		return nil
	}
	v := p.streamTarget(id)
	if v == nil {
		var err error
		if v, err = p.make(n.Type.Bits()); err != nil {
			return err
		}
	}
	s.Dst = v.reg
	p.emit(s)
	p.be(id, v, n.Type.Bits())
	return nil
}

// InMemoryOnly reports whether the result of the streams of a node is wanted in memory
// only: in an array that is not resident, and as an operand of other streams.
func InMemoryOnly(g *tdfg.Graph, id tdfg.NodeID) bool {
	i := g.ArrayIndex(g.Nodes[id].Stream.Result)
	if i < 0 || Resident(g)[i] {
		return false
	}
	for _, o := range g.Outputs {
		if o.Node == id && !inMemory(g, o) {
			return false
		}
	}
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Kind != tdfg.Stream && slices.Contains(n.Args, id) {
			return false
		}
	}
	return true
}

// streamTarget returns the array that the streams of a node write, if they may do so
// at once: it is stored back to the same array and its old contents are not needed.
func (p *planner) streamTarget(id tdfg.NodeID) *value {
	st := p.g.Nodes[id].Stream
	for i, o := range p.g.Outputs {
		if o.Node == id && o.Array >= 0 && p.g.Arrays[o.Array].Name == st.Result {
			v := p.arrays[o.Array]
			if v != nil && v.live == 0 && !p.readLater(o.Array) && p.stored(o.Array) == 1 {
				p.done[i] = true
				return v
			}
		}
	}
	return nil
}

// outputs emits the copies to arrays and the results that are left. What lies in an
// array that some of them write is moved out of its way first.
func (p *planner) outputs() error {
	g := p.g
	src := make([]Register, len(g.Outputs))
	for i, o := range g.Outputs {
		l := p.loc[o.Node]
		if l.val == nil || p.done[i] {
			continue
		}
		r, err := p.fetch(o.Node)
		if err != nil {
			return err
		}
		if a := l.val.array; a >= 0 && (a != o.Array && p.stored(a) > 0 || p.stored(a) > 1) {
			v, err := p.make(l.bits)
			if err != nil {
				return err
			}
			p.emit(Step{Kind: CopyStep, Node: o.Node, Src: r, Dst: v.reg})
			r = v.reg
		}
		src[i] = r
	}
	for i, o := range g.Outputs {
		switch {
		case p.done[i] || inMemory(g, o) && p.arrays[o.Array] == nil:
		case o.Array < 0:
			p.emit(Step{Kind: ResultStep, Node: o.Node, Output: i, Src: src[i]})
		case src[i].Row != p.arrays[o.Array].reg.Row:
			p.emit(Step{Kind: CopyStep, Node: o.Node, Output: i, Src: src[i], Dst: p.arrays[o.Array].reg,
				Exact: !g.Nodes[o.Node].Domain.Equal(g.ArrayRect(o.Array))})
		}
	}
	return nil
}
