package gen

import "github.com/bitsched/bitsched/netlist"

// borrow returns the borrow out of x - y, which tells that x < y: one Maj a bit.
func (b *builder) borrow(x, y []lit) lit {
	out := netlist.False
	for i := range x {
		out = b.Maj(x[i].Not(), y[i], out)
	}
	return out
}

// trial begins a step of restoring division: it returns the borrow out of
// rem - sub and, for restore, where rem - sub differs from rem: the bits
// sub ^ borrow.
func (b *builder) trial(rem, sub []lit) (differ []lit, out lit) {
	differ = make([]lit, len(sub))
	out = netlist.False
	for i := range sub {
		if b.and { // the borrow shares the three gates of the XOR
			h := b.half(sub[i], out)
			differ[i] = h.sum
			out = b.Or(h.carry, b.And(rem[i].Not(), h.sum))
			continue
		}
		differ[i] = b.Xor(sub[i], out)
		out = b.Maj(rem[i].Not(), sub[i], out)
	}
	return differ, out
}

// restore ends a step of restoring division: it returns rem - sub if take is
// set and rem if not, as many low bits as differ has. That is one gate a bit
// fewer than a difference and a choice.
func (b *builder) restore(rem, differ []lit, take lit) []lit {
	next := make([]lit, len(differ))
	for i := range next {
		next[i] = b.Xor(rem[i], b.And(take, differ[i]))
	}
	return next
}
