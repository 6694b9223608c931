package reproduce

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
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
		out := c.claim.compare([]Value{{"n", "", c.ours}})
		require.NoError(t, c.claim.bounded(&out, c.bounds), i)
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
	require.NoError(t, c.bounded(&out, []Bound{most(1)}))
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
			out := c.compare([]Value{{"n", "", 2}})
			require.ErrorIs(t, c.bounded(&out, []Bound{b}), ErrBound, "%+v", b)
		}
	}
	e := &Entry{ID: "t:x", Claims: []Claim{{Name: "n", Paper: 9}}, Run: func(context.Context, *Env) (*Measured, error) {
		return &Measured{Values: []Value{{"n", "", 2}}, Bounds: []Bound{{"n", AtMost, 1, "with", "why"}}}, nil
	}}
	_, err := e.Make(t.Context(), &Env{}, nil, "", false)
	require.ErrorIs(t, err, ErrBound)
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
				_, err := changedMachine(nearMachine(env), x.run("ns", level.name, level.sets...).set)
				require.NoError(t, err)
			}
			_, err := changedMachine(nearMachine(env), x.run("base", "slow", slowBase).set)
			require.NoError(t, err)
		}
	}
}

// TestMostSaved takes the less of what has to move and of what did.
func TestMostSaved(t *testing.T) {
	a := &nearParts{names: []string{"a", "b"}, parts: map[string][]*nearPart{"a": {{Traffic: 100}, {Traffic: 40}}, "b": {{Traffic: 200}, {Traffic: 20}}}}
	require.InDelta(t, (90+90)/2, a.mostSaved([]int64{10, 50}), 1e-9)
}
