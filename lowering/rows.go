package lowering

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg"
)

// bind makes a node a value.
func (p *planner) bind(id tdfg.NodeID, v *value, bits int) {
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

// freeRows returns the lowest rows that are free for a word.
func (p *planner) freeRows(bits int) (Register, bool) {
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
		if r, ok := p.freeRows(bits); ok {
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

// liveRange is when a row of a program holds something: from its first write to its last
// read, by the numbers of instructions.
type liveRange struct{ first, last int }

// liveRanges returns the live ranges of the rows of a program in canonical layout; an input lives
// from -1 on, and a row that nobody reads until it was last written.
func liveRanges(prog *arith.Program) []liveRange {
	k := prog.Kernel
	list := make([]liveRange, k.Rows)
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
	all := liveRanges(prog)
	// Rows that can be had, and from when on.
	type freeRow struct{ row, from int }
	var rooms []freeRow
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
			rooms = append(rooms, freeRow{row, from})
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
				free = append(free, freeRow{row, -1})
			}
		}
		list := make([]int, prog.Scratch)
		fits := true
		used := map[int]bool{}
		for _, i := range order {
			l := all[base+i]
			j := slices.IndexFunc(free, func(r freeRow) bool { return r.from < l.first })
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
