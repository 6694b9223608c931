package lowering

import (
	"slices"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

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
		p.bind(id, p.loc[a].val, n.Type.Bits())
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
		if v.held = true; v.array < 0 {
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
			p.bind(id, v, n.Type.Bits())
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
	p.bind(id, acc, bits)
	p.drop(tmp)
	return nil
}
