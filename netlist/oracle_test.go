package netlist

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// abcPath finds ABC, an independent reader of all formats and a checker of
// equivalence. Debian has it in the package berkeley-abc.
func abcPath(t *testing.T) string {
	for _, name := range []string{"berkeley-abc", "abc", "yosys-abc"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no ABC: install berkeley-abc for this test")
	return ""
}

// abcAgrees has ABC decide that two files are the same circuit, ports matched by
// position.
func abcAgrees(t *testing.T, abc, fileA, fileB string) {
	t.Helper()
	out, err := exec.Command(abc, "-q", "cec -n "+fileA+" "+fileB).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", fileA, fileB, out)
	require.Contains(t, string(out), "Networks are equivalent", "%s %s", fileA, fileB)
}

func writeTo(t *testing.T, file string, n *Network) {
	t.Helper()
	f, err := FormatOf(file)
	require.NoError(t, err)
	w, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, Write(w, n, f))
	require.NoError(t, w.Close())
}

// TestABCReads has ABC read what is written, with gates of every kind.
func TestABCReads(t *testing.T) {
	abc := abcPath(t)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 12 {
		n := randomNetwork(rng, 1+rng.IntN(8), 30, 1+rng.IntN(6))
		// What ABC itself gets wrong is left out: names with a # or a backslash, and
		// two signals of one name.
		for id := range n.nodes {
			n.SetNodeName(id, "")
		}
		for o := range n.outputs {
			n.SetOutputName(o, "")
		}
		base := filepath.Join(dir, "n"+string(rune('a'+i)))
		writeTo(t, base+".aig", n)
		for _, ending := range []string{".bench", ".blif"} {
			writeTo(t, base+ending, n)
			abcAgrees(t, abc, base+".aig", base+ending)
		}
	}
}

// TestBenchXor sees that no gate has three inputs but look-up tables: ABC's reader
// crashes on others.
func TestBenchXor(t *testing.T) {
	n := New("x")
	a, b, c := n.AddInput("a"), n.AddInput("b"), n.AddInput("c")
	for _, l := range []Lit{n.Xor3(a, b, c), n.Xor3(a, b.Not(), c), n.Maj(a, b, c), n.Mux(a, b, c), n.Xor(a, b), n.Xor(a, c.Not())} {
		n.AddOutput("", l)
	}
	var out strings.Builder
	require.NoError(t, Write(&out, n, Bench))
	for line := range strings.Lines(out.String()) {
		if strings.Count(line, ",") > 1 {
			require.Contains(t, line, "LUT 0x", line)
		}
	}
	back, err := Read(strings.NewReader(out.String()), "x.bench", ReadOptions{})
	require.NoError(t, err)
	kinds := map[Kind]int{}
	for id := range back.nodes {
		kinds[back.Kind(id)]++
	}
	require.Equal(t, 2, kinds[Xor3])
	require.Equal(t, 1, kinds[Maj])
	require.Equal(t, 1, kinds[Mux])
}
