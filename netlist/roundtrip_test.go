package netlist

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
)

var writable = []Format{AIGER, AIGERASCII, BLIF, Verilog, Bench}

// randomNetwork makes a network of every kind of gate, with names, duplicate
// names, names that need escaping and no names.
func randomNetwork(rng *rand.Rand, inputs, gates, outputs int) *Network {
	n := New("random")
	pool := []string{"", "", "", "a", "b", "a[0]", "n5", "n_7", "i0", "o0", "x.y", "module", "vdd", "y\\z", "#1", "p(q)", "é", "3d", "s_not", "a_2"}
	name := func() string { return pool[rng.IntN(len(pool))] }
	lit := func() Lit { return Lit(rng.IntN(2 * n.NumNodes())) }
	for range inputs {
		n.AddInput(name())
	}
	for range gates {
		var l Lit
		switch rng.IntN(7) {
		case 0:
			l = n.And(lit(), lit())
		case 1:
			l = n.Or(lit(), lit())
		case 2:
			l = n.Xor(lit(), lit())
		case 3:
			l = n.Xor3(lit(), lit(), lit())
		case 4:
			l = n.Maj(lit(), lit(), lit())
		case 5:
			l = n.Mux(lit(), lit(), lit())
		case 6:
			in := make([]Lit, rng.IntN(MaxLUT+1))
			for j := range in {
				in[j] = lit()
			}
			l = n.LUT(in, rng.Uint64())
		}
		n.SetLitName(l.NotIf(rng.IntN(3) == 0), name())
	}
	for range outputs {
		l := lit()
		switch rng.IntN(4) {
		case 0:
			n.AddOutput(n.NodeName(l.Node()), l)
		default:
			n.AddOutput(name(), l)
		}
	}
	return n
}

// patterns returns every input pattern, or 256 random ones if there are more
// than eight inputs.
func patterns(n *Network) (in []uint64, words int) {
	k := n.NumInputs()
	if k > 8 {
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		for range 4 * k {
			in = append(in, rng.Uint64())
		}
		return in, 4
	}
	words = max(1, 1<<k/64)
	for i := range k {
		for w := range words {
			var x uint64
			for b := range 64 {
				x |= uint64((64*w+b)>>i&1) << b
			}
			in = append(in, x)
		}
	}
	return in, words
}

func requireSameFunction(t testing.TB, want, got *Network) {
	t.Helper()
	require.NoError(t, got.Check())
	require.Equal(t, want.NumInputs(), got.NumInputs())
	require.Equal(t, want.NumOutputs(), got.NumOutputs())
	in, words := patterns(want)
	require.Equal(t, want.Simulate(in, words), got.Simulate(in, words))
}

func write(t testing.TB, n *Network, f Format) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, n, f))
	return b.String()
}

func read(t testing.TB, text, name string) *Network {
	t.Helper()
	n, err := Read(bytes.NewReader([]byte(text)), name, ReadOptions{})
	require.NoError(t, err, "%s", text)
	require.NoError(t, n.Check())
	return n
}

// portNames returns the names of inputs and outputs.
func portNames(n *Network) (in, out []string) {
	for i := range n.NumInputs() {
		in = append(in, n.InputName(i))
	}
	for _, o := range n.Outputs() {
		out = append(out, o.Name)
	}
	return in, out
}

// requireSettles checks that a network keeps its text when it is read and
// written again. Constants are folded by one level at a time, so that it may
// take a round for every gate.
func requireSettles(t testing.TB, n *Network, f Format) {
	t.Helper()
	text := write(t, n, f)
	for range n.NumGates() + 2 {
		next := write(t, read(t, text, "x"+formats[f].ending), f)
		if next == text {
			return
		}
		text = next
	}
	require.Fail(t, "does not settle", "%s", text)
}

func TestRoundTripAllPairs(t *testing.T) {
	for seed := range uint64(invariants.Draws(100, 300)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		n := randomNetwork(rng, rng.IntN(9), rng.IntN(30), rng.IntN(8))
		for _, f := range writable {
			text := write(t, n, f)
			m := read(t, text, "x"+formats[f].ending)
			requireSameFunction(t, n, m)
			for _, g := range writable {
				k := read(t, write(t, m, g), "y"+formats[g].ending)
				requireSameFunction(t, n, k)
			}
			requireSettles(t, m, f)
		}
	}
}

