package mapping

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// drawOperator draws a convolution, a product of matrices, or an affine nest that is
// neither.
func drawOperator(t *rapid.T) *dnn.Operator {
	n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	bits := dnn.Bits{
		Activation: dnn.Type{Bits: n("a", 2, 8), Signed: rapid.Bool().Draw(t, "a signed")},
		Weight:     dnn.Type{Bits: n("w", 2, 8), Signed: rapid.Bool().Draw(t, "w signed")},
	}
	switch n("kind", 0, 3) {
	case 0:
		o, err := dnn.Parse(fmt.Sprintf("gemm:M=%d,K=%d,N=%d,batch=%d,dynamic=%d", n("M", 1, 6), n("K", 1, 7), n("N", 1, 6), n("batch", 1, 2), n("dynamic", 0, 1)), bits)
		if err != nil {
			t.Fatal(err)
		}
		return o
	case 1: // C[i,j] += A[i, 2k+j-1] * B[k, i]: no convolution and no product of matrices
		i, j, k := n("i", 1, 5), n("j", 1, 4), n("k", 1, 5)
		return &dnn.Operator{Name: "nest", Kind: "nest", Loops: []dnn.Loop{{Name: "i", Extent: i}, {Name: "j", Extent: j}, {Name: "k", Extent: k}}, Tensors: []dnn.Tensor{
			{Name: "A", Role: dnn.Activation, Type: bits.Activation, Access: [][]int{{1, 0, 0}, {0, 1, 2}}, Offset: []int{0, -1}, Extents: []int{i, 2*k + j - 2 + 1}},
			{Name: "B", Role: dnn.Weight, Type: bits.Weight, Access: [][]int{{0, 0, 1}, {1, 0, 0}}, Offset: []int{0, 0}, Extents: []int{k, i}},
			{Name: "C", Role: dnn.Output, Access: [][]int{{1, 0, 0}, {0, 1, 0}}, Offset: []int{0, 0}, Extents: []int{i, j}},
		}}
	}
	g := n("G", 1, 3)
	o, err := dnn.NewConv("conv", dnn.Conv{
		N: n("N", 1, 2), G: g, K: g * n("K", 1, 3), C: g * n("C", 1, 3), Out: []int{n("H", 1, 4), n("W", 1, 5)}, Kernel: []int{n("R", 1, 3), n("S", 1, 3)},
		Stride: []int{n("sh", 1, 2), n("sw", 1, 2)}, Dilation: []int{n("dh", 1, 2), 1}, Transposed: n("transposed", 0, 4) == 0,
	}, bits)
	if err != nil {
		t.Skip(err)
	}
	return o
}

// drawPlatform draws one of the platforms with other numbers.
func drawPlatform(t *rapid.T) *platform.Platform {
	p, err := platform.Load(rapid.SampledFrom(platform.Names()).Draw(t, "platform"))
	if err != nil {
		t.Fatal(err)
	}
	set := func(field string, values ...float64) {
		if v, ok := p.Value(field); !ok || v == 0 {
			return
		}
		q, err := p.With(field, rapid.SampledFrom(values).Draw(t, field))
		if err == nil { // a value that does not go with the others is left
			p = q
		}
	}
	for i := range p.Levels {
		set(fmt.Sprintf("levels[%d].fan_out", i), 1, 2, 3, 5)
		set(fmt.Sprintf("levels[%d].bytes_per_cycle", i), 0.3, 1, 7, 64)
		set(fmt.Sprintf("levels[%d].latency_cycles", i), 1, 30)
	}
	set("buffer.bytes", 40, 200, 5000)
	set("off_chip.bytes_per_cycle", 0.7, 5, 64)
	set("array.cols", 64, 100, 256)
	set("array.rows", 128, 256)
	set("crossbar.rows", 5, 16, 128)
	set("crossbar.cols", 16, 33, 128)
	set("crossbar.dac_bits", 1, 2, 3)
	set("crossbar.cell_bits", 1, 2, 4)
	set("simd.lanes", 4, 7, 32)
	set("simd.registers", 12, 32)
	return p
}

// converters returns a platform whose converters clip nothing, so that the nest is the
// oracle.
func converters(p *platform.Platform) *platform.Platform {
	if p.Crossbar == nil {
		return p
	}
	q, err := p.With("crossbar.adc_bits", 24)
	if err != nil {
		panic(err)
	}
	return q
}

