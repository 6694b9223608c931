package search

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/lowering/mapping"
)

// option is what the loops of a class take together: the products of their factors in
// each slot, and how often they go round.
type option struct {
	f loopFactors
	t uint32
}

// located is the options of a class with the same factors in levels.
type located struct {
	level   [mapping.SlotWave - mapping.SlotLevel]uint32
	units   uint64
	options []option // those that go round least first
}

// classTree is branch and bound over products of factors: first those in levels, then those in units,
// class by class. Only what is left below the best is looked at loop by loop.
type classTree struct {
	*tree
	z       *mapping.Quotient
	tables  [][]located
	m       mapping.Mapping // a loop for each class
	chosen  []*located
	members []map[option][][]loopFactors
	cuts    map[int][]option // of a loop
	orders  func(f func([mapping.MaxLoops]uint8) bool)
	pads    []int // slots where more columns than needed may help
	first   int64 // nodes that were left at the start
	patient bool  // it was worth going on
	part    int   // of the first class's levels that is looked at
}

// A tree of which less than enough is done after patience nodes is given up: it would not end.
const (
	patience = 1_000_000
	enough   = 0.6
)

// loopFactors are the factors of a loop below waves.
type loopFactors [mapping.SlotWave]uint32

// maxOptions bounds the options of a class that are listed.
const maxOptions = 400_000

// emptyClasses walks the space of a function and an order of its operands and reports whether
// nothing is left of it.
func (t *tree) emptyClasses(z *mapping.Quotient) bool {
	c := &classTree{tree: t, z: z, m: mapping.Unit(), cuts: map[int][]option{}}
	c.m.Function, c.m.Swap, c.m.Keep = t.m.Function, t.m.Swap, [3]bool{}
	for _, loops := range z.Classes {
		table, ok := c.list(loops)
		if !ok {
			return false
		}
		c.tables = append(c.tables, table)
		c.members = append(c.members, map[option][][]loopFactors{})
	}
	c.first = c.nodes
	c.chosen = make([]*located, len(z.Classes))
	for s := range mapping.SlotLevel {
		if t.q.PaddingHelps(int(t.m.Function), s) {
			c.pads = append(c.pads, s)
		}
	}
	c.orders = func(f func([mapping.MaxLoops]uint8) bool) {
		var each [][]uint8
		for i := range z.Classes {
			each = append(each, []uint8{uint8(i)})
		}
		orders(each, f)
	}
	return c.levels(0)
}

// list returns the options of loops, by levels.
func (c *classTree) list(loops []int) ([]located, bool) {
	all := []option{unitOption()}
	whole := 1.0
	macs := float64(c.q.Op.MACs())
	for _, l := range loops {
		whole *= float64(c.q.Extent(l))
		var own []option
		for _, f := range c.cut(l) {
			own = append(own, option{f: f, t: c.rounds(l, &f)})
		}
		c.cuts[l] = own
		seen := make(map[option]struct{}, len(all)*2)
		next := all[:0:0]
		if c.nodes -= int64(len(all)) * int64(len(own)) / 8; c.nodes < 0 {
			return nil, false
		}
		for i := range all {
			for k := range own {
				o, ok := c.joined(&all[i], &own[k])
				// What is padded takes as long as what is not.
				if !ok || c.q.ProductCycles(macs*o.places()/whole)*(1-1e-9) >= float64(c.res.Score) {
					continue
				}
				if _, old := seen[o]; !old {
					seen[o] = struct{}{}
					next = append(next, o)
				}
			}
			if len(next) > maxOptions {
				return nil, false
			}
		}
		all = next
	}
	if c.q.LinearOrders() {
		all = undominated(all)
	}
	slices.SortFunc(all, func(a, b option) int {
		x := slices.Compare(b.f[mapping.SlotLevel:], a.f[mapping.SlotLevel:])
		return cmp.Or(x, cmp.Compare(a.t, b.t), slices.Compare(a.f[:], b.f[:]))
	})
	var out []located
	for i := 0; i < len(all); {
		k := i
		for k < len(all) && slices.Equal(all[k].f[mapping.SlotLevel:], all[i].f[mapping.SlotLevel:]) {
			k++
		}
		p := located{units: 1, options: all[i:k]}
		for s := range p.level {
			p.level[s] = all[i].f[mapping.SlotLevel+s]
			p.units *= uint64(p.level[s])
		}
		out = append(out, p)
		i = k
	}
	slices.SortStableFunc(out, func(a, b located) int { return cmp.Compare(b.units, a.units) })
	return out, true
}

