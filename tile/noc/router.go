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
	node, iv := a.at>>n.shift, int(a.at)&(1<<n.shift-1)
	q := &n.in[a.at]
	pos := (int(q.head) + int(q.count)) & (1<<n.places - 1)
	n.buf[(int(node)<<n.places|pos)<<n.shift|iv] = a.flit
	was := q.count
	q.count = was + 1
	r := &n.routers[node]
	switch {
	case q.ports == 0: // idle: this is a head
		n.front(r, q, int(a.at), iv, a.flit)
		if n.cfg.RouterCycles > 2 { // routed in this cycle
			n.routed = append(n.routed, a.at)
			return
		}
		n.ask(r, q.ports, iv)
	case q.multicast:
		b := &n.multi[a.at]
		for p := q.ports; p != 0; p &= p - 1 {
			o := bits.TrailingZeros8(p)
			if v := b.vc[o]; v >= 0 && n.credits[int(node)<<n.shift|o*n.cfg.VCs+int(v)] > 0 {
				r.want(o, iv)
			}
		}
	case was == 0: // the packet has an output virtual channel and was out of flits
		if n.credits[q.out] == 0 {
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
	id := f.packet()
	q.ports = n.route(r, int(n.portOf[iv]), id)
	q.multicast = q.ports&(q.ports-1) != 0
	if q.multicast {
		n.multi[at] = branches{vc: [numPorts]int8{-1, -1, -1, -1, -1}}
	}
}

// wake notes that an output virtual channel, or one of a source, which was without
// credits has one.
func (n *Network) wake(i int) {
	node := i >> n.shift
	if node >= len(n.routers) {
		node = (i - len(n.routers)<<n.shift) / n.cfg.VCs
		if n.sources[node].first >= 0 {
			n.activeSources[node>>6] |= 1 << (node & 63)
		}
		return
	}
	r := &n.routers[node]
	ov := i & (1<<n.shift - 1)
	o := int(n.portOf[ov&63])
	if r.free[o]>>(ov-o*n.cfg.VCs)&1 != 0 {
		return
	}
	iv := int(n.owner[i])
	at := node<<n.shift | iv
	q := &n.in[at]
	if q.count == 0 || q.multicast && n.multi[at].sent[o] >= q.count {
		return
	}
	r.want(o, iv)
	n.activeRouters[node>>6] |= 1 << (node & 63)
}

// won is an output virtual channel that was allocated in this cycle.
type won struct{ iv, port, vc uint8 }

// step is a cycle of a router. All stages work on the state at the beginning of
// the cycle; each is fed by the one before in the next cycle.
func (n *Network) step(node int) {
	r := &n.routers[node]
	winners := n.winners[:0]
	for m := r.asking; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m)
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
	for _, w := range winners {
		if n.credits[node<<n.shift|int(w.port)*n.cfg.VCs+int(w.vc)] > 0 {
			r.want(int(w.port), int(w.iv))
		}
	}
	n.winners = winners
	if r.requesting != 0 {
		return
	}
	for m := r.asking; m != 0; m &= m - 1 {
		if r.free[bits.TrailingZeros8(m)] != 0 {
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
		node := at >> n.shift
		n.ask(&n.routers[node], n.in[at].ports, int(at)&(1<<n.shift-1))
		n.activeRouters[node>>6] |= 1 << (node & 63)
	}
	n.routed, n.next = n.next, n.routed[:0]
}

// ask makes a head ask for virtual channels of outputs.
func (n *Network) ask(r *router, ports uint8, iv int) {
	r.asking |= ports
	for ; ports != 0; ports &= ports - 1 {
		r.ask[bits.TrailingZeros8(ports)] |= 1 << iv
	}
}

// want and unwant note whether an input virtual channel can send to an output.
func (r *router) want(o, iv int) {
	r.request[o] |= 1 << iv
	r.requesting |= 1 << o
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
	prefers := n.prefers[node<<n.shift|o*n.cfg.VCs:][:n.cfg.VCs]
	for f := r.free[o]; f != 0; f &= f - 1 {
		v := bits.TrailingZeros64(f)
		iv := first(r.ask[o], prefers[v])
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
	vcs := n.cfg.VCs
	at := node<<n.shift | iv
	q := &n.in[at]
	from := int(q.prefers) - o*vcs
	if uint(from) >= uint(vcs) {
		from = 0
	}
	v := first(offers, uint8(from))
	ov := node<<n.shift | o*vcs + v
	q.prefers = successor(o*vcs+v, numPorts*vcs)
	q.vc, q.out = uint8(v), int32(ov)
	if q.multicast {
		n.multi[at].vc[o] = int8(v)
	}
	n.prefers[ov] = successor(iv, numPorts*vcs)
	n.owner[ov] = uint8(iv)
	r.free[o] &^= 1 << v
	ask := r.ask[o] &^ (1 << iv)
	r.ask[o] = ask
	r.asking &^= uint8(bit(ask == 0)) << o
	return won{uint8(iv), uint8(o), uint8(v)}
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
	vcs := n.cfg.VCs
	var grant [8]uint8 // by output: input virtual channel
	var inputs, twice uint8
	for m := r.requesting; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m) & 7
		set := r.request[o&7]
		p := int(n.portOf[first(set, r.switchGrant[o]*uint8(vcs))&63])
		iv := p*vcs + first(set>>(p*vcs)&(1<<vcs-1), r.turn[p])
		grant[o] = uint8(iv)
		twice |= inputs & (1 << p)
		inputs |= 1 << p
	}
	if twice == 0 { // each input was granted one output
		for m := r.requesting; m != 0; m &= m - 1 {
			o := bits.TrailingZeros8(m) & 7
			iv := int(grant[o])
			n.connect(node, r, int(n.portOf[iv&63]), iv, o)
		}
		return
	}
	var offers [numPorts]uint8 // by input: outputs
	for m := r.requesting; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m)
		offers[n.portOf[grant[o&7]&63]] |= 1 << o
	}
	for ; inputs != 0; inputs &= inputs - 1 {
		p := bits.TrailingZeros8(inputs)
		o := first(uint64(offers[p]), r.switchAccept[p])
		iv := grant[o&7]
		at := node<<n.shift | int(iv)
		if q := &n.in[at]; q.multicast {
			// The branches that copy the same flit go first: it leaves the buffer
			// with the last of them.
			sent := &n.multi[at].sent
			pos := sent[o]
			for rest := offers[p] &^ (1 << o); rest != 0; rest &= rest - 1 {
				if b := bits.TrailingZeros8(rest); grant[b&7] == iv && sent[b] == pos {
					r.switchGrant[b] = successor(p, numPorts)
					n.forwardBranch(node, r, int(iv), b)
				}
			}
		}
		n.connect(node, r, p, int(iv), o)
	}
}

