package masim

// ranks gives the rank of each node among those of equal priority: its index
// in a first run, random in those after it (section IV).
type ranks struct {
	seed   uint64
	random bool
}

func (r ranks) of(v int32) uint32 {
	if !r.random {
		return uint32(v)
	}
	return uint32(mix(uint64(v)^r.seed) >> 32)
}

// gppicOrder is the execution sequence of XMG-GPPIC [4], whose priority is
// adapted from Soeken et al., DAC'16 [7]: of the gates that are ready, the one
// that frees the most rows, which is the number of fanins that only it still
// needs. Inputs and outputs free none. Among equals comes first, as in DAC'16, the
// gate whose last fanout has the lowest level, since its own row is free again
// sooner.
//
// The MASIM paper does not mention this second criterion. Without it ties go to
// the smallest index, which keeps to the order of the netlist: a first run has 610
// copies in the geometric mean over Table II, where the paper has 922; with it,
// 938. The level of the first fanout gives 986, the gate's own runs out of rows.
func gppicOrder(net *cicppNet, r ranks, _ func() bool) []int32 {
	uses := append([]int32(nil), net.uses...)
	missing := pendingFanins(net)
	// A gate whose priority rises while it is ready is in the heap once more, and
	// comes first by the later key.
	var ready gateHeap
	freed := func(g int32) uint32 {
		n := uint32(0)
		for _, f := range net.faninsOf(g) {
			if int(f) >= net.first && uses[f] == 1 && !net.keep[f] {
				n++
			}
		}
		return n
	}
	last := lastUseLevels(net)
	push := func(g int32) { ready.push(gateKey{(3-freed(g))<<30 | last[g], r.of(g), g}) }
	for g := int32(net.first); int(g) < net.nodes; g++ {
		if missing[g] == 0 {
			push(g)
		}
	}
	order := make([]int32, 0, net.gates())
	done := make([]bool, net.nodes)
	for len(ready) > 0 {
		g := ready.pop().gate
		if done[g] {
			continue
		}
		done[g] = true
		order = append(order, g)
		for _, f := range net.faninsOf(g) {
			uses[f]--
			if int(f) < net.first || uses[f] != 1 || net.keep[f] {
				continue
			}
			for _, h := range net.fanoutsOf(f) {
				if !done[h] && missing[h] == 0 {
					push(h)
				}
			}
		}
		for _, h := range net.fanoutsOf(g) {
			if missing[h]--; missing[h] == 0 {
				push(h)
			}
		}
	}
	return order
}

// lastUseLevels returns by gate the greatest level of its fanouts, 0 if it has
// none. Inputs have level 0. Levels fit 30 bits for any graph of 2^30 nodes.
func lastUseLevels(net *cicppNet) []uint32 {
	level := make([]uint32, net.nodes)
	last := make([]uint32, net.nodes)
	for g := int32(net.first); int(g) < net.nodes; g++ {
		for _, f := range net.faninsOf(g) {
			level[g] = max(level[g], level[f]+1)
		}
		for _, f := range net.faninsOf(g) {
			last[f] = max(last[f], level[g])
		}
	}
	return last
}

// pendingFanins returns by node how many of its fanins are gates.
func pendingFanins(net *cicppNet) []int8 {
	missing := make([]int8, net.nodes)
	for g := int32(net.first); int(g) < net.nodes; g++ {
		for _, f := range net.faninsOf(g) {
			if int(f) >= net.first {
				missing[g]++
			}
		}
	}
	return missing
}

// gateKey orders gates by priority, the least first, then by rank, then by index.
type gateKey struct {
	priority, rank uint32
	gate           int32
}

func (k gateKey) before(l gateKey) bool {
	switch {
	case k.priority != l.priority:
		return k.priority < l.priority
	case k.rank != l.rank:
		return k.rank < l.rank
	}
	return k.gate < l.gate
}

// gateHeap is a binary heap with the first key on top.
type gateHeap []gateKey

func (h *gateHeap) push(k gateKey) {
	a := append(*h, k)
	i := len(a) - 1
	for i > 0 && k.before(a[(i-1)/2]) {
		a[i] = a[(i-1)/2]
		i = (i - 1) / 2
	}
	a[i] = k
	*h = a
}

func (h *gateHeap) pop() gateKey {
	a := *h
	top, k := a[0], a[len(a)-1]
	a = a[:len(a)-1]
	*h = a
	if len(a) == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c+1 < len(a) && a[c+1].before(a[c]) {
			c++
		}
		if c >= len(a) || !a[c].before(k) {
			break
		}
		a[i] = a[c]
		i = c
	}
	a[i] = k
	return top
}