// ledger counts how often each iteration of the nest is reached by the digits of a
// mapping, padding apart.
func ledger(q *Problem, m *Mapping) map[[MaxLoops]int64]int {
	seen := map[[MaxLoops]int64]int{}
	var at [MaxLoops]int64
	var walk func(l, s int, scale int64)
	walk = func(l, s int, scale int64) {
		if l == q.loops {
			inside := true
			for k := range q.loops {
				inside = inside && at[k] < int64(q.extent[k])
			}
			if inside {
				seen[at]++
			}
			return
		}
		if s == NumSlots {
			walk(l+1, 0, 1)
			return
		}
		saved := at[l]
		for d := range int64(m.Factor[s][l]) {
			at[l] = saved + d*scale
			walk(l, s+1, scale*int64(m.Factor[s][l]))
		}
		at[l] = saved
	}
	walk(0, 0, 1)
	return seen
}

// TestMappingsOfAnything holds the invariants of section 8 of the specification over
// random operators, platforms and mappings.
func TestMappingsOfAnything(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		o, p := drawOperator(t), converters(drawPlatform(t))
		opt := Options{Cold: rapid.Bool().Draw(t, "cold")}
		for i := range opt.Resident {
			opt.Resident[i] = o.Tensors[i].Role != dnn.Weight && rapid.IntRange(0, 3).Draw(t, "resident") == 0
			if opt.Resident[i] && p.Buffer != nil {
				opt.Held = min(p.Buffer.Bytes/2, 10)
			}
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		if o.Tensors[1].Role == dnn.Weight && rapid.Bool().Draw(t, "instructions") {
			opt.Weights = randomValues(o, r)[1]
		}
		q, err := New(ctx, o, p, opt)
		if err != nil {
			t.Skip(err)
		}
		for range 3 {
			m, ok := q.Random(r, 30)
			if !ok {
				t.Skip("no legal mapping was drawn")
			}
			var c Cost
			if v := q.Cost(&m, &c); v != Legal {
				t.Fatalf("random mapping: %v", v)
			}
			sum := int64(0)
			for _, x := range c.Parts {
				sum += x
			}
			if sum != c.Cycles {
				t.Fatalf("parts sum to %d of %d", sum, c.Cycles)
			}
			if got, err := q.Clock(ctx, &m); err != nil || *got != c {
				t.Fatalf("clock %+v %v, closed form %+v\n%s", got, err, c, q.String(&m))
			}
			if b := q.LowerBound(); b.Cycles > c.Cycles {
				t.Fatalf("bound %d (%s) above %d", b.Cycles, b.Reason, c.Cycles)
			}
			for _, bound := range []func(*Mapping) (int64, Violation){q.SizesBound, q.ScheduleBound} {
				if b, v := bound(&m); v != Legal || b > c.Cycles {
					t.Fatalf("bound %d (%v) of sizes or schedule above %d", b, v, c.Cycles)
				}
			}
			for i, n := range ledger(q, &m) {
				if n != 1 {
					t.Fatalf("iteration %v is reached %d times", i, n)
				}
			}
			if n := len(ledger(q, &m)); int64(n) != o.MACs() {
				t.Fatalf("%d iterations of %d", n, o.MACs())
			}
			var text bytes.Buffer
			if err := q.Write(&text, &m); err != nil {
				t.Fatal(err)
			}
			back, err := q.Read(&text, "m.yaml")
			if err != nil || !sameMapping(q, back, &m) {
				t.Fatalf("text: %v\n%s", err, q.String(&m))
			}
			for _, data := range [][][]int32{randomValues(o, r), directed(o, r.IntN(4))} {
				if opt.Weights != nil {
					data[1] = opt.Weights
				}
				want, err := o.Run(ctx, 1, data...)
				if err != nil {
					t.Fatal(err)
				}
				got, err := q.Execute(ctx, &m, ExecuteOptions{Threads: 1}, data...)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(want, got.Output) {
					t.Fatalf("outputs differ\n%s", q.String(&m))
				}
				if got.Waves != c.Waves || got.Compute != c.Parts[Compute] {
					t.Fatalf("executed %d waves and %d cycles of products, priced %d and %d", got.Waves, got.Compute, c.Waves, c.Parts[Compute])
				}
				if i := q.Instructions(&m); i != nil && got.Sums != i.Sums {
					t.Fatalf("executed %d sums of digits, counted %d\n%s", got.Sums, i.Sums, q.String(&m))
				}
			}
		}
	})
}

