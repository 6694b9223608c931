package xmg

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/xmg/internal/sat"
)

// SAT and exhaustive search agree on the gates that functions of four inputs
// need.
func TestExactSearchAgreesWithLibrary(t *testing.T) {
	lib := fourInputs()
	for class := 0; class < len(lib.first)-1; class += 5 {
		r := &lib.structures[lib.first[class]]
		f := truth6(spreadTable(uint64(r.truth(inputTruth)), 4))
		f, _, n := f.compact()
		if r.n < 1 || r.n > 4 {
			continue
		}
		if r.n > 1 {
			require.Equal(t, sat.Unsat, newExactSearch(f, n, int(r.n)-1).run(1<<40), "%04x with %d gates", uint16(f), r.n-1)
		}
		require.Equal(t, sat.Sat, newExactSearch(f, n, int(r.n)).run(1<<40), "%04x with %d gates", uint16(f), r.n)
	}
}

func TestCanonical(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 6 {
		for range 20 {
			f := truth6(spreadTable(r.Uint64(), n))
			rep, place := f.canonical(n)
			require.LessOrEqual(t, rep, f^-(f&1))
			// The placement says how the function follows from it.
			for x := range 64 {
				y := 0
				for j, k := range place.order[:n] {
					y |= (x>>k ^ int(place.neg)>>k) & 1 << j
				}
				require.Equal(t, f>>x&1 != 0, (rep>>y&1 != 0) != place.complement)
			}
			// Another one of the class has the same.
			g := truth6(0)
			order, neg, flip := r.Perm(n), r.IntN(64), truth6(r.IntN(2))
			for x := range 64 {
				y := 0
				for j, k := range order {
					y |= (x>>k ^ neg>>k) & 1 << j
				}
				g |= (f>>y&1 ^ flip) << x
			}
			again, _ := g.canonical(n)
			require.Equal(t, rep, again)
		}
	}
}

// majorityTable is the majority of n inputs.
func majorityTable(n int) (table uint64) {
	for x := range 1 << n {
		if bits.OnesCount(uint(x)) > n/2 {
			table |= 1 << x
		}
	}
	return table
}

func TestExact(t *testing.T) {
	parity := uint64(0)
	for x := range 64 {
		parity |= uint64(bits.OnesCount(uint(x))&1) << x
	}
	ctx := context.Background()
	for _, c := range []struct {
		name          string
		table         uint64
		inputs, gates int
		proved        bool
	}{
		{"false", 0, 0, 0, true},
		{"true", 1, 0, 0, true},
		{"input", 0xc, 2, 0, true},
		{"majority of three", majorityTable(3), 3, 1, true},
		{"majority of three of five", majorityTable(3) | majorityTable(3)<<8 | majorityTable(3)<<16 | majorityTable(3)<<24, 5, 1, true},
		{"parity of six", parity, 6, 3, true},
		{"no parity of six", ^parity, 6, 3, true},
		{"majority of five", majorityTable(5), 5, 4, true},
		{"multiplexer of four", 0xff00f0f0ccccaaaa, 6, 6, false},
	} {
		g, proved, err := Exact(ctx, c.table, c.inputs, ExactOptions{Conflicts: 2000})
		require.NoError(t, err)
		require.NoError(t, g.Check())
		in, w := allPatterns(c.inputs)
		got := g.Simulate(in, w)[0]
		require.Equal(t, spreadTable(c.table, c.inputs), spreadTable(got, c.inputs), c.name)
		require.Equal(t, c.gates, g.NumGates(), c.name)
		require.Equal(t, c.proved, proved, c.name)
	}
	_, _, err := Exact(ctx, 0, 7, ExactOptions{})
	require.Error(t, err)
	// Any function, however little time there is.
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	r := rand.New(rand.NewPCG(9, 9))
	for inputs := range 7 {
		table := r.Uint64()
		g, proved, err := Exact(ctx, table, inputs, ExactOptions{})
		require.NoError(t, err)
		require.Equal(t, inputs <= 4, proved)
		in, w := allPatterns(inputs)
		require.Equal(t, spreadTable(table, inputs), spreadTable(g.Simulate(in, w)[0], inputs))
	}
}

