package interp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// Memory has the contents of the arrays and scalars of a program, by name.
type Memory struct {
	Arrays  map[string]*Array
	Scalars map[string]scalar.Value
}

// Array is an array in memory, dimension 0 contiguous.
type Array struct {
	Type  scalar.Type
	Size  []int64
	Elems []scalar.Value
}

// MaxElements is the most elements that an array may have: 2^32, 32 GiB here.
const MaxElements = 1 << 32

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{Arrays: map[string]*Array{}, Scalars: map[string]scalar.Value{}}
}

// Allocate adds arrays of zeros. sizes has values for the symbols of their sizes.
func (m *Memory) Allocate(arrays []*tdfg.Array, sizes map[string]int64) error {
	for _, a := range arrays {
		n := int64(1)
		size := make([]int64, len(a.Size))
		for i, x := range a.Size {
			var err error
			if size[i], err = x.Eval(sizes); err != nil {
				return fmt.Errorf("interp: array %s: %w", a.Name, err)
			}
			if size[i] < 1 || size[i] > MaxElements/n {
				return fmt.Errorf("interp: array %s: %d elements in dimension %d, expected at least 1 and at most %d in all", a.Name, size[i], i, int64(MaxElements))
			}
			n *= size[i]
		}
		m.Arrays[a.Name] = &Array{Type: a.Type, Size: size, Elems: make([]scalar.Value, n)}
	}
	return nil
}

// Clone returns a copy of all contents.
func (m *Memory) Clone() *Memory {
	c := &Memory{Arrays: make(map[string]*Array, len(m.Arrays)), Scalars: maps.Clone(m.Scalars)}
	for name, a := range m.Arrays {
		c.Arrays[name] = &Array{a.Type, slices.Clone(a.Size), slices.Clone(a.Elems)}
	}
	return c
}

// Diff returns a description of the first difference between two memories, "" if
// there is none. Arrays and scalars that only one of them has do not count.
func (m *Memory) Diff(other *Memory) string {
	for _, name := range slices.Sorted(maps.Keys(m.Arrays)) {
		a, b := m.Arrays[name], other.Arrays[name]
		if b == nil {
			continue
		}
		if a.Type != b.Type || !slices.Equal(a.Size, b.Size) {
			return fmt.Sprintf("%s is %s %v and %s %v", name, a.Type, a.Size, b.Type, b.Size)
		}
		for i, v := range a.Elems {
			if v != b.Elems[i] {
				return fmt.Sprintf("%s%v is %s and %s", name, a.point(int64(i)), scalar.Format(a.Type, v), scalar.Format(a.Type, b.Elems[i]))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scalars)) {
		if w, ok := other.Scalars[name]; ok && w != m.Scalars[name] {
			return fmt.Sprintf("%s is %#x and %#x", name, m.Scalars[name], w)
		}
	}
	return ""
}

// point returns the subscripts of an element as C has them, dimension 0 last.
func (a *Array) point(i int64) []int64 {
	p := make([]int64, len(a.Size))
	for d, n := range a.Size {
		p[len(p)-1-d] = i % n
		i /= n
	}
	return p
}
