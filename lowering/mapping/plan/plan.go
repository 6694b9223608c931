package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
	"github.com/bitsched/bitsched/lowering/mapping/search"
)

// ErrCheck is wrapped by the errors of checks that failed: outputs or cycles differ.
var ErrCheck = errors.New("plan: check failed")

// Options say how a network is mapped and checked.
type Options struct {
	Optimizer string // default bitsched
	Evals     int64  // for each different operator
	Seed      uint64
	Threads   int
	Cold      bool
	Paper     bool
	Execute   string // gate, word or none
	Objective string // latency, energy or edp; "" is latency
	// Pipeline runs the layers of a network on crossbars in segments of pipelines.
	Pipeline bool
	// Prove tries to prove mappings optimal where the tree of sizes is large too, which is
	// done for one operator anyway.
	Prove bool
	// Joint plans a network as a whole: layouts, what stays in the buffer, and, with further
	// platforms, where each layer runs.
	Joint     bool
	Platforms []*platform.Platform // beside the first
	Every     int
	// Precisions gives each layer as few bits as keep the sum of errors within Mixed, so that
	// cycles are least.
	Precisions bool
	Mixed      float64
	// Nonlinear executes and times requantising, ReLU, sums and pools of largest elements in arrays
	// too, of layers that run one after another.
	Nonlinear bool
	// Found keeps what was searched for other networks with the same options; nil: nothing is kept.
	Found *Found
	// Mappings are used in the place of a search, by the number of the node.
	Mappings map[int]*mapping.Mapping
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Phase       string
	Layer       string
	Done, Total int
	Best, Bound int64
	Evaluations int64
}

// Layer is what became of an operator.
type Layer struct {
	Node     int
	Name     string
	Op       *dnn.Operator
	Problem  *mapping.Problem
	Mapping  mapping.Mapping
	Cost     mapping.Cost
	Bound    mapping.Bound
	Search   *search.Result // shared by equal operators
	Baseline *mapping.Cost  // of the template of the paper; nil where it does not fit
	Template string
	Same     int     // layer with the same operator that was searched, or -1
	Outputs  int64   // that were compared
	Choice   *Choice // where the network was planned as a whole
	Clocked  bool    // the clock ran through all waves and agrees
	Executed *mapping.Executed

	Instructions *mapping.Instructions // nil: weights are operands
	Precision    *Precision            // nil: that of the network
}

// Report is a mapped network.
type Report struct {
	Network          *dnn.Network
	Platform         *platform.Platform
	Options          Options
	Layers           []Layer
	Cycles           int64
	Parts            [mapping.NumParts]int64
	Bound            int64
	Baseline         int64 // 0 if a template does not fit
	Stopped          bool
	Outputs          int64              // that were compared
	All              int64              // outputs there are
	Sample           int                // every so many clusters were executed, after a search was stopped; 1: all
	Skipped          int                // layers that were not executed any more after a search was stopped
	Unclocked        int                // layers with too many waves to clock one by one
	Segments         []Segment          // of a pipeline; none where layers run one after another
	BaselineSegments []Segment          // of the template
	Near             map[dnn.Kind]int64 // elements of what is executed near memory

	// Of a network that was planned as a whole. Times are in picoseconds, since platforms
	// have clocks of their own; Greedy is that of the fastest mapping of each layer with all
	// activations off chip, -1 if they do not go together; Exact says that no state was dropped.
	Picos, Greedy, BoundPicos int64
	Exact                     bool

	Uniform map[int]int64 // of mixed precision: cycles with one number of bits for all layers

	Passes []Pass // in arrays, of nodes that are no sums of products

	ctx    context.Context // of the search
	memory *buffers
	passOf map[int]int // by node; -1: nothing is left to do
}

