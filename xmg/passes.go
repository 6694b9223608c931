package xmg

import (
	"context"
	"fmt"
	"strings"
)

// pass is an optimisation of a graph. It gives an equivalent graph with the same
// inputs and outputs, seldom a larger one. One that reaches the end of the
// context gives what it has or the context's error.
type pass struct {
	name string
	doc  string // what it does, for people who write scripts
	work int64  // for each gate, in units of about a microsecond
	run  func(passContext, *Graph) (*Graph, error)
}

// passContext is what a pass may depend on besides the graph.
type passContext struct {
	context.Context
	effort   Effort
	seed     uint64 // another one for each run
	progress func(Progress)
}

// passes are all there are.
var passes = []pass{
	{"map", "cover with cuts of four leaves and rewrite, in turns", 30, func(c passContext, g *Graph) (*Graph, error) {
		return Map(c, g, Options{Progress: c.progress})
	}},
	{"cover", "choose a cut of four leaves for each gate, for the least area", 3, func(c passContext, g *Graph) (*Graph, error) {
		return cover(c, g, c.progress, &cutStore{})
	}},
	{"rewrite", "replace small cones where that saves gates", 6, func(c passContext, g *Graph) (*Graph, error) {
		return rewrite(c, g, c.progress, &cutStore{}, false)
	}},
	{"ties", "rewrite also where that saves nothing, so that other passes find more", 6, func(c passContext, g *Graph) (*Graph, error) {
		return rewrite(c, g, c.progress, &cutStore{}, true)
	}},
	{"exact", "build cones of five leaves anew from minimum gates, found by SAT", 100, func(c passContext, g *Graph) (*Graph, error) {
		return ExactRewrite(c, g, ExactOptions{Seed: c.seed, Progress: c.progress})
	}},
}

// passOrder are constraints on the scripts of the efforts: wherever both passes
// are there, the first run of one comes before the first run of the other.
var passOrder = []struct{ first, second, reason string }{
	{"map", "rewrite", "rewriting first breaks up adders, which covering finds whole"},
}

// efforts are the script of each effort, and the work that it may do: the first
// pass is always run, any other one only if the work left suffices for it.
var efforts = [...]struct {
	script Script
	work   int64 // in units of pass.work
}{
	Fast:   {mustParse("map"), 0},
	Normal: {mustParse("map"), 200e6},
	High:   {mustParse("map"), 1500e6},
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
