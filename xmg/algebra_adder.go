package xmg

import (
	"context"
	"math/rand/v2"
)

// finalAdder looks for two words that a circuit adds in the end, however it does, and
// returns its outputs as made by a chain of full adders on these, as nodes added to g.
// ok is false if there is none, or if it is not proved.
//
// Outputs say what the words may be: bit i is u ^ v ^ carry, and where bits u and v are
// added there is a gate of both. Patterns tell which; then the part of the circuit above
// the words is proved equal to the chain, for all values of the words.
func finalAdder(ctx context.Context, g *Graph, outputs []Lit, budget *int64) (made []Lit, ok bool, err error) {
	s := newAdderSearch(g, outputs)
	// Adders below the last one may look like its beginning: then begin later.
	for tries := 0; !ok; tries++ {
		if tries > adderTries || *budget <= 0 || !s.find() {
			return nil, false, nil
		}
		first, wrong := s.first(), 0
		for depth := 0; depth <= fromInputs && !ok && *budget > 0; depth++ {
			var place int
			if ok, place, err = s.proved(ctx, budget, depth); err != nil {
				return nil, false, err
			}
			wrong = max(wrong, place)
		}
		if !ok && s.exclude(wrong) {
			continue
		}
		clear(s.wrong)
		s.start = max(s.start, first) + 1
	}
	made = make([]Lit, len(outputs))
	carry := False
	for i, b := range s.bits {
		if i == s.first() {
			carry = s.in
		}
		made[i] = g.Xor(b.u, b.v, carry)
		carry = g.Maj(b.u, b.v, carry)
	}
	return made, true, nil
}

// addedBit is what the adder adds in one place.
type addedBit struct{ u, v Lit }

// wrongBit is what a proof found wrong in a place.
type wrongBit struct {
	place int
	addedBit
}

// adderWords are the words of patterns that literals are told apart by, adderSteps the
// choices that are tried, and adderChoices those for one place.
const (
	adderWords   = 8
	adderSteps   = 1 << 16
	adderChoices = 8
	fromInputs   = 3 // the depth of the cut under the words that is the inputs
	adderTries   = 100
)

type signature [adderWords]uint64

type adderSearch struct {
	g       *Graph
	outputs []Lit
	value   []uint64
	pairs   map[signature][]addedBit
	nodes   map[signature][]Lit
	live    []uint32
	used    map[uint32]bool // nodes that are in a word already
	wrong   map[wrongBit]bool
	bits    []addedBit
	in      Lit // the carry into the first place
	steps   int
	start   int // the place from which on there may be an adder
}

// newAdderSearch simulates the graph and collects pairs of literals that are fanins of
// one gate below the outputs: of a majority or, as the highest place has no carry, of a parity.
func newAdderSearch(g *Graph, outputs []Lit) *adderSearch {
	rng := rand.New(rand.NewPCG(1, 2))
	in := make([]uint64, g.NumInputs()*adderWords)
	for i := range in {
		in[i] = rng.Uint64()
	}
	s := &adderSearch{
		g: g, outputs: outputs, value: g.SimulateNodes(in, adderWords),
		pairs: map[signature][]addedBit{}, nodes: map[signature][]Lit{}, used: map[uint32]bool{}, wrong: map[wrongBit]bool{}, bits: make([]addedBit, len(outputs)),
	}
	live := g.cone(outputs, nil)
	for id := range g.nodes {
		if !live[id] || id == 0 {
			continue
		}
		s.live = append(s.live, uint32(id))
		sig, flip := s.of(Lit(id) << 1).plain()
		if list := s.nodes[sig]; len(list) < adderChoices {
			s.nodes[sig] = append(list, MakeLit(id, flip))
		}
		if id < g.FirstGate() {
			continue
		}
		f := g.nodes[id]
		for k := range f {
			u, v := f[k], f[(k+1)%3]
			if u>>1 == 0 || v>>1 == 0 {
				continue
			}
			sig, _ := s.of(u).xor(s.of(v)).plain()
			if list := s.pairs[sig]; len(list) < adderChoices {
				s.pairs[sig] = append(list, addedBit{u, v})
			}
		}
	}
	return s
}

