package noc

import "math/bits"

// route returns the outputs by which a packet leaves a router that it entered by
// input in: first along x, then along y, or the other way round. A multicast goes
// along the tree of these ways and leaves by several outputs where it branches.
func (n *Network) route(r *router, in int, f flit) uint8 {
	if f.multicast() {
		return n.branches(r, in, n.packets[f.packet()].tree)
	}
	return n.toward[3*sign(f.x()-int32(r.x))+sign(f.y()-int32(r.y))+4]
}

// towardsXY and towardsYX are the output by the direction of the destination in x,
// then in y.
var (
	towardsXY = [9]uint8{
		1 << west, 1 << west, 1 << west,
		1 << south, 1 << local, 1 << north,
		1 << east, 1 << east, 1 << east,
	}
	towardsYX = [9]uint8{
		1 << south, 1 << west, 1 << north,
		1 << south, 1 << local, 1 << north,
		1 << south, 1 << east, 1 << north,
	}
)

// sign is -1, 0 or 1; it takes no branch.
func sign(v int32) int32 { return v>>31 | int32(uint32(-v)>>31) }

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
