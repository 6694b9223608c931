package system

import (
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tile/tensor"
)

// aliases are the other arrays on bitlines that may have elements of one: views of it, or
// the array that it is a view of, and other views of that. What is stored to one makes
// the others out of date.
type aliases struct {
	lie    tdfg.Layout
	others []string
	stored bool // since it was loaded
	lines  []tensor.Run
	iota   *memory.Array // of the numbers of its elements, which the host has written
}

// findAliases returns those of all arrays that have some, or are views.
func findAliases(arrays []*tdfg.Array, g *tdfg.Graph, sizes map[string]int64, m *memory.Memory) (map[string]*aliases, error) {
	s := tdfg.Scope{Dims: g.Dims, Space: g.Space.Bind(sizes)}
	for _, a := range arrays {
		s.Arrays = append(s.Arrays, a.Bind(sizes))
	}
	found, behind := map[string]*aliases{}, m.Behind()
	for i, a := range s.Arrays {
		x := &aliases{}
		for j, b := range s.Arrays {
			if i != j && !s.Apart(i, j) {
				x.others = append(x.others, b.Name)
			}
		}
		if a.Own() && len(x.others) == 0 {
			continue
		}
		var err error
		if a.Iota {
			n, err := a.Size[0].Eval(nil)
			if err != nil {
				return nil, fmt.Errorf("system: array %s: %w", a.Name, err)
			}
			x.iota = behind.Add(a.Name, a.Type, []int64{n}, nil)
			found[a.Name] = x
			continue
		}
		if x.lie, err = s.Layout(i, nil); err != nil {
			return nil, fmt.Errorf("system: array %s: %w", a.Name, err)
		}
		found[a.Name] = x
	}
	return found, nil
}

// newer reports whether an array on bitlines has what a plan reads, or writes a part of,
// under another name.
func (r *runner) newer(name string, p *lowering.Plan) bool {
	v := r.views[name]
	return v != nil && v.stored && slices.ContainsFunc(v.others, func(b string) bool {
		j := p.Graph.ArrayIndex(b)
		return j >= 0 && (p.Arrays[j].Bits > 0 || streamed(p.Graph, b) || writes(p.Graph, j))
	})
}

// writes reports whether a graph has an output to an array.
func writes(g *tdfg.Graph, array int) bool {
	return slices.ContainsFunc(g.Outputs, func(o tdfg.Output) bool { return o.Array == array })
}

// outdated takes arrays from the bitlines of which a plan has written elements under
// another name. They are in memory otherwise: see enter.
func (r *runner) outdated(p *lowering.Plan) error {
	for j, a := range p.Graph.Arrays {
		v := r.views[a.Name]
		if v == nil || !writes(p.Graph, j) {
			continue
		}
		v.stored = p.Arrays[j].Bits > 0
		for _, b := range v.others {
			i := r.entry(b)
			if i < 0 {
				continue
			}
			if r.views[b].stored {
				return internal(fmt.Errorf("arrays %s and %s were both stored to", a.Name, b))
			}
			if err := r.drop(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// lie returns where an array lies, and its memory.
func (r *runner) lie(a *tdfg.Array) (lowering.Lie, *memory.Array, error) {
	name := a.Name
	if a.View != nil {
		name = a.View.Of
	}
	mem := r.m.Arrays[name]
	if a.Iota {
		mem = r.views[name].iota
	}
	if mem == nil {
		return lowering.Lie{}, nil, fmt.Errorf("system: no array %s in memory", name)
	}
	l := lowering.Lie{Base: mem.Base, Bytes: mem.Type.Bytes(), Size: mem.Size, Axes: a.Axes}
	if a.View == nil {
		return l, mem, nil
	}
	v := r.views[a.Name]
	l.View, l.First, l.Step, l.Size = true, v.lie.First, v.lie.Step, make([]int64, len(a.Size))
	for k, n := range a.Size {
		var err error
		if l.Size[k], err = n.Eval(r.sizes); err != nil {
			return l, nil, fmt.Errorf("system: array %s: %w", a.Name, err)
		}
	}
	return l, mem, nil
}

// extent says what a transfer of the array of an entry takes: its elements, and, of a view,
// the lines of memory that these are in.
func (r *runner) extent(a *tdfg.Array, entry int, mem *memory.Array, w *Work) error {
	w.Address, w.Bytes, w.Moved = mem.Base, mem.Bytes(), mem.Bytes()
	v := r.views[a.Name]
	if a.View == nil {
		return nil
	}
	e := &r.table.Entries()[entry]
	if v.lines == nil {
		v.lines = linesOf(e, uint64(r.opt.Machine.L3.LineBytes))
	}
	w.Address, w.Bytes, w.Moved, w.Runs = v.lines[0].Address, 0, int64(e.Size)*e.S[0]*e.S[1]*e.S[2], v.lines
	for _, run := range v.lines {
		w.Bytes += run.Bytes
	}
	return nil
}

// linesOf returns the lines of memory that have an element of an entry, those behind each
// other as one run.
func linesOf(e *lowering.Entry, line uint64) []tensor.Run {
	first := e.Base / line
	there := make([]bool, (e.End-1)/line-first+1)
	inner := 0 // the dimension with the least step
	for d := range e.Step {
		if e.S[d] > 1 && (e.S[inner] == 1 || max(e.Step[d], -e.Step[d]) < max(e.Step[inner], -e.Step[inner])) {
			inner = d
		}
	}
	size := e.S
	size[inner] = 1
	for z := range size[2] {
		for y := range size[1] {
			for x := range size[0] {
				at := e.First + x*e.Step[0] + y*e.Step[1] + z*e.Step[2]
				for i := range e.S[inner] {
					elem := e.Base + uint64(at+i*e.Step[inner])*uint64(e.Size)
					there[elem/line-first] = true
				}
			}
		}
	}
	var runs []tensor.Run
	for i := 0; i < len(there); {
		j := i
		for j < len(there) && there[j] {
			j++
		}
		if j > i {
			runs = append(runs, tensor.Run{Address: (first + uint64(i)) * line, Bytes: int64(uint64(j-i) * line)})
		}
		i = j + 1
	}
	return runs
}
