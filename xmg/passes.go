package xmg

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// pass is an optimisation of a graph. It gives an equivalent graph with the same
// inputs and outputs, seldom a larger one. One that reaches the end of the
// context gives what it has or the context's error; one that can do nothing with a graph
// may give errNotThis.
type pass struct {
	name string
	doc  string // what it does, for people who write scripts
	work int64  // for each gate, in units of about a microsecond; 0 = it has a bound of its own
	// first is set where the first run is worth its time however large the graph.
	first bool
	most  int // gates: larger graphs stay as they are; 0 = no bound
	run   func(passContext, *Graph) (*Graph, error)
}

// passContext is what a pass may depend on besides the graph.
type passContext struct {
	context.Context
	seed     uint64 // another one for each run
	wide     bool   // the graph that synthesis began with was
	progress func(Progress)
	via      func(*Graph) // is told the graphs by way of which the result is proved, in turn
}

// passes are all there are.
var passes = []pass{
	{"map", "cover with cuts of four leaves and rewrite, in turns", 30, true, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Map(c, g, Options{Progress: c.progress})
	}},
	{"cover", "choose a cut of four leaves for each gate, for the least area", 3, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return cover(c, g, c.progress, &cutStore{})
	}},
	{"rewrite", "replace small cones where that saves gates", 6, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return rewrite(c, g, c.progress, &cutStore{}, false)
	}},
	{"ties", "rewrite also where that saves nothing, so that other passes find more", 6, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return rewrite(c, g, c.progress, &cutStore{}, true)
	}},
	{"reduce", "merge gates that are proved equal or constant", 40, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Reduce(c, g, ReduceOptions{Work: reduceWork * int64(g.NumGates()), Progress: c.progress})
	}},
	{"exclusive", "make ORs of terms that exclude each other XORs", 20, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Exclusive(c, g, Options{Progress: c.progress})
	}},
	{"decoded", "remake tables, ORs of minterms, in Reed-Muller form", 20, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Decoded(c, g, Options{Progress: c.progress})
	}},
	{"counts", "count bits with as few full adders as possible, and compare counts with constants on the way", 30, true, 100_000, func(c passContext, g *Graph) (*Graph, error) {
		h, via, err := countBits(c, g, Options{Progress: c.progress})
		for _, v := range via {
			c.via(v)
		}
		return h, err
	}},
	{"rewrite6", "rewrite with cuts of six leaves, other recipes each time", 25, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Rewrite6(c, g, c.seed, Options{Progress: c.progress})
	}},
	{"ands", "make all gates ANDs and rewrite these with cuts of six leaves", 25, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return RewriteAnds(c, g, c.seed, Options{Progress: c.progress})
	}},
	{"collapse", "make sums of products of the outputs and divide these by what they share", 25, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return collapse(c, g, Options{Progress: c.progress})
	}},
	{"diagram", "build all outputs as one decision diagram, if that is small", 25, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return asDiagram(c, g, Options{Progress: c.progress})
	}},
	{"balance", "make all gates ANDs and their trees as low as they can be", 2, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return BalanceAnds(c, g, Options{Progress: c.progress})
	}},
	{"resub-ands", "make all gates ANDs and express each by two others of a cut of eight leaves", 25, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return ResubstituteAnds(c, g, Options{Progress: c.progress})
	}},
	{"selections", "choose which operands multiplexers are made by, so that they share gates", 2, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return ShareSelections(c, g, Options{Progress: c.progress})
	}},
	{"exact", "build cones of five leaves anew from minimum gates, found by SAT", 100, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return ExactRewrite(c, g, ExactOptions{Seed: c.seed, Progress: c.progress})
	}},
	{"resub", "express gates by others, equal wherever an output can tell", 200, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Resubstitute(c, g, ResubOptions{Seed: c.seed, Progress: c.progress})
	}},
	// It has bounds of its own and takes no work from others: on circuits that it is worth
	// most for, starts leave none.
	{"cares", "express gates by others, equal wherever the graph's outputs can tell, by patterns and SAT", 0, true, 50_000, func(c passContext, g *Graph) (*Graph, error) {
		return ResubstituteCares(c, g, CareOptions{Rounds: careRounds, Work: careWork * int64(g.NumGates()), Seed: c.seed, Progress: c.progress})
	}},
	{"anneal", "search at random, smaller or not, wherever an output cannot tell", 2000, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Anneal(c, g, AnnealOptions{Seed: c.seed, Work: c.annealing(g), Progress: c.progress, wide: c.wide})
	}},
	{trialPass, "make small graphs smaller by cares and a short annealing, for a choice to see what comes of them", 500, false, 1500, func(c passContext, g *Graph) (*Graph, error) {
		g, err := ResubstituteCares(c, g, CareOptions{Rounds: 2, Work: careWork / 20 * int64(g.NumGates()), Seed: c.seed, Progress: c.progress})
		if err != nil {
			return nil, err
		}
		return Anneal(c, g, AnnealOptions{Seed: c.seed, Work: c.annealing(g) / 8, Progress: c.progress, wide: c.wide})
	}},
	{"anneal-long", "anneal ten times as long", 20_000, false, 0, func(c passContext, g *Graph) (*Graph, error) {
		return Anneal(c, g, AnnealOptions{Seed: c.seed, Work: 10 * c.annealing(g), Progress: c.progress, wide: c.wide})
	}},
}

