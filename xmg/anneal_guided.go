package xmg

import "math/bits"

// guidedSearch searches a circuit of too many inputs for all patterns: it takes
// some patterns for all, makes a batch of changes, and has SAT prove the result.
// If it is not equal, the pattern that shows it joins the others and the batch
// is undone; so the search learns which patterns matter, and batches grow.
//
// (Lee, Riener, Mishchenko, Brayton, De Micheli, "A simulation-guided paradigm
// for logic synthesis and verification", IEEE TCAD 41(8), 2022.)
type guidedSearch struct {
	*annealer
	w, proved, best resubWindow
	graph           *Graph // of proved
	patterns        []uint64
	kept            int // words that no witness takes
	next            int // pattern that the next witness takes
	batch           int
}

const (
	// guidedWords are the words of patterns. The first keptWords are random
	// and stay; witnesses take the others in turn.
	guidedWords = 64
	keptWords   = 8
	maxBatch    = 512
	// proofConflicts and proofWork bound a proof.
	proofConflicts = 1000
	proofWork      = 20_000_000
	// proofCost is what a unit of work of a proof is in units of the search.
	proofCost = 1
	// changelessWork is the work for a gate after which a circuit that no change was
	// found of, not even one that gains nothing, is left alone.
	changelessWork = 40_000
)

// reset prepares for a circuit of some inputs.
func (s *guidedSearch) reset(inputs int) {
	s.patterns = resize(s.patterns, inputs*guidedWords)
	for i := range s.patterns {
		s.patterns[i] = s.randomWord(i % guidedWords)
	}
	s.kept = keptWords
	s.next = 64 * s.kept
	s.batch = 4
}

// run makes w, a window without values, smaller.
func (s *guidedSearch) run(w *resubWindow, slack int, work, idle int64) {
	s.proved.copyFrom(w)
	s.best.copyFrom(w)
	s.graph = w.plain()
	a := &s.local
	work += a.s.work
	last := a.s.work
	if s.opt.wide {
		s.walk()
	}
	for a.s.work < min(work, last+idle) && s.proved.gates() > 0 && !a.ended() {
		s.load()
		made := 0
		stop := a.s.work + 200_000_000
		none := a.s.work + changelessWork*int64(s.w.gates())
		for made < s.batch && a.s.work < min(work, stop) && s.w.gates() > 0 && !a.ended() && (made > 0 || a.s.work < none) {
			if a.step(&s.w, s.best.gates()+slack) {
				made++
				if s.w.gates() < s.best.gates() {
					break
				}
			}
		}
		if made == 0 {
			break
		}
		if !s.prove() {
			s.batch = max(1, s.batch/2)
			continue
		}
		s.batch = min(maxBatch, s.batch+1+s.batch/4)
		if s.proved.gates() <= s.best.gates() {
			if s.proved.gates() < s.best.gates() {
				last = a.s.work
			}
			s.best.copyFrom(&s.proved)
		}
	}
	w.copyFrom(&s.best)
}

// walk takes patterns in which one input differs from all others where most of the
// patterns there are leave many gates constant, as in wide ANDs.
func (s *guidedSearch) walk() {
	s.load()
	w := &s.w
	constant := 0
	for id := w.first(); id < len(w.nodes); id++ {
		row, changes := w.row(id), false
		for _, x := range row {
			changes = changes || x != row[0] || x != 0 && x != ^uint64(0)
		}
		if !changes {
			constant++
		}
	}
	if constant < w.gates()/32+4 {
		return
	}
	in := make([]uint64, w.inputs)
	words := min((w.inputs+31)/32, guidedWords/2)
	for k := range words {
		walkingWord(in, k, words)
		for i, x := range in {
			s.patterns[i*guidedWords+s.kept+k] = x
		}
	}
	s.kept += words
	s.next = 64 * s.kept
}

// randomWord returns values of an input for word k: of several densities, since
// few circuits show all they do at random.
func (s *guidedSearch) randomWord(k int) uint64 {
	x := s.rng.Uint64()
	switch k % 4 {
	case 1:
		x &= s.rng.Uint64() & s.rng.Uint64()
	case 2:
		x |= s.rng.Uint64() | s.rng.Uint64()
	case 3:
		x &= s.rng.Uint64() & s.rng.Uint64() & s.rng.Uint64() & s.rng.Uint64()
	}
	return x
}

// load makes w what is proved, with values.
func (s *guidedSearch) load() {
	p := &s.proved
	w := &s.w
	w.copyFrom(p)
	w.words = guidedWords
	w.val = resize(w.val, len(w.nodes)*w.words)
	clear(w.val[:w.words])
	copy(w.val[w.words:], s.patterns[:w.inputs*guidedWords])
	w.simulate()
	s.local.s.work += int64(len(w.nodes) * guidedWords / 2)
}

// prove makes w proved if it equals what was; if not, it learns from that.
func (s *guidedSearch) prove() bool {
	g := s.w.plain()
	effort := defaultEffort
	effort.noWalk = !s.opt.wide // other circuits have few gates that need them
	e, err := Equivalent(s.local.ctx, s.graph, g, EquivalenceOptions{Conflicts: proofConflicts, Work: proofWork, effort: effort})
	s.local.s.work += e.Stats.Work * proofCost
	if err != nil {
		return false
	}
	switch e.Verdict {
	case Equal:
		s.graph = g
		w := &s.proved
		w.copyFrom(&s.w)
		w.words, w.val = 0, w.val[:0]
		return true
	case Different:
		s.learn(g, e.Witness.Inputs)
	}
	return false
}

// learn adds the witness, and patterns near it that are witnesses, too.
func (s *guidedSearch) learn(g *Graph, witness []bool) {
	in := make([]uint64, len(witness))
	for i, v := range witness {
		if v {
			in[i] = ^uint64(0)
		}
	}
	for b := 1; b < 64; b++ {
		for range 1 + s.rng.IntN(3) {
			in[s.rng.IntN(len(in))] ^= 1 << b
		}
	}
	x, y := s.graph.Simulate(in, 1), g.Simulate(in, 1)
	differ := uint64(0)
	for i := range x {
		differ |= x[i] ^ y[i]
	}
	const most = 8
	for range most {
		if differ == 0 {
			return
		}
		b := bits.TrailingZeros64(differ)
		differ &= differ - 1
		word, bit := s.next/64, uint64(1)<<(s.next%64)
		for i, v := range in {
			p := &s.patterns[i*guidedWords+word]
			*p &^= bit
			if v>>b&1 != 0 {
				*p |= bit
			}
		}
		if s.next++; s.next == 64*guidedWords {
			s.next = 64 * s.kept
		}
	}
}
