package masim

import (
	"math"
	"testing"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// andChain is the conjunction of n inputs, of which the last `idle` feed nothing.
func andChain(n, idle int) *xmg.Graph {
	g := xmg.New("chain")
	ins := make([]xmg.Lit, n)
	for i := range ins {
		ins[i] = g.AddInput("")
	}
	acc := ins[0]
	for _, in := range ins[1 : n-idle] {
		acc = g.Maj(acc, in, xmg.False)
	}
	g.AddOutput("y", acc)
	return g
}

func TestLowerBound(t *testing.T) {
	for _, c := range []struct {
		name               string
		inputs, idle, rows int
		want               int
	}{
		{"no full array", 8, 0, 9, 0},
		{"one full array", 8, 0, 8, 8},
		{"one full array and a rest", 11, 0, 8, 8},
		{"two full arrays", 17, 0, 8, 16},
		{"idle inputs in the rest", 11, 3, 8, 8},
		{"idle inputs in a full array", 8, 3, 8, 5},
		{"no gate", 8, 7, 8, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Problem{andChain(c.inputs, c.idle), sram.Geometry{Arrays: 8, Rows: c.rows, Cols: 1}}
			b := LowerBound(t.Context(), p)
			got, reason := b.Copies, b.Reason
			if got != c.want || reason == "" {
				t.Errorf("LowerBound = %d (%s), want %d", got, reason, c.want)
			}
		})
	}
}

// BenchmarkLiveValues prints how many values at least are live at a time, whatever the order:
// by the best single gate, all gates looked at, and for graphs of up to 1000 gates by the
// sets of one size too, in sixteenths of the gates.
func BenchmarkLiveValues(b *testing.B) {
	for _, name := range []string{"int2float", "router", "cavlc", "sin"} {
		b.Run(name, func(b *testing.B) {
			p := sharedProblem(b, name)
			in := newInstance(p, p.Geometry.Arrays)
			for b.Loop() {
				c := newCutBound(b.Context(), in, true)
				c.lives = newMeter(b.Context(), math.MaxInt64/2)
				most := int32(0)
				for g := range in.gates {
					most = max(most, c.live(moment{gate: g, other: -1}, c.lives))
				}
				bySize := 0.0
				for k := in.gates / 16; in.gates <= cutSmall && k < in.gates; k += in.gates / 16 {
					least := math.Inf(1)
					for g := range in.gates {
						if least > bySize {
							least = min(least, sizedLive(c, g, k, least))
						}
					}
					if !math.IsInf(least, 1) {
						bySize = max(bySize, least)
					}
				}
				b.Logf("%s: %d by gates, %.1f by sizes; %d rows beside the inputs", name, most, bySize, c.room)
			}
		})
	}
}

// sizedLive returns how many values at least are live where gate g is the next after k others:
// the best Lagrangian bound of the minimum cuts of sets of that size, or one that is enough.
func sizedLive(b *cutBound, g, k int32, enough float64) float64 {
	const unit = 8
	in, f := b.in, &b.net
	b.mark(moment{gate: g, other: -1})
	open := int32(0)
	for v := in.first; v < in.values; v++ {
		switch b.side[v] {
		case before:
			k--
		case undecided:
			open++
		}
	}
	if k < 0 || k > open {
		return math.Inf(1) // not the next then
	}
	best := 0.0
	for low, high := int32(-2*unit), int32(2*unit); high-low > 1 && best < enough; {
		price := (low + high) / 2 // of a gate
		f.reset(int(2 + 2*in.values))
		for v := in.first; v < in.values; v++ {
			n := 2 + 2*v
			switch {
			case b.side[v] == before:
				f.arc(source, n, noCut)
			case b.side[v] == after:
				f.arc(n, sink, noCut)
			case price > 0:
				f.arc(n, sink, price)
			case price < 0:
				f.arc(source, n, -price)
			}
			for _, u := range in.uses(v) {
				f.arc(n+1, 2+2*(in.first+u), noCut)
				f.arc(2+2*(in.first+u), n, noCut)
			}
			if in.isOut[v] {
				f.arc(n+1, sink, noCut)
			}
			f.arc(n, n+1, unit)
		}
		flow := f.maximise(noCut)
		if price > 0 {
			flow -= price * k
		} else {
			flow += price * (open - k)
		}
		best = max(best, float64(flow)/unit)
		f.sourceSide()
		count := int32(0)
		for v := in.first; v < in.values; v++ {
			if b.side[v] == undecided && f.level[2+2*v] >= 0 {
				count++
			}
		}
		switch {
		case count > k:
			low = price
		case count < k:
			high = price
		default:
			return best
		}
	}
	return best
}
