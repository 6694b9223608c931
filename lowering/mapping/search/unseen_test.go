package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// pick chooses one of several.
func pick[T any](r *rand.Rand, v ...T) T { return v[r.IntN(len(v))] }

// drawPlatform writes the description of a machine that nobody built.
func drawPlatform(r *rand.Rand) string {
	var b strings.Builder
	executor := pick(r, "array", "array", "crossbar", "simd")
	fmt.Fprintf(&b, "name: drawn\ntitle: drawn\nexecutor: %s\nclock_ghz: %v\nfunctions:\n", executor, pick(r, 0.5, 1, 2.2))
	function := func(name string, dims, src1, src2, dst string, layouts ...string) {
		place := map[string][]string{"array": {"cells", "cells", "cells"}, "crossbar": {"cells", "wordlines", "columns"}, "simd": {"bank", "register", "register"}}[executor]
		fmt.Fprintf(&b, "  - name: %s\n    op: MAC\n    dims: [", name)
		for i, d := range strings.Fields(dims) {
			if i > 0 {
				b.WriteString(", ")
			}
			kind := "parallel"
			if strings.Contains(d, "r") {
				kind = "reduction"
			}
			most := ""
			if r.IntN(4) == 0 {
				most = fmt.Sprintf(", max: %d", 1+r.IntN(8))
			}
			fmt.Fprintf(&b, "{name: %s, kind: %s%s}", d, kind, most)
		}
		b.WriteString("]\n    operands:\n")
		for i, index := range []string{src1, src2, dst} {
			fmt.Fprintf(&b, "      - {name: T%d, index: [%s], place: %s, layout: {%s}}\n", i, index, place[i], layouts[i])
		}
	}
	levels := 1 + r.IntN(3)
	switch executor {
	case "array":
		for i, f := range r.Perm(4)[:1+r.IntN(3)] {
			name := fmt.Sprintf("f%d", i)
			switch f {
			case 0: // reductions in rows alone, in two dimensions
				function(name, "ra p rb", "p, ra, rb", "p, ra, rb", "p", `row: {ra: x, rb: ra, b: "1"}, column: {p: "1"}`, `row: {ra: x, rb: ra, b: "1"}, column: {p: "1"}`, `row: {b: "1"}, column: {p: "1"}`)
			case 1: // in columns alone
				function(name, "p r", "p, r", "p, r", "p", `row: {b: "1"}, column: {p: "1", r: p}`, `row: {b: "1"}, column: {p: "1", r: p}`, `row: {b: "1"}, column: {p: "1"}`)
			case 2: // one operand alike on all columns
				function(name, "p r", "p, r", "r", "p", `row: {r: x, b: "1"}, column: {p: "1"}`, `row: {r: x, b: "1"}`, `row: {b: "1"}, column: {p: "1"}`)
			default: // two parallel dimensions, of which each operand knows one
				function(name, "p q r", "p, r", "q, r", "p, q", `row: {r: x, b: "1"}, column: {p: "1"}`, `row: {r: x, b: "1"}, column: {q: p}`, `row: {b: "1"}, column: {p: "1", q: p}`)
			}
		}
		tech := pick(r, "neural-cache", "neural-cache", "ambit")
		fmt.Fprintf(&b, "array: {rows: %d, cols: %d, technology: %s, row_write_cycles: %d, row_read_cycles: %d, shift_cycles: %d, shift_steps: %s}\n",
			pick(r, 96, 160, 256, 400), pick(r, 64, 100, 512, 2500), tech, 1+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3), pick(r, "one", "power_of_two"))
	case "crossbar":
		function("f", "p r", "p, r", "r", "p", `row: {r: "1"}, column: {p: B, b: "1"}`, `row: {r: "1"}`, `column: {p: B}`)
		if r.IntN(2) == 0 {
			function("g", "ra p rb", "p, ra, rb", "ra, rb", "p", `row: {ra: "1", rb: ra}, column: {p: B, b: "1"}`, `row: {ra: "1", rb: ra}`, `column: {p: B}`)
		}
		fmt.Fprintf(&b, "crossbar: {rows: %d, cols: %d, cell_bits: %d, dac_bits: %d, adc_bits: 20, stage_cycles: %d, pipeline_depth: %d, program_cycles: %d, register_bytes: %d}\n",
			1+r.IntN(70), 8+r.IntN(70), 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(50), 1+r.IntN(4), 1+r.IntN(500), pick(r, 64, 512))
	default:
		function("f", "r p", "p, r", "r", "p", `row: {r: x}, column: {p: B, b: "1"}`, `row: {r: x}`, `column: {p: "1"}`)
		if r.IntN(2) == 0 {
			function("g", "p r rt", "p, r, rt", "p, r, rt", "p", `row: {r: x, rt: r}, column: {p: B, b: "1"}`, `row: {r: x, rt: r}, column: {p: B, b: "1"}`, `column: {p: "1"}`)
		}
		fmt.Fprintf(&b, "simd: {lanes: %d, mac_cycles: %d, column_bytes: 32, row_bytes: %d, row_miss_cycles: %d, registers: %d, accumulator_bits: %d, register_write_cycles: %d, register_read_cycles: %d, bank_bytes: 65536}\n",
			1+r.IntN(16), 1+r.IntN(5), pick(r, 64, 256, 1024), 1+r.IntN(40), 8+r.IntN(40), pick(r, 24, 32, 48), 1+r.IntN(5), 1+r.IntN(5))
	}
	b.WriteString("levels:\n")
	for i := range levels {
		fmt.Fprintf(&b, "  - {name: l%d, fan_out: %d, bytes_per_cycle: %v, latency_cycles: %d, multicast: %v, transpose: %v, no_reduction: %v}\n",
			i, 1+r.IntN(4), pick(r, 0.3, 1, 2.5, 32), r.IntN(20), r.IntN(2) == 0, r.IntN(3) == 0, executor == "simd" || r.IntN(4) == 0)
	}
	if r.IntN(4) > 0 && executor != "simd" {
		fmt.Fprintf(&b, "buffer: {bytes: %d}\noff_chip: {bytes_per_cycle: %v, latency_cycles: %d}\n", pick(r, 60, 300, 5000), pick(r, 0.4, 3, 20.48), r.IntN(50))
	}
	return b.String()
}

