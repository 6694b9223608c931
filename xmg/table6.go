package xmg

import "slices"

// truth6 is a function of six inputs: bit i is its value for the pattern i, whose
// bit j is the value of input j.
type truth6 uint64

var sixTruth = [6]truth6{
	0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
	0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000,
}

// dependsOn tells whether the function depends on input j.
func (t truth6) dependsOn(j int) bool { return (t^t>>(1<<j))&^sixTruth[j] != 0 }

// swap exchanges inputs i < j.
func (t truth6) swap(i, j int) truth6 {
	m := sixTruth[i] &^ sixTruth[j]
	s := 1<<j - 1<<i
	return t&^(m|m<<s) | t&m<<s | t>>s&m
}

// cofactors returns the function where input j is 0 and where it is 1.
func (t truth6) cofactors(j int) (c0, c1 truth6) {
	c0, c1 = t&^sixTruth[j], t&sixTruth[j]
	return c0 | c0<<(1<<j), c1 | c1>>(1<<j)
}

// choose returns the function that is c1 where input j is 1, and c0 elsewhere.
func choose(j int, c1, c0 truth6) truth6 { return c1&sixTruth[j] | c0&^sixTruth[j] }

// compact moves the inputs that the function depends on to the front, in their
// order, and returns which they are.
func (t truth6) compact() (c truth6, vars [6]uint8, n int) {
	for j := range 6 {
		if !t.dependsOn(j) {
			continue
		}
		if n != j {
			t = t.swap(n, j)
		}
		vars[n] = uint8(j)
		n++
	}
	return t, vars, n
}

// recipe6 makes a function of inputs 1 to 6 by steps; item 0 is the constant
// false, items 1 to 6 are the inputs, and items firstStep6 on the steps.
type recipe6 struct {
	n     uint8
	out   uint8 // item<<1 | complement
	steps [maxSteps6]step6
}

const (
	firstStep6 = 7
	maxSteps6  = 16
)

// step6 is a gate over earlier items: three operands of six bits (item<<1 |
// complement) in ascending order, and bit 18 for XOR.
type step6 uint32

const stepXor6 step6 = 1 << 18

func (s step6) operand(i int) uint8 { return uint8(s>>(6*i)) & 63 }

// gate returns the item of a gate of earlier items: one that is there, or a new
// one, or an operand where the function is trivial. It fails if there are too
// many steps.
func (r *recipe6) gate(xor bool, a, b, c uint8) (uint8, bool) {
	var f gate
	var l Lit
	var trivial bool
	if xor {
		// An XOR with a free operand takes in the operands of another one.
		if a > 1 && b > 1 && c > 1 {
			f, l, trivial = xorGate(Lit(a), Lit(b), Lit(c))
		} else {
			x, y := a^c, b
			if c > 1 {
				x, y = a^b, c
			}
			if p, q, ok := r.xor2(x); ok {
				f, l, trivial = xorGate(Lit(p), Lit(q), Lit(y))
			} else if p, q, ok := r.xor2(y); ok {
				f, l, trivial = xorGate(Lit(p), Lit(q), Lit(x))
			} else {
				f, l, trivial = xorGate(Lit(x), Lit(y), False)
			}
		}
	} else {
		f, l, trivial = majGate(Lit(a), Lit(b), Lit(c))
	}
	if trivial {
		return uint8(l), true
	}
	s := step6(f[0]) | step6(f[1])<<6 | step6(f[2])<<12
	if xor {
		s |= stepXor6
	}
	for i, t := range r.steps[:r.n] {
		if s == t {
			return uint8(firstStep6+i)<<1 | uint8(l), true
		}
	}
	if r.n == maxSteps6 {
		return 0, false
	}
	r.steps[r.n] = s
	r.n++
	return (firstStep6+r.n-1)<<1 | uint8(l), true
}

// muxOfAnds returns x ? f : g in three ANDs.
func (r *recipe6) muxOfAnds(x, f, g uint8) (uint8, bool) {
	a, ok := r.gate(false, x, f, 0)
	if !ok {
		return 0, false
	}
	b, ok := r.gate(false, x^1, g, 0)
	if !ok {
		return 0, false
	}
	return r.gate(false, a, b, 1)
}

// xor2 returns the operands of an item that is an XOR of two.
func (r *recipe6) xor2(op uint8) (p, q uint8, ok bool) {
	if op>>1 < firstStep6 {
		return 0, 0, false
	}
	s := r.steps[op>>1-firstStep6]
	if s&stepXor6 == 0 || s.operand(2) > 1 {
		return 0, 0, false
	}
	return s.operand(0) ^ op&1, s.operand(1), true
}

