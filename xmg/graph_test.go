package xmg

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func abc() (g *Graph, a, b, c Lit) {
	g = New("abc")
	return g, g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
}

func TestSimplificationRules(t *testing.T) {
	g, a, b, c := abc()
	maj, xor := g.Maj(a, b, c), g.Xor(a, b, c)
	and, xor2 := g.And(a, b), g.Xor2(a, b)
	gates := g.NumGates()
	for _, r := range []struct {
		name      string
		got, want Lit
	}{
		{"M(a,a,b) = a", g.Maj(a, a, b), a},
		{"M(a,b,b) = b", g.Maj(a, b, b), b},
		{"M(b,a,b) = b", g.Maj(b, a, b), b},
		{"M(a,!a,b) = b", g.Maj(a, a^1, b), b},
		{"M(b,a,!b) = a", g.Maj(b, a, b^1), a},
		{"M(0,1,a) = a", g.Maj(False, True, a), a},
		{"M(0,0,a) = 0", g.Maj(False, False, a), False},
		{"M(1,a,1) = 1", g.Maj(True, a, True), True},
		{"M(c,a,b) is M(a,b,c)", g.Maj(c, a, b), maj},
		{"self-duality", g.Maj(a^1, b^1, c^1), maj ^ 1},
		{"self-duality of AND", g.Maj(a^1, b^1, True), and ^ 1},
		{"De Morgan", g.Or(a^1, b^1), and ^ 1},
		{"a & a", g.And(a, a), a},
		{"a & !a", g.And(a, a^1), False},
		{"a | 1", g.Or(a, True), True},
		{"a ^ a ^ b = b", g.Xor(a, a, b), b},
		{"a ^ !a ^ b = !b", g.Xor(a, a^1, b), b ^ 1},
		{"0 ^ 1 ^ a = !a", g.Xor(False, True, a), a ^ 1},
		{"0 ^ 0 ^ 1 = 1", g.Xor(False, False, True), True},
		{"b ^ c ^ a is a ^ b ^ c", g.Xor(b, c, a), xor},
		{"!a ^ b ^ c", g.Xor(a^1, b, c), xor ^ 1},
		{"!a ^ !b ^ c", g.Xor(a^1, b^1, c), xor},
		{"!a ^ !b ^ !c", g.Xor(a^1, b^1, c^1), xor ^ 1},
		{"a ^ b ^ 1", g.Xor(a, b, True), xor2 ^ 1},
		{"a ? 1 : b", g.Mux(a, True, b), g.Or(a, b)},
		{"a ? a : b", g.Mux(a, a, b), g.Or(a, b)},
		{"a ? b : 0", g.Mux(a, b, False), and},
		{"a ? b : a", g.Mux(a, b, a), and},
		{"a ? b : !b", g.Mux(a, b, b^1), xor2 ^ 1},
		{"a ? !b : b", g.Mux(a, b^1, b), xor2},
		{"a ? c : c", g.Mux(a, c, c), c},
		{"0 ? a : b", g.Mux(False, a, b), b},
		{"1 ? a : b", g.Mux(True, a, b), a},
	} {
		if r.got != r.want {
			t.Errorf("%s: got %d, expected %d", r.name, r.got, r.want)
		}
	}
	if g.NumGates() != gates+1 { // OR
		t.Errorf("%d gates, expected %d", g.NumGates(), gates+1)
	}
}

// Every gate over constants, inputs and their complements has the right
// function, and is no gate where that is an edge.
func TestAllGates(t *testing.T) {
	lits := []Lit{0, 1, 2, 3, 4, 5, 6, 7}
	fn := []uint8{0, 255, 0xaa, 0x55, 0xcc, 0x33, 0xf0, 0x0f} // by literal
	for _, x := range lits {
		for _, y := range lits {
			for _, z := range lits {
				for _, op := range []struct {
					name  string
					build func(g *Graph) Lit
					want  uint8
					gates int
				}{
					{"maj", func(g *Graph) Lit { return g.Maj(x, y, z) }, fn[x]&fn[y] | fn[x]&fn[z] | fn[y]&fn[z], 1},
					{"xor", func(g *Graph) Lit { return g.Xor(x, y, z) }, fn[x] ^ fn[y] ^ fn[z], 1},
					{"mux", func(g *Graph) Lit { return g.Mux(x, y, z) }, fn[x]&fn[y] | ^fn[x]&fn[z], 2},
				} {
					g, _, _, _ := abc()
					l := op.build(g)
					g.AddOutput("", l)
					if err := g.Check(); err != nil {
						t.Fatalf("%s %d %d %d: %v", op.name, x, y, z, err)
					}
					if got := uint8(g.Simulate([]uint64{0xaa, 0xcc, 0xf0}, 1)[0]); got != op.want {
						t.Fatalf("%s %d %d %d: function %02x, expected %02x", op.name, x, y, z, got, op.want)
					}
					most := op.gates
					for _, f := range fn {
						if f == op.want {
							most = 0
						}
					}
					if g.NumGates() > most {
						t.Fatalf("%s %d %d %d: %d gates, expected %d at most", op.name, x, y, z, g.NumGates(), most)
					}
				}
			}
		}
	}
}

