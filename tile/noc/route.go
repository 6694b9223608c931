package noc

import "math/bits"

// where is the place of a router or of a destination, as flits have it: its coordinates
// along the first dimension, above them those along the second one.
func (n *Network) where(x, y int) uint16 {
	if n.cfg.YX {
		x, y = y, x
	}
	return uint16(x<<whereBits | y)
}

// way is what routers ask of a packet: where it goes, and by which ports.
func (n *Network) way(src, dst int) int32 {
	from, to := &n.routers[src], &n.routers[dst]
	alongX, alongY := east, north
	if to.x < from.x {
		alongX = west
	}
	if to.y < from.y {
		alongY = south
	}
	if n.cfg.YX {
		alongX, alongY = alongY, alongX
	}
	return int32(to.where) | int32(alongY|alongX<<portBits)<<(portsShift-whereShift)
}

// output is the one by which a unicast leaves a router: first along one dimension, then
// along the other one. It takes no branch.
func (f flit) output(r *router) int {
	const one = 1<<whereBits - 1
	differs := uint16(f>>whereShift) ^ r.where
	o := local
	if second := int(f>>portsShift) & (ports - 1); differs&one != 0 {
		o = second
	}
	if first := int(f>>(portsShift+portBits)) & (ports - 1); differs&(one<<whereBits) != 0 {
		o = first
	}
	return o
}

// route returns the outputs by which a packet leaves a router that it entered by
// input in. A multicast goes along the tree of the ways to its nodes and leaves by
// several outputs where it branches.
func (n *Network) route(r *router, in int, f flit) uint8 {
	if f.multicast() {
		return n.branches(r, in, n.packets[f.packet()].tree)
	}
	return 1 << f.output(r)
}

// branches returns the outputs of a multicast: on along the first dimension if a node
// further along it awaits it, and to both sides along the second one if a node there
// does.
func (n *Network) branches(r *router, in int, tree int32) (ports uint8) {
	major, minor := int(r.x), int(r.y)
	up, down, left, right := east, west, north, south // along the first dimension, then along the second one
	if n.cfg.YX {
		major, minor = minor, major
		up, down, left, right = north, south, east, west
	}
	row := n.minors[int(tree)*n.majorLen()+major]
	if in != left && in != right { // not turned yet
		majors := n.majors[tree]
		if in != down && majors&(1<<major-1) != 0 {
			ports |= 1 << down
		}
		if in != up && majors>>major>>1 != 0 {
			ports |= 1 << up
		}
	}
	if in != left && row>>minor>>1 != 0 {
		ports |= 1 << left
	}
	if in != right && row&(1<<minor-1) != 0 {
		ports |= 1 << right
	}
	if row>>minor&1 != 0 {
		ports |= 1 << local
	}
	return ports
}

// majorLen is the length of the dimension along which packets go first.
func (n *Network) majorLen() int {
	if n.cfg.YX {
		return n.cfg.Height
	}
	return n.cfg.Width
}

// newTree notes the nodes of a multicast and returns its number and how many
// nodes they are.
func (n *Network) newTree(dsts []int) (tree, nodes int32) {
	w := n.majorLen()
	if last := len(n.trees) - 1; last >= 0 {
		tree = n.trees[last]
		n.trees = n.trees[:last]
		n.majors[tree] = 0
		clear(n.minors[int(tree)*w:][:w])
	} else {
		tree = int32(len(n.majors))
		n.majors = append(n.majors, 0)
		for range w {
			n.minors = append(n.minors, 0)
		}
	}
	minors := n.minors[int(tree)*w:][:w]
	for _, d := range dsts {
		major, minor := d%n.cfg.Width, d/n.cfg.Width
		if n.cfg.YX {
			major, minor = minor, major
		}
		n.majors[tree] |= 1 << major
		minors[major] |= 1 << minor
	}
	for _, r := range minors {
		nodes += int32(bits.OnesCount64(r))
	}
	return tree, nodes
}
