package noc

import "math/bits"

// route returns the outputs by which a packet leaves a router that it entered by
// input in: first along x, then along y. A multicast goes along the tree of these
// ways and leaves by several outputs where it branches.
func (n *Network) route(r *router, in int, id int32) uint8 {
	k := &n.packets[id]
	if k.tree >= 0 {
		return n.branches(r, in, k.tree)
	}
	switch {
	case k.x > r.x:
		return 1 << east
	case k.x < r.x:
		return 1 << west
	case k.y > r.y:
		return 1 << north
	case k.y < r.y:
		return 1 << south
	}
	return 1 << local
}

// branches returns the outputs of a multicast: on along x if a node in a further
// column awaits it, north and south if one of this column does.
func (n *Network) branches(r *router, in int, tree int32) (ports uint8) {
	column := n.rows[int(tree)*n.cfg.Width+int(r.x)]
	columns := n.columns[tree]
	if in != west && in != north && in != south && columns&(1<<r.x-1) != 0 {
		ports |= 1 << west
	}
	if in != east && in != north && in != south && columns>>r.x>>1 != 0 {
		ports |= 1 << east
	}
	if in != north && column>>r.y>>1 != 0 {
		ports |= 1 << north
	}
	if in != south && column&(1<<r.y-1) != 0 {
		ports |= 1 << south
	}
	if column>>r.y&1 != 0 {
		ports |= 1 << local
	}
	return ports
}

// newTree notes the nodes of a multicast and returns its number and how many
// nodes they are.
func (n *Network) newTree(dsts []int) (tree, nodes int32) {
	w := n.cfg.Width
	if last := len(n.trees) - 1; last >= 0 {
		tree = n.trees[last]
		n.trees = n.trees[:last]
		n.columns[tree] = 0
		clear(n.rows[int(tree)*w:][:w])
	} else {
		tree = int32(len(n.columns))
		n.columns = append(n.columns, 0)
		for range w {
			n.rows = append(n.rows, 0)
		}
	}
	rows := n.rows[int(tree)*w:][:w]
	for _, d := range dsts {
		n.columns[tree] |= 1 << (d % w)
		rows[d%w] |= 1 << (d / w)
	}
	for _, r := range rows {
		nodes += int32(bits.OnesCount64(r))
	}
	return tree, nodes
}
