package xmg

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// Limits of what is made anew of the highest outputs.
const (
	maxHighOutputs = 12
	maxHighTerms   = 1 << 10
	highConflicts  = 10_000
)

// high compares two words of which one is rewritten to the inputs and of the other only the
// outputs below some place: what the algebra says of the others is made of gates, and
// proved equal to them.
//
// The highest outputs have no carries of their own, so that synthesis makes them of gates
// that are no adders. But the outputs below and the word that is rewritten say what number
// they are: a sum of carries of the last column below and of products of inputs. Gates of
// that sum share all that is below with the outputs, so that SAT compares them (cf. the
// reference multipliers of Li et al., "RefSCAT", IEEE TCAD).
func (w *wordComparer) high(ctx context.Context, g *Graph, given, other []Lit) (ones []uint32, decided bool, err error) {
	n := len(given)
	for k := n - 1; k >= max(2, n-maxHighOutputs) && w.highBudget > 0; k-- {
		low, ok, err := w.adders(ctx, g, given[:k], &w.highBudget)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			continue
		}
		ones, err := sumsDiffer(ctx, g, low, other[:k], false)
		if ones != nil {
			return ones, true, nil
		}
		var made []Lit
		if err == nil {
			made, err = highOutputs(ctx, g, low, other)
		}
		if errors.Is(err, errStuck) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		e, err := g.equalLits(ctx, given[k:], made, EquivalenceOptions{Work: w.highBudget, Conflicts: highConflicts})
		if err != nil {
			return nil, false, err
		}
		w.highBudget -= e.Stats.Work
		switch e.Verdict {
		case Equal:
			return nil, true, nil
		case Different:
			ones := []uint32{0}
			for i, v := range e.Witness.Inputs {
				if v {
					ones = append(ones, uint32(1+i))
				}
			}
			return ones, true, nil
		}
	}
	return nil, false, nil
}

// equalLits compares literals of one graph.
func (g *Graph) equalLits(ctx context.Context, x, y []Lit, opt EquivalenceOptions) (Equivalence, error) {
	a, b := *g, *g
	a.outputs, b.outputs = nil, nil
	for i := range x {
		a.outputs = append(a.outputs, Output{Lit: x[i]})
		b.outputs = append(b.outputs, Output{Lit: y[i]})
	}
	return equivalent(ctx, a.Sweep(), b.Sweep(), opt)
}

// highOutputs returns what the outputs from place len(low) on are, as nodes added to g, if
// those below are low and all together say the number that other says. The error is errStuck,
// or that of the context.
func highOutputs(ctx context.Context, g *Graph, low, other []Lit) ([]Lit, error) {
	// Only what these words are made of: what the outputs were made of is not to be rewritten.
	h := g.emptyCopy(0)
	lit, back := make([]Lit, len(g.nodes)), make([]Lit, h.FirstGate())
	live := g.cone(append(slices.Clone(low), other...), nil)
	for id := range lit {
		switch {
		case id < g.FirstGate():
			lit[id], back[id] = Lit(id)<<1, Lit(id)<<1
		case live[id]:
			lit[id] = h.copyGate(g.nodes[id], lit)
			back = append(back, Lit(id)<<1)
		}
	}
	in := func(word []Lit) (made []Lit) {
		for _, l := range word {
			made = append(made, lit[l>>1]^l&1)
		}
		return made
	}
	low, other = in(low), in(other)
	back, before := h.addCarries(g, back)
	k, n := len(low), len(other)
	al, err := newAlgebra(h, n, true)
	if err != nil {
		return nil, err
	}
	for i, l := range other {
		al.addLit(l, power(i))
	}
	if err := al.reduce(ctx); err != nil {
		return nil, err
	}
	whole := al.sum
	al.sum, al.kept = map[int32]coefficient{}, k
	for i, l := range low {
		al.addLit(l, al.trim(power(i).minus()))
	}
	if err := al.carryOut(ctx, before); err != nil {
		return nil, err
	}
	// What is left is 2^k times the number of the high outputs.
	sum := highSum{g: g, al: al, columns: make([][]Lit, n-k)}
	poly := map[monomial]coefficient{}
	var carries []int32
	for id := range al.sum {
		if al.parityIsLarge(id) {
			carries = append(carries, id)
		} else {
			al.addExpanded(poly, id, al.sum[id])
		}
	}
	for id, c := range whole {
		al.addExpanded(poly, id, c)
	}
	var products []monomial
	for m := range poly {
		products = append(products, m)
	}
	slices.SortFunc(products, func(a, b monomial) int {
		return cmp.Or(cmp.Compare(a.degree(), b.degree()), slices.Compare(a[:], b[:]))
	})
	slices.Sort(carries)
	for _, m := range products {
		l := True
		for _, v := range m[:m.degree()] {
			l = g.And(l, MakeLit(int(v), false))
		}
		sum.add(l, poly[m])
	}
	for _, id := range carries {
		l := False
		if t := al.terms[id]; len(t) == 1 {
			l = back[t[0]]
		} else if m := al.made[id]; len(m) > 0 {
			of := m[0].of
			l = g.Xor(back[of[0]>>1]^of[0]&1, back[of[1]>>1]^of[1]&1, back[of[2]>>1]^of[2]&1).NotIf(m[0].flip)
		} else {
			return nil, errStuck
		}
		sum.add(l, al.sum[id])
	}
	sum.add(True, al.constant)
	return sum.made()
}

