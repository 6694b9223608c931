package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// Segment is consecutive layers whose weights are in crossbars at once. They run as a
// pipeline of rows: a layer begins a row when those it reads are done.
type Segment struct {
	First, Last int     // layers
	Alone       bool    // one layer that does not fit, or whose operands change: programmed in rounds
	Program     int64   // cycles of loading and programming weights
	Cycles      int64   // with programming
	Units       int64   // crossbars in use
	Stages      []Stage // none if alone
}

// Stage is a layer of a segment.
type Stage struct {
	Layer         int
	Units, Cycles int64
	Start, Finish int64 // of its first and its last row, from the end of programming
}

// choice is a way to run a layer: with how many crossbars, how fast.
type choice struct {
	units, cycles int64
	mapping       *mapping.Mapping
}

// front keeps, by crossbars, the choices that are faster than all with fewer.
func front(c []choice) []choice {
	slices.SortStableFunc(c, func(a, b choice) int {
		if a.units != b.units {
			return int(a.units - b.units)
		}
		return int(min(max(a.cycles-b.cycles, -1), 1))
	})
	var out []choice
	for _, x := range c {
		if len(out) == 0 || x.cycles < out[len(out)-1].cycles {
			out = append(out, x)
		}
	}
	return out
}

// share gives layers crossbars so that the slowest is as fast as can be: the least time
// for which the fewest crossbars of each layer fit together. It returns the choices,
// nil if not even the smallest fit.
func share(fronts [][]choice, units int64) []int {
	var times []int64
	for _, f := range fronts {
		if len(f) == 0 {
			return nil
		}
		for _, c := range f {
			times = append(times, c.cycles)
		}
	}
	slices.Sort(times)
	pick := func(t int64) []int {
		var out []int
		left := units
		for _, f := range fronts {
			at := slices.IndexFunc(f, func(c choice) bool { return c.cycles <= t })
			if at < 0 || f[at].units > left {
				return nil
			}
			left -= f[at].units
			out = append(out, at)
		}
		return out
	}
	lo, hi := 0, len(times)-1
	if hi < 0 || pick(times[hi]) == nil {
		return nil
	}
	for lo < hi {
		if mid := (lo + hi) / 2; pick(times[mid]) != nil {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return pick(times[hi])
}

// stationary reports whether a mapping programs weights once and for all.
func stationary(q *mapping.Problem, m *mapping.Mapping) bool {
	t := &q.Op.Tensors[m.Tensor(mapping.Src1)]
	if t.Role != dnn.Weight {
		return false
	}
	for l := range q.Loops() {
		if t.Indexed(l) && (m.Factor[mapping.SlotWave][l] > 1 || m.Factor[mapping.SlotTile][l] > 1) {
			return false
		}
	}
	return true
}

// pipeliner plans a network in segments.
type pipeliner struct {
	rep    *Report
	ctx    context.Context
	run    context.Context
	opt    search.Optimizer
	net    *dnn.Network
	p      *platform.Platform
	layers []int // nodes
	at     map[int]int
	// By different operator: problems with activations off chip or not, in and out.
	key      []int // of a layer
	problems [][4]*mapping.Problem
	found    [][]choice // mappings that program once
	base     [][]choice
	alone    []*Layer // where a layer is programmed in rounds
}

// newPipeliner returns a pipeliner of the layers of a report, by their different
// operators: the first layers that have them.
func newPipeliner(rep *Report, first []int) *pipeliner {
	x := &pipeliner{rep: rep, net: rep.Network, at: map[int]int{}}
	number := map[int]int{}
	for k, l := range first {
		number[l] = k
	}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		at := i
		if l.Same >= 0 {
			at = l.Same
		}
		x.key = append(x.key, number[at])
		x.layers = append(x.layers, l.Node)
		x.at[l.Node] = i
	}
	return x
}

// sizes are the parts of a chip that are searched: by crossbars.
func (x *pipeliner) sizes() ([]*platform.Platform, error) {
	var out []*platform.Platform
	total := x.p.Units()
	for u := 1; ; u *= 4 {
		u = min(u, total)
		q, left := x.p, u
		for i, l := range x.p.Levels {
			f := min(l.FanOut, max(1, left))
			if i == len(x.p.Levels)-1 {
				f = max(1, left)
			}
			left = (left + f - 1) / f
			var err error
			if q, err = q.With(fmt.Sprintf("levels[%d].fan_out", i), float64(min(f, l.FanOut))); err != nil {
				return nil, err
			}
		}
		out = append(out, q)
		if u == total {
			return out, nil
		}
	}
}

// options are those of a layer whose input or result stays on the chip.
func (x *pipeliner) options(op *dnn.Operator, variant int) mapping.Options {
	o := mapping.Options{Paper: x.rep.Options.Paper, Cold: false}
	for t := range op.Tensors {
		switch op.Tensors[t].Role {
		case dnn.Activation:
			o.Resident[t] = variant&1 == 1
		case dnn.Output:
			o.Resident[t] = variant&2 == 2
		}
	}
	return o
}

const notOnce = int64(1) << 50 // is added to what programs crossbars again

// searchLayer finds choices for a different operator.
func (x *pipeliner) searchLayer(k int, op *dnn.Operator, parts []*platform.Platform) error {
	for v := range 4 {
		q, err := mapping.New(x.run, op, x.p, x.options(op, v))
		if err != nil {
			return err
		}
		x.problems[k][v] = q
	}
	if op.Weights() == 0 {
		return nil // both operands change: it is programmed each time, alone
	}
	c, err := shared(x.rep.Options.Found, x.rep.key("stage", op), func() (*choices, error) { return x.searchChoices(k, op, parts) })
	if err != nil {
		return err
	}
	x.found[k], x.base[k] = c.found, c.base
	return nil
}

// choices are what a layer may be in a pipeline, searched and of the template.
type choices struct{ found, base []choice }

func (x *pipeliner) searchChoices(k int, op *dnn.Operator, parts []*platform.Platform) (*choices, error) {
	whole, out := x.problems[k][3], &choices{}
	seen := map[int64]choice{}
	o := x.rep.Options
	for _, p := range parts {
		q, err := mapping.New(x.run, op, p, x.options(op, 3))
		if err != nil {
			return nil, err
		}
		r, err := x.opt.Search(x.ctx, q, search.Options{
			Evals: max(300, o.Evals/4), Seed: o.Seed, Threads: 1,
			Score: func(m *mapping.Mapping, c *mapping.Cost) int64 {
				if !stationary(q, m) {
					return notOnce + c.Cycles
				}
				return c.Cycles
			},
			Key: func(_ *mapping.Mapping, c *mapping.Cost) uint64 { return uint64(c.Units) },
		})
		if err != nil && (r == nil || !r.Found) {
			if x.ctx.Err() != nil {
				break
			}
			return nil, err
		}
		for _, kept := range r.Kinds {
			var c mapping.Cost
			m := kept.Mapping
			if kept.Score >= notOnce || whole.Cost(&m, &c) != mapping.Legal {
				continue
			}
			if old, ok := seen[c.Units]; !ok || c.Cycles < old.cycles {
				seen[c.Units] = choice{c.Units, c.Cycles, &m}
			}
		}
	}
	for _, c := range seen {
		out.found = append(out.found, c)
	}
	if m, err := search.Baseline(whole).Apply(whole); err == nil && stationary(whole, m) {
		var c mapping.Cost
		if whole.Cost(m, &c) == mapping.Legal {
			out.base = []choice{{c.Units, c.Cycles, m}}
			out.found = append(out.found, out.base...)
		}
	}
	out.found = front(out.found)
	return out, nil
}

// priced are the choices of a layer with its input or result off chip, each with what the
// buffer then had best keep.
func (x *pipeliner) priced(k int, from []choice, variant int) []choice {
	var out []choice
	for _, f := range from {
		if m, c := keeping(x.problems[k][variant], f.mapping); m != nil {
			out = append(out, choice{f.units, c.Cycles, m})
		}
	}
	return front(out)
}

// keeping returns a mapping with those operands kept in the buffer that make it fastest,
// nil if it is not legal with any.
func keeping(q *mapping.Problem, m *mapping.Mapping) (*mapping.Mapping, mapping.Cost) {
	var best *mapping.Mapping
	var least, c mapping.Cost
	for k := range 8 {
		x := *m
		x.Keep = [3]bool{k&1 == 0, k&2 == 0, k&4 == 0}
		if q.Cost(&x, &c) == mapping.Legal && (best == nil || c.Cycles < least.Cycles) {
			best, least = &x, c
		}
	}
	return best, least
}

// each does n pieces of work on the threads of a run.
func (rep *Report) each(n int, what string, f func(i int) error) error {
	var done atomic.Int64
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(1, rep.Options.Threads))
	for i := range n {
		group.Go(func() error {
			errs[i] = f(i)
			if d := done.Add(1); rep.Options.Progress != nil {
				rep.Options.Progress(Progress{Phase: what, Done: int(d), Total: n})
			}
			return nil
		})
	}
	_ = group.Wait() // what goes wrong is told in the order of layers
	return cmp.Or(errs...)
}