// Functions of five inputs that some gates make, against all that fewer make.
func TestExactIsMinimal(t *testing.T) {
	items := []uint32{0, 0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000}
	gates := func(i, j, k int, f func(uint32)) {
		a, b, c := items[i], items[j], items[k]
		for _, f0 := range [...]uint32{a ^ b ^ c, a&b | a&c | b&c, ^a&b | ^a&c | b&c, a&^b | a&c | ^b&c, a&b | a&^c | b&^c} {
			f(f0)
		}
	}
	const most = 2
	least := map[uint32]int{}
	var extend func(n int)
	extend = func(n int) {
		for i := range items {
			for j := range items[:i] {
				for k := range items[:j] {
					gates(i, j, k, func(f uint32) {
						if old, ok := least[f]; !ok || n < old {
							least[f] = n
						}
						if n < most {
							items = append(items, f)
							extend(n + 1)
							items = items[:len(items)-1]
						}
					})
				}
			}
		}
	}
	extend(1)
	r := rand.New(rand.NewPCG(8, 8))
	few, many := 0, 0
	for try := range 800 {
		made := 2 + try%3
		for range made {
			p := r.Perm(len(items))
			if len(items) > 6 { // not too simple
				p[0] = len(items) - 1
			}
			op, at := r.IntN(5), 0
			gates(p[0], p[1], (p[1]+1)%len(items), func(f uint32) {
				if at == op {
					defer func() { items = append(items, f) }()
				}
				at++
			})
		}
		f := items[len(items)-1]
		items = items[:6]
		_, _, n := truth6(spreadTable(uint64(f), 5)).compact()
		if n < 5 {
			continue
		}
		g, proved, err := Exact(context.Background(), uint64(f), 5, ExactOptions{})
		require.NoError(t, err)
		require.True(t, proved)
		require.LessOrEqual(t, g.NumGates(), made)
		if want, ok := least[f]; ok {
			require.Equal(t, want, g.NumGates())
			few++
		} else {
			require.Greater(t, g.NumGates(), most)
			many++
		}
	}
	t.Logf("%d functions of two gates, %d of more", few, many)
	require.Greater(t, few, 3)
	require.Greater(t, many, 10)
}

func TestExactRewrite(t *testing.T) {
	testPass(t, func(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
		g, err := ExactRewrite(ctx, g, ExactOptions{Conflicts: 30, Progress: opt.Progress})
		if err == nil {
			err = ctx.Err()
		}
		return g, err
	})
}

// sumOfProducts is the majority of five, plainly, and a sixth input.
func sumOfProducts(outputs int) *Graph {
	g := New("majority")
	var in []Lit
	for range 6 {
		in = append(in, g.AddInput(""))
	}
	or := False
	for a := range in[:5] {
		for b := range in[:a] {
			for c := range in[:b] {
				or = g.Or(or, g.And(g.And(in[a], in[b]), in[c]))
			}
		}
	}
	for i := range outputs {
		g.AddOutput("y", g.Xor2(or^Lit(i), in[5]))
	}
	return g
}

func TestExactRewriteGains(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for outputs := 1; outputs <= 2; outputs++ { // as a whole, and inside
		g := sumOfProducts(outputs)
		m, err := ExactRewrite(ctx, g, ExactOptions{Conflicts: 2000})
		require.NoError(t, err)
		require.NoError(t, m.Check())
		require.Equal(t, 5, m.NumGates())
		in, w := allPatterns(6)
		require.Equal(t, g.Simulate(in, w), m.Simulate(in, w))
		require.Equal(t, "majority", m.Name)
		require.Equal(t, "y", m.Output(0).Name)
	}
	// Without work or time nothing is found, and nothing is lost.
	g := sumOfProducts(2)
	m, err := ExactRewrite(ctx, g, ExactOptions{Work: 1})
	require.NoError(t, err)
	require.Greater(t, m.NumGates(), 5)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	m, err = ExactRewrite(ctx, g, ExactOptions{})
	require.NoError(t, err)
	require.Equal(t, g.NumGates(), m.NumGates())
}