// sameMapping compares what of two mappings matters: orders of loops that go round.
func sameMapping(q *Problem, a, b *Mapping) bool {
	x, y := *a, *b
	for i := q.loops; i < MaxLoops; i++ {
		x.Wave[i], y.Wave[i], x.Tile[i], y.Tile[i] = 0, 0, 0, 0
	}
	return x == y
}

// directed is data that shows misplaced elements: extremes, single ones, numbers of
// places.
func directed(o *dnn.Operator, kind int) [][]int32 {
	var out [][]int32
	for n, t := range o.Operands() {
		lo, hi := t.Type.Range()
		v := make([]int32, t.Elements())
		for i := range v {
			switch kind {
			case 0:
				v[i] = int32(lo)
			case 1:
				v[i] = int32(hi)
			case 2: // a single one against numbers of places
				if n == 0 {
					v[i] = int32(int64(i) % (hi + 1))
				} else if i == len(v)/2 {
					v[i] = 1
				}
			default:
				if n == 1 {
					v[i] = int32(int64(i) % (hi + 1))
				} else if i == len(v)/2 {
					v[i] = 1
				}
			}
		}
		out = append(out, v)
	}
	return out
}

// TestRulesByIterations decides B1 and B2 by looking at iterations: two that differ in
// one loop and so lie at places that differ in one dimension must not need different
// elements in one place of an operand, nor may sums that must be kept apart meet.
func TestRulesByIterations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, p := drawOperator(t), drawPlatform(t)
		q, err := New(context.Background(), o, p, Options{})
		if err != nil {
			t.Skip(err)
		}
		f := rapid.IntRange(0, len(p.Functions)-1).Draw(t, "function")
		fn := &p.Functions[f]
		d, l, swap := rapid.IntRange(0, len(fn.Dims)-1).Draw(t, "dim"), rapid.IntRange(0, q.loops-1).Draw(t, "loop"), rapid.Bool().Draw(t, "swap")
		// A step of the loop, at any place of the others; the access is affine, so one is
		// as good as all.
		legal := true
		for op := range fn.Operands {
			tensor := &o.Tensors[op]
			if swap && op < 2 {
				tensor = &o.Tensors[1-op]
			}
			differs := false
			for _, row := range tensor.Access {
				differs = differs || row[l] != 0
			}
			samePlace := !slices.Contains(fn.Operands[op].Index, fn.Dims[d].Name)
			if samePlace && differs {
				legal = false // two elements in one place
			}
		}
		// Sums over the dimension are added up exactly if the loop's iterations go to one
		// element of the result.
		addsUp := true
		for _, row := range o.Output().Access {
			addsUp = addsUp && row[l] == 0
		}
		if addsUp != (fn.Dims[d].Kind == "reduction") {
			legal = false
		}
		refusal := q.Refuse(f, d, l, swap)
		if legal != (refusal == nil) {
			t.Fatalf("loop %s in dimension %s of %s, swapped %v: by iterations legal %v, refused: %v", o.Loops[l].Name, fn.Dims[d].Name, fn.Name, swap, legal, refusal)
		}
	})
}

func load(t testing.TB, name string, fields ...any) *platform.Platform {
	p, err := platform.Load(name)
	require.NoError(t, err)
	for i := 0; i < len(fields); i += 2 {
		p, err = p.With(fields[i].(string), fields[i+1].(float64))
		require.NoError(t, err)
	}
	return p
}

// optimum is the least cycles of a whole small space.
func optimum(t testing.TB, o *dnn.Operator, p *platform.Platform) int64 {
	q, err := New(context.Background(), o, p, Options{Cold: true})
	require.NoError(t, err)
	best := int64(1) << 62
	var c Cost
	q.Every(func(m *Mapping) bool {
		if q.Cost(m, &c) == Legal {
			best = min(best, c.Cycles)
		}
		return true
	})
	require.Less(t, best, int64(1)<<62)
	return best
}