// sweep removes the steps that the result does not need.
func (r *recipe6) sweep() {
	var need [firstStep6 + maxSteps6]bool
	need[r.out>>1] = true
	for i := int(r.n) - 1; i >= 0; i-- {
		if need[firstStep6+i] {
			for k := range 3 {
				need[r.steps[i].operand(k)>>1] = true
			}
		}
	}
	var to [firstStep6 + maxSteps6]uint8
	for i := range uint8(firstStep6) {
		to[i] = i
	}
	n := uint8(0)
	rename := func(op uint8) step6 { return step6(to[op>>1]<<1 | op&1) }
	for i, s := range r.steps[:r.n] {
		if !need[firstStep6+i] {
			continue
		}
		to[firstStep6+i] = firstStep6 + n
		r.steps[n] = rename(s.operand(0)) | rename(s.operand(1))<<6 | rename(s.operand(2))<<12 | s&stepXor6
		n++
	}
	r.out = uint8(rename(r.out))
	r.n = n
}

// truth evaluates a recipe.
func (r *recipe6) truth() truth6 {
	var items [firstStep6 + maxSteps6]truth6
	copy(items[1:], sixTruth[:])
	at := func(op uint8) truth6 { return items[op>>1] ^ -truth6(op&1) }
	for i, s := range r.steps[:r.n] {
		a, b, c := at(s.operand(0)), at(s.operand(1)), at(s.operand(2))
		if s&stepXor6 != 0 {
			items[firstStep6+i] = a ^ b ^ c
		} else {
			items[firstStep6+i] = a&b | (a|b)&c
		}
	}
	return at(r.out)
}

// library6 makes recipes for functions of up to six inputs and keeps them. Those
// of up to four inputs are optimal; the others are taken apart: an input or a
// pair of inputs at the top (AND, OR, XOR, MAJ, multiplexer), or a function of
// two or three inputs that no other part needs at the bottom. What is left has
// fewer inputs.
//
// With ands, recipes have ANDs only: an XOR is three gates and so is a multiplexer.
//
// Up to recipesKept recipes of a function are kept, at 68 bytes each. Which of
// the equally good ones depends on the seed.
type library6 struct {
	four    *library // nil with ands
	ands    bool
	seed    uint64
	keys    []truth6 // compact, 0 for pattern 0; open addressing with index
	index   []uint32 // the first of the recipes of a function; 0 is an empty slot
	entries int
	recipes []recipe6 // those of a function lie together
	last    []bool    // whether a recipe is the last one of its function
	parts   [7][]part // by inputs of the function taken apart
	made    [7][]recipe6
}

// forget removes all recipes if there are so many that they take 100 MB.
func (lib *library6) forget() {
	if len(lib.recipes) < 1<<20 {
		return
	}
	clear(lib.index)
	lib.entries = 0
	// Recipes that are in use stay as they are.
	lib.recipes, lib.last = make([]recipe6, 1), make([]bool, 1)
}

// recipesKept are how many recipes of a function are kept.
const recipesKept = 4

func newLibrary6(seed uint64) *library6 {
	const size = 1 << 12
	return &library6{
		four: fourInputs(), seed: seed,
		keys: make([]truth6, size), index: make([]uint32, size), recipes: make([]recipe6, 1, size), last: make([]bool, 1, size),
	}
}

// newAndLibrary6 returns a library of recipes of ANDs only.
func newAndLibrary6(seed uint64) *library6 {
	lib := newLibrary6(seed)
	lib.four, lib.ands = nil, true
	return lib
}

// unknown6 is the cost of a function without a recipe.
const unknown6 = 100

// find returns the index of the first recipe of a compact function of n inputs
// that is 0 for pattern 0.
func (lib *library6) find(t truth6, n int) uint32 {
	mask := uint64(len(lib.index) - 1)
	h := uint64(t) * 0x9E3779B97F4A7C15 >> 20
	for ; lib.index[h&mask] != 0; h++ {
		if lib.keys[h&mask] == t {
			return lib.index[h&mask]
		}
	}
	lib.make(t, n)
	if lib.entries++; lib.entries*2 > len(lib.index) {
		lib.grow()
	}
	first := uint32(len(lib.recipes))
	for i, r := range lib.made[n] {
		lib.recipes = append(lib.recipes, r)
		lib.last = append(lib.last, i == len(lib.made[n])-1)
	}
	lib.enter(t, first)
	return first
}

func (lib *library6) enter(t truth6, i uint32) {
	mask := uint64(len(lib.index) - 1)
	h := uint64(t) * 0x9E3779B97F4A7C15 >> 20
	for lib.index[h&mask] != 0 {
		h++
	}
	lib.keys[h&mask], lib.index[h&mask] = t, i
}

