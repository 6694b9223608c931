package lowering

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg"
)

// tag says what a row of all bitlines holds: bit number bit of a value. The value of a
// node is its number; those of arrays and of micros have numbers that no node has.
type tag struct{ value, bit int }

// garbage is the value of rows that nobody may read.
const garbage = -1

// Check follows what each row holds through the steps of a plan, and reports the first
// register that is read and does not hold what it should, or the first output that is
// not in its array at the end; nil if there is none. It shares nothing with the planner:
// what a step writes is taken from its program, instruction by instruction.
func (p *Plan) Check() error {
	tech, err := sram.LookupTechnology(p.Target.Tech)
	if err != nil {
		return err
	}
	c := &planChecker{p: p, rows: make([]tag, p.Target.Rows-tech.Reserved), slots: map[int]int{}, held: make([][]int, len(p.Arrays)), saved: map[int][]int{}}
	for i := range c.rows {
		c.rows[i] = tag{garbage, 0}
	}
	for i, r := range p.Arrays {
		if r.Bits > 0 {
			if err := c.write(r, c.array(i)); err != nil {
				return fmt.Errorf("lowering: %s: array %s: %w", p.Graph.Name, p.Graph.Arrays[i].Name, err)
			}
		}
	}
	for i := range p.Arrays {
		c.held[i] = []int{c.array(i)}
	}
	for i := range p.Steps {
		if err := c.step(&p.Steps[i]); err != nil {
			s := &p.Steps[i]
			return fmt.Errorf("lowering: %s: step %d, %s of node %d: %w", p.Graph.Name, i, s.Kind, s.Node, err)
		}
	}
	return c.outputs()
}

type planChecker struct {
	p     *Plan
	rows  []tag
	slots map[int]int // value of each
	// held are the values whose elements the rows of an array hold, one over the other: what it had
	// before the region, and outputs. saved are those of slots.
	held   [][]int
	saved  map[int][]int
	micros int
}

// array returns the value of an array before the region.
func (c *planChecker) array(i int) int { return len(c.p.Graph.Nodes) + i }

// micro returns a value that is part of a node's.
func (c *planChecker) micro() int {
	c.micros++
	return len(c.p.Graph.Nodes) + len(c.p.Graph.Arrays) + c.micros
}

// value returns the value that a node is: that of its operand where it only selects points
// or takes low bits.
func (c *planChecker) value(id tdfg.NodeID) int {
	n := &c.p.Graph.Nodes[id]
	switch n.Kind {
	case tdfg.Tensor:
		return c.array(n.Array)
	case tdfg.Shrink:
		return c.value(n.Args[0])
	case tdfg.Convert:
		if m, err := microsOf(c.p.Graph, n); err == nil && len(m) == 0 && !n.Domain.Everywhere() {
			return c.value(n.Args[0])
		}
	}
	return int(id)
}

func (c *planChecker) in(r Register) error {
	if r.Bits < 1 || r.Row < 0 || r.Row+r.Bits > len(c.rows) {
		return fmt.Errorf("register %v, expected rows below %d", r, len(c.rows))
	}
	return nil
}

// write notes that rows hold a value.
func (c *planChecker) write(r Register, value int) error {
	if err := c.in(r); err != nil {
		return err
	}
	for i := range r.Bits {
		c.rows[r.Row+i] = tag{value, i}
	}
	for i, a := range c.p.Arrays {
		switch {
		case a.Bits == 0 || !a.Overlaps(r):
		case a == r && slices.ContainsFunc(c.p.Graph.Outputs, func(o tdfg.Output) bool { return o.Array == i && c.output(o) == value }):
			c.held[i] = append(c.held[i], value)
		default:
			c.held[i] = nil
		}
	}
	return nil
}

// output returns the value of an output.
func (c *planChecker) output(o tdfg.Output) int {
	if c.p.Graph.Nodes[o.Node].Domain.Everywhere() {
		return int(o.Node)
	}
	return c.value(o.Node)
}

// read reports rows that do not hold the low bits of one value, of these if some are
// given.
func (c *planChecker) read(r Register, values ...int) error {
	if err := c.in(r); err != nil {
		return err
	}
	first := c.rows[r.Row].value
	for i := range r.Bits {
		if t := c.rows[r.Row+i]; t.value != first || t.bit != i || t.value == garbage {
			return fmt.Errorf("register %v is read, and row %d holds something else", r, r.Row+i)
		}
	}
	if len(values) > 0 && !slices.Contains(values, first) {
		return fmt.Errorf("register %v is read, and holds another value", r)
	}
	return nil
}

// readNode is read of the value of a node, which an array may have beside what was stored to other
// elements of it since.
func (c *planChecker) readNode(r Register, id tdfg.NodeID) error {
	value, g := c.value(id), c.p.Graph
	err := c.read(r, value)
	if err == nil || c.read(r) != nil {
		return err
	}
	for i, a := range c.p.Arrays {
		at := slices.Index(c.held[i], value)
		if a.Row != r.Row || r.Bits > a.Bits || at < 0 {
			continue
		}
		covered := slices.ContainsFunc(g.Outputs, func(o tdfg.Output) bool {
			return o.Array == i && slices.Contains(c.held[i][at+1:], c.output(o)) && !g.Space.Disjoint(g.Nodes[o.Node].Domain, g.Nodes[id].Domain)
		})
		if !covered {
			return nil
		}
	}
	return err
}

