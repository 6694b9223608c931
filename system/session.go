package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
	"github.com/bitsched/bitsched/tile/tensor"
)

// Surroundings are the machine around the arrays of a session: it gives work its time, and has the
// memory that arrays come from and go to.
type Surroundings interface {
	// Consume takes a piece of work, and returns when it is done. A transfer from the arrays
	// has its elements in the memory of the session by then; one to them is done already.
	Consume(ctx context.Context, w *Work) error
	// Fetch brings the elements of an array, which is in the table, to the memory of the
	// session before they go to bitlines.
	Fetch(ctx context.Context, array string, w *Work) error
	// Borrow brings elements of an array that is not transposed to the memory of the
	// session, for streams; when the region ends, what these made of them is there.
	Borrow(ctx context.Context, array string, from, end int64, use Use) error
}

// Use is what streams do with elements that they borrow.
type Use uint8

// The uses.
const (
	Reads     Use = iota
	Writes        // some of them, and may read others
	WritesAll     // and read none: the bytes that they had need not come
)

// Session executes regions of a program as its owner asks for them: in memory, between
// what others do with the same arrays.
type Session struct{ r *runner }

// NewSession lays a program out. Of the options, those of how it is executed count; m has
// the arrays at the addresses that they have in the machine of the host, and the scalars
// that are inputs.
func NewSession(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *memory.Memory, opt Options, host Surroundings) (*Session, error) {
	if opt.Check == 0 {
		opt.Check = DefaultCheck
	}
	r := newRunner(p, sizes, m, opt)
	r.host = host
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	for _, s := range p.Scalars {
		if !s.Input {
			m.Scalars[s.Name] = s.Init
		}
	}
	return &Session{r}, nil
}

// Beside lays another program out on the same arrays: one of both may have something on
// bitlines at a time. The report of the first is that of both.
func (s *Session) Beside(ctx context.Context, p *tdfg.Program) (*Session, error) {
	return s.beside(ctx, p, s.r.m, s.r.sizes)
}

func (s *Session) beside(ctx context.Context, p *tdfg.Program, m *memory.Memory, sizes map[string]int64) (*Session, error) {
	main := s.r.main()
	r := newRunner(p, sizes, m, main.opt)
	r.host, r.report, r.first = main.host, main.report, main
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	main.windows = append(main.windows, r)
	return &Session{r}, nil
}

// Why returns why a graph cannot be executed in memory, nil if it can.
func (s *Session) Why(g *tdfg.Graph) *Reason {
	if s.r.plans[g] != nil {
		return nil
	}
	return s.r.near[g]
}

// Near returns a step of a graph that is executed near the memory for values of the symbols,
// the last step of a reduction or streams, "" if there is none.
func (s *Session) Near(g *tdfg.Graph, values map[string]int64) (string, error) {
	p := s.r.plans[g]
	cmds, err := p.Lower(nil, s.r.grid(), values)
	if err != nil {
		return "", internal(err)
	}
	for i := range cmds {
		if cmds[i].Kind != lowering.Near {
			continue
		}
		if k := p.Steps[cmds[i].Step].Kind; k == lowering.FinalStep || k == lowering.StreamStep {
			return k.String(), nil
		}
	}
	return "", nil
}

// Run executes statements of the program for values of the symbols around them.
func (s *Session) Run(ctx context.Context, body []tdfg.Stmt, values map[string]int64) error {
	p := tdfg.Program{Body: body}
	return p.Each(ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
		if s.r.plans[g] == nil {
			return internal(fmt.Errorf("region %s has no plan", g.Name))
		}
		s.r.report.Regions++
		return s.r.region(ctx, g, values)
	})
}

// Scalar returns the value of a scalar of the program.
func (s *Session) Scalar(name string) (v scalar.Value, ok bool) {
	v, ok = s.r.m.Scalars[name]
	return v, ok
}

// Release brings all arrays back to memory.
func (s *Session) Release(ctx context.Context) error { return s.r.release(ctx) }

