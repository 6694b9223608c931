package xmg

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/xmg/internal/sat"
)

// fraig merges the nodes of a graph that are equal up to complement: it builds
// the graph anew, gate by gate, and proves each new gate equal to an earlier one
// where simulation suggests it (Mishchenko, Chatterjee, Jiang, Brayton, "FRAIGs:
// a unifying representation for logic synthesis and verification", 2005). Since
// gates are built on merged ones, what is deep in the graph is proved near its
// own gates: first by truth tables over small cuts, then by SAT.
//
// A proof that fails gives input values that tell the two nodes apart; these and
// values near them refine the classes of candidates at once.
type fraig struct {
	ctx      context.Context
	progress func(Progress)
	g        *Graph // what is swept
	out      *Graph // what is built
	lit      []Lit  // by node of g: what it is in out
	own      []bool // by node of g: it is a node of out that was not merged
	alias    []Lit  // by node of out: what it was merged with, or itself
	classes  *classes
	exact    bool // equal in simulation is equal: all patterns were simulated
	head     []uint32
	tail     []uint32
	next     []uint32 // by node of g: the next one of its class in out; 0 = none
	window   window
	prover   satProver
	effort   sweepEffort
	random   splitMix
	value    []uint64                  // by node of g: the last patterns simulated
	seen     func(value []uint64) bool // looks at patterns; true ends the sweep
	ended    bool
	patterns int64 // simulated
	maxWork  int64 // 0 = none

	byTable, bySAT, refuted, givenUp int
}

// sweepEffort bounds what a sweep does.
type sweepEffort struct {
	conflicts   int64 // of a SAT query
	noSAT       bool
	candidates  int // earlier nodes that a node is compared with
	exactInputs int // up to so many inputs all patterns are simulated
	words       int // of 64 random patterns that are simulated first
	windows     []windowSize
}

var defaultEffort = sweepEffort{candidates: 3, exactInputs: 12, words: 128, windows: windowSizes[:]}

// newFraig prepares the sweep of g.
func newFraig(ctx context.Context, g *Graph, effort sweepEffort) *fraig {
	s := &fraig{ctx: ctx, g: g, effort: effort, random: 1}
	s.value = make([]uint64, len(g.nodes))
	s.lit = make([]Lit, len(g.nodes))
	s.own = make([]bool, len(g.nodes))
	s.next = make([]uint32, len(g.nodes))
	s.out = g.emptyCopy(g.NumGates())
	s.window.g, s.window.sizes = s.out, effort.windows
	s.prover.g = s.out
	s.prover.stop = func() bool { return s.stopped() != nil }
	for id := range g.FirstGate() {
		s.lit[id] = Lit(id) << 1
		s.own[id] = true
		s.added(id)
	}
	return s
}

func (s *fraig) added(id int) {
	s.alias = append(s.alias, Lit(id)<<1)
	s.window.added(id)
	s.prover.added()
}

