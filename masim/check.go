package masim

import (
	"fmt"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// Rule is one of the rules that a valid schedule keeps (section 1 of the
// scheduling specification, MASIM section II-B).
type Rule uint8

// The rules.
const (
	RuleGeometry  Rule = iota // the geometry is within the limits of a machine
	RuleInputs                // input i lies in array i/R, row i%R
	RuleRange                 // arrays and rows exist
	RuleProtected             // rows of inputs are never written
	RuleWritten               // rows that are read hold a value
	RuleFanins                // a compute takes exactly the fanins of a gate
	RuleOnce                  // every gate is computed, and once only
	RuleCopy                  // a copy takes a plain row to another array
	RuleOutputs               // outputs are there at the end
)

func (r Rule) String() string {
	if r <= RuleOutputs {
		return [...]string{
			"geometry", "inputs in place", "rows exist", "input rows are not written", "rows read were written",
			"operands are the fanins of a gate", "each gate once", "copies go to another array", "outputs at the end",
		}[r]
	}
	return fmt.Sprintf("rule(%d)", uint8(r))
}

// RuleError says which rule a program breaks, and where.
type RuleError struct {
	Rule  Rule
	Index int        // of the instruction in Program.Instrs, from 0; -1 = no instruction
	Instr sram.Instr // the instruction, if there is one
	Msg   string     // what is there, and what was expected
}

func (e *RuleError) Error() string {
	if e.Index < 0 {
		return fmt.Sprintf("masim: rule %q: %s", e.Rule, e.Msg)
	}
	return fmt.Sprintf("masim: instruction %d (%v): rule %q: %s", e.Index, e.Instr, e.Rule, e.Msg)
}

// CheckOptions are what [Check] permits.
type CheckOptions struct {
	// Rematerialize permits to compute a gate more than once.
	Rematerialize bool

	// Visit is told what each instruction writes, a gate or its complement, or what a
	// copy copies; nil for nobody.
	Visit func(instr int, l xmg.Lit)
}

// Report is what [Check] counts in a valid program.
type Report struct {
	Computes     int // MAJ and XOR instructions
	Copies       int
	InputCopies  int // copies of inputs, which cannot be computed instead
	Instructions int // both together
	Recomputed   int // computes of a gate that was computed before
	ArraysUsed   int // arrays that hold an input or are written
	RowsUsed     int // rows that hold an input or are written, of all arrays
	MaxRows      int // the most rows used in one array
}

// Check replays a program against the graph by value identity and returns what
// it counted, or a [*RuleError] for the first rule that is broken.
//
// Each row holds nothing or a literal: a node of the graph or its complement. A
// compute looks up the gate with the literals of its operands as fanins, in any
// order. Functions that are equal up to complements of MAJ (self-dual) and XOR
// count as the gate or its complement, which the row then holds. Instructions
// are numbered from 0.
//
// Check executes nothing and shares no code with any scheduler. It takes
// O(instructions + gates) time, and 5 to 11 bytes a gate and 4 a row used.
//
// Names are not looked at, only the order of inputs and outputs.
func Check(g *xmg.Graph, p *sram.Program, o CheckOptions) (*Report, error) {
	if err := p.Geometry.Validate(); err != nil {
		return nil, &RuleError{Rule: RuleGeometry, Index: -1, Msg: err.Error()}
	}
	c := newChecker(g, p)
	if err := c.start(); err != nil {
		return nil, err
	}
	for i := range p.Instrs {
		if rule, msg := c.step(&p.Instrs[i], o.Rematerialize); msg != "" {
			return nil, &RuleError{rule, i, p.Instrs[i], msg}
		}
		if o.Visit != nil {
			o.Visit(i, xmg.Lit(c.held.Get(int(p.Instrs[i].Array), int(p.Instrs[i].Dst))))
		}
	}
	if err := c.end(); err != nil {
		return nil, err
	}
	r := &c.report
	r.Instructions = r.Computes + r.Copies
	for _, n := range c.used {
		if n > 0 {
			r.ArraysUsed++
		}
		r.RowsUsed += int(n)
		r.MaxRows = max(r.MaxRows, int(n))
	}
	return r, nil
}

// checker is the state of a replay.
type checker struct {
	g        *xmg.Graph
	p        *sram.Program
	rows     int
	inputs   int
	held     *sram.RowTable // literal in each row; no row holds literal 0, a constant
	used     []int32        // rows that hold something, by array
	gates    *gateTable
	computed []uint64 // a bit for each node
	report   Report
}

// newChecker takes a program of a valid geometry.
func newChecker(g *xmg.Graph, p *sram.Program) *checker {
	return &checker{
		g: g, p: p, rows: p.Geometry.Rows, inputs: g.NumInputs(),
		held: sram.NewRowTable(p.Geometry), used: make([]int32, p.Geometry.Arrays),
		gates: newGateTable(g), computed: make([]uint64, g.NumNodes()/64+1),
	}
}

// start puts the inputs in their places.
func (c *checker) start() error {
	fail := func(format string, args ...any) error {
		return &RuleError{Rule: RuleInputs, Index: -1, Msg: fmt.Sprintf(format, args...)}
	}
	if len(c.p.Inputs) != c.inputs {
		return fail("the program has %d inputs, expected %d as the graph", len(c.p.Inputs), c.inputs)
	}
	if arrays := c.p.Geometry.Arrays; (c.inputs+c.rows-1)/c.rows > arrays {
		return fail("%d inputs do not fit %d arrays of %d rows", c.inputs, arrays, c.rows)
	}
	for i, in := range c.p.Inputs {
		a, r := i/c.rows, i%c.rows
		if in.Array != a || in.Row != r {
			return fail("input %d (%s) is in array %d row %d, expected array %d row %d", i, in.Name, in.Array, in.Row, a, r)
		}
		c.put(a, r, xmg.MakeLit(i+1, false))
	}
	return nil
}

// put sets what a row holds.
func (c *checker) put(array, row int, l xmg.Lit) {
	if c.held.Get(array, row) == 0 {
		c.used[array]++
	}
	c.held.Set(array, row, uint32(l))
}

// step replays an instruction; msg is "" if it keeps the rules.
func (c *checker) step(ins *sram.Instr, again bool) (rule Rule, msg string) {
	dstArray, dst := int(ins.Array), int(ins.Dst)
	switch {
	case ins.Op > sram.Copy:
		return RuleFanins, "no such operation, expected maj, xor or copy"
	case dstArray >= len(c.used):
		return RuleRange, fmt.Sprintf("array %d, expected 0 to %d", dstArray, len(c.used)-1)
	case dst >= c.rows:
		return RuleRange, fmt.Sprintf("destination row %d, expected 0 to %d", dst, c.rows-1)
	case dstArray*c.rows+dst < c.inputs:
		return RuleProtected, fmt.Sprintf("writes row %d of array %d, where input %d (%s) lies",
			dst, dstArray, dstArray*c.rows+dst, c.g.InputName(dstArray*c.rows+dst))
	}
	if ins.Op == sram.Copy {
		src, from := ins.Src[0], int(ins.From)
		switch {
		case src.IsConst() || src.Negated():
			return RuleCopy, fmt.Sprintf("copy of %v, expected a plain row", src)
		case from >= len(c.used):
			return RuleRange, fmt.Sprintf("source array %d, expected 0 to %d", from, len(c.used)-1)
		case src.Row() >= c.rows:
			return RuleRange, fmt.Sprintf("source row %d, expected 0 to %d", src.Row(), c.rows-1)
		case from == dstArray:
			return RuleCopy, "copy within an array, expected another array"
		}
		l := c.held.Get(from, src.Row())
		if l == 0 {
			return RuleWritten, fmt.Sprintf("row %d of array %d holds nothing", src.Row(), from)
		}
		c.put(dstArray, dst, xmg.Lit(l))
		c.report.Copies++
		if xmg.Lit(l).Node() <= c.inputs {
			c.report.InputCopies++
		}
		return 0, ""
	}

	var f [3]xmg.Lit
	for j, s := range ins.Src {
		switch {
		case s == sram.Zero:
			f[j] = xmg.False
		case s == sram.One:
			f[j] = xmg.True
		case s.Row() >= c.rows:
			return RuleRange, fmt.Sprintf("operand row %d, expected 0 to %d", s.Row(), c.rows-1)
		default:
			l := c.held.Get(dstArray, s.Row())
			if l == 0 {
				return RuleWritten, fmt.Sprintf("row %d of array %d holds nothing", s.Row(), dstArray)
			}
			f[j] = xmg.Lit(l).NotIf(s.Negated())
		}
	}
	id, complement := c.gates.find(ins.Op == sram.Xor, f)
	if id == 0 {
		return RuleFanins, fmt.Sprintf("no %v gate of the graph has the fanins %s, %s and %s",
			ins.Op, litText(f[0]), litText(f[1]), litText(f[2]))
	}
	if bit := uint64(1) << (id % 64); c.computed[id/64]&bit == 0 {
		c.computed[id/64] |= bit
	} else if again {
		c.report.Recomputed++
	} else {
		return RuleOnce, fmt.Sprintf("gate %d was computed before", id)
	}
	c.put(dstArray, dst, xmg.MakeLit(id, complement))
	c.report.Computes++
	return 0, ""
}

// end looks for the outputs and for gates that were left out.
func (c *checker) end() error {
	for id := c.g.FirstGate(); id < c.g.NumNodes(); id++ {
		if c.computed[id/64]>>(id%64)&1 == 0 {
			return &RuleError{Rule: RuleOnce, Index: -1, Msg: fmt.Sprintf("gate %d is never computed", id)}
		}
	}
	fail := func(format string, args ...any) error {
		return &RuleError{Rule: RuleOutputs, Index: -1, Msg: fmt.Sprintf(format, args...)}
	}
	if len(c.p.Outputs) != c.g.NumOutputs() {
		return fail("the program has %d outputs, expected %d as the graph", len(c.p.Outputs), c.g.NumOutputs())
	}
	for i, out := range c.p.Outputs {
		want, s := c.g.Output(i).Lit, out.Operand
		var got xmg.Lit
		switch {
		case s == sram.Zero:
			got = xmg.False
		case s == sram.One:
			got = xmg.True
		case out.Array < 0 || out.Array >= len(c.used) || s.Row() >= c.rows:
			return fail("output %d (%s) is in array %d row %d, expected one of %d arrays of %d rows",
				i, out.Name, out.Array, s.Row(), len(c.used), c.rows)
		default:
			l := c.held.Get(out.Array, s.Row())
			if l == 0 {
				return fail("output %d (%s): row %d of array %d holds nothing, expected %s",
					i, out.Name, s.Row(), out.Array, litText(want))
			}
			got = xmg.Lit(l).NotIf(s.Negated())
		}
		if got != want {
			return fail("output %d (%s) is %s at the end, expected %s", i, out.Name, litText(got), litText(want))
		}
	}
	return nil
}

// litText names a literal in a message.
func litText(l xmg.Lit) string {
	switch {
	case l == xmg.False:
		return "constant 0"
	case l == xmg.True:
		return "constant 1"
	case l.Complemented():
		return fmt.Sprintf("~node %d", l.Node())
	}
	return fmt.Sprintf("node %d", l.Node())
}

// gateTable finds gates by kind and fanins: open addressing, 0 = empty.
type gateTable struct {
	g    *xmg.Graph
	slot []uint32
}

func newGateTable(g *xmg.Graph) *gateTable {
	size := 8
	for size*3 < g.NumGates()*4 {
		size *= 2
	}
	t := &gateTable{g, make([]uint32, size)}
	mask := uint32(size - 1)
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		f, _ := normalFanins(g.Kind(id) == xmg.Xor, g.Fanins(id))
		h := hashFanins(f) & mask
		for t.slot[h] != 0 {
			h = (h + 1) & mask
		}
		t.slot[h] = uint32(id)
	}
	return t
}

