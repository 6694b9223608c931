package event

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/stats"
)

// TestPhases schedules events at random, also from events, in phases that have not
// passed: they are executed in order of cycle, phase and scheduling.
func TestPhases(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		e := newEngine(64)
		type done struct {
			at    Time
			phase Phase
			seq   int
		}
		var got []done
		seq := 0
		var handlers [phases]Handler
		schedule := func(now Time, from Phase) {
			p := Phase(rng.IntN(int(phases)))
			d := Time(rng.IntN(3)) * Time(rng.IntN(60))
			if d == 0 {
				p = max(p, from)
			}
			e.At(now+d, handlers[p], uint64(seq))
			seq++
		}
		for p := range phases {
			handlers[p] = e.Component(fmt.Sprintf("part[%d]", p)).HandleIn(p, func(now Time, arg uint64) {
				got = append(got, done{now, p, int(arg)})
				for seq < 300 && rng.IntN(3) > 0 {
					schedule(now, p)
				}
			})
		}
		for range 20 {
			schedule(0, Deliver)
		}
		require.NoError(t, e.Run(context.Background(), Forever))
		require.Len(t, got, seq)
		// An event of a cycle that is scheduled within it comes behind those of its phase.
		require.True(t, slices.IsSortedFunc(got, func(a, b done) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.phase, b.phase), cmp.Compare(a.seq, b.seq))
		}))
	}
	e := New()
	early := e.Component("early").HandleIn(Deliver, func(Time, uint64) {})
	late := e.Handle(func(now Time, _ uint64) { e.After(0, early, 0) })
	e.After(5, late, 0)
	require.PanicsWithValue(t, "event: scheduled in a phase of cycle 5 that has passed", func() { _ = e.Run(context.Background(), Forever) })
	require.Panics(t, func() { e.Component("early") }, "a name twice")
	require.Panics(t, func() { e.Component("x").HandleIn(phases, nil) })
}

// TestHooks compares what hooks see with what happens, and that they change nothing.
func TestHooks(t *testing.T) {
	run := func(observe bool) (log, seen []string) {
		e := New()
		tick := e.Component("tick")
		var h Handler
		h = tick.Handle(func(now Time, n uint64) {
			log = append(log, fmt.Sprint(now, " ", n))
			if tick.Observed() {
				tick.Span("count", now, 2)
			}
			if n > 0 {
				e.After(7, h, n-1)
			}
		})
		e.After(1, h, 2)
		if observe {
			detach := e.Attach(&Hooks{
				Event: func(now Time, c *Component, p Phase, arg uint64) {
					seen = append(seen, fmt.Sprintf("event %d %s %d %d", now, c.Name(), p, arg))
				},
				Cycle: func(over, next Time) { seen = append(seen, fmt.Sprintf("cycle %d %d", over, next)) },
				Span: func(c *Component, what string, start, cycles Time) {
					seen = append(seen, fmt.Sprintf("span %s %s %d %d", c.Name(), what, start, cycles))
				},
			})
			defer detach()
		}
		require.NoError(t, e.Run(context.Background(), Forever))
		require.Equal(t, []*Component{tick}, e.Components())
		require.Same(t, e, tick.Engine())
		return log, seen
	}
	want, none := run(false)
	require.Empty(t, none)
	got, seen := run(true)
	require.Equal(t, want, got)
	require.Equal(t, []string{
		"cycle 0 1", "event 1 tick 1 2", "span tick count 1 2",
		"cycle 1 8", "event 8 tick 1 1", "span tick count 8 2",
		"cycle 8 15", "event 15 tick 1 0", "span tick count 15 2",
	}, seen)
}

func TestDetach(t *testing.T) {
	e := New()
	n := [2]int{}
	var detach [2]func()
	for i := range n {
		detach[i] = e.Attach(&Hooks{Event: func(Time, *Component, Phase, uint64) { n[i]++ }})
	}
	h := e.Handle(func(Time, uint64) {})
	step := func() {
		e.After(1, h, 0)
		require.NoError(t, e.Run(context.Background(), Forever))
	}
	step()
	detach[0]()
	step()
	detach[0]()
	detach[1]()
	step()
	require.Equal(t, [2]int{1, 2}, n)
}

// TestStuck names who waits for whom when nothing is left to happen.
func TestStuck(t *testing.T) {
	e := New()
	e.Component("idle").Waits(func() string { return "" })
	e.Component("silent")
	for i := range 10 {
		e.Component(fmt.Sprintf("core[%d]", i)).Waits(func() string { return fmt.Sprintf("line %#x of bank[%d]", 64*i, i) })
	}
	require.NoError(t, e.Run(context.Background(), 100), "the end of time has not come")
	err := e.Run(context.Background(), Forever)
	require.ErrorIs(t, err, ErrStuck)
	require.True(t, strings.HasPrefix(err.Error(), "event: cycle 100: nothing happens any more: core[0] waits for line 0x0 of bank[0]; core[1] waits for "), err)
	require.True(t, strings.HasSuffix(err.Error(), "; and 2 more wait"), err)
}

// TestChecks finds a part that is not as it must be between two cycles, and stops.
func TestChecks(t *testing.T) {
	e := New()
	value := 0
	wrong := errors.New("value is 3")
	c := e.Component("system.part[1]")
	c.Check(func() error {
		if value == 3 {
			return wrong
		}
		return nil
	})
	var h Handler
	h = c.Handle(func(Time, uint64) { value++; e.After(2, h, 0) })
	e.After(2, h, 0)
	hooks, err := e.CheckEvery(1)
	e.Attach(hooks)
	require.NoError(t, e.Run(context.Background(), Forever))
	require.Equal(t, 3, value)
	require.EqualError(t, err(), "event: cycle 6: system.part[1]: value is 3")
	require.ErrorIs(t, e.Check(), wrong)
	value = 4
	require.NoError(t, e.Check())
}

// TestCountersOfComponents reads the counters of parts by name.
func TestCountersOfComponents(t *testing.T) {
	e := New()
	var counters struct {
		Ticks uint64 `desc:"events"`
	}
	c := e.Component("system.clock")
	c.Counters(&counters)
	h := c.Handle(func(Time, uint64) { counters.Ticks++ })
	for i := range 5 {
		e.After(Time(i), h, 0)
	}
	before := e.Registry().Snapshot(e.Now())
	require.NoError(t, e.Run(context.Background(), Forever))
	d := e.Registry().Snapshot(e.Now()).Sub(before)
	require.Equal(t, 5.0, d.Value("system.clock.ticks"))
	require.Equal(t, 5.0, d.Value("engine.executed"))
	require.EqualValues(t, 4, d.Cycles())
	require.Contains(t, e.Registry().Stats(), stats.Stat{Name: "engine.maxPending", Unit: stats.Count, Text: "events yet to be executed, at most"})
}