// run follows the instructions of a program: all rows that it writes are garbage but those
// of its result.
func (c *planChecker) run(s *Step, into Register, value int) error {
	k := s.Code.Kernel()
	for i := range k.Instrs {
		if m := &k.Instrs[i]; k.Tech.Ops[m.Op].Writes {
			if err := c.write(Register{int(m.Dst), 1}, garbage); err != nil {
				return err
			}
		}
	}
	return c.write(into, value)
}

func (c *planChecker) step(s *Step) error {
	n := &c.p.Graph.Nodes[s.Node]
	switch s.Kind {
	case ComputeStep:
		for j, o := range s.Args {
			if o.Const {
				continue
			}
			if err := c.read(o.Register); err != nil {
				return err
			}
			if s.Direct { // operand by operand
				if s.Swap && j < 2 {
					j = 1 - j
				}
				if err := c.readNode(o.Register, n.Args[j]); err != nil {
					return err
				}
				continue
			}
			// It is an operand of the node, a constant, or a part of the computation.
			if v := c.rows[o.Row].value; v < len(c.p.Graph.Nodes)+len(c.p.Graph.Arrays) && !slices.ContainsFunc(n.Args, func(a tdfg.NodeID) bool { return c.readNode(o.Register, a) == nil }) {
				return fmt.Errorf("register %v is read, and holds another value", o.Register)
			}
		}
		value := int(s.Node)
		if !c.last(s) {
			value = c.micro()
		}
		return c.run(s, s.Dst, value)
	case FillStep:
		return c.write(s.Dst, int(s.Node))
	case CopyStep:
		if err := c.readNode(s.Src, s.Node); err != nil {
			return err
		}
		return c.write(s.Dst, c.value(s.Node))
	case MoveStep, BroadcastStep:
		if err := c.readNode(s.Src, n.Args[0]); err != nil {
			return err
		}
		return c.write(s.Dst, int(s.Node))
	case ReduceStep, FinalStep:
		if err := c.readNode(s.Src, n.Args[0]); err != nil {
			return err
		}
		if s.Program != nil {
			if err := c.write(s.Tmp, garbage); err != nil {
				return err
			}
			if err := c.run(s, s.Args[2].Register, garbage); err != nil {
				return err
			}
		}
		return c.write(s.Dst, int(s.Node))
	case StreamStep:
		for i, o := range s.Args {
			if o.Bits > 0 {
				if err := c.readNode(o.Register, n.Args[i]); err != nil {
					return err
				}
			}
		}
		if s.Dst.Bits > 0 {
			return c.write(s.Dst, int(s.Node))
		}
	case ResultStep:
		if s.Src.Bits > 0 {
			return c.readNode(s.Src, s.Node)
		}
	case SpillStep:
		if err := c.read(s.Src); err != nil {
			return err
		}
		c.slots[s.Slot] = c.rows[s.Src.Row].value
		if s.Array > 0 {
			c.saved[s.Slot] = slices.Clone(c.held[s.Array-1])
		}
	case ReloadStep:
		v, ok := c.slots[s.Slot]
		if !ok {
			return fmt.Errorf("slot %d is reloaded, and was not spilled", s.Slot)
		}
		if err := c.write(s.Dst, v); err != nil {
			return err
		}
		if s.Array > 0 {
			c.held[s.Array-1] = slices.Clone(c.saved[s.Slot])
		}
	}
	return nil
}

// last reports whether a step computes the result of its node: no other one of the node
// comes after it.
func (c *planChecker) last(s *Step) bool {
	for i := len(c.p.Steps) - 1; i >= 0; i-- {
		if t := &c.p.Steps[i]; t.Kind == ComputeStep && t.Node == s.Node {
			return t == s
		}
	}
	return false
}

// outputs reports arrays that do not hold what is stored to them: an output over those before
// it which may write the same elements, and over what the array had if some stay.
func (c *planChecker) outputs() error {
	g := c.p.Graph
	for i, r := range c.p.Arrays {
		if r.Bits == 0 {
			continue
		}
		whole := false
		place := func(value int) int { return slices.Index(c.held[i], value) }
		for j, o := range g.Outputs {
			if o.Array != i {
				continue
			}
			at := place(c.output(o))
			if at < 0 {
				return fmt.Errorf("lowering: %s: array %s does not hold node %d at the end", g.Name, g.Arrays[i].Name, o.Node)
			}
			domain := g.Nodes[o.Node].Domain
			whole = whole || domain.Everywhere() || domain.Equal(g.ArrayRect(i))
			for _, q := range g.Outputs[:j] {
				if q.Array == i && place(c.output(q)) > at && !g.Space.Disjoint(g.Nodes[q.Node].Domain, domain) {
					return fmt.Errorf("lowering: %s: array %s: node %d is stored over node %d, which comes after it", g.Name, g.Arrays[i].Name, q.Node, o.Node)
				}
			}
		}
		if !whole && place(c.array(i)) < 0 {
			return fmt.Errorf("lowering: %s: array %s does not hold at the end what it had", g.Name, g.Arrays[i].Name)
		}
		if err := c.read(r, c.held[i]...); err != nil {
			return fmt.Errorf("lowering: %s: array %s at the end: %w", g.Name, g.Arrays[i].Name, err)
		}
	}
	return nil
}

