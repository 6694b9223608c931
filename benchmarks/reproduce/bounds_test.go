package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/system/fused"
	"github.com/bitsched/bitsched/tile"
)

// TestBoundVerdicts has bounds on both sides of the tolerance, and those that say nothing of a
// claim.
func TestBoundVerdicts(t *testing.T) {
	most := func(v float64) Bound { return Bound{"n", AtMost, v, "with", "why"} }
	least := func(v float64) Bound { return Bound{"n", AtLeast, v, "with", "why"} }
	for i, c := range []struct {
		claim  Claim
		ours   float64
		bounds []Bound
		want   Verdict
		bound  float64 // 0: none
	}{
		{Claim{Paper: 4, Tolerance: 0.25}, 2, nil, Differs, 0},
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{most(2.9)}, NotReachable, 2.9},
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{most(3)}, Differs, 3}, // on the edge is in reach
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{most(9), most(2.5), most(3)}, NotReachable, 2.5},
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{least(1)}, Differs, 0}, // of the other side
		{Claim{Paper: 4, Tolerance: 0.25}, 6, []Bound{least(5.5), most(7)}, NotReachable, 5.5},
		{Claim{Paper: 4, Tolerance: 0.25}, 6, []Bound{least(5)}, Differs, 5},
		{Claim{Paper: 4, Tolerance: 0.25}, 3.5, []Bound{most(3.6)}, Reproduced, 0},
		{Claim{Paper: 4, Tolerance: 0.25, Reading: "r"}, 3.5, []Bound{most(3.6)}, UnderReading, 0},
		{Claim{Paper: 4, Tolerance: 0.25, Better: -1}, 2, []Bound{most(2.5)}, BetterThan, 0},
		{Claim{Paper: 69, Tolerance: 10, Points: true}, 48, []Bound{most(58.9)}, NotReachable, 58.9},
		{Claim{Paper: 69, Tolerance: 10, Points: true}, 48, []Bound{most(59)}, Differs, 59},
		{Claim{Paper: -4, Tolerance: 0.25}, -8, []Bound{most(-5.5)}, NotReachable, -5.5},
		{Claim{Paper: -4, Tolerance: 0.25}, -8, []Bound{most(-4.5)}, Differs, -4.5},
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{{"other", AtMost, 1, "with", "why"}}, Differs, 0},
		{Claim{Paper: 4, Tolerance: 0.25}, 2, []Bound{most(2)}, NotReachable, 2}, // as far as it goes
	} {
		c.claim.Name = "n"
		out := c.claim.compare([]Value{{"n", "", c.ours, 0}})
		require.NoError(t, c.claim.bounded(&out, c.bounds, c.ours), i)
		c.claim.reach(&out)
		require.Equal(t, c.want, out.Verdict, i)
		require.Equal(t, c.bound != 0, len(out.Bounds) > 0, i)
		if c.bound != 0 {
			require.InDelta(t, c.bound, out.Bounds[0].Value, 0, i)
			for k := 1; k < len(out.Bounds); k++ { // the tightest is the first
				require.GreaterOrEqual(t, math.Abs(out.Bounds[k].Value-c.ours), math.Abs(out.Bounds[k-1].Value-c.ours), i)
			}
		}
	}
	c := Claim{Name: "n", Paper: 1}
	out := c.compare(nil)
	require.NoError(t, c.bounded(&out, []Bound{most(1)}, 0))
	c.reach(&out)
	require.Equal(t, NotMeasured, out.Verdict)
}

// TestBrokenBounds: a bound that does not hold for what was measured is an error, of a claim
// that is reproduced too, and so is one that does not say what it is.
func TestBrokenBounds(t *testing.T) {
	for _, b := range []Bound{
		{"n", AtMost, 1.99, "with", "why"}, {"n", AtLeast, 2.01, "with", "why"}, {"n", AtMost, math.NaN(), "with", "why"},
		{"n", "", 3, "with", "why"}, {"n", AtMost, 3, "", "why"}, {"n", AtMost, 3, "with", ""},
	} {
		for _, paper := range []float64{2, 9, 0.1} {
			c := Claim{Name: "n", Paper: paper, Tolerance: 0.1}
			out := c.compare([]Value{{"n", "", 2, 0}})
			require.ErrorIs(t, c.bounded(&out, []Bound{b}, 2), ErrBound, "%+v", b)
		}
	}
	e := &Entry{ID: "t:x", Claims: []Claim{{Name: "n", Paper: 9}}, Run: func(context.Context, *Env) (*Measured, error) {
		return &Measured{Values: []Value{{"n", "", 2, 0}}, Bounds: []Bound{{"n", AtMost, 1, "with", "why"}}}, nil
	}}
	_, err := e.Make(t.Context(), &Env{}, nil, "", false)
	require.ErrorIs(t, err, ErrBound)
	for _, failed := range [][]string{nil, {"a run: broken"}} { // a part of the workloads reaches no verdict
		whole := &Entry{ID: "t:x", Claims: e.Claims, Run: func(context.Context, *Env) (*Measured, error) {
			return &Measured{Values: []Value{{"n", "", 2, 0}}, Bounds: []Bound{{"n", AtMost, 3, "with", "why"}}, Failed: failed}, nil
		}}
		r, err := whole.Make(t.Context(), &Env{}, nil, "", false)
		require.NoError(t, err)
		require.Equal(t, failed == nil, r.Comparisons[0].Verdict == NotReachable)
		require.Len(t, r.Comparisons[0].Bounds, 1)
	}
	_, err = e.Make(t.Context(), &Env{}, nil, "", false)
	require.ErrorContains(t, err, "t:x: a bound does not hold: n is at most 1 with with, and 2 was measured")
}

