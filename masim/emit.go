package masim

import (
	"fmt"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// step is one instruction by value identity: gate or input `value` appears in
// row `row` of array `array`, computed there or copied from array `from`.
type step struct {
	value int32 // node of the graph
	array uint16
	row   uint16
	from  int32 // source array of a copy; computed = -1
}

// computed is the `from` of a step that computes its value.
const computed = -1

// emit turns steps into a program. It tracks which value lies in which row, so
// schedulers only say where values go. A step that needs a value its array does
// not hold is a defect of the scheduler and gives an error.
func emit(p Problem, steps []step) (*sram.Program, error) {
	g := p.Graph
	geo := p.Geometry
	held := sram.NewRowTable(geo) // value in each row
	at := newWhereTable(g.NumNodes())
	prog := &sram.Program{Geometry: geo, Instrs: make([]sram.Instr, len(steps))}
	for i := range g.NumInputs() {
		a, r := p.home(i + 1)
		held.Set(a, r, uint32(i+1))
		at.set(int32(i+1), a, r)
		prog.Inputs = append(prog.Inputs, sram.Input{Name: g.InputName(i), Place: sram.Place{Array: a, Row: r}})
	}
	for i, s := range steps {
		ins := &prog.Instrs[i]
		ins.Array, ins.Dst = s.array, s.row
		if s.from >= 0 {
			r, ok := at.row(s.value, int(s.from))
			if !ok {
				return nil, fmt.Errorf("masim: step %d copies value %d from array %d, which does not hold it", i, s.value, s.from)
			}
			ins.Op, ins.From, ins.Src[0] = sram.Copy, uint16(s.from), sram.Row(r, false)
		} else {
			if g.Kind(int(s.value)) == xmg.Xor {
				ins.Op = sram.Xor
			}
			for j, l := range g.Fanins(int(s.value)) {
				o, ok := operand(at, l, int(s.array))
				if !ok {
					return nil, fmt.Errorf("masim: step %d computes gate %d in array %d, which does not hold its fanin %d", i, s.value, s.array, l.Node())
				}
				ins.Src[j] = o
			}
		}
		a, r := int(s.array), int(s.row)
		if old := held.Get(a, r); old != 0 {
			at.unset(int32(old), sram.Place{Array: a, Row: r})
		}
		held.Set(a, r, uint32(s.value))
		at.set(s.value, a, r)
	}
	for _, o := range g.Outputs() {
		out := sram.Output{Name: o.Name}
		if n := o.Lit.Node(); n == 0 {
			out.Operand = sram.Zero
			if o.Lit.Complemented() {
				out.Operand = sram.One
			}
		} else {
			a, r, ok := at.first(int32(n))
			if !ok {
				return nil, fmt.Errorf("masim: output %s: value %d is in no array at the end", o.Name, n)
			}
			out.Array, out.Operand = a, sram.Row(r, o.Lit.Complemented())
		}
		prog.Outputs = append(prog.Outputs, out)
	}
	return prog, nil
}

func operand(at *whereTable, l xmg.Lit, array int) (sram.Operand, bool) {
	if l.Node() == 0 {
		if l.Complemented() {
			return sram.One, true
		}
		return sram.Zero, true
	}
	r, ok := at.row(int32(l.Node()), array)
	if !ok {
		return 0, false
	}
	return sram.Row(r, l.Complemented()), true
}

// whereTable keeps the places of every value: one inline, the rest in a list,
// since nearly all values lie in one array or two.
type whereTable struct {
	one  []sram.Place // Array -1 = nowhere
	more map[int32][]sram.Place
}

func newWhereTable(n int) *whereTable {
	t := &whereTable{one: make([]sram.Place, n), more: map[int32][]sram.Place{}}
	for i := range t.one {
		t.one[i].Array = -1
	}
	return t
}

func (t *whereTable) set(v int32, a, r int) {
	if t.one[v].Array < 0 {
		t.one[v] = sram.Place{Array: a, Row: r}
		return
	}
	t.more[v] = append(t.more[v], sram.Place{Array: a, Row: r})
}

func (t *whereTable) unset(v int32, at sram.Place) {
	more := t.more[v]
	if t.one[v] == at {
		if len(more) == 0 {
			t.one[v].Array = -1
			return
		}
		t.one[v], more = more[0], more[1:]
	} else {
		for i := range more {
			if more[i] == at {
				more = append(more[:i:i], more[i+1:]...)
				break
			}
		}
	}
	if len(more) == 0 {
		delete(t.more, v)
	} else {
		t.more[v] = more
	}
}

func (t *whereTable) row(v int32, a int) (int, bool) {
	if t.one[v].Array == a {
		return t.one[v].Row, true
	}
	for _, p := range t.more[v] {
		if p.Array == a {
			return p.Row, true
		}
	}
	return 0, false
}

func (t *whereTable) first(v int32) (array, row int, ok bool) {
	return t.one[v].Array, t.one[v].Row, t.one[v].Array >= 0
}