// drawNest draws a sum of products: of matrices in batches, of windows, along diagonals.
func drawNest(t *testing.T, r *rand.Rand, most int) *dnn.Operator {
	typ := func() dnn.Type { return dnn.Type{Bits: 2 + r.IntN(9), Signed: r.IntN(2) == 0} }
	bits := dnn.Bits{Activation: typ(), Weight: typ()}
	n := func() int { return 1 + r.IntN(most) }
	einsum := func(a, b, out string) *dnn.Operator {
		size := map[rune]int{'.': 1}
		shape := func(s string) (e []int) {
			for _, l := range s {
				if size[l] == 0 {
					size[l] = n()
				}
				e = append(e, size[l])
			}
			return e
		}
		o, err := dnn.NewEinsum("drawn", [3]string{a, b, out}, shape(a), shape(b), bits)
		require.NoError(t, err)
		if r.IntN(2) == 0 {
			o.Tensors[1].Role, o.Tensors[1].Type = dnn.Weight, bits.Weight
		}
		return o
	}
	for {
		switch r.IntN(10) {
		case 0:
			return einsum("bhqd", "bhkd", "bhqk") // scores of attention
		case 1:
			return einsum("bhqk", "bkhd", "bqhd")
		case 2:
			return einsum("iij", "ji", "i") // a diagonal
		case 3:
			return einsum("ij", "ij", "") // one number
		case 4:
			return einsum("i", "j", "ij") // outer product
		case 5:
			return einsum("ij.", "kj", "ki")
		}
		d := 1 + r.IntN(3)
		g := 1 + r.IntN(2)
		c := dnn.Conv{N: 1 + r.IntN(2), G: g, K: g * (1 + r.IntN(2)), C: g * (1 + r.IntN(2)), Transposed: r.IntN(3) == 0}
		for range d {
			c.Out, c.Kernel = append(c.Out, 1+r.IntN(most)), append(c.Kernel, 1+r.IntN(3))
			c.Stride, c.Dilation, c.PadBefore = append(c.Stride, 1+r.IntN(3)), append(c.Dilation, 1+r.IntN(2)), append(c.PadBefore, r.IntN(3))
		}
		if o, err := dnn.NewConv("drawn", c, bits); err == nil {
			return o
		}
	}
}

