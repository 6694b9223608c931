package noc

import "math/bits"

// first is the lowest member of a set that is not empty, from the given one on
// and then from the start. The set is turned so that this takes no branch.
func first(set uint64, from uint8) int {
	turned := bits.RotateLeft64(set, -int(from))
	return (bits.TrailingZeros64(turned) + int(from)) & 63
}

// bit is 1 if b is true. It takes no branch.
func bit(b bool) uint64 {
	var x uint64
	if b {
		x = 1
	}
	return x
}

// A cycle of a router has stages, each of which is fed by the one before in the next
// cycle: all work on the state at the beginning of the cycle. They are executed stage by
// stage over all routers, with few branches for what cannot be foretold.

// bufferHeads puts the heads that arrive into their virtual channels, and routes those
// that find theirs idle; they ask for an output from the next cycle on.
func (n *Network) bufferHeads(s *slot) {
	routers, asking, width := n.routers, &n.asking, n.width&63
	for _, a := range s.heads() {
		r, iv := &routers[a.at.node()], a.at.vc()
		q := &r.in[iv&(inVCs-1)]
		r.buf[(int(q.head)+int(q.count)<<width)&(len(r.buf)-1)] = a.flit
		q.count++
		if q.ports != 0 {
			continue
		}
		n.stirred = true
		if a.flit.multicast() {
			n.front(a.at, a.flit)
			n.ask(a.at)
			continue
		}
		o := a.flit.output(r)
		q.ports = 1 << o
		r.outputs[o&(ports-1)].ask |= 1 << (iv & 63)
		asking.add(o+a.at.node()<<portBits, 1)
	}
	s.flits[heads].n = 0
}

// bufferBodies puts the other flits that arrive into their virtual channels. They go on
// if their packet has an output virtual channel and was out of flits.
func (n *Network) bufferBodies(s *slot) {
	l := &s.flits[bodies]
	routers, requesting, width := n.routers, &n.requesting, n.width&63
	for _, a := range l.items[:l.n] {
		r, iv := &routers[a.at.node()], a.at.vc()
		q := &r.in[iv&(inVCs-1)]
		was := q.count
		r.buf[(int(q.head)+int(was)<<width)&(len(r.buf)-1)] = a.flit
		q.count = was + 1
		if q.multicast {
			n.bufferBranches(a.at)
			continue
		}
		wants := bit(was == 0) & bit(r.out[q.out&(1<<placeBits-1)].credits > 0)
		o := int(n.portOf[q.out&(inVCs-1)])
		r.outputs[o&(ports-1)].request |= wants << (iv & 63)
		requesting.add(o+a.at.node()<<portBits, wants)
	}
	l.n = 0
}

// bufferBranches lets the branches of a multicast that have an output virtual channel
// go on.
func (n *Network) bufferBranches(at place) {
	node, iv := at.node(), at.vc()
	r := &n.routers[node]
	b := &n.multi[node*n.stride+iv]
	for p := r.in[iv].ports; p != 0; p &= p - 1 {
		o := bits.TrailingZeros8(p)
		if v := b.vc[o]; v >= 0 && r.out[o*n.vcs+int(v)].credits > 0 {
			n.want(node, o, iv)
		}
	}
	n.stirred = true
}

// front makes a head the front of its virtual channel, in which nothing else is left.
func (n *Network) front(at place, f flit) {
	node, iv := at.node(), at.vc()
	r := &n.routers[node]
	q := &r.in[iv]
	q.ports = n.route(r, int(n.portOf[iv]), f)
	q.multicast = q.ports&(q.ports-1) != 0
	if q.multicast {
		n.multi[node*n.stride+iv] = branches{vc: [numPorts]int8{-1, -1, -1, -1, -1}}
	}
}