// trialPass is run for a choice to see what comes of a graph, and left out where that is clear.
const trialPass = "trial"

// passOrder are constraints on the scripts of the efforts: wherever both passes
// are there, the first run of one comes before the first run of the other.
var passOrder = []struct{ first, second, reason string }{
	{"map", "rewrite", "rewriting first breaks up adders, which covering finds whole"},
	{"exclusive", "decoded", "only XORs of minterms show what a table is"},
}

// reduceWork is the most that a reduction spends on a gate, in its units of 2 to 20 ns:
// some times what circuits take that are not all chains of gates that look alike.
const reduceWork = 2500

// careRounds is how many rounds a pass of cares has at most, and careWork the most that it
// spends on a gate, in its units of 10 ns. Few circuits take as much.
const (
	careRounds = 24
	careWork   = 3_000_000
)

// annealWork is what one annealing spends on a gate, in its units of 5 ns.
const annealWork = 400_000

// annealing is the work of one annealing. That of a wide circuit is a part: it has
// little to gain.
func (c *passContext) annealing(g *Graph) int64 {
	work := annealWork * int64(g.NumGates())
	if c.wide {
		work /= widePart
	}
	return work
}

// widePart is the part of the work that wide circuits get.
const widePart = 6

// isWide tells circuits that read most inputs once or twice: ANDs, ORs and
// comparisons of many inputs. Little of them can be shared.
func isWide(g *Graph) bool {
	inputs, uses := 0, 0
	read := make([]bool, g.FirstGate())
	for _, f := range g.nodes[g.FirstGate():] {
		for _, l := range f {
			if id := l.Node(); id > 0 && id < g.FirstGate() {
				uses++
				if !read[id] {
					read[id] = true
					inputs++
				}
			}
		}
	}
	return inputs >= wideInputs && uses <= 2*inputs && g.NumGates() <= 5*inputs/2
}

// wideInputs is how many inputs a wide circuit has at least.
const wideInputs = 32

