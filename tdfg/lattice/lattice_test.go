package lattice_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
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
		// The hull is the least one: without any of its sides a point is missing.
		for d := range hull {
			for _, r := range []lattice.Range{{Lo: hull[d].Lo + 1, Hi: hull[d].Hi}, {Lo: hull[d].Lo, Hi: hull[d].Hi - 1}} {
				if less := hull.With(d, r); !hull.Empty() {
					require.False(t, less.Contains(b) && less.Contains(c), "%v around %v and %v", hull, b, c)
				}
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

// TestText has expressions and their texts.
func TestText(t *testing.T) {
	n, k := lattice.Sym("N"), lattice.Sym("k")
	for want, x := range map[string]lattice.Expr{
		"0": {}, "10": lattice.Const(10), "-12": lattice.Const(-12), "N": n, "-N": n.Scale(-1), "10*N": n.Scale(10), "-19*N": n.Scale(-19),
		"N+1": n.Plus(1), "N-1": n.Plus(-1), "N+10": n.Plus(10), "N+k": n.Add(k), "N-k": n.Sub(k), "N+2*k": n.Add(k.Scale(2)), "N-2*k-20": n.Sub(k.Scale(2)).Plus(-20),
		"-N+k": k.Sub(n), "2*N-k": n.Scale(2).Sub(k),
	} {
		require.Equal(t, want, x.String())
		back, err := lattice.ParseExpr(want)
		require.NoError(t, err)
		require.True(t, x.Equal(back), want)
	}
	for text, want := range map[string]string{
		"N+": `lattice: "" in "N+", expected a number, a name or number*name`, "": "lattice: empty expression, expected for example N-1",
		"+N": `lattice: "" in "+N", expected a number, a name or number*name`, "2N": `lattice: "2N" in "2N", expected a number, a name or number*name`,
		"2*3": `lattice: "2*3" in "2*3", expected a number, a name or number*name`, "N*2": `lattice: "N*2" in "N*2", expected a number, a name or number*name`,
		"N--1": `lattice: "" in "N--1", expected a number, a name or number*name`,
	} {
		_, err := lattice.ParseExpr(text)
		require.EqualError(t, err, want)
	}
}

func TestMul(t *testing.T) {
	n, k := lattice.Sym("N").Plus(1), lattice.Sym("k").Plus(2)
	for _, c := range []struct {
		x, y lattice.Expr
		want string
	}{
		{lattice.Const(3), n, "3*N+3"}, {n, lattice.Const(3), "3*N+3"}, {lattice.Const(3), lattice.Const(-4), "-12"}, {n, lattice.Const(0), "0"}, {n, k, ""}, {n, n, ""},
	} {
		got, ok := c.x.Mul(c.y)
		require.Equal(t, c.want != "", ok)
		if ok {
			require.Equal(t, c.want, got.String())
		}
	}
}

func TestDeclare(t *testing.T) {
	for _, name := range []string{"A", "Z", "a", "z", "_", "a0", "a9", "a.b", ".x", "Size_2"} {
		require.NoError(t, lattice.NewSpace().Declare(name, lattice.Const(0), lattice.Const(1), true), name)
	}
	for _, name := range []string{"", "0", "9a", "@", "[", "`", "{", "a@", "a[", "a/", "a:", "a b", "a*"} {
		require.EqualError(t, lattice.NewSpace().Declare(name, lattice.Const(0), lattice.Const(1), true), fmt.Sprintf("lattice: %q is no name for a symbol", name))
	}
	s := space(t)
	require.EqualError(t, s.Declare("N", lattice.Const(0), lattice.Const(1), true), "lattice: symbol N is declared twice")
	require.EqualError(t, s.Declare("x", lattice.Sym("y"), lattice.Const(1), true), "lattice: symbol y is not declared")
	require.EqualError(t, s.Declare("x", lattice.Const(1), lattice.Sym("y"), true), "lattice: symbol y is not declared")
	require.NoError(t, s.Declare("x", lattice.Const(1), lattice.Sym("y"), false)) // there is no greatest value
	require.NoError(t, s.Declare("z", lattice.Sym("k"), lattice.Sym("N"), true))

	// Symbols that have values are no symbols any more.
	b := s.Bind(map[string]int64{"N": 7, "x": 1})
	var got []string
	for _, sym := range b.Symbols() {
		got = append(got, fmt.Sprintf("%s %s %s %v", sym.Name, sym.Lo, sym.Hi, sym.Bounded))
	}
	require.Equal(t, []string{"M 4 9 true", "k 0 5 true", "z k 7 true"}, got)
	require.True(t, s.Has("N"), "the space itself stays")
}

// TestRectsAreRight holds what is decided of rectangles against all points for all values
// of the symbols.
func TestRectsAreRight(t *testing.T) {
	s := space(t)
	r := rand.New(rand.NewPCG(4, 4))
	rect := func() lattice.Rect {
		var q lattice.Rect
		for range 2 {
			lo := lattice.Const(r.Int64N(3))
			if r.IntN(2) == 0 {
				lo = lo.Add(lattice.Sym("k"))
			}
			hi := lo.Plus(1 + r.Int64N(3))
			if r.IntN(2) == 0 {
				hi = hi.Add(lattice.Sym(symbols[r.IntN(2)]))
			}
			q = append(q, lattice.Interval{Lo: lo, Hi: hi})
		}
		return q
	}
	hulls, contained := 0, 0
	for range 150 {
		a, b := rect(), rect()
		hull, err := s.Hull(a, b)
		inside := s.Contains(a, b)
		values(func(v map[string]int64) {
			x, err1 := a.Box(v)
			y, err2 := b.Box(v)
			require.NoError(t, err1)
			require.NoError(t, err2)
			if err == nil {
				h, err := hull.Box(v)
				require.NoError(t, err)
				require.Equal(t, x.Hull(y), h)
			}
			if inside {
				require.True(t, x.Contains(y))
			}
		})
		if err == nil {
			hulls++
		}
		if inside {
			contained++
		}
		require.True(t, s.Contains(a, a))
	}
	require.Greater(t, hulls, 10)
	require.Greater(t, contained, 3)
	a := rect()
	for _, c := range [][2]lattice.Rect{{nil, a}, {a, nil}, {nil, nil}} {
		h, err := s.Hull(c[0], c[1])
		require.NoError(t, err)
		require.Nil(t, h)
		require.Equal(t, c[0] == nil, s.Contains(c[0], c[1]))
	}
	n, _ := lattice.ParseRect("[0,1)x[0,N)")
	m, _ := lattice.ParseRect("[0,1)x[0,M)")
	_, err := s.Hull(n, m)
	require.EqualError(t, err, "dimension 1: lattice: cannot tell whether N or M is less: bind their sizes, or give them bounds")
	_, err = n.Box(map[string]int64{"M": 4})
	require.EqualError(t, err, "lattice: no value for N")
}

// TestRect has the operations on intervals and rectangles by their texts.
func TestRect(t *testing.T) {
	r, err := lattice.ParseRect("[k,N)x[0,2*M)")
	require.NoError(t, err)
	require.Equal(t, "N-k", r[0].Len().String())
	require.Equal(t, "[k+3,N+3)x[0,2*M)", r.Shift(0, lattice.Const(3)).String())
	require.Equal(t, "[k,N)x[-k,2*M-k)", r.Shift(1, lattice.Sym("k").Scale(-1)).String())
	require.Equal(t, "[k,N)x[k,k+1)", r.With(1, lattice.At(lattice.Sym("k"))).String())
	require.Equal(t, "[k,N)x[0,M)", r.With(1, lattice.Upto(lattice.Sym("M"))).String())
	require.Equal(t, "[k,N)x[0,2*M)", r.String(), "r itself stays")
	require.True(t, r.Equal(r.Shift(0, lattice.Expr{})))
	require.False(t, r.Equal(r.Shift(0, lattice.Const(1))))
	require.False(t, r.Equal(r.Shift(1, lattice.Const(1))))
	require.False(t, r.Equal(r[:1]))
	require.False(t, r[0].Equal(lattice.Interval{Lo: r[0].Lo, Hi: r[1].Hi}))
	require.False(t, r[0].Equal(lattice.Interval{Lo: r[1].Lo, Hi: r[0].Hi}))
	require.False(t, r.Everywhere())
	require.True(t, lattice.Rect(nil).Everywhere())
	require.False(t, lattice.Rect{}.Everywhere())
	require.Nil(t, lattice.Rect(nil).Bind(nil))
	require.Equal(t, "[1,9)x[0,8)", r.Bind(map[string]int64{"k": 1, "N": 9, "M": 4}).String())
	b, err := r.Box(map[string]int64{"k": 1, "N": 9, "M": 4})
	require.NoError(t, err)
	require.Equal(t, "[1,9)x[0,8)", b.String())
	require.EqualValues(t, 7, r[1].Hi.Plus(7).Offset())
}

// TestEquations compares what is said of zeros with all values of three symbols: what is
// never 0 has none, and the equations hold together where the expression is 0, and only there.
func TestEquations(t *testing.T) {
	never, split := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 17))
		s := lattice.NewSpace()
		names := []string{"i", "j", "k"}
		var hi [3]int64
		x := lattice.Const(r.Int64N(41) - 20)
		for d, name := range names {
			hi[d] = r.Int64N(6)
			require.NoError(t, s.Declare(name, lattice.Const(0), lattice.Const(hi[d]), true))
			x = x.Add(lattice.Sym(name).Scale(r.Int64N(25) - 12))
		}
		list := s.Equations(x)
		if len(list) > 1 {
			split++
		}
		zero := s.NeverZero(x)
		if zero {
			never++
		}
		for i := range hi[0] + 1 {
			for j := range hi[1] + 1 {
				for k := range hi[2] + 1 {
					values := map[string]int64{"i": i, "j": j, "k": k}
					v, err := x.Eval(values)
					require.NoError(t, err)
					all := true
					for _, e := range list {
						y, err := e.Eval(values)
						require.NoError(t, err)
						all = all && y == 0
					}
					require.Equal(t, v == 0, all, "%s: %v", x, list)
					require.False(t, zero && v == 0, "%s", x)
				}
			}
		}
	}
	require.Greater(t, never, 500)
	require.Greater(t, split, 100)
}

// TestHull has ranges apart, one in another, and empty ones.
func TestHull(t *testing.T) {
	for _, c := range []struct{ a, b, want lattice.Range }{
		{lattice.Range{Lo: 1, Hi: 3}, lattice.Range{Lo: 7, Hi: 9}, lattice.Range{Lo: 1, Hi: 9}},
		{lattice.Range{Lo: 1, Hi: 9}, lattice.Range{Lo: 2, Hi: 3}, lattice.Range{Lo: 1, Hi: 9}},
		{lattice.Range{Lo: 5, Hi: 5}, lattice.Range{Lo: 7, Hi: 9}, lattice.Range{Lo: 7, Hi: 9}},
		{lattice.Range{Lo: 0, Hi: -1}, lattice.Range{Lo: 7, Hi: 9}, lattice.Range{Lo: 7, Hi: 9}},
	} {
		require.Equal(t, c.want, c.a.Hull(c.b))
		require.Equal(t, c.want, c.b.Hull(c.a))
	}
}
