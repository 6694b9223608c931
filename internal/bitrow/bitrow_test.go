package bitrow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// functions are the operations of bits, by Op.
var functions = []func(a, b, c int) int{
	func(a, b, _ int) int { return a * b },
	func(a, b, _ int) int { return (a + b) % 2 },
	func(a, b, c int) int { return (a + b + c) % 2 },
	func(a, b, c int) int { return (a + b + c) / 2 },
	func(a, b, c int) int { return a*b + (1-a)*c },
	func(a, b, c int) int { return a * b * c },
	func(a, b, c int) int { return (1 - a*b) * c },
}

// check executes random steps on random rows, one at a time and then at once, and compares
// bit by bit with the definition of each.
func check(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	given := make([]Row, 7)
	for i := range given {
		for k := range given[i] {
			given[i][k] = rng.Uint64()
		}
	}
	steps := make([]Step, 20)
	want := append([]Row(nil), given...)
	for i := range steps {
		st := Step{Op: Op(rng.IntN(len(functions))), Dst: rng.Uint32N(7)}
		for k := range st.In {
			st.In[k] = rng.Uint32N(14)
		}
		steps[i] = st
		before := append([]Row(nil), want...)
		d := &want[st.Dst]
		for k := range d {
			d[k] = 0
			for b := range 64 {
				bit := func(j int) int { return int(before[st.In[j]>>1][k]>>b^uint64(st.In[j])) & 1 }
				d[k] |= uint64(functions[st.Op](bit(0), bit(1), bit(2))) << b
			}
		}
		for _, s := range Sets {
			s.Run(before, nil)
			got := append([]Row(nil), before...)
			s.Run(got, steps[i:i+1])
			require.True(t, slices.Equal(want, got), "%s, %+v", s.Name, st)
		}
	}
	for _, s := range Sets {
		got := append([]Row(nil), given...)
		s.Run(got, steps)
		require.True(t, slices.Equal(want, got), s.Name)
	}
}

func TestSets(t *testing.T) {
	for seed := range uint64(40) {
		check(t, seed)
	}
}

// TestParts executes more steps than are executed at once: a shift through all of them.
func TestParts(t *testing.T) {
	for _, s := range Sets {
		rows := make([]Row, 2)
		steps := make([]Step, 50_001)
		for i := range steps {
			steps[i] = Step{Op: Xor, In: [3]uint32{0, 3, 0}} // row 0 ^= ^row 1
		}
		s.Run(rows, steps)
		require.Equal(t, ^uint64(0), rows[0][5], s.Name)
		s.Run(rows, steps[1:])
		require.Equal(t, ^uint64(0), rows[0][5], s.Name)
	}
}

func FuzzSets(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(check)
}

// BenchmarkRun executes gates of each kind on rows that fit the first cache.
func BenchmarkRun(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 3))
	for op, name := range []string{"and", "xor", "xor3", "maj", "mux", "and3", "and-not"} {
		steps := make([]Step, 1000)
		for i := range steps {
			steps[i] = Step{Op(op), rng.Uint32N(100), [3]uint32{rng.Uint32N(200), rng.Uint32N(200), rng.Uint32N(200)}}
		}
		for _, s := range Sets {
			b.Run(name+"/"+s.Name, func(b *testing.B) {
				rows := make([]Row, 100)
				for b.Loop() {
					s.Run(rows, steps)
				}
				b.ReportMetric(float64(b.N)*float64(len(steps))*64*Words/b.Elapsed().Seconds(), "bits/s")
			})
		}
	}
}