// simulateFirst makes the classes from random patterns, or from all.
func (s *fraig) simulateFirst() error {
	inputs := s.g.NumInputs()
	words := s.effort.words
	if len(s.g.nodes) > 1<<17 {
		words = min(words, 16)
	}
	if inputs <= s.effort.exactInputs {
		s.exact = true
		words = 1
		if inputs > 6 {
			words = 1 << (inputs - 6)
		}
	}
	in := s.value[1:][:inputs]
	for k := range words {
		if s.exact {
			for i := range in {
				if i < 6 {
					in[i] = tableInputs[i]
				} else {
					in[i] = -(uint64(k) >> (i - 6) & 1)
				}
			}
		} else {
			s.pattern(k, in)
		}
		if k%16 == 0 {
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
		s.simulate()
		if s.ended {
			return nil
		}
		if k == 0 {
			s.classes = newClasses(s.value)
		}
		s.classes.refine(s.value)
	}
	s.relink(0)
	return nil
}

// pattern makes 64 input patterns: all 0 and all 1 and then random ones, of some
// words sparse, of some dense.
func (s *fraig) pattern(k int, in []uint64) {
	for i := range in {
		x := uint64(0)
		switch k % 8 {
		case 1, 5:
			x = s.random.sparse(3)
		case 2, 6:
			x = ^s.random.sparse(3)
		case 3:
			x = s.random.sparse(6)
		default:
			x = s.random.next()
		}
		if k == 0 {
			x = x&^3 | 2
		}
		in[i] = x
	}
}

// simulate computes value from the inputs in it.
func (s *fraig) simulate() {
	val := s.value
	for id := s.g.FirstGate(); id < len(val); id++ {
		f := s.g.nodes[id]
		a, b, c := val[f[0]>>1], val[f[1]>>1], val[f[2]>>1]
		if f[0] > f[1] {
			val[id] = a ^ b ^ c
			continue
		}
		a ^= -uint64(f[0] & 1)
		b ^= -uint64(f[1] & 1)
		c ^= -uint64(f[2] & 1)
		val[id] = a&b | (a|b)&c
	}
	s.patterns += 64
	if s.seen != nil && s.seen(val) {
		s.ended = true
	}
}

// relink lists the members of the classes that are in out: those before a node.
func (s *fraig) relink(before int) {
	s.head = append(s.head[:0], make([]uint32, s.classes.count+1)...)
	s.tail = append(s.tail[:0], make([]uint32, s.classes.count+1)...)
	for _, n := range s.classes.members {
		if int(n) >= max(before, s.g.FirstGate()) {
			break
		}
		if s.own[n] {
			s.link(n)
		}
	}
}

// link appends a node to the list of its class. Lists hold 1 + node.
func (s *fraig) link(n uint32) {
	c := s.classes.of[n]
	if c == 0 {
		return
	}
	s.next[n] = 0
	if s.head[c] == 0 {
		s.head[c] = n + 1
	} else {
		s.next[s.tail[c]-1] = n + 1
	}
	s.tail[c] = n + 1
}

// errWork is the end of the work allowed.
var errWork = errors.New("xmg: the work allowed is done")

// run builds out. On an error out is not complete.
func (s *fraig) run() error {
	if s.classes == nil {
		if err := s.simulateFirst(); err != nil || s.ended {
			return err
		}
	} else {
		s.relink(0)
	}
	for id := s.g.FirstGate(); id < len(s.g.nodes); id++ {
		if id%256 == 0 {
			if s.progress != nil {
				s.progress(Progress{"proving gates equal", id, len(s.g.nodes)})
			}
			if err := s.stopped(); err != nil {
				return err
			}
		}
		size := len(s.out.nodes)
		l := s.out.copyGate(s.g.nodes[id], s.lit)
		if l.Node() < size {
			s.lit[id] = s.alias[l.Node()] ^ l&1
			continue
		}
		s.added(l.Node())
		s.lit[id] = l
		if err := s.merge(id, l); err != nil || s.ended {
			return err
		}
	}
	for _, o := range s.g.outputs {
		s.out.AddOutput(o.Name, s.lit[o.Lit>>1]^o.Lit&1)
	}
	return nil
}

// merge looks for an earlier node that equals a new one.
func (s *fraig) merge(id int, l Lit) error {
	for tried := 0; tried < s.effort.candidates; {
		c := s.classes.of[id]
		if c == 0 {
			break
		}
		at := s.head[c]
		for range tried {
			if at != 0 {
				at = s.next[at-1]
			}
		}
		if at == 0 {
			break
		}
		r := int(at - 1)
		target := s.lit[r]
		if s.classes.complement[r] != s.classes.complement[id] {
			target ^= 1
		}
		switch s.prove(l, target, id) {
		case sat.Unsat:
			s.lit[id] = target
			s.alias[l.Node()] = target ^ l&1
			return nil
		case sat.Sat:
			if s.ended {
				return nil
			}
			if s.classes.same(Lit(id)<<1, MakeLit(r, s.classes.complement[r] != s.classes.complement[id])) {
				return fmt.Errorf("xmg: internal error: a model does not tell nodes %d and %d apart", id, r)
			}
			tried = 0
		default:
			if err := s.stopped(); err != nil {
				return err
			}
			s.givenUp++
			tried++
		}
	}
	s.own[id] = true
	s.link(uint32(id))
	return nil
}

// stopped tells why the sweep must stop, if it must.
func (s *fraig) stopped() error {
	if s.maxWork > 0 && s.work() > s.maxWork {
		return errWork
	}
	return s.ctx.Err()
}

// work is what was done so far, in values of gates computed.
func (s *fraig) work() int64 {
	return s.patterns/64*int64(len(s.g.nodes)) + s.window.work + s.prover.work()
}

// prove decides whether two literals of out are equal; where they are not, it
// refines the classes.
func (s *fraig) prove(a, b Lit, id int) sat.Status {
	if s.exact {
		return sat.Unsat
	}
	in := s.value[1:][:s.g.NumInputs()]
	equal, different, pattern := s.window.equal(a, b)
	switch {
	case equal:
		s.byTable++
		return sat.Unsat
	case different:
		for i := range in {
			in[i] = s.random.next()
		}
		for i, l := range s.window.leaves {
			s.near(&in[l-1], pattern>>i&1 != 0)
		}
	case s.effort.noSAT:
		return sat.Unknown
	default:
		st := s.prover.differ(a, b, s.effort.conflicts)
		if st == sat.Unsat {
			s.bySAT++
		}
		if st != sat.Sat {
			return st
		}
		for i := range in {
			v, known := s.prover.value(i)
			if !known {
				in[i] = s.random.next()
				continue
			}
			s.near(&in[i], v)
		}
	}
	s.refuted++
	s.simulate()
	if !s.ended && s.classes.refine(s.value) {
		s.relink(id)
	}
	return sat.Sat
}

// near sets a word to a value in pattern 0, to mostly that in patterns 1 to 31,
// and to the other in one of eight of the rest.
func (s *fraig) near(word *uint64, value bool) {
	*word = (s.random.sparse(3)&^(1<<32-1) | s.random.sparse(5)&(1<<32-1)) &^ 1
	if value {
		*word = ^*word
	}
}

// reduced returns the part of out that some outputs depend on, and its classes.
func (s *fraig) reduced(outputs []Output) (*Graph, *classes) {
	whole := *s.out
	whole.outputs = outputs
	live := whole.liveGates()
	g := s.out.emptyCopy(s.out.NumGates())
	lit := make([]Lit, len(s.out.nodes))
	for id := range lit {
		if id < g.FirstGate() {
			lit[id] = Lit(id) << 1
		} else if live[id-g.FirstGate()] {
			lit[id] = g.copyGate(s.out.nodes[id], lit)
		}
	}
	for _, o := range outputs {
		g.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	c := &classes{of: make([]int32, len(g.nodes)), complement: make([]bool, len(g.nodes))}
	for _, n := range s.classes.members {
		if !s.own[n] {
			continue
		}
		l := s.lit[n]
		if l = lit[l>>1] ^ l&1; l == 0 && n != 0 {
			continue // not needed
		}
		c.of[l>>1] = s.classes.of[n]
		c.complement[l>>1] = s.classes.complement[n] != l.Complemented()
		c.members = append(c.members, uint32(l>>1))
	}
	slices.Sort(c.members)
	// Number the classes that are left: these values split none.
	value := make([]uint64, len(g.nodes))
	for _, n := range c.members {
		if c.complement[n] {
			value[n] = ^uint64(0)
		}
	}
	c.refine(value)
	return g, c
}

// splitMix is the SplitMix64 generator.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9E3779B97F4A7C15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// sparse returns a word of which one bit in 2^n is set.
func (s *splitMix) sparse(n int) uint64 {
	x := s.next()
	for range n - 1 {
		x &= s.next()
	}
	return x
}
