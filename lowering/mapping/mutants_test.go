package mapping

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// exactMapping draws a mapping without padding: all of it matters.
func exactMapping(t *testing.T, q *Problem, r *rand.Rand, good func(m *Mapping) bool) Mapping {
	for range 200000 {
		m, ok := q.Random(r, 30)
		for l := range q.loops {
			ok = ok && !q.ragged(&m, l)
		}
		if ok && good(&m) {
			return m
		}
	}
	require.Fail(t, "no mapping without padding was drawn")
	return Mapping{}
}

// goesOn reports whether a sum of a mapping is added to in a later wave.
func goesOn(q *Problem, m *Mapping) (yes bool) {
	q.Waves(m, func(w, _ *Wave) bool {
		yes = yes || !w.Fresh
		return !yes
	})
	return yes
}

// mutantsOf changes each factor, order, flag and operand of a mapping.
func mutantsOf(q *Problem, m *Mapping) (mutants []Mapping) {
	change := func(f func(x *Mapping)) {
		x := *m
		f(&x)
		mutants = append(mutants, x)
	}
	for l := range q.loops {
		for s := range NumSlots {
			for _, d := range []int{-1, 1, 2} {
				if int(m.Factor[s][l])+d >= 0 {
					change(func(x *Mapping) { x.Factor[s][l] = uint32(int(m.Factor[s][l]) + d) })
				}
			}
		}
		for k := range q.loops {
			change(func(x *Mapping) { x.Wave[l] = m.Wave[k] })
			change(func(x *Mapping) { x.Tile[l] = m.Tile[k] })
			change(func(x *Mapping) { x.Wave[l], x.Wave[k] = m.Wave[k], m.Wave[l] })
			change(func(x *Mapping) { x.Tile[l], x.Tile[k] = m.Tile[k], m.Tile[l] })
		}
	}
	for o := range 3 {
		change(func(x *Mapping) { x.Keep[o] = !x.Keep[o] })
	}
	change(func(x *Mapping) { x.Double = !x.Double })
	change(func(x *Mapping) { x.DoubleTile = !x.DoubleTile })
	change(func(x *Mapping) { x.Swap = !x.Swap })
	for f := range len(q.functions) + 1 {
		change(func(x *Mapping) { x.Function = uint8(f) })
	}
	return mutants
}