// cone marks the nodes that roots depend on, not below those of a cut.
func (g *Graph) cone(roots []Lit, cut map[uint32]bool) []bool {
	live := make([]bool, len(g.nodes))
	for _, l := range roots {
		live[l>>1] = true
	}
	for id := len(g.nodes) - 1; id >= g.FirstGate(); id-- {
		if live[id] && !cut[uint32(id)] {
			for _, l := range g.nodes[id] {
				live[l>>1] = true
			}
		}
	}
	return live
}

func (s *adderSearch) of(l Lit) (sig signature) {
	for k := range sig {
		sig[k] = s.value[int(l>>1)*adderWords+k] ^ -uint64(l&1)
	}
	return sig
}

func (a signature) xor(b signature) signature {
	for k := range a {
		a[k] ^= b[k]
	}
	return a
}

// plain returns the signature of a literal or that of its complement, whichever begins
// with 0.
func (a signature) plain() (sig signature, flip bool) {
	if a[0]&1 == 0 {
		return a, false
	}
	for k := range a {
		a[k] = ^a[k]
	}
	return a, true
}

func (a signature) maj(b, c signature) signature {
	for k := range a {
		a[k] = a[k]&b[k] | (a[k]|b[k])&c[k]
	}
	return a
}

// find chooses the bits of both words from the lowest on.
func (s *adderSearch) find() bool {
	s.steps, s.in = 0, False
	return s.at(0, signature{}, false) && s.first() < len(s.bits)
}

// exclude rules out choices that patterns do not tell from the right ones, if the outputs
// below a place were proved and that was not: what is chosen further up may be a gate of
// the adder, or the choice there is wrong, or that below it. It reports whether others
// were found.
func (s *adderSearch) exclude(place int) bool {
	if place <= s.first() {
		return false
	}
	cut := map[uint32]bool{}
	for _, b := range s.bits[:place+1] {
		cut[uint32(b.u>>1)], cut[uint32(b.v>>1)] = true, true
	}
	live := s.g.cone(s.outputs[s.first():place+1], cut)
	inside := false
	for i := place + 1; i < len(s.bits); i++ {
		for _, l := range [2]Lit{s.bits[i].u, s.bits[i].v} {
			if id := int(l >> 1); id >= s.g.FirstGate() && live[id] && !cut[uint32(id)] {
				s.wrong[wrongBit{i, s.bits[i]}] = true
				inside = true
			}
		}
	}
	if inside && s.find() {
		return true
	}
	for _, i := range []int{place, place - 1} {
		key := wrongBit{i, s.bits[i]}
		s.wrong[key] = true
		if s.find() {
			return true
		}
		delete(s.wrong, key)
	}
	return false
}

// first is the place where the adder that was found begins.
func (s *adderSearch) first() int {
	i := 0
	for i < len(s.bits) && s.bits[i].v == False { // the outputs stand for themselves
		i++
	}
	return i
}

// at chooses the bits from place i on, to which a carry comes; begun says that there is
// an adder below.
func (s *adderSearch) at(i int, carry signature, begun bool) bool {
	if i == len(s.outputs) {
		return true
	}
	if s.steps++; s.steps > adderSteps {
		return false
	}
	o := s.of(s.outputs[i])
	want := o.xor(carry)
	plain, flip := want.plain()
	try := func(u, v Lit) bool {
		b := addedBit{u, v}
		if s.wrong[wrongBit{i, b}] {
			return false
		}
		s.bits[i] = b
		before := s.used[uint32(u>>1)]
		s.used[uint32(u>>1)] = true
		found := s.at(i+1, s.of(u).maj(s.of(v), carry), begun || v != False)
		s.used[uint32(u>>1)] = before
		return found
	}
	if plain == (signature{}) && carry != (signature{}) && try(MakeLit(0, flip), False) {
		return true
	}
	pairs := s.pairs[plain]
	if i < s.start {
		pairs = nil
	}
	// A pair with a literal that no pattern moves is likely a bit and the carry to it:
	// it comes last.
	pair := func(still bool) bool {
		for _, p := range pairs {
			if (s.still(p.u) || s.still(p.v)) != still {
				continue
			}
			// u ^ v may be the complement of what is wanted, and both may be
			// complements.
			v := p.v
			if _, f := s.of(p.u).xor(s.of(p.v)).plain(); f != flip {
				v ^= 1
			}
			if try(p.u, v) || try(p.u^1, v^1) {
				return true
			}
		}
		return false
	}
	if pair(false) {
		return true
	}
	if !begun && carry == (signature{}) {
		return pair(true) || i >= s.start && s.withCarry(i) || try(s.outputs[i], False) || i >= s.start && try(s.outputs[i]^1, True)
	}
	for _, again := range []bool{false, true} { // a bit that is in the word already comes last
		for _, l := range s.nodes[plain] {
			if s.used[uint32(l>>1)] == again && (try(l.NotIf(flip), False) || try(l.NotIf(!flip), True)) {
				return true
			}
		}
	}
	return pair(true)
}

