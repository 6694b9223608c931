package masim

import (
	"cmp"
	"slices"
)

// simplerOrder is the execution sequence of SIMPLER MAGIC [8]: depth first from
// the outputs, one after another, until a gate that is ready. Fanins are visited
// by falling cell usage, an optimistic estimate of the rows that it takes to
// compute them: Strahler's number [13].
//
// Gates that lead to no output come last, as roots of their own.
func simplerOrder(net *cicppNet, r ranks, _ func() bool) []int32 {
	usage := cellUsage(net)
	roots := make([]int32, 0)
	for g := int32(net.first); int(g) < net.nodes; g++ {
		if net.uses[g] == 0 {
			roots = append(roots, g)
		}
	}
	first := func(v, w int32) int {
		return cmp.Or(cmp.Compare(usage[w], usage[v]), cmp.Compare(r.of(v), r.of(w)), cmp.Compare(v, w))
	}
	slices.SortFunc(roots, func(v, w int32) int {
		return cmp.Or(cmp.Compare(r.of(v), r.of(w)), cmp.Compare(v, w))
	})
	order := make([]int32, 0, net.gates())
	done := make([]bool, net.nodes)
	var stack []int32
	for _, root := range roots {
		stack = append(stack[:0], root)
		for len(stack) > 0 {
			g := stack[len(stack)-1]
			next := int32(0)
			for _, f := range net.faninsOf(g) {
				if int(f) >= net.first && !done[f] && (next == 0 || first(f, next) < 0) {
					next = f
				}
			}
			if next != 0 {
				stack = append(stack, next)
				continue
			}
			stack = stack[:len(stack)-1]
			done[g] = true
			order = append(order, g)
		}
	}
	return order
}

// cellUsage returns by gate the estimate of the rows to compute it: 1 if all
// its fanins are inputs, otherwise, with the usages of the fanins in falling
// order, the greatest of usage i plus i, since the results of those before it are
// kept. It counts a fanin once for each gate that needs it, and is exact on trees.
func cellUsage(net *cicppNet) []int32 {
	usage := make([]int32, net.nodes)
	for g := int32(net.first); int(g) < net.nodes; g++ {
		var u [3]int32
		for i, f := range net.faninsOf(g) {
			u[i] = usage[f] // 0 for inputs
		}
		sort3(&u, 3)
		need := int32(1)
		for i := range u {
			if x := u[2-i]; x > 0 {
				need = max(need, x+int32(i))
			}
		}
		usage[g] = need
	}
	return usage
}
