package reproduce

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// TestInterval compares with what R's t.test prints.
func TestInterval(t *testing.T) {
	mean, half := interval([]float64{1, 2, 3, 4, 5})
	require.InDelta(t, 3, mean, 1e-12)
	require.InDelta(t, 1.9632, half, 1e-3)
	_, half = interval([]float64{1, 2})
	require.InDelta(t, 6.353, half, 1e-3)
	_, half = interval([]float64{4, 4, 4})
	require.Zero(t, half)
	for i := 1; i < len(quantiles); i++ {
		require.Less(t, quantiles[i], quantiles[i-1])
	}
	require.NoError(t, CheckSeeds(len(quantiles)+1))
	require.Error(t, CheckSeeds(len(quantiles)+2))
	require.Error(t, CheckSeeds(0))
}

// TestSeeds: entries that are random in time run with each seed, others once; values are means
// with intervals, and orders inside of them ties; a call that was stopped goes on.
func TestSeeds(t *testing.T) {
	a := []float64{2.0, 2.2, 2.1}
	b := []float64{2.1, 2.1, 2.2} // less than a by chance
	c := []float64{5.0, 5.2, 5.1} // each more than a by 3
	runs := map[uint64]int{}
	var relaxed []uint64
	stop := context.CancelFunc(func() {})
	e := &Entry{
		ID: "t:x", Timed: true, Claims: []Claim{
			{Name: "a over z", Unit: "x", Paper: 2, Tolerance: 0.2, Order: "o"}, {Name: "b over z", Unit: "x", Paper: 3, Tolerance: 0.2, Order: "o"},
			{Name: "c over z", Unit: "x", Paper: 1.5, Tolerance: 0.2, Order: "o"}, {Name: "none", Unit: "x", Paper: 0.9},
		},
		Run: func(ctx context.Context, env *Env) (*Measured, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			i := max(env.jitter, 1) - 1
			var v float64
			m := &Measured{}
			err := env.kept(&v, func() error { runs[env.jitter]++; v = a[i]; return nil }, "part")
			m.Add("a over z", "x", v)
			m.Add("b over z", "x", b[i])
			m.Add("c over z", "x", c[i])
			m.Bounds = []Bound{{"c over z", AtLeast, c[i], "with", "why"}}
			if env.jitter == 2 {
				stop()
			}
			return m, err
		},
		Relax: func(_ context.Context, env *Env, _ []Miss) ([]Bound, []string, error) {
			relaxed = append(relaxed, env.jitter)
			return nil, nil, nil
		},
	}
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	r, err := e.Make(ctx, &Env{Seeds: 3}, store, "1", false)
	require.NoError(t, err)
	require.Equal(t, []string{"stopped before seed 3 had a run"}, r.Failed)
	require.Equal(t, 2, r.Seeds)
	stop = func() {}
	r, err = e.Make(t.Context(), &Env{Seeds: 3}, store, "1", false)
	require.NoError(t, err)
	require.Equal(t, map[uint64]int{1: 1, 2: 1, 3: 1}, runs)
	require.Empty(t, r.Failed)
	require.Equal(t, 3, r.Seeds)
	require.InDelta(t, 2.1, *r.Comparisons[0].Ours, 1e-9)
	require.InDelta(t, 4.303*0.1/1.7320508, r.Comparisons[0].Interval, 1e-4)
	require.Equal(t, []uint64{1}, relaxed)
	// The mean of c is more than c of the first seed, whose bound then is at the mean.
	require.Equal(t, NotReachable, r.Comparisons[2].Verdict)
	require.InDelta(t, 5.0, r.Comparisons[2].Bounds[0].Value, 1e-9)
	got := map[string]Ordering{}
	for _, o := range r.Orders {
		got[o.More+">"+o.Less] = o.Ordering
	}
	require.Equal(t, map[string]Ordering{
		"a over z>": AsPaper, "b over z>": AsPaper, "c over z>": AsPaper,
		"b over z>a over z": Tie, "a over z>c over z": OtherWay, "b over z>c over z": OtherWay,
	}, got)
	again, err := e.Make(t.Context(), &Env{Seeds: 3}, store, "1", false)
	require.NoError(t, err)
	require.True(t, again.Kept)
	require.Equal(t, r.Comparisons, again.Comparisons)

	for range 2 { // one seed is none
		r, err = e.Make(t.Context(), &Env{Seeds: 1}, store, "1", false)
		require.NoError(t, err)
	}
	require.Equal(t, 1, runs[0])
	require.Zero(t, r.Comparisons[0].Interval)
	require.Empty(t, r.Orders)
	require.Nil(t, (&Env{}).timing())
	e.Timed = false
	_, err = e.Make(t.Context(), &Env{Seeds: 3}, store, "2", false)
	require.NoError(t, err)
	require.Equal(t, 2, runs[0])
	e.Timed, e.Run = true, func(context.Context, *Env) (*Measured, error) { return nil, errors.New("no") }
	_, err = e.Make(t.Context(), &Env{Seeds: 3}, store, "3", false)
	require.ErrorContains(t, err, "t:x: no")
}

// TestOrdersArePaired: what changes with a seed for both does not make a tie.
func TestOrdersArePaired(t *testing.T) {
	e := &Entry{Claims: []Claim{{Name: "a", Unit: "%", Paper: 1, Order: "o"}, {Name: "b", Unit: "%", Paper: 2, Order: "o"}}}
	var list []*Measured
	for i := range 4 {
		list = append(list, &Measured{Values: []Value{{"a", "%", float64(10 * i), 0}, {"b", "%", float64(10*i) + 1 + 0.1*float64(i%2), 0}}})
	}
	orders := e.orders(list)
	require.Len(t, orders, 1)
	require.Equal(t, AsPaper, orders[0].Ordering)
	require.InDelta(t, 1.05, orders[0].By, 1e-9)
	list[0].Values, list[1].Values = list[0].Values[:1], list[1].Values[1:] // seeds without one of them
	orders = e.orders(list)
	require.InDelta(t, 1.05, orders[0].By, 1e-9) // of the last two
	require.Empty(t, e.orders(list[:3]))
}