// TestEveryMutant changes, on every platform, each factor, order, flag and operand of a mapping, and
// of what is executed each digit, each flip bit, each word of a bank and each operand's rows. A mutant of a mapping is refused or another legal mapping
// that computes the same; every other that changes the function is seen in the outputs.
func TestEveryMutant(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	ctx := context.Background()
	work, err := dnn.Parse("conv:N=1,K=4,H=2,W=3,C=4,R=2,S=1,pad=0", dnn.DefaultBits)
	require.NoError(t, err)
	for _, name := range []string{"logic-sram", "logic-dram", "mvm-reram", "mvm-reram-groups", "pnm-hbm", "core-avx2", "logic-sram-const"} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(11, 12))
			data := [][][]int32{randomValues(work, r), randomValues(work, r), randomValues(work, r), directed(work, 0), directed(work, 1)}
			data = append(data, largeSums(work, r)...)
			var opt Options
			p := load(t, name)
			if p.Programs() {
				opt.Weights = data[0][1]
				for i := range data {
					data[i][1] = opt.Weights
				}
			}
			q, err := New(ctx, work, p, opt)
			require.NoError(t, err)
			var want [][]int64
			for i := range data {
				v, err := work.Run(ctx, 1, data[i]...)
				require.NoError(t, err)
				want = append(want, v)
			}
			run := func(m *Mapping, tamper func(part any)) (seen bool, refused error) {
				for i := range data {
					got, err := q.Execute(ctx, m, ExecuteOptions{Threads: 1, tamper: tamper}, data[i]...)
					if err != nil {
						return true, err
					}
					if !slices.Equal(want[i], got.Output) {
						return true, nil
					}
				}
				return false, nil
			}
			seen := func(m *Mapping, what string, tamper func(part any)) int {
				is, _ := run(m, tamper)
				require.True(t, is, "%s, and no output shows it\n%s", what, q.String(m))
				return 1
			}

			// The mapping.
			m := exactMapping(t, q, r, func(m *Mapping) bool {
				size := uint32(1)
				for d := range q.functions[m.Function].dims {
					for l := range q.loops {
						size *= m.Factor[d][l]
					}
				}
				return size >= 8
			})
			mutants := mutantsOf(q, &m)
			refused, same := 0, 0
			for i := range mutants {
				is, err := run(&mutants[i], nil)
				if err != nil {
					refused++
					continue
				}
				require.False(t, is, "taken for legal, and computes something else\n%s", q.String(&mutants[i]))
				same++
			}

			// What is executed.
			caught := 0
			switch {
			case p.Crossbar != nil && p.Array == nil && p.SIMD == nil:
				var cells matrixCells
				run(&m, func(part any) { cells = *part.(*matrixCells) })
				rows := 1
				for d := range q.functions[m.Function].dims {
					if f := &q.functions[m.Function]; f.Reduction(d) || f.diagonal(d) {
						for l := range q.loops {
							rows *= int(m.Factor[d][l])
						}
					}
				}
				per := len(cells.plane) / len(cells.flip)
				words := per / p.Crossbar.CellBits
				for at := range cells.plane {
					for b := range min(64, rows-64*(at%words)) {
						caught += seen(&m, "a digit is another", func(part any) { part.(*matrixCells).plane[at] ^= 1 << b })
					}
				}
				for at := range cells.flip {
					caught += seen(&m, "a flip bit is another", func(part any) { c := part.(*matrixCells); c.flip[at] = !c.flip[at] })
				}
			case p.SIMD != nil:
				n := 0
				run(&m, func(part any) { n = len(part.([]int32)) })
				for i := range n {
					caught += seen(&m, "a word of a bank is another", func(part any) { part.([]int32)[i] ^= 1 })
				}
			case opt.Weights == nil: // programs of weights are those of their digits, which sums are checked against
				// Rows of operands, and distances of sums.
				x := exactMapping(t, q, r, func(m *Mapping) bool {
					code, err := q.newArrayCode(m, true)
					return err == nil && len(code.rounds) > 0 && code.m > 1 && code.rows.words[0] > 1 && !m.Double && goesOn(q, m) && !q.Instructed(m)
				})
				for o := range 2 {
					for _, d := range []int{-1, 1, 2} {
						caught += seen(&x, "an operand is written rows off", func(part any) { part.(*arrayCode).rows.source[o] += d })
					}
				}
				code, err := q.newArrayCode(&x, true)
				require.NoError(t, err)
				for i := range code.rounds {
					caught += seen(&x, "sums are moved from a place off", func(part any) { part.(*arrayCode).rounds[i].stay++ })
				}
			}
			t.Logf("mappings: %d mutants refused, %d others that compute the same; of what is executed %d mutants seen", refused, same, caught)
			require.Positive(t, refused)
			require.True(t, caught > 0 || opt.Weights != nil)
		})
	}
}

// largeSums is data whose sums are large, of either sign.
func largeSums(work *dnn.Operator, r *rand.Rand) (out [][][]int32) {
	for i := range 12 {
		v := randomValues(work, r)
		for n, t := range work.Operands() {
			lo, hi := t.Type.Range()
			for k := range v[n] {
				switch {
				case i < 4:
					v[n][k] = int32([]int64{lo, hi}[i>>n&1])
				case r.IntN(3) > 0:
					v[n][k] = int32([]int64{lo, hi}[r.IntN(2)])
				}
			}
		}
		out = append(out, v)
	}
	return out
}