// find returns the gate that computes the majority or parity of three literals
// and whether it is its complement that does; 0 if there is none.
func (t *gateTable) find(xor bool, f [3]xmg.Lit) (id int, complement bool) {
	f, complement = normalFanins(xor, f)
	mask := uint32(len(t.slot) - 1)
	for h := hashFanins(f) & mask; t.slot[h] != 0; h = (h + 1) & mask {
		id := int(t.slot[h])
		if (t.g.Kind(id) == xmg.Xor) != xor {
			continue
		}
		if have, flip := normalFanins(xor, t.g.Fanins(id)); have == f {
			return id, complement != flip
		}
	}
	return 0, false
}

// normalFanins brings the fanins of a gate into ascending order and as many
// complements as can be to its output: all of a XOR, and two of a MAJ that has
// two or three, since it is self-dual.
func normalFanins(xor bool, f [3]xmg.Lit) (normal [3]xmg.Lit, complement bool) {
	a, b, c := f[0], f[1], f[2]
	odd := (a ^ b ^ c) & 1
	if xor {
		a, b, c = a&^1, b&^1, c&^1
		complement = odd != 0
	} else if a&1+b&1+c&1 >= 2 {
		a, b, c = a^1, b^1, c^1
		complement = true
	}
	if a > b {
		a, b = b, a
	}
	if b > c {
		b, c = c, b
	}
	if a > b {
		a, b = b, a
	}
	return [3]xmg.Lit{a, b, c}, complement
}

func hashFanins(f [3]xmg.Lit) uint32 {
	h := (uint64(f[0])<<32 | uint64(f[1])) * 0x9E3779B97F4A7C15
	h = (h ^ h>>32 ^ uint64(f[2])) * 0xD6E8FEB86659FD93
	return uint32(h >> 32)
}
