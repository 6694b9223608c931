package lattice_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lattice"
)

var symbols = []string{"N", "M", "k"}

// space has sizes N and M of at least 4 and a loop variable k from 0 to N-2.
func space(t testing.TB) *lattice.Space {
	s := lattice.NewSpace()
	require.NoError(t, s.Declare("N", lattice.Const(4), lattice.Expr{}, false))
	require.NoError(t, s.Declare("M", lattice.Const(4), lattice.Const(9), true))
	require.NoError(t, s.Declare("k", lattice.Const(0), lattice.Sym("N").Plus(-2), true))
	return s
}

// values are those the symbols of space may have, up to N = 12.
func values(f func(v map[string]int64)) {
	for n := int64(4); n <= 12; n++ {
		for m := int64(4); m <= 9; m++ {
			for k := int64(0); k <= n-2; k++ {
				f(map[string]int64{"N": n, "M": m, "k": k})
			}
		}
	}
}

func random(r *rand.Rand) lattice.Expr {
	x := lattice.Const(r.Int64N(9) - 4)
	for _, s := range symbols {
		x = x.Add(lattice.Sym(s).Scale(r.Int64N(5) - 2))
	}
	return x
}

// TestExpr holds the operations against the values of their results.
func TestExpr(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		x, y := random(r), random(r)
		v := map[string]int64{"N": r.Int64N(100), "M": r.Int64N(100), "k": r.Int64N(100)}
		at := func(e lattice.Expr) int64 {
			n, err := e.Eval(v)
			require.NoError(t, err)
			return n
		}
		require.Equal(t, at(x)+at(y), at(x.Add(y)))
		require.Equal(t, at(x)-at(y), at(x.Sub(y)))
		require.Equal(t, at(x)*3, at(x.Scale(3)))
		require.Equal(t, at(x)+5, at(x.Plus(5)))
		require.Equal(t, at(x)+x.Coef("N")*(at(y)-v["N"]), at(x.Subst("N", y)))
		require.True(t, x.Equal(x.Add(y).Sub(y)))
		require.Empty(t, x.Sub(x).Symbols())
		bound, ok := x.Bind(v).Const()
		require.True(t, ok)
		require.Equal(t, at(x), bound)
		back, err := lattice.ParseExpr(x.String())
		require.NoError(t, err)
		require.True(t, x.Equal(back), "%s and %s", x, back)
	}
	_, err := lattice.Sym("N").Eval(nil)
	require.EqualError(t, err, "lattice: no value for N")
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"N": "N", " 2*N - k + 1 ": "2*N-k+1", "-N": "-N", "N+N-3": "2*N-3", "0*N+7": "7", "k-k": "0"} {
		x, err := lattice.ParseExpr(text)
		require.NoError(t, err, text)
		k, _ := lattice.ParseExpr(want)
		require.True(t, x.Equal(k), text)
	}
	for _, text := range []string{"", "+", "N*N", "2**N", "1 2", "N M", "N+", "9999999999999999999"} {
		_, err := lattice.ParseExpr(text)
		require.Error(t, err, text)
	}
	for _, text := range []string{"[0,N)x[k+1,2*M)", "everywhere", "[0,1)"} {
		r, err := lattice.ParseRect(text)
		require.NoError(t, err)
		require.Equal(t, text, r.String())
	}
	for _, text := range []string{"", "[0,N", "[0)", "[0,1)[0,1)", "[0,1)x", "[0,1)y[0,1)"} {
		_, err := lattice.ParseRect(text)
		require.Error(t, err, text)
	}
}

// TestSpaceIsRight holds what a space decides against all values of the symbols.
func TestSpaceIsRight(t *testing.T) {
	s := space(t)
	r := rand.New(rand.NewPCG(2, 2))
	decided := 0
	for range 3000 {
		x, y := random(r), random(r)
		less, err := s.Min(x, y)
		k, bounded := s.AtLeast(x)
		values(func(v map[string]int64) {
			a, _ := x.Eval(v)
			b, _ := y.Eval(v)
			if err == nil {
				m, _ := less.Eval(v)
				require.Equal(t, min(a, b), m, "%s and %s at %v", x, y, v)
			}
			if bounded {
				require.LessOrEqual(t, k, a)
			}
		})
		if err == nil {
			decided++
		}
	}
	require.Greater(t, decided, 300)
}

func TestSpaceDecides(t *testing.T) {
	s := space(t)
	for _, c := range [][3]string{
		{"[0,N-2)", "[1,N)", "[1,N-2)"},
		{"[k,k+1)", "[0,N)", "[k,k+1)"},
		{"[k+1,N)", "[0,N-1)", "[k+1,N-1)"},
		{"everywhere", "[0,M)", "[0,M)"},
		{"[0,M)x[0,N)", "[0,9)x[3,2*N)", "[0,M)x[3,N)"},
	} {
		a, _ := lattice.ParseRect(c[0])
		b, _ := lattice.ParseRect(c[1])
		got, err := s.Intersect(a, b)
		require.NoError(t, err, c)
		require.Equal(t, c[2], got.String())
	}
	n, _ := lattice.ParseRect("[0,N)")
	m, _ := lattice.ParseRect("[0,M)")
	_, err := s.Intersect(n, m)
	require.EqualError(t, err, "dimension 0: lattice: cannot tell whether N or M is less: bind their sizes, or give them bounds")
	require.NoError(t, func() error {
		_, err := s.Bind(map[string]int64{"N": 9}).Intersect(n.Bind(map[string]int64{"N": 9}), m)
		return err
	}())
}

// TestBox holds the operations on boxes against sets of points.
func TestBox(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	box := func() lattice.Box {
		b := make(lattice.Box, 2)
		for d := range b {
			b[d].Lo = r.Int64N(6)
			b[d].Hi = b[d].Lo + r.Int64N(5)
		}
		return b
	}
	in := func(b lattice.Box, p []int64) bool {
		return b[0].Lo <= p[0] && p[0] < b[0].Hi && b[1].Lo <= p[1] && p[1] < b[1].Hi
	}
	for range 2000 {
		b, c := box(), box()
		var n int64
		contained, same := true, true
		hull := b.Hull(c)
		for x := int64(0); x < 12; x++ {
			for y := int64(0); y < 12; y++ {
				p := []int64{x, y}
				if in(b, p) {
					n++
				}
				contained = contained && (!in(c, p) || in(b, p))
				same = same && in(b, p) == in(c, p)
				require.Equal(t, in(b, p), b.Has(p))
				require.Equal(t, in(b, p) && in(c, p), in(b.Intersect(c), p))
				require.Equal(t, in(b, p), in(b.Shift(1, 3), []int64{x, y + 3}))
				require.True(t, !in(b, p) && !in(c, p) || in(hull, p))
			}
		}
		require.Equal(t, n, b.Size())
		require.Equal(t, n == 0, b.Empty())
		require.Equal(t, contained, b.Contains(c))
		require.Equal(t, same, b.Equal(c))
		if !b.Empty() {
			var i int64
			for p, more := b.First(), true; more; more = b.Next(p) {
				require.Equal(t, i, b.Index(p))
				require.True(t, in(b, p))
				i++
			}
			require.Equal(t, n, i)
		}
	}
}
