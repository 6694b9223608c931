package xmg

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/xmg/internal/sat"
)

// CareOptions are how far [ResubstituteCares] looks. The zero value is the default.
type CareOptions struct {
	// Rounds is how often all gates are looked at, at most; 0 means once. Rounds that gain
	// too little for their work are the last.
	Rounds int
	// Work bounds what is done in all, in units of about 10 ns; 0 means no bound.
	Work int64
	// Seed is of the random patterns and choices.
	Seed uint64
	// Progress is called now and then from the calling goroutine; may be nil.
	Progress func(Progress)
}

// ResubstituteCares makes the graph smaller: it replaces gates by edges, or by few gates
// over others, that are equal wherever an output of the gate's surroundings can tell, for
// all inputs of the graph and not only for all values at the border of a window, as
// [Resubstitute] does. Patterns of the inputs suggest what to try, SAT proves it, and
// what refutes a proof is a pattern more (Lee, Riener, Mishchenko, Brayton, De Micheli,
// "A simulation-guided paradigm for logic synthesis and verification", TCAD 2021; the
// surroundings are those of Mishchenko, Brayton, Jiang, Jang, "Scalable don't-care-based
// logic optimization and resynthesis", TRETS 2011). A wire that is stuck and cannot be
// seen to be is the simplest of cases.
//
// The result is never larger than g and computes the same; it depends on g and the
// options only. A gate takes 0.1 to 4 ms a round and some 1.5 kB. When the context
// ends, the result is what has been found so far, and the error is nil.
func ResubstituteCares(ctx context.Context, g *Graph, opt CareOptions) (*Graph, error) {
	g = g.Sweep()
	c := &carer{ctx: ctx, opt: opt, rng: rand.New(rand.NewPCG(opt.Seed, 0x51afd7ed558ccd))}
	c.search.rng = c.rng
	c.solver.Stop = func() bool { return ctx.Err() != nil }
	credit := careCredit * int64(g.NumGates())
	vain := 0
	for range max(1, opt.Rounds) {
		before, start := g.NumGates(), c.done()
		g = c.round(g)
		if ctx.Err() != nil || c.spent() {
			break
		}
		gain := before - g.NumGates()
		// What rounds gain pays for the next ones, up to one that gains nothing.
		credit = min(credit+careWorth*int64(gain), careCredit*int64(g.NumGates())) - (c.done() - start)
		if credit < 0 && gain < before/20 {
			break
		}
		if vain += before; gain > 0 {
			vain = 0
		}
		if c.ties && vain >= careVain {
			break
		}
		// Changes that save nothing make way for others, and take a proof each: they wait
		// until little is left of those that save.
		c.ties = gain < before/20
	}
	return g, nil
}

const (
	careWords    = 128 // of values for each node
	careSpread   = 16  // users of a node that are looked at
	careLevels   = 8   // of gates above one that show what it is
	careAbove    = 100 // gates above it
	careDivisors = 120
	careCone     = 600 // gates below all these in a first proof
	careConeMore = 5000
	careTries    = 12 // candidates for a gate
	careTieTries = 4  // and so many of these that save nothing
	careDies     = 24 // gates that are looked at as dying with it
	careConflict = 100
	careVain     = 4 * vainGates
	careCredit   = 300_000    // work for each gate that may be in vain
	careWorth    = 10_000_000 // work that a gate saved is worth
)

// carer is the running pass.
type carer struct {
	ctx    context.Context
	opt    CareOptions
	rng    *rand.Rand
	n      *careNet
	solver sat.Solver
	work   int64
	ties   bool     // changes that save nothing are made too
	inputs []uint64 // patterns of earlier rounds: words for each input
	search resubSearch
	w      resubWindow

	node  uint32
	mark  []uint32 // by node: the last gate that it was above of
	stamp uint32
	above []uint32 // the gates above, by rank
	place []int32  // by node: where in above
	ends  []uint32 // those, or the node, that others or outputs see
	flip  []uint64 // by place in above: values if the node is complemented
	alter []uint64 // the same for one word
	cares []uint64 // by word: where that shows

	seen     []uint32 // by node: the last gate that it was a divisor or dying for
	local    []Lit    // by node: in the window of the search
	divisors []uint32
	dying    []uint32
	nodeOf   []uint32 // by node of the window

	vars   []int32 // by node: 1 + variable, if varsOf
	varsOf []uint32
	loaded []uint32 // by node: the last gate that its clauses were loaded for
	queue  []uint32
	decide []int32
	twin   []sat.Lit // by place in above: the variable if the node is complemented
	cone   int       // gates that are loaded
	whole  bool
	yes    sat.Lit
}