// pipeline plans the layers of a report in segments, and what the template makes of
// them by the same rules.
func (rep *Report) pipeline(ctx, run context.Context, opt search.Optimizer, first []int) error {
	x := newPipeliner(rep, first)
	x.ctx, x.run, x.opt, x.p = ctx, run, opt, rep.Platform
	n := len(first)
	x.problems, x.found, x.base = make([][4]*mapping.Problem, n), make([][]choice, n), make([][]choice, n)
	x.alone = make([]*Layer, n)
	parts, err := x.sizes()
	if err != nil {
		return err
	}
	err = rep.each(n, "searching", func(k int) error {
		l := rep.Layers[first[k]]
		if err := x.searchLayer(k, l.Op, parts); err != nil {
			return fmt.Errorf("layer %s: %w", l.Name, err)
		}
		units := int64(x.p.Units())
		if len(x.found[k]) > 0 && x.found[k][0].units <= units && len(x.base[k]) > 0 {
			return nil
		}
		// It does not fit, for one of the two at least.
		cold := *rep
		cold.Options.Cold = true
		if err := cold.searchOne(ctx, run, opt, &l, 1, func(search.Progress) {}); err != nil {
			return err
		}
		x.alone[k] = &l
		return nil
	})
	if err != nil {
		return err
	}
	ours, err := x.segments(x.found, func(k int) int64 { return x.alone[k].Cost.Cycles })
	if err != nil {
		return err
	}
	rep.Segments = ours
	if base, err := x.segments(x.base, func(k int) int64 {
		if x.alone[k].Baseline == nil {
			return -1
		}
		return x.alone[k].Baseline.Cycles
	}); err == nil {
		for _, s := range base {
			rep.Baseline += s.Cycles
		}
		rep.BaselineSegments = base
	}
	return x.settle()
}

