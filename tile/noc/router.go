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
// stage over all routers, without branches for what cannot be foretold.

// buffer puts flits into the virtual channels at which they arrive.
func (n *Network) buffer(arrived []flitArrival) {
	n.routed.room(len(arrived) + 1)
	routed, k := n.routed.items, n.routed.n
	mask, width := uint16(1<<(n.places&15)-1), n.width&63
	for _, a := range arrived {
		r, iv := &n.routers[a.at.node()], a.at.vc()
		q := &r.in[iv&(inVCs-1)]
		was := q.count
		r.buf[int((q.head+was)&mask)<<width+iv] = a.flit
		q.count = was + 1
		if q.multicast || a.flit.multicast() || n.cfg.RouterCycles == 2 {
			n.routed.n = k
			n.bufferOther(a, was)
			k = n.routed.n
			continue
		}
		// An idle channel has got a head, which is routed in this cycle. Another one goes
		// on if its packet has an output virtual channel and was out of flits.
		idle := bit(q.ports == 0)
		ports := n.toward[3*sign(a.flit.x()-int32(r.x))+sign(a.flit.y()-int32(r.y))+4]
		if q.ports != 0 {
			ports = q.ports
		}
		q.ports = ports
		routed[k] = a.at
		k += int(idle)
		wants := bit(was == 0) & bit(r.out[q.out&(1<<placeBits-1)].credits > 0) &^ idle
		o := bits.TrailingZeros8(ports)
		r.outputs[o&(len(r.outputs)-1)].request |= wants << (iv & 63)
		o += a.at.node() << portBits
		n.requesting[o>>6] |= wants << (o & 63)
	}
	n.routed.n = k
}

// bufferOther notes what a flit has changed that has arrived at a virtual channel with
// so many flits, of multicasts too, and of routers of two stages.
func (n *Network) bufferOther(a flitArrival, was uint16) {
	node, iv := a.at.node(), a.at.vc()
	r := &n.routers[node]
	q := &r.in[iv]
	switch {
	case q.ports == 0: // idle: this is a head
		n.front(node, iv, a.flit)
		if n.cfg.RouterCycles > 2 { // routed in this cycle
			n.routed.put(a.at)
			return
		}
		n.ask(a.at)
	case q.multicast:
		b := &n.multi[node*n.stride+iv]
		for p := q.ports; p != 0; p &= p - 1 {
			o := bits.TrailingZeros8(p)
			if v := b.vc[o]; v >= 0 && r.out[o*n.vcs+int(v)].credits > 0 {
				n.want(node, o, iv)
			}
		}
		n.stirred = true
	case was == 0:
		if r.out[q.out].credits > 0 {
			n.want(node, bits.TrailingZeros8(q.ports), iv)
		}
	}
}

// front makes a head the front of its virtual channel.
func (n *Network) front(node, iv int, f flit) {
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
	o := int(n.portOf[ov])
	if r.outputs[o].free>>(ov-o*n.vcs)&1 != 0 {
		return
	}
	iv := int(r.out[ov].owner)
	q := &r.in[iv]
	if q.count == 0 || q.multicast && n.multi[node*n.stride+iv].sent[o] >= q.count {
		return
	}
	n.want(node, o, iv)
}

// endRouting passes the heads that were routed in this cycle on to the allocation
// of virtual channels.
func (n *Network) endRouting() {
	for _, at := range n.routed.items[:n.routed.n] {
		n.ask(at)
	}
	n.routed, n.next = n.next, n.routed
	n.next.n = 0
}

// ask makes a head ask for virtual channels of outputs.
func (n *Network) ask(at place) {
	n.stirred = true
	r, iv := &n.routers[at.node()], at.vc()&(inVCs-1)
	for p := r.in[iv].ports; p != 0; p &= p - 1 {
		o := bits.TrailingZeros8(p)
		r.outputs[o&(ports-1)].ask |= 1 << iv
		o += at.node() << portBits
		n.asking[o>>6] |= 1 << (o & 63)
	}
}

// want and unwant note whether an input virtual channel can send to an output.
func (n *Network) want(node, o, iv int) {
	n.routers[node].outputs[o].request |= 1 << iv
	o += node << portBits
	n.requesting[o>>6] |= 1 << (o & 63)
}

func (n *Network) unwant(node, o, iv int) {
	out := &n.routers[node].outputs[o]
	if out.request &^= 1 << iv; out.request == 0 {
		o += node << portBits
		n.requesting[o>>6] &^= 1 << (o & 63)
	}
}

