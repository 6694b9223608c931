package sparse

import "math/bits"

// mask is some of the SPUs of a bank, of which there are at most [maxPairs].
type mask [maxPairs / 64]uint64

// each calls f for each in rising order.
func (m mask) each(f func(q int)) {
	for k, w := range m {
		for ; w != 0; w &= w - 1 {
			f(64*k + bits.TrailingZeros64(w))
		}
	}
}

// spuSet is a set of SPUs: those that a part of a step concerns, so that it costs what
// they do and not what the stack has. Threads may change those of banks of their own.
type spuSet struct {
	pairs int
	banks []mask
}

func newSPUSet(banks, pairs int) spuSet { return spuSet{pairs, make([]mask, banks)} }

func (x *spuSet) add(s int) {
	q := s % x.pairs
	x.banks[s/x.pairs][q/64] |= 1 << (q % 64)
}

func (x *spuSet) remove(s int) {
	q := s % x.pairs
	x.banks[s/x.pairs][q/64] &^= 1 << (q % 64)
}

func (x *spuSet) clear() { clear(x.banks) }

func (x *spuSet) empty() bool {
	for _, m := range x.banks {
		if m != (mask{}) {
			return false
		}
	}
	return true
}

// each calls f for each SPU, bank by bank in rising order.
func (x *spuSet) each(f func(s int)) {
	for g, m := range x.banks {
		if m != (mask{}) {
			m.each(func(q int) { f(g*x.pairs + q) })
		}
	}
}

// join adds those of another set.
func (x *spuSet) join(y *spuSet) {
	for g := range x.banks {
		for k := range x.banks[g] {
			x.banks[g][k] |= y.banks[g][k]
		}
	}
}

// list appends the banks that have some of the SPUs.
func (x *spuSet) list(to []int) []int {
	for g, m := range x.banks {
		if m != (mask{}) {
			to = append(to, g)
		}
	}
	return to
}
