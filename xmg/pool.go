package xmg

import "slices"

// pool is functions of four signals that are there, or made of those that are
// there by one gate each. A function or its complement is as good; functions
// are taken as the one that is 0 for pattern 0.
type pool struct {
	g       *Graph
	members []truth
	lit     []Lit
	index   [1 << 15]int16  // of a function among the members, or -1
	made    [1 << 15]poolFn // how a function is made of members by one gate
	wanted  []truth         // functions that are to be XORs of two members
	asked   [1 << 15]bool   // wanted already
}

// poolFn is a gate over members, each possibly complemented; the zero value is
// none.
type poolFn struct {
	op      uint8 // 0 none, 1 XOR, 2 MAJ
	inv     uint8
	a, b, c uint16
}

// poolSize bounds the pool.
const poolSize = 600

func newPool(g *Graph, in [decodedRows]Lit) *pool {
	p := &pool{g: g}
	for i := range p.index {
		p.index[i] = -1
	}
	p.add(0, False)
	for i, t := range inputTruth {
		p.add(t, in[i])
	}
	return p
}

// add enters a function that is 0 for pattern 0, and how other functions are
// made with it.
func (p *pool) add(t truth, l Lit) {
	k := uint16(len(p.members))
	p.members = append(p.members, t)
	p.lit = append(p.lit, l)
	p.index[t.normal()] = int16(k)
	for i := range k {
		for j := range i {
			a, b := p.members[i], p.members[j]
			if x := (t ^ a ^ b).normal(); p.made[x].op == 0 {
				p.made[x] = poolFn{1, 0, k, i, j}
			}
			for inv := range uint8(4) {
				m := majTruth(t, a^-truth(inv&1), b^-truth(inv>>1)).normal()
				if p.made[m].op == 0 {
					p.made[m] = poolFn{2, inv, k, i, j}
				}
			}
		}
	}
}

// build adds a function that is made by one gate.
func (p *pool) build(t truth) {
	f := p.made[t.normal()]
	a, b, c := p.lit[f.a], p.lit[f.b]^Lit(f.inv&1), p.lit[f.c]^Lit(f.inv>>1)
	var l Lit
	var have truth
	if f.op == 1 {
		l = p.g.Xor(a, b, c)
	} else {
		l = p.g.Maj(a, b, c)
		have = majTruth(p.members[f.a], p.members[f.b]^-truth(f.inv&1), p.members[f.c]^-truth(f.inv>>1))
	}
	p.add(t, l^Lit(have&1))
}

// want asks for a function as the XOR of two members.
func (p *pool) want(c uint16) {
	t := truth(c)
	t ^= -(t & 1)
	if k := t.normal(); !p.asked[k] {
		p.asked[k] = true
		p.wanted = append(p.wanted, t)
	}
}

// pair returns two members whose XOR is t, from member number from on; ok is
// false if there are none.
func (p *pool) pair(t truth, from int) (a, b int, ok bool) {
	for i := from; i < len(p.members); i++ {
		if j := p.index[(p.members[i] ^ t).normal()]; j >= 0 {
			return i, int(j), true
		}
	}
	return 0, 0, false
}

// fill adds functions until all that are wanted are XORs of two members. Of the
// functions that give the first of them it takes the one that gives most of
// the others, too.
func (p *pool) fill() {
	rest := p.wanted
	for {
		rest = slices.DeleteFunc(rest, func(t truth) bool {
			_, _, ok := p.pair(t, 0)
			return ok
		})
		if len(rest) == 0 {
			return
		}
		pick, most := truth(0), -1
		for _, m := range p.members {
			t := rest[0] ^ m
			if p.made[t.normal()].op == 0 {
				continue
			}
			score := 0
			for _, w := range rest {
				if p.index[(w^t).normal()] >= 0 {
					score++
				}
			}
			if score > most {
				pick, most = t, score
			}
		}
		if most < 0 || len(p.members) >= poolSize {
			p.direct(rest[0])
			continue
		}
		p.build(pick)
	}
}

// direct adds a function by its recipe.
func (p *pool) direct(t truth) {
	p.add(t, fourInputs().build(p.g, t, [4]Lit{p.lit[1], p.lit[2], p.lit[3], p.lit[4]}))
}

// term is a product and a coefficient as the XOR of two members, the second
// perhaps complemented. MAJ(m, a, b) adds a & b to the sum; if inv is set, both
// are complemented.
type term struct {
	product int
	a, b    int
	t       truth // the coefficient, or its complement: what is 0 for pattern 0
	compl   Lit
	inv     bool
}

// also returns what a term adds to the sum beside its product.
func (p *pool) also(t *term) truth {
	a, b := p.members[t.a], p.members[t.b]^-truth(t.compl)
	if t.inv {
		a, b = ^a, ^b
	}
	return a & b
}

// make makes the sum of some coefficients times products.
func (p *pool) make(rows []uint16, products []Lit) Lit {
	rest := truth(rows[0])
	var items []Lit
	var terms []term
	for m, c := range rows {
		switch {
		case m == 0 || c == 0:
		case c == 0xffff:
			items = append(items, products[m])
		default:
			t := term{product: m, t: truth(c) ^ -truth(c&1), compl: Lit(c & 1)}
			t.a, t.b, _ = p.pair(t.t, 0)
			rest ^= p.also(&t)
			terms = append(terms, t)
		}
	}
	rest = p.choose(terms, rest, len(items)+len(terms))
	for _, t := range terms {
		a, b := p.lit[t.a], p.lit[t.b]^t.compl
		if t.inv {
			a, b = a^1, b^1
		}
		items = append(items, p.g.Maj(products[t.product], a, b))
	}
	compl := Lit(rest & 1)
	rest ^= -(rest & 1)
	if p.restItems(rest) > 2 {
		p.direct(rest)
	}
	switch p.restItems(rest) {
	case 1:
		items = append(items, p.lit[p.index[rest.normal()]])
	case 2:
		a, b, _ := p.pair(rest, 0)
		items = append(items, p.lit[a], p.lit[b])
	}
	if len(items)%2 == 0 {
		items = append(items, False)
	}
	sum := items[0]
	for i := 1; i < len(items); i += 2 {
		sum = p.g.Xor(sum, items[i], items[i+1])
	}
	return sum ^ compl
}

// restItems returns how many members are a function as an XOR, 3 for more than
// two.
func (p *pool) restItems(rest truth) int {
	rest ^= -(rest & 1)
	if rest == 0 {
		return 0
	}
	if p.index[rest.normal()] >= 0 {
		return 1
	}
	if _, _, ok := p.pair(rest, 0); ok {
		return 2
	}
	return 3
}

// choose takes another pair of members for one of the terms if the rest of the
// sum becomes simpler by it; it returns that rest. An even number of items has
// a free place for one more.
func (p *pool) choose(terms []term, rest truth, items int) truth {
	gates := func(rest truth) int { return (items + p.restItems(rest)) / 2 }
	least := gates(rest)
	for i := range terms {
		without := rest ^ p.also(&terms[i])
		for from := 0; ; from++ {
			t := terms[i]
			var ok bool
			if t.a, t.b, ok = p.pair(t.t, from); !ok {
				break
			}
			from = t.a
			for _, t.inv = range [2]bool{false, true} {
				if r := without ^ p.also(&t); gates(r) < least {
					terms[i] = t
					return p.choose(terms, r, items)
				}
			}
		}
	}
	return rest
}
