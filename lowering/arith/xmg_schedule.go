package arith

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// gateList is a circuit as a list of gates in the order of their execution.
// Value 0 is false, values 1 to inputs are the inputs, then come the gates; an
// operand is value<<1 | complement.
type gateList struct {
	inputs  int
	gates   []gateOp
	outputs []uint32
}

type gateOp struct {
	xor bool
	src [3]uint32
}

func init() { register(&sram.XMG, gates{}) }

// gates schedules circuits for xmg.
type gates struct{}

func (gates) supports(o *Operation) bool { return o.circuit != nil }

// build builds the circuit of the operation and schedules it on one array: in the
// order in which it was built where that fits, else, and with FewRows, in the
// order that masim finds for the fewest rows.
func (gates) build(ctx context.Context, p *Program, st *Store) error {
	g, err := p.graph()
	if err != nil {
		return err
	}
	k := p.Kernel
	l := listOf(g)
	if !p.Spec.FewRows {
		// Rows of the result that serve as scratch before spoil its use in place.
		k.Instrs = l.place(k, false)
		if p.rows() <= k.Usable() && slices.ContainsFunc(k.Inputs, p.inPlace) {
			return nil
		}
		if k.Instrs = l.place(k, true); p.rows() <= k.Usable() {
			return nil
		}
	}
	if ok, err := st.readSchedule(ctx, p, g); ok || err != nil {
		return err
	}
	l, err = fewRows(ctx, g, k.Rows)
	if err != nil {
		return fmt.Errorf("arith: %s for %s: %w: %w", p.Spec.Op, p.Spec.Tech, ErrRows, err)
	}
	if k.Instrs = l.place(k, true); p.rows() > k.Usable() {
		return p.tooLarge(p.rows())
	}
	return st.writeSchedule(p, g)
}

// graph builds the circuit. Its inputs are the bits of the kernel's inputs.
func (p *Program) graph() (*xmg.Graph, error) {
	c := &circuit{g: xmg.New(p.Spec.Op)}
	args := make([][]lit, len(p.Op.Args))
	for i, v := range p.Spec.Const {
		args[i] = constLits(v, p.Op.ArgWidth(p.Type, i))
	}
	for i, in := range p.Kernel.Inputs {
		w := make([]lit, in.Width)
		for j := range w {
			w[j] = c.g.AddInput(fmt.Sprintf("%s[%d]", in.Name, j))
		}
		args[p.Args[i]] = w
	}
	y := p.Op.circuit(c, p.Type, args)
	if c.err != nil {
		return nil, fmt.Errorf("arith: circuit of %s: %w", p.Spec.Op, c.err)
	}
	if len(y) != p.ResultWidth() {
		return nil, fmt.Errorf("arith: circuit of %s has %d outputs, expected %d", p.Spec.Op, len(y), p.ResultWidth())
	}
	for i, l := range y {
		c.g.AddOutput(fmt.Sprintf("y[%d]", i), l)
	}
	return c.g, nil
}

// listOf lists the gates of g that outputs depend on, in the order of g.
func listOf(g *xmg.Graph) *gateList {
	n, first := g.NumNodes(), g.FirstGate()
	live := make([]bool, n)
	for _, o := range g.Outputs() {
		live[o.Lit.Node()] = true
	}
	for id := n - 1; id >= first; id-- {
		if live[id] {
			for _, f := range g.Fanins(id) {
				live[f.Node()] = true
			}
		}
	}
	l := &gateList{inputs: first - 1}
	value := make([]uint32, n)
	for id := range first {
		value[id] = uint32(id)
	}
	for id := first; id < n; id++ {
		if !live[id] {
			continue
		}
		value[id] = uint32(first + len(l.gates))
		op := gateOp{xor: g.Kind(id) == xmg.Xor}
		for j, f := range g.Fanins(id) {
			op.src[j] = value[f.Node()]<<1 | uint32(f&1)
		}
		l.gates = append(l.gates, op)
	}
	for _, o := range g.Outputs() {
		l.outputs = append(l.outputs, value[o.Lit.Node()]<<1|uint32(o.Lit&1))
	}
	return l
}

// fewRows lists the gates of g in the order of the schedule on one array that
// needs the fewest rows.
func fewRows(ctx context.Context, g *xmg.Graph, rows int) (*gateList, error) {
	s, err := masim.Lookup("bitsched")
	if err != nil {
		return nil, err
	}
	p := masim.Problem{Graph: g, Geometry: sram.Geometry{Arrays: 1, Rows: rows, Cols: sram.DefaultCols}}
	r, err := s.Run(ctx, p, masim.Options{Objective: masim.MinRows})
	if err != nil {
		return nil, err
	}
	l := &gateList{inputs: g.NumInputs()}
	holds := make([]uint32, rows)
	for i, in := range r.Program.Inputs {
		holds[in.Row] = uint32(i + 1)
	}
	operand := func(o sram.Operand) uint32 {
		if o.IsConst() {
			return uint32(o & 1)
		}
		return holds[o.Row()]<<1 | uint32(o&1)
	}
	for _, ins := range r.Program.Instrs {
		op := gateOp{xor: ins.Op == sram.Xor}
		for j, s := range ins.Src {
			op.src[j] = operand(s)
		}
		l.gates = append(l.gates, op)
		holds[ins.Dst] = uint32(l.inputs + len(l.gates))
	}
	for _, o := range r.Program.Outputs {
		l.outputs = append(l.outputs, operand(o.Operand))
	}
	return l, nil
}

// place assigns rows: a gate that is an output has its row of the result from
// the start, and is computed as its complement where that is asked for; others
// take the lowest scratch row, or with reuse first a row of the result whose bit
// is made after the gate's last use. Outputs that are no gate of their own are
// written at the end.
func (l *gateList) place(k *sram.Kernel, reuse bool) []sram.Micro {
	const never = int(^uint(0) >> 1)
	out := k.Outputs[0]
	values := 1 + l.inputs + len(l.gates)
	row := make([]int, values)
	last := make([]int, values) // index of the last gate that reads a value
	flip := make([]bool, values)
	v := 1
	for _, in := range k.Inputs {
		for j := range in.Width {
			row[v] = in.Base + j
			v++
		}
	}
	for i := range last {
		last[i] = -1
		if i > l.inputs {
			row[i] = -1
		}
	}
	for i, g := range l.gates {
		for _, s := range g.src {
			last[s>>1] = i
		}
	}
	made := make([]int, out.Width) // index of the gate that makes a bit of the result
	for i, o := range l.outputs {
		made[i] = never - 1
		if v := int(o >> 1); v > l.inputs && row[v] < 0 {
			row[v], flip[v], made[i] = out.Base+i, o&1 != 0, v-l.inputs-1
			last[v] = never
		} else {
			last[v] = never
		}
	}
	operand := func(s uint32) sram.Operand {
		if s < 2 {
			return sram.Zero + sram.Operand(s)
		}
		return sram.Row(row[s>>1], s&1 != 0 != flip[s>>1])
	}
	base := out.Base + out.Width
	var used []bool                     // scratch rows
	borrowed := make([]bool, out.Width) // rows of the result
	var ins []sram.Micro
	for i, g := range l.gates {
		v := 1 + l.inputs + i
		m := sram.Micro{Op: sram.XMGMaj}
		if g.xor {
			m.Op = sram.XMGXor
		}
		for j, s := range g.src {
			if flip[v] && (j == 0 || !g.xor) {
				s ^= 1
			}
			m.Src[j] = operand(s)
		}
		for _, s := range g.src { // rows that are free from now on may take the result
			u := int(s >> 1)
			if u <= l.inputs || last[u] != i {
				continue
			}
			if r := row[u] - base; r >= 0 {
				used[r] = false
			} else {
				borrowed[row[u]-out.Base] = false
			}
		}
		if row[v] < 0 {
			if reuse {
				for b := range borrowed {
					if !borrowed[b] && made[b] >= last[v] && made[b] > i {
						borrowed[b], row[v] = true, out.Base+b
						break
					}
				}
			}
			if row[v] < 0 {
				r := 0
				for r < len(used) && used[r] {
					r++
				}
				if r == len(used) {
					used = append(used, false)
				}
				used[r], row[v] = true, base+r
			}
		}
		m.Dst = uint16(row[v])
		ins = append(ins, m)
	}
	for i, o := range l.outputs {
		if s := operand(o); s != sram.Row(out.Base+i, false) {
			ins = append(ins, sram.Micro{Op: sram.XMGXor, Dst: uint16(out.Base + i), Src: [3]sram.Operand{s, sram.Zero, sram.Zero}})
		}
	}
	return ins
}
