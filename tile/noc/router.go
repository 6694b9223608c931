package noc

import "math/bits"

// first is the lowest member of a set that is not empty, from the given one on
// and then from the start. The set is turned so that this takes no branch.
func first(set uint64, from uint8) int {
	turned := bits.RotateLeft64(set, -int(from))
	return (bits.TrailingZeros64(turned) + int(from)) & 63
}

// buffer puts a flit into the virtual channel at which it arrives.
func (n *Network) buffer(a flitArrival) {
	r := &n.routers[a.node]
	base := int(a.node) * numPorts * n.cfg.VCs
	q := &n.in[base+int(a.at)]
	pos := int(q.head) + int(q.count)
	if pos >= n.cfg.Depth {
		pos -= n.cfg.Depth
	}
	n.buf[base*n.cfg.Depth+pos*numPorts*n.cfg.VCs+int(a.at)] = a.flit
	was := q.count
	q.count++
	switch {
	case q.ports == 0: // idle: this is a head, routed in this cycle
		n.front(r, q, int(a.at), a.flit)
		n.routed = append(n.routed, head{a.node, a.at})
		return
	case q.multicast:
		for p := q.ports; p != 0; p &= p - 1 {
			o := bits.TrailingZeros8(p)
			if v := q.out[o]; v >= 0 && n.out[base+o*n.cfg.VCs+int(v)].credits > 0 {
				r.want(o, int(a.at))
			}
		}
	case was == 0: // the packet has an output virtual channel and was out of flits
		o := bits.TrailingZeros8(q.ports)
		if n.out[base+o*n.cfg.VCs+int(q.out[o])].credits > 0 {
			r.want(o, int(a.at))
		}
	default:
		return
	}
	n.activeRouters[a.node>>6] |= 1 << (a.node & 63)
}

// front makes a head the front of its virtual channel.
func (n *Network) front(r *router, q *inVC, iv int, f flit) {
	id := f.packet()
	q.ports = n.route(r, int(n.portOf[iv]), id)
	q.multicast = q.ports&(q.ports-1) != 0
	if q.multicast {
		q.sent = [numPorts]uint16{}
	}
}

// credit gives a place in the next buffer back.
func (n *Network) credit(c creditArrival) {
	if c.node < 0 {
		node := ^c.node
		n.sourceCredits[int(node)*n.cfg.VCs+int(c.at)]++
		if n.sources[node].first >= 0 {
			n.activeSources[node>>6] |= 1 << (node & 63)
		}
		return
	}
	base := int(c.node) * numPorts * n.cfg.VCs
	out := &n.out[base+int(c.at)]
	out.credits++
	iv := out.owner
	if out.credits != 1 || iv < 0 {
		return
	}
	q := &n.in[base+int(iv)]
	o := n.portOf[c.at]
	if q.multicast && q.sent[o] >= q.count || q.count == 0 {
		return
	}
	n.routers[c.node].want(int(o), int(iv))
	n.activeRouters[c.node>>6] |= 1 << (c.node & 63)
}

// won is an output virtual channel that was allocated in this cycle.
type won struct{ iv, port, vc uint8 }

// step is a cycle of a router. All stages work on the state at the beginning of
// the cycle; each is fed by the one before in the next cycle.
func (n *Network) step(node int) {
	r := &n.routers[node]
	n.winners = n.winners[:0]
	for m := r.asking; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m)
		switch ask := r.ask[o]; {
		case r.free[o] == 0:
		case ask&(ask-1) == 0:
			n.acceptVC(node, r, bits.TrailingZeros64(ask), o, r.free[o])
		default:
			n.allocateVCs(node, r, o)
		}
	}
	switch m := r.requesting; {
	case m == 0:
	case m&(m-1) == 0:
		n.grantSwitch(node, r, bits.TrailingZeros8(m))
	default:
		n.allocateSwitch(node, r)
	}

	base := node * numPorts * n.cfg.VCs
	for _, w := range n.winners {
		if n.out[base+int(w.port)*n.cfg.VCs+int(w.vc)].credits > 0 {
			r.want(int(w.port), int(w.iv))
		}
	}
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
	for _, h := range n.routed {
		r := &n.routers[h.node]
		p := n.in[int(h.node)*numPorts*n.cfg.VCs+int(h.at)].ports
		r.asking |= p
		for ; p != 0; p &= p - 1 {
			r.ask[bits.TrailingZeros8(p)] |= 1 << h.at
		}
		n.activeRouters[h.node>>6] |= 1 << (h.node & 63)
	}
	n.routed, n.next = n.next, n.routed[:0]
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
func (n *Network) allocateVCs(node int, r *router, o int) {
	var offers [64]uint64 // by input virtual channel
	var granted uint64
	out := n.out[(node*numPorts+o)*n.cfg.VCs:][:n.cfg.VCs]
	for f := r.free[o]; f != 0; f &= f - 1 {
		v := bits.TrailingZeros64(f)
		iv := first(r.ask[o], out[v].prefers)
		granted |= 1 << iv
		offers[iv] |= 1 << v
	}
	for ; granted != 0; granted &= granted - 1 {
		iv := bits.TrailingZeros64(granted)
		n.acceptVC(node, r, iv, o, offers[iv])
	}
}