func (c *carer) spent() bool { return c.opt.Work > 0 && c.done() >= c.opt.Work }

// done is the work so far, in units of about 10 ns.
func (c *carer) done() int64 { return 3*c.work + c.search.work/2 + 20*c.solver.Propagations() }

// round goes over all gates once.
func (c *carer) round(g *Graph) *Graph {
	order := make([]uint32, g.NumGates())
	for i := range order {
		order[i] = uint32(g.FirstGate() + i)
	}
	// What has a lower rank may replace a gate: by depth that is most of the graph, and by
	// the distance from the outputs another part.
	levels := g.Levels()
	if c.rng.IntN(2) == 0 {
		levels = g.heights()
	}
	tie := make([]uint32, g.NumNodes())
	for i := range tie {
		tie[i] = c.rng.Uint32()
	}
	slices.SortFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(levels[a], levels[b]), cmp.Compare(tie[a], tie[b]))
	})
	n := newCareNet(g, order, careWords)
	c.n = n
	c.patterns()
	nodes := g.NumNodes()
	c.mark, c.seen, c.varsOf, c.loaded = make([]uint32, nodes), make([]uint32, nodes), make([]uint32, nodes), make([]uint32, nodes)
	c.place, c.local, c.vars = make([]int32, nodes), make([]Lit, nodes), make([]int32, nodes)
	c.stamp = 0
	targets := slices.Clone(order)
	if c.rng.IntN(2) == 0 {
		slices.Reverse(targets)
	}
	for i, id := range targets {
		if c.opt.Progress != nil && i%64 == 0 {
			c.opt.Progress(Progress{"resubstitution with cares", i, len(targets)})
		}
		if c.ctx.Err() != nil || c.spent() {
			break
		}
		if !n.dead[id] {
			c.gate(id)
		}
	}
	c.inputs = c.inputs[:0]
	for i := range n.inputs {
		c.inputs = append(c.inputs, n.row(uint32(i+1))...)
	}
	if invariants.Enabled {
		n.checkValues()
	}
	return n.graph(g)
}

// heights are, for each gate, how much lower it is than the highest gate above it can be.
func (g *Graph) heights() []int32 {
	h := make([]int32, g.NumNodes())
	for id := len(g.nodes) - 1; id >= g.FirstGate(); id-- {
		for _, l := range g.nodes[id] {
			h[l>>1] = min(h[l>>1], h[id]-1)
		}
	}
	return h
}

// patterns sets the values: of patterns of the round before, or random ones.
func (c *carer) patterns() {
	n := c.n
	var random splitMix = splitMix(c.opt.Seed)
	for k := 0; k < careWords; k += careFresh {
		for j := range careFresh {
			col := n.fresh[j]
			for i := range n.inputs {
				switch {
				case len(c.inputs) > 0:
					col[i+1] = c.inputs[i*careWords+k+j]
				default:
					x := random.next()
					switch (k + j) % 8 {
					case 1, 5:
						x = random.sparse(3)
					case 2, 6:
						x = ^random.sparse(3)
					case 3:
						x = random.sparse(6)
					}
					col[i+1] = x
				}
			}
			n.simulate(col)
			n.added()
		}
	}
	c.work += int64(len(n.order) * careWords / 4)
}

