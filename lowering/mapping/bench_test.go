package mapping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// cpu is the processor time of this process: rates by it stand on a busy machine.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// report gives a rate by the clock and one by processor time.
func report(b *testing.B, n float64, unit string, began time.Duration) {
	b.ReportMetric(n/b.Elapsed().Seconds(), unit+"/s")
	b.ReportMetric(n/(cpu()-began).Seconds(), unit+"/CPU-s")
}

func benchProblem(b *testing.B, work, name string) *Problem {
	o, err := dnn.Parse(work, dnn.DefaultBits)
	if err != nil {
		b.Fatal(err)
	}
	p, err := platform.Load(name)
	if err != nil {
		b.Fatal(err)
	}
	q, err := New(context.Background(), o, p, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return q
}

// BenchmarkEvaluate prices random legal mappings in closed form.
func BenchmarkEvaluate(b *testing.B) {
	for _, name := range platform.Names() {
		b.Run(name, func(b *testing.B) {
			q := benchProblem(b, "table4/C10", name)
			r := rand.New(rand.NewPCG(1, 1))
			var ms []Mapping
			for range 256 {
				if m, ok := q.Random(r, 100); ok {
					ms = append(ms, m)
				}
			}
			var c Cost
			b.ReportAllocs()
			b.ResetTimer()
			began := cpu()
			for i := range b.N {
				if q.Cost(&ms[i%len(ms)], &c) != Legal {
					b.Fatal("illegal")
				}
			}
			report(b, float64(b.N), "evaluations", began)
		})
	}
}

// BenchmarkClock clocks the commands of mappings one by one.
func BenchmarkClock(b *testing.B) {
	for _, name := range platform.Names() {
		b.Run(name, func(b *testing.B) {
			q := benchProblem(b, "table4/C10", name)
			r := rand.New(rand.NewPCG(1, 1))
			var ms []Mapping
			for len(ms) < 4 {
				var c Cost
				if m, ok := q.Random(r, 100); ok && q.Cost(&m, &c) == Legal && c.Waves < 20000 {
					ms = append(ms, m)
				}
			}
			b.ResetTimer()
			began := cpu()
			for i := range b.N {
				if _, err := q.Clock(context.Background(), &ms[i%len(ms)]); err != nil {
					b.Fatal(err)
				}
			}
			report(b, float64(b.N), "mappings", began)
		})
	}
}

// BenchmarkExecute executes a layer at gate fidelity, or by the exact executors.
func BenchmarkExecute(b *testing.B) {
	for _, name := range platform.Names() {
		b.Run(name, func(b *testing.B) {
			q := benchProblem(b, "conv:N=1,K=64,H=14,W=14,C=64,R=3,S=3", name)
			r := rand.New(rand.NewPCG(1, 1))
			var best Mapping
			var c Cost
			least := int64(1) << 62
			for range 300 {
				if m, ok := q.Random(r, 100); ok && q.Cost(&m, &c) == Legal && c.Cycles < least {
					best, least = m, c.Cycles
				}
			}
			v := randomValues(q.Op, r)
			b.ResetTimer()
			began := cpu()
			for range b.N {
				if _, err := q.Execute(context.Background(), &best, ExecuteOptions{Threads: 1}, v...); err != nil {
					b.Fatal(err)
				}
			}
			report(b, float64(q.Op.MACs())*float64(b.N), "MAC", began)
		})
	}
}

// BenchmarkCrossbar executes a matrix that fills crossbars of 128 x 128 cells, by many vectors.
func BenchmarkCrossbar(b *testing.B) {
	for _, adc := range []float64{8, 6} {
		b.Run(fmt.Sprintf("%v-bit converters", adc), func(b *testing.B) {
			o, err := dnn.Parse("gemm:M=2048,K=256,N=64", dnn.DefaultBits)
			if err != nil {
				b.Fatal(err)
			}
			q, err := New(context.Background(), o, load(b, "mvm-reram", "crossbar.adc_bits", adc), Options{})
			if err != nil {
				b.Fatal(err)
			}
			m := Unit()
			m.Swap = true // the weights are the matrix
			f := &q.functions[0]
			for l, x := range o.Loops {
				for d := range f.dims {
					if want := map[string]int{"N": 32, "K": 128}[x.Name]; q.Legal(0, true, d)>>l&1 == 1 && want > 0 {
						m.Factor[SlotDim+d][l] = uint32(want)
						m.Factor[SlotLevel][l] = 2
					}
				}
				if x.Name == "M" {
					m.Factor[SlotWave][l] = uint32(x.Extent)
				}
			}
			m.Factor[SlotLevel][1], m.Factor[SlotLevel+1][1] = 1, 2
			v := randomValues(o, rand.New(rand.NewPCG(1, 1)))
			b.ResetTimer()
			began := cpu()
			for range b.N {
				if _, err := q.Execute(context.Background(), &m, ExecuteOptions{Threads: 1}, v...); err != nil {
					b.Fatal(err)
				}
			}
			report(b, float64(o.MACs())*float64(b.N), "MAC", began)
		})
	}
}
