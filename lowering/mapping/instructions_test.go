package mapping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// ambitPlaces are the addresses of Ambit's computing rows, by wordline (MICRO 2017, table 1).
var ambitPlaces = map[string]string{"b0": "t0", "b1": "t1", "b2": "t2", "b3": "t3", "b4": "dcc0", "b5": "~dcc0", "b6": "dcc1", "b7": "~dcc1", "b8": "~dcc0 t0", "b9": "~dcc1 t1",
	"b10": "t2 t3", "b11": "t0 t3", "b12": "t0 t1 t2", "b13": "t1 t2 t3", "b14": "dcc0 t1 t2", "b15": "dcc1 t0 t3"}

// interpret writes a program as a circuit of its inputs: what each instruction does, as published. It
// shares nothing with the executor, and knows neural-cache and ambit.
func interpret(t *testing.T, g *xmg.Graph, k *sram.Kernel, row map[int]xmg.Lit, latch map[string]xmg.Lit) {
	value := func(o sram.Operand) xmg.Lit {
		switch {
		case o == sram.Zero:
			return xmg.False
		case o == sram.One:
			return xmg.True
		}
		v, ok := row[o.Row()]
		require.True(t, ok, "row %d holds nothing", o.Row())
		if o.Negated() {
			v ^= 1
		}
		return v
	}
	for _, ins := range k.Instrs {
		name := k.Tech.Ops[ins.Op].Name
		write := func(v xmg.Lit) {
			if ins.Masked {
				v = g.Mux(latch["tag"], v, row[int(ins.Dst)])
			}
			row[int(ins.Dst)] = v
		}
		if k.Tech.Name == "ambit" {
			parts := strings.Split(name, ".")
			sensed := xmg.False
			if parts[1] == "d" {
				sensed = value(ins.Src[0])
			} else {
				places := strings.Fields(ambitPlaces[parts[1]])
				at := func(i int) xmg.Lit {
					if n, ok := strings.CutPrefix(places[i], "~"); ok {
						return latch[n] ^ 1
					}
					return latch[places[i]]
				}
				if sensed = at(0); len(places) == 3 {
					sensed = g.Maj(at(0), at(1), at(2))
					for _, n := range places {
						latch[n] = sensed
					}
				}
			}
			if len(parts) == 2 {
				continue
			}
			if parts[2] == "d" {
				row[int(ins.Dst)] = sensed
				continue
			}
			for _, n := range strings.Fields(ambitPlaces[parts[2]]) {
				if m, ok := strings.CutPrefix(n, "~"); ok {
					latch[m] = sensed ^ 1
				} else {
					latch[n] = sensed
				}
			}
			continue
		}
		var a, b xmg.Lit
		if n := k.Tech.Ops[ins.Op].Operands; n > 0 {
			if a = value(ins.Src[0]); n > 1 {
				b = value(ins.Src[1])
			}
		}
		logic := map[string]func() xmg.Lit{
			"and": func() xmg.Lit { return g.And(a, b) }, "nand": func() xmg.Lit { return g.And(a, b) ^ 1 },
			"or": func() xmg.Lit { return g.Or(a, b) }, "nor": func() xmg.Lit { return g.Or(a, b) ^ 1 },
			"xor": func() xmg.Lit { return g.Xor2(a, b) }, "xnor": func() xmg.Lit { return g.Xor2(a, b) ^ 1 },
			"copy": func() xmg.Lit { return a }, "not": func() xmg.Lit { return a ^ 1 },
			"carry": func() xmg.Lit { return latch["carry"] }, "ncarry": func() xmg.Lit { return latch["carry"] ^ 1 },
			"wcarry": func() xmg.Lit { return latch["carry"] }, "wtag": func() xmg.Lit { return latch["tag"] },
		}
		op, tagged := strings.CutPrefix(name, "tag.")
		switch {
		case tagged:
			latch["tag"] = logic[op]()
		case op == "add":
			sum, carry := g.Xor(a, b, latch["carry"]), g.Maj(a, b, latch["carry"])
			write(sum)
			latch["carry"] = carry
		case op == "carry" && ins.Src[0] == ins.Src[1]:
			latch["carry"] = a
		case op == "carry":
			latch["carry"] = g.Maj(a, b, latch["carry"])
		default:
			f, ok := logic[op]
			require.True(t, ok, name)
			write(f())
		}
	}
}

