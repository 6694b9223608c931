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
	return towards[3*sign(k.x-r.x)+sign(k.y-r.y)+4]
}

// towards is the output by the direction of the destination in x, then in y.
var towards = [9]uint8{
	1 << west, 1 << west, 1 << west,
	1 << south, 1 << local, 1 << north,
	1 << east, 1 << east, 1 << east,
}

// sign is -1, 0 or 1; it takes no branch.
func sign(v int32) int32 { return v>>31 | int32(uint32(-v)>>31) }

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
