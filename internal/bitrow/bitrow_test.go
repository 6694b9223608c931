package bitrow

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// check computes every function on random rows, also in place, and compares bit by
// bit with its definition.
func check(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	var x [3]Row
	var n [3]uint64
	for i := range x {
		for k := range x[i] {
			x[i][k] = rng.Uint64()
		}
		n[i] = -(rng.Uint64() & 1)
	}
	functions := []struct {
		name string
		want func(a, b, c int) int
		run  func(s *Set, d, a, b, c *Row)
	}{
		{"and", func(a, b, _ int) int { return a * b }, func(s *Set, d, a, b, _ *Row) { s.And(d, a, b, n[0], n[1]) }},
		{"xor", func(a, b, _ int) int { return (a + b) % 2 }, func(s *Set, d, a, b, _ *Row) { s.Xor(d, a, b, n[0], n[1]) }},
		{"xor3", func(a, b, c int) int { return (a + b + c) % 2 }, func(s *Set, d, a, b, c *Row) { s.Xor3(d, a, b, c, n[0], n[1], n[2]) }},
		{"maj", func(a, b, c int) int { return (a + b + c) / 2 }, func(s *Set, d, a, b, c *Row) { s.Maj(d, a, b, c, n[0], n[1], n[2]) }},
		{"mux", func(a, b, c int) int { return a*b + (1-a)*c }, func(s *Set, d, a, b, c *Row) { s.Mux(d, a, b, c, n[0], n[1], n[2]) }},
	}
	for i := range Sets {
		for _, f := range functions {
			for over := range 4 { // into which operand, or a row of its own
				rows := [4]Row{x[0], x[1], x[2]}
				f.run(&Sets[i], &rows[over], &rows[0], &rows[1], &rows[2])
				for k := range Words {
					for b := range 64 {
						bit := func(j int) int { return int((x[j][k]^n[j])>>b) & 1 }
						if got := int(rows[over][k]>>b) & 1; got != f.want(bit(0), bit(1), bit(2)) {
							require.Failf(t, "wrong bit", "%s of %s over operand %d, word %d, bit %d", f.name, Sets[i].Name, over, k, b)
						}
					}
				}
			}
		}
	}
}

func TestSets(t *testing.T) {
	for seed := range uint64(40) {
		check(t, seed)
	}
}

func FuzzSets(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(check)
}

func BenchmarkMaj(b *testing.B) {
	for _, s := range Sets {
		b.Run(s.Name, func(b *testing.B) {
			var rows [4]Row
			for b.Loop() {
				s.Maj(&rows[3], &rows[0], &rows[1], &rows[2], 0, ^uint64(0), 0)
			}
			b.ReportMetric(float64(b.N)*64*Words/b.Elapsed().Seconds(), "bits/s")
		})
	}
}