// gate tries to replace a gate.
func (c *carer) gate(id uint32) {
	c.stamp++
	c.node = id
	c.surround()
	c.cares = resize(c.cares, c.n.words)
	c.flip = resize(c.flip, len(c.above)*c.n.words)
	c.observe(c.n.words, c.cares, c.flip, func(m uint32) []uint64 { return c.n.row(m) })
	c.collect()
	prepared := false
	worst := -1 // of what is accepted: gates more than before
	if c.ties {
		worst = 0
	}
	for try := range careTries {
		s := &c.search
		c.window()
		s.beginAt(&c.w, c.w.val[len(c.w.nodes)*c.w.words:][:c.w.words])
		s.stop = s.work + 4000
		p := &s.levels[0]
		s.edges(p)
		if s.freed > -worst && s.delta > 1-s.freed {
			s.majorities(p)
			s.parities(p)
			if s.delta > worst && s.freed > 1-worst {
				s.stop = s.work + 12000
				s.deeper(p, 2, 6)
				if s.freed > 2-worst && s.delta > worst {
					s.deeper(p, 3, 3)
				}
			}
		}
		if s.delta > worst || s.delta == 0 && try >= careTieTries {
			return
		}
		if !prepared {
			c.prepare()
			prepared = true
		}
		switch c.prove(&s.found) {
		case sat.Unsat:
			c.commit(&s.found)
			return
		case sat.Unknown:
			return
		}
	}
}

// surround finds the gates above the node, and which of them are seen from elsewhere.
func (c *carer) surround() {
	n := c.n
	c.above = c.above[:0]
	c.mark = resizeZero(c.mark, len(n.nodes))
	c.place = resize(c.place, len(n.nodes))
	c.mark[c.node] = c.stamp
	for from, level := -1, 0; level < careLevels; level++ {
		to := len(c.above)
		for ; from < to; from++ {
			id := c.node
			if from >= 0 {
				id = c.above[from]
			}
			if len(n.users[id]) > careSpread {
				continue
			}
			for _, u := range n.users[id] {
				if c.mark[u] != c.stamp && len(c.above) < careAbove {
					c.mark[u] = c.stamp
					c.above = append(c.above, u)
				}
			}
		}
	}
	slices.SortFunc(c.above, func(a, b uint32) int { return cmp.Or(cmp.Compare(n.rank[a], n.rank[b]), cmp.Compare(a, b)) })
	for i, id := range c.above {
		c.place[id] = int32(i)
	}
	c.ends = c.ends[:0]
	for i := -1; i < len(c.above); i++ {
		id := c.node
		if i >= 0 {
			id = c.above[i]
		}
		if n.outs[id] > 0 || slices.ContainsFunc(n.users[id], func(u uint32) bool { return c.mark[u] != c.stamp }) {
			c.ends = append(c.ends, id)
		}
	}
}

func resizeZero(s []uint32, n int) []uint32 {
	for len(s) < n {
		s = append(s, 0)
	}
	return s
}

// observe computes where a complemented node shows at the ends, for some words of values.
func (c *carer) observe(words int, cares, flip []uint64, value func(uint32) []uint64) {
	if c.ends[0] == c.node {
		for k := range cares {
			cares[k] = ^uint64(0)
		}
		return
	}
	clear(cares)
	var not [careWords]uint64
	for k, x := range value(c.node) {
		not[k] = ^x
	}
	in := func(l Lit) []uint64 {
		id := uint32(l >> 1)
		switch {
		case id == c.node:
			return not[:words]
		case c.mark[id] == c.stamp:
			return flip[int(c.place[id])*words:][:words]
		}
		return value(id)
	}
	for i, id := range c.above {
		f := &c.n.nodes[id]
		f.eval(flip[i*words:][:words], in(f.in[0]), in(f.in[1]), in(f.in[2]))
	}
	for _, id := range c.ends {
		old := value(id)
		for k, x := range flip[int(c.place[id])*words:][:words] {
			cares[k] |= x ^ old[k]
		}
	}
	c.work += int64(len(c.above) * (words + 8) / 8)
}