// TestMoreIsNeverWorse holds of optima: more units, bandwidth, rows or room, and fewer
// bits and smaller extents, take no longer.
func TestMoreIsNeverWorse(t *testing.T) {
	parse := func(text string, bits dnn.Bits) *dnn.Operator {
		o, err := dnn.Parse(text, bits)
		require.NoError(t, err)
		return o
	}
	base := map[string][]any{
		"logic-sram": {"levels[0].fan_out", 2.0, "levels[1].fan_out", 1.0, "levels[0].bytes_per_cycle", 1.0, "array.cols", 64.0, "array.rows", 192.0, "buffer.bytes", 20.0, "off_chip.bytes_per_cycle", 0.5},
		"mvm-reram":  {"levels[0].fan_out", 2.0, "levels[1].fan_out", 1.0, "levels[2].fan_out", 1.0, "crossbar.rows", 2.0, "crossbar.cols", 8.0, "buffer.bytes", 20.0, "off_chip.bytes_per_cycle", 0.5},
		"pnm-hbm":    {"levels[0].fan_out", 2.0, "levels[1].fan_out", 1.0, "simd.lanes", 2.0, "simd.registers", 6.0},
	}
	more := map[string][][]any{
		"logic-sram": {{"levels[0].fan_out", 3.0}, {"levels[0].bytes_per_cycle", 2.0}, {"array.cols", 128.0}, {"array.rows", 256.0}, {"buffer.bytes", 40.0}, {"off_chip.bytes_per_cycle", 1.0}},
		"mvm-reram":  {{"levels[0].fan_out", 3.0}, {"crossbar.rows", 4.0}, {"crossbar.cols", 16.0}, {"buffer.bytes", 40.0}, {"off_chip.bytes_per_cycle", 1.0}},
		"pnm-hbm":    {{"levels[0].fan_out", 3.0}, {"simd.lanes", 4.0}, {"simd.registers", 12.0}},
	}
	works := map[string]string{"logic-sram": "gemm:M=2,K=3,N=2", "mvm-reram": "gemm:M=2,K=3,N=2", "pnm-hbm": "gemm:M=3,K=3,N=2"}
	smaller := map[string]string{"logic-sram": "gemm:M=2,K=2,N=2", "mvm-reram": "gemm:M=1,K=3,N=2", "pnm-hbm": "gemm:M=3,K=2,N=2"}
	for _, name := range []string{"logic-sram", "mvm-reram", "pnm-hbm"} {
		p := load(t, name, base[name]...)
		o := parse(works[name], dnn.DefaultBits)
		least := optimum(t, o, p)
		for _, change := range more[name] {
			x := load(t, name, append(slices.Clone(base[name]), change...)...)
			require.LessOrEqual(t, optimum(t, o, x), least, "%s: %v", name, change)
		}
		require.LessOrEqual(t, optimum(t, parse(smaller[name], dnn.DefaultBits), p), least, "%s: smaller extents", name)
		four := dnn.Bits{Activation: dnn.Type{Bits: 4, Signed: true}, Weight: dnn.Type{Bits: 4, Signed: true}}
		require.LessOrEqual(t, optimum(t, parse(works[name], four), p), least, "%s: fewer bits", name)
	}
}

// TestSameWorkSameOptimum: what names loops otherwise, turns pictures or products of matrices
// over, or writes a product as a convolution, is as fast.
func TestSameWorkSameOptimum(t *testing.T) {
	parse := func(text string) *dnn.Operator {
		o, err := dnn.Parse(text, dnn.DefaultBits)
		require.NoError(t, err)
		return o
	}
	renamed := parse("gemm:M=2,K=3,N=2")
	for l := range renamed.Loops {
		renamed.Loops[l].Name = string(rune('p' + l))
	}
	sram := load(t, "logic-sram", "levels[0].fan_out", 2.0, "levels[1].fan_out", 1.0, "array.cols", 64.0, "off_chip.bytes_per_cycle", 0.5)
	lanes := load(t, "pnm-hbm", "levels[0].fan_out", 2.0, "levels[1].fan_out", 2.0)
	for _, c := range []struct {
		a, b *dnn.Operator
		p    *platform.Platform
	}{
		{parse("gemm:M=2,K=3,N=2"), renamed, sram},
		{parse("gemm:M=2,K=3,N=3,dynamic=1"), parse("gemm:M=3,K=3,N=2,dynamic=1"), sram},
		{parse("gemm:M=3,K=3,N=2,dynamic=1"), parse("gemm:M=2,K=3,N=3,dynamic=1"), lanes},
		{parse("conv:N=1,K=2,H=3,W=2,C=2,R=1,S=1"), parse("conv:N=1,K=2,H=2,W=3,C=2,R=1,S=1"), lanes},
		{parse("conv:N=1,K=2,W=3,C=2,S=1"), parse("conv:N=3,K=2,W=1,C=2,S=1"), lanes}, // a kernel of one tap: batch and width are alike
	} {
		require.Equal(t, optimum(t, c.a, c.p), optimum(t, c.b, c.p), "%s and %s on %s", c.a, c.b, c.p.Name)
	}
}

