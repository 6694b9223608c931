package xmg

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/bitsched/bitsched/netlist"
)

// randomNetwork makes a network of gates of the given kinds, with fanins from
// anywhere, constants and repeated fanins included.
func randomNetwork(r *rand.Rand, inputs, gates, outputs int, kinds ...netlist.Kind) *netlist.Network {
	n := netlist.New("random")
	for range inputs {
		n.AddInput("")
	}
	lit := func() netlist.Lit {
		size := n.NumNodes()
		if k := r.IntN(3); k > 0 && size > 12 { // mostly near, for depth
			return netlist.MakeLit(size-1-r.IntN(12), r.IntN(2) == 1)
		}
		return netlist.MakeLit(r.IntN(size), r.IntN(2) == 1)
	}
	for range gates {
		switch kinds[r.IntN(len(kinds))] {
		case netlist.And:
			n.And(lit(), lit())
		case netlist.Xor:
			n.Xor(lit(), lit())
		case netlist.Xor3:
			n.Xor3(lit(), lit(), lit())
		case netlist.Maj:
			n.Maj(lit(), lit(), lit())
		case netlist.Mux:
			n.Mux(lit(), lit(), lit())
		case netlist.LUT:
			in := make([]netlist.Lit, r.IntN(netlist.MaxLUT+1))
			for i := range in {
				in[i] = lit()
			}
			n.LUT(in, r.Uint64())
		}
	}
	for i := range outputs {
		n.AddOutput(string(rune('a'+i)), lit())
	}
	return n
}

// allPatterns returns every pattern of up to some inputs, in w words each.
func allPatterns(inputs int) (words []uint64, w int) {
	w = 1
	if inputs > 6 {
		w = 1 << (inputs - 6)
	}
	words = make([]uint64, inputs*w)
	for i := range inputs {
		for k := range w {
			if i < 6 {
				words[i*w+k] = [...]uint64{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
					0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000}[i]
			} else if k>>(i-6)&1 == 1 {
				words[i*w+k] = ^uint64(0)
			}
		}
	}
	return words, w
}

func equalWords(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestFromNetworkEveryKind(t *testing.T) {
	all := []netlist.Kind{netlist.And, netlist.Xor, netlist.Xor3, netlist.Maj, netlist.Mux, netlist.LUT}
	sets := [][]netlist.Kind{all, {netlist.And}, all[:2], all[:4], all[:5], {netlist.LUT}, {netlist.Mux}, {netlist.Maj}}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		inputs := 1 + r.IntN(8)
		n := randomNetwork(r, inputs, r.IntN(120), r.IntN(8), sets[seed%uint64(len(sets))]...)
		in, w := allPatterns(inputs)
		want := n.Simulate(in, w)
		for _, opt := range []Options{{}, {NoMap: true}} {
			g, err := FromNetwork(context.Background(), n, opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if !equalWords(g.Simulate(in, w), want) {
				t.Fatalf("seed %d, %+v: not equal to the network", seed, opt)
			}
			if g.NumInputs() != n.NumInputs() || g.NumOutputs() != n.NumOutputs() || g.Sweep() != g {
				t.Fatalf("seed %d, %+v: inputs, outputs or dead gates", seed, opt)
			}
			back := g.ToNetwork()
			if err := back.Check(); err != nil {
				t.Fatal(err)
			}
			if !equalWords(back.Simulate(in, w), want) || back.NumGates() != g.NumGates() {
				t.Fatalf("seed %d, %+v: ToNetwork is not equal", seed, opt)
			}
		}
	}
}
