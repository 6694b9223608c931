package xmg

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bitsched/bitsched/xmg/internal/sat"
)

// fraig merges the nodes of a graph that are equal: it builds the graph anew,
// gate by gate, and proves each new gate equal to an earlier one where simulation
// suggests it (Mishchenko, Chatterjee, Jiang, Brayton, "FRAIGs: a unifying
// representation for logic synthesis and verification", 2005). Since gates are
// built on merged ones, what is deep in the graph is proved near its own gates:
// first by truth tables over small cuts, then by SAT.
//
// A proof that fails gives input values that tell the two nodes apart; these and
// values near them refine the classes of candidates, at once in graphs that are
// not large.
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
	rest     bool  // when it must stop, it takes over the rest as it is
	// Nodes before first are of one circuit, and others are compared with them, not they
	// with each other; 0 = all with all.
	first int
	alike *alike

	known     []uint8  // by input: 2 | its value in a pattern found, or 0 if that does not matter
	pending   [][2]int // nodes that the patterns told apart that are not simulated yet
	simulated int64    // work when patterns were last simulated

	byCut, byTable, bySAT, refuted, givenUp int
}

// sweepEffort bounds what a sweep does.
type sweepEffort struct {
	conflicts   int64 // of a SAT query
	noSAT       bool
	noWalk      bool  // no patterns that walk, see walk
	cones       []int // gates of the cones that SAT looks at, one after the other
	candidates  int   // earlier nodes that a node is compared with
	exactInputs int   // up to so many inputs all patterns are simulated
	words       int   // of 64 random patterns that are simulated first
	windows     []windowSize
	eager       int // up to so many nodes every pattern found is simulated at once
}

var defaultEffort = sweepEffort{candidates: 3, exactInputs: 12, words: 128, windows: windowSizes[:], cones: []int{300, math.MaxInt}, eager: largeGraph}

// largeGraph is the number of nodes beyond which a sweep must not take time for
// all of them for each pair that it looks at.
const largeGraph = 1 << 17

// conflictGates is how many gates of cones are looked at for each conflict that a query may run into.
const conflictGates = 200

// newFraig prepares the sweep of g.
func newFraig(ctx context.Context, g *Graph, effort sweepEffort) *fraig {
	s := &fraig{ctx: ctx, g: g, effort: effort, random: 1}
	s.value = make([]uint64, len(g.nodes))
	s.lit = make([]Lit, len(g.nodes))
	s.own = make([]bool, len(g.nodes))
	s.known = make([]uint8, g.NumInputs())
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
	if len(s.g.nodes) > largeGraph {
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
			s.classes = newClasses(len(s.g.nodes))
		}
		s.classes.refine(s.value)
	}
	if !s.exact && !s.effort.noWalk {
		if err := s.walk(in); err != nil || s.ended {
			return err
		}
	}
	s.relink(0)
	return nil
}

// walkWork bounds the words of patterns that walk, times the nodes.
const walkWork = 100_000_000

// walk goes on where many nodes still look alike, as in wide ANDs and ORs, which are
// hardly ever anything but constant: one input differs from all others, and each in
// turn, or some in even distances where there are too many.
func (s *fraig) walk(in []uint64) error {
	if len(s.classes.members) <= len(s.g.nodes)/32+16 {
		return nil
	}
	words := min((len(in)+31)/32, walkWork/len(s.g.nodes))
	for k := range words {
		if len(s.classes.members) == 0 {
			return nil
		}
		if err := s.ctx.Err(); err != nil {
			return err
		}
		walkingWord(in, k, words)
		s.simulate()
		if s.ended {
			return nil
		}
		s.classes.refine(s.value)
	}
	return nil
}

