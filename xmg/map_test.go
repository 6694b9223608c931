package xmg

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bitsched/bitsched/netlist"
)

// andXor makes a ^ b of three ANDs.
func andXor(n *netlist.Network, a, b netlist.Lit) netlist.Lit {
	return n.And(n.And(a, b)^1, n.Or(a, b))
}

// andAdder makes a full adder of nine ANDs.
func andAdder(n *netlist.Network, a, b, c netlist.Lit) (sum, carry netlist.Lit) {
	x := andXor(n, a, b)
	return andXor(n, x, c), n.Or(n.And(a, b), n.And(x, c))
}

// andMultiplier makes an array multiplier of width x width bits of ANDs.
func andMultiplier(width int) *netlist.Network {
	n := netlist.New("multiplier")
	n.Grow(12 * width * width)
	a, b := make([]netlist.Lit, width), make([]netlist.Lit, width)
	for i := range a {
		a[i] = n.AddInput("")
	}
	for i := range b {
		b[i] = n.AddInput("")
	}
	sum := make([]netlist.Lit, 2*width)
	for i := range b {
		carry := netlist.False
		for j := range a {
			sum[i+j], carry = andAdder(n, n.And(a[j], b[i]), sum[i+j], carry)
		}
		sum[i+width] = carry
	}
	for _, s := range sum {
		n.AddOutput("", s)
	}
	return n
}

// gatesOf maps a network and checks the result against it on random patterns
// (all patterns for few inputs).
func gatesOf(t *testing.T, n *netlist.Network) *Graph {
	t.Helper()
	g, err := FromNetwork(context.Background(), n, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	w := 16
	in := randomWords(n.NumInputs() * w)
	if n.NumInputs() <= 10 {
		in, w = allPatterns(n.NumInputs())
	}
	if !equalWords(g.Simulate(in, w), n.Simulate(in, w)) {
		t.Fatalf("%s: mapped graph is not equal", n.Name)
	}
	return g
}

func TestAdderChainsBecomeTwoGatesABit(t *testing.T) {
	for _, width := range []int{1, 2, 3, 5, 8, 31, 64, 200} {
		n := netlist.New("adder")
		var a, b []netlist.Lit
		for range width {
			a, b = append(a, n.AddInput("")), append(b, n.AddInput(""))
		}
		carry := n.AddInput("cin")
		for i := range a {
			var sum netlist.Lit
			sum, carry = andAdder(n, a[i], b[i], carry)
			n.AddOutput("", sum)
		}
		n.AddOutput("cout", carry)
		g := gatesOf(t, n)
		if maj, xor := g.Counts(); maj != width || xor != width {
			t.Errorf("%d bits: %d MAJ and %d XOR of %d ANDs, expected %d of each", width, maj, xor, n.NumGates(), width)
		}
	}
}

func TestArrayMultiplier(t *testing.T) {
	// width^2 ANDs, (width-1) rows of width adders; one adder of a row is half.
	for _, width := range []int{2, 4, 8, 16} {
		g := gatesOf(t, andMultiplier(width))
		if most := 3*width*width - 2*width; g.NumGates() > most {
			t.Errorf("%d bits: %d gates, expected %d at most", width, g.NumGates(), most)
		}
	}
}

// Mapping never makes a graph larger, changes no function, and keeps names.
func TestMapNeverIncreases(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 21))
		inputs := 1 + r.IntN(9)
		g := randomGraph(r, inputs, r.IntN(250), 1+r.IntN(10))
		if seed%2 == 0 {
			n := randomNetwork(r, inputs, r.IntN(300), 1+r.IntN(10), netlist.And)
			var err error
			if g, err = FromNetwork(context.Background(), n, Options{NoMap: true}); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Map(context.Background(), g, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		in, w := allPatterns(inputs)
		if !equalWords(m.Simulate(in, w), g.Simulate(in, w)) {
			t.Fatalf("seed %d: not equal", seed)
		}
		if before := g.Sweep().NumGates(); m.NumGates() > before {
			t.Fatalf("seed %d: %d gates of %d", seed, m.NumGates(), before)
		}
		if m.Sweep() != m {
			t.Fatalf("seed %d: dead gates", seed)
		}
		if s := g.Sweep(); m.NumGates() == s.NumGates() && !slices.Equal(m.nodes, s.nodes) {
			t.Fatalf("seed %d: another graph of the same size", seed)
		}
		again, _ := Map(context.Background(), g, Options{})
		if !slices.Equal(m.nodes, again.nodes) {
			t.Fatalf("seed %d: another graph the second time", seed)
		}
		for i, o := range g.Outputs() {
			if m.Output(i).Name != o.Name {
				t.Fatalf("seed %d: output %d is called %q", seed, i, m.Output(i).Name)
			}
		}
	}
}