// randomGraph makes a graph with all kinds of edges; not all gates are needed.
func randomGraph(r *rand.Rand, inputs, gates, outputs int) *Graph {
	g := New("random")
	for range inputs {
		g.AddInput("")
	}
	lit := func() Lit { return MakeLit(r.IntN(g.NumNodes()), r.IntN(2) == 1) }
	for range gates {
		if r.IntN(2) == 0 {
			g.Maj(lit(), lit(), lit())
		} else {
			g.Xor(lit(), lit(), lit())
		}
	}
	for range outputs {
		g.AddOutput("", lit())
	}
	return g
}

// naive evaluates one literal for one pattern, from the public view of a graph
// alone.
type naive struct {
	g       *Graph
	pattern []bool
	memo    map[int]bool
}

func (n naive) value(l Lit) bool {
	id := l.Node()
	v, ok := n.memo[id]
	if !ok {
		switch n.g.Kind(id) {
		case Input:
			v = n.pattern[id-1]
		case Maj, Xor:
			ones := 0
			for _, f := range n.g.Fanins(id) {
				if n.value(f) {
					ones++
				}
			}
			v = ones >= 2
			if n.g.Kind(id) == Xor {
				v = ones%2 == 1
			}
		}
		n.memo[id] = v
	}
	return v != l.Complemented()
}

func TestSimulateEqualsNaive(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := randomGraph(r, r.IntN(10), r.IntN(200), r.IntN(12))
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		w := 1 + r.IntN(20)
		in := make([]uint64, g.NumInputs()*w)
		for i := range in {
			in[i] = r.Uint64()
		}
		out := g.Simulate(in, w)
		nodes := g.SimulateNodes(in, w)
		clone := make([]uint64, len(out))
		NewSimulator(g).Clone().Run(clone, in, w)
		if !equalWords(out, clone) {
			t.Fatalf("seed %d: a clone differs", seed)
		}
		for p := 0; p < 64*w; p += 1 + r.IntN(40) {
			n := naive{g, make([]bool, g.NumInputs()), map[int]bool{}}
			for i := range n.pattern {
				n.pattern[i] = in[i*w+p/64]>>(p%64)&1 == 1
			}
			for i, o := range g.Outputs() {
				if want := n.value(o.Lit); out[i*w+p/64]>>(p%64)&1 == 1 != want {
					t.Fatalf("seed %d: output %d, pattern %d: expected %v", seed, i, p, want)
				}
			}
			for id := range g.NumNodes() {
				if want := n.value(MakeLit(id, false)); nodes[id*w+p/64]>>(p%64)&1 == 1 != want {
					t.Fatalf("seed %d: node %d, pattern %d: expected %v", seed, id, p, want)
				}
			}
		}
	}
}

func TestSimulatorReuse(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	g := randomGraph(r, 9, 150, 9)
	s := NewSimulator(g)
	// A long run and then short ones: nothing of the former may show.
	for _, w := range []int{19, 1, 8, 3, 0} {
		in := make([]uint64, 9*w)
		for i := range in {
			in[i] = r.Uint64()
		}
		got := make([]uint64, 9*w)
		s.Run(got, in, w)
		if !equalWords(got, g.Simulate(in, w)) {
			t.Fatalf("%d words: a used simulator differs", w)
		}
	}
	if n := testing.AllocsPerRun(3, func() { s.Run(make([]uint64, 9), make([]uint64, 9), 1) }); n > 0 {
		t.Errorf("Run allocates %v times", n)
	}
}

func TestCheckFindsBrokenGraphs(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(g *Graph)
		want string
	}{
		{"none", func(*Graph) {}, ""},
		{"equal fanins", func(g *Graph) { g.nodes[4] = gate{2, 2, 6} }, "two fanins from one node"},
		{"complementary fanins", func(g *Graph) { g.nodes[4] = gate{2, 3, 6} }, "two fanins from one node"},
		{"later fanin", func(g *Graph) { g.nodes[4] = gate{2, 4, 10} }, "expected a smaller one"},
		{"own fanin", func(g *Graph) { g.nodes[4] = gate{2, 4, 8} }, "expected a smaller one"},
		{"MAJ order", func(g *Graph) { g.nodes[4] = gate{2, 6, 4} }, "out of order"},
		{"XOR order", func(g *Graph) { g.nodes[5] = gate{6, 2, 4} }, "out of order"},
		{"MAJ complements", func(g *Graph) { g.nodes[4] = gate{3, 5, 6} }, "2 complemented fanins"},
		{"XOR complement", func(g *Graph) { g.nodes[5] = gate{6, 5, 2} }, "1 complemented fanins"},
		{"twice", func(g *Graph) { g.nodes[6] = g.nodes[4] }, "are the same"},
		{"unknown to the hash", func(g *Graph) { g.nodes[4] = gate{0, 2, 6} }, "not in the hash table"},
		{"output", func(g *Graph) { g.outputs[0].Lit = 100 }, "driven by node 50"},
		{"input", func(g *Graph) { g.nodes[1] = gate{0, 2, 4} }, "has fanins"},
		{"no nodes", func(g *Graph) { g.nodes = nil }, "0 nodes"},
		{"no hash", func(g *Graph) { g.hash = g.hash[:2] }, "hash table"},
	} {
		g, a, b, cc := abc()
		m := g.Maj(a, b, cc)
		x := g.Xor(a, b, cc)
		g.AddOutput("y", g.And(m, x))
		c.harm(g)
		err := g.Check()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, expected %q", c.name, err, c.want)
		}
	}
}

