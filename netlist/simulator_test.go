package netlist

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSimulator compares with Simulate on random networks of all kinds of gates.
func TestSimulator(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		n := randomNetwork(rng, 1+rng.IntN(12), rng.IntN(80), 1+rng.IntN(10))
		s := NewSimulator(n)
		for _, w := range []int{0, 1, 31, 32, 33, 70} {
			in := make([]uint64, n.NumInputs()*w)
			for i := range in {
				in[i] = rng.Uint64()
			}
			out := make([]uint64, n.NumOutputs()*w)
			s.Run(out, in, w)
			require.Equal(t, n.Simulate(in, w), out)
			s = s.Clone()
		}
	}
}

// TestSimulatorSharesRows says that a chain takes as many rows as live values.
func TestSimulatorSharesRows(t *testing.T) {
	n := localNetwork(10_000, And, Xor, Maj, Mux)
	s := NewSimulator(n)
	require.Less(t, len(s.rows), n.NumNodes()/2)
	require.Panics(t, func() { s.Run(nil, make([]uint64, 3), 1) })
}

// BenchmarkSimulator reports gates x patterns a second, beside those of Simulate.
func BenchmarkSimulator(b *testing.B) {
	n := localNetwork(100_000, Xor3, Maj, And)
	const w = 32
	in := make([]uint64, n.NumInputs()*w)
	out := make([]uint64, n.NumOutputs()*w)
	s := NewSimulator(n)
	b.Run("compiled", func(b *testing.B) {
		for b.Loop() {
			s.Run(out, in, w)
		}
		b.ReportMetric(float64(b.N)*float64(len(s.steps))*64*w/b.Elapsed().Seconds(), "gate-patterns/s")
	})
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			n.Simulate(in, w)
		}
		b.ReportMetric(float64(b.N)*float64(len(s.steps))*64*w/b.Elapsed().Seconds(), "gate-patterns/s")
	})
}
