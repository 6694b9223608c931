package mapping

import (
	"context"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
	"github.com/bitsched/bitsched/lowering/mapping/platform"
)

// TestPointwise holds of random work on random arrays: closed form and clock agree, parts sum,
// the bound is not above them, and every bitline computes what plain integers give.
func TestPointwise(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlatform(t)
		if p.Executor != platform.ArrayExecutor {
			t.Skip("no arrays")
		}
		n := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		w := PointWork{
			Op: rapid.SampledFrom([]PointOp{PointReLU, PointAdd, PointMax, PointRequantise, PointRequantiseReLU}).Draw(t, "op"), Sources: 1,
			Elements: int64(n("elements", 1, 5000)), In: dnn.Type{Bits: n("bits", 2, 8), Signed: rapid.Bool().Draw(t, "signed")},
			Fetched: int64(n("fetched", 0, 9000)), Stored: int64(n("stored", 0, 9000)), Spilled: int64(n("spilled", 0, 1) * 300),
		}
		if p.OffChip == nil {
			w.Fetched, w.Stored, w.Spilled = 0, 0, 0
		}
		w.Out = w.In
		shift := 0
		switch w.Op {
		case PointReLU:
			w.In.Signed, w.Out.Signed = true, true
		case PointAdd:
			w.Sources = 2
		case PointMax:
			w.Sources = n("sources", 1, 9)
		case PointRequantise, PointRequantiseReLU:
			w.In.Bits = n("sum", 8, 30)
			w.Out.Signed = rapid.Bool().Draw(t, "out signed")
		}
		x, err := NewPointwise(ctx, p, w)
		if err != nil {
			t.Skip(err)
		}
		c := x.Cost()
		clock, err := x.Clock(ctx)
		if err != nil || clock != c {
			t.Fatalf("clock %+v %v, closed form %+v", clock, err, c)
		}
		sum := int64(0)
		for _, part := range c.Parts {
			sum += part
		}
		if sum != c.Cycles || x.Bound().Cycles > c.Cycles {
			t.Fatalf("parts %d, cycles %d, bound %d", sum, c.Cycles, x.Bound().Cycles)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		lo, hi := w.In.Range()
		src := make([][]int64, w.Sources)
		for s := range src {
			for range w.Elements {
				v := lo + r.Int64N(hi-lo+1)
				switch r.IntN(8) {
				case 0:
					v = lo
				case 1:
					v = hi
				}
				src[s] = append(src[s], v)
			}
		}
		olo, ohi := w.Out.Range()
		want := func(i int64) int64 {
			v := src[0][i]
			for _, o := range src[1:] {
				if w.Op == PointAdd {
					v += o[i]
				} else {
					v = max(v, o[i])
				}
			}
			return v
		}
		var exact []int32
		if w.Op == PointRequantise || w.Op == PointRequantiseReLU {
			shift = dnn.RequantiseShift(src[0], w.Out)
			exact = dnn.Requantise(src[0], w.Out)
		}
		got := make([]int64, w.Elements)
		if _, err := x.Execute(ctx, 2, shift, func(s int, i int64) int64 { return src[s][i] }, func(i, v int64) { got[i] = v }); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			v := want(int64(i))
			switch w.Op {
			case PointReLU:
				v = max(v, 0)
			case PointAdd:
				v = min(max(v, olo), ohi)
			case PointRequantise:
				v = int64(exact[i])
			case PointRequantiseReLU:
				v = max(int64(exact[i]), 0)
			}
			if got[i] != v {
				t.Fatalf("%s of %d: element %d is %d, expected %d", w.Op, src[0][i], i, got[i], v)
			}
		}
	})
}
