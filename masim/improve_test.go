package masim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// startBaseline returns a state at the start and the baseline of an order that
// goes through, or nil.
func startBaseline(rng *rand.Rand, maxGates int) (*cicppState, *baseline) {
	p, arrays := smallProblem(rng, maxGates)
	s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
	s.seed = rng.Uint64()
	b := newBaseline(s, randomOrder(rng, p), dontStop)
	s.rewind(0)
	return s, b
}

// perturbed is the sequence after a perturbation, made the obvious way.
func perturbed(order []int32, m perturbation) []int32 {
	g := order[m.p]
	rest := slices.Delete(slices.Clone(order), m.p, m.p+1)
	return slices.Insert(rest, m.t, g)
}

// A pass that starts in the middle and stops early finds what instruction
// generation from the start to the end finds, and accepting it gives the
// baseline of the new sequence.
func TestPassEqualsFullGeneration(t *testing.T) {
	passes, early := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s, b := startBaseline(rng, 120)
		if b == nil {
			continue
		}
		im := &improver{gen: s.clone(), base: b, stop: dontStop}
		for range 40 {
			m, ok := b.perturb(rng)
			if !ok {
				continue
			}
			full := s.clone()
			want := -1
			nb := newBaseline(full, perturbed(b.order, m), dontStop)
			if nb != nil {
				want = full.copies
			}
			require.Equal(t, want, im.pass(m), "seed %d", seed)
			require.Equal(t, int(b.mark[m.t]), im.gen.mark())
			passes++
			if nb != nil && rng.IntN(4) == 0 {
				got := im.accept(m)
				require.Equal(t, nb, got, "seed %d", seed)
				if nb.hash[m.p+1] == b.hash[m.p+1] {
					early++
				}
				im.seek(min(im.at, m.t))
				im.base, b = got, got
			}
		}
	}
	require.Greater(t, passes, 500)
	require.Greater(t, early, 20)
}

// A perturbation moves a gate that was ready, and every other gate that was
// ready has its chance.
func TestPerturb(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s, b := startBaseline(rng, 30)
		if b == nil {
			continue
		}
		want := map[perturbation]bool{}
		for step := range b.order {
			done := map[int32]bool{}
			for _, g := range b.order[:step] {
				done[g] = true
			}
			for p := step + 1; p < len(b.order); p++ {
				ready := true
				for _, f := range s.net.faninsOf(b.order[p]) {
					ready = ready && (int(f) < s.net.first || done[f])
				}
				if ready {
					want[perturbation{step, p}] = true
				}
			}
		}
		got := map[perturbation]bool{}
		for range 40 * (len(want) + 1) {
			if m, ok := b.perturb(rng); ok {
				require.True(t, want[m], "seed %d: %v", seed, m)
				got[m] = true
			}
		}
		require.GreaterOrEqual(t, len(got), len(want)*3/4, "seed %d", seed)
	}
}

// serialImprove is section III-C without batches, workers and short cuts.
func serialImprove(start *cicppState, order []int32, o improveOptions, limit int) ([]int32, int) {
	best := newBaseline(start.clone(), order, dontStop)
	pass := 0
	for last := o.passes; pass < min(last, limit); pass++ {
		m, ok := best.perturb(rand.New(rand.NewPCG(o.seed, uint64(pass))))
		if !ok {
			continue
		}
		nb := newBaseline(start.clone(), perturbed(best.order, m), dontStop)
		if nb != nil && nb.total() < best.total() {
			best, last = nb, pass+1+o.passes
		}
	}
	return best.order, pass
}

func TestImproveEqualsSerial(t *testing.T) {
	improved := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		s, b := startBaseline(rng, 100)
		if b == nil {
			continue
		}
		o := improveOptions{passes: 60, bound: -1, seed: seed}
		order, passes := serialImprove(s, b.order, o, 1<<30)
		for _, threads := range []int{1, 2, 3} {
			var gens []generator
			for range threads {
				gens = append(gens, s.clone())
			}
			best, n, done := improve(context.Background(), b, gens, o)
			require.True(t, done)
			require.Equal(t, order, best.order, "seed %d", seed)
			require.Equal(t, passes, n, "seed %d", seed)
			full := s.clone()
			require.Equal(t, newBaseline(full, order, dontStop), best)
			if best.total() < b.total() {
				improved++
			}
		}
	}
	require.Greater(t, improved, 10)
}

// Where the steps are used up does not depend on the workers either, and the
// result is that of the passes up to there.
func TestImproveSteps(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 10))
		s, b := startBaseline(rng, 100)
		if b == nil {
			continue
		}
		full := improveOptions{passes: 60, bound: -1, seed: seed}
		_, all, _ := improve(context.Background(), b, []generator{s.clone()}, full)
		limited := full
		limited.steps = 1 + rng.IntN(2000)
		var best *baseline
		passes := 0
		for _, threads := range []int{1, 2, 5} {
			var gens []generator
			for range threads {
				gens = append(gens, s.clone())
			}
			got, n, done := improve(context.Background(), b, gens, limited)
			require.True(t, done)
			require.LessOrEqual(t, n, all)
			if best == nil {
				best, passes = got, n
			}
			require.Equal(t, best, got)
			require.Equal(t, passes, n)
		}
		order, _ := serialImprove(s, b.order, full, passes)
		require.Equal(t, order, best.order)
	}
}

// Where no gate can go before another, there is nothing to perturb, and the
// improvement ends all the same.
func TestImproveChain(t *testing.T) {
	g := andChain(9, 0)
	s := newCicppState(newCicppNet(g), 2, 6)
	order := netlistOrder(s.net)
	b := newBaseline(s, order, dontStop)
	s.rewind(0)
	best, passes, done := improve(context.Background(), b, []generator{s}, improveOptions{passes: 50})
	require.True(t, done)
	require.Equal(t, 50, passes)
	require.Same(t, b, best)
}

// firstArray shows that the improvement is not bound to the scheduler's own instruction generation.
type firstArray struct{ *cicppState }

// step computes g in the first array where that is possible.
func (s firstArray) step(g int32) bool {
	for a := range s.at {
		mark := s.mark()
		if s.at[a].rows > 0 {
			if _, _, ok := s.try(g, a, anyCopies); ok {
				s.epoch++
				return true
			}
			s.undo(mark)
		}
	}
	return false
}

func TestImproveWithOtherGeneration(t *testing.T) {
	improved := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		p, arrays := smallProblem(rng, 80)
		s := newCicppState(newCicppNet(p.Graph), arrays, p.Geometry.Rows)
		gen := firstArray{s}
		b := newBaseline(gen, randomOrder(rng, p), dontStop)
		if b == nil {
			continue
		}
		s.rewind(0)
		best, _, _ := improve(context.Background(), b, []generator{gen}, improveOptions{passes: 100, seed: seed})
		s.rewind(0)
		again := newBaseline(gen, best.order, dontStop)
		require.NotNil(t, again)
		require.Equal(t, best.total(), again.total())
		if best.total() < b.total() {
			improved++
		}
	}
	require.Greater(t, improved, 3)
}
