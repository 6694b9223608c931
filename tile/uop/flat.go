package uop

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
)

// Flat is a plain memory without time or caches, that executes micro-ops one after
// another.
type Flat struct {
	segments []Segment // by address
}

// NewFlat returns a memory with copies of segments.
func NewFlat(segments []Segment) *Flat {
	f := &Flat{}
	for _, s := range segments {
		s.Data = slices.Clone(s.Data)
		f.segments = append(f.segments, s)
	}
	sort.Slice(f.segments, func(i, j int) bool { return f.segments[i].Addr < f.segments[j].Addr })
	return f
}

// Bytes are those of an address, to read and to write.
func (f *Flat) Bytes(addr uint64, n int) ([]byte, error) {
	i := sort.Search(len(f.segments), func(i int) bool { return f.segments[i].Addr > addr }) - 1
	if i < 0 || addr+uint64(n) > f.segments[i].Addr+uint64(len(f.segments[i].Data)) {
		return nil, fmt.Errorf("uop: address %#x is in no segment", addr)
	}
	at := addr - f.segments[i].Addr
	return f.segments[i].Data[at : at+uint64(n)], nil
}

// Perform executes a micro-op of a batch, and returns what it found in memory, where it
// has one address. Values of loads are not compared.
func (f *Flat) Perform(b *Batch, o *Op) ([]byte, error) {
	if !o.Kind.Memory() {
		return nil, nil
	}
	if o.Kind.Lanes() {
		if o.Kind == Gather {
			return nil, nil
		}
		each := int(o.Size) / int(o.Lanes)
		for i := range int(o.Lanes) {
			cell, err := f.Bytes(binary.LittleEndian.Uint64(b.Data[int(o.Data)+8*i:]), each)
			if err != nil {
				return nil, err
			}
			copy(cell, b.Bytes(o)[each*i:])
		}
		return nil, nil
	}
	cell, err := f.Bytes(o.Addr, int(o.Size))
	if err != nil {
		return nil, err
	}
	old := slices.Clone(cell)
	switch o.Kind {
	case Store:
		copy(cell, b.Bytes(o))
	case Atomic:
		expected := b.Bytes(o)
		if o.RMW == CompareSwap {
			expected = b.Data[int(o.Data)+int(o.Size):][:o.Size]
		}
		o.RMW.Apply(cell, old, b.Bytes(o), expected)
	}
	return old, nil
}