// CheckCommands reports the first of the commands that a plan was lowered to for a grid
// that acts on what there is not, on rows of another step, or on rows that something
// may still be on its way to; nil if there is none.
func (p *Plan) CheckCommands(grid *Grid, cmds []Command) error {
	var underway []arriving
	for i := range cmds {
		c := &cmds[i]
		if err := p.checkCommand(grid, c, &underway); err != nil {
			return fmt.Errorf("lowering: %s: command %d, %s: %w", p.Graph.Name, i, c, err)
		}
	}
	if len(underway) > 0 {
		return fmt.Errorf("lowering: %s: no barrier waits for rows %v", p.Graph.Name, underway[0].Register)
	}
	return nil
}

// arriving is a register that a shift between tiles writes, on the tiles that it goes to.
type arriving struct {
	Register
	tiles []bool
}

func (p *Plan) checkCommand(grid *Grid, c *Command, underway *[]arriving) error {
	if int(c.Kind) >= len(commandNames) || int(c.Step) >= len(p.Steps) || c.Step < 0 {
		return fmt.Errorf("kind %d of step %d of %d", c.Kind, c.Step, len(p.Steps))
	}
	s := &p.Steps[c.Step]
	if c.Kind == Sync {
		*underway = (*underway)[:0]
		return nil
	}
	uses := []Register{s.Src, s.Dst, s.Tmp}
	for _, o := range s.Args {
		if !o.Const {
			uses = append(uses, o.Register)
		}
	}
	if c.Kind == Near {
		if s.Kind == StreamStep || s.Kind == ResultStep { // they read arrays by name
			uses = p.Arrays
		}
		for _, q := range *underway {
			if slices.ContainsFunc(uses, q.Overlaps) {
				return fmt.Errorf("rows %v may be under way", q.Register)
			}
		}
		return nil
	}
	n := int(c.Rows)
	dst, src := Register{int(c.Dst), n}, Register{int(c.Src), n}
	of := func(r Register) bool {
		return slices.ContainsFunc(uses, func(u Register) bool { return u.Row <= r.Row && r.Row+r.Bits <= u.Row+u.Bits })
	}
	if n < 1 || !of(dst) {
		return fmt.Errorf("writes rows %v, expected those of its step", dst)
	}
	if last := patternEnd(c.Tiles); last >= grid.Tiles() || c.Tiles.Len() == 0 {
		return fmt.Errorf("tile %d, expected tiles below %d", last, grid.Tiles())
	}
	var reads []Register
	switch c.Kind {
	case Copy, ShiftIntra, ShiftInter:
		if !of(src) {
			return fmt.Errorf("reads rows %v, expected those of its step", src)
		}
		reads = []Register{src}
	case Compute:
		reads = uses
	}
	if c.Kind == Copy || c.Kind == Compute || c.Kind == Fill {
		// Shifts write their own part of the bitlines to which others may be on the way.
		reads = append(slices.Clone(reads), dst)
	}
	for _, q := range *underway {
		if !slices.ContainsFunc(reads, q.Overlaps) {
			continue
		}
		for t := range c.Tiles.All() {
			if q.tiles[t] {
				return fmt.Errorf("rows %v of tile %d may be under way", q.Register, t)
			}
		}
	}
	if last := patternEnd(c.Bitlines); !c.Whole && (last >= grid.Bitlines() || c.Bitlines.Len() == 0) {
		return fmt.Errorf("bitline %d, expected bitlines below %d", last, grid.Bitlines())
	}
	if c.Kind == ShiftInter {
		first, _ := c.Tiles.Next(0)
		reach := []int{int(c.TileDist), int(c.TileDist) + (int(c.Copies)-1)*int(c.TileStride)}
		lo, hi := first+slices.Min(reach), patternEnd(c.Tiles)+slices.Max(reach)
		if c.Copies < 1 || lo < 0 || hi >= grid.Tiles() {
			return fmt.Errorf("%d copies to tiles %d to %d, expected at least one, below %d", c.Copies, lo, hi, grid.Tiles())
		}
		to := make([]bool, grid.Tiles())
		for t := range c.Tiles.All() {
			for i := range int(c.Copies) {
				to[t+int(c.TileDist)+i*int(c.TileStride)] = true
			}
		}
		*underway = append(*underway, arriving{dst, to})
	}
	return nil
}

// patternEnd returns the last number of a pattern.
func patternEnd(p Pattern) int {
	last := -1
	for x := range p.All() {
		last = x
	}
	return last
}
