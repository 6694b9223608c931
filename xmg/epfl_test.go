package xmg

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/netlist"
)

var epflGates = []struct {
	name             string
	masim, reference int
}{
	{"int2float", 199, 213}, {"router", 201, 201}, {"cavlc", 600, 616}, {"priority", 551, 594}, {"dec", 304, 304},
	{"adder", 256, 256}, {"max", 1824, 2031}, {"sin", 3482, 3538}, {"sqrt", 9240, 17188},
	{"multiplier", 14176, 14303}, {"div", 12536, 26532}, {"log2", 19760, 19807},
}

func readData(t testing.TB, name string) *netlist.Network {
	t.Helper()
	path := filepath.Join("../../shared/data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no data: %v", err)
	}
	n, err := netlist.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func randomWords(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]uint64, n)
	for i := range words {
		words[i] = r.Uint64()
	}
	return words
}

func TestEPFLMapped(t *testing.T) {
	t.Parallel()
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	for _, c := range epflGates {
		n := readData(t, "epfl/"+c.name+".aig")
		g := gatesOf(t, n)
		t.Logf("%-10s %5d ANDs %5d gates; reference %5d, MASIM's %5d", c.name, n.NumGates(), g.NumGates(), c.reference, c.masim)
		if most := c.reference * 101 / 100; g.NumGates() > most {
			t.Errorf("%s: %d gates, expected %d at most", c.name, g.NumGates(), most)
		}
		if c.name == "adder" || c.name == "dec" {
			if g.NumGates() != c.reference {
				t.Errorf("%s: %d gates, expected %d", c.name, g.NumGates(), c.reference)
			}
		}
	}
}

func TestMASIMKeepsGates(t *testing.T) {
	for _, c := range epflGates {
		n := readData(t, "masim/"+c.name+".v")
		g := gatesOf(t, n)
		if g.NumGates() != c.masim {
			t.Errorf("%s: %d gates, expected %d", c.name, g.NumGates(), c.masim)
		}
		// The order is that of the file: the k-th gates agree in function. (dec
		// has only ANDs and is mapped, but nothing is found.)
		var forms, want []gateForm
		for id := g.FirstGate(); id < g.NumNodes(); id++ {
			forms = append(forms, min(g.gateForm(id), formXor3))
		}
		for id := range n.NumNodes() {
			switch n.Kind(id) {
			case netlist.And:
				want = append(want, formAnd)
			case netlist.Maj:
				want = append(want, formMaj)
			case netlist.Xor, netlist.Xor3:
				want = append(want, formXor3)
			}
		}
		for i, f := range forms {
			if f == formOr {
				forms[i] = formAnd
			}
		}
		if !slices.Equal(forms, want) {
			t.Errorf("%s: gates in another order", c.name)
		}
	}
}

func BenchmarkSimulate(b *testing.B) {
	for _, name := range []string{"multiplier", "div", "log2"} {
		b.Run(name, func(b *testing.B) {
			g, err := FromNetwork(context.Background(), readData(b, "masim/"+name+".v"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			benchmarkSimulate(b, g)
		})
	}
}