// addCarries adds the carries to all parities, as they are in another graph where there is
// one. Node i is back[i] there; before says which nodes were in one of the graphs.
func (g *Graph) addCarries(of *Graph, back []Lit) (_ []Lit, before []bool) {
	n := len(g.nodes)
	before = slices.Repeat([]bool{true}, n)
	for id := g.FirstGate(); id < n; id++ {
		if g.Kind(id) != Xor {
			continue
		}
		f := g.nodes[id]
		f0, f1, f2 := back[f[0]>>1], back[f[1]>>1], back[f[2]>>1]
		carry, inv, there := of.carryTo([3]Lit{f0, f1, f2})
		if !there {
			carry = of.Maj(f0, f1, f2)
			inv = [3]Lit{f0, f1, f2}
		}
		l := g.Maj(f[0]^inv[0]^f0, f[1]^inv[1]^f1, f[2]^inv[2]^f2)
		if int(l>>1) == len(back) {
			back, before = append(back, carry^l&1), append(before, there)
		}
	}
	return back, before
}

// carryTo returns the majority of three literals or, with these, that of one of them
// complemented, whichever is there.
func (g *Graph) carryTo(f [3]Lit) (carry Lit, of [3]Lit, ok bool) {
	for k := range 4 {
		of = f
		if k > 0 {
			of[k-1] ^= 1
		}
		if l, ok := g.findMaj(of[0], of[1], of[2]); ok {
			return l, of, true
		}
	}
	return 0, f, false
}

// carryOut rewrites until what counts less than 2^kept depends on few inputs: majorities as
// their inputs, and parities of the last column as their inputs less their carries, which stay.
func (al *algebra) carryOut(ctx context.Context, before []bool) error {
	for {
		if err := al.reduceQueue(ctx); err != nil {
			return err
		}
		last, left := int32(-1), false
		for id, c := range al.sum {
			if !al.isKept(c) && al.parityIsLarge(id) {
				left = true
				if al.isKept(c.plus(c)) && len(al.made[id]) > 0 {
					last = max(last, id)
				}
			}
		}
		if !left {
			return nil
		}
		if al.work++; last < 0 || al.work > maxFormWork {
			return errStuck
		}
		c := al.sum[last]
		var made madeParity
		var of [3]Lit
		var carry Lit
		for _, m := range al.made[last] {
			if l, o, ok := al.g.carryTo(m.of); ok && (made == (madeParity{}) || before[l>>1] && !before[carry>>1]) {
				made, carry, of = m, l, o
			}
		}
		if made == (madeParity{}) {
			return errStuck
		}
		delete(al.sum, last)
		// The parity of these inputs may be the complement of what is rewritten.
		if made.flip != ((of[0]^of[1]^of[2]^made.of[0]^made.of[1]^made.of[2])&1 != 0) {
			al.constant = al.trim(al.constant.plus(c))
			c = al.trim(c.minus())
		}
		for _, l := range of {
			al.addLit(l, c)
		}
		al.addLit(carry, al.trim(c.plus(c).minus()))
	}
}

// isKept reports whether what counts c times is not rewritten.
func (al *algebra) isKept(c coefficient) bool {
	for range al.kept {
		if c[0]&1 != 0 {
			return false
		}
		c = c.half()
	}
	return al.kept > 0
}

// highSum is a sum of literals, of which the outputs from place kept on are made.
type highSum struct {
	g        *Graph
	al       *algebra
	columns  [][]Lit
	constant coefficient
	terms    int
	err      error
}

// add adds a literal that counts c times, which is a multiple of 2^kept.
func (h *highSum) add(l Lit, c coefficient) {
	if !h.al.isKept(c) {
		h.err = errStuck
		return
	}
	if l == True {
		h.constant = h.al.trim(h.constant.plus(c))
		return
	}
	if c.bit(h.al.bits - 1) { // -c x = c (1 - x) - c
		h.constant = h.al.trim(h.constant.plus(c))
		l, c = l^1, h.al.trim(c.minus())
	}
	h.enter(l, c)
}

func (h *highSum) enter(l Lit, c coefficient) {
	for i := range h.columns {
		if c.bit(h.al.kept + i) {
			h.columns[i] = append(h.columns[i], l)
			h.terms++
		}
	}
}

// made adds columns up.
func (h *highSum) made() ([]Lit, error) {
	if h.err != nil || h.terms > maxHighTerms {
		return nil, errStuck
	}
	h.enter(True, h.constant)
	out := make([]Lit, len(h.columns))
	for i := range h.columns {
		col := h.columns[i]
		for len(col) > 1 {
			a, b, c := col[0], col[1], False
			col = col[2:]
			if len(col) > 0 {
				c, col = col[0], col[1:]
			}
			col = append(col, h.g.Xor(a, b, c))
			if i+1 < len(out) {
				if carry := h.g.Maj(a, b, c); carry != False {
					h.columns[i+1] = append(h.columns[i+1], carry)
				}
			}
		}
		if len(col) > 0 {
			out[i] = col[0]
		}
	}
	return out, nil
}
