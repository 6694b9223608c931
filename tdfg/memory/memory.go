package memory

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

	end uint64 // of the last array
}

// Array is an array in memory, dimension 0 contiguous.
type Array struct {
	Type  scalar.Type
	Size  []int64
	Elems []scalar.Value
	Base  uint64 // physical address of the first element
}

// Where arrays lie.
const (
	firstAddress = 1 << 20
	pageBytes    = 4096
)

// MaxElements is the most elements that an array may have: 2^32, 32 GiB here.
const MaxElements = 1 << 32

// New returns an empty memory.
func New() *Memory {
	return &Memory{Arrays: map[string]*Array{}, Scalars: map[string]scalar.Value{}, end: firstAddress}
}

// Add adds an array behind those that are there. Its elements are not copied;
// there may be none.
func (m *Memory) Add(name string, t scalar.Type, size []int64, elems []scalar.Value) *Array {
	a := &Array{Type: t, Size: size, Elems: elems, Base: m.end}
	m.end = (a.End() + pageBytes - 1) / pageBytes * pageBytes
	m.Arrays[name] = a
	return a
}

// Address returns the physical address of an element.
func (a *Array) Address(elem int64) uint64 { return a.Base + uint64(elem)*uint64(a.Type.Bytes()) }

// Len returns the number of elements.
func (a *Array) Len() int64 {
	n := int64(1)
	for _, s := range a.Size {
		n *= s
	}
	return n
}

// End returns the first physical address behind the array.
func (a *Array) End() uint64 { return a.Address(a.Len()) }

// Bytes returns what the array takes in memory.
func (a *Array) Bytes() int64 { return a.Len() * int64(a.Type.Bytes()) }

// Allocate adds arrays of zeros. Views have those of their arrays. sizes has values for the symbols of their sizes.
func (m *Memory) Allocate(arrays []*tdfg.Array, sizes map[string]int64) error {
	if err := m.Reserve(arrays, sizes); err != nil {
		return err
	}
	for _, a := range arrays {
		if !a.Own() {
			continue
		}
		b := m.Arrays[a.Name]
		b.Elems = make([]scalar.Value, b.Len())
	}
	return nil
}

// Reserve adds arrays without elements, for what needs nothing but their addresses.
func (m *Memory) Reserve(arrays []*tdfg.Array, sizes map[string]int64) error {
	for _, a := range arrays {
		if !a.Own() {
			continue
		}
		n := int64(1)
		size := make([]int64, len(a.Size))
		for i, x := range a.Size {
			var err error
			if size[i], err = x.Eval(sizes); err != nil {
				return fmt.Errorf("memory: array %s: %w", a.Name, err)
			}
			if size[i] < 1 || size[i] > MaxElements/n {
				return fmt.Errorf("memory: array %s: %d elements in dimension %d, expected at least 1 and at most %d in all", a.Name, size[i], i, int64(MaxElements))
			}
			n *= size[i]
		}
		m.Add(a.Name, a.Type, size, nil)
	}
	return nil
}

// Behind returns an empty memory whose addresses are behind all that are in use.
func (m *Memory) Behind() *Memory {
	c := New()
	if m != nil {
		c.end = m.end
	}
	return c
}

// Clone returns a copy of all contents, at the same addresses.
func (m *Memory) Clone() *Memory {
	c := &Memory{Arrays: make(map[string]*Array, len(m.Arrays)), Scalars: maps.Clone(m.Scalars), end: m.end}
	for name, a := range m.Arrays {
		b := *a
		b.Size, b.Elems = slices.Clone(a.Size), slices.Clone(a.Elems)
		c.Arrays[name] = &b
	}
	return c
}

// Comparison is what a comparison of two memories has found.
type Comparison struct {
	Arrays   int    `json:"arrays"`
	Elements int64  `json:"elements"`
	Scalars  int    `json:"scalars"`
	First    string `json:"difference,omitempty"` // the first difference, "" if there is none
}

// Compare compares what both memories have, bit by bit. What only one of them has does
// not count. It ends at the first difference.
func (m *Memory) Compare(other *Memory) (c Comparison) {
	for _, name := range slices.Sorted(maps.Keys(m.Arrays)) {
		a, b := m.Arrays[name], other.Arrays[name]
		if b == nil {
			continue
		}
		if a.Type != b.Type || !slices.Equal(a.Size, b.Size) {
			c.First = fmt.Sprintf("%s is %s %v and %s %v", name, a.Type, a.Size, b.Type, b.Size)
			return c
		}
		for i, v := range a.Elems {
			if v != b.Elems[i] {
				c.First = fmt.Sprintf("%s%v is %s and %s", name, a.point(int64(i)), scalar.Format(a.Type, v), scalar.Format(a.Type, b.Elems[i]))
				return c
			}
		}
		c.Arrays++
		c.Elements += int64(len(a.Elems))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Scalars)) {
		w, ok := other.Scalars[name]
		if !ok {
			continue
		}
		if w != m.Scalars[name] {
			c.First = fmt.Sprintf("%s is %#x and %#x", name, m.Scalars[name], w)
			return c
		}
		c.Scalars++
	}
	return c
}

// Extent returns how much both memories have.
func (m *Memory) Extent(other *Memory) (c Comparison) {
	for name, a := range m.Arrays {
		if other.Arrays[name] != nil {
			c.Arrays++
			c.Elements += int64(len(a.Elems))
		}
	}
	for name := range m.Scalars {
		if _, ok := other.Scalars[name]; ok {
			c.Scalars++
		}
	}
	return c
}

// Diff returns a description of the first difference between two memories, "" if
// there is none: see [Memory.Compare].
func (m *Memory) Diff(other *Memory) string { return m.Compare(other).First }

// point returns the subscripts of an element as C has them, dimension 0 last.
func (a *Array) point(i int64) []int64 {
	p := make([]int64, len(a.Size))
	for d, n := range a.Size {
		p[len(p)-1-d] = i % n
		i /= n
	}
	return p
}
