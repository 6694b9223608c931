package xmg

import (
	"context"
	"fmt"
	"math"
)

// Map makes the graph smaller: it finds the XOR2, XOR3, MAJ3, multiplexers and
// other small functions hidden in its gates, and keeps only the gates that are
// then needed. The result is never larger; it is g itself (swept) if no smaller
// one was found. It keeps the order as far as it can: the gates made for a node
// lie where the node lay.
//
// It works in passes over the gates. Each first finds the cheapest few cuts of
// up to four leaves of every gate; the gates of each cut's function come from a
// library of optimal recipes. Then a covering pass chooses a cut for each gate
// for the least area: first by area flow, then by exact local area (as in
// Mishchenko, Chatterjee, Brayton, "Improvements to technology mapping for
// LUT-based FPGAs", IEEE TCAD 26(2), 2007). A rewriting pass builds the graph
// anew and also sees which gates are there already. They take turns while they
// gain, a fixed number of times at most.
//
// The time is linear in the gates: 1 to 3 us a gate for covering and 1 to 7 us
// for rewriting (the more for graphs that do not fit the cache and have no
// locality), one to three passes for ten million gates and at most twelve for
// small graphs. It takes at most 290 bytes a gate. An error means that the
// context ended, and wraps its error.
func Map(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.Sweep()
	given := g
	cuts := &cutStore{}
	work, idle := 0, 0
	for round, pass := range mapPasses {
		before := g.NumGates()
		work += before
		if pass != covering {
			work += (rewritingWork - 1) * before
		}
		if round > 0 && (work > maxWork || idle >= 2 && before > smallGraph) {
			break
		}
		var smaller *Graph
		var err error
		if pass == covering {
			smaller, err = cover(ctx, g, opt.Progress, cuts)
		} else {
			smaller, err = rewrite(ctx, g, opt.Progress, cuts, pass == rewritingTies)
		}
		if err != nil {
			return nil, err
		}
		gain := before - smaller.NumGates()
		if gain <= before/minGain {
			idle++
		} else {
			idle = 0
		}
		if gain > 0 || gain == 0 && pass == rewritingTies {
			g = smaller
		}
	}
	if g.NumGates() == given.NumGates() {
		return given, nil // ties have only changed its order
	}
	return g, nil
}

// mapPass is a pass over the graph.
type mapPass uint8

const (
	covering      mapPass = iota
	rewriting             // only what makes the graph smaller
	rewritingTies         // also what does not make it larger: the next pass can find something in it
)

// mapPasses are the passes of Map. Rewriting first would break up adders, which
// covering finds whole; covering again takes what the first rewriting has
// opened up. (Of a dozen orders tried, this one is the best on the EPFL
// circuits, by 0.3 to 1 %.)
var mapPasses = [...]mapPass{
	covering, rewriting, covering, rewritingTies, rewritingTies, covering,
	rewritingTies, rewritingTies, rewritingTies, rewritingTies, rewritingTies, rewritingTies,
}

const (
	// maxWork bounds the gates visited by all passes, a gate of a rewriting pass
	// counting rewritingWork times; the first pass is always done. It keeps the
	// time for ten million gates under a minute.
	maxWork       = 24_000_000
	rewritingWork = 4
	// Two passes in a row that gain at most one gate in minGain are the last,
	// except for graphs of up to smallGraph gates, which get all passes.
	minGain    = 2000
	smallGraph = 1 << 13
	// cutsPerNode are the cuts kept for each gate, the trivial one not counted.
	// On the EPFL circuits 5 are 3 % worse, and 12 or 16 not better.
	cutsPerNode = 8
	flowPasses  = 2
	exactPasses = 2
	// exactBudget bounds the nodes looked at to tell the exact area of one cut;
	// it keeps the time linear on long chains. Beyond it area flow is taken.
	exactBudget = 64
)

