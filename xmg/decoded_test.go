package xmg

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecoded(t *testing.T) { testPass(t, Decoded) }

// randomTables returns random functions of n inputs, each pattern true with
// chance ones of 8.
func randomTables(r *rand.Rand, n, functions, ones int) [][]uint64 {
	fs := make([][]uint64, functions)
	for i := range fs {
		fs[i] = make([]uint64, 1<<max(0, n-6))
		for p := range 1 << n {
			if r.IntN(8) < ones {
				fs[i][p/64] |= 1 << (p % 64)
			}
		}
		for p := 1 << n; p < 64; p++ { // tables of fewer than 64 patterns repeat
			fs[i][0] |= fs[i][0] >> (p % (1 << n)) & 1 << p
		}
	}
	return fs
}

func TestMakeTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	for n := decodedRows; n <= decodedSignals; n++ {
		for _, ones := range []int{0, 1, 4, 8} {
			fs := randomTables(r, n, 5, ones)
			g := New("tables")
			var in []Lit
			for range n {
				in = append(in, g.AddInput(""))
			}
			for _, l := range makeTables(g, in, fs) {
				g.AddOutput("", l)
			}
			require.NoError(t, g.Check())
			words, w := allPatterns(n)
			got := g.Simulate(words, w)
			for i, f := range fs {
				require.Equal(t, f, got[i*w:][:w], "function %d of %d inputs", i, n)
			}
		}
	}
}

// tableGraph makes functions of 8 signals, each the MAJ of some inputs, as ORs
// of minterms.
func tableGraph(fs [][]uint64) *Graph {
	g := New("tables")
	var in []Lit
	for range 14 {
		in = append(in, g.AddInput(""))
	}
	var signals [8]Lit
	for i := range signals {
		signals[i] = g.Maj(in[i], in[i+2], in[i+6])
	}
	minterms := make([]Lit, 256)
	for p := range minterms {
		minterms[p] = True
		for i, s := range signals {
			minterms[p] = g.And(minterms[p], s.NotIf(p>>i&1 == 0))
		}
	}
	for _, f := range fs {
		or := False
		for p, m := range minterms {
			if f[p/64]>>(p%64)&1 != 0 {
				or = g.Or(or, m)
			}
		}
		// What uses the functions is no part of the tables.
		g.AddOutput("", g.Maj(or, in[0], in[11]))
		g.AddOutput("", or)
	}
	return g
}

// A function of 8 signals takes 23 gates, and all of them share a few hundred.
func TestDecodedTables(t *testing.T) {
	const functions = 40
	r := rand.New(rand.NewPCG(2, 8))
	g := tableGraph(randomTables(r, 8, functions, 4))
	got, err := Decoded(context.Background(), g, Options{})
	require.NoError(t, err)
	require.NoError(t, got.Check())
	require.Less(t, got.NumGates(), functions*(23+1)+8+11+350)
	in := randomWords(14 * 64)
	require.True(t, equalWords(got.Simulate(in, 64), g.Simulate(in, 64)))
}

// A signal that depends on a table is no signal of the same table.
func TestDecodedSignalsOfTables(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	g := tableGraph(randomTables(r, 8, 12, 4))
	outs := g.Outputs()
	x := True
	for _, o := range outs {
		x = g.And(x, o.Lit)
	}
	y := g.Xor(x, outs[0].Lit, outs[3].Lit)
	g.AddOutput("", g.Mux(y, outs[5].Lit, MakeLit(3, false)))
	got, err := Decoded(context.Background(), g, Options{})
	require.NoError(t, err)
	require.NoError(t, got.Check())
	in := randomWords(14 * 64)
	require.True(t, equalWords(got.Simulate(in, 64), g.Simulate(in, 64)))
	require.Less(t, got.NumGates(), g.NumGates()/2)
}