func TestFanoutsAndLevels(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		g := randomGraph(r, 1+r.IntN(8), r.IntN(100), r.IntN(9))
		want := make([][]int32, g.NumNodes())
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			for _, f := range g.Fanins(id) {
				want[f.Node()] = append(want[f.Node()], int32(id))
			}
		}
		offsets, targets := g.Fanouts()
		counts, refs := g.FanoutCounts(), g.References()
		var height func(l Lit) int32
		height = func(l Lit) (h int32) {
			if g.IsGate(l.Node()) {
				for _, f := range g.Fanins(l.Node()) {
					h = max(h, 1+height(f))
				}
			}
			return h
		}
		levels := g.Levels()
		depth := int32(0)
		for _, o := range g.Outputs() {
			refs[o.Lit.Node()]--
			depth = max(depth, levels[o.Lit.Node()])
		}
		for id := range want {
			got := targets[offsets[id]:offsets[id+1]]
			if len(got) != len(want[id]) || int(counts[id]) != len(got) || int(refs[id]) != len(got) {
				t.Fatalf("seed %d: node %d has fanouts %v, count %d, expected %v", seed, id, got, counts[id], want[id])
			}
			for k := range got {
				if got[k] != want[id][k] {
					t.Fatalf("seed %d: node %d has fanouts %v, expected %v", seed, id, got, want[id])
				}
			}
			if id < 30 && levels[id] != height(MakeLit(id, false)) { // height is exponential
				t.Fatalf("seed %d: node %d is on level %d, expected %d", seed, id, levels[id], height(MakeLit(id, false)))
			}
		}
		if g.Depth() != int(depth) {
			t.Fatalf("seed %d: depth %d, expected %d", seed, g.Depth(), depth)
		}
	}
}

func TestSweep(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := randomGraph(r, 1+r.IntN(8), r.IntN(150), r.IntN(5))
		s := g.Sweep()
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		live := map[int]bool{}
		var visit func(l Lit)
		visit = func(l Lit) {
			if id := l.Node(); g.IsGate(id) && !live[id] {
				live[id] = true
				for _, f := range g.Fanins(id) {
					visit(f)
				}
			}
		}
		for _, o := range g.Outputs() {
			visit(o.Lit)
		}
		in, w := allPatterns(g.NumInputs())
		if s.NumGates() != len(live) || !equalWords(s.Simulate(in, w), g.Simulate(in, w)) {
			t.Fatalf("seed %d: %d gates, expected %d", seed, s.NumGates(), len(live))
		}
		if s.Sweep() != s {
			t.Fatalf("seed %d: a swept graph is swept again", seed)
		}
	}
}

func BenchmarkStrash(b *testing.B) {
	const inputs, gates = 256, 1 << 20
	r := rand.New(rand.NewPCG(1, 1))
	fanins := make([]gate, gates)
	for i := range fanins {
		for k := range fanins[i] {
			fanins[i][k] = Lit(r.IntN(2 * (1 + inputs + i*9/10)))
		}
	}
	for b.Loop() {
		g := New("")
		for range inputs {
			g.AddInput("")
		}
		for _, f := range fanins {
			most := Lit(g.NumNodes()*2 - 1)
			if f[0]&2 == 0 {
				g.Maj(min(f[0], most), min(f[1], most), min(f[2], most))
			} else {
				g.Xor(min(f[0], most), min(f[1], most), min(f[2], most))
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/gates, "ns/gate")
}

func BenchmarkSimulateRandom(b *testing.B) {
	g := randomGraph(rand.New(rand.NewPCG(1, 1)), 128, 20000, 20000)
	benchmarkSimulate(b, g)
}

func benchmarkSimulate(b *testing.B, g *Graph) {
	const w = 64
	in, out := randomWords(g.NumInputs()*w), make([]uint64, g.NumOutputs()*w)
	s := NewSimulator(g)
	for b.Loop() {
		s.Run(out, in, w)
	}
	b.ReportMetric(float64(len(s.code))*64*w*float64(b.N)/b.Elapsed().Seconds(), "gate-patterns/s")
}
