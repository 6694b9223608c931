package xmg

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// chain is a graph of so many gates.
func chain(gates int) *Graph {
	g := New("chain")
	in := make([]Lit, gates+1)
	for i := range in {
		in[i] = g.AddInput("")
	}
	x := in[0]
	for _, y := range in[1:] {
		x = g.And(x, y)
	}
	g.AddOutput("x", x)
	return g
}

// counted is a pass that says how often it was run, and leaves so many gates out.
func counted(name string, work int64, gain int) (p *pass, runs *int) {
	runs = new(int)
	return &pass{name: name, work: work, run: func(_ passContext, g *Graph) (*Graph, error) {
		*runs++
		return chain(g.NumGates() - gain), nil
	}}, runs
}

func startOf(gates int) *synthesis {
	m := &milestone{g: chain(gates)}
	return &synthesis{
		ctx: context.Background(), opt: SynthOptions{Effort: Normal}, report: &SynthReport{},
		cur: m, best: m, cost: float64(gates), room: 1 << 60,
	}
}

// A repetition ends after one run of a large graph in vain, and after more of a smaller one, up to eight;
// a gain that is small for its work counts as none.
func TestRepetitionEnds(t *testing.T) {
	for _, c := range []struct {
		gates, gain int
		work        int64 // for each gate
		runs        int
	}{
		{600, 0, 1, 1},
		{300, 0, 1, 2},
		{100, 0, 1, 6},
		{20, 0, 1, 8},
		{1000, 1, 1000, 9},   // 0.1 % for a second
		{1000, 1, 10_000, 1}, // for ten seconds
		{1000, 4, 10_000, 9}, // 0.4 % for them
		{100, 1, 10_000, 9},  // 1 % for a second
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			p, runs := counted("counted", c.work, c.gain)
			require.NoError(t, startOf(c.gates).repeat(Step{group: Script{{pass: p}}, most: 9}))
			require.Equal(t, c.runs, *runs)
		})
	}
}

// Trials are left out where one of a large graph gained nothing and the next graph is no
// smaller; a smaller one is tried, and so are small graphs.
func TestTrialsEnd(t *testing.T) {
	for _, c := range []struct{ gates, before, runs int }{{600, 0, 1}, {600, 5, 3}, {100, 0, 3}} {
		trial, runs := counted(trialPass, 1, 0)
		none, _ := counted("none", 1, 0)
		smaller, _ := counted("smaller", 1, c.before)
		st := Step{group: Script{{pass: none}, {pass: trial}}, others: []Script{
			{{pass: smaller}, {pass: trial}},
			{{pass: smaller}, {pass: smaller}, {pass: trial}},
		}}
		require.NoError(t, startOf(c.gates).choose(st))
		require.Equal(t, c.runs, *runs, "%v", c)
	}
}

// What a pass with a bound of its own saves pays for another pass when no work is left.
func TestGainsPay(t *testing.T) {
	for gain, want := range []int{0, 1, 1} {
		s := startOf(200)
		s.room = 0
		own, _ := counted("own", 0, gain)
		other, runs := counted("other", 5, 0)
		require.NoError(t, s.run(Script{{pass: own}, {pass: other}}))
		require.Equal(t, want, *runs)
	}
}

// Rounds of cares in vain end sooner where they look at many gates. Full adders cannot be
// made smaller.
func TestCaresEndInVain(t *testing.T) {
	rounds := func(bits int) (n int) {
		g := New("adder")
		carry := g.AddInput("c")
		in := make([][2]Lit, bits)
		for i := range in {
			in[i] = [2]Lit{g.AddInput(""), g.AddInput("")}
		}
		for _, x := range in {
			g.AddOutput("", g.Xor(x[0], x[1], carry))
			carry = g.Maj(x[0], x[1], carry)
		}
		g.AddOutput("", carry)
		h, err := ResubstituteCares(context.Background(), g, CareOptions{Rounds: 12, Progress: func(p Progress) { n += btoi(p.Done == 0) }})
		require.NoError(t, err)
		require.Equal(t, 2*bits, h.NumGates())
		return n
	}
	require.Equal(t, 12, rounds(20))
	require.Equal(t, 4, rounds(300)) // 4 x 600 gates
}
