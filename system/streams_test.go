package system_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// TestStreamsWithSeveralResults runs streams that give two arrays and a sum, of arrays
// in memory and of transposed ones that tensors use before and after, and compares
// with plain Go. The streams are executed once: their operations are counted so.
func TestStreamsWithSeveralResults(t *testing.T) {
	const n, opsEach = 64, 4 // additions: to s, to h twice, to g
	loop := `
		for (int i = 0; i < N; i++) {
			s += g[x[i]];
			h[x[i]] += s;
			g[x[i]] = h[x[i]] + 1;
		}`
	for _, c := range []struct {
		name, before, after string
		tensors             bool
	}{
		{"in memory", "", "", false},
		{"transposed", "for (int i = 0; i < N; i++) { h[i] = h[i] + 3; g[i] = g[i] ^ 5; }", "for (int i = 0; i < N; i++) { h[i] = h[i] ^ s; g[i] = g[i] + h[i]; }", true},
		{"read after", "", "for (int i = 0; i < N; i++) { out[i] = g[i] + h[i]; }", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := `void two(int N, const int x[N], int h[N], int g[N], int out[N], int sum[N]) {
				inf_array(x, N); inf_array(h, N); inf_array(g, N); inf_array(out, N); inf_array(sum, N);
				#pragma bitsched region
				{ int s = 0; ` + c.before + loop + c.after + ` for (int i = 0; i < N; i++) sum[i] = s; } }`
			p, err := cfront.Compile(context.Background(), "two.c", source, cfront.Options{})
			require.NoError(t, err)
			results := 0
			for _, region := range p.Regions() {
				for i, first := range region.Graph.SameStreams() {
					if first != tdfg.None {
						results++
						require.LessOrEqual(t, int(first), i)
					}
				}
			}
			require.Equal(t, 3, results, "%s", p)
			sizes := map[string]int64{"N": n}
			r := rand.New(rand.NewPCG(5, 6))
			m := memory.New()
			require.NoError(t, m.Allocate(p.Arrays, sizes))
			var x [n]int
			var h, g, out [n]int32
			for i := range n {
				x[i], h[i], g[i] = r.IntN(n), int32(r.Uint32()), int32(r.Uint32())
				m.Arrays["x"].Elems[i] = uint64(x[i])
				m.Arrays["h"].Elems[i] = scalar.FromInt(scalar.Int32, int64(h[i]))
				m.Arrays["g"].Elems[i] = scalar.FromInt(scalar.Int32, int64(g[i]))
			}
			if c.before != "" {
				for i := range n {
					h[i], g[i] = h[i]+3, g[i]^5
				}
			}
			var s int32
			for i := range n {
				s += g[x[i]]
				h[x[i]] += s
				g[x[i]] = h[x[i]] + 1
			}
			switch {
			case c.name == "transposed":
				for i := range n {
					h[i] ^= s
					g[i] += h[i]
				}
			case c.name == "read after":
				for i := range n {
					out[i] = g[i] + h[i]
				}
			}
			check := func(m *memory.Memory) {
				for i := range n {
					for name, want := range map[string]int32{"h": h[i], "g": g[i], "out": out[i], "sum": s} {
						require.Equal(t, want, int32(scalar.ToInt(scalar.Int32, m.Arrays[name].Elems[i])), "%s[%d]", name, i)
					}
				}
			}
			plain := m.Clone()
			var stats interp.Stats
			require.NoError(t, interp.Run(context.Background(), p, sizes, plain, interp.Options{Stats: &stats}))
			check(plain)
			require.EqualValues(t, opsEach*n, stats.Streamed)
			for _, fidelity := range []system.Fidelity{system.Gate, system.Word} {
				got := m.Clone()
				report, err := system.Run(context.Background(), p, sizes, got, system.Options{Machine: tile.Default(), Fidelity: fidelity, Check: 1})
				require.NoError(t, err)
				require.Empty(t, report.Reasons)
				check(got)
				require.EqualValues(t, opsEach*n, report.NearOps)
				require.Equal(t, c.tensors, report.NearBytes > 0)
			}
		})
	}
}

// TestStreamsInBetween executes other streams between two nodes with the same ones:
// these read an array as it was, in the buffer that has what the later node gives.
func TestStreamsInBetween(t *testing.T) {
	both := `{
    graph between
    symbol N in [1,inf)
    array h int32[N]
    array g int32[N]
    for i in [0,N) {
      rmw h.1: h[i] = add(@, int32(1))
      rmw g.1: g[i] = add(@, int32(2))
    }
  }`
	p, err := tdfg.ParseProgram("between", `program between
symbol N in [1,inf)
array h int32[N] on 0
array g int32[N] on 0
array k int32[N] on 0
array out int32[N] on 0
region between dims 1 {
  array h int32[N] on 0
  array g int32[N] on 0
  array k int32[N] on 0
  array out int32[N] on 0
  %0 = strm int32 h `+both+`
  %1 = strm int32 k h=%0 {
    graph between
    symbol N in [1,inf)
    array h int32[N]
    array g int32[N]
    array k int32[N]
    for i in [0,N) {
      load h.1: h[i]
      load g.1: g[i]
      store k.1: k[i] = add(h.1, g.1)
    }
  }
  %2 = strm int32 g `+both+`
  %3 = tensor h [0,N)
  %4 = tensor g [0,N)
  %5 = cmp add %3 %4
  store %0 h
  store %1 k
  store %2 g
  store %5 out
}
`)
	require.NoError(t, err)
	g := p.Regions()[0].Graph
	require.Equal(t, []tdfg.NodeID{0, 1, 0, tdfg.None, tdfg.None, tdfg.None}, g.SameStreams())
	const n = 32
	sizes := map[string]int64{"N": n}
	m := memory.New()
	require.NoError(t, m.Allocate(p.Arrays, sizes))
	for i := range n {
		m.Arrays["h"].Elems[i], m.Arrays["g"].Elems[i] = uint64(100*i), uint64(7*i)
	}
	plain, got := m.Clone(), m.Clone()
	require.NoError(t, interp.Run(context.Background(), p, sizes, plain, interp.Options{}))
	report, err := system.Run(context.Background(), p, sizes, got, system.Options{Machine: tile.Default(), Fidelity: system.Gate})
	require.NoError(t, err)
	require.Empty(t, report.Reasons)
	require.EqualValues(t, 3*n, report.NearOps)
	for _, m := range []*memory.Memory{plain, got} {
		for i := range n {
			require.EqualValues(t, 100*i+1, m.Arrays["h"].Elems[i])
			require.EqualValues(t, 7*i+2, m.Arrays["g"].Elems[i])
			require.EqualValues(t, 100*i+1+7*i, m.Arrays["k"].Elems[i])
			require.EqualValues(t, 107*i, m.Arrays["out"].Elems[i])
		}
	}
}
