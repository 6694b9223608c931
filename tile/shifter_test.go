package tile

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// checkMovers moves a row of a group every way, also in place, and compares bit by bit with
// where the bits of each array go.
func checkMovers(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	c := &Cells{words: 1 << rng.IntN(6)}
	c.cols = 64 * c.words
	s := newShifter(c, &Op{dist: rng.IntN(2*c.cols+1) - c.cols})
	var src, dst, to [sram.GroupWords]uint64
	for k := range src {
		src[k], dst[k], to[k] = rng.Uint64(), rng.Uint64(), s.to[k]&rng.Uint64()
	}
	bit := func(row *[sram.GroupWords]uint64, i int) uint64 { return row[i/64] >> (i % 64) & 1 }
	dist := int(s.q)*64 + int(s.r)
	if s.right {
		dist = -dist
	}
	for _, place := range []bool{false, true} {
		before := dst
		if place {
			before = src
		}
		want := before
		for i := range 64 * sram.GroupWords {
			if bit(&to, i) != 0 {
				require.Equal(t, i/c.cols, (i-dist)/c.cols, "bits come from their own array")
				want[i/64] = want[i/64]&^(1<<(i%64)) | bit(&src, i-dist)<<(i%64)
			}
		}
		for _, m := range movers {
			got := before
			from := &src
			if place {
				from = &got
			}
			m.move(&s, &got, from, &to, new(rowBuffer))
			require.Equal(t, want, got, "%s by %d, %d words, in place %v", m.name, dist, c.words, place)
		}
	}
}

func TestMovers(t *testing.T) {
	for seed := range uint64(200) {
		checkMovers(t, seed)
	}
}

func FuzzMovers(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(checkMovers)
}

// BenchmarkMove moves rows that fit the first cache.
func BenchmarkMove(b *testing.B) {
	c := &Cells{words: 4, cols: 256}
	s := newShifter(c, &Op{dist: 70})
	for _, m := range movers {
		b.Run(m.name, func(b *testing.B) {
			var src, dst [sram.GroupWords]uint64
			var buf rowBuffer
			for b.Loop() {
				m.move(&s, &dst, &src, &s.to, &buf)
			}
		})
	}
}