// TestMutantsOfMappings changes a factor, an order, a flag or an operand of a mapping:
// what is not refused computes the same.
func TestMutantsOfMappings(t *testing.T) {
	ctx := context.Background()
	refused, same := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		o, p := drawOperator(t), converters(drawPlatform(t))
		q, err := New(ctx, o, p, Options{})
		if err != nil {
			t.Skip(err)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		m, ok := q.Random(r, 30)
		if !ok {
			t.Skip("no legal mapping was drawn")
		}
		data := randomValues(o, r)
		want, err := o.Run(ctx, 1, data...)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			x := m
			switch r.IntN(6) {
			case 0, 1, 2:
				s, l := r.IntN(NumSlots), r.IntN(q.loops)
				x.Factor[s][l] = uint32(r.IntN(int(x.Factor[s][l]) + 2))
			case 3:
				x.Wave[r.IntN(q.loops)] = uint8(r.IntN(q.loops + 1))
			case 4:
				x.Swap = !x.Swap
			default:
				x.Tile[r.IntN(q.loops)] = uint8(r.IntN(q.loops))
			}
			got, err := q.Execute(ctx, &x, ExecuteOptions{Threads: 1}, data...)
			if err != nil {
				refused++
				continue
			}
			same++
			if !slices.Equal(want, got.Output) {
				t.Fatalf("a mapping that is taken for legal computes something else\n%s", q.String(&x))
			}
		}
	})
	require.Positive(t, refused)
	require.Positive(t, same)
}

// TestMutantsOfWhatIsExecuted changes offsets of rows, digits, flip bits and words of banks: each that changes the function is seen in the outputs.
func TestMutantsOfWhatIsExecuted(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(3, 8))
	work, err := dnn.Parse("conv:N=1,K=4,H=4,W=5,C=3,R=2,S=2", dnn.DefaultBits)
	require.NoError(t, err)
	run := func(q *Problem, m *Mapping, tamper func(part any)) (seen bool) {
		// Data that a change escapes once is followed by other data.
		all := append([][][]int32{randomValues(work, r), randomValues(work, r), randomValues(work, r), directed(work, 0), directed(work, 1)}, largeSums(work, r)...)
		for _, data := range all {
			want, err := work.Run(ctx, 1, data...)
			require.NoError(t, err)
			got, err := q.Execute(ctx, m, ExecuteOptions{Threads: 1, tamper: tamper}, data...)
			if err != nil || !slices.Equal(want, got.Output) {
				return true
			}
		}
		return false
	}
	t.Run("rows", func(t *testing.T) {
		q, err := New(ctx, work, load(t, "logic-sram"), Options{})
		require.NoError(t, err)
		m, ok := q.Random(r, 100)
		require.True(t, ok)
		for o := range 2 {
			require.True(t, run(q, &m, func(part any) { part.(*arrayCode).rows.source[o]++ }), "operand %d is written a row off", o)
		}
		for {
			m, ok = q.Random(r, 100)
			require.True(t, ok)
			if code, err := q.newArrayCode(&m, true); err == nil && len(code.rounds) > 0 && code.m > 1 {
				break
			}
		}
		require.True(t, run(q, &m, func(part any) { part.(*arrayCode).rounds[0].stay++ }), "sums are moved from a place off")
	})
	t.Run("crossbars", func(t *testing.T) {
		q, err := New(ctx, work, load(t, "mvm-reram"), Options{})
		require.NoError(t, err)
		m, ok := q.Random(r, 100)
		require.True(t, ok)
		for range 10 {
			at := r.Uint64()
			require.True(t, run(q, &m, func(part any) {
				c := part.(*matrixCells)
				c.plane[0] ^= 1 // a digit of the first row
			}), "a digit")
			require.True(t, run(q, &m, func(part any) {
				c := part.(*matrixCells)
				c.flip[0] = !c.flip[0]
			}), "a flip bit")
			_ = at
		}
	})
	t.Run("banks", func(t *testing.T) {
		q, err := New(ctx, work, load(t, "pnm-hbm"), Options{})
		require.NoError(t, err)
		m, ok := q.Random(r, 100)
		require.True(t, ok)
		require.True(t, run(q, &m, func(part any) {
			words := part.([]int32)
			for i := range words {
				words[i] ^= 1
			}
		}), "words of a bank")
	})
}
