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

// buffer puts a flit into the virtual channel at which it arrives.
func (n *Network) buffer(a flitArrival) {
	node, iv := a.at.node(), a.at.iv()
	at := node*n.stride + iv
	q := &n.in[at]
	was := int(q.count)
	pos := (int(q.head) + was) & (1<<(n.places&63) - 1)
	n.buf[(node<<(n.places&63)+pos)*n.stride+iv] = a.flit
	q.count = uint16(was + 1)
	r := &n.routers[node]
	switch {
	case q.ports == 0: // idle: this is a head
		n.front(r, q, at, iv, a.flit)
		if n.cfg.RouterCycles > 2 { // routed in this cycle
			n.routed = append(n.routed, a.at)
			return
		}
		n.ask(r, q.ports, iv)
	case q.multicast:
		b := &n.multi[at]
		for p := q.ports; p != 0; p &= p - 1 {
			o := bits.TrailingZeros8(p)
			if v := b.vc[o]; v >= 0 && n.out[node*n.stride+o*n.vcs+int(v)].credits > 0 {
				r.want(o, iv)
			}
		}
	case was == 0: // the packet has an output virtual channel and was out of flits
		if n.out[q.out].credits == 0 {
			return
		}
		r.want(bits.TrailingZeros8(q.ports), iv)
	default:
		return
	}
	n.activeRouters[node>>6] |= 1 << (node & 63)
}

// front makes a head the front of its virtual channel.
func (n *Network) front(r *router, q *inVC, at, iv int, f flit) {
	q.ports = n.route(r, int(n.portOf[iv&63]), f)
	q.multicast = q.ports&(q.ports-1) != 0
	if q.multicast {
		n.multi[at] = branches{vc: [numPorts]int8{-1, -1, -1, -1, -1}}
	}
}

// wake notes that an output virtual channel, or one of a source, which was without
// credits has one.
func (n *Network) wake(i int) {
	if behind := i - len(n.in); behind >= 0 {
		node := behind / n.vcs
		if n.sources[node].first >= 0 {
			n.activeSources[node>>6] |= 1 << (node & 63)
		}
		return
	}
	node := i / n.stride
	ov := i - node*n.stride
	r := &n.routers[node]
	o := int(n.portOf[ov&63])
	if r.free[o]>>(ov-o*n.vcs)&1 != 0 {
		return
	}
	iv := int(n.out[i].owner)
	at := node*n.stride + iv
	q := &n.in[at]
	if q.count == 0 || q.multicast && n.multi[at].sent[o] >= q.count {
		return
	}
	r.want(o, iv)
	n.activeRouters[node>>6] |= 1 << (node & 63)
}

// won is an output virtual channel that was allocated in this cycle.
type won struct{ iv, port, ov uint8 }

// step is a cycle of a router. All stages work on the state at the beginning of
// the cycle; each is fed by the one before in the next cycle.
func (n *Network) step(node int) {
	r := &n.routers[node]
	winners := n.winners[:0]
	for m := r.asking; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m) & (ports - 1)
		switch ask := r.ask[o]; {
		case r.free[o] == 0:
		case ask&(ask-1) == 0:
			winners = append(winners, n.acceptVC(node, r, bits.TrailingZeros64(ask), o, r.free[o]))
		default:
			winners = n.allocateVCs(node, r, o, winners)
		}
	}
	if r.requesting != 0 {
		n.allocateSwitch(node, r)
	}
	if len(winners) > 0 {
		for _, w := range winners {
			if n.out[node*n.stride+int(w.ov)].credits > 0 {
				r.want(int(w.port), int(w.iv))
			}
		}
		n.winners = winners
	}
	if r.requesting != 0 {
		return
	}
	for m := r.asking; m != 0; m &= m - 1 {
		if r.free[bits.TrailingZeros8(m)&(ports-1)] != 0 {
			return
		}
	}
	// Nothing moves before a flit or a credit arrives.
	n.activeRouters[node>>6] &^= 1 << (node & 63)
}

// endRouting passes the heads that were routed in this cycle on to the allocation
// of virtual channels.
func (n *Network) endRouting() {
	for _, at := range n.routed {
		node := at.node()
		n.ask(&n.routers[node], n.in[node*n.stride+at.iv()].ports, at.iv())
		n.activeRouters[node>>6] |= 1 << (node & 63)
	}
	n.routed, n.next = n.next, n.routed[:0]
}