// acceptVC takes one of the virtual channels of an output that an input virtual
// channel was offered. Its preference counts those of all outputs in a row.
func (n *Network) acceptVC(node int, r *router, iv, o int, offers uint64) {
	vcs := n.cfg.VCs
	base := node * numPorts * vcs
	q := &n.in[base+iv]
	from := int(q.prefers) - o*vcs
	if uint(from) >= uint(vcs) {
		from = 0
	}
	v := first(offers, uint8(from))
	q.prefers = successor(o*vcs+v, numPorts*vcs)
	q.out[o] = int8(v)
	out := &n.out[base+o*vcs+v]
	out.prefers = successor(iv, numPorts*vcs)
	out.owner = int8(iv)
	r.free[o] &^= 1 << v
	if r.ask[o] &^= 1 << iv; r.ask[o] == 0 {
		r.asking &^= 1 << o
	}
	n.winners = append(n.winners, won{uint8(iv), uint8(o), uint8(v)})
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
	var grant [numPorts]uint8  // by output: input virtual channel
	var offers [numPorts]uint8 // by input: outputs
	var inputs uint8
	for m := r.requesting; m != 0; m &= m - 1 {
		o := bits.TrailingZeros8(m)
		p, iv := n.preferred(r, o)
		grant[o] = uint8(iv)
		offers[p] |= 1 << o
		inputs |= 1 << p
	}
	for ; inputs != 0; inputs &= inputs - 1 {
		p := bits.TrailingZeros8(inputs)
		o := first(uint64(offers[p]), r.switchAccept[p])
		iv := grant[o]
		q := &n.in[node*numPorts*vcs+int(iv)]
		if q.multicast {
			// The branches that copy the same flit go first: it leaves the buffer
			// with the last of them.
			pos := q.sent[o]
			for rest := offers[p] &^ (1 << o); rest != 0; rest &= rest - 1 {
				if b := bits.TrailingZeros8(rest); grant[b] == iv && q.sent[b] == pos {
					r.switchGrant[b] = successor(p, numPorts)
					n.forward(node, r, q, int(iv), b)
				}
			}
		}
		n.connect(node, r, p, int(iv), o)
	}
}

// grantSwitch is allocateSwitch where only one output is asked for.
func (n *Network) grantSwitch(node int, r *router, o int) {
	p, iv := n.preferred(r, o)
	n.connect(node, r, p, iv, o)
}

// preferred is the input, and its virtual channel, that an output grants.
func (n *Network) preferred(r *router, o int) (p, iv int) {
	vcs := n.cfg.VCs
	m := r.request[o]
	if m&(m-1) == 0 {
		iv = bits.TrailingZeros64(m)
		return int(n.portOf[iv&63]), iv
	}
	p = int(n.portOf[first(m, r.switchGrant[o]*uint8(vcs))&63])
	return p, p*vcs + first(m>>(p*vcs)&(1<<vcs-1), r.turn[p])
}

// connect lets an input accept the grant of an output.
func (n *Network) connect(node int, r *router, p, iv, o int) {
	r.turn[p] = successor(iv-p*n.cfg.VCs, n.cfg.VCs)
	r.switchAccept[p] = successor(o, numPorts)
	r.switchGrant[o] = successor(p, numPorts)
	n.forward(node, r, &n.in[node*numPorts*n.cfg.VCs+iv], iv, o)
}

// forward sends a flit through the switch and onto the link.
func (n *Network) forward(node int, r *router, q *inVC, iv, o int) {
	vcs, depth := n.cfg.VCs, n.cfg.Depth
	base := node * numPorts * vcs
	at := int(q.head)
	if q.multicast {
		if at += int(q.sent[o]); at >= depth {
			at -= depth
		}
	}
	f := n.buf[base*depth+at*numPorts*vcs+iv]
	v := int(q.out[o])
	out := &n.out[base+o*vcs+v]

	to := n.slotAt(n.flight)
	if o == local {
		to.ejected = append(to.ejected, flitArrival{f, int32(node), int32(o*vcs + v)})
	} else {
		to.flits = append(to.flits, flitArrival{f, r.nodes[o], int32(opposite[o]*vcs + v)})
	}
	n.pending++
	n.counters.Links[node*numPorts+o]++

	if out.credits--; out.credits == 0 {
		r.unwant(o, iv)
	}
	if f.tail() {
		r.unwant(o, iv)
		r.free[o] |= 1 << v
		out.owner = -1
		q.out[o] = -1
		q.ports &^= 1 << o
	}
	if q.multicast {
		q.sent[o]++
		if q.sent[o] == q.count {
			r.unwant(o, iv)
		}
		// A flit that a branch has yet to send stays.
		for p := q.ports; p != 0; p &= p - 1 {
			if q.sent[bits.TrailingZeros8(p)] == 0 {
				return
			}
		}
		for i := range q.sent {
			q.sent[i]--
		}
	}
	if q.head++; int(q.head) == depth {
		q.head = 0
	}
	q.count--
	n.giveBack(node, r, iv)
	if q.count == 0 {
		q.head = 0 // a place that is in the cache
		r.unwant(o, iv)
	} else if q.ports == 0 {
		// The next packet of the virtual channel is routed in the next cycle.
		n.front(r, q, iv, n.buf[base*depth+int(q.head)*numPorts*vcs+iv])
		n.next = append(n.next, head{int32(node), int32(iv)})
	}
}

// giveBack sends a credit to where the flit came from.
func (n *Network) giveBack(node int, r *router, iv int) {
	p := int(n.portOf[iv])
	vc := iv - p*n.cfg.VCs
	c := creditArrival{^int32(node), int32(vc)}
	if p != local {
		c = creditArrival{r.nodes[p], int32(opposite[p]*n.cfg.VCs + vc)}
	}
	to := n.slotAt(1 + n.cfg.CreditCycles)
	to.credits = append(to.credits, c)
	n.pending++
}
