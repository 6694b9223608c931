package xmg

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
)

// Every pass, and random sequences of passes, keep the function, the inputs and
// the outputs, and every result is a valid graph.
func TestPassesKeepTheFunction(t *testing.T) {
	t.Parallel()
	for seed := range uint64(invariants.Draws(3, 8)) {
		r := rand.New(rand.NewPCG(seed, 5))
		g := randomGraph(r, 1+r.IntN(8), r.IntN(60), r.IntN(6))
		in, w := allPatterns(g.NumInputs())
		want := g.Simulate(in, w)
		check := func(name string, h *Graph) {
			require.NoError(t, h.Check(), "seed %d %s", seed, name)
			require.Equal(t, want, h.Simulate(in, w), "seed %d %s", seed, name)
			require.Equal(t, g.NumInputs(), h.NumInputs())
			for i, o := range g.Outputs() {
				require.Equal(t, o.Name, h.Output(i).Name)
			}
		}
		cur := g.Sweep()
		for round := range 2 {
			for _, k := range r.Perm(len(passes)) {
				p := &passes[k]
				if p.work > 10_000 && (!invariants.Enabled || seed > 1 || round > 0) {
					continue // slow, and not different from its short form
				}
				h, err := p.run(passContext{Context: context.Background(), seed: seed}, cur)
				if errors.Is(err, errNotThis) {
					continue
				}
				require.NoError(t, err)
				check(p.name, h)
				cur = h
			}
		}
	}
}

// More effort gives no larger graph, and the report adds up.
func TestSynthesizeEfforts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(invariants.Draws(1, 3)) {
		r := rand.New(rand.NewPCG(seed, 6))
		g := randomGraph(r, 4+r.IntN(4), 40, 4)
		in, w := allPatterns(g.NumInputs())
		want := g.Simulate(in, w)
		least := g.Sweep().NumGates()
		for _, e := range []Effort{Fast, Normal} {
			h, report, err := Synthesize(context.Background(), g, SynthOptions{Effort: e, Seed: seed})
			require.NoError(t, err)
			require.NoError(t, h.Check())
			require.Equal(t, want, h.Simulate(in, w))
			require.LessOrEqual(t, h.NumGates(), least)
			least = h.NumGates()
			require.False(t, report.Stopped)
			require.NotEmpty(t, report.Passes)
			size := g.Sweep().NumGates()
			require.Equal(t, size, report.Passes[0].Before)
			for _, p := range report.Passes {
				require.LessOrEqual(t, least, p.After)
			}
			if seed == 0 {
				again, _, err := Synthesize(context.Background(), g, SynthOptions{Effort: e, Seed: seed})
				require.NoError(t, err)
				require.Equal(t, h.nodes, again.nodes)
			}
		}
	}
}

// A context that ends gives the best so far.
func TestSynthesizeStops(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(1, 7)), 6, 50, 3)
	in, w := allPatterns(6)
	ctx, cancel := context.WithCancel(context.Background())
	runs := 0
	h, report, err := Synthesize(ctx, g, SynthOptions{Script: "rewrite (ties)*", Cost: func(g *Graph) float64 {
		if runs++; runs == 3 {
			cancel()
		}
		return float64(g.NumGates() - runs) // always better: the group would not end soon
	}})
	require.NoError(t, err)
	require.True(t, report.Stopped)
	require.Len(t, report.Passes, 2)
	require.Equal(t, g.Simulate(in, w), h.Simulate(in, w))

	h, report, err = Synthesize(ctx, g, SynthOptions{})
	require.NoError(t, err)
	require.True(t, report.Stopped)
	require.Equal(t, g.Simulate(in, w), h.Simulate(in, w))
}

// The result is what costs least, not what is smallest.
func TestSynthesizeCost(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(3, 8)), 6, 60, 4).Sweep()
	h, report, err := Synthesize(context.Background(), g, SynthOptions{Cost: func(g *Graph) float64 { return -float64(g.NumGates()) }})
	require.NoError(t, err)
	most := g.NumGates()
	for _, p := range report.Passes {
		most = max(most, p.After)
	}
	require.Equal(t, most, h.NumGates())
}