func (lib *library6) grow() {
	keys, index := lib.keys, lib.index
	lib.keys, lib.index = make([]truth6, 2*len(keys)), make([]uint32, 2*len(keys))
	for k, i := range index {
		if i != 0 {
			lib.enter(keys[k], i)
		}
	}
}

// cost returns the gates of any function.
func (lib *library6) cost(t truth6) int {
	t ^= -(t & 1)
	t, _, n := t.compact()
	switch {
	case n <= 1:
		return 0
	case n <= 4 && !lib.ands:
		return int(lib.four.cost[truth(t).normal()])
	}
	r := &lib.recipes[lib.find(t, n)]
	if r.n == 0 {
		return unknown6
	}
	return int(r.n)
}

// emit appends the gates of a function whose inputs are the items in.
func (lib *library6) emit(r *recipe6, t truth6, in *[6]uint8) (uint8, bool) {
	compl := uint8(t & 1)
	t ^= -(t & 1)
	t, vars, n := t.compact()
	var items [firstStep6 + maxSteps6]uint8
	for i := range n {
		items[1+i] = in[vars[i]]
	}
	at := func(op uint8) uint8 { return items[op>>1] ^ op&1 }
	ok := true
	if n <= 1 {
		return items[n] ^ compl, true
	}
	sub := lib.recipes[lib.find(t, n)]
	if sub.n == 0 {
		return 0, false
	}
	for i, s := range sub.steps[:sub.n] {
		if items[firstStep6+i], ok = r.gate(s&stepXor6 != 0, at(s.operand(0)), at(s.operand(1)), at(s.operand(2))); !ok {
			return 0, false
		}
	}
	return at(sub.out) ^ compl, true
}

// emitFour is emit for a compact function of up to four inputs that is 0 for
// pattern 0, by its optimal recipe.
func (lib *library6) emitFour(r *recipe6, t truth6, in *[6]uint8) (uint8, bool) {
	var items [5 + maxSteps]uint8
	copy(items[1:], in[:4])
	at := func(op uint8) uint8 { return items[op>>1] ^ op&1 }
	sub := &lib.four.recipes[truth(t).normal()]
	for i, s := range sub.steps[:sub.n] {
		var ok bool
		if items[5+i], ok = r.gate(s&stepXor != 0, at(s.operand(0)), at(s.operand(1)), at(s.operand(2))); !ok {
			return 0, false
		}
	}
	return at(sub.out), true
}

// part is a way to take a function apart: an operation, the inputs it concerns
// and the functions that are left.
type part struct {
	op      partOp
	x, y, z uint8 // inputs
	inv     uint8 // bit 0: input x complemented, bit 1: input y
	f, g    truth6
	cost    int
}

type partOp uint8

const (
	partAnd    partOp = iota // x & f
	partXor                  // x ^ f
	partXor3                 // x ^ y ^ f
	partMaj                  // the majority of x, y and f
	partUnate                // the majority of x, f and g
	partMux                  // x ? f : g, by x ^ !f
	partMuxE                 // x ? f : g, by x ^ g
	partDavio                // x & f ^ g
	partBottom               // f where input x is g of x, y and z
)

// make makes the recipes of a compact function of n inputs, the best ones in an
// order that depends on the seed. If it finds none, it makes one of no steps.
func (lib *library6) make(t truth6, n int) {
	lib.parts[n] = lib.parts[n][:0]
	lib.made[n] = lib.made[n][:0]
	if n > 2 || lib.ands {
		strong := lib.bottoms(t, n)
		strong = !lib.ands && lib.pairs(t, n) || strong
		lib.singles(t, n, strong)
	}
	least := unknown6
	if n <= 4 && !lib.ands {
		least = int(lib.four.cost[truth(t).normal()])
	}
	for i := range lib.parts[n] {
		p := &lib.parts[n][i]
		p.cost = lib.partCost(p)
		least = min(least, p.cost)
	}
	var in [6]uint8
	for i := range in {
		in[i] = uint8(i+1) << 1
	}
	if n <= 4 && !lib.ands {
		var r recipe6
		r.out, _ = lib.emitFour(&r, t, &in)
		lib.made[n] = append(lib.made[n], r)
	}
	for i := range lib.parts[n] {
		p := lib.parts[n][i]
		if p.cost > least+1 {
			continue
		}
		var r recipe6
		if lib.build(&r, &p, in) {
			r.sweep()
			lib.keep(&r, n, mix(lib.seed^uint64(t)+uint64(i)))
		}
	}
	if len(lib.made[n]) == 0 {
		lib.made[n] = append(lib.made[n], recipe6{})
	}
}

