package gen

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/bitsched/bitsched/netlist"
)

func build(t testing.TB, name string, o Options) *netlist.Network {
	t.Helper()
	n, err := Build(context.Background(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGates holds circuits against gate counts derived by hand.
func TestGates(t *testing.T) {
	for _, n := range []int{2, 3, 4, 7, 8, 16, 33, 64} {
		log := bits.Len(uint(n - 1))
		for _, c := range []struct {
			kind string
			and  bool
			want int
		}{
			// A half adder and n-1 full ones.
			{"adder", false, 2 * n},
			{"adder", true, 3 + 7*(n-1)},
			{"subtractor", false, 2 * n},
			{"subtractor", true, 3 + 7*(n-1)},
			// n^2 ANDs, n^2-2n full adders, n half adders, for both.
			{"multiplier", false, n*n + 2*(n*n-2*n) + 2*n},
			{"multiplier", true, n*n + 7*(n*n-2*n) + 3*n},
			{"multiplier-array", false, n*n + 2*(n*n-2*n) + 2*n},
			{"multiplier-array", true, n*n + 7*(n*n-2*n) + 3*n},
			// n borrows, n XORs, n-1 ANDs of them, and gt.
			{"comparator", false, 3 * n},
			{"rotate-left", false, n * log},
			{"rotate-left", true, 3 * n * log},
			// Three matches of n borrows and n choices; an index bit is one choice.
			{"max", false, 6*n + 1},
		} {
			if got := build(t, c.kind, Options{Width: n, AndInverter: c.and}).NumGates(); got != c.want {
				t.Errorf("%s of width %d, and-inverter %v: %d gates, expected %d", c.kind, n, c.and, got, c.want)
			}
		}
	}
	// A prefix adder has n sums and the AND of bit 0; 2 gates a cell, but 1 at
	// bit 0, where each of the other n-1 bits ends; and for each single bit that
	// is the lower end of a cell, other than bit 0, its AND and OR.
	for k := 1; k <= 8; k++ {
		n := 1 << k
		for _, c := range []struct {
			kind         string
			cells, lower int
		}{
			{"adder-kogge-stone", n*k - n + 1, n - 2},
			{"adder-sklansky", n / 2 * k, n/2 - 1},
			{"adder-brent-kung", 2*n - 2 - k, n/2 - 1},
		} {
			want := n + 1 + 2*c.cells - (n - 1) + 2*c.lower
			if got := build(t, c.kind, Options{Width: n}).NumGates(); got != want {
				t.Errorf("%s of width %d: %d gates, expected %d", c.kind, n, got, want)
			}
		}
		// 2^k-1 bits: one full adder for each bit, less those of the count.
		for and, gates := range map[bool]int{false: 2, true: 7} {
			want := gates * (n - 1 - k)
			if got := build(t, "popcount", Options{Width: n - 1, AndInverter: and}).NumGates(); got != want {
				t.Errorf("popcount of width %d, and-inverter %v: %d gates, expected %d", n-1, and, got, want)
			}
		}
	}
	// The EPFL benchmark dec and the smallest XMG known for adder.
	if got := build(t, "decoder", Options{Width: 8}).NumGates(); got != 304 {
		t.Errorf("decoder of width 8: %d gates, expected 304", got)
	}
	if got := build(t, "adder", Options{Width: 128}).NumGates(); got != 256 {
		t.Errorf("adder of width 128: %d gates, expected 256", got)
	}
}

// TestBoothHasFewerAdders: half the partial products leave fewer adders.
func TestBoothHasFewerAdders(t *testing.T) {
	adders := func(kind string) (n int) {
		net := build(t, kind, Options{Width: 64})
		for id := range net.NumNodes() {
			if net.Kind(id) == netlist.Maj {
				n++
			}
		}
		return n
	}
	booth, dadda := adders("multiplier-booth"), adders("multiplier")
	if booth > dadda*6/10 {
		t.Errorf("booth has %d full adders, expected about half of the %d of dadda", booth, dadda)
	}
}

// depth is the longest path in gates.
func depth(n *netlist.Network) (most int) {
	level := make([]int, n.NumNodes())
	for id := range level {
		for _, f := range n.Fanins(id) {
			level[id] = max(level[id], level[f.Node()]+1)
		}
		most = max(most, level[id])
	}
	return most
}

// TestDepth: what the fast structures are for.
func TestDepth(t *testing.T) {
	for k := 1; k <= 9; k++ {
		n := 1 << k
		for _, c := range []struct {
			kind string
			most int
		}{
			{"adder-kogge-stone", k + 2},
			{"adder-sklansky", k + 2},
			{"adder-brent-kung", 2*k + 1},
			{"adder-ripple", n},
		} {
			if got := depth(build(t, c.kind, Options{Width: n})); got > c.most {
				t.Errorf("%s of width %d: depth %d, expected at most %d", c.kind, n, got, c.most)
			}
		}
	}
	// Blocks of 2, 2, 3, ... reach 119 bits in 15: a choice a block, after
	// the first block's chain.
	if got := depth(build(t, "adder-carry-select", Options{Width: 121})); got > 2*15+2 {
		t.Errorf("carry-select adder of width 121: depth %d", got)
	}
	// 64 rows are 10 stages of Dadda's; the last adder has at most 127 cells.
	if got := depth(build(t, "multiplier", Options{Width: 64})); got > 1+10+127 {
		t.Errorf("multiplier of width 64: depth %d", got)
	}
}

// TestBoundIsTight keeps the size check from refusing what would fit; check
// tests that it is a bound.
func TestBoundIsTight(t *testing.T) {
	for _, k := range Kinds {
		for _, width := range []int{40, 129, 200} {
			if width > k.Width.Max || k.size == nil {
				continue
			}
			for _, and := range []bool{false, true} {
				p, err := k.resolve(Options{Width: width})
				if err != nil {
					t.Fatal(err)
				}
				bound := k.size(p).nodes(and)
				got := int64(build(t, k.Name, Options{Width: width, AndInverter: and}).NumNodes())
				if bound > 5*got/2 {
					t.Errorf("%s of width %d, and-inverter %v: bound %d, nodes %d", k.Name, width, and, bound, got)
				}
			}
		}
	}
}

// TestTable checks the table of kinds itself.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	if !slices.IsSortedFunc(Kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("kinds are not in the order of their names")
	}
	for i := range Kinds {
		k := &Kinds[i]
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
			if found, err := Lookup(name); err != nil || found != k {
				t.Errorf("Lookup(%q) = %v, %v", name, found, err)
			}
		}
		if k.Doc == "" || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: doc is no line", k.Name)
		}
		for _, p := range append([]Param{k.Width}, k.Extra...) {
			if p.Name == "" || p.Doc == "" || p.Min > p.Max {
				t.Errorf("%s: parameter %+v", k.Name, p)
			}
			if derived := p.Default == 0 && k.derive != nil; !derived && (p.Default < p.Min || p.Default > p.Max) {
				t.Errorf("%s: default of %s is out of its limits", k.Name, p.Name)
			}
		}
		n := build(t, k.Name, Options{})
		if want := fmt.Sprintf("%s_%d", strings.ReplaceAll(k.Name, "-", "_"), k.Width.Default); n.Name != want {
			t.Errorf("name %q, expected %q", n.Name, want)
		}
		// The size of the largest must not overflow.
		p, err := k.resolve(Options{Width: k.Width.Max})
		if err != nil {
			t.Error(err)
		} else if k.size != nil && k.size(p).nodes(true) <= 0 {
			t.Errorf("%s: size overflows", k.Name)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		kind  string
		o     Options
		large bool
		want  string
	}{
		{"frobnicator", Options{}, false, `gen: unknown kind "frobnicator", expected one of abs, add, adder, adder-brent-kung, `},
		{"", Options{}, false, `gen: unknown kind "", expected one of `},
		{"adder", Options{Width: -1}, false, "gen: adder-ripple: width is -1, expected 1 to 4194304"},
		{"adder", Options{Width: 4194305}, false, "gen: adder-ripple: width is 4194305, expected 1 to 4194304"},
		{"decoder", Options{Width: 23}, false, "gen: decoder: width is 23, expected 1 to 22"},
		{"multiplier", Options{Extra: map[string]int{"width-b": 0}}, false, "gen: multiplier-dadda: width-b is 0, expected 1 to 16384"},
		{"multiplier", Options{Extra: map[string]int{"words": 3}}, false, `gen: multiplier-dadda has no parameter "words", expected one of width-b`},
		{"max", Options{Extra: map[string]int{"z": 1, "b": 2, "words": 3}}, false, `gen: max has no parameter "b", expected one of words`},
		{"adder", Options{Extra: map[string]int{"words": 3}}, false, `gen: adder-ripple has no parameter "words", expected only a width`},
		{"int2float", Options{Extra: map[string]int{"mantissa": 12}}, false, "gen: int-to-float: mantissa is larger than width, expected at most the width"},
		{"int2float", Options{Extra: map[string]int{"round": 2}}, false, "gen: int-to-float: round is 2, expected 0 to 1"},
		{"fadd", Options{Width: 8, Extra: map[string]int{"exponent": 7}}, false, "gen: fadd: exponent leaves no fraction, expected at most width - 2 bits"},
		{"fadd", Options{Width: 3}, false, "gen: fadd: width is 3, expected 4 to 64"},
		{"fsqrt", Options{Width: 16, Extra: map[string]int{"exponent": 4}}, false, "gen: fsqrt: exponent is too short, expected a bias"},
		{"fconvert", Options{Extra: map[string]int{"width-y": 8, "exponent-y": 7}}, false, "gen: fconvert: exponent-y leaves no fraction"},
		{"add", Options{Width: 65}, false, "gen: add: width is 65, expected 1 to 64"},
		{"multiplier", Options{Width: 5000}, true, "gen: multiplier-dadda of width 5000 would take up to 75010001 nodes, at most 67108864 are allowed: circuit too large"},
		{"multiplier", Options{Width: 3000, AndInverter: true}, true, "gen: multiplier-dadda of width 3000 would take up to 72006001 nodes, at most 67108864"},
		{"multiplier-array", Options{Width: 16384}, true, "too large"},
		{"multiplier-booth", Options{Width: 16384}, true, "too large"},
		{"divider", Options{Width: 16384}, true, "too large"},
		{"hypot", Options{Width: 16384}, true, "too large"},
		{"squarer", Options{Width: 16384}, true, "too large"},
		{"sqrt", Options{Width: 32768}, true, "too large"},
		{"barrel", Options{Width: 4194304}, true, "too large"},
		{"max", Options{Width: 65, Extra: map[string]int{"words": 65536}}, false, "gen: max: 65536 words of 65 bits are 4259840 inputs, expected at most 4194304"},
	} {
		n, err := Build(t.Context(), c.kind, c.o)
		switch {
		case err == nil || n != nil:
			t.Errorf("%s %+v: no error", c.kind, c.o)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s %+v: %q, expected %q", c.kind, c.o, err, c.want)
		case errors.Is(err, ErrTooLarge) != c.large:
			t.Errorf("%s %+v: is ErrTooLarge: %v", c.kind, c.o, !c.large)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls, last := 0, 0
	n, err := Build(ctx, "multiplier", Options{Width: 512, Progress: func(done, total int) {
		if done < last || done > total {
			t.Errorf("progress: %d of %d after %d", done, total, last)
		}
		last = done
		if calls++; calls == 3 {
			cancel()
		}
	}})
	if n != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, expected the context's error", n, err)
	}
	if calls != 3 {
		t.Errorf("%d calls of progress, expected none after the cancel", calls)
	}
	if _, err := Build(ctx, "adder", Options{Width: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("small circuit with a cancelled context: %v", err)
	}
}

// dump is a network node by node.
func dump(n *netlist.Network) string {
	var s strings.Builder
	fmt.Fprintln(&s, n.Name)
	for id := range n.NumNodes() {
		fmt.Fprintln(&s, id, n.Kind(id), n.Fanins(id), n.NodeName(id))
	}
	fmt.Fprintln(&s, n.Outputs())
	return s.String()
}

func TestDeterministic(t *testing.T) {
	for _, k := range Kinds {
		for _, and := range []bool{false, true} {
			o := Options{Width: 11, AndInverter: and}
			if isFloat(k.Name) {
				o.Width = 16
			}
			first := dump(build(t, k.Name, o))
			for _, name := range append([]string{k.Name}, k.Aliases...) {
				if dump(build(t, name, o)) != first {
					t.Errorf("%s: %s differs", k.Name, name)
				}
			}
		}
	}
}

// TestMult is about the circuit of testdata/mult.aig.
func TestMult(t *testing.T) {
	n := build(t, "multiplier", Options{Width: 16})
	if n.NumInputs() != 32 || n.NumOutputs() != 32 {
		t.Fatalf("%d inputs, %d outputs", n.NumInputs(), n.NumOutputs())
	}
	for i := range 16 {
		if a, b := n.InputName(i), n.InputName(16+i); a != fmt.Sprintf("a[%d]", i) || b != fmt.Sprintf("b[%d]", i) {
			t.Errorf("inputs %d and %d are %s and %s", i, 16+i, a, b)
		}
	}
	in := make([]uint64, 32)
	for _, c := range [][2]uint64{{0, 0}, {65535, 65535}, {1, 65535}, {12345, 54321}, {256, 256}} {
		for i := range 16 {
			in[i], in[16+i] = c[0]>>i&1, c[1]>>i&1
		}
		got := uint64(0)
		for i, w := range n.Simulate(in, 1) {
			got |= w & 1 << i
		}
		if got != c[0]*c[1] {
			t.Errorf("%d x %d = %d", c[0], c[1], got)
		}
	}
}

// TestInt2Float has values of the EPFL benchmark int2float: integer, mantissa,
// exponent.
func TestInt2Float(t *testing.T) {
	n := build(t, "int2float", Options{})
	for _, c := range [][3]uint64{{0, 0, 0}, {7, 7, 0}, {15, 15, 0}, {16, 8, 1}, {17, 9, 1}, {25, 13, 1}, {31, 8, 2}, {33, 8, 2}, {63, 8, 3},
		{100, 13, 3}, {200, 13, 4}, {255, 8, 5}, {1000, 8, 7}, {1025, 8, 7}, {1500, 12, 7}, {2046, 15, 7}, {2047, 15, 7}} {
		in := make([]uint64, 11)
		for i := range in {
			in[i] = c[0] >> i & 1
		}
		got := uint64(0)
		for i, w := range n.Simulate(in, 1) {
			got |= w & 1 << i
		}
		if want := c[1] | c[2]<<4; got != want {
			t.Errorf("%d: mantissa %d, exponent %d, expected %d and %d", c[0], got&15, got>>4, c[1], c[2])
		}
	}
}

func BenchmarkMultiplier(b *testing.B) {
	for _, width := range []int{512, 1300} {
		for _, and := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/and=%v", width, and), func(b *testing.B) {
				b.ReportAllocs()
				gates := 0
				for b.Loop() {
					gates = build(b, "multiplier", Options{Width: width, AndInverter: and}).NumGates()
				}
				b.ReportMetric(float64(gates), "gates")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gates), "ns/gate")
			})
		}
	}
}
