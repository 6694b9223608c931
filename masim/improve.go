package masim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
)

// The iterative improvement of section III-C: passes perturb the execution
// sequence of the best schedule, regenerate the instructions, and are accepted
// if that takes fewer copies. It ends when a whole iteration of passes brought
// nothing.

// generator is what a pass regenerates instructions with: a state that can take
// one gate after the other, go back, and do again what it did before. Its
// decisions may depend on the gates computed and on which values lie in which
// arrays only; passes rely on it to stop early.
type generator interface {
	step(g int32) bool   // computes g, or reports false and leaves all as it was
	mark() int           // length of the log
	rewind(mark int)     // takes back all that was logged after a mark
	redo(log []cicppOp)  // does what a log says
	record() []cicppOp   // the log; valid until the next call
	total() int          // copies so far
	fingerprint() uint64 // hash of the set of (value, array) pairs
	graph() *cicppNet    // what is scheduled
}

// baseline is the best schedule so far: an execution sequence, and everything
// its instruction generation did, so that a pass can start in the middle.
type baseline struct {
	order  []int32
	pos    []int32 // per gate: its time step
	ready  []int32 // per gate: the first time step at which it could be computed
	log    []cicppOp
	mark   []int32  // before time step i the log had mark[i] entries,
	copies []int32  // so many copies were made,
	hash   []uint64 // and this was the fingerprint
}

// newBaseline generates instructions along an order, from the start. It
// returns nil if it gets stuck or if stop says so. gen stays at the end.
func newBaseline(gen generator, order []int32, stop func() bool) *baseline {
	n := len(order)
	b := &baseline{
		order:  order,
		pos:    make([]int32, gen.graph().nodes),
		ready:  make([]int32, gen.graph().nodes),
		mark:   make([]int32, n+1),
		copies: make([]int32, n+1),
		hash:   make([]uint64, n+1),
	}
	for i, g := range order {
		b.note(i, gen)
		if i&stopMask == 0 && stop() || !gen.step(g) {
			return nil
		}
	}
	b.note(n, gen)
	b.log = slices.Clone(gen.record())
	b.findReady(gen.graph())
	return b
}

func (b *baseline) note(i int, gen generator) {
	b.mark[i], b.copies[i], b.hash[i] = int32(gen.mark()), int32(gen.total()), gen.fingerprint()
}

func (b *baseline) total() int { return int(b.copies[len(b.order)]) }

// findReady fills pos and ready.
func (b *baseline) findReady(net *cicppNet) {
	for i, g := range b.order {
		b.pos[g] = int32(i)
		at := int32(0)
		for _, f := range net.faninsOf(g) {
			if int(f) >= net.first {
				at = max(at, b.pos[f]+1)
			}
		}
		b.ready[g] = at
	}
}

// perturbation moves a gate that was ready at time step t, but computed only at
// time step p, in front of the gate computed at t.
type perturbation struct{ t, p int }

// perturb draws a time step and another gate that was ready there (Fig. 7). It
// reports false if the gate computed at that step was the only one ready.
func (b *baseline) perturb(rng *rand.Rand) (perturbation, bool) {
	n := len(b.order)
	t := rng.IntN(n)
	if t+1 == n {
		return perturbation{}, false
	}
	// Drawing until a ready gate comes up is uniform over the ready gates and
	// mostly quick; when it is not, count them.
	for range 32 {
		p := t + 1 + rng.IntN(n-t-1)
		if int(b.ready[b.order[p]]) <= t {
			return perturbation{t, p}, true
		}
	}
	count := 0
	for _, g := range b.order[t+1:] {
		if int(b.ready[g]) <= t {
			count++
		}
	}
	if count == 0 {
		return perturbation{}, false
	}
	k := rng.IntN(count)
	for p := t + 1; ; p++ {
		if int(b.ready[b.order[p]]) <= t {
			if k == 0 {
				return perturbation{t, p}, true
			}
			k--
		}
	}
}

// improver evaluates passes on a generator of its own, which is always at some
// time step of the baseline.
type improver struct {
	gen  generator
	base *baseline
	at   int
	work int // gates computed in all passes
	stop func() bool
}

// seek takes the generator to time step t of the baseline.
func (im *improver) seek(t int) {
	if t < im.at {
		im.gen.rewind(int(im.base.mark[t]))
	} else if t > im.at {
		im.gen.redo(im.base.log[im.base.mark[im.at]:im.base.mark[t]])
	}
	im.at = t
}

// pass generates the instructions of the perturbed sequence and returns the
// number of copies, -1 if it gets stuck or is stopped.
//
// Before time step m.t nothing changes. After m.p the same gates are computed
// as in the baseline, and as soon as the same values lie in the same arrays too,
// all that follows is the same. Most passes end so after a short while.
func (im *improver) pass(m perturbation) int {
	b, gen := im.base, im.gen
	im.seek(m.t)
	defer gen.rewind(gen.mark())
	im.work++
	if !gen.step(b.order[m.p]) {
		return -1
	}
	for _, g := range b.order[m.t:m.p] {
		im.work++
		if !gen.step(g) {
			return -1
		}
	}
	for i := m.p + 1; ; i++ {
		im.work++
		if gen.fingerprint() == b.hash[i] {
			return gen.total() + b.total() - int(b.copies[i])
		}
		if i == len(b.order) {
			return gen.total() // some outputs ended up in other arrays
		}
		if i&stopMask == 0 && im.stop() || !gen.step(b.order[i]) {
			return -1
		}
	}
}

