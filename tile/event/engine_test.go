package event

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// sorted is an engine by definition: a list that is sorted by time, and by the
// order of scheduling within a cycle.
type sorted struct {
	now    Time
	events []listed
	next   uint64
}

type listed struct {
	at  Time
	id  uint64
	arg uint64
}

func (s *sorted) at(t Time, arg uint64) uint64 {
	s.next++
	i, _ := slices.BinarySearchFunc(s.events, t, func(e listed, t Time) int {
		if e.at <= t {
			return -1
		}
		return 1
	})
	s.events = slices.Insert(s.events, i, listed{t, s.next, arg})
	return s.next
}

func (s *sorted) cancel(id uint64) bool {
	i := slices.IndexFunc(s.events, func(e listed) bool { return e.id == id })
	if i < 0 {
		return false
	}
	s.events = slices.Delete(s.events, i, i+1)
	return true
}

func (s *sorted) run(until Time, f func(now Time, arg uint64) (stop bool)) {
	for len(s.events) > 0 && s.events[0].at <= until {
		e := s.events[0]
		s.events = s.events[1:]
		s.now = e.at
		if f(e.at, e.arg) {
			return
		}
	}
	if until != Forever {
		s.now = max(s.now, until)
	}
}

// delay is mostly short, also 0, and sometimes about the reach of the wheel or
// far beyond.
func delay(rng *rand.Rand, slots int) Time {
	switch rng.IntN(6) {
	case 0:
		return 0
	case 1, 2:
		return Time(rng.IntN(4))
	case 3:
		return Time(rng.IntN(slots))
	case 4:
		return Time(slots - 2 + rng.IntN(4))
	}
	return Time(rng.IntN(20 * slots))
}

// TestEngineIsTheSortedList drives both engines by the same random choices, which
// events make as well: each schedules some further ones and cancels others.
func TestEngineIsTheSortedList(t *testing.T) {
	for seed := range uint64(200) {
		slots := 64 << (seed % 3)
		rng := rand.New(rand.NewPCG(seed, 1))
		e := newEngine(slots)
		s := &sorted{}
		var got, want []string
		var ids []ID
		var others []uint64

		// What an event does follows from its argument alone.
		type act struct {
			delays []Time
			cancel int
			stop   bool
		}
		var acts []act
		plan := func() uint64 {
			a := act{cancel: -1, stop: rng.IntN(30) == 0}
			if len(acts) < 400 {
				for range rng.IntN(4) {
					a.delays = append(a.delays, delay(rng, slots))
				}
			}
			if rng.IntN(3) == 0 {
				a.cancel = rng.IntN(1 + len(acts))
			}
			acts = append(acts, a)
			return uint64(len(acts) - 1)
		}
		// Both engines must draw the same plans: the first one to reach an event
		// draws those that it schedules.
		plans := map[uint64][]uint64{}
		children := func(arg uint64) []uint64 {
			if c, ok := plans[arg]; ok {
				return c
			}
			var c []uint64
			for range acts[arg].delays {
				c = append(c, plan())
			}
			plans[arg] = c
			return c
		}
		var h Handler
		h = e.Handle(func(now Time, arg uint64) {
			require.Equal(t, now, e.Now())
			line := fmt.Sprint(now, arg)
			for i, c := range children(arg) {
				ids = append(ids, e.After(acts[arg].delays[i], h, c))
			}
			if k := acts[arg].cancel; k >= 0 && k < len(ids) {
				line += fmt.Sprint(" ", e.Cancel(ids[k]))
			}
			got = append(got, line)
			if acts[arg].stop {
				e.Stop()
			}
		})
		slow := func(now Time, arg uint64) bool {
			line := fmt.Sprint(now, arg)
			for i, c := range children(arg) {
				others = append(others, s.at(now+acts[arg].delays[i], c))
			}
			if k := acts[arg].cancel; k >= 0 && k < len(others) {
				line += fmt.Sprint(" ", s.cancel(others[k]))
			}
			want = append(want, line)
			return acts[arg].stop
		}
		for range 30 {
			for range rng.IntN(4) {
				d, a := delay(rng, slots), plan()
				ids = append(ids, e.After(d, h, a))
				others = append(others, s.at(s.now+d, a))
			}
			until := e.Now() + delay(rng, slots)
			require.NoError(t, e.Run(context.Background(), until))
			s.run(until, slow)
			require.Equal(t, want, got)
			require.Equal(t, s.now, e.Now())
			next := Forever
			if len(s.events) > 0 {
				next = s.events[0].at
			}
			require.Equal(t, next, e.Next())
			require.EqualValues(t, len(s.events), e.Stats().Pending)
		}
		for len(s.events) > 0 {
			require.NoError(t, e.Run(context.Background(), Forever))
			s.run(Forever, slow)
		}
		require.Equal(t, want, got)
		require.Equal(t, s.now, e.Now())
		st := e.Stats()
		require.Equal(t, uint64(len(got)), st.Executed)
		require.Equal(t, st.Scheduled, st.Executed+st.Cancelled)
		require.Zero(t, st.Pending)
		require.Equal(t, s.next, st.Scheduled)
	}
}

func TestExampleOfThePackage(t *testing.T) {
	e := New()
	var at []Time
	var tick Handler
	tick = e.Handle(func(now Time, n uint64) {
		at = append(at, now)
		if n > 1 {
			e.After(10, tick, n-1)
		}
	})
	e.After(0, tick, 3)
	require.NoError(t, e.Run(context.Background(), Forever))
	require.Equal(t, []Time{0, 10, 20}, at)
	require.Equal(t, Time(20), e.Now())
	require.Equal(t, Forever, e.Next())
}