type mapper struct {
	g     *Graph
	lib   *library
	tick  ticker
	first int // id of the first gate; slices by gate are indexed by id-first

	cuts  *cutStore
	start []uint32  // by gate: its first cut
	count []uint8   // by gate: the number of its cuts
	best  []uint32  // by gate: the chosen cut
	flow  []float32 // by node: area flow
	refs  []int32   // by node: uses in the cover

	estimate []float32 // by node: estimated uses

	stack []uint32
	log   []uint32
}

func newMapper(ctx context.Context, g *Graph, progress func(Progress), cuts *cutStore) (*mapper, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("xmg: mapping: %w", err)
	}
	gates := g.NumGates()
	if gates > math.MaxUint32/(cutsPerNode+1)-chunkCuts {
		return nil, fmt.Errorf("xmg: mapping of %d gates, expected at most %d", gates, math.MaxUint32/(cutsPerNode+1)-chunkCuts)
	}
	cuts.count = 0
	m := &mapper{
		g: g, lib: fourInputs(), first: g.FirstGate(), cuts: cuts,
		tick:  ticker{ctx, progress, "", g.NumNodes()},
		start: make([]uint32, gates), count: make([]uint8, gates), best: make([]uint32, gates),
		flow:     make([]float32, g.NumNodes()),
		estimate: make([]float32, g.NumNodes()),
	}
	m.refs = g.References()
	for id, r := range m.refs {
		m.estimate[id] = max(1, float32(r))
	}
	return m, nil
}

// cover does one covering pass over g.
func cover(ctx context.Context, g *Graph, progress func(Progress), cuts *cutStore) (*Graph, error) {
	m, err := newMapper(ctx, g, progress, cuts)
	if err != nil {
		return nil, err
	}
	m.tick.phase = "mapping: cuts"
	if err := m.enumerate(); err != nil {
		return nil, err
	}
	m.countUses()
	for range flowPasses {
		m.tick.phase = "mapping: area flow"
		if err := m.flowPass(); err != nil {
			return nil, err
		}
		m.countUses()
	}
	for range exactPasses {
		m.tick.phase = "mapping: exact area"
		if err := m.exactPass(); err != nil {
			return nil, err
		}
	}
	m.tick.phase = "mapping: building"
	return m.build()
}

// enumerate computes the cuts of all gates and chooses by area flow.
func (m *mapper) enumerate() error {
	var trivial [3]cut
	var lists [3][]cut
	l := &cutList{m: m}
	for id := m.first; id < len(m.g.nodes); id++ {
		if err := m.tick.tick(id); err != nil {
			return err
		}
		f := m.g.nodes[id]
		for k, lit := range f {
			n := int(lit >> 1)
			c := cut{leaf: [4]uint32{uint32(n)}, sig: 1 << (n % 32), fn: inputTruth[0], n: 1}
			if n == 0 {
				c = cut{}
			}
			trivial[k] = c
			lists[k] = nil
			if n >= m.first {
				i := n - m.first
				lists[k] = m.cuts.span(m.start[i], int(m.count[i]))
			}
		}
		l.reset(f)
		for i := -1; i < len(lists[0]); i++ {
			a := nth(lists[0], &trivial[0], i)
			for j := -1; j < len(lists[1]); j++ {
				b := nth(lists[1], &trivial[1], j)
				if !l.ab.join(a, b) {
					continue
				}
				for k := -1; k < len(lists[2]); k++ {
					l.try(a, b, nth(lists[2], &trivial[2], k))
				}
			}
		}
		g := id - m.first
		m.start[g] = m.cuts.add(l.cuts[:l.n])
		m.count[g] = uint8(l.n)
		m.best[g] = m.start[g]
		m.flow[id] = l.flow[0] / m.estimate[id]
	}
	return nil
}

func nth(list []cut, trivial *cut, i int) *cut {
	if i < 0 {
		return trivial
	}
	return &list[i]
}

// cutList is the best cuts of the gate in hand, by area flow.
type cutList struct {
	m    *mapper
	xor  bool
	inv  [3]truth // masks of the complemented fanins
	ab   cut      // leaves of the first two fanins
	cuts [cutsPerNode + 1]cut
	flow [cutsPerNode + 1]float32
	n    int
}