// settle fills in the report.
func (x *pipeliner) settle() error {
	rep := x.rep
	var compute, bytes int64
	for _, s := range rep.Segments {
		rep.Cycles += s.Cycles
		rep.Parts[mapping.Program] += s.Program
		var slowest *Layer
		for i := s.First; i <= s.Last; i++ {
			l := &rep.Layers[i]
			k := x.key[i]
			if s.Alone {
				a := x.alone[k]
				node, name, same := l.Node, l.Name, l.Same
				*l = *a
				l.Node, l.Name, l.Same = node, name, same
				for p, c := range l.Cost.Parts {
					rep.Parts[p] += c
				}
				if l.Search != nil {
					rep.Stopped = rep.Stopped || l.Search.Stopped
				}
			} else {
				v := x.variant(s, i)
				q := x.problems[k][v]
				st := s.Stages[i-s.First]
				m := x.pickOf(x.found, k, v, st.Units)
				l.Problem, l.Mapping, l.Bound = q, *m, q.LowerBound()
				q.Cost(m, &l.Cost)
				if err := rep.clock(x.run, l); err != nil {
					return err
				}
				l.Template = search.Baseline(q).Name
				if b := x.base[k]; len(b) > 0 {
					if m, c := keeping(q, b[0].mapping); m != nil {
						l.Baseline = &c
					}
				}
			}
			if !l.Clocked {
				rep.Unclocked++
			}
			if slowest == nil || l.Cost.Cycles > slowest.Cost.Cycles {
				slowest = l
			}
			compute += l.Problem.ComputeBound().Cycles
			for t := range l.Op.Tensors {
				if l.Op.Tensors[t].Role == dnn.Weight {
					bytes += (l.Op.Tensors[t].Elements()*int64(l.Op.Tensors[t].Type.Bits) + 7) / 8
				}
			}
		}
		if s.Alone {
			continue
		}
		// The pipeline's time is that of its slowest stage, and the rest filling and waiting.
		left := s.Cycles - s.Program
		for p, c := range slowest.Cost.Parts {
			rep.Parts[p] += c
			left -= c
		}
		rep.Parts[mapping.Idle] += left
	}
	rep.Bound = compute
	if o := x.p.OffChip; o != nil {
		rep.Bound = max(rep.Bound, int64(math.Ceil(float64(bytes)*1000/float64(platform.Milli(o.BytesPerCycle)))))
	}
	return nil
}

