package mem

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/hugepage"
)

// TestDirectory holds a directory that grows and shrinks against a map.
func TestDirectory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	d := newDirectory(new(hugepage.Slab))
	want := map[Line]uint64{}
	waiting := map[Line][]int16{}
	for step := range 60_000 {
		lines := 300
		if step/10_000%2 == 1 {
			lines = 30 // most are forgotten
		}
		line := Line(rng.IntN(lines)) * 64
		i := d.entry(line)
		e := &d.slots[i]
		require.Equal(t, line, e.line)
		require.Equal(t, want[line], e.sharers)
		switch rng.IntN(4) {
		case 0, 1:
			e.state, e.sharers = HS, rng.Uint64()|1
			want[line] = e.sharers
		case 2:
			d.wait(i, &Message{Asks: int16(step)})
			waiting[line] = append(waiting[line], int16(step))
		default:
			if e.queue != noQueue {
				require.Equal(t, waiting[line][0], d.next(i).Asks)
				waiting[line] = waiting[line][1:]
			} else {
				e.state, e.sharers = HI, 0
				delete(want, line)
			}
		}
		if e.queue == noQueue {
			require.Empty(t, waiting[line])
		}
		d.forget(i)
	}
	known := map[Line]bool{}
	for line := range want {
		known[line] = true
	}
	for line, w := range waiting {
		if len(w) > 0 {
			known[line] = true
		}
	}
	require.Equal(t, len(known), d.n)
	for line := range known {
		require.Equal(t, want[line], d.slots[d.entry(line)].sharers)
	}
}
