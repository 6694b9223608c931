package multicore

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/mem"
)

// Program is a C function with its arguments.
type Program struct {
	Graph *stream.Graph
	// Memory has the elements of all arrays. A run changes them to what the machine
	// has in its memory and caches at the end.
	Memory      stream.Memory
	Args        stream.Args
	Reassociate bool // sums of floats may be of any order, so that SIMD can compute them
}

// maxSIMD is the most bytes of SIMD registers that micro-ops are made for.
const maxSIMD = 64

// micro makes the micro-ops of the program for a machine.
func (p *Program) micro(m *tile.Machine, opt *Options, from uint64, streams *micro.Streams, units *micro.Units) (*micro.Program, error) {
	place, err := p.place(m, opt.Threads, from)
	if err != nil {
		return nil, err
	}
	return micro.New(p.Graph, p.Memory, p.Args, micro.Options{
		Units: units, From: from,
		Threads: opt.Threads, Vector: min(maxSIMD, m.CoreVariant().SIMDBits/8), Reassociate: p.Reassociate, Place: place, Streams: streams,
		Fanout: fanout(m), ForkCycles: m.Threads.ForkCycles, Late: opt.Jitter.late(),
	})
}

// fanout is that of the tree in which threads meet, 0 if they meet at a counter.
func fanout(m *tile.Machine) int {
	if m.Threads.Barrier == "tree" {
		return m.Threads.Fanout
	}
	return 0
}

// Bytes returns the bytes of all arrays, as the machine has them.
func (p *Program) Bytes() int64 {
	total := int64(0)
	for i := range p.Graph.Arrays {
		a := &p.Graph.Arrays[i]
		total += int64(len(p.Memory[a.Name])) * int64(a.Type.Bytes())
	}
	return total
}

// Where arrays lie. The lowest addresses are those of code and stacks.
const (
	firstAddress = 1 << 21
	// stagger is between the offsets of neighbours that are staggered: lines, so that
	// streams begin in different sets of caches and different banks of DRAM.
	stagger = 85 * 64
)

// place gives arrays, and arrays of structures, addresses one after another from one on: each at a
// page of its own (aligned; random-4k says where pages lie in physical memory), or at a
// page and some lines further for each (staggered).
func (p *Program) place(m *tile.Machine, threads int, from uint64) (map[string]uint64, error) {
	place := map[string]uint64{}
	var names []string
	bytes := map[string]uint64{}
	for i := range p.Graph.Arrays {
		a := &p.Graph.Arrays[i]
		name, size := a.Name, uint64(len(p.Memory[a.Name]))*uint64(a.Type.Bytes())
		if a.Scope != stream.Argument && p.Memory[a.Name] == nil { // one that the function declares
			n := int64(1)
			for _, x := range a.Size {
				v, err := x.Eval(p.Args.Symbols)
				if err != nil {
					return nil, fmt.Errorf("multicore: array %s: %w", a.Name, err)
				}
				n *= v
			}
			size = uint64(n) * uint64(a.Type.Bytes())
			if a.Scope == stream.Private { // in lines of their own
				size = (size + mem.LineBytes - 1) / mem.LineBytes * mem.LineBytes * uint64(threads)
			}
		}
		if f := a.Field; f != nil {
			outer, err := a.Size[len(a.Size)-1].Eval(p.Args.Symbols)
			if err != nil {
				return nil, fmt.Errorf("multicore: array %s: %w", a.Name, err)
			}
			name, size = f.Of, uint64(outer)*uint64(f.Stride)
		}
		if _, ok := bytes[name]; !ok {
			names = append(names, name)
			bytes[name] = size
		}
	}
	page, next := uint64(m.Memory.PageBytes), from
	for i, name := range names {
		base := (next + page - 1) / page * page
		if m.Memory.Placement == "staggered" {
			base += uint64(i) * stagger
		}
		place[name], next = base, base+bytes[name]
		if next > uint64(m.Memory.Bytes) {
			return nil, fmt.Errorf("multicore: array %s of %d bytes ends at address %d of the machine, which has %d bytes of memory", name, bytes[name], next, m.Memory.Bytes)
		}
	}
	return place, nil
}