// collect finds what may replace the node: gates below it, operands of gates near above
// it, and what these and others make. What dies with the node comes in dying.
func (c *carer) collect() {
	n := c.n
	c.seen = resizeZero(c.seen, len(n.nodes))
	c.local = resize(c.local, len(n.nodes))
	c.divisors, c.dying = c.divisors[:0], c.dying[:0]
	c.seen[0] = c.stamp
	c.seen[c.node] = c.stamp
	c.die(c.node)
	slices.SortFunc(c.dying, func(a, b uint32) int { return cmp.Or(cmp.Compare(n.rank[a], n.rank[b]), cmp.Compare(a, b)) })
	take := func(id uint32) {
		if c.seen[id] != c.stamp && n.rank[id] < n.rank[c.node] && len(c.divisors) < careDivisors {
			c.seen[id] = c.stamp
			c.divisors = append(c.divisors, id)
		}
	}
	for _, id := range c.dying {
		for _, l := range n.nodes[id].in {
			take(uint32(l >> 1))
		}
	}
	for _, u := range n.users[c.node][:min(careSpread, len(n.users[c.node]))] {
		for _, l := range n.nodes[u].in {
			take(uint32(l >> 1))
		}
		for _, v := range n.users[u][:min(careSpread/4, len(n.users[u]))] {
			for _, l := range n.nodes[v].in {
				take(uint32(l >> 1))
			}
		}
	}
	for i := 0; i < len(c.divisors) && len(c.divisors) < careDivisors; i++ {
		id := c.divisors[i]
		if n.isGate(id) && len(c.divisors) < careDivisors*2/3 {
			for _, l := range n.nodes[id].in {
				take(uint32(l >> 1))
			}
		}
		users := n.users[id]
		from := 0
		if len(users) > careSpread {
			from = c.rng.IntN(len(users) - careSpread)
		}
		for _, u := range users[from:min(from+careSpread, len(users))] {
			if c.mark[u] != c.stamp {
				take(u)
			}
		}
	}
	c.work += int64(4 * len(c.divisors))
}

// die lists the gates that only the node needs, itself the last.
func (c *carer) die(id uint32) {
	n := c.n
	for _, l := range n.nodes[id].in {
		m := uint32(l >> 1)
		if n.refs[m] == 1 && n.isGate(m) && c.seen[m] != c.stamp && len(c.dying) < careDies {
			c.seen[m] = c.stamp
			c.die(m)
		}
	}
	c.dying = append(c.dying, id)
}

// window makes the window that the search knows: divisors as its inputs, and what dies.
// Values of the cares come last.
func (c *carer) window() {
	n, w := c.n, &c.w
	words := n.words + n.used
	w.reset(len(c.divisors), words)
	w.nodes = w.nodes[:1]
	c.nodeOf = append(c.nodeOf[:0], 0)
	w.refs = append(w.refs[:0], n.refs[0])
	c.local[0] = 0
	w.val = resize(w.val, (2+len(c.divisors)+len(c.dying))*words)
	clear(w.val[:words])
	add := func(id uint32, f gate) {
		at := len(w.nodes)
		c.local[id] = Lit(at) << 1
		row := w.val[at*words:][:words]
		copy(row, n.row(id))
		for k, col := range n.fresh[:n.used] {
			row[n.words+k] = col[id]
		}
		w.nodes = append(w.nodes, f)
		w.refs = append(w.refs, n.refs[id])
		c.nodeOf = append(c.nodeOf, id)
	}
	for _, id := range c.divisors {
		add(id, gate{})
	}
	for _, id := range c.dying {
		f := n.nodes[id]
		var h gate
		for k, l := range f.in {
			f.in[k] = c.local[l>>1] ^ l&1
		}
		if f.xor {
			h, _, _ = xorGate(f.in[0], f.in[1], f.in[2])
		} else {
			h, _, _ = majGate(f.in[0], f.in[1], f.in[2])
		}
		add(id, h)
	}
	care := w.val[len(w.nodes)*words:][:words]
	copy(care, c.cares)
	for k, col := range n.fresh[:n.used] {
		care[n.words+k] = c.observeWord(col)
	}
}

