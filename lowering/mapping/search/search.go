package search

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// Options are what every optimiser takes.
type Options struct {
	Evals    int64 // legal mappings that may be priced; 0: 10000
	Seed     uint64
	Threads  int
	Progress func(Progress)
	// Prove walks large trees too, as far as the bounds go that Evals allow: so long that it is not
	// for each of many layers.
	Prove bool
	// Score is what is minimised; nil: cycles.
	Score func(m *mapping.Mapping, c *mapping.Cost) int64
	// Key tells kinds of mappings apart, of each of which the best is kept; nil: none are.
	Key func(m *mapping.Mapping, c *mapping.Cost) uint64
}

// Kept is the best mapping of a kind.
type Kept struct {
	Key     uint64
	Mapping mapping.Mapping
	Cost    mapping.Cost
	Score   int64
}

// Progress is how far a search is.
type Progress struct {
	Evaluations int64
	Best        int64
}

// Point is a step of the best so far.
type Point struct {
	Evaluations int64 `json:"evaluations"`
	Best        int64 `json:"best"`
}

// Result is what a search found.
type Result struct {
	Found       bool
	Mapping     mapping.Mapping
	Cost        mapping.Cost
	Score       int64
	Evaluations int64
	Refused     int64                        // illegal ones that were looked at
	Killed      [mapping.NumViolations]int64 // of them, by the rule that they break
	Bounded     int64                        // parts of the space that a bound cut off
	Proved      bool                         // no mapping of the space is better
	Stopped     bool                         // by the context
	Trace       []Point
	Kinds       []Kept // by Options.Key, in the order of keys
}

// Optimizer searches.
type Optimizer interface {
	Name() string
	Doc() string
	Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error)
}

// optimizers in the order in which they are listed.
var optimizers []Optimizer

// Optimizers lists every optimiser.
func Optimizers() []Optimizer { return slices.Clone(optimizers) }

// Lookup returns the optimiser of that name.
func Lookup(name string) (Optimizer, error) {
	var names []string
	for _, o := range optimizers {
		if o.Name() == name {
			return o, nil
		}
		names = append(names, o.Name())
	}
	return nil, fmt.Errorf("search: no optimiser %q, expected one of %s", name, strings.Join(names, ", "))
}

func init() {
	optimizers = []Optimizer{bitsched{}, exhaustive{}, ares{}, gamma{}, cosa{}, anneal{}, random{}, template{}}
}

const defaultEvals = 10000

// run is the state that every optimiser shares: it prices, counts and keeps the best.
type run struct {
	ctx  context.Context
	q    *mapping.Problem
	o    Options
	res  Result
	left int64
	base int64 // refused before
	cost mapping.Cost
	rng  *rand.Rand
	asks int // whether the search is over
	kind map[uint64]Kept
}

func newRun(ctx context.Context, q *mapping.Problem, o Options, evals int64, stream uint64) *run {
	return &run{ctx: ctx, q: q, o: o, left: evals, rng: rand.New(rand.NewPCG(o.Seed, stream))}
}

func (o *Options) evals() int64 {
	if o.Evals > 0 {
		return o.Evals
	}
	return defaultEvals
}

const illegal = int64(1) << 62

// price returns the score of a mapping, illegal if it is not one, and keeps the best.
func (r *run) price(m *mapping.Mapping) int64 {
	v := r.q.Estimate(m, &r.cost)
	if v != mapping.Legal {
		r.res.Refused++
		r.res.Killed[v]++
		return illegal
	}
	r.left--
	r.res.Evaluations++
	if r.q.Instructed(m) {
		if r.o.Score == nil && r.o.Key == nil && r.res.Found && r.cost.Cycles >= r.res.Score {
			return r.cost.Cycles // no better, however long its programs are
		}
		r.q.Cost(m, &r.cost)
	}
	s := r.cost.Cycles
	if r.o.Score != nil || r.o.Key != nil {
		k := *m // m itself stays on its stack
		if r.o.Score != nil {
			s = r.o.Score(&k, &r.cost)
		}
		if r.o.Key != nil && s < illegal {
			r.keep(Kept{r.o.Key(&k, &r.cost), k, r.cost, s})
		}
	}
	if !r.res.Found || s < r.res.Score {
		r.res.Found, r.res.Mapping, r.res.Cost, r.res.Score = true, *m, r.cost, s
		r.res.Trace = append(r.res.Trace, Point{r.res.Evaluations, s})
	}
	if r.o.Progress != nil && r.res.Evaluations%1024 == 0 {
		r.o.Progress(Progress{r.res.Evaluations, r.res.Score})
	}
	return s
}