// undominated leaves out options that are nowhere less than another: where no windows are
// loaded, cycles follow from the products of factors alone and grow with each of them.
func undominated(all []option) []option {
	slices.SortFunc(all, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.sum(), b.sum()), cmp.Compare(a.t, b.t), slices.Compare(a.f[:], b.f[:]))
	})
	out := all[:0:0]
	for i := range all {
		if !slices.ContainsFunc(out, func(o option) bool { return o.below(&all[i]) }) {
			out = append(out, all[i])
		}
	}
	return out
}

func (o *option) sum() (n uint64) {
	for _, x := range o.f {
		n += uint64(x)
	}
	return n + uint64(o.t)
}

// places is iterations with what is padded.
func (o *option) places() float64 {
	n := float64(o.t)
	for _, x := range o.f {
		n *= float64(x)
	}
	return n
}

// below reports whether nothing of o is above x.
func (o *option) below(x *option) bool {
	if o.t > x.t {
		return false
	}
	for s := range o.f {
		if o.f[s] > x.f[s] {
			return false
		}
	}
	return true
}

// rounds is the least whole number that is not below a quotient of whole numbers.
func rounds(x float64) int64 { return int64(math.Ceil(x * (1 - 1e-12))) }

func unitOption() option {
	o := option{t: 1}
	for s := range o.f {
		o.f[s] = 1
	}
	return o
}

// joined returns the products of two options, false if no unit or level takes them.
func (c *classTree) joined(a, b *option) (option, bool) {
	o := option{t: a.t * b.t}
	for s := range o.f {
		o.f[s] = a.f[s] * b.f[s]
	}
	for i := range c.q.Levels() {
		if o.f[mapping.SlotLevel+i] > c.q.FanOut(i) {
			return o, false
		}
	}
	return o, c.takes(&o.f)
}

// takes reports whether a unit takes such sizes at all.
func (c *classTree) takes(f *loopFactors) bool {
	return c.q.Takes(int(c.m.Function), c.m.Swap, f[:mapping.SlotLevel])
}

// rounds returns how often a loop goes round.
func (c *classTree) rounds(l int, f *loopFactors) uint32 {
	n := uint64(1)
	for _, x := range f {
		n *= uint64(x)
	}
	return uint32((uint64(c.q.Extent(l)) + n - 1) / n)
}

// cut returns the ways to cut a loop into factors of units and levels.
func (c *classTree) cut(l int) []loopFactors {
	var out []loopFactors
	m := mapping.Unit()
	m.Function, m.Swap = c.m.Function, c.m.Swap
	var walk func(s int)
	walk = func(s int) {
		if s == mapping.SlotLevel+c.q.Levels() {
			var f loopFactors
			for k := range f {
				f[k] = m.Factor[k][l]
			}
			out = append(out, f)
			return
		}
		if c.v.legal(&m, s)>>l&1 == 0 {
			walk(s + 1)
			return
		}
		for _, x := range c.v.of(c.v.left(&m, l, s)) {
			m.Factor[s][l] = x
			if s >= mapping.SlotLevel && x > c.q.FanOut(s-mapping.SlotLevel) {
				break
			}
			if s < mapping.SlotLevel {
				var f loopFactors
				for k := range f {
					f[k] = m.Factor[k][l]
				}
				if !c.takes(&f) {
					break
				}
			}
			walk(s + 1)
		}
		m.Factor[s][l] = 1
	}
	walk(0)
	return out
}

// node counts a bound that is looked at, and reports whether there may be another.
func (c *classTree) node() bool {
	c.nodes--
	if !c.patient && c.first-c.nodes >= patience {
		if c.patient = true; float64(c.part) < enough*float64(len(c.tables[0])) {
			return false
		}
	}
	return c.nodes >= 0 && (c.nodes%4096 != 0 || c.ctx.Err() == nil)
}

// hopeless reports whether a bound cuts something off.
func (c *classTree) hopeless(b int64, v mapping.Violation) bool {
	if v == mapping.BadLength {
		return false // too long to be priced, not too slow
	}
	if v != mapping.Legal || b >= c.res.Score {
		c.res.Bounded++
		return true
	}
	return false
}

