package se

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/mem"
)

// TestBehind compares what streams that ask for others behind them are told, with the
// definition: one of the same team and stride, in the same part of the array, at an earlier line of its way.
func TestBehind(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const unit = 1024
	asked, any, can := 0, 0, 0
	for range 300 {
		b := &Bank{spec: &Spec{Broadcast: true, Unit: unit, Requests: 2, Teams: []int32{0, 0, 1, 1}}}
		for range 1 + r.IntN(20) {
			s := Stream{Kind: Load, Base: unit * uint64(1+r.IntN(3)), Stride: []int64{0, 4, -4, 64, -64}[r.IntN(5)]}
			g := &Group{N: 1000, Lanes: 1, Range: 16, Streams: []Stream{s}, SyncFree: true, Decoupled: r.IntN(8) > 0}
			h := &head{core: r.IntN(4), g: g, next: int64(r.IntN(300)), limit: 1000, asked: int32(r.IntN(3))}
			if r.IntN(4) == 0 {
				h.limit = h.next
			}
			b.add(h)
		}
		for again := range 8 {
			for range len(b.heads.list) {
				h := b.heads.list[r.IntN(len(b.heads.list))]
				s := &h.g.Streams[0]
				if !h.g.Decoupled || s.Stride == 0 {
					require.False(t, b.waits(0, h))
					continue
				}
				wantAny, wantCan := false, false
				for _, o := range b.heads.list {
					x := &o.g.Streams[0]
					if !o.g.Decoupled || x.Stride != s.Stride || o.core/2 != h.core/2 {
						continue
					}
					to, from := h.g.address(0, h.next), o.g.address(0, o.next)
					if from/unit != to/unit || from/mem.LineBytes == to/mem.LineBytes || (from < to) != (s.Stride > 0) {
						continue
					}
					wantAny = true
					wantCan = wantCan || o.next < o.limit && o.asked < 2
				}
				require.True(t, b.broadcasts(h))
				gotAny, gotCan := b.behind(h)
				require.Equal(t, []bool{wantAny, wantCan}, []bool{gotAny, gotCan}, "pass %d", again)
				asked++
				if wantAny {
					any++
				}
				if wantCan {
					can++
				}
			}
			o := b.heads.list[r.IntN(len(b.heads.list))] // one goes on
			switch r.IntN(4) {
			case 0:
				b.leave(o)
				b.add(&head{core: o.core, g: o.g, next: o.next, limit: 1000})
			case 1:
				o.asked = int32(r.IntN(3))
				b.changed(o)
			default:
				o.next += 16
				o.limit = max(o.limit, o.next)
				b.changed(o)
			}
		}
	}
	require.Greater(t, any, asked/20)
	require.Greater(t, can, asked/40)
	require.Less(t, can, any)
}