// efforts are the script of each effort, and the work that it may do: a pass is
// run if the work left suffices for it, or if it is the first run of one that is
// always worth its time. What a pass with a bound of its own saves adds to it (gainPays).
//
// Redundant logic goes first: it hides structure from all others (the upper bits
// of a divider's remainders are constant, but not in form). Then covering finds
// the adders. Then come the passes that look at structure only, the fast ones
// before the slow ones, and at last those that look at what outputs can tell, on
// what is small by then: for all inputs of the circuit first, then within windows.
// All of them profit from another run after the others; but rewritings without end
// drift so far from the circuit that the proof takes longer than they do. Circuits of
// bad structure are better taken apart first: into ANDs that are few and well shared,
// or, if that is short, into what the outputs are as sums of products. What is best is
// tried, and of small circuits what is best once they are annealed for a moment. Long
// annealing is for what a short one has made smaller: sums and products mostly are as
// small as they get. A remade table (decoded) is the hardest to prove, which is why no
// effort has it.
var efforts = [...]struct {
	script   Script
	work     int64 // in units of pass.work
	patience int   // runs of a group in a row without a gain that end its repetition
	vain     int   // gates that these runs look at together, which end it as well
	// A run gains where the share of the cost that it saves is at least that of its work in worth.
	worth int64
}{
	Fast: {mustParse(`reduce counts
		[map exclusive map | (rewrite6)*5 exclusive | balance resub-ands ands map exclusive map]
		reduce (rewrite6)*3`), 16e6, 1, vainGates, math.MaxInt64},
	Normal: {mustParse(`reduce counts
		[map exclusive map (rewrite6)*8 trial
			| (rewrite6)*8 exclusive (rewrite6)*4 reduce trial
			| diagram selections map exclusive (rewrite6)*8 selections trial
			| (ands)*2 map exclusive map (rewrite6)*8 trial
			| (balance resub-ands ands)*3 map exclusive map (rewrite6)*8 trial
			| collapse (balance resub-ands ands)*3 map exclusive (rewrite6)*8 trial]
		map exclusive (rewrite6)*5 reduce (cares rewrite6)*3 exact
		(anneal rewrite6)*8 & (anneal-long)*12`), 60e6, 8, vainGates, 3e9},
	High: {mustParse(`reduce counts
		[map exclusive map (rewrite6)*8 trial
			| (rewrite6)*8 exclusive (rewrite6)*4 reduce trial
			| diagram selections map exclusive (rewrite6)*8 selections trial
			| (ands)*2 map exclusive map (rewrite6)*8 trial
			| (balance resub-ands ands)*3 map exclusive map (rewrite6)*8 trial
			| collapse (balance resub-ands ands)*3 map exclusive (rewrite6)*8 trial]
		map exclusive (rewrite6)*5 reduce (cares rewrite6)*6 exact (resub)*2
		((anneal)*10 (anneal-long)*10 map (rewrite6)*3 reduce exact)*`), 300e6, 2, math.MaxInt, 30e9},
}

func mustParse(text string) Script {
	sc, err := ParseScript(text)
	if err != nil {
		panic(err)
	}
	if err := sc.checkOrder(); err != nil {
		panic(err)
	}
	return sc
}

// checkOrder reports the first constraint of passOrder that a script breaks.
func (sc Script) checkOrder() error {
	first := map[string]int{}
	var walk func(Script)
	walk = func(sc Script) {
		for _, st := range sc {
			if st.pass == nil {
				walk(st.group)
				for _, other := range st.others {
					walk(other)
				}
			} else if _, ok := first[st.pass.name]; !ok {
				first[st.pass.name] = len(first)
			}
		}
	}
	walk(sc)
	for _, o := range passOrder {
		a, okA := first[o.first]
		b, okB := first[o.second]
		if okA && okB && a > b {
			return fmt.Errorf("xmg: script %q: %s before %s, expected %s first: %s", sc, o.second, o.first, o.first, o.reason)
		}
	}
	return nil
}

func lookupPass(name string) (*pass, error) {
	var names []string
	for i := range passes {
		if passes[i].name == name {
			return &passes[i], nil
		}
		names = append(names, passes[i].name)
	}
	return nil, fmt.Errorf("xmg: script: no pass %q, expected one of %s", name, strings.Join(names, ", "))
}

// PassInfo describes a pass to those who write scripts.
type PassInfo struct{ Name, Doc string }

// Passes returns the passes that a script can name.
func Passes() []PassInfo {
	list := make([]PassInfo, len(passes))
	for i, p := range passes {
		list[i] = PassInfo{p.name, p.doc}
	}
	return list
}

// EffortScript returns the script of an effort.
func EffortScript(e Effort) Script { return efforts[e].script }