// levels chooses the factors in levels of the classes from i on.
func (c *classTree) levels(i int) bool {
	n := len(c.tables)
	if i == n {
		return c.units(0)
	}
	for k := range c.tables[i] {
		p := &c.tables[i][k]
		if i == 0 {
			c.part = k
		}
		fits := true
		for s, x := range p.level {
			at := mapping.SlotLevel + s
			c.m.Factor[at][i] = x
			if x > 1 {
				used := uint64(1)
				for j := range i + 1 {
					used *= uint64(c.m.Factor[at][j])
				}
				fits = fits && used <= uint64(c.q.FanOut(s))
			}
		}
		if !fits {
			continue
		}
		if !c.node() {
			return false
		}
		c.chosen[i] = p
		c.m.Factor[mapping.SlotWave][i] = p.options[0].t
		b, v := c.z.Bound(&c.m, 0, i == n-1)
		if c.hopeless(b, v) {
			continue
		}
		if room, ok := c.z.Room(&c.m, 0); ok {
			// All units that are left do their best.
			whole, units := 1.0, 1.0
			for j := range n {
				whole *= float64(c.z.Whole(j))
			}
			for s := range p.level {
				left := uint32(1)
				if s < c.q.Levels() {
					left = c.q.FanOut(s)
				}
				used := uint32(1)
				for j := range i + 1 {
					used *= c.m.Factor[mapping.SlotLevel+s][j]
				}
				if i == n-1 {
					left = used
				}
				units *= float64(left / used * used)
			}
			if b, v := c.z.OpenBound(&c.m, 0, i == n-1, rounds(whole/units/float64(room))); c.hopeless(b, v) {
				continue
			}
		}
		if !c.levels(i + 1) {
			return false
		}
	}
	for s := range mapping.SlotWave {
		c.m.Factor[s][i] = 1
	}
	c.m.Factor[mapping.SlotWave][i] = 1
	return true
}

// units chooses the factors in units of the classes from i on.
func (c *classTree) units(i int) bool {
	all := c.chosen[i].options
	last := i == len(c.tables)-1
	if last {
		// Beyond some number of rounds nothing is fast enough, whatever the sizes.
		for s := range mapping.SlotLevel {
			c.m.Factor[s][i] = 1
		}
		lo, hi := 0, len(all)
		for lo < hi {
			at := (lo + hi) / 2
			c.m.Factor[mapping.SlotWave][i] = all[at].t
			if !c.node() {
				return false
			}
			if b, v := c.z.Bound(&c.m, i, true); c.hopeless(b, v) {
				hi = at
			} else {
				lo = at + 1
			}
		}
		all = all[:lo]
	}
	for k := range all {
		o := &all[k]
		for s := range mapping.SlotLevel {
			c.m.Factor[s][i] = o.f[s]
		}
		c.m.Factor[mapping.SlotWave][i] = o.t
		if !c.fits(i) {
			continue
		}
		if !c.node() {
			return false
		}
		if b, v := c.z.Bound(&c.m, i+1, true); c.hopeless(b, v) {
			continue
		}
		if last {
			if !c.leaf() {
				return false
			}
			continue
		}
		if room, ok := c.z.Room(&c.m, i+1); ok && room > 0 {
			whole, units := 1.0, 1.0
			for j := i + 1; j < len(c.tables); j++ {
				whole *= float64(c.z.Whole(j))
				units *= float64(c.chosen[j].units)
			}
			if b, v := c.z.OpenBound(&c.m, i+1, true, rounds(whole/units/float64(room))); c.hopeless(b, v) {
				continue
			}
		}
		if !c.units(i + 1) {
			return false
		}
	}
	for s := range mapping.SlotLevel {
		c.m.Factor[s][i] = 1
	}
	c.m.Factor[mapping.SlotWave][i] = c.chosen[i].options[0].t
	return true
}

// fits reports whether a unit takes the classes up to one.
func (c *classTree) fits(i int) bool {
	var f loopFactors
	for s := range mapping.SlotLevel {
		f[s] = 1
		for j := range i + 1 {
			f[s] *= c.m.Factor[s][j]
		}
	}
	return c.takes(&f)
}

// leaf has the products of all classes and looks at the loops that have them.
func (c *classTree) leaf() bool {
	if !c.q.Tiles() && c.z.OrderBound(&c.m, c.orders) >= c.res.Score {
		c.res.Bounded++
		return true
	}
	return c.loops(0)
}