// TestCancelledRunGoesOn cancels the context within an event.
func TestCancelledRunGoesOn(t *testing.T) {
	e := New()
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("enough")
	count := 0
	var h Handler
	h = e.Handle(func(now Time, left uint64) {
		count++
		if count == 10 {
			cancel(stop)
		}
		if left > 0 {
			e.After(1, h, left-1)
		}
	})
	e.After(0, h, 20_000-1)
	require.ErrorIs(t, e.Run(ctx, Forever), stop)
	require.Less(t, count, 20_000)
	require.EqualValues(t, 1, e.Stats().Pending)
	require.NoError(t, e.Run(context.Background(), Forever))
	require.Equal(t, 20_000, count)
}

func TestCancelKnowsItsEvents(t *testing.T) {
	e := New()
	ran := 0
	h := e.Handle(func(Time, uint64) { ran++ })
	a := e.After(1, h, 0)
	far := e.After(1_000_000, h, 0)
	require.True(t, e.Cancel(a))
	require.False(t, e.Cancel(a))
	b := e.After(1, h, 0) // takes the node of a
	require.NotEqual(t, a, b)
	require.False(t, e.Cancel(a))
	require.True(t, e.Cancel(far))
	require.False(t, e.Cancel(far))
	require.NoError(t, e.Run(context.Background(), Forever))
	require.False(t, e.Cancel(b))
	require.False(t, e.Cancel(0))
	require.False(t, e.Cancel(ID(999)))
	require.Equal(t, 1, ran)
	require.Equal(t, uint64(1), e.Stats().Overflowed)
}

func TestPastPanics(t *testing.T) {
	e := New()
	h := e.Handle(func(Time, uint64) {})
	require.NoError(t, e.Run(context.Background(), 5))
	require.PanicsWithValue(t, "event: scheduled at cycle 4, which has passed at 5", func() { e.At(4, h, 0) })
	e.At(5, h, 0)
	require.Equal(t, Time(5), e.Next())
}

func TestEngineDoesNotAllocate(t *testing.T) {
	e := New()
	rng := rand.New(rand.NewPCG(1, 1))
	var h Handler
	h = e.Handle(func(Time, uint64) { e.After(1+Time(rng.IntN(3000)), h, 0) })
	for range 500 {
		e.After(Time(rng.IntN(3000)), h, 0)
	}
	require.NoError(t, e.Run(context.Background(), 20_000))
	require.Zero(t, testing.AllocsPerRun(5, func() { _ = e.Run(context.Background(), e.Now()+2000) }))
}

// BenchmarkHold executes events each of which schedules another one, with so many
// pending. Delays are uniform up to the given number of cycles: within the reach
// of the wheel, and mostly beyond.
func BenchmarkHold(b *testing.B) {
	for _, pending := range []int{100, 10_000} {
		for _, reach := range []int{500, 10_000} {
			b.Run(fmt.Sprintf("pending=%d/delay=%d", pending, reach), func(b *testing.B) {
				e := New()
				rng := rand.New(rand.NewPCG(1, 1))
				left := 0
				var h Handler
				h = e.Handle(func(Time, uint64) {
					e.After(1+Time(rng.IntN(reach)), h, 0)
					if left--; left == 0 {
						e.Stop()
					}
				})
				for range pending {
					e.After(Time(rng.IntN(reach)), h, 0)
				}
				left = 2 * pending
				_ = e.Run(context.Background(), Forever)
				left = b.N
				b.ReportAllocs()
				b.ResetTimer()
				_ = e.Run(context.Background(), Forever)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

// TestTimeDoesNotGoBack runs to a cycle that has passed, with and without events to come.
func TestTimeDoesNotGoBack(t *testing.T) {
	ctx := context.Background()
	e := New()
	require.NoError(t, e.Run(ctx, 100))
	require.EqualValues(t, 100, e.Now())
	require.NoError(t, e.Run(ctx, 50))
	require.EqualValues(t, 100, e.Now())
	at := Time(-1)
	h := e.Handle(func(now Time, _ uint64) { at = now })
	e.At(120, h, 0)
	require.NoError(t, e.Run(ctx, 50))
	require.EqualValues(t, 100, e.Now())
	require.EqualValues(t, 120, e.Next())
	require.NoError(t, e.Run(ctx, Forever))
	require.EqualValues(t, 120, at)
	require.EqualValues(t, 120, e.Now())
	require.Equal(t, Forever, e.Next())
	require.NoError(t, e.Run(ctx, Forever))
	require.EqualValues(t, 120, e.Now(), "nothing is to come")
}

// TestAhead sees the events of a cycle before they are executed, those of handlers that
// ask for it, and not those of other cycles.
func TestAhead(t *testing.T) {
	e := New()
	var seen []string
	note := func(what string) func(uint64) {
		return func(arg uint64) { seen = append(seen, fmt.Sprint(what, arg)) }
	}
	h := e.Handle(func(_ Time, arg uint64) { note("run ")(arg) })
	quiet := e.Handle(func(_ Time, arg uint64) { note("run ")(arg) })
	e.Ahead(h, note("far "), note("near "))
	e.At(3, h, 0)
	e.At(3, h, 1)
	e.At(3, quiet, 2)
	e.Cancel(e.At(3, h, 7))
	e.At(3, h, 3)
	e.At(4, h, 4)
	require.NoError(t, e.Run(context.Background(), Forever))
	require.Equal(t, []string{"near 1", "run 0", "far 3", "run 1", "near 3", "run 2", "run 3", "run 4"}, seen)
}