// sameFunction decides whether two programs leave the same sum and the same operands for all operands and
// all sums from lo to hi: exactly, by proof. The sum is the first input.
func sameFunction(t *testing.T, a, b *sram.Kernel, ranges map[int][2]int64) (same bool, witness string) {
	circuit := func(k *sram.Kernel) *xmg.Graph {
		g := xmg.New("program")
		row := map[int]xmg.Lit{}
		var rows []int
		for i, in := range k.Inputs {
			for bit := range in.Width {
				row[in.Base+bit] = g.AddInput(fmt.Sprintf("%d.%d", i, bit))
				rows = append(rows, in.Base+bit)
			}
		}
		latch := map[string]xmg.Lit{}
		for _, n := range []string{"carry", "tag", "t0", "t1", "t2", "t3", "dcc0", "dcc1"} { // whatever they held before
			latch[n] = g.AddInput(n)
		}
		care := xmg.True
		for i, r := range ranges {
			in := k.Inputs[i]
			bits := make([]xmg.Lit, in.Width)
			for b := range bits {
				bits[b] = row[in.Base+b]
			}
			bits[in.Width-1] ^= 1 // by size from here on
			offset := int64(1) << (in.Width - 1)
			above := func(n int64, less xmg.Lit) xmg.Lit { // whether the sum is at least, or at most, n
				ok := xmg.True
				for b := range in.Width {
					x := bits[b] ^ less
					if (n>>b&1 == 1) != (less == 1) {
						ok = g.And(x, ok)
					} else {
						ok = g.Or(x, ok)
					}
				}
				return ok
			}
			care = g.And(care, g.And(above(r[0]+offset, 0), above(r[1]+offset, 1)))
		}
		interpret(t, g, k, row, latch)
		for _, r := range rows {
			g.AddOutput(fmt.Sprint("row", r), g.And(care, row[r]))
		}
		return g
	}
	e, err := xmg.Equivalent(context.Background(), circuit(a), circuit(b), xmg.EquivalenceOptions{})
	require.NoError(t, err)
	require.NotEqual(t, xmg.Undecided, e.Verdict)
	return e.Verdict == xmg.Equal, fmt.Sprint(e.Witness)
}

// pairs are data of a product of matrices that lead each pair of elements through each product of every
// output's sum, M x N pairs at a time, with others before and behind it.
func pairs(o *dnn.Operator, r *rand.Rand) (out [][][]int32) {
	m, k, n := o.Loops[o.Loop("M")].Extent, o.Loops[o.Loop("K")].Extent, o.Loops[o.Loop("N")].Extent
	lo, hi := o.Tensors[0].Type.Range()
	all := int(hi - lo + 1)
	var order [2][][]int
	for range k {
		order[0], order[1] = append(order[0], r.Perm(all)), append(order[1], r.Perm(all))
	}
	for i := 0; i < all; i += m {
		for j := 0; j < all; j += n {
			a, b := make([]int32, m*k), make([]int32, k*n)
			for c := range k {
				for x := range m {
					a[x*k+c] = int32(lo) + int32(order[0][c][(i+x)%all])
				}
				for x := range n {
					b[c*n+x] = int32(lo) + int32(order[1][c][(j+x)%all])
				}
			}
			out = append(out, [][]int32{a, b})
		}
	}
	return out
}

// extremes are data whose products are as large, or as small, as can be for the half of the reductions that have a
// bit of their number set, or not set, and any others: one of two sums that are added is at an end of its range.
func extremes(o *dnn.Operator, r *rand.Rand) (out [][][]int32) {
	m, k, n := o.Loops[o.Loop("M")].Extent, o.Loops[o.Loop("K")].Extent, o.Loops[o.Loop("N")].Extent
	lo, hi := o.Tensors[0].Type.Range()
	for bit := 1; bit < k; bit *= 2 {
		for _, side := range []int{0, bit} {
			for _, end := range []int64{lo, hi} {
				v := randomValues(o, r)
				for c := range k {
					if c&bit == side {
						for x := range m {
							v[0][x*k+c] = int32(lo)
						}
						for x := range n {
							v[1][c*n+x] = int32(end)
						}
					}
				}
				out = append(out, v)
			}
		}
	}
	return out
}

// kernels are the programs that a mapping executes: of every product, in all copies of its operands, and of
// every sum over columns and units.
func kernels(c *arrayCode) (out []**placedKernel) {
	for j := range c.mac {
		for a := range c.mac[j] {
			for b := range c.mac[j][a] {
				if c.mac[j][a][b] != nil {
					out = append(out, &c.mac[j][a][b])
				}
			}
		}
	}
	for i := range c.rounds {
		out = append(out, &c.rounds[i].add)
	}
	return out
}

