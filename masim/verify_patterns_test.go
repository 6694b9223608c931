package masim

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// The patterns of Verify go beyond uniform and walking ones, of which the first
// have about half of all inputs set and the second one or none. Here are
// circuits that need others; of the changed instructions that show in patterns
// made for the circuit, Verify must find nearly all with its default patterns.
func TestVerifyPatternsReach(t *testing.T) {
	const inputs = 72
	// atLeast builds the outputs "exactly 2" and "3 or more" of the literals.
	atLeast := func(n *netlist.Network, in []netlist.Lit) {
		var seen [3]netlist.Lit // at least 1, 2 and 3 so far
		for _, x := range in {
			seen[2] = n.Or(seen[2], n.And(seen[1], x))
			seen[1] = n.Or(seen[1], n.And(seen[0], x))
			seen[0] = n.Or(seen[0], x)
		}
		n.AddOutput("two", n.And(seen[1], seen[2].Not()))
		n.AddOutput("three", seen[2])
	}
	few := func(rng *rand.Rand, pattern []bool, value bool) {
		for i := range pattern {
			pattern[i] = !value
		}
		for range 1 + rng.IntN(4) {
			pattern[rng.IntN(len(pattern))] = value
		}
	}
	for _, c := range []struct {
		name  string
		build func(n *netlist.Network, in []netlist.Lit)
		set   func(rng *rand.Rand, pattern []bool)
	}{
		{"few ones", atLeast, func(rng *rand.Rand, pattern []bool) { few(rng, pattern, true) }},
		{"few zeros", func(n *netlist.Network, in []netlist.Lit) {
			not := slices.Clone(in)
			for i := range not {
				not[i] = not[i].Not()
			}
			atLeast(n, not)
		}, func(rng *rand.Rand, pattern []bool) { few(rng, pattern, false) }},
		{"constant start", func(n *netlist.Network, in []netlist.Lit) {
			open := n.OrAll(in[:inputs/2]).Not()
			k := len(in)
			n.AddOutput("maj", n.And(open, n.Maj(in[k-1], in[k-2], in[k-3])))
			n.AddOutput("xor", n.And(open, n.Xor3(in[k-4], in[k-5], in[k-6])))
		}, func(rng *rand.Rand, pattern []bool) {
			for i := range pattern {
				pattern[i] = i >= inputs/2 && rng.IntN(2) == 0
			}
			if rng.IntN(2) == 0 {
				pattern[rng.IntN(inputs/2)] = true
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := netlist.New(c.name)
			var lits []netlist.Lit
			for range inputs {
				lits = append(lits, n.AddInput(""))
			}
			c.build(n, lits)
			g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
			require.NoError(t, err)
			p := scheduleWith(t, "masim", Problem{g, sram.Geometry{Arrays: 2, Rows: 128, Cols: 256}})

			const w = 64
			rng := rand.New(rand.NewPCG(1, 2))
			in, pattern := make([]uint64, inputs*w), make([]bool, inputs)
			for k := range 64 * w {
				c.set(rng, pattern)
				for i, v := range pattern {
					if v {
						in[i*w+k/64] |= 1 << (k % 64)
					}
				}
			}
			want := n.Simulate(in, w)
			changed, found := 0, 0
			for i := range p.Instrs {
				if p.Instrs[i].Op == sram.Copy {
					continue
				}
				for m := range 4 {
					q := *p
					q.Instrs = slices.Clone(p.Instrs)
					if m == 3 {
						q.Instrs[i].Op ^= 1 // MAJ and XOR
					} else {
						q.Instrs[i].Src[m] ^= 1
					}
					code, err := sram.Compile(&q)
					require.NoError(t, err)
					if slices.Equal(want, code.NewMachine().Run(in, w)) {
						continue
					}
					changed++
					r, err := Verify(context.Background(), n, &q, VerifyOptions{})
					require.NoError(t, err)
					if !r.Equal() {
						found++
					}
				}
			}
			require.Greater(t, changed, len(p.Instrs), "mutations that show")
			require.Greater(t, 100*found, 90*changed, "%d of %d found", found, changed)
		})
	}
}