func TestParseScript(t *testing.T) {
	for text, want := range map[string]string{
		"map":                        "map",
		"map;ties; cover":            "map ties cover",
		" map (ties cover)* ":        "map (ties cover)*",
		"(map (rewrite ties)*3)*2":   "(map (rewrite ties)*3)*2",
		"(map)":                      "(map)*1",
		"(map) *5":                   "(map)*5",
		"map(ties cover)*(rewrite)*": "map (ties cover)* (rewrite)*",
		"[map|ties cover] rewrite":   "[map | ties cover] rewrite",
		"[(map)*2 | [ties|cover]]":   "[(map)*2 | [ties | cover]]",
		"[map]":                      "[map]",
		"(map)*2&ties cover & map":   "(map)*2 & ties cover & map",
	} {
		sc, err := ParseScript(text)
		require.NoError(t, err, text)
		require.Equal(t, want, sc.String(), text)
	}
	for text, want := range map[string]string{
		"":            "xmg: script is empty, expected names of passes",
		"()":          "xmg: script: a group is empty, expected names of passes",
		"(map":        "xmg: script: a group is not closed, expected ) or ]",
		"map)":        `xmg: script: ")" without a group before it, expected the name of a pass`,
		"(map]":       `xmg: script: "]" in a group, expected )`,
		"[map)":       `xmg: script: ")" among alternatives, expected | or ]`,
		"[map|]":      "xmg: script: a group is empty, expected names of passes",
		"map|ties":    `xmg: script: "|" without a group before it, expected the name of a pass`,
		"map *":       `xmg: script: "*" without a group before it, expected the name of a pass`,
		"& map":       "xmg: script: & without a step on either side, expected the names of passes",
		"map &":       "xmg: script: & without a step on either side, expected the names of passes",
		"(map & )*":   "xmg: script: & without a step on either side, expected the names of passes",
		"map & & map": "xmg: script: & without a step on either side, expected the names of passes",
		"(map)*0":     `xmg: script: "*0" after a group, expected * or *1 to *1000`,
		"(map)*2x":    `xmg: script: "*2x" after a group, expected * or *1 to *1000`,
		"(map)*-1":    `xmg: script: "*-1" after a group, expected * or *1 to *1000`,
		"(map)*99999": `xmg: script: "*99999" after a group, expected * or *1 to *1000`,
	} {
		_, err := ParseScript(text)
		require.EqualError(t, err, want, text)
	}
	_, err := ParseScript("map foo")
	require.ErrorContains(t, err, `xmg: script: no pass "foo", expected one of map, cover, `)
	deep := ""
	for range 40 {
		deep += "("
	}
	_, err = ParseScript(deep + "map")
	require.EqualError(t, err, "xmg: script: groups nested more than 16 deep")
}

// A choice takes the alternative that costs least, each run on the same graph.
func TestChoice(t *testing.T) {
	t.Parallel()
	g := randomGraph(rand.New(rand.NewPCG(5, 8)), 6, 300, 8).Sweep()
	run := func(script string) (*Graph, *SynthReport) {
		h, report, err := Synthesize(context.Background(), g, SynthOptions{Script: script})
		require.NoError(t, err)
		return h, report
	}
	small, _ := run("map (rewrite6)*10 anneal")
	covered, _ := run("cover")
	require.Less(t, small.NumGates(), covered.NumGates())
	for _, script := range []string{"[cover | map (rewrite6)*10 anneal]", "[map (rewrite6)*10 anneal | cover]"} {
		h, report := run(script + " cover")
		require.LessOrEqual(t, h.NumGates(), small.NumGates()+3) // other seeds
		require.Equal(t, g.NumGates(), report.Passes[0].Before)
		n := 0
		for _, p := range report.Passes {
			if p.Before == g.NumGates() {
				n++
			}
		}
		require.GreaterOrEqual(t, n, 2, "both alternatives start from the same graph")
		require.Less(t, report.Passes[len(report.Passes)-1].Before, covered.NumGates())
	}
}