// reachable returns, for each program of a product of matrices, the values that its inputs may have: sums of as many products
// as there are before it, those beyond the extents being zeros, and operands that are all zeros where it only ever meets padding.
func reachable(q *Problem, m *Mapping, code *arrayCode) map[*placedKernel]map[int][2]int64 {
	lo, hi := q.Op.Tensors[0].Type.Range()
	sums := func(products int64) [2]int64 { return [2]int64{products * lo * hi, products * lo * lo} }
	out := map[*placedKernel]map[int][2]int64{}
	widen := func(k *placedKernel, input int, r [2]int64) {
		if out[k] == nil {
			out[k] = map[int][2]int64{}
		}
		old := out[k][input]
		out[k][input] = [2]int64{min(old[0], r[0]), max(old[1], r[1])}
	}
	loop := q.Op.Loop("K")
	var rows, cols, levels []int
	for d := range code.shape.f.dims {
		if code.shape.f.Reduction(d) && code.shape.f.colDims[d] {
			cols = append(cols, d)
		} else if code.shape.f.Reduction(d) {
			rows = append(rows, d)
		}
	}
	for i := range q.levels {
		levels = append(levels, SlotLevel+i)
	}
	words, columns, units := q.digits(m, q.reduces, rows...), q.digits(m, q.reduces, cols...), q.digits(m, q.reduces, levels...)
	counts := make([][]int64, len(units)) // products of a sum
	for u := range counts {
		counts[u] = make([]int64, len(columns))
	}
	var most [][]int64
	copyOf, begun := [2]int{}, [2]bool{}
	q.Waves(m, func(wave, _ *Wave) bool {
		for o := range 2 {
			if wave.Load>>o&1 == 1 || !begun[o] {
				if begun[o] {
					copyOf[o] = (copyOf[o] + 1) % code.rows.copies[o]
				}
				begun[o] = true
			}
		}
		time := q.timeLoops(m, wave)
		for u := range units {
			for c := range columns {
				if wave.Fresh {
					counts[u][c] = 0
				}
				for j := range words {
					k := code.mac[j][copyOf[0]][copyOf[1]]
					widen(k, 0, sums(counts[u][c]))
					widen(k, 1, [2]int64{})
					widen(k, 2, [2]int64{})
					if time[loop]+units[u][loop]+columns[c][loop]+words[j][loop] < int32(q.extent[loop]) {
						widen(k, 1, [2]int64{lo, hi})
						widen(k, 2, [2]int64{lo, hi})
						counts[u][c]++
					}
				}
			}
		}
		if wave.Finish && most == nil { // the most products of each sum come first: what is ragged lies at the end
			for u := range counts {
				most = append(most, slices.Clone(counts[u]))
			}
		} else if wave.Finish {
			for u := range counts {
				for c := range counts[u] {
					most[u][c] = max(most[u][c], counts[u][c])
				}
			}
		}
		return true
	})
	below := 1
	for i := range code.rounds {
		r := &code.rounds[i]
		if r.level < 0 {
			for u := range most {
				for c := range r.n {
					widen(r.add, 0, sums(most[u][c]))
					if c >= r.stay {
						widen(r.add, 1, sums(most[u][c]))
						most[u][c-r.stay] += most[u][c]
					}
				}
			}
			continue
		}
		if below = 1; r.level > 0 {
			for l := range r.level {
				below *= int(code.shape.reduce[l])
			}
		}
		here := int(code.shape.reduce[r.level])
		for u := range most {
			widen(r.add, 0, sums(most[u][0]))
			if digit := int64(u / below % here); u%below == 0 && digit >= r.stay && digit < r.n {
				widen(r.add, 1, sums(most[u][0]))
				most[u-int(r.stay)*below][0] += most[u][0]
			}
		}
	}
	return out
}