// withCarry begins the adder in place i with a carry into it: three literals of which
// two are fanins of one gate.
func (s *adderSearch) withCarry(i int) bool {
	o := s.of(s.outputs[i])
	for _, in := range s.live {
		if Lit(in) == s.outputs[i]>>1 {
			continue
		}
		c := s.of(Lit(in) << 1)
		plain, flip := o.xor(c).plain()
		for _, p := range s.pairs[plain] {
			if p.u>>1 == Lit(in) || p.v>>1 == Lit(in) || s.still(p.u) || s.still(p.v) {
				continue
			}
			v := p.v
			if _, f := s.of(p.u).xor(s.of(p.v)).plain(); f != flip {
				v ^= 1
			}
			for k := range 4 {
				// Complements of two of three, so that their parity stays.
				x, y, z := p.u^Lit(k&1), v^Lit(k&1^k>>1), Lit(in)<<1^Lit(k>>1)
				b := addedBit{x, y}
				if s.wrong[wrongBit{i, b}] {
					continue
				}
				s.bits[i], s.in = b, z
				if s.at(i+1, s.of(x).maj(s.of(y), s.of(z)), true) {
					return true
				}
			}
		}
	}
	s.in = False
	return false
}

// still reports whether a literal has one value in all patterns.
func (s *adderSearch) still(l Lit) bool {
	sig, _ := s.of(l).plain()
	return sig == signature{}
}

// proved reports whether the outputs are those of a chain of full adders on the words
// that were found, for all values of a cut: the words or, since parities are regrouped
// across them, so many levels of parities below them, or the inputs, since words do not take
// all values. If not, wrong is the lowest place where they are known to differ.
func (s *adderSearch) proved(ctx context.Context, budget *int64, depth int) (ok bool, wrong int, err error) {
	from := s.first()
	words := []Lit{s.in}
	for _, b := range s.bits[from:] {
		words = append(words, b.u, b.v)
	}
	cut := map[uint32]bool{}
	for _, l := range words {
		if depth < fromInputs {
			s.cut(uint32(l>>1), depth, cut)
		}
	}
	live := s.g.cone(append(append([]Lit(nil), words...), s.outputs[from:]...), cut)
	given, chain := New("given"), New("chain")
	var lit [2][]Lit
	for k, h := range []*Graph{given, chain} {
		lit[k] = make([]Lit, len(s.g.nodes))
		for id := range s.g.nodes {
			if live[id] && id > 0 && (id < s.g.FirstGate() || cut[uint32(id)]) {
				lit[k][id] = h.AddInput("")
			}
		}
		for id := s.g.FirstGate(); id < len(s.g.nodes); id++ {
			if live[id] && !cut[uint32(id)] {
				lit[k][id] = h.copyGate(s.g.nodes[id], lit[k])
			}
		}
	}
	carry := lit[1][s.in>>1] ^ s.in&1
	for i, b := range s.bits[from:] {
		o := s.outputs[from+i]
		given.AddOutput("", lit[0][o>>1]^o&1)
		u, v := lit[1][b.u>>1]^b.u&1, lit[1][b.v>>1]^b.v&1
		chain.AddOutput("", chain.Xor(u, v, carry))
		carry = chain.Maj(u, v, carry)
	}
	e, err := equivalent(ctx, given.Sweep(), chain.Sweep(), EquivalenceOptions{Work: *budget, Conflicts: 1000})
	*budget -= e.Stats.Work
	if e.Witness != nil {
		wrong = from + e.Witness.Output
	}
	return e.Verdict == Equal, wrong, err
}

// cut adds a node to a cut, or the nodes so many levels of parities below it.
func (s *adderSearch) cut(id uint32, depth int, cut map[uint32]bool) {
	if depth == 0 || int(id) < s.g.FirstGate() || s.g.Kind(int(id)) != Xor {
		cut[id] = true
		return
	}
	for _, l := range s.g.nodes[id] {
		s.cut(uint32(l>>1), depth-1, cut)
	}
}