func (l *cutList) reset(f gate) {
	l.n = 0
	l.xor = f[0] > f[1]
	for k, lit := range f {
		l.inv[k] = -truth(lit & 1)
	}
}

// try enters the cut of the gate that joins ab and c into the list if it is one
// of the best.
func (l *cutList) try(a, b, c *cut) {
	at := &l.cuts[l.n] // where a new cut is made
	if !at.join(&l.ab, c) {
		return
	}
	flow := float32(0)
	for _, n := range at.leaf[:at.n] {
		flow += l.m.flow[n]
	}
	if l.n == cutsPerNode && flow >= l.flow[l.n-1] {
		return
	}
	ta, tb, tc := a.over(at)^l.inv[0], b.over(at)^l.inv[1], c.over(at)^l.inv[2]
	if l.xor {
		at.fn = ta ^ tb ^ tc
	} else {
		at.fn = majTruth(ta, tb, tc)
	}
	if n := at.n; true {
		at.shrink()
		if at.n != n {
			flow = 0
			for _, n := range at.leaf[:at.n] {
				flow += l.m.flow[n]
			}
		}
	}
	at.cost = l.m.lib.cost[at.fn.normal()]
	flow += float32(at.cost)
	for i := range l.cuts[:l.n] {
		if d := &l.cuts[i]; d.cost <= at.cost && d.within(at) {
			return
		}
	}
	// Cuts that the new one makes useless go.
	made := *at
	n := 0
	for i := range l.cuts[:l.n] {
		if d := &l.cuts[i]; made.cost <= d.cost && made.within(d) {
			continue
		}
		if n != i {
			l.cuts[n], l.flow[n] = l.cuts[i], l.flow[i]
		}
		n++
	}
	i := n
	for i > 0 && (l.flow[i-1] > flow || l.flow[i-1] == flow && l.cuts[i-1].n > made.n) {
		if i < cutsPerNode {
			l.cuts[i], l.flow[i] = l.cuts[i-1], l.flow[i-1]
		}
		i--
	}
	if i < cutsPerNode {
		l.cuts[i], l.flow[i] = made, flow
		n = min(n+1, cutsPerNode)
	}
	l.n = n
}

// countUses counts the uses of each node in the cover of the chosen cuts.
func (m *mapper) countUses() {
	clear(m.refs)
	for _, o := range m.g.outputs {
		m.refs[o.Lit>>1]++
	}
	for g := len(m.best) - 1; g >= 0; g-- {
		if m.refs[m.first+g] == 0 {
			continue
		}
		for _, l := range m.cuts.at(m.best[g]).leaves() {
			m.refs[l]++
		}
	}
}

// flowPass chooses again by area flow, with the uses of the last cover.
func (m *mapper) flowPass() error {
	for id := range m.g.nodes {
		m.estimate[id] = max(1, (m.estimate[id]+2*float32(m.refs[id]))/3)
	}
	for g := range m.best {
		id := m.first + g
		if err := m.tick.tick(id); err != nil {
			return err
		}
		least := float32(math.Inf(1))
		list := m.cuts.span(m.start[g], int(m.count[g]))
		for i := range list {
			if flow := m.cutFlow(&list[i]); flow < least {
				least = flow
				m.best[g] = m.start[g] + uint32(i)
			}
		}
		m.flow[id] = least / m.estimate[id]
	}
	return nil
}

func (m *mapper) cutFlow(c *cut) float32 {
	flow := float32(c.cost)
	for _, l := range c.leaf[:c.n] {
		flow += m.flow[l]
	}
	return flow
}