// ask makes a head ask for virtual channels of outputs.
func (n *Network) ask(r *router, out uint8, iv int) {
	r.asking |= out
	for ; out != 0; out &= out - 1 {
		r.ask[bits.TrailingZeros8(out)&(ports-1)] |= 1 << (iv & 63)
	}
}

// want and unwant note whether an input virtual channel can send to an output.
func (r *router) want(o, iv int) {
	r.request[o&(ports-1)] |= 1 << (iv & 63)
	r.requesting |= 1 << (o & (ports - 1))
}

func (r *router) unwant(o, iv int) {
	r.request[o] &^= 1 << iv
	if r.request[o] == 0 {
		r.requesting &^= 1 << o
	}
}

// allocateVCs gives free virtual channels of an output to the heads that ask for
// it: one iteration of iSLIP between input and output virtual channels, where a
// head asks for all free ones.
func (n *Network) allocateVCs(node int, r *router, o int, winners []won) []won {
	var granted uint64
	channels := n.out[node*n.stride+o*n.vcs:][:n.vcs]
	for f := r.free[o]; f != 0; f &= f - 1 {
		v := bits.TrailingZeros64(f)
		iv := first(r.ask[o], channels[v].prefers)
		granted |= 1 << iv
		n.offers[iv] |= 1 << v
	}
	for ; granted != 0; granted &= granted - 1 {
		iv := bits.TrailingZeros64(granted)
		winners = append(winners, n.acceptVC(node, r, iv, o, n.offers[iv]))
		n.offers[iv] = 0
	}
	return winners
}

// acceptVC takes one of the virtual channels of an output that an input virtual
// channel was offered. Its preference counts those of all outputs in a row.
func (n *Network) acceptVC(node int, r *router, iv, o int, offers uint64) won {
	base := o * n.vcs
	at := node*n.stride + iv
	q := &n.in[at]
	from := int(q.prefers) - base
	if uint(from) >= uint(n.vcs) {
		from = 0
	}
	v := first(offers, uint8(from))
	ov := base + v
	q.prefers = successor(ov, n.stride)
	q.vc, q.out = uint8(v), int32(node*n.stride+ov)
	if q.multicast {
		n.multi[at].vc[o] = int8(v)
	}
	out := &n.out[node*n.stride+ov]
	out.prefers = successor(iv, n.stride)
	out.owner = uint8(iv)
	r.free[o] &^= 1 << (v & 63)
	ask := r.ask[o] &^ (1 << (iv & 63))
	r.ask[o] = ask
	r.asking &^= uint8(bit(ask == 0) << (o & (ports - 1)))
	return won{uint8(iv), uint8(o), uint8(ov)}
}

func successor(i, n int) uint8 {
	if i++; i == n {
		i = 0
	}
	return uint8(i)
}

// allocateSwitch connects inputs with outputs for a cycle: one iteration of iSLIP
// between ports, where the virtual channels of an input that want the same output
// take turns. A multicast accepts all outputs that are granted for one flit.
func (n *Network) allocateSwitch(node int, r *router) {
	var grant [ports]uint8 // by output: input virtual channel
	var inputs, twice uint8
	for m := r.requesting; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m) & (ports - 1)
		set := r.request[o]
		p := n.portOf[first(set, r.switchGrant[o])] & (ports - 1)
		iv := first(set&n.channels[p], r.turn[p])
		grant[o] = uint8(iv)
		twice |= inputs & (1 << p)
		inputs |= 1 << p
	}
	if twice == 0 { // each input was granted one output
		for m := r.requesting; m != 0; m &= m - 1 {
			o := bits.TrailingZeros8(m) & (ports - 1)
			n.connect(node, r, int(grant[o]), o)
		}
		return
	}
	var offers [ports]uint8 // by input: outputs
	for m := r.requesting; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m) & (ports - 1)
		offers[n.portOf[grant[o]&63]&(ports-1)] |= 1 << o
	}
	for ; inputs != 0; inputs &= inputs - 1 {
		p := bits.TrailingZeros8(inputs) & (ports - 1)
		o := first(uint64(offers[p]), r.switchAccept[p]) & (ports - 1)
		iv := grant[o]
		at := node*n.stride + int(iv)
		if q := &n.in[at]; q.multicast {
			// The branches that copy the same flit go first: it leaves the buffer
			// with the last of them.
			sent := &n.multi[at].sent
			pos := sent[o]
			for rest := offers[p] &^ (1 << o); rest != 0; rest &= rest - 1 {
				if b := bits.TrailingZeros8(rest) & (ports - 1); grant[b] == iv && sent[b] == pos {
					r.switchGrant[b] = n.portAfter[p]
					n.forwardBranch(node, r, int(iv), b)
				}
			}
		}
		n.connect(node, r, int(iv), o)
	}
}

