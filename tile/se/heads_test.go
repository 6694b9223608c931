package se

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/mem"
)

// TestHeads compares what a bank notes of its streams, while they come, go on and leave, with what each of them
// says: whether it can go on, in turn from anywhere, and which others read its line with it.
func TestHeads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	together, removed := 0, 0
	for range 100 {
		b := &Bank{spec: &Spec{Broadcast: true, Unit: 256, Requests: 2, Teams: []int32{0, 0, 1, 1}}}
		var model []*head // in the order in which they came
		for range 200 {
			switch n := len(model); {
			case n == 0 || r.IntN(4) == 0:
				s := Stream{Kind: []Kind{Load, Load, Load, Reduce}[r.IntN(4)], Base: 256 * uint64(1+r.IntN(2)), Stride: []int64{0, 4, -4, 8}[r.IntN(4)], Bytes: 4, Indirect: r.IntN(8) == 0}
				g := &Group{N: 64, Lanes: 1, Range: 16, Streams: []Stream{s}, SyncFree: true, Decoupled: r.IntN(8) > 0}
				h := &head{core: r.IntN(4), g: g, limit: int64(r.IntN(3))}
				model = append(model, h)
				b.add(h)
			case r.IntN(5) == 0:
				i := r.IntN(n)
				b.leave(model[i])
				model[i].asked++
				b.changed(model[i]) // an answer that comes when it has left
				model = slices.Delete(model, i, i+1)
				removed++
			default:
				h := model[r.IntN(n)]
				h.next = int64(r.IntN(64))
				h.limit = h.next + int64(r.IntN(3))
				h.asked, h.armed = int32(r.IntN(3)), r.IntN(8) == 0
				b.changed(h)
			}
			require.Equal(t, model, b.heads.list)
			may := func(h *head) bool {
				return h.g.Streams[0].Indirect || h.next < h.limit && h.asked < 2 && !h.armed
			}
			if n := len(model); n > 0 {
				turn, count := r.IntN(2*n), r.IntN(n+1)
				var want []int
				for k := range count {
					if i := (turn + k) % n; may(model[i]) {
						want = append(want, i)
					}
				}
				require.Equal(t, want, slices.Collect(b.heads.from(turn, count)))
			}
			for _, h := range model {
				if !b.broadcasts(h) {
					continue
				}
				var want []*head
				for _, o := range model {
					if o != h && o.core/2 == h.core/2 && b.broadcasts(o) && may(o) && o.g.address(0, o.next)/mem.LineBytes == h.g.address(0, h.next)/mem.LineBytes {
						want = append(want, o)
					}
				}
				got := b.beside(h)
				require.Equal(t, want, got)
				together += len(want)
			}
		}
		for len(b.heads.list) > 0 {
			b.remove(0)
		}
		require.Empty(t, b.heads.near)
		for _, s := range b.heads.free { // streams that have ended take no memory
			for _, h := range s.list[:cap(s.list)] {
				require.Nil(t, h)
			}
		}
	}
	require.Greater(t, together, 1000)
	require.Greater(t, removed, 1000)
}
