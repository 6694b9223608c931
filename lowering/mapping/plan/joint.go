package plan

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// value is what a layer reads: the result of a node, which may lie in the buffer from
// the first layer that it comes from to the last that uses it, in the layout in which
// its owner left it.
type value struct {
	node       int
	owner      int // layer whose mapping decides the layout; -1: the network's input
	born, last int // layers
	bytes      int64
	fixed      int  // layout where no layer decides it; -1: the owner's
	stays      bool // may stay in the buffer: all that it comes from are layers
}

// option is a mapping of a layer, with which of its activations in the buffer, and their
// layouts.
type option struct {
	chip    int // platform
	variant int // bits: operands in the buffer, then the result
	in      [2]int
	out     int
	kept    int64 // bytes of the buffer for tiles
	cycles  int64
	picos   int64
	mapping mapping.Mapping
}

// joint plans a network as a whole: which of the best mappings of each layer, on which
// platform, what stays in the buffer, and what is transposed between layers.
type joint struct {
	rep     *Report
	chips   []*platform.Platform
	x       *pipeliner // of layers and graph
	values  []value
	reads   [][]int // values of a layer's activations, in order
	makes   [][]int // values that a layer's result reaches first
	leaves  []bool  // the result is also the network's
	options [][]option
}

// pageBytes is the unit in which the buffer is given out.
const pageBytes = 64

func pages(bytes int64) int64 { return (bytes + pageBytes - 1) / pageBytes * pageBytes }

// stateOf is what is known of a value between layers.
type stateOf struct {
	inBuffer bool
	layout   int
	chip     int
}

// picos is the time of cycles of a platform.
func picos(cycles int64, p *platform.Platform) int64 {
	return int64(math.Round(float64(cycles) * 1000 / p.ClockGHz))
}

// near reports whether a node leaves the layout of its input as it is.
func near(n *dnn.Node) bool {
	switch n.Kind {
	case dnn.ReLU, dnn.Add, dnn.Mul, dnn.Sigmoid, dnn.Affine, dnn.MaxPool, dnn.AvgPool, dnn.Concat:
		return true
	}
	return false
}

// graph finds values, what they come from and what uses them.
func (j *joint) graph() {
	net := j.rep.Network
	at := map[int]int{} // of a node
	for _, n := range j.x.layers {
		var reads []int
		for _, in := range net.Nodes[n].Inputs {
			if _, ok := at[in]; !ok {
				at[in] = len(j.values)
				j.values = append(j.values, value{node: in, owner: -1, born: math.MaxInt, last: -1, fixed: -1, stays: true,
					bytes: (dnn.Elements(net.Nodes[in].Shape)*int64(net.Bits.Activation.Bits) + 7) / 8})
			}
			reads = append(reads, at[in])
		}
		j.reads = append(j.reads, reads)
	}
	// From a value back to the layers and values that it is made of.
	parents := make([][]int, len(j.values)) // values
	for v := range j.values {
		x := &j.values[v]
		keeps := true // the layout of the owner, so far
		var walk func(node int, first bool)
		seen := map[int]bool{}
		walk = func(node int, first bool) {
			if seen[node] {
				return
			}
			seen[node] = true
			if k, ok := at[node]; ok && node != x.node {
				parents[v] = append(parents[v], k)
				if first && keeps && x.owner < 0 {
					x.owner = -2 - k // as that value
				}
				return
			}
			n := &net.Nodes[node]
			switch {
			case n.Kind == dnn.MAC:
				i := j.x.at[node]
				x.born = min(x.born, i)
				x.last = max(x.last, i)
				if first && keeps && x.owner == -1 {
					x.owner = i
				}
			case n.Kind == dnn.Input || n.Kind == dnn.Constant:
				x.stays = x.stays && n.Kind == dnn.Constant
			default:
				if !near(n) {
					keeps = false
				}
				for k, in := range n.Inputs {
					walk(in, first && k == 0)
				}
			}
		}
		walk(x.node, true)
		if !keeps {
			x.owner = -1
		}
		if x.born == math.MaxInt {
			x.owner = -1 // made of other values only
		}
		if x.owner == -1 {
			x.fixed = len(net.Nodes[x.node].Shape) - 1
		}
		if x.born == math.MaxInt {
			x.stays = false
		}
	}
	for i, reads := range j.reads {
		for _, v := range reads {
			j.values[v].last = max(j.values[v].last, i)
		}
	}
	for v := range j.values { // what is made of a value needs it until it is made
		for _, p := range parents[v] {
			j.values[p].last = max(j.values[p].last, j.lastSource(v), j.values[v].firstRead(j, v))
		}
	}
	// A layer's result leaves the chip unless all it reaches is in the buffer.
	j.makes, j.leaves = make([][]int, len(j.x.layers)), make([]bool, len(j.x.layers))
	users := make([][]int, len(net.Nodes))
	for i := range net.Nodes {
		for _, in := range net.Nodes[i].Inputs {
			users[in] = append(users[in], i)
		}
	}
	for i, node := range j.x.layers {
		seen := map[int]bool{}
		var walk func(n int)
		walk = func(n int) {
			if seen[n] {
				return
			}
			seen[n] = true
			if v, ok := at[n]; ok {
				j.makes[i] = append(j.makes[i], v)
				return
			}
			if len(users[n]) == 0 {
				j.leaves[i] = true
			}
			for _, u := range users[n] {
				walk(u)
			}
		}
		walk(node)
	}
}