// TestMutantsOfPaddedMappings changes mappings with ragged tiles and loads beside computing, and what is executed of them.
// Each mutant of a mapping is refused, or computes the same as the nest on random and directed data. Of what is
// executed, a word or digit that no output shows is of no element: it is the same whatever the data. MUTANTS draws more of them.
func TestMutantsOfPaddedMappings(t *testing.T) {
	ctx := context.Background()
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("MUTANTS")); err == nil {
		rounds = n
	}
	for _, name := range []string{"logic-sram", "mvm-reram", "mvm-reram-groups", "pnm-hbm", "core-avx2"} {
		refused, same, seen, padding := 0, 0, 0, 0
		r := rand.New(rand.NewPCG(13, 14))
		for round := range rounds {
			work, err := dnn.Parse([]string{"conv:N=1,K=3,H=3,W=2,C=3,R=2,S=1,pad=1", "gemm:M=3,K=7,N=3", "conv:N=1,K=2,H=1,W=5,C=5,R=1,S=3,stride=2"}[round%3], dnn.DefaultBits)
			require.NoError(t, err)
			q, err := New(ctx, work, load(t, name), Options{})
			require.NoError(t, err)
			data := [][][]int32{randomValues(work, r), randomValues(work, r), directed(work, 0), directed(work, 1)}
			var want [][]int64
			for i := range data {
				v, err := work.Run(ctx, 1, data[i]...)
				require.NoError(t, err)
				want = append(want, v)
			}
			m := raggedMapping(t, q, r)
			run := func(m *Mapping, tamper func(part any)) (is bool, refused error) {
				for i := range data {
					got, err := q.Execute(ctx, m, ExecuteOptions{Threads: 1, tamper: tamper}, data[i]...)
					if err != nil {
						return true, err
					}
					if !slices.Equal(want[i], got.Output) {
						return true, nil
					}
				}
				return false, nil
			}
			is, err := run(&m, nil)
			require.NoError(t, err)
			require.False(t, is, "%s", q.String(&m))
			for _, x := range mutantsOf(q, &m) {
				is, err := run(&x, nil)
				if err != nil {
					refused++
					continue
				}
				require.False(t, is, "%s: taken for legal, and computes something else\n%s", name, q.String(&x))
				same++
			}
			// Words of banks and digits in cells: those that are not seen are of no element, and the same
			// whatever the data.
			var first []uint64
			varies := map[int]bool{}
			bit := func(c *matrixCells, at, b int) uint64 { // a digit as if no column were turned over
				turned := uint64(0)
				if c.flip[at/(len(c.plane)/len(c.flip))] {
					turned = 1
				}
				return c.plane[at]>>b&1 ^ turned
			}
			rows := 0
			if q.Platform.Crossbar != nil {
				rows = 1
				for d := range q.functions[m.Function].dims {
					if f := &q.functions[m.Function]; f.Reduction(d) || f.diagonal(d) {
						for l := range q.loops {
							rows *= int(m.Factor[d][l])
						}
					}
				}
			}
			each := func(c *matrixCells, f func(at, b int)) { // digits on wordlines that are used
				words := len(c.plane) / len(c.flip) / q.Platform.Crossbar.CellBits
				for at := range c.plane {
					for b := range max(0, min(64, rows-64*(at%words))) {
						f(at, b)
					}
				}
			}
			values := func(part any) (out []uint64) {
				switch x := part.(type) {
				case []int32:
					for _, w := range x {
						out = append(out, uint64(w))
					}
				case *matrixCells:
					each(x, func(at, b int) { out = append(out, bit(x, at, b)) })
				}
				return out
			}
			for _, v := range data {
				_, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 1, tamper: func(part any) {
					now := values(part)
					if first == nil {
						first = now
					}
					for i, w := range now {
						if w != first[i] {
							varies[i] = true
						}
					}
				}}, v...)
				require.NoError(t, err)
			}
			for i := range first {
				is, _ := run(&m, func(part any) {
					switch x := part.(type) {
					case []int32:
						x[i] ^= 1
					case *matrixCells:
						n := 0
						each(x, func(at, b int) {
							if n == i {
								x.plane[at] ^= 1 << b
							}
							n++
						})
					}
				})
				if is {
					seen++
					continue
				}
				require.False(t, varies[i], "%s: place %d holds elements, and no output shows that it is another\n%s", name, i, q.String(&m))
				padding++
			}
			// Flip bits: those that are not seen are of columns that hold no elements.
			var holds []bool
			if q.Platform.Crossbar != nil {
				_, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 1, tamper: func(part any) {
					c, i := part.(*matrixCells), 0
					holds = slices.Grow(holds, len(c.flip))[:len(c.flip)]
					each(c, func(at, _ int) {
						column := at / (len(c.plane) / len(c.flip))
						holds[column] = holds[column] || varies[i]
						i++
					})
				}}, data[0]...)
				require.NoError(t, err)
			}
			for i := range holds {
				is, _ := run(&m, func(part any) { c := part.(*matrixCells); c.flip[i] = !c.flip[i] })
				if is {
					seen++
					continue
				}
				require.False(t, holds[i], "%s: column %d holds elements, and no output shows that it is turned over\n%s", name, i, q.String(&m))
				padding++
			}
		}
		t.Logf("%s: %d mutants refused, %d others that compute the same; of words, digits and flip bits %d seen, %d are padding", name, refused, same, seen, padding)
		require.Positive(t, refused)
		require.Positive(t, same)
	}
}

// raggedMapping draws a mapping with padding in space and in time, with loads beside computing.
func raggedMapping(t *testing.T, q *Problem, r *rand.Rand) Mapping {
	for range 200000 {
		m, ok := q.Random(r, 30)
		ragged := 0
		for l := range q.loops {
			if q.ragged(&m, l) {
				ragged++
			}
		}
		if ok && ragged > 0 && m.Double && (!q.Tiles() || m.DoubleTile) && goesOn(q, &m) {
			return m
		}
	}
	require.Fail(t, "no ragged mapping was drawn")
	return Mapping{}
}
