package arith

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// benchmarkRun measures whole runs, both transpositions included, on one thread.
func benchmarkRun(b *testing.B, op string, n int) {
	for _, tech := range sram.Technologies() {
		b.Run(tech.Name, func(b *testing.B) {
			o, _, err := Resolve(op, 0)
			require.NoError(b, err)
			if !o.Supports(tech) {
				b.Skip("no program")
			}
			p := mustBuild(b, Spec{Op: op, Tech: tech.Name})
			rng := rand.New(rand.NewPCG(1, 2))
			args := make([][]uint32, len(p.Kernel.Inputs))
			for i := range args {
				args[i] = make([]uint32, n)
				for j := range args[i] {
					args[i][j] = rng.Uint32()
				}
			}
			dst := make([]uint32, n)
			b.ResetTimer()
			for b.Loop() {
				require.NoError(b, Run(context.Background(), p, 1, dst, args...))
			}
			perSecond := float64(b.N) * float64(n) / b.Elapsed().Seconds()
			b.ReportMetric(perSecond, "elements/s")
			b.ReportMetric(perSecond*float64(p.Latency()), "rowop-bitlines/s")
		})
	}
}

func BenchmarkInt32Add(b *testing.B) { benchmarkRun(b, "int32.add", 1<<24) }
func BenchmarkInt32Mul(b *testing.B) { benchmarkRun(b, "int32.mul", 1<<20) }

func BenchmarkTranspose(b *testing.B) {
	p := mustBuild(b, Spec{Op: "int32.add"})
	s := p.code.NewState()
	words := make([]uint32, sram.GroupCols)
	for b.Loop() {
		loadGroup(s, p.Kernel.Inputs[0], words)
	}
	b.ReportMetric(float64(b.N)*sram.GroupCols/b.Elapsed().Seconds(), "words/s")
}

func BenchmarkFP32Add(b *testing.B) { benchmarkRun(b, "fp32.add", 1<<20) }
func BenchmarkFP32Mul(b *testing.B) { benchmarkRun(b, "fp32.mul", 1<<20) }