// Each pass by itself keeps the function: a later one must not hide a fault.
func TestEachPass(t *testing.T) {
	ctx := context.Background()
	cuts := &cutStore{} // used again each time, as Map does
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 22))
		inputs := 1 + r.IntN(9)
		g := randomGraph(r, inputs, r.IntN(200), 1+r.IntN(10)).Sweep()
		in, w := allPatterns(inputs)
		want := g.Simulate(in, w)
		for name, pass := range map[string]func() (*Graph, error){
			"covering":            func() (*Graph, error) { return cover(ctx, g, nil, cuts) },
			"rewriting":           func() (*Graph, error) { return rewrite(ctx, g, nil, cuts, false) },
			"rewriting with ties": func() (*Graph, error) { return rewrite(ctx, g, nil, cuts, true) },
		} {
			m, err := pass()
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, name, err)
			}
			if !equalWords(m.Simulate(in, w), want) {
				t.Fatalf("seed %d: %s: not equal", seed, name)
			}
			if m.NumGates() > g.NumGates() {
				t.Fatalf("seed %d: %s: %d gates of %d", seed, name, m.NumGates(), g.NumGates())
			}
		}
	}
}

// The uses that the exact area pass keeps up to date are those of the cover that
// it ends with.
func TestExactPassKeepsUses(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 23))
		g := randomGraph(r, 1+r.IntN(9), r.IntN(300), 1+r.IntN(10)).Sweep()
		m, err := newMapper(context.Background(), g, nil, &cutStore{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.enumerate(); err != nil {
			t.Fatal(err)
		}
		m.countUses()
		for range 3 {
			if err := m.exactPass(); err != nil {
				t.Fatal(err)
			}
			kept := slices.Clone(m.refs)
			m.countUses()
			if !slices.Equal(kept, m.refs) {
				t.Fatalf("seed %d: uses %v, expected %v", seed, kept, m.refs)
			}
		}
	}
}

// Long chains are where recursion would overflow and exact area be quadratic.
func TestLongChains(t *testing.T) {
	t.Parallel()
	const length = 40_000
	for _, kind := range []string{"and", "xor", "alternating"} {
		n := netlist.New(kind)
		a, b := n.AddInput("a"), n.AddInput("b")
		in := []netlist.Lit{a, b}
		for range 60 {
			in = append(in, n.AddInput(""))
		}
		l := a
		for i := range length {
			x := in[(i*7+i/60)%len(in)]
			switch {
			case kind == "and" || kind == "alternating" && i%3 == 0:
				l = n.And(l, x^netlist.Lit(i&1)) ^ netlist.Lit(i>>1&1)
			case kind == "xor":
				l = andXor(n, l, x)
			default:
				l = n.Or(l, x)
			}
		}
		n.AddOutput("y", l)
		gatesOf(t, n)
	}
}

func TestMapStops(t *testing.T) {
	n := andMultiplier(40)
	ctx, cancel := context.WithCancel(context.Background())
	phases := map[string]bool{}
	_, err := FromNetwork(ctx, n, Options{Progress: func(p Progress) {
		if p.Done < 0 || p.Done > p.Total {
			t.Errorf("%+v", p)
		}
		phases[p.Phase] = true
		cancel()
	}})
	if !errors.Is(err, context.Canceled) || len(phases) == 0 {
		t.Errorf("error %v after phases %v, expected %v", err, phases, context.Canceled)
	}
	if _, err := Map(ctx, New("small"), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected %v", err, context.Canceled)
	}
}

func TestFromNetworkKeepsXMGs(t *testing.T) {
	n := netlist.New("keep")
	a, b, c, d := n.AddInput("a"), n.AddInput("b"), n.AddInput("c"), n.AddInput("d")
	and := n.And(a, b)
	n.And(c, d) // not needed
	table := n.LUT([]netlist.Lit{b, c, d}, 0xe8)
	// An XOR of ANDs, which mapping would see: the XMG must keep them.
	or := n.Or(a, d)
	nand := n.And(a, d) ^ 1
	n.AddOutput("x", n.And(or, nand))
	n.AddOutput("m", n.Maj(and, table, d^1))
	n.AddOutput("", n.Xor(table, and))
	g := gatesOf(t, n)
	kinds := ""
	for id := g.FirstGate(); id < g.NumNodes(); id++ {
		kinds += []string{"maj ", "and ", "or ", "xor3 ", "xor "}[g.gateForm(id)]
	}
	if want := "and maj or and and maj xor "; kinds != want {
		t.Errorf("gates %q, expected %q", kinds, want)
	}
	if g.Name != "keep" || g.InputName(2) != "c" || g.Output(1).Name != "m" || g.Output(2).Name != "" {
		t.Error("names are lost")
	}
	n.AddOutput("mux", n.Mux(a, b, c)) // no longer an XMG: the XOR becomes one gate
	if g := gatesOf(t, n); g.NumGates() != 5+2 {
		t.Errorf("with a multiplexer %d gates, expected 7", g.NumGates())
	}
	if _, err := FromNetwork(context.Background(), &netlist.Network{}, Options{}); err == nil {
		t.Error("a network without a constant: no error")
	}
}

func BenchmarkMap(b *testing.B) {
	for _, c := range []struct {
		name string
		net  func() *netlist.Network
	}{
		{"multiplier", func() *netlist.Network { return readData(b, "epfl/multiplier.aig") }},
		{"div", func() *netlist.Network { return readData(b, "epfl/div.aig") }},
		{"1e5", func() *netlist.Network { return andMultiplier(100) }},
		{"1e7", func() *netlist.Network { return andMultiplier(1000) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			n := c.net()
			for b.Loop() {
				if _, err := FromNetwork(context.Background(), n, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n.NumGates()), "ns/gate")
		})
	}
}