// keep enters a recipe among those of the function in hand if it is one of the
// best.
func (lib *library6) keep(r *recipe6, n int, random uint64) {
	made := lib.made[n]
	switch {
	case len(made) > 0 && r.n > made[0].n || slices.Contains(made, *r):
		return
	case len(made) > 0 && r.n < made[0].n:
		made = made[:0]
	}
	// The k-th of them replaces one of those kept, or not, with equal chances.
	if len(made) < recipesKept {
		made = append(made, *r)
		i := random % uint64(len(made))
		made[i], made[len(made)-1] = made[len(made)-1], made[i]
	} else if i := random % (2 * recipesKept); i < recipesKept {
		made[i] = *r
	}
	lib.made[n] = made
}

func mix(x uint64) uint64 {
	x ^= x >> 31
	x *= 0x9E3779B97F4A7C15
	x ^= x >> 29
	x *= 0xBF58476D1CE4E5B9
	return x ^ x>>32
}

func (lib *library6) add(n int, p part) { lib.parts[n] = append(lib.parts[n], p) }

// singles finds the parts with one input at the top.
func (lib *library6) singles(t truth6, n int, strong bool) {
	const one = ^truth6(0)
	for j := range n {
		x := uint8(j)
		c0, c1 := t.cofactors(j)
		switch {
		case c0 == 0:
			lib.add(n, part{op: partAnd, x: x, f: c1})
		case c1 == 0:
			lib.add(n, part{op: partAnd, x: x, inv: 1, f: c0})
		case c0 == one: // !x | c1
			lib.add(n, part{op: partUnate, x: x, inv: 1, f: c1, g: one})
		case c1 == one:
			lib.add(n, part{op: partUnate, x: x, f: c0, g: one})
		case c0 == ^c1:
			lib.add(n, part{op: partXor, x: x, f: c0})
		case c0&^c1 == 0:
			lib.add(n, part{op: partUnate, x: x, f: c0, g: c1})
		case c1&^c0 == 0:
			lib.add(n, part{op: partUnate, x: x, inv: 1, f: c0, g: c1})
		default:
			if strong && n == 6 {
				continue
			}
			lib.add(n, part{op: partMux, x: x, f: c1, g: c0})
			if !lib.ands {
				lib.add(n, part{op: partMuxE, x: x, f: c1, g: c0})
			}
		}
		if !lib.ands && (!strong || n < 6) {
			lib.add(n, part{op: partDavio, x: x, f: c0 ^ c1, g: c0})
			lib.add(n, part{op: partDavio, x: x, inv: 1, f: c0 ^ c1, g: c1})
		}
	}
}

// pairs finds the parts with two inputs at the top; it tells whether one of
// them leaves both inputs out of what is left.
func (lib *library6) pairs(t truth6, n int) (strong bool) {
	const one = ^truth6(0)
	for j := range n {
		c0, c1 := t.cofactors(j)
		for i := range j {
			var c [4]truth6 // bit 0 of the index: input i, bit 1: input j
			c[0], c[1] = c0.cofactors(i)
			c[2], c[3] = c1.cofactors(i)
			x, y := uint8(i), uint8(j)
			if c[0] == c[3] && c[1] == c[2] && c[0] == ^c[1] {
				lib.add(n, part{op: partXor3, x: x, y: y, f: c[0]})
				strong = true
			}
			for inv := range uint8(4) {
				if c[inv] != 0 || c[3^inv] != one {
					continue
				}
				// f is c[inv^1] where only the first is true, c[inv^2] where only the second.
				a, b := c[inv^1], c[inv^2]
				if a == b {
					lib.add(n, part{op: partMaj, x: x, y: y, inv: inv, f: a})
					strong = true
					continue
				}
				fx, fy := choose(i, a, b), choose(j, b, a)
				if inv&1 != 0 {
					fx = choose(i, b, a)
				}
				if inv&2 != 0 {
					fy = choose(j, a, b)
				}
				lib.add(n, part{op: partMaj, x: x, y: y, inv: inv, f: fx})
				lib.add(n, part{op: partMaj, x: x, y: y, inv: inv, f: fy})
			}
		}
	}
	return strong
}

