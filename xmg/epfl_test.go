package xmg

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

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
	for _, c := range epflGates {
		n := readData(t, "epfl/"+c.name+".aig")
		g, err := FromNetwork(context.Background(), n, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Check(); err != nil {
			t.Error(err)
		}
		t.Logf("%-10s %6d ANDs %6d gates, reference %6d, masim %d", c.name, n.NumGates(), g.NumGates(), c.reference, c.masim)
		const w = 16
		in := randomWords(n.NumInputs() * w)
		if !equalWords(g.Simulate(in, w), n.Simulate(in, w)) {
			t.Errorf("%s: mapped graph is not equal", c.name)
		}
	}
}