// What follows an ampersand is run where the step before it gained, and only there; a
// pass for small graphs leaves large ones alone.
func TestOnGain(t *testing.T) {
	t.Parallel()
	g := randomGraph(rand.New(rand.NewPCG(5, 8)), 6, 300, 8).Sweep()
	run := func(g *Graph, script string) (*Graph, int) {
		h, report, err := Synthesize(context.Background(), g, SynthOptions{Script: script})
		require.NoError(t, err)
		return h, len(report.Passes)
	}
	covered, n := run(g, "cover & reduce")
	require.Less(t, covered.NumGates(), g.NumGates())
	require.Equal(t, 2, n)
	settled, _ := run(g, "(cover)*")
	_, n = run(settled, "cover & reduce cover")
	require.Equal(t, 2, n, "cover, no reduce, cover")

	_, n = run(g, "trial")
	require.Equal(t, 1, n)
	p, err := lookupPass("trial")
	require.NoError(t, err)
	large := New("large")
	for range p.most + 2 {
		large.AddInput("")
	}
	l := MakeLit(1, false)
	for i := range p.most + 1 {
		l = large.And(l, MakeLit(i+2, false))
	}
	large.AddOutput("", l)
	_, n = run(large, "trial")
	require.Zero(t, n)
}

func TestScriptOrder(t *testing.T) {
	sc, err := ParseScript("rewrite (map)*")
	require.NoError(t, err)
	require.ErrorContains(t, sc.checkOrder(), "rewrite before map, expected map first: rewriting first breaks up adders")
	for e := range efforts {
		require.NoError(t, efforts[e].script.checkOrder())
	}
}

// Belady's rule by scanning everything at every step.
func naiveCopies(g *Graph, room int, home bool) int {
	first := g.FirstGate()
	uses := make([][]int, g.NumNodes())
	for id := first; id < g.NumNodes(); id++ {
		for _, l := range g.Fanins(id) {
			uses[l.Node()] = append(uses[l.Node()], id)
		}
	}
	for _, o := range g.Outputs() {
		uses[o.Lit.Node()] = append(uses[o.Lit.Node()], int(wanted))
	}
	nextAfter := func(n, t int) int {
		for _, u := range uses[n] {
			if u > t && (n >= first || u != int(wanted)) {
				return u
			}
		}
		return int(noUse)
	}
	in, saved := map[int]bool{}, map[int]bool{}
	for id := 1; id < first; id++ {
		saved[id] = true
	}
	copies := 0
	makeRoom := func(t int, keep [3]Lit) {
		for len(in) >= room {
			victim, due := -1, -1
			for n := range g.NumNodes() {
				if !in[n] || n == keep[0].Node() || n == keep[1].Node() || n == keep[2].Node() {
					continue
				}
				if d := nextAfter(n, t-1); d > due {
					victim, due = n, d
				}
			}
			if !saved[victim] {
				copies++
				saved[victim] = true
			}
			delete(in, victim)
		}
	}
	for id := first; id < g.NumNodes(); id++ {
		f := g.Fanins(id)
		for _, l := range f {
			n := l.Node()
			if n == 0 || home && n < first || in[n] {
				continue
			}
			makeRoom(id, f)
			copies++
			in[n] = true
		}
		for n := range in {
			if d := nextAfter(n, id); d == int(noUse) || d == int(wanted) && saved[n] {
				delete(in, n)
			}
		}
		makeRoom(id+1, [3]Lit{})
		in[id] = true
	}
	return copies
}

func TestCopies(t *testing.T) {
	some := false
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		g := randomGraph(r, 1+r.IntN(10), r.IntN(80), 1+r.IntN(6)).Sweep()
		for rows := 4; rows < 20; rows += 1 + r.IntN(4) {
			want := naiveCopies(g, rows, false)
			if room := rows - g.NumInputs(); room >= 4 {
				want = min(want, naiveCopies(g, room, true))
			}
			require.Equal(t, want, g.Copies(rows), "seed %d, %d rows", seed, rows)
			some = some || want > g.NumInputs()
		}
		if g.NumGates() < 1000 {
			require.Zero(t, g.Copies(g.NumInputs()+g.NumGates()+4))
		}
	}
	require.True(t, some)
}