// keep keeps the best of each kind.
func (r *run) keep(k Kept) {
	if r.kind == nil {
		r.kind = map[uint64]Kept{}
	}
	if old, ok := r.kind[k.Key]; !ok || k.Score < old.Score {
		r.kind[k.Key] = k
	}
}

// over reports whether evaluations or time are used up. What is refused counts a
// little, so that a search without legal neighbours ends.
func (r *run) over() bool {
	if r.left <= 0 || r.res.Refused-r.base > 200*(r.o.evals()+100) {
		return true
	}
	if r.asks++; r.asks%16 == 0 && r.ctx.Err() != nil {
		r.res.Stopped = true
		return true
	}
	return r.res.Stopped
}

// finish returns the result, or why there is none.
func (r *run) finish() (*Result, error) {
	if r.ctx.Err() != nil {
		r.res.Stopped = true
	}
	if !r.res.Found {
		if r.res.Stopped {
			return &r.res, r.ctx.Err()
		}
		return &r.res, fmt.Errorf("%w: %s has no mapping on %s: %s", mapping.ErrInfeasible, r.q.Op.Name, r.q.Platform.Name, r.q.WhyEmpty())
	}
	for _, k := range r.res.Kinds { // of parts that were joined
		r.keep(k)
	}
	r.res.Kinds = nil
	for _, key := range slices.Sorted(maps.Keys(r.kind)) {
		r.res.Kinds = append(r.res.Kinds, r.kind[key])
	}
	if b := r.q.LowerBound(); r.o.Score == nil && r.res.Score == b.Cycles {
		r.res.Proved = true
	}
	return &r.res, nil
}

// chains runs independent parts of a search on threads and joins them in order: the
// best of the first that has it.
func chains(ctx context.Context, q *mapping.Problem, o Options, n int, f func(r *run, i int)) (*Result, error) {
	runs := make([]*run, n)
	per := max(1, o.evals()/int64(n))
	var evaluations, best atomic.Int64
	best.Store(illegal)
	var mu sync.Mutex
	var next atomic.Int64
	var wg sync.WaitGroup
	work := func() {
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			oi := o
			if o.Progress != nil {
				last := int64(0)
				oi.Progress = func(p Progress) {
					evaluations.Add(p.Evaluations - last)
					last = p.Evaluations
					mu.Lock()
					best.Store(min(best.Load(), p.Best))
					o.Progress(Progress{evaluations.Load(), best.Load()})
					mu.Unlock()
				}
			}
			r := newRun(ctx, q, oi, per, uint64(i))
			f(r, i)
			runs[i] = r
		}
	}
	for range min(max(1, o.Threads), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	all := newRun(ctx, q, o, 0, 0)
	for _, r := range runs {
		for _, p := range r.res.Trace {
			if len(all.res.Trace) == 0 || p.Best < all.res.Trace[len(all.res.Trace)-1].Best {
				all.res.Trace = append(all.res.Trace, Point{all.res.Evaluations + p.Evaluations, p.Best})
			}
		}
		all.res.Evaluations += r.res.Evaluations
		all.res.Refused += r.res.Refused
		for v, n := range r.res.Killed {
			all.res.Killed[v] += n
		}
		all.res.Bounded += r.res.Bounded
		all.res.Stopped = all.res.Stopped || r.res.Stopped
		for _, k := range slices.Sorted(maps.Keys(r.kind)) {
			all.keep(r.kind[k])
		}
		if r.res.Found && (!all.res.Found || r.res.Score < all.res.Score) {
			all.res.Found, all.res.Mapping, all.res.Cost, all.res.Score = true, r.res.Mapping, r.res.Cost, r.res.Score
		}
	}
	return all.finish()
}

// ErrSpace says that a space is too large to be walked.
var ErrSpace = errors.New("search: space too large")

// random draws legal mappings: the floor under every search.
type random struct{}

func (random) Name() string { return "random" }
func (random) Doc() string  { return "legal mappings drawn at random" }
func (random) Search(ctx context.Context, q *mapping.Problem, o Options) (*Result, error) {
	return chains(ctx, q, o, 4, func(r *run, _ int) {
		for !r.over() {
			m, ok := q.Random(r.rng, 20)
			if !ok {
				r.res.Refused += 1000
				continue
			}
			r.price(&m)
		}
	})
}
