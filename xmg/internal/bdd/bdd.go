// Package bdd holds functions of many inputs as reduced ordered binary decision
// diagrams, with complemented edges (Bryant 1986; Brace, Rudell, Bryant 1990), and takes
// them apart into sums of products.
//
// It is for functions that may be small: every operation has a bound on the nodes, and
// says so when it is reached. It is no place for multipliers.
package bdd

import "errors"

// Edge is a function: a node<<1, and 1 more for its complement.
type Edge uint32

// The constant functions.
const (
	False Edge = 1
	True  Edge = 0
)

// Not returns the complement.
func (e Edge) Not() Edge { return e ^ 1 }

// ErrSize says that more nodes, operations or literals are needed than allowed.
var ErrSize = errors.New("bdd: too many nodes or operations")

// node branches on a variable. Its then-edge is never complemented.
type node struct {
	level     uint32 // of the variable; that of the constant is above all
	then, els Edge
}

const constLevel = ^uint32(0)

// Manager holds the nodes of functions that are in one order of the variables. They are
// never freed.
type Manager struct {
	nodes []node
	table []uint32 // open addressing; 0 = empty
	cache []cached
	most  int
	work  int // operations that may yet be done
	stop  func() bool
}

// workPerNode is how many operations are allowed for each node that is.
const workPerNode = 8

type cached struct {
	op      uint32
	a, b, r Edge
}

const (
	opAnd = iota + 1 // 0 is an empty place
	opXor
)

// maxCache bounds the operations that are kept; there are as many as nodes otherwise.
const maxCache = 1 << 18

// New returns a manager of at most some nodes, and of operations in proportion. It
// gives up when stop says so, which may be nil.
func New(most int, stop func() bool) *Manager {
	return &Manager{
		nodes: []node{{constLevel, True, True}}, table: make([]uint32, 1<<12),
		cache: make([]cached, 1<<12), most: most, work: workPerNode * most, stop: stop,
	}
}

// Level returns the level of the variable that a function branches on first; it is
// the largest number for constants.
func (m *Manager) Level(e Edge) uint32 { return m.nodes[e>>1].level }

// Branches returns the functions where the variable of a level is 1 and where it is 0.
func (m *Manager) Branches(e Edge, level uint32) (then, els Edge) {
	n := &m.nodes[e>>1]
	if n.level != level {
		return e, e
	}
	return n.then ^ e&1, n.els ^ e&1
}

// Var returns the variable of a level.
func (m *Manager) Var(level uint32) (Edge, error) { return m.node(level, True, False) }

func (m *Manager) node(level uint32, then, els Edge) (Edge, error) {
	if then == els {
		return then, nil
	}
	flip := then & 1
	n := node{level, then ^ flip, els ^ flip}
	mask := uint32(len(m.table) - 1)
	h := n.hash() & mask
	for ; m.table[h] != 0; h = (h + 1) & mask {
		if id := m.table[h]; m.nodes[id] == n {
			return Edge(id)<<1 | flip, nil
		}
	}
	if len(m.nodes) >= m.most {
		return 0, ErrSize
	}
	id := uint32(len(m.nodes))
	m.nodes = append(m.nodes, n)
	m.table[h] = id
	if len(m.nodes)*2 > len(m.table) {
		m.grow()
	}
	return Edge(id)<<1 | flip, nil
}

func (n node) hash() uint32 {
	h := uint64(n.level)*0x9E3779B97F4A7C15 + uint64(n.then)*0xC2B2AE3D27D4EB4F + uint64(n.els)*0x165667B19E3779F9
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	return uint32(h >> 32)
}

func (m *Manager) grow() {
	m.table = make([]uint32, 2*len(m.table))
	if len(m.cache) < maxCache {
		m.cache = make([]cached, 2*len(m.cache))
	}
	mask := uint32(len(m.table) - 1)
	for id := 1; id < len(m.nodes); id++ {
		h := m.nodes[id].hash() & mask
		for m.table[h] != 0 {
			h = (h + 1) & mask
		}
		m.table[h] = uint32(id)
	}
}

func (m *Manager) cached(op uint32, a, b Edge) *cached {
	return &m.cache[node{op, a, b}.hash()&uint32(len(m.cache)-1)]
}

// And returns the conjunction of two functions.
func (m *Manager) And(a, b Edge) (Edge, error) {
	switch {
	case a == b || b == True:
		return a, nil
	case a == True:
		return b, nil
	case a == b.Not() || a == False || b == False:
		return False, nil
	}
	return m.apply(opAnd, a, b)
}

// Or returns the disjunction of two functions.
func (m *Manager) Or(a, b Edge) (Edge, error) {
	r, err := m.And(a.Not(), b.Not())
	return r.Not(), err
}

// Xor returns the exclusive or of two functions.
func (m *Manager) Xor(a, b Edge) (Edge, error) {
	flip := (a ^ b) & 1
	a, b = a&^1, b&^1
	switch {
	case a == b:
		return False ^ flip, nil
	case a == True:
		return b ^ flip ^ 1, nil
	case b == True:
		return a ^ flip ^ 1, nil
	}
	r, err := m.apply(opXor, a, b)
	return r ^ flip, err
}

// Maj returns the majority of three functions.
func (m *Manager) Maj(a, b, c Edge) (Edge, error) {
	both, err := m.And(a, b)
	if err != nil {
		return 0, err
	}
	any, err := m.Or(a, b)
	if err != nil {
		return 0, err
	}
	if any, err = m.And(any, c); err != nil {
		return 0, err
	}
	return m.Or(both, any)
}