// observeWord is where a complemented node shows in a word of values.
func (c *carer) observeWord(col []uint64) uint64 {
	c.alter = resize(c.alter, len(c.above))
	var care [1]uint64
	c.observe(1, care[:], c.alter, func(id uint32) []uint64 { return col[id : id+1] })
	return care[0]
}

// prepare begins a formula: the node, complemented, shows at an end.
func (c *carer) prepare() {
	n := c.n
	c.vars = resize(c.vars, len(n.nodes))
	c.varsOf, c.loaded = resizeZero(c.varsOf, len(n.nodes)), resizeZero(c.loaded, len(n.nodes))
	c.solver.Reset()
	c.queue, c.decide, c.cone, c.whole = c.queue[:0], c.decide[:0], 0, false
	c.yes = sat.Lit(c.solver.NewVar()) << 1
	c.solver.AddClause(c.yes)
	c.variable(c.node)
	if c.ends[0] == c.node {
		return
	}
	c.twin = resize(c.twin, len(c.above))
	twin := func(l Lit) sat.Lit {
		id := uint32(l >> 1)
		switch {
		case id == c.node:
			return c.literal(l) ^ 1
		case c.mark[id] == c.stamp && id != 0:
			return c.twin[c.place[id]] ^ sat.Lit(l&1)
		}
		return c.literal(l)
	}
	for i, id := range c.above {
		c.load(id)
		f := &c.n.nodes[id]
		c.twin[i] = c.newVar()
		addGateClauses(&c.solver, f.xor, c.twin[i], twin(f.in[0]), twin(f.in[1]), twin(f.in[2]))
	}
	var shows []sat.Lit
	for _, id := range c.ends {
		a, b, d := c.literal(Lit(id)<<1), c.twin[c.place[id]], c.newVar()
		c.solver.AddClause(d^1, a, b)
		c.solver.AddClause(d^1, a^1, b^1)
		shows = append(shows, d)
	}
	c.solver.AddClause(shows...)
}

func (c *carer) newVar() sat.Lit {
	v := c.solver.NewVar()
	c.decide = append(c.decide, int32(v))
	return sat.Lit(v) << 1
}

// variable is that of a node; a new one waits for its clauses.
func (c *carer) variable(id uint32) sat.Lit {
	if id == 0 {
		return c.yes ^ 1
	}
	if c.varsOf[id] != c.stamp {
		c.varsOf[id] = c.stamp
		c.vars[id] = int32(c.newVar() >> 1)
		c.queue = append(c.queue, id)
	}
	return sat.Lit(c.vars[id]) << 1
}

func (c *carer) literal(l Lit) sat.Lit { return c.variable(uint32(l>>1)) ^ sat.Lit(l&1) }

// load adds the clauses of a gate.
func (c *carer) load(id uint32) {
	if c.loaded[id] == c.stamp || !c.n.isGate(id) {
		return
	}
	c.loaded[id] = c.stamp
	f := &c.n.nodes[id]
	addGateClauses(&c.solver, f.xor, c.variable(id), c.literal(f.in[0]), c.literal(f.in[1]), c.literal(f.in[2]))
	c.cone++
}

// extend loads gates below what is loaded, the nearest first, up to a number.
func (c *carer) extend(gates int) {
	k := 0
	for ; k < len(c.queue) && c.cone < gates; k++ {
		c.load(c.queue[k])
	}
	c.queue = append(c.queue[:0], c.queue[k:]...)
	c.whole = !slices.ContainsFunc(c.queue, func(id uint32) bool { return c.n.isGate(id) && c.loaded[id] != c.stamp })
}

// edge is an edge of the net for one of the window.
func (c *carer) edge(l Lit) Lit { return Lit(c.nodeOf[l>>1])<<1 | l&1 }