// loops chooses the factors of the loops of classes from i on.
func (c *classTree) loops(i int) bool {
	if i == len(c.tables) {
		return c.sized()
	}
	var o option
	for s := range o.f {
		o.f[s] = c.m.Factor[s][i]
	}
	o.t = c.m.Factor[mapping.SlotWave][i]
	ways, ok := c.members[i][o]
	if !ok {
		ways = c.split(c.z.Classes[i], &o)
		if c.z.Alike(i) {
			ways = c.different(c.z.Classes[i], ways)
		}
		c.members[i][o] = ways
	}
	for _, w := range ways {
		for k, l := range c.z.Classes[i] {
			for s := range w[k] {
				c.tree.m.Factor[s][l] = w[k][s]
			}
		}
		if !c.loops(i + 1) {
			return false
		}
	}
	for _, l := range c.z.Classes[i] {
		for s := range mapping.SlotWave {
			c.tree.m.Factor[s][l] = 1
		}
	}
	return true
}

// split returns the factors of loops whose products are those of an option.
func (c *classTree) split(loops []int, o *option) [][]loopFactors {
	var out [][]loopFactors
	now := make([]loopFactors, len(loops))
	var walk func(k int, left option)
	walk = func(k int, left option) {
		if k == len(loops) {
			if left == unitOption() {
				out = append(out, slices.Clone(now))
			}
			return
		}
	cuts:
		for i := range c.cuts[loops[k]] {
			x := &c.cuts[loops[k]][i]
			if left.t%x.t != 0 {
				continue
			}
			next := option{t: left.t / x.t}
			for s, f := range x.f {
				if left.f[s]%f != 0 {
					continue cuts
				}
				next.f[s] = left.f[s] / f
			}
			now[k] = x.f
			walk(k+1, next)
		}
	}
	walk(0, *o)
	return out
}

// different leaves out ways to cut loops that are alike which load as much as another at all times: those
// with other loops in the same places, and without padding all that go round as often.
func (c *classTree) different(loops []int, ways [][]loopFactors) [][]loopFactors {
	seen := map[string]bool{}
	return slices.DeleteFunc(ways, func(w []loopFactors) bool {
		var rounds, places []string
		padded := false
		for k, l := range loops {
			t := c.rounds(l, &w[k])
			n := uint64(t)
			for _, x := range w[k] {
				n *= uint64(x)
			}
			padded = padded || n != uint64(c.q.Extent(l))
			rounds = append(rounds, fmt.Sprint(t))
			places = append(places, fmt.Sprint(c.q.Extent(l), w[k]))
		}
		if !padded {
			places = rounds
		}
		slices.Sort(places)
		key := fmt.Sprint(places)
		old := seen[key]
		seen[key] = true
		return old
	})
}

// sized has the factors of all loops. Where more columns than needed may make shifts
// shorter, those are looked at too.
func (c *classTree) sized() bool {
	if !c.node() {
		return false
	}
	if c.pads == nil {
		return c.tree.leaf()
	}
	if b, v := c.z.Smooth(&c.tree.m); c.hopeless(b, v) {
		return true
	}
	least := c.parallel()
	if !c.tree.leaf() {
		return false
	}
	return c.pad(0, 0, bits.OnesCount64(least))
}

// parallel is the number of parallel places of a unit.
func (c *classTree) parallel() uint64 {
	n := uint64(1)
	for s := range mapping.SlotInner {
		if !c.q.Reduces(int(c.m.Function), s) {
			for l := range c.q.Loops() {
				n *= uint64(c.tree.m.Factor[s][l])
			}
		}
	}
	return n
}

// pad looks at more columns for the loops from l on in the slots from p on, where that takes
// fewer ones in the distances of shifts.
func (c *classTree) pad(p, l, ones int) bool {
	if p == len(c.pads) {
		if c.nodes--; c.nodes < 0 {
			return false
		}
		if bits.OnesCount64(c.parallel()) >= ones {
			return true
		}
		return c.tree.leaf()
	}
	if l == c.q.Loops() {
		return c.pad(p+1, 0, ones)
	}
	m, s := &c.tree.m, c.pads[p]
	f := m.Factor[s][l]
	left := c.v.left(m, l, s)
	for x := f; x <= left && (left+x-1)/x == (left+f-1)/f; x++ {
		m.Factor[s][l] = x
		if _, v := c.z.Smooth(m); v != mapping.Legal && v != mapping.BadLength {
			break
		}
		if !c.pad(p, l+1, ones) {
			m.Factor[s][l] = f
			return false
		}
		if c.v.legal(m, s)>>l&1 == 0 {
			break
		}
	}
	m.Factor[s][l] = f
	return true
}