// TestUnseen maps what nobody described before: machines with other compute functions,
// levels, widths and technologies, operators of other forms. What is found is clocked to the
// cycle, computes what the nest does, and is the optimum where the space can be walked; the
// genetic algorithm is not faster.
func TestUnseen(t *testing.T) {
	ctx := context.Background()
	number := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 64)
		if err != nil {
			return otherwise
		}
		return n
	}
	// UNSEEN, UNSEEN_FROM, UNSEEN_EVALS, UNSEEN_MOST and UNSEEN_SPACE draw more of them than the tests have time for.
	rounds, from, evals := number("UNSEEN", 12), number("UNSEEN_FROM", 1), int64(number("UNSEEN_EVALS", 1500))
	kinds := map[string]int{}
	for seed := from; seed < from+rounds; seed++ {
		r := rand.New(rand.NewPCG(seed, 77))
		text := drawPlatform(r)
		p, err := platform.Parse(strings.NewReader(text), "drawn.yaml")
		if err != nil {
			kinds["refused: "+err.Error()]++
			continue
		}
		o := drawNest(t, r, 1+r.IntN(int(number("UNSEEN_MOST", 6))))
		q, err := mapping.New(ctx, o, p, mapping.Options{Cold: r.IntN(2) == 0})
		if err != nil {
			require.ErrorIs(t, err, mapping.ErrInfeasible, "%d", seed)
			kinds["infeasible: "+err.Error()[:min(60, len(err.Error()))]]++
			continue
		}
		got := map[string]*Result{}
		for _, name := range []string{"bitsched", "ares"} {
			opt, err := Lookup(name)
			require.NoError(t, err)
			res, err := opt.Search(ctx, q, Options{Evals: evals, Seed: seed, Prove: true})
			if err != nil {
				kinds[name+": "+err.Error()[:min(90, len(err.Error()))]]++
				continue
			}
			got[name] = res
		}
		ours, theirs := got["bitsched"], got["ares"]
		if ours == nil {
			require.Nil(t, theirs, "%d: only the genetic algorithm found one\n%s", seed, text)
			continue
		}
		kinds[p.Executor]++
		if theirs != nil && ours.Score > theirs.Score {
			t.Errorf("%d: ares %d, bitsched %d (%v)\n%s\n%s", seed, theirs.Score, ours.Score, ours.Proved, o, text)
		}
		if q.SpaceSize() < float64(number("UNSEEN_SPACE", 200000)) {
			all, err := exhaustive{}.Search(ctx, q, Options{})
			require.NoError(t, err)
			require.Equal(t, all.Score, ours.Score, "%d: %v of %g mappings, proved %v\n%s\n%s\n%s\n%s", seed, p.Executor, q.SpaceSize(), ours.Proved, o, text, q.String(&all.Mapping), q.String(&ours.Mapping))
			kinds["walked"]++
			if ours.Proved {
				kinds["proved"]++
			}
		}
		require.GreaterOrEqual(t, ours.Score, q.LowerBound().Cycles, "%d: %s\n%s", seed, o, text)
		for _, m := range []mapping.Mapping{ours.Mapping, firstOf(theirs, ours).Mapping} {
			var c mapping.Cost
			require.Equal(t, mapping.Legal, q.Cost(&m, &c))
			k, err := q.Clock(ctx, &m)
			require.NoError(t, err, "%d\n%s", seed, text)
			require.Equal(t, c, *k, "%d\n%s\n%s", seed, text, q.String(&m))
			var data [][]int32
			for _, x := range o.Operands() {
				lo, hi := x.Type.Range()
				v := make([]int32, x.Elements())
				for i := range v {
					v[i] = int32(lo + r.Int64N(hi-lo+1))
				}
				data = append(data, v)
			}
			want, err := o.Run(ctx, 1, data...)
			require.NoError(t, err)
			x, err := q.Execute(ctx, &m, mapping.ExecuteOptions{Threads: 2}, data...)
			require.NoError(t, err, "%d\n%s\n%s\n%s", seed, text, o, q.String(&m))
			require.True(t, slices.Equal(want, x.Output), "%d\n%s\n%s\n%s\n%v\n%v", seed, text, o, q.String(&m), want, x.Output)
			require.Equal(t, c.Parts[mapping.Compute], x.Compute, "%d", seed)
		}
	}
	t.Log(kinds)
}

func firstOf(a, b *Result) *Result {
	if a != nil {
		return a
	}
	return b
}