// TestRelax: runs of bounds are for what differs alone, keep their parts, and are told neither
// what the paper says nor of other claims.
func TestRelax(t *testing.T) {
	ours := map[string]float64{"a": 1, "b": 5, "c": 3}
	calls, parts := 0, 0
	failed := []string{"a run: broken"}
	e := &Entry{
		ID: "t:x", Claims: []Claim{{Name: "a", Paper: 3, Tolerance: 0.1}, {Name: "b", Paper: 3, Tolerance: 0.1}, {Name: "c", Paper: 3, Tolerance: 0.1}},
		Run: func(context.Context, *Env) (*Measured, error) {
			m := &Measured{}
			for _, n := range []string{"a", "b", "c"} {
				m.Add(n, "", ours[n])
			}
			return m, nil
		},
		Relax: func(_ context.Context, env *Env, misses []Miss) ([]Bound, []string, error) {
			calls++
			if ours["a"] == 1 {
				require.Equal(t, []Miss{{"a", AtMost}, {"b", AtLeast}}, misses)
			}
			if len(failed) > 0 {
				return nil, failed, nil
			}
			var v float64
			err := env.kept(&v, func() error { parts++; v = 2; return nil }, "part")
			return []Bound{{"a", AtMost, v, "with", "why"}}, nil, err
		},
	}
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	verdicts := func(ctx context.Context, fresh bool) (list []Verdict, failed []string) {
		r, err := e.Make(ctx, &Env{Size: Small}, store, "1", fresh)
		require.NoError(t, err)
		for _, c := range r.Comparisons {
			list = append(list, c.Verdict)
		}
		return list, r.Failed
	}
	got, why := verdicts(t.Context(), false)
	require.Equal(t, []Verdict{Differs, Differs, Reproduced}, got)
	require.Equal(t, failed, why)
	failed = nil
	r, err := e.Make(t.Context(), &Env{Size: Small, Unbounded: true}, store, "1", false)
	require.NoError(t, err)
	require.Equal(t, 1, calls)
	require.True(t, r.Unbounded)
	require.Equal(t, Differs, r.Comparisons[0].Verdict)
	for range 2 { // kept, and bounds are looked for again
		got, why = verdicts(t.Context(), false)
		require.Equal(t, []Verdict{NotReachable, Differs, Reproduced}, got)
		require.Empty(t, why)
	}
	require.Equal(t, 3, calls)
	require.Equal(t, 1, parts)
	verdicts(t.Context(), true)
	require.Equal(t, 2, parts)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	got, _ = verdicts(stopped, false)
	require.Equal(t, []Verdict{Differs, Differs, Reproduced}, got)
	require.Equal(t, 4, calls)
	e.Relax = func(context.Context, *Env, []Miss) ([]Bound, []string, error) { return nil, nil, errors.New("no") }
	_, err = e.Make(t.Context(), &Env{Size: Small}, store, "1", false)
	require.ErrorContains(t, err, "t:x: no")
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	e.Relax = func(ctx context.Context, _ *Env, _ []Miss) ([]Bound, []string, error) {
		cancel()
		return nil, nil, ctx.Err()
	}
	got, why = verdicts(ctx, false)
	require.Equal(t, []Verdict{Differs, Differs, Reproduced}, got)
	require.Equal(t, []string{"stopped before bounds were complete"}, why)
	ours = map[string]float64{"a": 3, "b": 3, "c": 3}
	e.Relax = func(context.Context, *Env, []Miss) ([]Bound, []string, error) {
		t.Error("nothing differs")
		return nil, nil, nil
	}
	verdicts(t.Context(), true)
}