// firstRead is the first layer that reads a value: by then it is made.
func (x *value) firstRead(j *joint, v int) int {
	for i, reads := range j.reads {
		if slices.Contains(reads, v) {
			return i
		}
	}
	return 0
}

// lastSource is the last layer that a value comes from.
func (j *joint) lastSource(v int) int {
	last := 0
	seen := map[int]bool{}
	var walk func(n int)
	walk = func(n int) {
		if seen[n] {
			return
		}
		seen[n] = true
		if j.rep.Network.Nodes[n].Kind == dnn.MAC {
			last = max(last, j.x.at[n])
			return
		}
		for _, in := range j.rep.Network.Nodes[n].Inputs {
			walk(in)
		}
	}
	walk(j.values[v].node)
	return last
}

// lead is the dimension of a node's result along which a unit's columns, wordlines or
// lanes hold neighbours for a tensor of a mapping: that of the largest factor.
func lead(q *mapping.Problem, m *mapping.Mapping, operand, rank int) int {
	f := &q.Platform.Functions[m.Function]
	t := &q.Op.Tensors[m.Tensor(operand)]
	best, dim := uint32(1), len(t.Access)-1
	for d := range f.Dims {
		if !f.Indexed(operand, d) {
			continue
		}
		for l := range q.Loops() {
			if x := m.Factor[d][l]; x > best {
				for k, row := range t.Access {
					if row[l] != 0 {
						best, dim = x, k
					}
				}
			}
		}
	}
	if extra := len(t.Access) - rank; extra > 0 && dim > 0 { // groups and channels are one dimension of the result
		dim = max(1, dim-extra)
	}
	return min(dim, rank-1)
}