// Names that every format can say come back from every format, in order.
func TestRoundTripNames(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 8))
		n := New("names")
		perm := rng.Perm(40)
		name := func(i int) string {
			return fmt.Sprintf([]string{"x%d", "a[%d]", "_%d", "U%d.Z", "q$%d"}[perm[i]%5], perm[i])
		}
		for i := range 6 {
			n.AddInput(name(i))
		}
		for i := range 20 {
			lit := func() Lit { return Lit(2 + rng.IntN(2*n.NumNodes()-2)) }
			var l Lit
			switch i % 5 {
			case 0:
				l = n.Maj(lit(), lit(), lit())
			case 1:
				l = n.And(lit(), lit())
			case 2:
				l = n.Xor(lit(), lit())
			case 3:
				l = n.Mux(lit(), lit(), lit())
			case 4:
				l = n.Xor3(lit(), lit(), lit())
			}
			n.SetLitName(l.NotIf(rng.IntN(2) == 0), name(6+i))
		}
		for i := range 10 {
			n.AddOutput(name(26+i), Lit(rng.IntN(2*n.NumNodes())))
		}
		n.AddOutput(n.NodeName(20), MakeLit(20, n.NameComplemented(20)))
		wantIn, wantOut := portNames(n)
		for _, f := range writable {
			text := write(t, n, f)
			m := read(t, text, "names")
			gotIn, gotOut := portNames(m)
			require.Equal(t, wantIn, gotIn, "%v", f)
			require.Equal(t, wantOut, gotOut, "%v", f)
			requireSameFunction(t, n, m)
			if f == AIGER || f == AIGERASCII {
				continue
			}
			if f != Bench {
				require.Equal(t, "names", m.Name)
			}
			// Gates stay one to one, with their names, and the names mean the same signal.
			signal := func(n *Network) map[string]Lit {
				names := map[string]Lit{}
				for id := 7; id < n.NumNodes(); id++ {
					names[n.NodeName(id)] = MakeLit(id, n.NameComplemented(id))
				}
				return names
			}
			want, got := signal(n), signal(m)
			if f == Verilog {
				require.Equal(t, n.NumGates(), m.NumGates())
			}
			for name, l := range got {
				require.Contains(t, want, name)
				n.AddOutput("", want[name])
				m.AddOutput("", l)
			}
			requireSameFunction(t, n, m)
			n.outputs = n.outputs[:len(wantOut)]
		}
	}
}

// What formats cannot say is changed as [Write] documents.
func TestPortNames(t *testing.T) {
	clash := New("clash") // an output with the name of an input that it is not
	a := clash.AddInput("a")
	b := clash.AddInput("b")
	clash.AddOutput("a", clash.And(a, b))

	through := New("through") // an output that is an input of the same name
	x := through.AddInput("x")
	through.AddOutput("x", x)
	through.AddOutput("x", x)
	through.AddOutput("y", x^1)

	unnamed := New("unnamed")
	p := unnamed.AddInput("")
	q := unnamed.AddInput("i7")
	r := unnamed.Xor(p, q)
	unnamed.SetNodeName(r.Node(), "o1")
	unnamed.AddOutput("", r)
	unnamed.AddOutput("", False)
	unnamed.AddOutput("n9", True)

	twice := New("twice")
	u := twice.AddInput("u")
	v := twice.AddInput("u")
	w := twice.AddInput("u_2")
	twice.AddOutput("y", twice.Xor3(u, v, w))
	twice.AddOutput("y", u)
	twice.AddOutput("a b", v)

	empty := New("empty")

	tests := []struct {
		net     *Network
		format  Format
		in, out []string
	}{
		{clash, AIGER, []string{"a", "b"}, []string{"a"}},
		{clash, BLIF, []string{"a", "b"}, []string{"a_2"}},
		{clash, Verilog, []string{"a", "b"}, []string{"a_2"}},
		{clash, Bench, []string{"a", "b"}, []string{"a_2"}},
		{through, AIGERASCII, []string{"x"}, []string{"x", "x", "y"}},
		{through, BLIF, []string{"x"}, []string{"x", "x_2", "y"}},
		{through, Verilog, []string{"x"}, []string{"x_2", "x_3", "y"}},
		{through, Bench, []string{"x"}, []string{"x", "x_2", "y"}},
		{unnamed, AIGER, []string{"", "i7"}, []string{"", "", "n9"}},
		{unnamed, BLIF, []string{"i_0", "i7"}, []string{"o_0", "o_1", "n9"}},
		{unnamed, Verilog, []string{"i_0", "i7"}, []string{"o_0", "o_1", "n9"}},
		{unnamed, Bench, []string{"i_0", "i7"}, []string{"o_0", "o_1", "n9"}},
		{twice, AIGER, []string{"u", "u", "u_2"}, []string{"y", "y", "a b"}},
		{twice, BLIF, []string{"u", "u_3", "u_2"}, []string{"y", "y_2", "a_b"}},
		{twice, Verilog, []string{"u", "u_3", "u_2"}, []string{"y", "y_2", "a_b"}},
		{twice, Bench, []string{"u", "u_3", "u_2"}, []string{"y", "y_2", "a_b"}},
		{empty, AIGER, nil, nil},
		{empty, AIGERASCII, nil, nil},
		{empty, BLIF, nil, nil},
		{empty, Verilog, nil, nil},
		{empty, Bench, nil, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s/%v", tt.net.Name, tt.format), func(t *testing.T) {
			text := write(t, tt.net, tt.format)
			m := read(t, text, "f"+formats[tt.format].ending)
			in, out := portNames(m)
			require.Equal(t, tt.in, in, "%s", text)
			require.Equal(t, tt.out, out, "%s", text)
			requireSameFunction(t, tt.net, m)
		})
	}
}

func TestWriteErrors(t *testing.T) {
	n := New("n")
	n.AddOutput("y", n.AddInput("a\nb"))
	err := Write(&bytes.Buffer{}, n, AIGER)
	require.EqualError(t, err, `netlist: write aig: name "a\nb" of input 0 has a line break, expected names of one line`)
	for _, f := range []Format{BLIF, Verilog, Bench} {
		require.Equal(t, "a_b", read(t, write(t, n, f), "x").InputName(0))
	}
	require.EqualError(t, Write(&bytes.Buffer{}, n, Auto), "netlist: write: unknown format auto")
	require.ErrorIs(t, Write(brokenWriter{}, New("n"), BLIF), errBroken)
}

var errBroken = fmt.Errorf("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }
