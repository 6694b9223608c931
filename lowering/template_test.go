package lowering

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/internal/tdfgtest"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestTemplate lowers plans of random graphs whose domains and distances move with a
// symbol, at random. What a template gives after some steps, forwards, backwards and far
// away, is what Lower gives; and a template holds for several steps often enough.
func TestTemplate(t *testing.T) {
	ctx := context.Background()
	store := arith.NewStore("")
	held, made, patched, apart, moved := 0, 0, 0, 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 43))
		g := tdfgtest.Graph(r, tdfgtest.Options{Type: scalar.Int8, Nodes: 14, Reuse: true, Open: true, Align: 8})
		wl, row := make([]int, len(g.Arrays)), 0
		for i, need := range Resident(g) {
			if wl[i] = -1; need {
				wl[i], row = row, row+8
			}
		}
		p, err := NewPlan(ctx, g, Target{Tech: "neural-cache", Rows: 256, Programs: store, Finals: seed%2 == 0}, wl, nil)
		require.NoError(t, err)
		moves := func(x lattice.Expr) lattice.Expr {
			if r.IntN(3) == 0 {
				return x.Add(lattice.Sym("t").Scale(r.Int64N(5) - 2))
			}
			return x
		}
		for i := range g.Nodes {
			n := &g.Nodes[i]
			n.Dist = moves(n.Dist)
			n.Domain = slices.Clone(n.Domain)
			for d := range n.Domain {
				n.Domain[d] = lattice.Interval{Lo: moves(n.Domain[d].Lo), Hi: moves(n.Domain[d].Hi)}
			}
		}
		size := []int64{16, 9, 8}[:g.Dims]
		grid, err := NewGrid(size, Shape{1 << r.IntN(4), 1 + r.Int64N(3), 1 + r.Int64N(2)}[:g.Dims])
		require.NoError(t, err)
		at := r.Int64N(5) - 2
		perBank := 1 + r.IntN(5)
		values := func() map[string]int64 { return map[string]int64{"t": 3*at + 1, "other": 7} }
		template, err := p.Template(grid, values(), map[string]int64{"t": 3}, perBank)
		if _, other := p.Lower(nil, grid, values()); other != nil {
			require.Error(t, err) // groups that do not fit the tiles
			continue
		}
		require.NoError(t, err)
		for range 12 {
			want, err := p.Lower(nil, grid, values())
			require.NoError(t, err)
			require.Equal(t, append([]Command{}, want...), append([]Command{}, template.Commands...), "seed %d at %d\n%s", seed, at, g)
			at += []int64{1, 1, 1, 1, -1, 2, -3, 5}[r.IntN(8)]

			old := slices.Clone(template.Commands)
			done, ok, err := template.Patch(values())
			require.NoError(t, err)
			require.True(t, ok)
			if done.Steps == 0 {
				held++
				other := 0 // banks of the commands that go to others now
				for i := range old {
					now := Banks(nil, template.Commands[i].Tiles, perBank)
					if !slices.Equal(Banks(nil, old[i].Tiles, perBank), now) {
						other += len(now)
					}
				}
				// Domains that moved apart may leave commands that mean nothing.
				if !slices.ContainsFunc(slices.Concat(old, template.Commands), empty) {
					require.GreaterOrEqual(t, done.Banks, other, "seed %d", seed)
					moved += other
				}
			}
			if done.Numbers > 0 {
				patched++
				require.NotEqual(t, old, slices.Clone(template.Commands))
			}
			made += done.Steps
		}
		if len(p.Symbols()) > 0 {
			_, ok, err := template.Patch(map[string]int64{"t": 3*at + 2}) // between two steps
			require.NoError(t, err)
			require.False(t, ok)
			apart++
		}
	}
	for _, n := range []int{held, made, patched, apart, moved} {
		require.Greater(t, n, 200)
	}
}

func empty(c Command) bool {
	return slices.ContainsFunc(c.Tiles.level[:c.Tiles.levels], func(l level) bool { return l.count < 1 })
}

// TestTemplateBanks finds the banks of random patterns that move, step by step, by their
// definition: they are as many as match says, and the same as long as it says.
func TestTemplateBanks(t *testing.T) {
	long := 0
	rapid.Check(t, func(t *rapid.T) {
		m := moving{tiles: linearPattern{start: linear{rapid.Int64Range(40, 60).Draw(t, "start"), rapid.Int64Range(-3, 3).Draw(t, "slope")}}}
		span := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "levels") {
			l := linearLevel{span + rapid.Int64Range(1, 9).Draw(t, "stride"), fixed(rapid.Int64Range(2, 4).Draw(t, "count"))}
			if rapid.IntRange(0, 3).Draw(t, "grows") == 0 {
				l.count.s = rapid.Int64Range(-1, 1).Draw(t, "by")
			}
			m.tiles.level[m.tiles.levels] = l
			m.tiles.levels++
			span += l.stride * (l.count.v + 8)
		}
		perBank := rapid.Int64Range(1, 12).Draw(t, "tiles of a bank")
		long += banksStay(t, m, perBank)
	})
	require.Positive(t, long)
	// Rows of 3, 2 and 1 tiles: a bank comes to lie between the last two.
	banksStay(t, moving{tiles: linearPattern{start: linear{40, 1}, levels: 2, level: [MaxLevels]linearLevel{{1, linear{3, -1}}, {14, fixed(4)}}}}, 12)
}

// banksStay holds the course of a pattern to its banks, step by step, and returns how many
// steps beyond the second it has.
func banksStay(t require.TestingT, m moving, perBank int64) (long int) {
	at := func(n int64) []int {
		p := m.tiles.after(n)
		for _, l := range p.level[:p.levels] {
			if l.count.v < 1 {
				return nil
			}
		}
		if p.start.v < 0 {
			return nil
		}
		return Banks(nil, p.pattern(), int(perBank))
	}
	now := at(0)
	require.Equal(t, len(now), m.match(0, perBank))
	require.True(t, m.course.has(0))
	for n := max(m.course.lo, -8); n <= min(m.course.hi, 8); n++ {
		if banks := at(n); banks != nil {
			require.Equal(t, now, banks, "after %d", n)
			if n > 2 {
				long++
			}
		}
	}
	return long
}

// TestCourse holds what a course decides to what the numbers are, step by step.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) linear {
			return linear{rapid.Int64Range(-12, 12).Draw(t, name), rapid.Int64Range(-4, 4).Draw(t, name+" slope")}
		}
		a, b, n := draw("a"), draw("b"), rapid.Int64Range(1, 7).Draw(t, "n")
		at := func(x linear, k int64) int64 { return x.v + k*x.s }
		c := newCourse()
		less, equal, q, product := c.less(a, b), c.equal(a, b), c.div(a, n), c.product(a, b)
		low, high, stay := c.min(a, b), c.max(a, b), newCourse()
		bank := stay.stay(a, n)
		require.True(t, c.has(0))
		for k := int64(-20); k <= 20; k++ {
			x, y := at(a, k), at(b, k)
			if c.has(k) {
				require.Equal(t, x < y, less)
				require.Equal(t, x == y, equal)
				require.True(t, at(q, k)*n <= x && x < (at(q, k)+1)*n)
				require.Equal(t, x*y, at(product, k))
				require.Equal(t, min(x, y), at(low, k))
				require.Equal(t, max(x, y), at(high, k))
			}
			require.Equal(t, stay.has(k), bank*n <= x && x < (bank+1)*n, k)
		}
	})
}
