package xmg

import (
	"cmp"
	"slices"
)

// Limits of linear sums over a cut.
const (
	maxLinearLeaves = 8
	maxLinearFirst  = 64  // parities that a cut begins with
	maxLinearCuts   = 32  // for each of these
	maxLinearGates  = 128 // between a cut and what is over it
	maxLinearSums   = 256 // that are replaced
)

// linearise replaces large parities that are left by a linear function of a few nodes
// below them, where their sum is one modulo 2^n, whatever values these nodes take. It
// reports whether it found one.
//
// The highest outputs of an adder are all there is of their places: without carries out,
// synthesis makes them of other gates than full adders, whose parities nothing cancels.
// Together they still are what they add. A full adder is the least of such sums.
func (al *algebra) linearise() bool {
	var left []int32
	for id := range al.sum {
		if al.parityIsLarge(id) {
			left = append(left, id)
		}
	}
	// From the outputs on, whatever the order of the map.
	slices.SortFunc(left, func(a, b int32) int {
		x, y := al.terms[a], al.terms[b]
		return cmp.Or(cmp.Compare(y[len(y)-1], x[len(x)-1]), cmp.Compare(a, b))
	})
	for _, id := range left[:min(len(left), maxLinearFirst)] {
		for _, m := range al.made[id] {
			if al.lineariseBelow(m.nodes(), left) {
				return true
			}
		}
	}
	return false
}

// madeParity is a way in which a parity is made: of three literals, complemented or not.
type madeParity struct {
	of   [3]Lit
	flip bool
}

// maxMade are the ways that are kept for a parity: both circuits may have one.
const maxMade = 4

// nodes are those of the literals, ascending, but the constant.
func (m madeParity) nodes() (list []uint32) {
	for _, l := range m.of {
		if l>>1 != 0 {
			list = union(list, []uint32{uint32(l >> 1)})
		}
	}
	return list
}

// lineariseBelow tries cuts from some nodes down, the last gate of each becoming what it
// is made of in the next.
func (al *algebra) lineariseBelow(leaves []uint32, left []int32) bool {
	for range maxLinearCuts {
		if al.work > maxFormWork || len(leaves) > 2*maxLinearLeaves || len(leaves) == 0 {
			return false
		}
		if len(leaves) <= maxLinearLeaves && al.lineariseOver(leaves, left) {
			return true
		}
		last := leaves[len(leaves)-1]
		if int(last) < al.g.FirstGate() {
			return false
		}
		leaves = union(leaves[:len(leaves)-1], madeParity{of: al.g.nodes[last]}.nodes())
	}
	return false
}

// cutTable is the truth table of a node over the leaves of a cut.
type cutTable [1 << maxLinearLeaves / 64]uint64

// lineariseOver does so for those of some parities that are functions of a cut.
func (al *algebra) lineariseOver(leaves []uint32, parities []int32) bool {
	known := map[uint32]*cutTable{0: {}} // nil is of what is no function of the cut
	for i, v := range leaves {
		t := &cutTable{}
		for p := range 1 << maxLinearLeaves {
			t[p>>6] |= uint64(p>>i&1) << (p & 63)
		}
		known[v] = t
	}
	gates := 0
	var value func(id uint32) *cutTable
	value = func(id uint32) *cutTable {
		if t, ok := known[id]; ok {
			return t
		}
		known[id] = nil
		if gates++; int(id) < al.g.FirstGate() || id < leaves[0] || gates > maxLinearGates {
			return nil
		}
		var x [3]cutTable
		for k, l := range al.g.nodes[id] {
			t := value(uint32(l >> 1))
			if t == nil {
				return nil
			}
			for i := range t {
				x[k][i] = t[i] ^ -uint64(l&1)
			}
		}
		t := &cutTable{}
		for i := range t {
			if al.g.Kind(int(id)) == Maj {
				t[i] = x[0][i]&x[1][i] | x[0][i]&x[2][i] | x[1][i]&x[2][i]
			} else {
				t[i] = x[0][i] ^ x[1][i] ^ x[2][i]
			}
		}
		known[id] = t
		return t
	}
	// The sum for all values of the leaves.
	var group []int32
	total := make([]coefficient, 1<<len(leaves))
	for _, id := range parities {
		for _, m := range al.made[id] {
			x, y, z := value(uint32(m.of[0]>>1)), value(uint32(m.of[1]>>1)), value(uint32(m.of[2]>>1))
			if x == nil || y == nil || z == nil {
				continue
			}
			group = append(group, id)
			flip := btoi(m.flip) ^ int(m.of[0]^m.of[1]^m.of[2])&1
			for p := range total {
				if int((x[p>>6]^y[p>>6]^z[p>>6])>>(p&63)&1) != flip {
					total[p] = al.trim(total[p].plus(al.sum[id]))
				}
			}
			break
		}
	}
	al.work += len(parities) + 4*gates + len(group)*len(total)
	if len(group) == 0 {
		return false
	}
	slopes := make([]coefficient, len(leaves))
	for i := range slopes {
		slopes[i] = al.trim(total[1<<i].plus(total[0].minus()))
	}
	for p := range total {
		sum := total[0]
		for i, c := range slopes {
			if p>>i&1 != 0 {
				sum = sum.plus(c)
			}
		}
		if al.trim(sum) != total[p] {
			return false
		}
	}
	for _, id := range group {
		delete(al.sum, id)
	}
	al.constant = al.trim(al.constant.plus(total[0]))
	for i, c := range slopes {
		al.addLit(MakeLit(int(leaves[i]), false), c)
	}
	return true
}