// TestFastest takes the slowest of what is compared with, the fastest of what is bounded, and
// ends of intervals.
func TestFastest(t *testing.T) {
	part := func(cycles int64, bound float64) *nearPart { return &nearPart{Cycles: cycles, Bound: bound} }
	a := &nearParts{names: []string{"a", "b"}, parts: map[string][]*nearPart{
		"a": {part(100, 0), part(80, 0), part(50, 0), part(60, 0)},
		"b": {part(90, 0), part(100, 0), part(40, 0), part(12, 0)},
	}}
	v, ok := a.fastest(2)
	require.True(t, ok)
	require.InDelta(t, math.Sqrt(100./50*100/12), v, 1e-9)
	a.parts["a"][0].Bound, a.parts["a"][2].Bound = 0.5, 0.25
	v, _ = a.fastest(2)
	require.InDelta(t, math.Sqrt(150./37.5*100/12), v, 1e-9)
	a.parts["b"][3].Bound = -1
	_, ok = a.fastest(2)
	require.False(t, ok)
	a.parts["b"][3] = nil
	_, ok = a.fastest(2)
	require.False(t, ok)
}

// TestNearLevels: machines of every size and core take what bounds change.
func TestNearLevels(t *testing.T) {
	for _, env := range []*Env{{Size: Small}, {Size: PaperSizes}, {Size: Small, Readings: Simulator}} {
		for _, core := range []string{"", "io4"} {
			x := nearRatio{core: core}
			for _, level := range nearLevels {
				_, err := env.machine(nearMachine(env), x.run("ns", level.name, level.sets...).set...)
				require.NoError(t, err)
				m, err := env.machine(nearMachine(env), x.run("ns", level.name, append(slices.Clone(level.sets), slowBase)...).set...)
				require.NoError(t, err)
				require.Equal(t, 4, m.L1D.MSHRs) // readings of base are those of both
				require.Equal(t, 8, m.CoreVariant().StoresInFlight)
			}
			_, err := env.machine(nearMachine(env), x.run("base", "slow", slowBase).set...)
			require.NoError(t, err)
		}
	}
}

// TestMostSaved takes the less of what has to move and of what did.
func TestMostSaved(t *testing.T) {
	a := &nearParts{names: []string{"a", "b"}, parts: map[string][]*nearPart{"a": {{Traffic: 100}, {Traffic: 40}}, "b": {{Traffic: 200}, {Traffic: 20}}}}
	require.InDelta(t, (90+90)/2, a.mostSaved([]int64{10, 50}), 1e-9)
}

// TestInfinityBounds counts by hand: the faster design, memory and arrays at the same time, and
// no bound where one is not known.
func TestInfinityBounds(t *testing.T) {
	part := func(cycles int64, read, compute float64) *infsPart {
		p := &infsPart{Cycles: cycles, Read: read, Peak: 10}
		p.Shares[4] = 100 * compute / float64(cycles)
		return p
	}
	var b, paper best
	for _, config := range []string{"base", "near-l3", "in-l3", "inf-s"} {
		b.add("a", "a", config, part(1000, 2000, 100))
	}
	b.add("a", "a2", "inf-s", part(900, 500, 60))
	paper.add("a", "a", "inf-s", part(1000, 2000, 100))
	paper.add("a", "a2", "inf-s", part(900, 500, 80))
	require.InDelta(t, 60, b.leastCycles(&paper, "a", "inf-s"), 1e-9)  // arrays of a2, by the faster latencies
	require.InDelta(t, 200, b.leastCycles(&paper, "a", "in-l3"), 1e-9) // memory alone
	require.Zero(t, b.leastCycles(&paper, "b", "in-l3"))
	want := map[string]float64{"in-l3 over near-l3": 5, "inf-s over near-l3": 1000. / 60, "inf-s over in-l3": 1000. / 60, "inf-s over base": 1000. / 60, "inf-s over base, the most": 1000. / 60}
	list := b.timeBounds(&paper, []string{"a"})
	require.Len(t, list, len(want))
	for _, x := range list {
		require.InDelta(t, want[x.Name], x.Value, 1e-9, x.Name)
		require.NoError(t, x.check(1), x.Name)
		require.True(t, slices.ContainsFunc(infinityTimeEntries, func(e *Entry) bool {
			return slices.ContainsFunc(e.Claims, func(c Claim) bool { return c.Name == x.Name })
		}), x.Name)
	}
	b.of("a", "base").Bound = 0.5
	require.InDelta(t, 1500./60, b.timeBounds(&paper, []string{"a"})[3].Value, 1e-9)
	b.of("a", "near-l3").Bound = -1
	require.Len(t, b.timeBounds(&paper, []string{"a"}), 3)

	for _, config := range []string{"base", "near-l3", "in-l3", "inf-s"} {
		b.of("a", config).Data = 10000
	}
	traffic, err := b.trafficBounds(&Env{Size: Small}, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, "traffic that inf-s saves", traffic[1].Name)
	require.InDelta(t, 95, traffic[1].Value, 1e-9) // 500 bytes over one link in the mean of 2x2
	require.InDelta(t, 80, traffic[0].Value, 1e-9)
	m, err := tile.LoadMachine("nsc")
	require.NoError(t, err)
	require.InDelta(t, 3, memoryLinks(m), 1e-9) // of a quarter of 4x4 to its corner
}

