package bdd

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const vars = 5

// value evaluates a function.
func (m *Manager) value(e Edge, pattern int) bool {
	for e>>1 != 0 {
		then, els := m.Branches(e, m.Level(e))
		if pattern>>m.Level(e)&1 != 0 {
			e = then
		} else {
			e = els
		}
	}
	return e == True
}

func (m *Manager) truth(e Edge) (t uint32) {
	for p := range 1 << vars {
		if m.value(e, p) {
			t |= 1 << p
		}
	}
	return t
}

// Random functions and their truth tables agree, equal tables are equal edges, and sums
// of products are the function, without a product or literal that could be left out.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := New(1<<14, nil)
		edges, tables := []Edge{False, True}, []uint32{0, ^uint32(0)}
		for v := range uint32(vars) {
			e, err := m.Var(v)
			require.NoError(t, err)
			edges, tables = append(edges, e), append(tables, m.truth(e))
		}
		for range 60 {
			i, j, k := r.IntN(len(edges)), r.IntN(len(edges)), r.IntN(len(edges))
			a, b, c := edges[i], edges[j].Not(), edges[k]
			x, y, z := tables[i], ^tables[j], tables[k]
			var e Edge
			var want uint32
			var err error
			switch r.IntN(4) {
			case 0:
				e, err = m.And(a, b)
				want = x & y
			case 1:
				e, err = m.Or(a, b)
				want = x | y
			case 2:
				e, err = m.Xor(a, b)
				want = x ^ y
			case 3:
				e, err = m.Maj(a, b, c)
				want = x&y | x&z | y&z
			}
			require.NoError(t, err)
			require.Equal(t, want, m.truth(e))
			for n, other := range tables {
				require.Equal(t, other == want, edges[n] == e)
			}
			edges, tables = append(edges, e), append(tables, want)
			sum, err := m.Products(e, 1000)
			require.NoError(t, err)
			require.Equal(t, want, tableOf(sum))
			for i, p := range sum {
				rest := append(append([][]Literal{}, sum[:i]...), sum[i+1:]...)
				require.NotEqual(t, want, tableOf(rest), "product %d can be left out", i)
				require.True(t, slices.IsSorted(p))
			}
			own := New(1<<10, nil)
			copied, err := own.Copy(m, e)
			require.NoError(t, err)
			require.Equal(t, want, own.truth(copied))
			require.Equal(t, m.Size(e), len(own.nodes)-1)
		}
	}
}

func tableOf(sum [][]Literal) (t uint32) {
	for p := range 1 << vars {
		for _, product := range sum {
			all := true
			for _, l := range product {
				all = all && p>>(l>>1)&1 == int(1-l&1)
			}
			if all {
				t |= 1 << p
				break
			}
		}
	}
	return t
}

// What does not fit is an error, and so is a sum that is too long.
func TestLimits(t *testing.T) {
	t.Parallel()
	parity := func(m *Manager, n uint32) (Edge, error) {
		e := False
		for v := range n {
			x, err := m.Var(v)
			if err != nil {
				return 0, err
			}
			if e, err = m.Xor(e, x); err != nil {
				return 0, err
			}
		}
		return e, nil
	}
	_, err := parity(New(20, nil), 16)
	require.ErrorIs(t, err, ErrSize)
	m := New(1000, nil)
	e, err := parity(m, 16)
	require.NoError(t, err)
	require.Equal(t, 16, m.Size(e))
	_, err = m.Products(e, 1000)
	require.ErrorIs(t, err, ErrSize)
}