// variant says whether the input and the result of a layer stay on the chip: all that
// it reads and all that read it are in its segment.
func (x *pipeliner) variant(s Segment, i int) int {
	v := 0
	in, out := true, true
	for _, p := range x.reads(i) {
		in = in && p >= s.First
	}
	used := false
	for j := i + 1; j < len(x.layers); j++ {
		if slices.Contains(x.reads(j), i) {
			used = true
			out = out && j <= s.Last
		}
	}
	if in && len(x.reads(i)) > 0 {
		v |= 1
	}
	if out && used {
		v |= 2
	}
	return v
}

// reads are the layers whose results a layer reads, through nodes near memory; -1 stands
// for the input of the network.
func (x *pipeliner) reads(i int) []int {
	var out []int
	seen := map[int]bool{}
	var walk func(node int)
	walk = func(node int) {
		if seen[node] {
			return
		}
		seen[node] = true
		n := &x.net.Nodes[node]
		switch n.Kind {
		case dnn.MAC:
			out = append(out, x.at[node])
		case dnn.Input:
			out = append(out, -1)
		case dnn.Constant:
		default:
			for _, in := range n.Inputs {
				walk(in)
			}
		}
	}
	for _, in := range x.net.Nodes[x.layers[i]].Inputs {
		walk(in)
	}
	return out
}

func (x *pipeliner) pickOf(from [][]choice, k, variant int, units int64) *mapping.Mapping {
	for _, c := range x.priced(k, from[k], variant) {
		if c.units == units {
			return c.mapping
		}
	}
	return nil
}

// segments cuts the network so that the sum of the segments' cycles is least, by dynamic
// programming over where the last one begins.
func (x *pipeliner) segments(from [][]choice, alone func(k int) int64) ([]Segment, error) {
	n := len(x.layers)
	best := make([]int64, n+1)
	last := make([]Segment, n+1)
	units := int64(x.p.Units())
	for j := 1; j <= n; j++ {
		best[j] = -1
		take := func(i int, s Segment) {
			if best[i] >= 0 && (best[j] < 0 || best[i]+s.Cycles < best[j]) {
				best[j], last[j] = best[i]+s.Cycles, s
			}
		}
		if k := x.key[j-1]; x.alone[k] != nil {
			if c := alone(k); c >= 0 {
				take(j-1, Segment{First: j - 1, Last: j - 1, Alone: true, Cycles: c, Units: x.alone[k].Cost.Units})
			}
		}
		need := int64(0)
		for i := j - 1; i >= 0; i-- {
			f := from[x.key[i]]
			if len(f) == 0 {
				break
			}
			if need += f[0].units; need > units {
				break
			}
			if x.ctx.Err() != nil && i < j-1 && best[j] >= 0 {
				break // stopped: what there is
			}
			if s, ok := x.segment(from, i, j-1); ok {
				take(i, s)
			}
		}
		if best[j] < 0 {
			return nil, fmt.Errorf("%w: layer %s fits neither with others nor alone", mapping.ErrInfeasible, x.rep.Layers[j-1].Name)
		}
	}
	var out []Segment
	for j := n; j > 0; j = last[j].First {
		out = append(out, last[j])
	}
	slices.Reverse(out)
	return out, nil
}