// find searches the options of every different layer on every platform.
func (j *joint) find(ctx, run context.Context, opt search.Optimizer, first []int) error {
	o := j.rep.Options
	net := j.rep.Network
	found := make([][]option, len(first))
	err := j.rep.each(len(first), "searching", func(k int) error {
		i := first[k]
		op := j.rep.Layers[i].Op
		node := &net.Nodes[j.x.layers[i]]
		var dynamic []int // tensors
		for t := range op.Operands() {
			if op.Tensors[t].Role == dnn.Activation && len(dynamic) < len(node.Inputs) {
				dynamic = append(dynamic, t)
			}
		}
		for chip, p := range j.chips {
			variants := 1
			if p.Buffer != nil {
				variants = 2 << len(dynamic)
			}
			for v := range variants {
				if v > 0 && ctx.Err() != nil {
					break // stopped: what is off chip will do
				}
				opts := mapping.Options{Cold: j.cold(p), Paper: o.Paper}
				for b, t := range dynamic {
					if v>>b&1 == 1 {
						opts.Resident[t] = true
						opts.Held += pages((op.Tensors[t].Elements()*int64(op.Tensors[t].Type.Bits) + 7) / 8)
					}
				}
				if v>>len(dynamic)&1 == 1 {
					opts.Resident[mapping.Dst] = true
					opts.Held += pages((op.Output().Elements()*int64(net.Bits.Activation.Bits) + 7) / 8)
				}
				if p.Buffer != nil && opts.Held > p.Buffer.Bytes {
					continue
				}
				q, err := mapping.New(run, op, p, opts)
				if err != nil {
					if len(j.chips) > 1 {
						continue // another platform may take it
					}
					return fmt.Errorf("layer %s: %w", j.rep.Layers[i].Name, err)
				}
				layouts := func(m *mapping.Mapping) (in [2]int, out int) {
					for b, t := range dynamic {
						operand := t
						if m.Swap {
							operand = 1 - t
						}
						in[b] = lead(q, m, operand, len(net.Nodes[node.Inputs[b]].Shape))
					}
					return in, lead(q, m, mapping.Dst, len(node.Shape))
				}
				r, err := opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: o.Seed, Threads: 1, Key: func(m *mapping.Mapping, _ *mapping.Cost) uint64 {
					in, out := layouts(m)
					return uint64(in[0]) | uint64(in[1])<<4 | uint64(out)<<8 | uint64(bits.Len64(uint64(q.Kept(m))))<<12
				}})
				if err != nil && (r == nil || !r.Found) {
					if ctx.Err() == nil && len(j.chips) == 1 && v == 0 {
						return fmt.Errorf("layer %s: %w", j.rep.Layers[i].Name, err)
					}
					if v > 0 || len(j.chips) > 1 {
						continue
					}
					m, terr := search.Baseline(q).Apply(q) // stopped: the template is something
					if terr != nil {
						return fmt.Errorf("layer %s: %w", j.rep.Layers[i].Name, err)
					}
					var c mapping.Cost
					q.Cost(m, &c)
					r = &search.Result{Kinds: []search.Kept{{Mapping: *m, Cost: c}}}
				}
				for _, x := range r.Kinds {
					in, out := layouts(&x.Mapping)
					found[k] = append(found[k], option{chip: chip, variant: v, in: in, out: out, kept: q.Kept(&x.Mapping), cycles: x.Cost.Cycles, picos: picos(x.Cost.Cycles, p), mapping: x.Mapping})
				}
			}
		}
		if len(found[k]) == 0 {
			return fmt.Errorf("%w: layer %s has no mapping on any of the platforms", mapping.ErrInfeasible, j.rep.Layers[i].Name)
		}
		found[k] = undominated(found[k])
		return nil
	})
	if err != nil {
		return err
	}
	for i := range j.rep.Layers {
		j.options = append(j.options, found[j.x.key[i]])
	}
	return nil
}

// undominated drops what is slower and takes more of the buffer than another with the
// same layouts.
func undominated(all []option) []option {
	var out []option
	for i, a := range all {
		worse := slices.ContainsFunc(all, func(b option) bool {
			return b.chip == a.chip && b.variant == a.variant && b.in == a.in && b.out == a.out && b.kept <= a.kept && (b.picos < a.picos || b.picos == a.picos && b.kept < a.kept)
		}) || slices.ContainsFunc(all[:i], func(b option) bool {
			return b.chip == a.chip && b.variant == a.variant && b.in == a.in && b.out == a.out && b.kept == a.kept && b.picos == a.picos
		})
		if !worse {
			out = append(out, a)
		}
	}
	return out
}

func (j *joint) cold(p *platform.Platform) bool {
	return j.rep.Options.Cold || p.Executor != platform.SIMDExecutor
}

// turn is the time of bringing a value into another layout: it passes the link of the
// outermost level twice, through the unit that transposes.
func turn(p *platform.Platform, bytes int64) int64 {
	l := &p.Levels[len(p.Levels)-1]
	return (2*bytes*1000+platform.Milli(l.BytesPerCycle)-1)/platform.Milli(l.BytesPerCycle) + int64(l.LatencyCycles)
}

// carry is the time of bringing a value from the memory of one platform to that of
// another, over the slower of their links.
func carry(a, b *platform.Platform, bytes int64) int64 {
	rate := func(p *platform.Platform) float64 { // bytes a picosecond
		r := p.Levels[len(p.Levels)-1].BytesPerCycle
		if p.OffChip != nil {
			r = p.OffChip.BytesPerCycle
		}
		return r * p.ClockGHz / 1000
	}
	return int64(math.Ceil(float64(bytes) / min(rate(a), rate(b))))
}

