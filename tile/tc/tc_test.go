package tc_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/tc"
)

func run(t *testing.T, w *wires) {
	require.NoError(t, w.engine.Run(context.Background(), event.Forever))
}

// TestLocal compares banks that compute by themselves with the sum of their commands: a
// command cache of two commands hides the way of the next one where commands take longer.
func TestLocal(t *testing.T) {
	for _, cycles := range []int64{1, 10, 100} {
		w := controllers(4, 3, func(err error) { t.Error(err) })
		var list []tc.Command
		for range 20 {
			list = append(list, tc.Command{Parts: []tc.Part{{Bank: 0, Cycles: cycles}, {Bank: 3, Cycles: cycles}}})
		}
		end := event.Time(-1)
		w.core.Execute(list, func(now event.Time) { end = now })
		run(t, w)
		// The first comes after 3 cycles, the last report takes 3. Between a report and the
		// command for its place 6 pass, in which the bank has one more to execute.
		between := max(cycles, 6+cycles-cycles)
		if cycles < 6 {
			between = (6 + cycles + 1) / 2 // two places, a round trip and a command
		}
		require.InDelta(t, 3+20*between+3, end, 20, "%d cycles", cycles)
		require.EqualValues(t, 40, w.core.Counters.Commands)
	}
}

// TestBarriers: whatever banks send, the barrier is cleared after the last packet has
// landed, and commands behind it begin later.
func TestBarriers(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		banks := 2 + r.IntN(6)
		w := controllers(banks, 1+event.Time(r.IntN(40)), func(err error) { t.Error(err) })
		var list []tc.Command
		packets := 0
		for range 1 + r.IntN(8) {
			for range r.IntN(4) {
				k := tc.Command{}
				for b := range banks {
					if r.IntN(2) > 0 {
						continue
					}
					p := tc.Part{Bank: b, Cycles: int64(1 + r.IntN(50)), Tree: 1}
					for range r.IntN(3) {
						n := 1 + r.IntN(5)
						p.Flows = append(p.Flows, tc.Flow{To: r.IntN(banks), Packets: n})
						packets += n
					}
					k.Parts = append(k.Parts, p)
				}
				list = append(list, k)
			}
			list = append(list, tc.Command{Sync: true})
		}
		done := false
		w.core.Execute(list, func(event.Time) { done = true })
		run(t, w)
		require.True(t, done, "seed %d: %s", seed, w.core.Waits())
		require.Equal(t, packets, w.sent[tc.MsgData])
		require.Empty(t, w.core.Waits())
	}
}

// TestWalk: stops take their rows and operations, and the way between them.
func TestWalk(t *testing.T) {
	w := controllers(3, 7, func(err error) { t.Error(err) })
	end := event.Time(-1)
	w.core.Walk([]tc.Walk{{Stops: []tc.Stop{{Bank: 0, Tree: 32, Ops: 4}, {Bank: 2, Tree: 8, Ops: 1}}, Bytes: 8}}, func(now event.Time) { end = now })
	run(t, w)
	require.EqualValues(t, 7+36+7+9+7, end)
	w = controllers(1, 7, func(err error) { t.Error(err) }) // five operations of which three wait for each other
	w.core.Walk([]tc.Walk{{Stops: []tc.Stop{{Bank: 0, Tree: 32, Ops: 5, Chain: 3}}}}, func(now event.Time) { end = now })
	run(t, w)
	require.EqualValues(t, 7+32+3*3+7, end)
}

// TestLost loses a message of each kind: nothing goes on, and the report says what
// TC_core waits for; or a barrier that is cleared too early is found.
func TestLost(t *testing.T) {
	list := []tc.Command{
		{Parts: []tc.Part{{Bank: 1, Cycles: 10, Tree: 4, Flows: []tc.Flow{{To: 0, Packets: 3}}}}},
		{Sync: true},
		{Parts: []tc.Part{{Bank: 0, Cycles: 10}}},
	}
	for _, kind := range []tc.MessageKind{tc.MsgCommand, tc.MsgFree, tc.MsgData, tc.MsgCount, tc.MsgReport, tc.MsgArrived, tc.MsgClear} {
		w := controllers(2, 5, func(err error) { t.Error(err) })
		lost := false
		w.drop = func(m *tc.Message) bool {
			if m.Kind == kind && !lost {
				lost = true
				return true
			}
			return false
		}
		done := false
		w.core.Execute(list, func(event.Time) { done = true })
		run(t, w)
		require.True(t, lost, kind)
		require.False(t, done, kind)
		require.NotEmpty(t, w.core.Waits(), kind)
	}
	// Packets that nobody tells of.
	var found error
	w := controllers(2, 5, func(err error) { found = err })
	w.drop = func(m *tc.Message) bool {
		if m.Kind == tc.MsgReport {
			m.Count = 0
		}
		return m.Kind == tc.MsgData
	}
	w.core.Execute(list, func(event.Time) {})
	run(t, w)
	require.ErrorContains(t, found, "the barrier is cleared with 0 packets of 3 landed")
}

func TestSpec(t *testing.T) {
	s := spec()
	require.NoError(t, s.Validate())
	for _, change := range []func(*tc.Spec){
		func(s *tc.Spec) { s.CommandBytes = 65 }, func(s *tc.Spec) { s.Requests = 0 }, func(s *tc.Spec) { s.Preprocess = -1 }, func(s *tc.Spec) { s.TreeBytes = 0 },
	} {
		x := *s
		change(&x)
		require.Error(t, x.Validate())
	}
}

// TestFreed counts by hand: a quarter of a cache of 16 commands is told of at a time, what is left
// before a barrier with it, and the rest at the end.
func TestFreed(t *testing.T) {
	w := controllersOf(&tc.Spec{CacheBytes: 16 * 32, CommandBytes: 32, Requests: 1, LineCycles: 1, WalkOps: 1, TreeBytes: 1, PacketBytes: 1}, 1, 3, func(err error) { t.Error(err) })
	compute := tc.Command{Parts: []tc.Part{{Bank: 0, Cycles: 10}}}
	list := slices.Repeat([]tc.Command{compute}, 17)
	list = append(list, tc.Command{Sync: true}, compute, compute, compute)
	done := false
	w.core.Execute(list, func(event.Time) { done = true })
	run(t, w)
	require.True(t, done)
	require.Equal(t, 4+1, w.sent[tc.MsgFree])
	require.Equal(t, 1, w.sent[tc.MsgReport])
	require.EqualValues(t, 20, w.core.Counters.Commands)
}
