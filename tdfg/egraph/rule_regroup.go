package egraph

import (
	"cmp"
	"slices"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// maxAtoms bounds the terms of a sum that regroup looks at.
const maxAtoms = 128

type atomsKey struct {
	class classID
	op    scalar.Op
}

// feature is something that a term of a sum may have in common with others: it is
// an operation on inner, and the same one of others.
type feature struct {
	head   headID
	factor classID // the operand that is common too, none if there is one operand
	common int8    // which operand that is
	atom   int32   // of the term
	inner  classID
}

// regroup is what 3a and 3b give for sums of many terms, of which there are far too
// many orders to make all of them (3^n nodes for n terms). It makes those that 4a,
// 4b and 3c can go on with: the terms that are moved alike, broadcast alike or
// multiplied by the same stand together, with the others behind them, and all terms
// in the order of their classes, so that equal sums become the same. What is
// common is taken out at once.
func regroup(s *search, n nodeID) {
	c := s.classOf(n)
	f := s.nodes[n].head
	op := s.heads[f].op
	t := s.factsOf(c).typ
	if !s.associative(op, t) || s.class(c).part {
		return
	}
	key := atomsKey{c, op}
	atoms := s.atomsOf(key)
	if len(atoms) < 3 || len(atoms) > maxAtoms {
		return
	}
	sign := uint64(len(atoms))
	for _, a := range atoms {
		sign = (sign ^ uint64(a)<<32 ^ uint64(len(s.each(a)))) * 0x9e3779b97f4a7c15
	}
	if s.regrouped[key] == sign || !s.match() {
		return
	}
	s.same(n, s.chain(f, atoms))

	features := s.features(op, t, atoms)
	for lo := 0; lo < len(features); {
		hi := lo + 1
		for hi < len(features) && features[hi].sameAs(features[lo]) {
			hi++
		}
		group := features[lo:hi]
		lo = hi
		inner, rest := split(atoms, group)
		if len(inner) < 2 {
			continue
		}
		if !s.match() {
			return
		}
		sum := s.chain(f, inner)
		switch x := group[0]; {
		case x.factor == none:
			sum = s.apply(x.head, sum)
		case x.common == 0:
			sum = s.add(x.head, x.factor, sum)
		default:
			sum = s.add(x.head, sum, x.factor)
		}
		if len(rest) > 0 {
			sum = s.add(f, sum, s.chain(f, rest))
		}
		s.same(n, sum)
	}
	s.regrouped[key] = sign
}

func (x feature) sameAs(y feature) bool {
	return x.head == y.head && x.factor == y.factor && x.common == y.common
}

// features lists what the terms have, by what it is and then by term.
func (s *search) features(op scalar.Op, t scalar.Type, atoms []classID) []feature {
	var list []feature
	for i, a := range atoms {
		for _, n := range s.each(a) {
			x := feature{head: s.nodes[n].head, factor: none, atom: int32(i)}
			switch h := s.heads[x.head]; {
			case h.kind == tdfg.Move || h.kind == tdfg.Broadcast:
				x.inner = s.arg(n, 0)
				list = append(list, x)
			case h.kind != tdfg.Compute:
			case s.distributes(op, h.op, t)&unaryBit != 0:
				x.inner = s.arg(n, 0)
				list = append(list, x)
			default:
				may := s.distributes(op, h.op, t)
				for common := range 2 {
					if may&(2<<common) != 0 {
						x.factor, x.inner = s.arg(n, common), s.arg(n, 1-common)
						if x.common = int8(common); h.op.Commutative() {
							x.common = 0
						}
						list = append(list, x)
					}
				}
			}
		}
	}
	slices.SortStableFunc(list, func(x, y feature) int {
		return cmp.Or(cmp.Compare(x.head, y.head), cmp.Compare(x.factor, y.factor), cmp.Compare(x.common, y.common), cmp.Compare(x.atom, y.atom))
	})
	return list
}

// split returns what the terms of a group have inside, in the order of the classes,
// and the terms that are not in the group.
func split(atoms []classID, group []feature) (inner, rest []classID) {
	i := 0
	for k, a := range atoms {
		if i < len(group) && group[i].atom == int32(k) {
			inner = append(inner, group[i].inner)
			for i < len(group) && group[i].atom == int32(k) {
				i++ // one of several is enough
			}
			continue
		}
		rest = append(rest, a)
	}
	slices.Sort(inner)
	return inner, rest
}

// chain returns the sum of classes in their order.
func (s *search) chain(f headID, list []classID) classID {
	sum := list[0]
	for i, a := range list[1:] {
		s.chaining = i < len(list)-2
		sum = s.add(f, sum, a)
	}
	s.chaining = false
	return sum
}

// atomsOf returns the terms of a sum in order, those apart that are sums
// themselves.
func (s *search) atomsOf(key atomsKey) []classID {
	if list, ok := s.atoms[key]; ok {
		if list == nil {
			return []classID{key.class} // asked for by a term of itself
		}
		return list
	}
	s.atoms[key] = nil
	var list []classID
	for _, n := range s.each(key.class) {
		if h := s.headOf(n); h.kind != tdfg.Compute || h.op != key.op || slices.Contains(s.argsOf(n), key.class) {
			continue // or it is x = x + 0
		}
		for i := range 2 {
			list = append(list, s.atomsOf(atomsKey{s.arg(n, i), key.op})...)
		}
		break
	}
	if len(list) == 0 || len(list) > maxAtoms {
		list = []classID{key.class}
	}
	slices.Sort(list)
	s.atoms[key] = list
	return list
}