// connect lets an input accept the grant of an output.
func (n *Network) connect(node int, r *router, p, iv, o int) {
	r.turn[p] = successor(iv-p*n.cfg.VCs, n.cfg.VCs)
	r.switchAccept[p] = successor(o, numPorts)
	r.switchGrant[o] = successor(p, numPorts)
	if n.in[node<<n.shift|iv].multicast {
		n.forwardBranch(node, r, iv, o)
	} else {
		n.forward(node, r, iv, o)
	}
}

// forward sends a flit of a unicast through the switch and onto the link.
func (n *Network) forward(node int, r *router, iv, o int) {
	at := node<<n.shift | iv
	q := &n.in[at]
	head := int(q.head)
	f := n.buf[(node<<n.places|head)<<n.shift|iv]
	out := q.out
	n.send1(node, o, f, out)
	n.credits[out]--

	count := q.count - 1
	q.count = count
	head = (head + 1) & (1<<n.places - 1)
	if count == 0 {
		head = 0 // a place that is in the cache
	}
	q.head = uint16(head)

	tail := uint64(f) & 1
	stop := tail | bit(count == 0) | bit(n.credits[out] == 0)
	set := r.request[o] &^ (stop << iv)
	r.request[o] = set
	r.requesting &^= uint8(bit(set == 0)) << o
	r.free[o] |= tail << q.vc
	q.ports &^= uint8(tail) << o

	n.returning.credits = append(n.returning.credits, n.up[at])
	n.pending++
	if tail != 0 && count != 0 {
		n.nextFront(node, r, q, at, iv)
	}
}

// send1 puts a flit onto the link of an output.
func (n *Network) send1(node, o int, f flit, out int32) {
	n.pending++
	n.counters.Links[node*numPorts+o]++
	if o == local {
		n.leaving.ejected = append(n.leaving.ejected, flitArrival{f, out})
	} else {
		n.leaving.flits = append(n.leaving.flits, flitArrival{f, n.down[out]})
	}
}

// nextFront makes the next packet of a virtual channel its front; it is routed in the
// next cycle.
func (n *Network) nextFront(node int, r *router, q *inVC, at, iv int) {
	n.front(r, q, at, iv, n.buf[(node<<n.places|int(q.head))<<n.shift|iv])
	if n.cfg.RouterCycles > 2 {
		n.next = append(n.next, int32(at))
	} else {
		n.routed = append(n.routed, int32(at))
	}
}

// forwardBranch sends a flit of a multicast through the switch and onto the link. It
// leaves the buffer when all branches have sent it.
func (n *Network) forwardBranch(node int, r *router, iv, o int) {
	base := node << n.shift
	at := base | iv
	q, b := &n.in[at], &n.multi[at]
	pos := (int(q.head) + int(b.sent[o])) & (1<<n.places - 1)
	f := n.buf[(node<<n.places|pos)<<n.shift|iv]
	v := int(b.vc[o])
	out := base | o*n.cfg.VCs + v
	n.send1(node, o, f, int32(out))

	if n.credits[out]--; n.credits[out] == 0 {
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
	n.returning.credits = append(n.returning.credits, n.up[at])
	n.pending++
	if q.count == 0 {
		q.head = 0
		r.unwant(o, iv)
	} else if q.ports == 0 {
		n.nextFront(node, r, q, at, iv)
	}
}
