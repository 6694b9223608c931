package cfront

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/lattice"
)

// TestCarried compares the answers of carried with those of all pairs of iterations,
// for all values of a symbol: it must find every pair that there is, and should not
// find many that there are not.
func TestCarried(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"i", "j"}
	found, missed := 0, 0
	for range 4000 {
		// Two loops, the second sometimes with bounds of the first, and a symbol k
		// from 0 to 3 of a loop around.
		space := lattice.NewSpace()
		require.NoError(t, space.Declare("k", lattice.Const(0), lattice.Const(3), true))
		var loops []*loop
		for d, name := range names {
			l := &loop{v: &variable{name: name}, lo: lattice.Const(r.Int64N(3)), hi: lattice.Const(4 + r.Int64N(3)), step: []int64{1, 1, -1, 2}[r.IntN(4)]}
			if r.IntN(4) == 0 {
				l.lo = lattice.Sym("k").Plus(1)
			}
			if d == 1 && r.IntN(4) == 0 {
				l.hi = lattice.Sym("i").Plus(1)
			}
			loops = append(loops, l)
		}
		index := func() []lattice.Expr {
			list := make([]lattice.Expr, 1+r.IntN(2))
			for d := range list {
				x := lattice.Const(r.Int64N(5) - 2)
				switch r.IntN(5) {
				case 0:
					x = x.Add(lattice.Sym("k"))
				case 1:
					x = x.Add(lattice.Sym("i").Scale(1 + r.Int64N(2)))
				case 2:
					x = x.Add(lattice.Sym("j").Scale(1 + r.Int64N(2)))
				case 3:
					x = x.Add(lattice.Sym("i")).Add(lattice.Sym("j"))
				default:
					x = x.Add(lattice.Sym(names[d%2]))
				}
				list[d] = x
			}
			return list
		}
		a := access{index: index(), loops: loops}
		b := access{index: index(), loops: loops}
		for len(b.index) != len(a.index) {
			b.index = index()
		}
		got, want := carried(space, a, b), bruteCarried(t, a, b)
		if want {
			require.True(t, got, "%v and %v in i [%s,%s) by %d, j [%s,%s) by %d", a.index, b.index,
				loops[0].lo, loops[0].hi, loops[0].step, loops[1].lo, loops[1].hi, loops[1].step)
			found++
		} else if got {
			missed++
		}
	}
	require.Greater(t, found, 500)
	require.Less(t, missed, 1200, "answers that are careful without need")
	t.Log(found, missed)
}

// bruteCarried looks at all iterations, in the order of execution.
func bruteCarried(t *testing.T, a, b access) bool {
	for k := range int64(4) {
		var places [2][][]int64
		values := map[string]int64{"k": k}
		each(t, a.loops[0], values, func() {
			each(t, a.loops[1], values, func() {
				for n, x := range []access{a, b} {
					var at []int64
					for _, e := range x.index {
						v, err := e.Eval(values)
						require.NoError(t, err)
						at = append(at, v)
					}
					places[n] = append(places[n], at)
				}
			})
		})
		for early, x := range places[0] {
			for _, y := range places[1][early+1:] {
				same := true
				for d := range x {
					same = same && x[d] == y[d]
				}
				if same {
					return true
				}
			}
		}
	}
	return false
}

func each(t *testing.T, l *loop, values map[string]int64, f func()) {
	lo, err := l.lo.Eval(values)
	require.NoError(t, err)
	hi, err := l.hi.Eval(values)
	require.NoError(t, err)
	for n := lo; n < hi; n += max(l.step, -l.step) {
		values[l.v.name] = n
		if l.step < 0 {
			values[l.v.name] = hi - 1 - (n - lo)
		}
		f()
	}
}