// wake notes that an output virtual channel, or one of a source, which was without
// credits has one.
func (n *Network) wake(at place) {
	node, ov := at.node(), at.vc()
	if ov >= n.stride {
		if n.sources[node].first >= 0 {
			n.activeSources[node>>6] |= 1 << (node & 63)
		}
		return
	}
	r := &n.routers[node]
	if r.free>>ov&1 != 0 {
		return
	}
	o, iv := int(n.portOf[ov]), int(r.out[ov].owner)
	q := &r.in[iv]
	if q.count == 0 || q.multicast && n.multi[node*n.stride+iv].sent[o] >= q.count {
		return
	}
	n.want(node, o, iv)
}

// askBehind lets heads ask for virtual channels of outputs that came to the front.
func (n *Network) askBehind() {
	for _, at := range n.behind.items[:n.behind.n] {
		n.ask(at)
	}
	n.behind.n = 0
}

// ask makes a head ask for virtual channels of outputs.
func (n *Network) ask(at place) {
	n.stirred = true
	r, iv := &n.routers[at.node()], at.vc()&(inVCs-1)
	for p := r.in[iv].ports; p != 0; p &= p - 1 {
		o := bits.TrailingZeros8(p)
		r.outputs[o&(ports-1)].ask |= 1 << iv
		n.asking.add(o+at.node()<<portBits, 1)
	}
}

// want and unwant note whether an input virtual channel can send to an output.
func (n *Network) want(node, o, iv int) {
	n.routers[node].outputs[o].request |= 1 << iv
	n.requesting.add(o+node<<portBits, 1)
}

func (n *Network) unwant(node, o, iv int) {
	out := &n.routers[node].outputs[o]
	if out.request &^= 1 << iv; out.request == 0 {
		n.requesting.remove(o+node<<portBits, 1)
	}
}

// allocateVCs gives free virtual channels of outputs to the heads that ask for them.
// They ask for the switch from the next cycle on: its outputs have made their grants.
func (n *Network) allocateVCs() {
	for i, some := range n.asking.some {
		for ; some != 0; some &= some - 1 {
			word := i<<6 | bits.TrailingZeros64(some)
			asked := n.asking.words[word]
			if asked == 0 {
				n.asking.some[i] &^= 1 << (word & 63)
				continue
			}
			var served, wants uint64 // outputs
			for w := asked; w != 0; w &= w - 1 {
				b := bits.TrailingZeros64(w)
				at := word<<6 | b
				r := &n.routers[at>>portBits]
				out := &r.outputs[at&(ports-1)]
				free := r.free & n.channels[at&(ports-1)]
				if free == 0 {
					continue
				}
				var credit uint64
				if out.ask&(out.ask-1) == 0 {
					credit = n.acceptVC(r, at, bits.TrailingZeros64(out.ask), free)
				} else {
					credit = n.allocateAmong(r, at, free)
				}
				served |= bit(out.ask == 0) << b
				wants |= credit << b
			}
			n.asking.words[word] = asked &^ served
			if wants != 0 {
				n.requesting.words[word] |= wants
				n.requesting.some[i] |= 1 << (word & 63)
			}
		}
	}
}

// allocateAmong gives free virtual channels of an output to several heads: one
// iteration of iSLIP between input and output virtual channels, where a head asks for
// all free ones. It is 1 if one of them has a credit.
func (n *Network) allocateAmong(r *router, at int, free uint64) (credit uint64) {
	var granted uint64
	ask := r.outputs[at&(ports-1)].ask
	for f := free; f != 0; f &= f - 1 {
		ov := bits.TrailingZeros64(f)
		iv := first(ask, r.out[ov&(len(r.out)-1)].prefers)
		granted |= 1 << iv
		n.offers[iv] |= 1 << ov
	}
	for ; granted != 0; granted &= granted - 1 {
		iv := bits.TrailingZeros64(granted) & (inVCs - 1)
		credit |= n.acceptVC(r, at, iv, n.offers[iv])
		n.offers[iv] = 0
	}
	return credit
}

