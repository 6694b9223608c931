package netlist

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// cubeTable evaluates a product pattern by pattern.
func cubeTable(c cube, k int) uint64 {
	var t uint64
	for p := range 1 << k {
		if uint8(p)&c.mask == c.value {
			t |= 1 << p
		}
	}
	return t
}

// A sum of products covers exactly its table, and needs every product.
func TestISOP(t *testing.T) {
	check := func(table uint64, k int) {
		cubes := isop(table, k, nil)
		var sum uint64
		for i, c := range cubes {
			sum |= cubeTable(c, k)
			var others uint64
			for j, d := range cubes {
				if j != i {
					others |= cubeTable(d, k)
				}
			}
			require.NotZero(t, cubeTable(c, k)&^others, "table %x: product %d is not needed", table, i)
		}
		require.Equal(t, table, sum)
	}
	for k := range 5 {
		for table := range uint64(1) << (1 << k) {
			check(table, k)
		}
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range 2000 {
		check(rng.Uint64()&rng.Uint64(), 6)
		check(rng.Uint64()&tableMask(5), 5)
	}
}

// Every table of up to three inputs is built as itself. The numbers of tables
// that are one gate are the sizes of the classes of the gates under permutation
// and complements: 8 of AND, 2 of XOR, 2 of XOR3, 8 of MAJ, 24 of MUX.
func TestMatcher(t *testing.T) {
	m := newMatcher()
	kinds := map[Kind]int{}
	for k := range 4 {
		for table := range uint64(1) << (1 << k) {
			n := New("")
			var in []Lit
			for range k {
				in = append(in, n.AddInput(""))
			}
			n.AddOutput("", m.build(n, in, table))
			require.NoError(t, n.Check())
			words, w := patterns(n)
			require.Equal(t, table, n.Simulate(words, w)[0]&tableMask(k), "%d inputs, table %x", k, table)
			require.LessOrEqual(t, n.NumGates(), 1)
			if n.NumGates() == 1 {
				kinds[n.Kind(n.NumNodes()-1)]++
			}
		}
	}
	require.Equal(t, map[Kind]int{And: 8, Xor: 2, Xor3: 2, Maj: 8, Mux: 24, LUT: 4 + 254 - 34}, kinds)
}

// Complementing and fixing inputs of a table, against its definition.
func TestTableInputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 200 {
		k := 1 + rng.IntN(MaxLUT)
		table := rng.Uint64() & tableMask(k)
		for j := range k {
			flipped := flipInput(table, j) & tableMask(k)
			for p := range uint(1) << k {
				require.Equal(t, table>>p&1, flipped>>(p^1<<j)&1)
			}
			for _, value := range []bool{false, true} {
				fixed := fixInput(table, k, j, value)
				for p := range uint(1) << (k - 1) {
					full := p>>j<<(j+1) | p&(1<<j-1)
					if value {
						full |= 1 << j
					}
					require.Equal(t, table>>full&1, fixed>>p&1)
				}
				require.Zero(t, fixed&^tableMask(k-1))
			}
		}
	}
	require.Equal(t, 64, bits.OnesCount64(tableMask(6)))
}

// Words are looked up by binary search.
func TestKeywordsSorted(t *testing.T) {
	require.True(t, slices.IsSorted(verilogKeywords[:]))
	require.True(t, isKeyword([]byte("assign")))
	require.False(t, isKeyword([]byte("assigns")))
}
