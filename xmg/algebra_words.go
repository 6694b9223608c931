package xmg

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// The work of all proofs of final adders is adderBudget and adderBudgetGate more for each
// gate of both circuits.
const (
	adderBudget     = 1 << 24
	adderBudgetGate = 1 << 10
	maxWordNodes    = 1 << 22 // words times nodes
)

// wordForm is what is made of circuits before their words are compared.
type wordForm int

const (
	asGiven     wordForm = iota
	wholeAdders          // see Graph.wholeAdders
	mapped               // by Map
	givenHigh            // as given, and see wordComparer.high
	wholeHigh
	wordForms
)

// wordComparer compares two circuits word by word by algebra, see algebra.
type wordComparer struct {
	a, b       *Graph
	budget     int64    // of proofs
	highBudget int64    // of those of the highest outputs
	form       wordForm // at hand
}

func newWordComparer(a, b *Graph) *wordComparer {
	budget := adderBudget + adderBudgetGate*int64(a.NumGates()+b.NumGates())
	return &wordComparer{a: a, b: b, budget: budget, highBudget: budget}
}

// compare compares all words of a form of the circuits. decided is false if it does not get to an end; else
// pattern is an input pattern for which they differ, nil if they are equal.
func (w *wordComparer) compare(ctx context.Context, form wordForm) (pattern []bool, decided bool, err error) {
	g := w.a.emptyCopy(w.a.NumGates() + w.b.NumGates())
	for _, side := range []*Graph{w.a, w.b} {
		lit := make([]Lit, len(side.nodes))
		for id := range lit {
			if id < side.FirstGate() {
				lit[id] = Lit(id) << 1
			} else {
				lit[id] = g.copyGate(side.nodes[id], lit)
			}
		}
		for _, o := range side.outputs {
			g.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
		}
	}
	n := w.a.NumOutputs()
	// Each word looks at the whole graph.
	words := 0
	for from := 0; from < n; from = wordEnd(w.a, from) {
		words++
	}
	if words*len(g.nodes) > maxWordNodes {
		return nil, false, nil
	}
	w.form = form
	switch form {
	case wholeAdders, wholeHigh:
		g = g.wholeAdders()
	case mapped:
		if g, err = Map(ctx, g, Options{}); err != nil {
			return nil, false, err
		}
	}
	for from := 0; from < n; {
		to := wordEnd(w.a, from)
		var x, y []Lit
		for i := from; i < to; i++ {
			x, y = append(x, g.outputs[i].Lit), append(y, g.outputs[n+i].Lit)
		}
		ones, decided, err := w.word(ctx, g, x, y)
		if err != nil || !decided {
			return nil, false, err
		}
		if ones != nil {
			pattern := make([]bool, w.a.NumInputs())
			for _, id := range ones[1:] {
				pattern[id-1] = true
			}
			return pattern, true, nil
		}
		from = to
	}
	return nil, true, nil
}

// wordEnd returns the output behind the word that begins at one: the names of its bits
// are those of a vector, y[0] and on. Without names all outputs are one word.
func wordEnd(g *Graph, from int) int {
	name := func(i int) string {
		word, _, _ := strings.Cut(g.outputs[i].Name, "[")
		return word
	}
	to := from + 1
	for to < len(g.outputs) && name(to) == name(from) {
		to++
	}
	return to
}

// word compares two words of outputs of one graph, to which it may add gates. ones are
// the inputs, as nodes, that are 1 in a pattern for which they differ, with a 0 before
// them; nil if the words are equal.
func (w *wordComparer) word(ctx context.Context, g *Graph, x, y []Lit) (ones []uint32, decided bool, err error) {
	if slices.Equal(x, y) {
		return nil, true, nil
	}
	if len(x) > maxWordBits {
		return nil, false, nil
	}
	ones, err = sumsDiffer(ctx, g, x, y, false)
	if !errors.Is(err, errStuck) {
		return ones, err == nil, err
	}
	madeX, okX, err := w.adders(ctx, g, x, &w.budget)
	if err != nil {
		return nil, false, err
	}
	madeY, okY, err := w.adders(ctx, g, y, &w.budget)
	if err != nil {
		return nil, false, err
	}
	if okX && okY {
		ones, err = sumsDiffer(ctx, g, madeX, madeY, false)
	} else {
		ones, err = sumsDiffer(ctx, g, madeX, madeY, true)
	}
	if !errors.Is(err, errStuck) {
		return ones, err == nil, err
	}
	switch {
	case w.form < givenHigh:
		return nil, false, nil
	case okY:
		return w.high(ctx, g, x, madeY)
	case okX:
		return w.high(ctx, g, y, madeX)
	}
	return nil, false, nil
}

// adders returns a word as a sum that full adders make, as nodes of g. ok is false
// if it is not known to be one: then it is the word as it is.
func (w *wordComparer) adders(ctx context.Context, g *Graph, word []Lit, budget *int64) (made []Lit, ok bool, err error) {
	if _, err := sumsDiffer(ctx, g, word, nil, false); !errors.Is(err, errStuck) {
		return word, err == nil, err
	}
	if made, ok, err = finalAdder(ctx, g, word, budget); !ok {
		made = word
	}
	return made, ok, err
}

// sumsDiffer rewrites the difference of two words as far as it goes; without y it only
// tells whether x comes to an end. With linear it takes sums that are linear over a cut for
// what they are, see linearise. The error is errStuck or that of the context.
func sumsDiffer(ctx context.Context, g *Graph, x, y []Lit, linear bool) (ones []uint32, err error) {
	al, err := newAlgebra(g, len(x), linear)
	if err != nil {
		return nil, err
	}
	for i := range x {
		al.addLit(x[i], power(i))
		if y != nil {
			al.addLit(y[i], al.trim(power(i).minus()))
		}
	}
	if err := al.reduce(ctx); err != nil || y == nil {
		return nil, err
	}
	if in, different := al.remainder(); different {
		return append([]uint32{0}, in...), nil
	}
	return nil, nil
}