// accept returns the baseline after a perturbation whose pass went through. The
// generator is left at time step m.t, which both baselines share.
func (im *improver) accept(m perturbation) *baseline {
	b, gen := im.base, im.gen
	im.seek(m.t)
	start := gen.mark()
	nb := &baseline{
		order:  slices.Clone(b.order),
		pos:    make([]int32, len(b.pos)),
		ready:  make([]int32, len(b.ready)),
		mark:   slices.Clone(b.mark),
		copies: slices.Clone(b.copies),
		hash:   slices.Clone(b.hash),
	}
	copy(nb.order[m.t+1:], b.order[m.t:m.p])
	nb.order[m.t] = b.order[m.p]
	for i := m.t; ; i++ {
		nb.note(i, gen)
		if i > m.p && nb.hash[i] == b.hash[i] {
			longer, dearer := nb.mark[i]-b.mark[i], nb.copies[i]-b.copies[i]
			nb.log = append(slices.Clone(gen.record()), b.log[b.mark[i]:]...)
			for j := i + 1; j < len(nb.mark); j++ {
				nb.mark[j] += longer
				nb.copies[j] += dearer
			}
			break
		}
		if i == len(nb.order) {
			nb.log = slices.Clone(gen.record())
			break
		}
		gen.step(nb.order[i])
	}
	nb.findReady(gen.graph())
	gen.rewind(start)
	return nb
}

// improveOptions are the parameters of improve.
type improveOptions struct {
	passes int // passes of an iteration; the paper has 500
	steps  int // gates to compute in all passes, after which it ends; 0 = no limit
	bound  int // copies that no schedule can go below, at which it ends
	seed   uint64
	report func(pass, best int) // after each batch of passes, may be nil
}

// improve runs passes until an iteration of them brought nothing, the steps are
// used up, the bound is reached or ctx ends. It returns the best schedule, the
// number of passes, and whether it ended by itself.
//
// The generators, one for each worker, are all at the start and decide alike.
// The result depends neither on their number nor on the batches: pass k always
// gets the k-th random stream and the schedule that the passes before it left.
func improve(ctx context.Context, base *baseline, gens []generator, o improveOptions) (best *baseline, passes int, done bool) {
	stop := func() bool { return ctx.Err() != nil }
	workers := make([]*improver, len(gens))
	for i, gen := range gens {
		workers[i] = &improver{gen: gen, base: base, stop: stop}
	}
	type job struct {
		perturbation
		pass int
	}
	var jobs []job
	var work []int // per pass of the batch: gates computed
	const smallest = 4
	batch := smallest * len(gens)
	first, last := 0, o.passes // the pass to do next, and where the iteration ends
	steps := 0
	for first < last && base.total() > o.bound && (o.steps == 0 || steps < o.steps) {
		if stop() {
			return base, first, false
		}
		start, end := first, min(first+batch, last)
		jobs, work = jobs[:0], slices.Grow(work[:0], end-start)[:end-start]
		for k := start; k < end; k++ {
			m, ok := base.perturb(rand.New(rand.NewPCG(o.seed, uint64(k))))
			if ok {
				jobs = append(jobs, job{m, k})
			}
			work[k-start] = 1 + len(base.order)/64 // what finding out took, about
		}
		// In the order of time, a worker hardly moves from one job to the next.
		slices.SortFunc(jobs, func(a, b job) int {
			return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.pass, b.pass))
		})
		var next, found atomic.Int64 // found is the first pass that improves
		found.Store(int64(end))
		do := func(im *improver) {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(jobs) {
					return
				}
				j := jobs[i]
				if int64(j.pass) > found.Load() || stop() {
					continue
				}
				before := im.work
				c := im.pass(j.perturbation)
				work[j.pass-start] = im.work - before
				if c < 0 || c >= base.total() {
					continue
				}
				for f := found.Load(); int64(j.pass) < f && !found.CompareAndSwap(f, int64(j.pass)); {
					f = found.Load()
				}
			}
		}
		var wg sync.WaitGroup
		for _, im := range workers[1:] {
			wg.Go(func() { do(im) })
		}
		do(workers[0])
		wg.Wait()

		// One pass after the other: those after the steps were used up, and those
		// after one that improved, are as if never made.
		improved := int(found.Load())
		for first < end && first <= improved && (o.steps == 0 || steps < o.steps) {
			steps += work[first-start]
			first++
		}
		if first > improved {
			i := slices.IndexFunc(jobs, func(j job) bool { return j.pass == improved })
			m := jobs[i].perturbation
			better := workers[0].accept(m)
			for _, im := range workers {
				im.seek(min(im.at, m.t))
				im.base = better
			}
			base = better
			last = first + o.passes
			batch = smallest * len(gens)
		} else {
			batch = min(2*batch, 64*len(gens))
		}
		if o.report != nil {
			o.report(first, base.total())
		}
	}
	return base, first, true
}