// mutantsOfInstructions leaves instructions of every program out, writes other rows and reads other rows, one change at a
// time, every step instructions. What no output shows, on data that have every pair of elements in every product, must be proved
// to leave the same sum for all operands and all sums that there are.
func mutantsOfInstructions(t *testing.T, q *Problem, m *Mapping, r *rand.Rand, step int) (refused, seen, idle int) {
	ctx := context.Background()
	work := q.Op
	data := append([][][]int32{randomValues(work, r), randomValues(work, r), directed(work, 0), directed(work, 1)}, largeSums(work, r)...)
	data = append(append(data, extremes(work, r)...), pairs(work, r)...)
	want := make([][]int64, len(data))
	code, err := q.newArrayCode(m, true)
	require.NoError(t, err)
	inside := reachable(q, m, code)
	done := map[*placedKernel]bool{}
	for k, at := range kernels(code) {
		if done[*at] || inside[*at] == nil { // or of copies that are never loaded together
			continue
		}
		done[*at] = true
		whole := (*at).code.Kernel()
		for place := k % step; place < len(whole.Instrs); place += step {
			for kind := range 3 {
				y := *whole
				y.Instrs = slices.Clone(whole.Instrs)
				switch i := &y.Instrs[place]; {
				case kind == 0:
					y.Instrs = slices.Delete(y.Instrs, place, place+1)
				case kind == 1 && whole.Tech.Ops[i.Op].Writes:
					i.Dst = uint16((int(i.Dst) + 1) % whole.Rows)
				case kind == 2 && whole.Tech.Ops[i.Op].Operands > 0 && !i.Src[0].IsConst():
					i.Src[0] = sram.Row((i.Src[0].Row()+1)%q.mac.usable, i.Src[0].Negated())
				default:
					continue
				}
				broken, err := y.Compile()
				if err != nil {
					refused++
					continue
				}
				shown := func(from, to int) (is bool) {
					for d := from; d < to && !is; d++ {
						if want[d] == nil {
							want[d], err = work.Run(ctx, 1, data[d]...)
							require.NoError(t, err)
						}
						got, err := q.Execute(ctx, m, ExecuteOptions{Threads: 1, tamper: func(part any) {
							p := kernels(part.(*arrayCode))
							old := *p[k]
							for _, other := range p {
								if *other == old {
									*other = &placedKernel{broken, old.time}
								}
							}
						}}, data[d]...)
						is = err != nil || !slices.Equal(want[d], got.Output)
					}
					return is
				}
				if shown(0, 4) { // most are, at once
					if seen++; seen%16 == 0 {
						same, _ := sameFunction(t, whole, &y, inside[*at])
						require.False(t, same, "proved to compute the same, and outputs show that it does not")
					}
					continue
				}
				same, witness := sameFunction(t, whole, &y, inside[*at])
				if same {
					idle++
					continue
				}
				if shown(4, len(data)) {
					seen++
					continue
				}
				require.Fail(t, "no output shows it", "instruction %d of program %d, %s, changed (%d) to %s, and not proved to compute the same: %s\n%s", place, k, whole.Tech.Ops[whole.Instrs[place].Op].Name, kind, fmt.Sprint(y.Instrs[min(place, len(y.Instrs)-1)]), witness, q.String(m))
			}
		}
	}
	return refused, seen, idle
}

// TestMutantsOfInstructions changes the programs of mappings without padding, and of mappings with padding in space and
// in time and loads beside computing: each change that is not proved to compute the same is seen in the outputs.
// MUTANTS=1 changes every instruction.
func TestMutantsOfInstructions(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		platform, work string
		padded         bool
		step           int // long programs, and many of them
	}{
		{"logic-sram", "gemm:M=32,K=8,N=32", false, 3},
		{"logic-sram", "gemm:M=31,K=7,N=29", true, 57},
		{"logic-dram", "gemm:M=32,K=8,N=32", false, 123},
		{"logic-dram", "gemm:M=31,K=7,N=29", true, 303},
	} {
		if testing.Short() && c.platform == "logic-dram" {
			continue
		}
		if os.Getenv("MUTANTS") != "" {
			c.step = 1
		}
		r := rand.New(rand.NewPCG(7, 8))
		work, err := dnn.Parse(c.work, dnn.DefaultBits)
		require.NoError(t, err)
		q, err := New(ctx, work, load(t, c.platform), Options{})
		require.NoError(t, err)
		good := func(m *Mapping) bool { // what only ever sees zeros cannot be seen
			var cost Cost
			if q.Cost(m, &cost) != Legal || cost.Waves > 128 || cost.Units > 8 || m.Double != c.padded || c.padded != q.ragged(m, work.Loop("K")) {
				return false
			}
			code, err := q.newArrayCode(m, false)
			return err == nil && len(code.rounds) > 0 && code.m > 1 && code.rows.words[0] > 1 && goesOn(q, m)
		}
		m, ok := Mapping{}, false
		for n := 0; n < 400000 && !ok; n++ {
			m, ok = q.Random(r, 30)
			ok = ok && good(&m)
		}
		require.True(t, ok, "no such mapping was drawn")
		refused, seen, idle := mutantsOfInstructions(t, q, &m, r, c.step)
		t.Logf("%s, padded %t: %d changes refused, %d seen, %d proved to compute the same", c.platform, c.padded, refused, seen, idle)
		require.Positive(t, refused)
		require.Greater(t, seen, 10)
	}
}