// allocateVCs gives free virtual channels of outputs to the heads that ask for them.
// They ask for the switch from the next cycle on: its outputs have made their grants.
func (n *Network) allocateVCs() {
	for i, w := range n.asking {
		for m := w & n.vacant[i]; m != 0; m &= m - 1 {
			at := i<<6 | bits.TrailingZeros64(m)
			r := &n.routers[at>>portBits]
			if out := &r.outputs[at&(ports-1)]; out.ask&(out.ask-1) == 0 {
				n.acceptVC(r, at, bits.TrailingZeros64(out.ask), uint64(out.free))
			} else {
				n.allocateAmong(r, at)
			}
		}
	}
}

// allocateAmong gives free virtual channels of an output to several heads: one
// iteration of iSLIP between input and output virtual channels, where a head asks for
// all free ones.
func (n *Network) allocateAmong(r *router, at int) {
	var granted uint64
	o := at & (ports - 1)
	out := &r.outputs[o]
	for f := out.free; f != 0; f &= f - 1 {
		v := bits.TrailingZeros16(f)
		iv := first(out.ask, r.out[(o*n.vcs+v)&(len(r.out)-1)].prefers)
		granted |= 1 << iv
		n.offers[iv] |= 1 << v
	}
	for ; granted != 0; granted &= granted - 1 {
		iv := bits.TrailingZeros64(granted) & (inVCs - 1)
		n.acceptVC(r, at, iv, n.offers[iv])
		n.offers[iv] = 0
	}
}

// acceptVC takes one of the virtual channels of an output, number at of all, that an
// input virtual channel was offered. Its preference counts those of all outputs in a
// row.
func (n *Network) acceptVC(r *router, at, iv int, offers uint64) {
	o := at & (ports - 1)
	base := o * n.vcs
	q := &r.in[iv&(inVCs-1)]
	from := int(q.prefers) - base
	if uint(from) >= uint(n.vcs) {
		from = 0
	}
	v := first(offers, uint8(from))
	ov := base + v
	q.prefers = successor(ov, n.stride)
	q.out = uint8(ov)
	if q.multicast {
		n.multi[at>>portBits*n.stride+iv].vc[o] = int8(v)
	}
	channel := &r.out[ov&(len(r.out)-1)]
	channel.prefers = successor(iv, n.stride)
	channel.owner = uint8(iv)
	out := &r.outputs[o]
	out.free &^= 1 << (v & 15)
	n.vacant[at>>6] &^= bit(out.free == 0) << (at & 63)
	out.ask &^= 1 << (iv & 63)
	n.asking[at>>6] &^= bit(out.ask == 0) << (at & 63)
	credit := bit(channel.credits > 0)
	out.request |= credit << (iv & 63)
	n.requesting[at>>6] |= credit << (at & 63)
}

func successor(i, n int) uint8 {
	if i++; i == n {
		i = 0
	}
	return uint8(i)
}

// grant is an input virtual channel, and its port, that an output would let send.
type grant struct {
	output   int32 // number of all
	iv, port uint8
}

// Sets of inputs in Network.granted.
const (
	severalGrants = ports
	hasAccepted   = 2 * ports
)

// allocateSwitches chooses for each output an input port and a virtual channel of it:
// the first half of an iteration of iSLIP between ports, where the virtual channels of
// an input that want the same output take turns.
func (n *Network) allocateSwitches() {
	grants := n.grants[:0]
	last := -1
	for i, w := range n.requesting {
		for ; w != 0; w &= w - 1 {
			at := i<<6 | bits.TrailingZeros64(w)
			node := at >> portBits
			r := &n.routers[node]
			out := &r.outputs[at&(ports-1)]
			p := n.portOf[first(out.request, out.prefers)] & (ports - 1)
			iv := first(out.request&n.channels[p], r.inputs[p].turn)
			g := n.granted[node] & -uint32(bit(node == last)) // those of the last cycle do not count
			last = node
			n.granted[node] = g | 1<<p | g&(1<<p)<<severalGrants
			grants = append(grants, grant{int32(at), uint8(iv), p})
		}
	}
	n.grants = grants
}

// connectAll lets inputs accept a grant each, the second half of the iteration. A
// multicast accepts all outputs that are granted for one flit.
func (n *Network) connectAll() {
	k := len(n.grants) + 1
	n.leaving.flits.room(k)
	n.leaving.ejected.room(k)
	n.returning.credits.room(k)
	n.next.room(k)
	n.routed.room(k)
	for i, g := range n.grants {
		if n.granted[g.output>>portBits]>>(severalGrants+g.port&31)&1 == 0 {
			n.connect(g)
		} else {
			n.accept(n.grants[i:])
		}
	}
}