// node of the dynamic program: what the values that are alive are like.
type step struct {
	states []stateOf // of all values; of those alive
	time   int64
	held   []int64 // bytes of each platform's buffer
	from   *step
	option *option
	turned int64 // picoseconds of it for layouts and transfers
	turns  []bool
}

// maxStates bounds the states between two layers; where it is reached, the best are kept and
// the result is not marked exact.
const maxStates = 3000

// solve chooses by dynamic programming over layers; the state is layout and place of
// the values that are alive. It is exact unless states had to be dropped.
func (j *joint) solve(ctx context.Context) (*step, bool, error) {
	exact := true
	begin := &step{states: make([]stateOf, len(j.values)), held: make([]int64, len(j.chips))}
	for v := range j.values {
		begin.states[v] = stateOf{layout: max(0, j.values[v].fixed), chip: -1}
	}
	now := []*step{begin}
	for i := range j.x.layers {
		next := map[string]*step{}
		var order []string
		for _, s := range now {
			for o := range j.options[i] {
				if n := j.take(s, i, &j.options[i][o]); n != nil {
					key := j.key(n, i)
					if old, ok := next[key]; !ok {
						next[key] = n
						order = append(order, key)
					} else if n.time < old.time {
						next[key] = n
					}
				}
			}
		}
		now = now[:0]
		for _, k := range order {
			now = append(now, next[k])
		}
		if len(now) == 0 {
			return nil, false, fmt.Errorf("%w: layer %s: no mapping goes with those of the layers before it", mapping.ErrInfeasible, j.rep.Layers[i].Name)
		}
		slices.SortStableFunc(now, func(a, b *step) int { return int(min(max(a.time-b.time, -1), 1)) })
		limit := maxStates
		if ctx.Err() != nil {
			limit = 50
		}
		if len(now) > limit {
			now, exact = now[:limit], false
		}
	}
	return now[0], exact, nil
}

// key tells states apart by what later layers can see.
func (j *joint) key(s *step, i int) string {
	var b []byte
	for v := range j.values {
		if x := &j.values[v]; x.last > i && x.born <= i {
			st := s.states[v]
			n := byte(st.layout) | byte(st.chip+1)<<4
			if st.inBuffer {
				n |= 1 << 3
			}
			b = append(b, byte(v), byte(v>>8), n)
		}
	}
	return string(b)
}

// take runs a layer with an option after what is known; nil if they do not go together.
func (j *joint) take(s *step, i int, o *option) *step {
	reads := j.reads[i]
	for b, v := range reads {
		st := s.states[v]
		if (o.variant>>b&1 == 1) != st.inBuffer || st.inBuffer && st.chip != o.chip {
			return nil
		}
	}
	stays := o.variant>>len(reads)&1 == 1
	if stays && (j.leaves[i] || len(j.makes[i]) == 0) {
		return nil
	}
	n := &step{states: slices.Clone(s.states), held: slices.Clone(s.held), from: s, option: o, time: s.time + o.picos}
	p := j.chips[o.chip]
	for _, v := range j.makes[i] {
		x := &j.values[v]
		if stays && !x.stays {
			return nil
		}
		if x.born == i {
			n.states[v].inBuffer, n.states[v].chip = stays, o.chip
			if stays {
				n.held[o.chip] += pages(x.bytes)
			}
		} else if n.states[v].inBuffer != stays || n.states[v].chip != o.chip && stays {
			return nil // what a value is made of is in one place
		}
		if x.owner == i {
			n.states[v].layout, n.states[v].chip = o.out, o.chip
		}
	}
	for v := range j.values { // layouts that are taken over
		if x := &j.values[v]; x.owner <= -2 && x.born == i {
			n.states[v].layout = n.states[-2-x.owner].layout
		}
	}
	if p.Buffer != nil && n.held[o.chip]+o.kept > p.Buffer.Bytes {
		return nil
	}
	for b, v := range reads {
		st, bytes := s.states[v], j.values[v].bytes
		turned := st.layout != o.in[b]
		n.turns = append(n.turns, turned)
		if turned {
			n.turned += picos(turn(p, bytes), p)
		}
		if st.chip >= 0 && st.chip != o.chip {
			n.turned += carry(j.chips[st.chip], p, bytes)
		}
	}
	n.time += n.turned
	for v := range j.values {
		if x := &j.values[v]; x.last == i && n.states[v].inBuffer {
			n.held[n.states[v].chip] -= pages(x.bytes)
		}
	}
	return n
}

