package core

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/uop"
)

// TestLeave stops a core some of whose micro-ops may not commit, and executes them without time, or takes
// them back before that, so that the thread hands them out again: each is committed once, in order.
func TestLeave(t *testing.T) {
	const n = 900
	for _, x := range []struct {
		stop     event.Time
		from     uint32 // may not commit
		squashed bool
	}{{stop: 5, from: 0}, {stop: 20, from: 0}, {stop: 20, from: 100}, {stop: 200, from: 300}, {stop: 20, from: 100, squashed: true}, {stop: 200, from: 300, squashed: true}} {
		th := &thread{}
		for i := range uint64(n) {
			switch i % 3 {
			case 0:
				th.add(uop.Op{Kind: uop.Store, Addr: 8 * i, Size: 8}, word(i+1))
			case 1:
				th.add(uop.Op{Kind: uop.IntALU, Dst: 1, Src: [3]uop.Reg{1}}, nil)
			default:
				th.add(uop.Op{Kind: uop.Load, Addr: 8 * (i - 2), Size: 8, Dst: 2}, word(i-1))
			}
		}
		e := event.New()
		c := New(e, wide(), 0, nil, func(err error) { require.NoError(t, err) })
		f := &flat{lines: map[mem.Line]*mem.Bytes{}, e: e, c: c}
		c.Connect(f)
		var committed []uint32
		c.OnCommit = func(_ event.Time, op *uop.Op, _ []byte) { committed = append(committed, op.PC) }
		held := true
		c.Hold = func(_ event.Time, op *uop.Op, _ []byte) bool { return held && op.PC >= x.from }
		c.Start(th)
		require.NoError(t, e.Run(context.Background(), x.stop))
		c.Pause(true)
		require.NoError(t, e.Run(context.Background(), event.Forever))
		before := len(committed)
		require.NotEmpty(t, c.Stuck())
		require.True(t, c.Leave())
		require.Empty(t, c.Stuck())
		held = false
		if x.squashed {
			require.True(t, c.Squash(e.Now()))
			th.at = before
			c.Resume(e.Now())
		}
		access := func(_ uint32, line mem.Line, _ bool) *mem.Bytes { return f.line(line) }
		done, err := c.Finish(access, func(mem.Line, bool) {}, e.Now)
		require.NoError(t, err)
		require.Equal(t, int(done.MicroOps), len(committed)-before)
		require.Equal(t, x.squashed, done.MicroOps == 0)
		require.Equal(t, th.at, len(committed), "all that was fetched")
		again, err := c.Finish(access, func(mem.Line, bool) {}, e.Now)
		require.NoError(t, err)
		require.Zero(t, again)
		c.Pause(false)
		require.NoError(t, e.Run(context.Background(), event.Forever))
		require.True(t, c.Done(), c.Waits())
		require.Len(t, committed, n)
		for i, pc := range committed {
			require.EqualValues(t, i, pc)
		}
		for i := uint64(0); i < n; i += 3 {
			require.Equal(t, word(i+1), f.line(8 * i / mem.LineBytes)[8*i%mem.LineBytes:][:8])
		}
	}
}
