package xmg

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
	"testing"
)

// tableGates builds a table over inputs of a fresh graph and returns the graph.
func tableGates(t *testing.T, table uint64, inputs int) *Graph {
	t.Helper()
	g := New("")
	var in []Lit
	for range inputs {
		in = append(in, g.AddInput(""))
	}
	g.AddOutput("", newTableBuilder(g).build(table, in))
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	return g
}

func symmetric(inputs int, f func(ones int) bool) (table uint64) {
	for i := range 1 << inputs {
		if f(bits.OnesCount(uint(i))) {
			table |= 1 << i
		}
	}
	return table
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		inputs int
		table  uint64
		gates  int
	}{
		{"false", 0, 0, 0},
		{"true", 0, 1, 0},
		{"buffer", 1, 2, 0},
		{"inverter", 1, 1, 0},
		{"nand", 2, 7, 1},
		{"xor", 2, 6, 1},
		{"and3", 3, 0x80, 2},
		{"maj", 3, 0xe8, 1},
		{"xor3", 3, 0x96, 1},
		{"mux", 3, 0xca, 2},
		{"one of three", 3, 0x16, 3},
		{"all equal", 3, 0x81, 2},
		{"and6", 6, 1 << 63, 5},
		{"or6", 6, ^uint64(1), 5},
		{"parity5", 5, symmetric(5, func(n int) bool { return n%2 == 1 }), 4},
		{"maj5", 5, symmetric(5, func(n int) bool { return n > 2 }), 8},
		{"mux of muxes", 6, muxTable(), 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := tableGates(t, c.table, c.inputs)
			in, w := allPatterns(c.inputs)
			if w != 1 {
				t.Fatal(w)
			}
			got := g.Simulate(in, 1)[0]
			mask := ^uint64(0) >> (64 - uint(1)<<c.inputs)
			if got&mask != c.table {
				t.Errorf("makes %x, expected %x", got&mask, c.table)
			}
			if c.gates >= 0 && g.Sweep().NumGates() > c.gates {
				t.Errorf("%d gates, expected %d at most", g.Sweep().NumGates(), c.gates)
			}
		})
	}
}

// muxTable is the choice of one of four by two.
func muxTable() (table uint64) {
	for i := range 64 {
		table |= uint64(i>>(2+i&3)&1) << i
	}
	return table
}

func TestRandomTables(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	gates := [7]int{}
	const tries = 300
	for inputs := range 7 {
		in, _ := allPatterns(inputs)
		mask := ^uint64(0) >> (64 - uint(1)<<inputs)
		for range tries {
			table := r.Uint64() & mask
			switch r.IntN(4) { // sparse and dense ones, too
			case 0:
				table &= r.Uint64() & r.Uint64()
			case 1:
				table |= r.Uint64() & mask
			}
			g := tableGates(t, table, inputs)
			if got := g.Simulate(in, 1)[0] & mask; got != table {
				t.Fatalf("%d inputs: makes %x, expected %x", inputs, got, table)
			}
			gates[inputs] += g.Sweep().NumGates()
		}
	}
	t.Log("gates a table by inputs:")
	for inputs, n := range gates {
		t.Logf("%d: %.2f", inputs, float64(n)/tries)
	}
}

// Repeated, complemented and constant inputs of a table are removed before it
// is built.
func TestTableWithEqualInputs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		g := New("")
		a, b := g.AddInput("a"), g.AddInput("b")
		from := []Lit{a, a ^ 1, b, b ^ 1, False, True}
		in := make([]Lit, 6)
		for i := range in {
			in[i] = from[r.IntN(len(from))]
		}
		table := r.Uint64()
		g.AddOutput("", newTableBuilder(g).build(table, in))
		if g.Sweep().NumGates() > 1 {
			t.Fatalf("table %x of %v: %d gates for a function of two inputs", table, in, g.NumGates())
		}
		words := []uint64{0b1010, 0b1100}
		got := g.Simulate(words, 1)[0]
		for p := range 4 {
			value := func(l Lit) int {
				v := int(l & 1)
				if l>>1 != 0 {
					v ^= p >> (l>>1 - 1) & 1
				}
				return v
			}
			index := 0
			for i, l := range in {
				index |= value(l) << i
			}
			if got>>p&1 != table>>index&1 {
				t.Fatalf("table %x of %v: wrong for pattern %d", table, in, p)
			}
		}
	}
}

func BenchmarkTables(b *testing.B) {
	for _, inputs := range []int{4, 5, 6} {
		b.Run(strconv.Itoa(inputs), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			g := New("")
			var in []Lit
			for range inputs {
				in = append(in, g.AddInput(""))
			}
			tb := newTableBuilder(g)
			for b.Loop() {
				tb.build(r.Uint64(), in)
			}
		})
	}
}