// segment shares the crossbars out among consecutive layers and runs their rows.
func (x *pipeliner) segment(from [][]choice, first, last int) (Segment, bool) {
	s := Segment{First: first, Last: last}
	var fronts [][]choice
	bytes := int64(0)
	for i := first; i <= last; i++ {
		k := x.key[i]
		fronts = append(fronts, x.priced(k, from[k], x.variant(s, i)))
		for t := range x.rep.Layers[i].Op.Tensors {
			if w := &x.rep.Layers[i].Op.Tensors[t]; w.Role == dnn.Weight {
				bytes += (w.Elements()*int64(w.Type.Bits) + 7) / 8
			}
		}
	}
	pick := share(fronts, int64(x.p.Units()))
	if pick == nil {
		return s, false
	}
	if o := x.p.OffChip; o != nil {
		s.Program = (bytes*1000+platform.Milli(o.BytesPerCycle)-1)/platform.Milli(o.BytesPerCycle) + int64(o.LatencyCycles)
	}
	s.Program += int64(x.p.Crossbar.ProgramCycles)
	for i, c := range pick {
		f := fronts[i][c]
		s.Units += f.units
		s.Stages = append(s.Stages, Stage{Layer: first + i, Units: f.units, Cycles: f.cycles})
	}
	s.Cycles = s.Program + x.rows(&s)
	return s, true
}

// rowsOf is how many rows a node's result has: of pictures, or of matrices.
func rowsOf(shape []int) int {
	switch len(shape) {
	case 4:
		return shape[0] * shape[2]
	case 3:
		return shape[0] * shape[1]
	case 2:
		return shape[0]
	}
	return 1
}

// need is how many rows of an input a node needs for its first r rows.
func need(net *dnn.Network, node, input, r int) int {
	n := &net.Nodes[node]
	in := net.Nodes[n.Inputs[input]].Shape
	all, mine := rowsOf(in), rowsOf(n.Shape)
	window := func(outRows, inRows, size, stride, pad int) int {
		image, y := (r-1)/outRows, (r-1)%outRows
		return image*inRows + min(max(y*stride+size-pad, 1), inRows)
	}
	switch n.Kind {
	case dnn.MAC:
		o := n.Op
		if input > 0 || o.Tensors[0].Role == dnn.Weight { // the second operand: all of it
			return all
		}
		h := o.Loop("H")
		if h >= 0 && len(in) == 4 && len(n.Shape) == 4 {
			t := &o.Tensors[0]
			for d, row := range t.Access {
				if row[h] == 0 || t.Insert != nil && t.Insert[d] > 1 {
					continue
				}
				span := 1
				for l, a := range row {
					if l != h {
						span += max(a, -a) * (o.Loops[l].Extent - 1)
					}
				}
				return window(n.Shape[2], in[2], span, row[h], -t.Offset[d])
			}
		}
		if o.Kind == "gemm" && all == mine {
			return r
		}
		return all
	case dnn.MaxPool, dnn.AvgPool:
		if len(in) == 4 && len(n.Shape) == 4 && len(n.Window) == 2 {
			return window(n.Shape[2], in[2], n.Window[0], n.Stride[0], n.PadBefore[0])
		}
	case dnn.ReLU, dnn.Add, dnn.Mul, dnn.Sigmoid, dnn.Affine, dnn.Norm:
		if all == mine {
			return r
		}
	case dnn.Concat:
		if n.Axis == 1 && all == mine {
			return r
		}
	}
	return all
}

// rows runs the rows of a segment's stages one by one and returns when the last is
// done. What was computed before the segment is there; nodes near memory take no time.
func (x *pipeliner) rows(s *Segment) int64 {
	done := map[int][]int64{} // by node, when each row is done
	end := int64(0)
	for node := x.layers[s.First]; node <= x.layers[s.Last]; node++ {
		n := &x.net.Nodes[node]
		if n.Kind == dnn.Input || n.Kind == dnn.Constant {
			continue
		}
		var st *Stage
		if n.Kind == dnn.MAC {
			i, ok := x.at[node]
			if !ok || i < s.First || i > s.Last {
				continue
			}
			st = &s.Stages[i-s.First]
		}
		rows := rowsOf(n.Shape)
		times := make([]int64, rows)
		now := int64(0)
		for r := range rows {
			ready := now
			for k, in := range n.Inputs {
				if t, ok := done[in]; ok {
					ready = max(ready, t[need(x.net, node, k, r+1)-1])
				}
			}
			if st != nil {
				if r == 0 {
					st.Start = ready
				}
				ready += st.Cycles*int64(r+1)/int64(rows) - st.Cycles*int64(r)/int64(rows)
				st.Finish = ready
			}
			now = ready
			times[r] = now
		}
		done[node] = times
		end = max(end, now)
	}
	return end
}