// Map maps, clocks, executes and compares. The search stops with ctx; what it has found
// is clocked and executed under run, which may outlive it.
func Map(ctx, run context.Context, net *dnn.Network, p *platform.Platform, o Options) (*Report, error) {
	if o.Optimizer == "" {
		o.Optimizer = "bitsched"
	}
	opt, err := search.Lookup(o.Optimizer)
	if err != nil {
		return nil, err
	}
	rep := &Report{Network: net, Platform: p, Options: o, Near: map[dnn.Kind]int64{}, ctx: ctx}
	seen := map[string]int{}
	var first []int
	for _, n := range net.MACs() {
		op := net.Nodes[n].Op
		l := Layer{Node: n, Name: net.Nodes[n].Name, Op: op, Same: -1}
		key := op.Signature()
		if p.Programs() && op.Weights() > 0 {
			key += "; " + l.Name // other weights are other instructions
		}
		if at, ok := seen[key]; ok && o.Mappings == nil {
			l.Same = at
		} else {
			seen[key] = len(rep.Layers)
			first = append(first, len(rep.Layers))
		}
		rep.Layers = append(rep.Layers, l)
	}
	if o.Execute != "none" {
		for i := range rep.Layers {
			for _, t := range rep.Layers[i].Op.Tensors {
				if t.Elements() > dnn.MaxElements {
					return nil, fmt.Errorf("%w: layer %s: %s has %d elements, at most %d are executed; without execution more are mapped", dnn.ErrOperator, rep.Layers[i].Name, t.Name, t.Elements(), int64(dnn.MaxElements))
				}
			}
		}
	}
	if len(rep.Layers) == 0 {
		return nil, fmt.Errorf("%w: network %s has no operator that can be mapped", mapping.ErrInfeasible, net.Name)
	}
	if o.Joint && o.Mappings == nil {
		if err := rep.planJointly(ctx, run, opt, first, append([]*platform.Platform{p}, o.Platforms...)); err != nil {
			return nil, err
		}
		rep.Stopped = rep.Stopped || ctx.Err() != nil
		return rep, rep.check(ctx, run)
	}
	if o.Pipeline && p.Executor == platform.CrossbarExecutor && o.Mappings == nil && len(rep.Layers) > 1 {
		if err := rep.pipeline(ctx, run, opt, first); err != nil {
			return nil, err
		}
		rep.Stopped = rep.Stopped || ctx.Err() != nil
		return rep, rep.check(ctx, run)
	}
	if o.Precisions {
		rep.Uniform = map[int]int64{}
		if err := rep.mix(ctx, run, opt, first); err != nil {
			return nil, err
		}
	} else if err := rep.searchAll(ctx, run, opt, first); err != nil {
		return nil, err
	}
	for i := range rep.Layers {
		l := &rep.Layers[i]
		if l.Same >= 0 {
			s := &rep.Layers[l.Same]
			l.Problem, l.Mapping, l.Cost, l.Bound, l.Search, l.Baseline, l.Template, l.Clocked = s.Problem, s.Mapping, s.Cost, s.Bound, s.Search, s.Baseline, s.Template, s.Clocked
		}
		if !l.Clocked {
			rep.Unclocked++
		}
		if l.Search != nil {
			rep.Stopped = rep.Stopped || l.Search.Stopped
		}
		rep.Cycles += l.Cost.Cycles
		rep.Bound += l.Bound.Cycles
		for k, c := range l.Cost.Parts {
			rep.Parts[k] += c
		}
		if l.Baseline == nil {
			rep.Baseline = -1
		} else if rep.Baseline >= 0 {
			rep.Baseline += l.Baseline.Cycles
		}
	}
	rep.Baseline = max(rep.Baseline, 0)
	if o.Nonlinear {
		if err := rep.nonlinear(run); err != nil {
			return nil, err
		}
	}
	return rep, rep.check(ctx, run)
}

// check executes what was asked for.
func (rep *Report) check(ctx, run context.Context) error {
	rep.Sample = 1
	if rep.Options.Execute == "none" {
		return nil
	}
	if ctx.Err() == nil {
		// The first interrupt ends the execution too; what was compared counts.
		both, cancel := context.WithCancel(run)
		defer cancel()
		defer context.AfterFunc(ctx, func() {
			if errors.Is(ctx.Err(), context.Canceled) { // a budget is the search's
				cancel()
			}
		})()
		if err := rep.execute(both); err == nil || run.Err() != nil || ctx.Err() == nil || errors.Is(err, ErrCheck) {
			return err
		}
		rep.Stopped = true
	}
	// Stopped: what takes long is executed in samples, and the rest is the nest's.
	rep.Sample = int(max(1, rep.Network.Totals().MACs/afterStop))
	return rep.executeStopped(run)
}

// searchAll searches the different operators, several at once where there are threads.
func (rep *Report) searchAll(ctx, run context.Context, opt search.Optimizer, first []int) error {
	o := rep.Options
	// Threads go to operators first, and within one where there is one operator only.
	inner := 1
	if len(first) == 1 {
		inner = o.Threads
	}
	var done, evals atomic.Int64
	return rep.each(len(first), "searching", func(i int) error {
		l := &rep.Layers[first[i]]
		x, err := shared(o.Found, rep.key("layer", l.Op), func() (*Layer, error) {
			x := &Layer{Node: l.Node, Name: l.Name, Op: l.Op, Same: l.Same}
			return x, rep.searchOne(ctx, run, opt, x, inner, func(p search.Progress) {
				if o.Progress != nil {
					o.Progress(Progress{Phase: "searching", Layer: l.Name, Done: int(done.Load()), Total: len(first), Best: p.Best, Bound: x.Bound.Cycles, Evaluations: evals.Load() + p.Evaluations})
				}
			})
		})
		node, name := l.Node, l.Name
		*l = *x
		l.Node, l.Name = node, name
		if l.Search != nil {
			evals.Add(l.Search.Evaluations)
		}
		done.Add(1)
		return err
	})
}

func (rep *Report) searchOne(ctx, run context.Context, opt search.Optimizer, l *Layer, threads int, progress func(search.Progress)) error {
	o := rep.Options
	q, err := mapping.New(run, l.Op, rep.Platform, mapping.Options{Cold: o.Cold, Paper: o.Paper, Weights: Constants(rep.Network, l.Node, rep.Platform, o.Seed)})
	if err != nil {
		return fmt.Errorf("layer %s: %w", l.Name, err)
	}
	l.Problem, l.Bound = q, q.LowerBound()
	if m := o.Mappings[l.Node]; m != nil {
		if err := q.Check(m); err != nil {
			return fmt.Errorf("layer %s: %w", l.Name, err)
		}
		l.Mapping = *m
	} else {
		r, err := opt.Search(ctx, q, search.Options{Evals: o.Evals, Seed: o.Seed, Threads: threads, Progress: progress, Prove: o.Prove || len(rep.Layers) == 1, Score: search.Objective(q, o.Objective)})
		if err != nil && (r == nil || !r.Found) {
			if ctx.Err() == nil {
				return fmt.Errorf("layer %s: %w", l.Name, err)
			}
			// Stopped before anything was found: the template is something, and so is what is
			// drawn where that does not fit.
			m, terr := search.Baseline(q).Apply(q)
			if terr != nil {
				x, ok := q.Random(rand.New(rand.NewPCG(o.Seed, 0)), 1000)
				if !ok {
					return fmt.Errorf("layer %s: %w", l.Name, err)
				}
				m = &x
			}
			r = &search.Result{Found: true, Mapping: *m, Stopped: true}
			q.Cost(m, &r.Cost)
			r.Score = r.Cost.Cycles
		}
		l.Search, l.Mapping = r, r.Mapping
	}
	if v := q.Cost(&l.Mapping, &l.Cost); v != mapping.Legal {
		return fmt.Errorf("layer %s: the search gave an illegal mapping: %v", l.Name, q.Check(&l.Mapping))
	}
	l.Instructions = q.Instructions(&l.Mapping)
	if err := rep.clock(run, l); err != nil {
		return err
	}
	if l.Cost.Cycles < l.Bound.Cycles {
		return fmt.Errorf("%w: layer %s: %d cycles, bound %d (%s)", ErrCheck, l.Name, l.Cost.Cycles, l.Bound.Cycles, l.Bound.Reason)
	}
	if t := search.Baseline(q); t != nil {
		l.Template = t.Name
		if m, err := t.Apply(q); err == nil {
			var c mapping.Cost
			if q.Cost(m, &c) == mapping.Legal {
				l.Baseline = &c
			}
		}
	}
	return nil
}

// clock compares the closed form with the clock, where there are not too many waves.
func (rep *Report) clock(run context.Context, l *Layer) error {
	limit := int64(maxClocked)
	if rep.ctx.Err() != nil {
		limit = stoppedClocked
	}
	if l.Cost.Waves > limit {
		return nil
	}
	l.Clocked = true
	c, err := l.Problem.Clock(run, &l.Mapping)
	if err != nil {
		return err
	}
	if *c != l.Cost {
		return fmt.Errorf("%w: layer %s: closed form %d cycles, clock %d", ErrCheck, l.Name, l.Cost.Cycles, c.Cycles)
	}
	return nil
}

// After a search was stopped: the products that are executed, how long that may take,
// the elements of operands that are drawn, and the waves of a layer that are clocked.
const (
	afterStop       = 60_000_000
	stoppedTime     = 2 * time.Second
	stoppedElements = 1 << 24
	stoppedClocked  = 1 << 16
)

// maxClocked bounds the waves that are clocked one by one.
const maxClocked = 1 << 26

// Values draws the values of a tensor that the network does not give: uniform, by seed
// and name.
func Values(t *dnn.Tensor, seed uint64, name string) []int32 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	r := rand.New(rand.NewPCG(seed, h))
	lo, hi := t.Type.Range()
	v := make([]int32, t.Elements())
	for i := range v {
		v[i] = int32(lo + r.Int64N(hi-lo+1))
	}
	return v
}

// given returns the values of an operand that no node makes: those that the network was read
// with, else random ones.
func given(net *dnn.Network, n *dnn.Node, t *dnn.Tensor, seed uint64) []int32 {
	if v, ok := net.Data[n.Name]; ok && t.Role == dnn.Weight {
		return v
	}
	return Values(t, seed, n.Name+"."+t.Name)
}

// Constants returns the weights of a node that a platform may take as instructions, nil where
// none of its functions does, or the node has no static operand.
func Constants(net *dnn.Network, node int, p *platform.Platform, seed uint64) []int32 {
	if !p.Programs() {
		return nil
	}
	n := &net.Nodes[node]
	for _, t := range n.Op.Operands() {
		if t.Role == dnn.Weight && t.Elements() <= mapping.MaxConstants {
			return given(net, n, &t, seed)
		}
	}
	return nil
}

// execute runs the network node by node.
func (rep *Report) execute(ctx context.Context) error {
	net := rep.Network
	uses := make([]int, len(net.Nodes))
	for i := range net.Nodes {
		for _, in := range net.Nodes[i].Inputs {
			uses[in]++
		}
	}
	values := make([][]int32, len(net.Nodes))
	layer := 0
	for i := range net.Nodes {
		n := &net.Nodes[i]
		if n.Kind == dnn.MAC {
			rep.memory.release(layer)
		}
		var in [][]int32
		for _, x := range n.Inputs {
			v, err := rep.memory.fetch(x, values[x])
			if err != nil {
				return err
			}
			in = append(in, v)
		}
		switch n.Kind {
		case dnn.MAC:
			l := &rep.Layers[layer]
			if l.Choice != nil {
				for b := range in {
					in[b] = rep.memory.turn(n.Inputs[b], in[b], l.Choice, b)
				}
			}
			out, err := rep.executeLayer(ctx, l, n, in)
			if err != nil {
				return err
			}
			want := dnn.Requantise(out, net.Bits.Activation)
			var done bool
			if values[i], done, err = rep.inArrays(ctx, i, out, nil, want); err != nil {
				return err
			}
			if !done {
				rep.Near["requantise"] += int64(len(out))
			}
			layer++
		case dnn.Input:
			t := dnn.Tensor{Extents: n.Shape, Type: net.Bits.Activation}
			values[i] = Values(&t, rep.Options.Seed, n.Name)
		default:
			v, err := net.Evaluate(i, in, rep.Options.Seed)
			if err != nil {
				return err
			}
			var done bool
			if values[i], done, err = rep.inArrays(ctx, i, nil, in, v); err != nil {
				return err
			}
			if !done {
				rep.Near[n.Kind] += int64(len(v))
			}
		}
		if err := rep.memory.store(i, values); err != nil {
			return err
		}
		for _, x := range n.Inputs {
			if uses[x]--; uses[x] == 0 {
				values[x] = nil
			}
		}
	}
	return nil
}