// exactPass chooses again, node after node, by what each cut really adds to the
// cover and what leaves it with the old cut.
func (m *mapper) exactPass() error {
	for g := range m.best {
		id := m.first + g
		if err := m.tick.tick(id); err != nil {
			return err
		}
		n := int(m.count[g])
		if n == 1 {
			continue
		}
		list := m.cuts.span(m.start[g], n)
		old := m.best[g] - m.start[g]
		used := m.refs[id] > 0
		least, leastFlow := float32(0), m.cutFlow(&list[old])
		if !used {
			least = m.grow(&list[old], exactBudget)
			m.undoGrow()
		}
		pick := old
		for i := range list {
			c := &list[i]
			if uint32(i) == old {
				continue
			}
			// If the new cut comes first, only the difference of the two cones
			// is walked.
			area := m.grow(c, exactBudget)
			if used {
				grown := len(m.log)
				area -= m.ungrow(&list[old], exactBudget)
				for _, l := range m.log[grown:] {
					m.refs[l]++
				}
				m.log = m.log[:grown]
			}
			m.undoGrow()
			if area > least {
				continue
			}
			if flow := m.cutFlow(c); area < least || flow < leastFlow {
				pick, least, leastFlow = uint32(i), area, flow
			}
		}
		if pick != old {
			if used {
				m.grow(&list[pick], math.MaxInt)
				m.ungrow(&list[old], math.MaxInt)
				m.log = m.log[:0]
			}
			m.best[g] = m.start[g] + pick
		}
	}
	return nil
}

// grow adds one use of a cut to the cover and returns the gates that this adds.
// The leaves counted up are appended to the log. After budget nodes it takes
// the area flow of what is left.
func (m *mapper) grow(c *cut, budget int) float32 {
	area := float32(0)
	m.stack = m.stack[:0]
	for {
		area += float32(c.cost)
		for _, l := range c.leaf[:c.n] {
			m.refs[l]++
			m.log = append(m.log, l)
			if m.refs[l] > 1 || int(l) < m.first {
				continue
			}
			if budget--; budget < 0 {
				area += m.flow[l]
				continue
			}
			m.stack = append(m.stack, l)
		}
		k := len(m.stack) - 1
		if k < 0 {
			return area
		}
		c = m.cuts.at(m.best[int(m.stack[k])-m.first])
		m.stack = m.stack[:k]
	}
}

// undoGrow takes back what the log says was counted up.
func (m *mapper) undoGrow() {
	for _, l := range m.log {
		m.refs[l]--
	}
	m.log = m.log[:0]
}

// ungrow removes one use of a cut from the cover and returns the gates that are
// no longer needed. The leaves counted down are appended to the log.
func (m *mapper) ungrow(c *cut, budget int) float32 {
	area := float32(0)
	m.stack = m.stack[:0]
	for {
		area += float32(c.cost)
		for _, l := range c.leaf[:c.n] {
			m.refs[l]--
			m.log = append(m.log, l)
			if m.refs[l] > 0 || int(l) < m.first {
				continue
			}
			if budget--; budget < 0 {
				area += m.flow[l]
				continue
			}
			m.stack = append(m.stack, l)
		}
		k := len(m.stack) - 1
		if k < 0 {
			return area
		}
		c = m.cuts.at(m.best[int(m.stack[k])-m.first])
		m.stack = m.stack[:k]
	}
}

// build makes the graph of the cover.
func (m *mapper) build() (*Graph, error) {
	gates := 0
	for g, b := range m.best {
		if m.refs[m.first+g] > 0 {
			gates += int(m.cuts.at(b).cost)
		}
	}
	out := m.g.emptyCopy(gates)
	lit := make([]Lit, m.g.NumNodes())
	for id := range m.first {
		lit[id] = Lit(id) << 1
	}
	for g, b := range m.best {
		id := m.first + g
		if err := m.tick.tick(id); err != nil {
			return nil, err
		}
		if m.refs[id] == 0 {
			continue
		}
		c := m.cuts.at(b)
		var in [4]Lit
		for i, l := range c.leaves() {
			in[i] = lit[l]
		}
		lit[id] = m.lib.build(out, c.fn, in)
	}
	for _, o := range m.g.outputs {
		out.AddOutput(o.Name, lit[o.Lit>>1]^o.Lit&1)
	}
	return out.Sweep(), nil
}