// Drop brings the arrays back to memory that have elements of one, which others changed.
func (s *Session) Drop(ctx context.Context, array string) error {
	for _, a := range s.r.arrays {
		if (a.Name == array || a.View != nil && a.View.Of == array) && s.r.entry(a.Name) >= 0 {
			if err := s.r.leave(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// Transposed reports whether any array lies on bitlines.
func (s *Session) Transposed() bool { return len(s.r.names) > 0 }

// Viewed reports whether an array lies on bitlines as views.
func (s *Session) Viewed(array string) bool {
	return slices.ContainsFunc(s.r.arrays, func(a *tdfg.Array) bool { return a.View != nil && a.View.Of == array })
}

// Each calls f for the elements of an array that bitlines have and memory may not: by
// their numbers from from to end.
func (s *Session) Each(array string, from, end int64, f func(elem int64, v scalar.Value)) error {
	r := s.r
	if r.data == nil { // nothing is laid out
		return nil
	}
	for _, a := range r.arrays {
		if a.Iota || a.Name != array && (a.View == nil || a.View.Of != array) {
			continue
		}
		i := r.entry(a.Name)
		if v := r.views[a.Name]; i < 0 || v != nil && !v.stored {
			continue
		}
		e, mem := &r.table.Entries()[i], r.m.Arrays[array]
		first := int64(e.Base-mem.Base) / int64(mem.Type.Bytes())
		if end-from <= lineElements {
			for x := max(from, first); x < min(end, first+int64(e.End-e.Base)/int64(e.Size)); x++ {
				if t, b, ok := r.table.Has(i, x-first); ok {
					f(x, r.data.read(r.table.Register(i), t, b))
				}
			}
			continue
		}
		grid := r.grid()
		cols := grid.Bitlines()
		elems, at, mask := make([]scalar.Value, cols), make([]int64, cols), make([]uint64, (cols+63)/64)
		lie := r.table.Elements(i)
		for t := range grid.Tiles() {
			if !lie.Tile(t, at, mask) {
				continue
			}
			if err := r.data.readTile(r.table.Register(i), t, elems, mask); err != nil {
				return err
			}
			for b, x := range at {
				if x += first; mask[b/64]>>(b%64)&1 != 0 && x >= from && x < end {
					f(x, elems[b])
				}
			}
		}
	}
	return r.data.err()
}

// lineElements is how many elements a line has at most.
const lineElements = 64

// Put writes elements of an array in memory to its bitlines: those that others changed.
func (s *Session) Put(array string, from, end int64) {
	r := s.r
	i := r.entry(array)
	if i < 0 {
		return
	}
	e, mem := &r.table.Entries()[i], r.m.Arrays[array]
	first := int64(e.Base-mem.Base) / int64(mem.Type.Bytes())
	for x := from; x < end; x++ {
		if t, b, ok := r.table.Has(i, x-first); ok {
			r.data.write(r.table.Register(i), t, b, mem.Elems[x])
		}
	}
}

// Has reports whether an array lies on bitlines by its own name.
func (s *Session) Has(array string) bool { return s.r.entry(array) >= 0 }

// Lines returns the lines of memory with elements of an array in the table, by the bank that
// has them, those first that the region writes as a whole: nil where it is not there.
func (s *Session) Lines(array string, w *Work) []tc.Lines {
	r := s.r
	i := r.entry(array)
	if i < 0 {
		return nil
	}
	e, per := &r.table.Entries()[i], r.opt.Machine.ArraysPerBank()
	line := uint64(r.opt.Machine.L3.LineBytes)
	banks, whole := make([][]uint64, r.opt.Machine.Banks()), make([][]uint64, r.opt.Machine.Banks())
	for _, run := range w.lines() {
		for l := run.Address / line; l*line < run.Address+uint64(run.Bytes); l++ {
			lo, hi := max(l*line, e.Base), min((l+1)*line, e.End)
			for at := lo; at < hi; at += uint64(e.Size) { // the first element that the array has
				if t, _, ok := r.table.Has(i, int64(at-e.Base)/int64(e.Size)); ok {
					if hi-lo == line && w.Fresh.all(int64(lo-e.Base)/int64(e.Size), int64(hi-e.Base)/int64(e.Size)) {
						whole[t/per] = append(whole[t/per], l)
					} else {
						banks[t/per] = append(banks[t/per], l)
					}
					break
				}
			}
		}
	}
	list := make([]tc.Lines, 0, len(banks))
	for b := range banks {
		if n := len(whole[b]); n+len(banks[b]) > 0 {
			list = append(list, tc.Lines{Bank: b, Lines: append(whole[b], banks[b]...), Whole: n, Clean: w.Clean})
		}
	}
	return list
}

// Worth is Eq. 2 of the paper for a graph, with its terms.
func (s *Session) Worth(g *tdfg.Graph, values map[string]int64) Decision {
	if p := s.r.plans[g]; p != nil {
		return s.r.decision(p, values)
	}
	return Decision{}
}

// Decision is Eq. 2 with its terms, in cycles.
type Decision struct {
	Elements  int64   `json:"element_operations"` // N_elem x N_op
	Peak      float64 `json:"peak"`               // TP_core: operations in a cycle
	Core      float64 `json:"core"`               // their ratio
	Latencies int64   `json:"latencies"`          // of the operations in memory
	Nodes     int     `json:"nodes"`
	JIT       int64   `json:"jit"` // N_node x Lat_JIT
	InMemory  bool    `json:"in_memory"`
}

// Add sums the terms of decisions about what is executed one after another.
func (d *Decision) Add(e Decision) {
	d.Elements += e.Elements
	d.Latencies += e.Latencies
	d.Nodes += e.Nodes
	d.JIT += e.JIT
	d.Peak = e.Peak
}

// decision is Eq. 2 of the paper: whether cores at their peak would take longer than
// the operations in memory and the lowering.
func (r *runner) decision(p *lowering.Plan, values map[string]int64) Decision {
	d := Decision{Nodes: len(p.Graph.Nodes)}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != lowering.ComputeStep {
			continue
		}
		if b, err := p.Graph.Nodes[s.Node].Domain.Box(values); err == nil {
			d.Elements += b.Size()
			d.Latencies += int64(s.Program.Latency())
		}
	}
	m := r.opt.Machine
	d.Peak = m.PeakOps(32)
	d.Core = float64(d.Elements) / d.Peak
	d.JIT = m.JITCycles(tile.JITWork{Steps: d.Nodes, FirstOfRegion: true})
	d.InMemory = int64(d.Core) > d.Latencies+d.JIT
	return d
}

// Report returns what the arrays did, in sessions beside this one, too. Its cycles are the host's to
// fill in.
func (s *Session) Report() *Report {
	r := s.r.main()
	r.report.Compared = 0
	for _, x := range append([]*runner{r}, r.windows...) {
		if x.data != nil {
			r.report.Compared += x.data.compared()
		}
	}
	return r.report
}

// Sends returns what banks do in a shift between tiles, and the packets between them.
func Sends(m *tile.Machine, timing tile.Timing, k *lowering.Command) ([]tensor.Part, []tensor.Flow) {
	return shiftBetween(m, timing, k)
}

// Local returns the cycles of a command that stays within arrays, and whether it computes
// rather than moves.
func Local(t tile.Timing, p *lowering.Plan, k *lowering.Command) (cycles int64, computes bool) {
	n, _ := localCycles(t, p, k)
	return n, k.Kind == lowering.Compute || k.Kind == lowering.Fill
}

// Group is how many neighbours a reduction along a dimension takes together where the graph
// leaves it open.
func (s *Session) Group(dim int) int { return s.r.group(dim) }

// Bank returns the bank that has a point of the lattice.
func (s *Session) Bank(point []int64) int { return s.r.bankOf(point) }