// greedy takes the fastest option of each layer with all activations off chip.
func (j *joint) greedy() int64 {
	s := &step{states: make([]stateOf, len(j.values)), held: make([]int64, len(j.chips))}
	for v := range j.values {
		s.states[v] = stateOf{layout: max(0, j.values[v].fixed), chip: -1}
	}
	for i := range j.x.layers {
		var best *option
		for k := range j.options[i] {
			if o := &j.options[i][k]; o.variant == 0 && (best == nil || o.picos < best.picos) {
				best = o
			}
		}
		if best == nil {
			return -1
		}
		if s = j.take(s, i, best); s == nil {
			return -1
		}
	}
	return s.time
}

// Choice is what the plan of a whole network says about a layer.
type Choice struct {
	Turned   []bool // activations that are brought into another layout before it
	Layouts  []int  // in which it takes them: dimension along columns or lanes
	Layout   int    // in which it leaves its result
	Resident []bool // activations that it finds in the buffer
	Stays    bool   // its result stays there
	Picos    int64  // of the layer, and of what lies between
	Between  int64
}

// planJointly plans a network as a whole, on one platform or several.
func (rep *Report) planJointly(ctx, run context.Context, opt search.Optimizer, first []int, chips []*platform.Platform) error {
	x := newPipeliner(rep, first)
	j := &joint{rep: rep, chips: chips, x: x}
	j.graph()
	if err := j.find(ctx, run, opt, first); err != nil {
		return err
	}
	end, exact, err := j.solve(ctx)
	if err != nil {
		return err
	}
	rep.Exact, rep.Greedy, rep.Picos = exact, j.greedy(), end.time
	var steps []*step
	for s := end; s.from != nil; s = s.from {
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	for i, s := range steps {
		l := &rep.Layers[i]
		o, p := s.option, j.chips[s.option.chip]
		opts := mapping.Options{Cold: j.cold(p), Paper: rep.Options.Paper}
		c := Choice{Turned: s.turns, Layout: o.out, Picos: o.picos, Between: s.turned, Stays: o.variant>>len(j.reads[i])&1 == 1}
		b := 0
		for t := range l.Op.Operands() {
			if l.Op.Tensors[t].Role == dnn.Activation && b < len(j.reads[i]) {
				opts.Resident[t] = o.variant>>b&1 == 1
				c.Resident = append(c.Resident, opts.Resident[t])
				c.Layouts = append(c.Layouts, o.in[b])
				b++
			}
		}
		opts.Resident[mapping.Dst] = c.Stays
		opts.Held = s.from.held[o.chip]
		for _, v := range j.makes[i] {
			if x := &j.values[v]; c.Stays && x.born == i {
				opts.Held += pages(x.bytes)
			}
		}
		if p.Buffer == nil {
			opts.Held = 0
		}
		q, err := mapping.New(run, l.Op, p, opts)
		if err != nil {
			return err
		}
		l.Problem, l.Mapping, l.Bound, l.Choice = q, o.mapping, q.LowerBound(), &c
		if v := q.Cost(&l.Mapping, &l.Cost); v != mapping.Legal {
			return fmt.Errorf("%w: layer %s: chosen as legal, and is not: %v", ErrCheck, l.Name, q.Check(&l.Mapping))
		}
		if l.Cost.Cycles != o.cycles {
			return fmt.Errorf("%w: layer %s: %d cycles, chosen for %d", ErrCheck, l.Name, l.Cost.Cycles, o.cycles)
		}
		if err := rep.clock(run, l); err != nil {
			return err
		}
		if !l.Clocked {
			rep.Unclocked++
		}
		rep.Bound += l.Bound.Cycles
		rep.BoundPicos += picos(l.Bound.Cycles, p)
		if len(chips) == 1 {
			for k, n := range l.Cost.Parts {
				rep.Parts[k] += n
			}
			rep.Cycles += l.Cost.Cycles
			for b, turned := range s.turns {
				if turned {
					n := turn(p, j.values[j.reads[i][b]].bytes)
					rep.Parts[mapping.Transpose] += n
					rep.Cycles += n
				}
			}
		}
	}
	rep.memory = newBuffers(rep.Network, j, end.states)
	return nil
}
