package netlist

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// localNetwork makes a network whose gates read signals of the last thousand,
// as mapped circuits do.
func localNetwork(gates int, kinds ...Kind) *Network {
	n := New("local")
	for range 64 {
		n.AddInput("")
	}
	n.Grow(gates)
	rng := rand.New(rand.NewPCG(5, 6))
	lit := func() Lit {
		k := n.NumNodes()
		return MakeLit(k-1-rng.IntN(min(k-1, 1000)), rng.IntN(2) == 0)
	}
	for i := range gates {
		switch kinds[i%len(kinds)] {
		case And:
			n.And(lit(), lit())
		case Xor3:
			n.Xor3(lit(), lit(), lit())
		case Maj:
			n.Maj(lit(), lit(), lit())
		case LUT:
			n.LUT([]Lit{lit(), lit(), lit(), lit(), lit(), lit()}, rng.Uint64())
		}
	}
	for i := range 64 {
		n.AddOutput("", MakeLit(n.NumNodes()-1-i, i%2 == 0))
	}
	return n
}

// Ten million gates come through a pipe within a GiB, all that is ever
// allocated counted.
func TestTenMillionGates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	const gates = 10_000_000
	r, w := io.Pipe()
	first := make(chan node)
	go func() {
		n := localNetwork(gates, And)
		first <- n.nodes[gates/2]
		w.CloseWithError(Write(w, n, AIGER))
	}()
	want := <-first
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n, err := Read(r, "big.aig", ReadOptions{})
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Equal(t, gates, n.NumGates())
	require.ElementsMatch(t, want.fanin[:2], n.Fanins(gates/2))
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<30))
}

func benchmarkRead(b *testing.B, f Format, n *Network) {
	var text bytes.Buffer
	require.NoError(b, Write(&text, n, f))
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		m, err := Read(bytes.NewReader(text.Bytes()), "x", ReadOptions{})
		if err != nil || m.NumOutputs() != n.NumOutputs() {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	gates := float64(b.N) * float64(n.NumGates())
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/gates, "ns/gate")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/gates, "B/gate")
}

func benchmarkWrite(b *testing.B, f Format, n *Network) {
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, n, f); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/(float64(b.N)*float64(n.NumGates())), "ns/gate")
}

func BenchmarkReadAIGER(b *testing.B) { benchmarkRead(b, AIGER, localNetwork(1_000_000, And)) }
func BenchmarkReadAIGERASCII(b *testing.B) {
	benchmarkRead(b, AIGERASCII, localNetwork(1_000_000, And))
}

func BenchmarkReadAIGER10M(b *testing.B) {
	if testing.Short() {
		b.Skip("takes seconds")
	}
	benchmarkRead(b, AIGER, localNetwork(10_000_000, And))
}

func BenchmarkReadVerilog(b *testing.B)   { benchmarkRead(b, Verilog, localNetwork(100_000, Xor3, Maj)) }
func BenchmarkReadBLIF(b *testing.B)      { benchmarkRead(b, BLIF, localNetwork(100_000, LUT)) }
func BenchmarkReadBench(b *testing.B)     { benchmarkRead(b, Bench, localNetwork(100_000, And)) }
func BenchmarkWriteAIGER(b *testing.B)    { benchmarkWrite(b, AIGER, localNetwork(1_000_000, And)) }
func BenchmarkWriteXMGAsAIG(b *testing.B) { benchmarkWrite(b, AIGER, localNetwork(100_000, Xor3, Maj)) }
func BenchmarkWriteVerilog(b *testing.B) {
	benchmarkWrite(b, Verilog, localNetwork(100_000, Xor3, Maj))
}
func BenchmarkWriteBLIF(b *testing.B)  { benchmarkWrite(b, BLIF, localNetwork(100_000, LUT)) }
func BenchmarkWriteBench(b *testing.B) { benchmarkWrite(b, Bench, localNetwork(100_000, And)) }