// prove asks for a pattern of which the node cares and a change is wrong: sat.Unsat if
// there is none. One that is found becomes a pattern.
func (c *carer) prove(ch *resubChange) sat.Status {
	var step [maxResubChange]sat.Lit
	at := func(l Lit) sat.Lit {
		if l>>1 >= newNode {
			return step[l>>1-newNode] ^ sat.Lit(l&1)
		}
		return c.literal(c.edge(l))
	}
	for i, st := range ch.steps[:ch.n] {
		a, b, d := at(st.in[0]), at(st.in[1]), at(st.in[2])
		step[i] = c.newVar()
		addGateClauses(&c.solver, st.xor, step[i], a, b, d)
	}
	x, y := c.variable(c.node), at(ch.out)
	for _, cone := range [2]int{careCone, careConeMore} {
		c.extend(max(cone, c.cone+cone/4))
		status := sat.Unsat
		for _, q := range [2][2]sat.Lit{{x, y ^ 1}, {x ^ 1, y}} {
			if status = c.solver.Solve(q[:], c.decide, careConflict); status != sat.Unsat {
				break
			}
		}
		if status != sat.Sat {
			return status
		}
		if c.refute(ch) {
			return sat.Sat
		}
		if c.whole {
			if invariants.Enabled {
				panic("xmg: a pattern that refutes a change does not")
			}
			return sat.Unknown
		}
	}
	return sat.Unknown
}

// refute simulates the pattern found and others near it. It tells whether one of them
// refutes the change; then they are kept.
func (c *carer) refute(ch *resubChange) bool {
	n := c.n
	col := n.fresh[n.used]
	for i := range n.inputs {
		x := c.rng.Uint64()
		if id := uint32(i + 1); c.varsOf[id] == c.stamp {
			// A few of them differ from the pattern in a few inputs.
			near := x & c.rng.Uint64() & c.rng.Uint64() & c.rng.Uint64() &^ (1<<32 - 1)
			x = near
			if c.solver.Value(int(c.vars[id])) {
				x = ^near
			}
		}
		col[i+1] = x
	}
	n.simulate(col)
	c.work += int64(len(n.order) / 4)
	wrong := (c.changed(ch, col) ^ col[c.node]) & c.observeWord(col)
	if wrong == 0 {
		return false
	}
	full := n.used == careFresh-1
	n.added()
	if full {
		c.observe(n.words, c.cares, c.flip, func(m uint32) []uint64 { return n.row(m) })
	}
	return true
}

// changed is the value that a change gives for a word of values.
func (c *carer) changed(ch *resubChange, col []uint64) uint64 {
	var step [maxResubChange]uint64
	at := func(l Lit) uint64 {
		m := -uint64(l & 1)
		if l>>1 >= newNode {
			return step[l>>1-newNode] ^ m
		}
		return col[c.nodeOf[l>>1]] ^ m
	}
	for i, st := range ch.steps[:ch.n] {
		a, b, d := at(st.in[0]), at(st.in[1]), at(st.in[2])
		if st.xor {
			step[i] = a ^ b ^ d
		} else {
			step[i] = a&b | (a|b)&d
		}
	}
	return at(ch.out)
}

// commit makes a change, and computes the values above anew.
func (c *carer) commit(ch *resubChange) {
	n := c.n
	if ch.n == 0 {
		n.replace(c.node, c.edge(ch.out))
	} else {
		var made [maxResubChange]Lit
		at := func(l Lit) Lit {
			if l>>1 >= newNode {
				return made[l>>1-newNode] ^ l&1
			}
			return c.edge(l)
		}
		for i, st := range ch.steps[:ch.n] {
			f := careGate{st.xor, [3]Lit{at(st.in[0]), at(st.in[1]), at(st.in[2])}}
			if i == ch.n-1 {
				n.become(c.node, f)
				break
			}
			id, ok := n.add(f, c.node)
			if !ok {
				break
			}
			made[i] = Lit(id) << 1
			n.evalRow(id)
		}
		// Gates that were made and are not used after all die.
		for i := range ch.n - 1 {
			if id := uint32(made[i] >> 1); id != 0 && n.refs[id] == 0 && !n.dead[id] {
				n.refs[id]++
				n.drop(id)
			}
		}
		n.evalRow(c.node)
	}
	for _, id := range c.above {
		if !n.dead[id] {
			n.evalRow(id)
		}
	}
	c.work += int64(len(c.above) * n.words / 8)
}