// walkingWord makes word k of so many of patterns in which one input differs from all
// others: 0 where they are 1, and then 1 where they are 0.
func walkingWord(in []uint64, k, words int) {
	const low = 1<<32 - 1
	for i := range in {
		in[i] = low
	}
	for b := range 32 {
		i := 32*k + b
		if 32*words < len(in) {
			i = int(int64(i) * int64(len(in)) / int64(32*words))
		}
		if i < len(in) {
			in[i] ^= 1<<b | 1<<(b+32)
		}
	}
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
		if id == s.first {
			s.alike = newAlike(s.out)
		}
		if id%256 == 0 {
			if s.progress != nil {
				s.progress(Progress{"proving gates equal", id, len(s.g.nodes)})
			}
			if err := s.stopped(); err != nil {
				if !s.rest {
					return err
				}
				clear(s.classes.of) // no candidates from here on
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
		switch {
		case id < s.first:
			s.keep(id)
			continue
		case s.alike != nil:
			if n, ok := s.alike.find(l.Node()); ok {
				s.byCut++
				s.lit[id] = Lit(n) << 1
				s.alias[l.Node()] = s.lit[id]
				continue
			}
		}
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
		st, err := s.prove(l, target, id, r)
		if err != nil {
			return err
		}
		switch st {
		case sat.Unsat:
			s.lit[id] = target
			s.alias[l.Node()] = target ^ l&1
			return nil
		case sat.Sat:
			if s.ended {
				return nil
			}
			tried = 0
		default:
			if err := s.stopped(); err != nil {
				if !s.rest {
					return err
				}
				tried = s.effort.candidates
			}
			s.givenUp++
			tried++
		}
	}
	s.keep(id)
	return nil
}

// keep leaves a node as one that others are compared with.
func (s *fraig) keep(id int) {
	s.own[id] = true
	s.link(uint32(id))
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
	work := s.patterns/64*int64(len(s.g.nodes)) + s.window.work + s.prover.work()
	if s.alike != nil {
		work += s.alike.work
	}
	return work
}

// prove decides whether two literals of out are equal, the one of node id of g
// and that of r before it. Where they are not, it refines the classes.
func (s *fraig) prove(a, b Lit, id, r int) (sat.Status, error) {
	if s.exact {
		return sat.Unsat, nil
	}
	equal, different, pattern := s.window.equal(a, b)
	switch {
	case equal:
		s.byTable++
		return sat.Unsat, nil
	case different:
		clear(s.known)
		for i, l := range s.window.leaves {
			s.known[l-1] = 2 | uint8(pattern>>i&1)
		}
		return s.refute(id, r)
	case s.effort.noSAT:
		return sat.Unknown, nil
	}
	st, whole := sat.Sat, false
	for _, gates := range s.effort.cones {
		// With few conflicts, to load a deep cone would be most of the work, and seldom a proof.
		if c := s.effort.conflicts; c > 0 && c < math.MaxInt/conflictGates {
			gates = min(gates, int(c)*conflictGates)
		}
		if st, whole = s.prover.differ(a, b, s.effort.conflicts, gates); st != sat.Sat || whole {
			break
		}
	}
	switch {
	case st == sat.Unsat:
		s.bySAT++
		return st, nil
	case st == sat.Unknown || !whole:
		return sat.Unknown, nil
	}
	for i := range s.known {
		s.known[i] = 0
		if v, ok := s.prover.value(i); ok {
			s.known[i] = 2
			if v {
				s.known[i] = 3
			}
		}
	}
	return s.refute(id, r)
}

// refute takes up the pattern in known, which tells two nodes apart, and some
// patterns near it. It is simulated at once where that takes no more time than
// the proofs since the last simulation; else it waits, the answer is Unknown, and
// the nodes stay apart without further search.
func (s *fraig) refute(id, r int) (sat.Status, error) {
	s.refuted++
	in := s.value[1:][:s.g.NumInputs()]
	due := len(s.g.nodes) < s.effort.eager || s.work()-s.simulated >= int64(len(s.g.nodes))/2
	if len(s.pending) == 0 && !due {
		clear(in)
	}
	// The first pattern of a field is the one found; the field is the whole word
	// if nothing waits.
	shift, field := len(s.pending)*64/maxPending, uint64(1)<<(64/maxPending)-1
	if len(s.pending) == 0 && due {
		shift, field = 0, ^uint64(0)
	}
	for i := range in {
		x := s.random.next()
		if s.known[i] != 0 {
			x = s.near(s.known[i] == 3)
		}
		if shift == 0 && field == ^uint64(0) {
			in[i] = x
		} else {
			in[i] |= x & field << shift
		}
	}
	s.pending = append(s.pending, [2]int{r, id})
	if !due && len(s.pending) < maxPending {
		return sat.Unknown, nil
	}
	s.simulate()
	s.simulated = s.work()
	if !s.ended && s.classes.refine(s.value) {
		s.relink(id)
	}
	for _, p := range s.pending {
		if s.classes.of[p[0]] != 0 && s.classes.of[p[0]] == s.classes.of[p[1]] && !s.ended {
			return 0, fmt.Errorf("xmg: internal error: a model does not tell nodes %d and %d apart", p[0], p[1])
		}
	}
	s.pending = s.pending[:0]
	return sat.Sat, nil
}

// maxPending is how many patterns wait at most.
const maxPending = 8

// near returns a word that has a value in pattern 0, mostly that in patterns 1 to
// 31, and the other in one of eight of the rest.
func (s *fraig) near(value bool) uint64 {
	x := (s.random.sparse(3)&^(1<<32-1) | s.random.sparse(5)&(1<<32-1)) &^ 0x0101010101010101
	if value {
		x = ^x
	}
	return x
}

// reduced returns the part of out that some outputs depend on, its classes, and how many
// nodes of the first circuit there are.
func (s *fraig) reduced(outputs []Output) (*Graph, *classes, int) {
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
	c := &classes{of: make([]int32, len(g.nodes))}
	for _, n := range s.classes.members {
		if !s.own[n] {
			continue
		}
		l := s.lit[n]
		if l = lit[l>>1] ^ l&1; l == 0 && n != 0 {
			continue // not needed
		}
		c.of[l>>1] = s.classes.of[n]
		c.members = append(c.members, uint32(l>>1))
	}
	slices.Sort(c.members)
	c.refine(make([]uint64, len(g.nodes))) // splits none, but numbers those that are left
	return g, c, whole.liveBefore(s.first)
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