// accept lets an input accept one of several grants; the first of the list is its
// first.
func (n *Network) accept(grants []grant) {
	g := grants[0]
	node, p := int(g.output)>>portBits, g.port
	if n.granted[node]>>(hasAccepted+p)&1 != 0 {
		return
	}
	n.granted[node] |= 1 << (hasAccepted + p)
	var offers uint8 // outputs
	var of [ports]grant
	for _, g := range grants {
		if int(g.output)>>portBits != node {
			break
		}
		if g.port == p {
			o := g.output & (ports - 1)
			offers |= 1 << o
			of[o] = g
		}
	}
	r := &n.routers[node]
	o := first(uint64(offers), r.inputs[p].prefers) & (ports - 1)
	if iv := int(of[o].iv); r.in[iv].multicast {
		// The branches that copy the same flit go first: it leaves the buffer with the
		// last of them.
		sent := &n.multi[node*n.stride+iv].sent
		pos := sent[o]
		for rest := offers &^ (1 << o); rest != 0; rest &= rest - 1 {
			if b := bits.TrailingZeros8(rest) & (ports - 1); int(of[b].iv) == iv && sent[b] == pos {
				r.outputs[b].prefers = n.portAfter[p]
				n.forwardBranch(node, iv, b)
			}
		}
	}
	n.connect(of[o])
}

// connect lets an input accept the grant of an output, and sends a flit through the
// switch and onto the link.
func (n *Network) connect(g grant) {
	at, iv, p := int(g.output), int(g.iv&(inVCs-1)), g.port&(ports-1)
	node, o := at>>portBits, at&(ports-1)
	r := &n.routers[node]
	r.inputs[p] = input{n.after[iv], successor(o, numPorts)}
	out := &r.outputs[o]
	out.prefers = n.portAfter[p]
	q := &r.in[iv]
	if q.multicast {
		n.forwardBranch(node, iv, o)
		return
	}
	head := q.head
	f := r.buf[int(head)<<(n.width&63)+iv]
	ov := int(q.out & (1<<placeBits - 1))
	channel := &r.out[ov]
	out.links++
	// It goes into one of the two lists.
	on := bit(o != local)
	flits, ejected := &n.leaving.flits, &n.leaving.ejected
	flits.items[flits.n] = flitArrival{f, channel.down}
	flits.n += int(on)
	ejected.items[ejected.n] = flitArrival{f, newPlace(node, ov)}
	ejected.n += int(1 - on)
	n.counters.FlitHops += on
	n.returning.credits.put(q.up)
	n.pending += 2

	credits := channel.credits - 1
	channel.credits = credits
	count := q.count - 1
	q.count = count
	head = (head + 1) & (1<<(n.places&15) - 1)
	if count == 0 {
		head = 0 // a place that is in the cache
	}
	q.head = head

	tail := uint64(f) & 1
	stop := tail | bit(count == 0) | bit(credits == 0)
	out.request &^= stop << iv
	n.requesting[at>>6] &^= bit(out.request == 0) << (at & 63)
	out.free |= uint16(tail << ((ov - o*n.vcs) & 15))
	n.vacant[at>>6] |= tail << (at & 63)
	q.ports &^= uint8(tail << o)
	if tail != 0 && count != 0 {
		n.nextFront(node, iv)
	}
}

// nextFront makes the next packet of a virtual channel its front; it is routed in the
// next cycle.
func (n *Network) nextFront(node, iv int) {
	r := &n.routers[node]
	n.front(node, iv, r.buf[int(r.in[iv].head)<<n.width+iv])
	if n.cfg.RouterCycles > 2 {
		n.next.put(newPlace(node, iv))
	} else {
		n.routed.put(newPlace(node, iv))
	}
}

// forwardBranch sends a flit of a multicast through the switch and onto the link. It
// leaves the buffer when all branches have sent it.
func (n *Network) forwardBranch(node, iv, o int) {
	r := &n.routers[node]
	q, b := &r.in[iv], &n.multi[node*n.stride+iv]
	pos := (int(q.head) + int(b.sent[o])) & (1<<n.places - 1)
	f := r.buf[pos<<n.width+iv]
	v := int(b.vc[o])
	channel := &r.out[o*n.vcs+v]
	out := &r.outputs[o]
	out.links++
	n.pending++
	if o == local {
		n.leaving.ejected.put(flitArrival{f, newPlace(node, o*n.vcs+v)})
	} else {
		n.leaving.flits.put(flitArrival{f, channel.down})
		n.counters.FlitHops++
	}
	if channel.credits--; channel.credits == 0 {
		n.unwant(node, o, iv)
	}
	if f.tail() {
		n.unwant(node, o, iv)
		out.free |= 1 << v
		at := node<<portBits + o
		n.vacant[at>>6] |= 1 << (at & 63)
		b.vc[o] = -1
		q.ports &^= 1 << o
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
	q.head = (q.head + 1) & (1<<n.places - 1)
	q.count--
	n.returning.credits.put(q.up)
	n.pending++
	if q.count == 0 {
		q.head = 0
		n.unwant(node, o, iv)
	} else if q.ports == 0 {
		n.nextFront(node, iv)
	}
}
