package cfront

import (
	"slices"

	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// maxBlock is how long blocks are at most that are taken to be for the caches of a core, where
// arrays have no use for them (section 3.5). Longer ones may be for the L3.
const maxBlock = 256

// unblock undoes blocks in the statements: of a loop over blocks, whose variable says no more
// than where loops in it begin, these go through all blocks at once.
//
//	for (b = 0; b < 4; b++)            for (k = 0; k < K; k++)
//		for (k = 0; k < K; k++)           for (m = 0; m < 32; m++)
//			for (m = 8*b; m < 8*b+8; m++)     ...
//
// It can be done where no iteration of m needs what another one does. Inner blocks go first. What
// comes of a loop is kept, as statements are planned several times.
func (p *planner) unblock(body []stmt, hosts []*loop) []stmt {
	var out []stmt
	for _, s := range body {
		l, ok := s.(*loop)
		if !ok {
			out = append(out, s)
			continue
		}
		list, known := p.unblocked[l]
		if !known {
			list = p.unblockLoop(l, hosts)
			p.unblocked[l] = list
			for _, s := range list { // of which nothing more comes
				if l, ok := s.(*loop); ok {
					p.unblocked[l] = []stmt{l}
				}
			}
		}
		out = append(out, list...)
	}
	return out
}

func (p *planner) unblockLoop(l *loop, hosts []*loop) []stmt {
	p.checkContext()
	if inner := p.unblock(l.body, append(slices.Clip(hosts), l)); !slices.Equal(inner, l.body) {
		c := *l
		c.body = inner
		adopt(l, &c)
		l = &c
	}
	b := blocksOf(l)
	if b == nil || !p.apart(b, hosts) {
		return []stmt{l}
	}
	return b.joined(l.body)
}

// blocks is a loop over blocks with the loops in it that go through one, each by how much it
// begins behind the first element of a block.
type blocks struct {
	outer *loop
	size  int64
	inner map[*loop]lattice.Expr
}

// blocksOf returns a loop's blocks, nil where it has none: each assignment is in one loop that
// goes through a block, and in no other way is there anything of the block.
func blocksOf(l *loop) *blocks {
	if l.step != 1 || l.while != nil || l.from != nil || l.to != nil {
		return nil
	}
	b := &blocks{outer: l, inner: map[*loop]lattice.Expr{}}
	name, good := l.v.name, true
	copied := map[*loop]bool{l: true}
	walkStmts(l.body, nil, func(s stmt, loops []*loop) {
		switch s := s.(type) {
		case *loop:
			size, isConst := s.hi.Sub(s.lo).Const()
			switch at := s.lo.Coef(name); {
			case at == 0 && s.hi.Coef(name) == 0:
				copied[s] = true
			case !isConst || at != size || b.size != 0 && b.size != size || size < 2 || size > maxBlock || s.step != 1 || s.while != nil || s.from != nil || s.to != nil:
				good = false
			default:
				b.size, b.inner[s] = size, s.lo.Subst(name, lattice.Const(0))
			}
		case *assign:
			n := 0
			for _, l := range loops {
				if _, is := b.inner[l]; is {
					n++
				}
			}
			good = good && n == 1 && s.result == nil
			for _, x := range []*expr{s.target, s.value, s.guard} {
				x.walk(func(y *expr) {
					// The blocks' variable, or one that has a value from outside of the loop of a block.
					if y.kind == varExpr && (y.v == l.v || y.v.kind == localVar && copied[y.v.scope]) {
						good = false
					}
				})
			}
		}
	})
	if !good || len(b.inner) == 0 {
		return nil
	}
	return b
}

// all returns the bounds of a loop that goes through all blocks.
func (b *blocks) all(begin lattice.Expr) (lo, hi lattice.Expr) {
	return b.outer.lo.Scale(b.size).Add(begin), b.outer.hi.Scale(b.size).Add(begin)
}

// joined returns statements whose loops go through all blocks.
func (b *blocks) joined(body []stmt) []stmt {
	out := make([]stmt, len(body))
	for i, s := range body {
		l, ok := s.(*loop)
		if !ok {
			out[i] = s
			continue
		}
		c := *l
		if begin, is := b.inner[l]; is {
			c.lo, c.hi = b.all(begin)
		} else {
			c.body = b.joined(l.body)
		}
		adopt(l, &c)
		out[i] = &c
	}
	return out
}

// apart reports whether no element of a block needs what happens at another one, of its block or
// of others: as iterations of one loop around all else, over the elements of all blocks.
func (p *planner) apart(b *blocks, hosts []*loop) bool {
	v := *b.outer.v
	v.name = p.k.unique(v.name)
	around := &loop{v: &v, step: 1, pos: b.outer.pos}
	around.lo, around.hi = b.all(lattice.Const(0))
	var early, late []access
	free := true
	walkStmts([]stmt{b.outer}, nil, func(s stmt, loops []*loop) {
		a, ok := s.(*assign)
		if !ok {
			return
		}
		if a.target.kind == varExpr && slices.ContainsFunc(outliving(a.target.v, loops), func(l *loop) bool { return l == b.outer || b.has(l) }) {
			free = false
		}
		at := loops[slices.IndexFunc(loops, b.has)]
		subst := func(e lattice.Expr) lattice.Expr {
			return e.Subst(at.v.name, lattice.Sym(v.name).Add(b.inner[at]))
		}
		for _, list := range []*[]access{&early, &late} {
			chain := []*loop{around}
			for _, l := range loops[1:] {
				if l != at {
					c := *l
					c.lo, c.hi = subst(l.lo), subst(l.hi)
					chain = append(chain, &c)
				}
			}
			for _, x := range accesses(a, chain, 0, scalar.NoOp) {
				for d, e := range x.index {
					x.index[d] = subst(e)
				}
				*list = append(*list, x)
			}
		}
	})
	return free && !p.backward(p.space(hosts), early, late)
}

func (b *blocks) has(l *loop) bool {
	_, is := b.inner[l]
	return is
}