func (m *Manager) apply(op uint32, a, b Edge) (Edge, error) {
	if a > b {
		a, b = b, a
	}
	if c := m.cached(op, a, b); c.op == op && c.a == a && c.b == b {
		return c.r, nil
	}
	if m.work--; m.work < 0 || m.work%(1<<16) == 0 && m.stop != nil && m.stop() {
		return 0, ErrSize
	}
	level := min(m.Level(a), m.Level(b))
	a1, a0 := m.Branches(a, level)
	b1, b0 := m.Branches(b, level)
	do := m.And
	if op == opXor {
		do = m.Xor
	}
	then, err := do(a1, b1)
	if err != nil {
		return 0, err
	}
	els, err := do(a0, b0)
	if err != nil {
		return 0, err
	}
	r, err := m.node(level, then, els)
	if err == nil {
		*m.cached(op, a, b) = cached{op, a, b, r}
	}
	return r, err
}

// Copy returns a function of another manager, whose order of variables is the same.
func (m *Manager) Copy(from *Manager, f Edge) (Edge, error) {
	made := map[Edge]Edge{True: True}
	var copy func(f Edge) (Edge, error)
	copy = func(f Edge) (Edge, error) {
		if e, ok := made[f&^1]; ok {
			return e ^ f&1, nil
		}
		n := from.nodes[f>>1]
		then, err := copy(n.then)
		if err != nil {
			return 0, err
		}
		els, err := copy(n.els)
		if err != nil {
			return 0, err
		}
		e, err := m.node(n.level, then, els)
		made[f&^1] = e
		return e ^ f&1, err
	}
	return copy(f)
}

// Size returns how many nodes functions have together, without the constant.
func (m *Manager) Size(functions ...Edge) int {
	seen := map[Edge]bool{0: true}
	stack := make([]Edge, 0, len(functions))
	for _, e := range functions {
		stack = append(stack, e&^1)
	}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[e] {
			continue
		}
		seen[e] = true
		n := m.nodes[e>>1]
		stack = append(stack, n.then, n.els&^1)
	}
	return len(seen) - 1
}

// Literal is a variable in a product: its level<<1, and 1 more for its complement.
type Literal uint32

// Products returns a sum of products of a function that no product and no literal can
// be left out of (Minato, "Fast generation of irredundant sum-of-products forms from
// binary decision diagrams", 1992), at most some literals; the literals of a product
// are in the order of the variables. The error is ErrSize.
func (m *Manager) Products(f Edge, most int) ([][]Literal, error) {
	c := &cover{m: m, most: most, known: map[[2]Edge]covered{}}
	r, err := c.cover(f, f)
	if err != nil {
		return nil, err
	}
	sum := make([][]Literal, len(r.products))
	for i, p := range r.products {
		for ; p != nil; p = p.next {
			sum[i] = append(sum[i], p.literal)
		}
		if most -= len(sum[i]); most < 0 {
			return nil, ErrSize
		}
	}
	return sum, nil
}

type cover struct {
	m     *Manager
	known map[[2]Edge]covered
	most  int // terms that may yet be made
}

type covered struct {
	function Edge
	products []*term // nil is the empty product
}

// term is a product: a literal and the rest of it, which others may have, too.
type term struct {
	literal Literal
	next    *term
}

// cover returns products that are true wherever lower is, and nowhere where upper is not.
func (c *cover) cover(lower, upper Edge) (covered, error) {
	switch {
	case lower == False:
		return covered{False, nil}, nil
	case upper == True:
		return covered{True, []*term{nil}}, nil
	}
	key := [2]Edge{lower, upper}
	if r, ok := c.known[key]; ok {
		return r, nil
	}
	m := c.m
	level := min(m.Level(lower), m.Level(upper))
	l1, l0 := m.Branches(lower, level)
	u1, u0 := m.Branches(upper, level)
	// What only a product with the literal can cover.
	only0, err := m.And(l0, u1.Not())
	if err != nil {
		return covered{}, err
	}
	only1, err := m.And(l1, u0.Not())
	if err != nil {
		return covered{}, err
	}
	r0, err := c.cover(only0, u0)
	if err != nil {
		return covered{}, err
	}
	r1, err := c.cover(only1, u1)
	if err != nil {
		return covered{}, err
	}
	rest0, err := m.And(l0, r0.function.Not())
	if err != nil {
		return covered{}, err
	}
	rest1, err := m.And(l1, r1.function.Not())
	if err != nil {
		return covered{}, err
	}
	rest, err := m.Or(rest0, rest1)
	if err != nil {
		return covered{}, err
	}
	both, err := m.And(u0, u1)
	if err != nil {
		return covered{}, err
	}
	r2, err := c.cover(rest, both)
	if err != nil {
		return covered{}, err
	}
	var r covered
	f1, err := m.Or(r1.function, r2.function)
	if err != nil {
		return covered{}, err
	}
	f0, err := m.Or(r0.function, r2.function)
	if err != nil {
		return covered{}, err
	}
	if r.function, err = m.node(level, f1, f0); err != nil {
		return covered{}, err
	}
	for k, part := range [2]covered{r1, r0} {
		for _, p := range part.products {
			if c.most--; c.most < 0 {
				return covered{}, ErrSize
			}
			r.products = append(r.products, &term{Literal(level)<<1 | Literal(k), p})
		}
	}
	r.products = append(r.products, r2.products...)
	c.known[key] = r
	return r, nil
}