// acceptVC takes one of the virtual channels of an output, number at of all, that an
// input virtual channel was offered. Its preference counts those of all outputs in a
// row. It is 1 if the channel has a credit.
func (n *Network) acceptVC(r *router, at, iv int, offers uint64) (credit uint64) {
	q := &r.in[iv&(inVCs-1)]
	ov := first(offers, q.prefers)
	q.prefers = n.afterIn[ov]
	q.out = uint8(ov)
	if q.multicast {
		o := at & (ports - 1)
		n.multi[at>>portBits*n.stride+iv].vc[o] = int8(ov - o*n.vcs)
	}
	channel := &r.out[ov]
	channel.prefers = n.afterIn[iv&(inVCs-1)]
	channel.owner = uint8(iv)
	r.free &^= 1 << ov
	out := &r.outputs[at&(ports-1)]
	out.ask &^= 1 << (iv & 63)
	credit = bit(channel.credits > 0)
	out.request |= credit << (iv & 63)
	return credit
}

// grant is an output, by its number of all, and above it the port of an input and a
// virtual channel of it that the output would let send.
type grant uint32

const (
	grantPort = 15 // places; 12 bits for the router and portBits for the output are below
	grantVC   = grantPort + portBits
)

func newGrant(output, port, iv int) grant { return grant(output | port<<grantPort | iv<<grantVC) }

func (g grant) output() int { return int(g & (1<<grantPort - 1)) }
func (g grant) node() int   { return g.output() >> portBits }
func (g grant) port() int   { return int(g>>grantPort) & (ports - 1) }
func (g grant) vc() int     { return int(g>>grantVC) & (inVCs - 1) }

// Sets of inputs in router.granted.
const (
	severalGrants = ports
	hasAccepted   = 2 * ports
)

// allocateSwitches chooses for each output an input port and a virtual channel of it:
// the first half of an iteration of iSLIP between ports, where the virtual channels of
// an input that want the same output take turns.
func (n *Network) allocateSwitches() {
	grants := n.grants[:cap(n.grants)]
	k, last := 0, -1
	for i, some := range n.requesting.some {
		for ; some != 0; some &= some - 1 {
			word := i<<6 | bits.TrailingZeros64(some)
			w := n.requesting.words[word]
			if w == 0 {
				n.requesting.some[i] &^= 1 << (word & 63)
				continue
			}
			for ; w != 0; w &= w - 1 {
				at := word<<6 | bits.TrailingZeros64(w)
				node := at >> portBits
				r := &n.routers[node]
				out := &r.outputs[at&(ports-1)]
				p := n.portOf[first(out.request, out.prefers)] & (ports - 1)
				iv := first(out.request&n.channels[p], r.inputs[p].turn())
				g := r.granted & -uint32(bit(node == last)) // those of the last cycle do not count
				last = node
				r.granted = g | 1<<p | g&(1<<p)<<severalGrants
				grants[k] = newGrant(at, int(p), iv)
				k++
			}
		}
	}
	n.grants = grants[:k]
}

// acceptAll lets inputs accept a grant each, the second half of the iteration. A
// multicast accepts all outputs that are granted for one flit, and sends it.
func (n *Network) acceptAll() {
	grants := n.grants
	k := 0
	for i, g := range grants {
		r := &n.routers[g.node()]
		if r.granted>>(severalGrants+g.port())&1 != 0 {
			var ok bool
			if g, ok = n.accept(grants[i:]); !ok {
				continue
			}
		}
		if r.in[g.vc()].multicast {
			n.forwardBranch(r, g)
			continue
		}
		grants[k] = g
		k++
	}
	n.grants = grants[:k]
}