// executeStopped executes a sample of each layer on data of its own, in the order of
// the network, until time is up.
func (rep *Report) executeStopped(run context.Context) error {
	ctx, cancel := context.WithTimeout(run, stoppedTime)
	defer cancel()
	for i := range rep.Layers {
		l := &rep.Layers[i]
		if l.Executed != nil {
			continue // before the interrupt
		}
		if l.Same >= 0 && rep.Layers[l.Same].Executed != nil && rep.Layers[l.Same].Mapping == l.Mapping {
			rep.All += l.Op.Output().Elements()
			continue // the same mapping on other data
		}
		elements := int64(0)
		for _, t := range l.Op.Operands() {
			elements += t.Elements()
		}
		var err error = context.DeadlineExceeded
		if ctx.Err() == nil && elements < stoppedElements {
			_, err = rep.executeLayer(ctx, l, &rep.Network.Nodes[l.Node], nil)
		}
		if err != nil && (ctx.Err() != nil || elements >= stoppedElements) && run.Err() == nil {
			rep.Skipped++
			rep.All += l.Op.Output().Elements()
			l.Executed = nil
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// executeLayer runs a mapping and compares all its outputs with the loop nest.
func (rep *Report) executeLayer(ctx context.Context, l *Layer, n *dnn.Node, in [][]int32) ([]int64, error) {
	o := rep.Options
	var operands [][]int32
	var wide [][]int32 // with the bits of the network
	at := 0
	for i, t := range l.Op.Operands() {
		from := n.Op.Tensors[i].Type
		var v []int32
		if t.Role == dnn.Activation && at < len(in) {
			v = in[at]
			if l.Precision == nil { // a layer may have fewer bits than what it reads
				from = rep.Network.Bits.Activation
			}
			at++
		} else {
			v = given(rep.Network, n, &n.Op.Tensors[i], o.Seed)
		}
		wide, operands = append(wide, v), append(operands, dnn.Narrow(v, from, t.Type))
	}
	x := mapping.ExecuteOptions{Threads: o.Threads, Every: o.Every, Sample: rep.Sample}
	if o.Execute == "word" {
		x.Fidelity = mapping.WordLevel
	}
	if o.Progress != nil {
		x.Progress = func(done, total int) {
			o.Progress(Progress{Phase: "executing", Layer: l.Name, Done: done, Total: total})
		}
	}
	got, err := l.Problem.Execute(ctx, &l.Mapping, x, operands...)
	if err != nil {
		return nil, fmt.Errorf("layer %s: %w", l.Name, err)
	}
	want, err := l.Op.RunOn(ctx, o.Threads, got.Covered, operands...)
	if err != nil {
		return nil, err
	}
	if got.Quantised == nil || got.Quantised.Clipped == 0 {
		for i, v := range want {
			if (got.Covered == nil || got.Covered[i]) && got.Output[i] != v {
				return nil, fmt.Errorf("%w: layer %s: output %d is %d, the loop nest has %d", ErrCheck, l.Name, i, got.Output[i], v)
			}
		}
	} else {
		ref, err := l.Problem.QuantisedReference(ctx, &l.Mapping, operands...)
		if err != nil {
			return nil, err
		}
		for i, v := range ref {
			if (got.Covered == nil || got.Covered[i]) && got.Output[i] != v {
				return nil, fmt.Errorf("%w: layer %s: output %d is %d, the quantising reference has %d", ErrCheck, l.Name, i, got.Output[i], v)
			}
		}
		got.Quantised.Measure(want, got.Output, got.Covered)
	}
	if got.Compute != l.Cost.Parts[mapping.Compute] {
		return nil, fmt.Errorf("%w: layer %s: programs of %d cycles were executed, the model has %d", ErrCheck, l.Name, got.Compute, l.Cost.Parts[mapping.Compute])
	}
	if got.Waves != l.Cost.Waves {
		return nil, fmt.Errorf("%w: layer %s: %d invocations were executed, the model has %d", ErrCheck, l.Name, got.Waves, l.Cost.Waves)
	}
	if l.Precision != nil && got.Covered == nil {
		ref, err := n.Op.RunOn(ctx, o.Threads, nil, wide...)
		if err != nil {
			return nil, err
		}
		shift := 0
		for i := range wide {
			shift += n.Op.Tensors[i].Type.Bits - l.Op.Tensors[i].Type.Bits
		}
		if err := l.looksAt(got.Output, ref, shift); err != nil {
			return nil, err
		}
	}
	if i := l.Instructions; i != nil && x.Sample <= 1 && x.Fidelity == mapping.Gate && got.Sums != i.Sums {
		return nil, fmt.Errorf("%w: layer %s: %d sums of digits of weights were executed, there are %d", ErrCheck, l.Name, got.Sums, i.Sums)
	}
	l.Executed = got
	rep.All += int64(len(want))
	l.Outputs = int64(len(want))
	if got.Covered != nil {
		l.Outputs = 0
		for _, c := range got.Covered {
			if c {
				l.Outputs++
			}
		}
		rep.Outputs += l.Outputs
		return want, nil
	}
	rep.Outputs += l.Outputs
	return got.Output, nil
}

// TurnedElements returns how many elements were brought into another layout in the
// execution of a network that was planned as a whole.
func (rep *Report) TurnedElements() int64 {
	if rep.memory == nil {
		return 0
	}
	return rep.memory.turned
}