// bottoms finds the functions of two or three inputs that no other part needs.
func (lib *library6) bottoms(t truth6, n int) (strong bool) {
	for k := range n {
		c0, c1 := t.cofactors(k)
		for j := range k {
			var c [4]truth6 // bit 0 of the index: input j, bit 1: input k
			c[0], c[1] = c0.cofactors(j)
			c[2], c[3] = c1.cofactors(j)
			if n == 2 {
				break // the function itself
			}
			if g, a, b, ok := twoValues(c[:]); ok {
				f := choose(j, b, a)
				lib.add(n, part{op: partBottom, x: uint8(j), y: uint8(k), z: uint8(k), f: f, g: spread(g, [3]int{j, k, k}, 2)})
				strong = true
				continue
			}
			for i := range j {
				if n == 3 {
					break // the function itself
				}
				var d [8]truth6
				for m, c := range c {
					d[2*m], d[2*m+1] = c.cofactors(i)
				}
				if g, a, b, ok := twoValues(d[:]); ok {
					f := choose(i, b, a)
					lib.add(n, part{op: partBottom, x: uint8(i), y: uint8(j), z: uint8(k), f: f, g: spread(g, [3]int{i, j, k}, 3)})
					strong = true
				}
			}
		}
	}
	return strong
}

// twoValues tells whether the cofactors are two functions, a and b; bit i of g
// is set where the i-th is b.
func twoValues(c []truth6) (g uint8, a, b truth6, ok bool) {
	a, b = c[0], c[0]
	for i, d := range c {
		switch {
		case d == a:
		case b == a || d == b:
			b = d
			g |= 1 << i
		default:
			return 0, 0, 0, false
		}
	}
	return g, a, b, true
}

// spread returns the function of some inputs whose table is g.
func spread(g uint8, inputs [3]int, n int) (t truth6) {
	for i := range 1 << n {
		if g>>i&1 == 0 {
			continue
		}
		m := ^truth6(0)
		for k := range n {
			if i>>k&1 != 0 {
				m &= sixTruth[inputs[k]]
			} else {
				m &^= sixTruth[inputs[k]]
			}
		}
		t |= m
	}
	return t
}

func (lib *library6) partCost(p *part) int {
	cost := lib.cost(p.f)
	switch {
	case lib.ands && p.op == partUnate && p.g+1 != 0: // p.f | x & p.g
		return cost + 2 + lib.cost(p.g)
	case lib.ands && p.op == partXor:
		return cost + 3
	case lib.ands && p.op == partMux:
		return cost + 3 + lib.cost(p.g)
	}
	switch p.op {
	case partUnate:
		cost += 1 + lib.cost(p.g)
	case partMux, partMuxE, partDavio:
		cost += 2 + lib.cost(p.g)
	case partBottom:
		cost += lib.cost(p.g)
	default:
		cost++
	}
	return cost
}

// build makes the recipe of a part; it fails if that is too long.
func (lib *library6) build(r *recipe6, p *part, in [6]uint8) bool {
	x, y := in[p.x]^p.inv&1, in[p.y]^p.inv>>1
	if p.op == partBottom {
		g, ok := lib.emit(r, p.g, &in)
		if !ok {
			return false
		}
		in[p.x] = g
	}
	f, ok := lib.emit(r, p.f, &in)
	if !ok {
		return false
	}
	var g uint8
	switch p.op {
	case partUnate, partMux, partMuxE, partDavio:
		if g, ok = lib.emit(r, p.g, &in); !ok {
			return false
		}
	}
	if lib.ands {
		switch p.op {
		case partXor:
			r.out, ok = r.muxOfAnds(x, f^1, f)
			return ok
		case partMux:
			r.out, ok = r.muxOfAnds(x, f, g)
			return ok
		case partUnate:
			if p.f&^p.g != 0 {
				f, g = g, f
			}
			// x ? g : f, where g is true wherever f is.
			var a uint8
			if a, ok = r.gate(false, x, g, 0); ok {
				r.out, ok = r.gate(false, a, f, 1)
			}
			return ok
		}
	}
	switch p.op {
	case partAnd:
		r.out, ok = r.gate(false, x, f, 0)
	case partXor:
		r.out, ok = r.gate(true, x, f, 0)
	case partXor3:
		r.out, ok = r.gate(true, x, y, f)
	case partMaj:
		r.out, ok = r.gate(false, x, y, f)
	case partUnate:
		r.out, ok = r.gate(false, x, f, g)
	case partMux, partMuxE:
		s := g
		if p.op == partMux {
			s = f ^ 1
		}
		if s, ok = r.gate(true, x, s, 0); ok {
			r.out, ok = r.gate(false, f, g, s)
		}
	case partDavio:
		var a uint8
		if a, ok = r.gate(false, x, f, 0); ok {
			r.out, ok = r.gate(true, a, g, 0)
		}
	case partBottom:
		r.out = f
	}
	return ok
}
