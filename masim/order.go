package masim

import "sort"

// graphOrder is the order of the gates in the graph.
func (in *instance) graphOrder() []int32 {
	order := make([]int32, in.gates)
	for i := range order {
		order[i] = int32(i)
	}
	return order
}

// depthFirst visits the outputs one after another, the one with the fewest gates
// still to run first, and each gate's fanins from the deepest on.
//
// Choosing the output looks at no more than 16 times the gates in all; after
// that they come by depth, so the time is linear in the gates.
func (in *instance) depthFirst() []int32 {
	depth := make([]int32, in.gates)
	for g := range depth {
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 {
				depth[g] = max(depth[g], depth[f]+1)
			}
		}
	}
	var roots []int32
	for g := range in.gates {
		if v := in.first + g; in.isOut[v] || in.useStart[v] == in.useStart[v+1] {
			roots = append(roots, g)
		}
	}
	sort.SliceStable(roots, func(i, j int) bool { return depth[roots[i]] < depth[roots[j]] })

	order := make([]int32, 0, in.gates)
	done := make([]bool, in.gates)
	mark := make([]int32, in.gates)
	var stack []int32
	budget := 16 * int64(in.gates)
	for stamp := int32(1); len(roots) > 0; stamp++ {
		pick := 0
		if budget > 0 {
			best := int64(len(done)) + 1
			for i, root := range roots {
				n := int64(0)
				stamp++
				stack = append(stack[:0], root)
				mark[root] = stamp
				for len(stack) > 0 && n < best {
					g := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					if done[g] {
						continue
					}
					n++
					for _, v := range in.fanin[g] {
						if f := v - in.first; f >= 0 && !done[f] && mark[f] != stamp {
							mark[f] = stamp
							stack = append(stack, f)
						}
					}
				}
				budget -= n
				if n < best {
					best, pick = n, i
				}
				if best <= 1 || budget <= 0 {
					break
				}
			}
		}
		root := roots[pick]
		roots = append(roots[:pick], roots[pick+1:]...)
		order = in.visit(root, depth, done, order)
	}
	return order
}

// visit appends the gates below root that are not done, fanins first.
func (in *instance) visit(root int32, depth []int32, done []bool, order []int32) []int32 {
	stack := []int32{root}
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		if done[g] {
			stack = stack[:len(stack)-1]
			continue
		}
		deepest := int32(-1)
		for _, v := range in.fanin[g] {
			if f := v - in.first; f >= 0 && !done[f] && (deepest < 0 || depth[f] > depth[deepest]) {
				deepest = f
			}
		}
		if deepest >= 0 {
			stack = append(stack, deepest)
			continue
		}
		done[g] = true
		order = append(order, g)
		stack = stack[:len(stack)-1]
	}
	return order
}

// eager takes an order and runs each gate that ends the life of as many values
// as it adds as soon as its fanins are there: the carry of a full adder comes
// right after its sum, and not when a depth-first order first asks for it.
func (in *instance) eager(order []int32) []int32 {
	const widest = 16 // fanouts of a value that are looked at
	out := make([]int32, 0, in.gates)
	done := make([]bool, in.gates)
	left := make([]int32, in.values) // uses to come
	for v := range left {
		left[v] = in.useStart[v+1] - in.useStart[v]
	}
	var queue []int32
	run := func(g int32) {
		done[g] = true
		out = append(out, g)
		for _, v := range in.fanin[g] {
			left[v]--
		}
		queue = append(queue, g)
	}
	worth := func(g int32) bool {
		ends := 0
		for _, v := range in.fanin[g] {
			f := v - in.first
			if f < 0 {
				continue
			}
			if !done[f] {
				return false
			}
			if left[v] == 1 && !in.isOut[v] {
				ends++
			}
		}
		return ends > 0
	}
	for _, g := range order {
		if done[g] {
			continue
		}
		run(g)
		for len(queue) > 0 {
			g := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			for _, v := range append(in.fanin[g][:], in.first+g) {
				uses := in.uses(v)
				if v < in.first || len(uses) > widest {
					continue
				}
				for _, u := range uses {
					if !done[u] && worth(u) {
						run(u)
					}
				}
			}
		}
	}
	return out
}