// connectAll sends a flit of each unicast whose grant was accepted through the switch and
// onto the link.
func (n *Network) connectAll() {
	routers, requesting := n.routers, n.requesting.words
	flits, credits := &n.leaving.flits, &n.returning.credits
	step := 1 << (n.width & 63)
	for _, g := range n.grants {
		at, iv := g.output(), g.vc()
		r := &routers[at>>portBits]
		out, q := &r.outputs[at&(ports-1)], &r.in[iv]
		r.inputs[g.port()] = n.turned[iv] | n.accepted[at&(ports-1)]
		out.prefers = n.portAfter[g.port()]
		channel := &r.out[q.out&(1<<placeBits-1)]
		head, last := int(q.head), len(r.buf)-1
		f := r.buf[head&last]
		out.links++
		kind := &flits[n.kinds[at&(ports-1)]>>(f&isBody)&3]
		kind.items[kind.n] = flitArrival{f, channel.down}
		kind.n++
		credits.items[credits.n] = q.up
		credits.n++

		left := channel.credits - 1
		channel.credits = left
		count := q.count - 1
		q.count = count
		head = (head + step) & last
		if count == 0 {
			head = iv // a place that is in the cache
		}
		q.head = uint32(head)

		tail := uint64(f & isTail)
		request := out.request &^ ((tail | bit(count == 0) | bit(left == 0)) << iv)
		out.request = request
		requesting[at>>6] &^= bit(request == 0) << (at & 63)
		r.free |= tail << (q.out & 63)
		q.ports &= uint8(tail) - 1
		n.behind.items[n.behind.n] = newPlace(at>>portBits, iv)
		n.behind.n += int(tail & bit(count != 0))
	}
}

// accept lets an input accept one of several grants; the first of the list is its
// first. It is false if it has accepted one already.
func (n *Network) accept(grants []grant) (g grant, ok bool) {
	g = grants[0]
	node, p := g.node(), g.port()
	r := &n.routers[node]
	if r.granted>>(hasAccepted+p)&1 != 0 {
		return g, false
	}
	r.granted |= 1 << (hasAccepted + p)
	var offers uint8 // outputs
	var of [ports]grant
	for _, g := range grants {
		if g.node() != node {
			break
		}
		if g.port() == p {
			o := g.output() & (ports - 1)
			offers |= 1 << o
			of[o] = g
		}
	}
	o := first(uint64(offers), r.inputs[p].prefers()) & (ports - 1)
	if iv := of[o].vc(); r.in[iv].multicast {
		// The branches that copy the same flit go first: it leaves the buffer with the
		// last of them.
		sent := &n.multi[node*n.stride+iv].sent
		pos := sent[o]
		for rest := offers &^ (1 << o); rest != 0; rest &= rest - 1 {
			if b := bits.TrailingZeros8(rest) & (ports - 1); of[b].vc() == iv && sent[b] == pos {
				n.forwardBranch(r, of[b])
			}
		}
	}
	return of[o], true
}

// forwardBranch sends a flit of a multicast through the switch and onto the link. It
// leaves the buffer when all branches have sent it.
func (n *Network) forwardBranch(r *router, g grant) {
	node, o, iv := g.node(), g.output()&(ports-1), g.vc()
	r.inputs[g.port()] = n.turned[iv] | n.accepted[o]
	r.outputs[o].prefers = n.portAfter[g.port()]
	q, b := &r.in[iv], &n.multi[node*n.stride+iv]
	f := r.buf[(int(q.head)+int(b.sent[o])<<n.width)&(len(r.buf)-1)]
	ov := o*n.vcs + int(b.vc[o])
	channel := &r.out[ov]
	r.outputs[o].links++
	n.leaving.flits[n.kinds[o]>>(f&isBody)&3].put(flitArrival{f, channel.down})
	if channel.credits--; channel.credits == 0 {
		n.unwant(node, o, iv)
	}
	if f.tail() {
		n.unwant(node, o, iv)
		r.free |= 1 << ov
		b.vc[o] = -1
		q.ports &^= 1 << o
		q.multicast = q.ports != 0
	}
	b.sent[o]++
	if b.sent[o] == q.count {
		n.unwant(node, o, iv)
	}
	// A flit that a branch has yet to send stays.
	for p := q.ports; p != 0; p &= p - 1 {
		if b.sent[bits.TrailingZeros8(p)] == 0 {
			return
		}
	}
	for i := range b.sent {
		b.sent[i]--
	}
	q.head = (q.head + 1<<n.width) & uint32(len(r.buf)-1)
	q.count--
	n.returning.credits.put(q.up)
	if q.count == 0 {
		q.head = uint32(iv)
		n.unwant(node, o, iv)
	} else if q.ports == 0 {
		n.behind.put(newPlace(node, iv))
	}
}