// TestEnergyBounds: no leakage of cores has a greater mean of ratios, and one has nearly that.
func TestEnergyBounds(t *testing.T) {
	part := func(other, leak float64) *infsPart {
		p := &infsPart{}
		p.Energy[0], p.Energy[leakingCores] = other, leak
		return p
	}
	for _, c := range []struct {
		p, q []*infsPart
		want float64 // 0: between leakages
	}{
		{[]*infsPart{part(10, 30)}, []*infsPart{part(20, 10)}, 3},
		{[]*infsPart{part(10, 0)}, []*infsPart{part(20, 0)}, 0.5},
		{[]*infsPart{part(40, 10)}, []*infsPart{part(20, 10)}, 2},
		{[]*infsPart{part(10, 30), part(40, 10)}, []*infsPart{part(20, 10), part(20, 10)}, 0},
		{[]*infsPart{part(1, 300), part(400, 1)}, []*infsPart{part(20, 1), part(2, 10)}, 0},
	} {
		most, found := mostEnergy(c.p, c.q), 0.0
		if c.want > 0 {
			require.InDelta(t, c.want, most, 1e-9)
		}
		for times := 0.0; times < 1e6; times = 1.003*times + 1e-5 {
			mean := 1.0
			for i := range c.p {
				mean *= (c.p[i].Energy[0] + times*c.p[i].Energy[leakingCores]) / (c.q[i].Energy[0] + times*c.q[i].Energy[leakingCores])
			}
			found = max(found, math.Pow(mean, 1/float64(len(c.p))))
		}
		require.LessOrEqual(t, found, most*(1+1e-9))
		require.GreaterOrEqual(t, found, 0.98*most)
	}
}

// TestLoweringBounds: whatever lowering takes for each of what it does, no workload has a greater
// share of it while the mean is at most a fifth, or that of the run.
func TestLoweringBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	tight := 0.0
	for range 200 {
		var b best
		var names []string
		take := func() (w [7]float64) {
			for i := range w {
				if random.IntN(3) > 0 {
					w[i] = math.Exp(6 * random.Float64())
				}
			}
			return w
		}
		cycles := func(l *fused.Lowered, w [7]float64) (sum float64) {
			for i, n := range append(l.Counts(), 1) {
				sum += w[i] * float64(n)
			}
			return sum
		}
		first := take()
		rest := map[string]float64{}
		for i := range 2 + random.IntN(4) {
			name := fmt.Sprint("w", i)
			n := func() int64 { return int64(random.IntN(40)) }
			l := fused.Lowered{Regions: 1 + n(), Steps: n(), Commands: n(), Banks: n(), Patched: n() / 20 * n(), Numbers: n()}
			rest[name] = 1e3 + 1e6*random.Float64()
			p := &infsPart{Lowered: l, Cycles: int64(rest[name] + cycles(&l, first))}
			p.Shares[3] = 100 * cycles(&l, first) / (rest[name] + cycles(&l, first))
			b.add(name, name, "inf-s", p)
			names = append(names, name)
		}
		mean := func(w [7]float64) (m float64) {
			for _, name := range names {
				m += share(cycles(&b.of(name, "inf-s").Lowered, w), rest[name]) / float64(len(names))
			}
			return m
		}
		bounds := b.jitBounds(names)
		require.Len(t, bounds, len(names))
		for i, name := range names {
			require.Equal(t, "JIT of "+name, bounds[i].Name)
			require.NoError(t, bounds[i].check(b.of(name, "inf-s").Shares[3]))
		}
		limit := max(20, mean(first))
		for range 200 {
			w := take()
			for mean(w) > limit {
				for i := range w {
					w[i] /= 2
				}
			}
			for i, name := range names {
				ours := share(cycles(&b.of(name, "inf-s").Lowered, w), rest[name])
				require.LessOrEqual(t, ours, bounds[i].Value+0.2, name) // cycles are whole
				tight = max(tight, ours/bounds[i].Value)
			}
		}
	}
	require.Greater(t, tight, 0.9)
}