// connect lets an input accept the grant of an output, and sends a flit through the
// switch and onto the link.
func (n *Network) connect(node int, r *router, iv, o int) {
	o &= ports - 1
	p := n.portOf[iv&63] & (ports - 1)
	r.turn[p] = n.after[iv&63]
	r.switchAccept[p] = successor(o, numPorts)
	r.switchGrant[o] = n.portAfter[p]
	at := node*n.stride + iv
	q := &n.in[at]
	if q.multicast {
		n.forwardBranch(node, r, iv, o)
		return
	}
	head := int(q.head)
	f := n.buf[(node<<(n.places&63)+head)*n.stride+iv]
	out := &n.out[q.out]
	r.links[o]++
	if o == local {
		n.leaving.ejected.put(flitArrival{f, place(node<<6 + local*n.vcs + int(q.vc))})
	} else {
		n.leaving.flits.put(flitArrival{f, out.down})
		n.counters.FlitHops++
	}
	n.returning.credits.put(q.up)
	n.pending += 2

	credits := out.credits - 1
	out.credits = credits
	count := q.count - 1
	q.count = count
	head = (head + 1) & (1<<(n.places&63) - 1)
	if count == 0 {
		head = 0 // a place that is in the cache
	}
	q.head = uint16(head)

	tail := uint64(f) & 1
	stop := tail | bit(count == 0) | bit(credits == 0)
	set := r.request[o] &^ (stop << (iv & 63))
	r.request[o] = set
	r.requesting &^= uint8(bit(set == 0) << o)
	r.free[o] |= tail << (q.vc & 63)
	q.ports &^= uint8(tail << o)
	if tail != 0 && count != 0 {
		n.nextFront(node, r, q, at, iv)
	}
}

// nextFront makes the next packet of a virtual channel its front; it is routed in the
// next cycle.
func (n *Network) nextFront(node int, r *router, q *inVC, at, iv int) {
	n.front(r, q, at, iv, n.buf[(node<<n.places+int(q.head))*n.stride+iv])
	if n.cfg.RouterCycles > 2 {
		n.next = append(n.next, place(node<<6+iv))
	} else {
		n.routed = append(n.routed, place(node<<6+iv))
	}
}

// forwardBranch sends a flit of a multicast through the switch and onto the link. It
// leaves the buffer when all branches have sent it.
func (n *Network) forwardBranch(node int, r *router, iv, o int) {
	at := node*n.stride + iv
	q, b := &n.in[at], &n.multi[at]
	pos := (int(q.head) + int(b.sent[o])) & (1<<n.places - 1)
	f := n.buf[(node<<n.places+pos)*n.stride+iv]
	v := int(b.vc[o])
	out := &n.out[node*n.stride+o*n.vcs+v]
	r.links[o]++
	n.pending++
	if o == local {
		n.leaving.ejected.put(flitArrival{f, place(node<<6 + o*n.vcs + v)})
	} else {
		n.leaving.flits.put(flitArrival{f, out.down})
		n.counters.FlitHops++
	}
	if out.credits--; out.credits == 0 {
		r.unwant(o, iv)
	}
	if f.tail() {
		r.unwant(o, iv)
		r.free[o] |= 1 << v
		b.vc[o] = -1
		q.ports &^= 1 << o
	}
	b.sent[o]++
	if b.sent[o] == q.count {
		r.unwant(o, iv)
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
		r.unwant(o, iv)
	} else if q.ports == 0 {
		n.nextFront(node, r, q, at, iv)
	}
}
