package bitmatrix

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var forms = []struct {
	name string
	t32  func(*[32]uint64)
	t64  func(*[64]uint64)
}{
	{"fastest", Transpose32, Transpose64},
	{"go", transpose32, transpose64},
}

// check transposes random matrices in every form and looks at each bit.
func check(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var m [64]uint64
	for i := range m {
		m[i] = rng.Uint64()
	}
	bit := func(m []uint64, i, j int) uint64 { return m[i] >> j & 1 }
	for _, s := range forms {
		got := m
		s.t64(&got)
		for i := range 64 {
			for j := range 64 {
				if bit(got[:], i, j) != bit(m[:], j, i) {
					require.Failf(t, "wrong bit", "%s, 64 x 64: row %d, column %d", s.name, i, j)
				}
			}
		}
		two := [32]uint64(m[:32])
		s.t32(&two)
		for i := range 32 {
			for j := range 64 {
				if bit(two[:], i, j) != bit(m[:], j%32, i+j&32) {
					require.Failf(t, "wrong bit", "%s, 32 x 32: row %d, column %d", s.name, i, j)
				}
			}
		}
	}
}

func TestTranspose(t *testing.T) {
	for seed := range uint64(100) {
		check(t, seed)
	}
}

func FuzzTranspose(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(check)
}

func BenchmarkTranspose(b *testing.B) {
	for _, s := range forms {
		b.Run("32/"+s.name, func(b *testing.B) {
			var m [32]uint64
			for b.Loop() {
				s.t32(&m)
			}
		})
		b.Run("64/"+s.name, func(b *testing.B) {
			var m [64]uint64
			for b.Loop() {
				s.t64(&m)
			}
		})
	}
}
