package noc

import (
	"fmt"
	"math"
	"math/bits"
	"unsafe"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/internal/prefetch"
)

// Ports of a router, as outputs and as inputs: the input east is the link from
// the eastern neighbour.
const (
	east = iota
	west
	north // y grows to the north
	south
	local // the node
	numPorts

	portBits = 3
	ports    = 1 << portBits // numbers of a router for its ports
)

// opposite is the port by which a neighbour is entered.
var opposite = [numPorts]int{west, east, south, north, local}

// Never is the time of an event that does not come.
const Never = int64(math.MaxInt64)

// Packet is a message of one or more flits.
type Packet struct {
	Src   int
	Dst   int    // used if Dsts is nil
	Dsts  []int  // the nodes of a multicast, in any order; a node twice counts once
	Flits int    // length with the header, at least 1
	Tag   uint64 // of the caller, handed back with the delivery
}

// Delivery tells that the last flit of a packet reached a node.
type Delivery struct {
	Tag      uint64
	Src, Dst int
	Flits    int
	Injected int64 // the cycle of Inject
	At       int64 // the cycle in which the last flit left the network
	Last     bool  // no further node awaits the packet
}

// flit is a packet's number, the low bits of its position in the packet, what routers
// ask of the packet, and what the flit is: from the top, 32 and 11 bits, the ports by
// which the packet goes along the first dimension and along the second one, 3 each, the
// coordinates of the destination in them, 6 each, and a bit each for a flit that is no
// head, for a multicast and for a tail.
type flit uint64

const (
	isTail flit = 1 << iota
	isMulticast
	isBody

	whereShift = 3 // of the coordinates
	whereBits  = 6 // of one of them
	portsShift = whereShift + 2*whereBits
	seqShift   = portsShift + 2*portBits
	seqBits    = 32 - seqShift
)

func newFlit(id int32, k *packet, seq int) flit {
	f := flit(id)<<32 | flit(seq&(1<<seqBits-1))<<seqShift | flit(k.way)<<whereShift
	if k.tree >= 0 {
		f |= isMulticast
	}
	if seq > 0 {
		f |= isBody
	}
	if seq == int(k.flits)-1 {
		f |= isTail
	}
	return f
}

func (f flit) packet() int32   { return int32(f >> 32) }
func (f flit) tail() bool      { return f&isTail != 0 }
func (f flit) multicast() bool { return f&isMulticast != 0 }

// packet is what the network knows of a packet under way.
type packet struct {
	injected int64
	tag      uint64
	src, dst int32
	flits    int32
	way      int32 // ports and coordinates of the destination, as flits have them
	next     int32 // in the queue of its source, or in the list of unused ones; -1 = none
	tree     int32 // number of its multicast set, -1 = unicast
	waiting  int32 // nodes that have not received all of it
}

// inVC is the buffer of a virtual channel at an input of a router and the state
// of the packet at its front.
type inVC struct {
	head      uint32 // of the ring of flits, in the buffers of the router
	count     uint16
	ports     uint8 // bit set of outputs by which the front packet has yet to leave; 0 = idle
	multicast bool
	up        place // output virtual channel at the other end of the link, to which its credits go
	prefers   uint8 // output virtual channel, counted over all outputs, that it accepts first
	out       uint8 // output virtual channel, counted like that, that a unicast holds
}

// outVC is a virtual channel of an output, or of a source.
type outVC struct {
	credits int16 // free places of the buffer at the other end
	owner   uint8 // input virtual channel that holds it, if it is not free
	prefers uint8 // input virtual channel that it grants first
	down    place // input virtual channel at the other end; itself at the node
}

// place is a virtual channel, of an input or of an output: its node, and placeBits for
// its number there, port*VCs+vc. Those of sources are behind those of outputs.
type place int32

const (
	placeBits = 7
	inVCs     = 64 // numbers of a router for its input virtual channels
)

func newPlace(node, v int) place { return place(node<<placeBits | v) }
func (p place) node() int        { return int(p >> placeBits) }
func (p place) vc() int          { return int(p & (1<<placeBits - 1)) }

// branches are what a multicast at the front of an input virtual channel holds.
type branches struct {
	vc   [numPorts]int8   // virtual channels of outputs, -1 = none
	sent [numPorts]uint16 // flits of the buffer that a branch has sent already
}

// router is all that there is of a router. Its size is an odd number of lines of the
// host's cache, so that routers do not compete for places in it.
type router struct {
	outputs [ports]output
	in      [inVCs]inVC
	out     [1 << placeBits]outVC
	inputs  [ports]input
	nodes   [numPorts]int32 // neighbours, -1 = none
	x, y    uint8
	where   uint16 // the coordinates as flits have them
	granted uint32 // inputs with a grant, above them those with several, above them those that have accepted one
	free    uint64 // output virtual channels that no packet holds
	buf     []flit // of input virtual channel i: those of number place<<width + i
}

// output has the bit sets of an output of a router that allocation works on. Bit
// port*VCs+vc stands for a virtual channel. In the bit sets over all routers, output o
// is bit node*ports + o.
type output struct {
	request uint64 // input virtual channels with a flit and a credit at hand
	ask     uint64 // those whose head waits for an output virtual channel
	links   uint64 // flits that left by it
	prefers uint8  // first virtual channel of the input port that the switch allocator prefers
}

// input is what the switch allocator knows of an input: the virtual channel whose turn
// it is and, above it, the output that it accepts first.
type input uint16

const inputPrefers = 8

func (i input) turn() uint8    { return uint8(i) }
func (i input) prefers() uint8 { return uint8(i >> inputPrefers) }

// outputs is a set of outputs over all routers. Its words are looked at in cycles in which
// few are not 0: bit k of some is set if word k may be.
type outputs struct{ words, some []uint64 }

func newOutputs(nodes int) outputs {
	k := (nodes*ports + 63) / 64
	return outputs{make([]uint64, k), make([]uint64, (k+63)/64)}
}

// add puts an output into the set if in is 1.
func (s *outputs) add(o int, in uint64) {
	s.words[o>>6] |= in << (o & 63)
	s.some[o>>12] |= in << (o >> 6 & 63)
}

// remove takes an output out of the set if out is 1.
func (s *outputs) remove(o int, out uint64) { s.words[o>>6] &^= out << (o & 63) }

// source is the queue of packets of a node, endless, and its end of the link.
type source struct {
	first, last int32 // packets, -1 = none
	sent        int32 // flits of the first
	vc          int8  // that the first packet holds, -1 = none
	lastVC      int8
	queued      int32 // flits, those of cycles that are not reached yet, too
}

type (
	flitArrival struct {
		flit flit
		at   place // input virtual channel; for a node, the output virtual channel that it left by
	}
	// slot is what arrives in a cycle.
	slot struct {
		flits   [numKinds]list[flitArrival]
		credits list[place] // output virtual channels, and those of sources
	}
	// list is a slice of which the first n are in use. It has room for all that can
	// come in a cycle: that costs less than to append each.
	list[T any] struct {
		items []T
		n     int
	}
)

// Kinds of arrivals of flits: heads, others, and those that leave the network.
const (
	heads = iota
	bodies
	ejected
	numKinds
)

func (l *list[T]) put(v T) {
	l.items[l.n] = v
	l.n++
}

func (s *slot) len() int { return s.moving() + s.flits[ejected].n + s.credits.n }

// moving is how many flits arrive at routers.
func (s *slot) moving() int { return s.flits[heads].n + s.flits[bodies].n }

// Network is a mesh with the packets in it. The zero value is not usable. A
// Network must not be used by several goroutines at a time.
type Network struct {
	// OnDelivery is called for each node that has received a packet, in a fixed
	// order. It may call Inject, but not AdvanceTo.
	OnDelivery func(Delivery)

	cfg Config
	now int64

	vcs, stride int   // virtual channels of a link, and of all links to a router
	places      uint8 // logarithm of those of a buffer
	width       uint8 // logarithm of the distance between places of a buffer
	routers     []router
	multi       []branches // by input virtual channel, stride of each router

	sources []source
	packets []packet
	unused  int32   // list of packets
	trees   []int32 // list of unused multicast sets
	majors  []uint64
	minors  []uint64 // one for each coordinate of the first dimension, for each multicast set

	requesting    outputs // with a request
	asking        outputs // with an ask
	stirred       bool    // something asks that did not in the last cycle
	activeSources []uint64
	slots         []slot
	later         []int32 // packets of cycles that are not reached yet, in order
	told          int64   // deliveries up to this cycle have been told
	pending       int     // arrivals in slots
	soonest       int64   // no packet is delivered before, if this is later than now
	flight        int     // cycles from the allocation of the switch to the arrival
	back          int     // cycles of a credit
	leaving       *slot   // of the flits that routers send in this cycle
	returning     *slot   // of the credits that they give back
	portOf        [inVCs]uint8
	channels      [ports]uint64 // of a port
	turned        [inVCs]input  // the channel behind, within its port
	accepted      [ports]input  // the output behind
	portAfter     [ports]uint8  // the first channel of the port behind
	afterIn       [inVCs]uint8  // the channel behind
	kinds         [ports]uint64 // of arrivals of what leaves by an output: of a head, and isBody bits above of others
	behind        list[place]   // input virtual channels whose heads came to the front in the last cycle and are routed in this one
	grants        []grant
	offers        [inVCs]uint64 // scratch of allocateVCs, zeros between

	counters Counters
	onEject  func(node, vc int, f flit) // sees every flit in tests
}

// New returns an empty network at cycle 0.
func New(cfg Config) (*Network, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	nodes, vcs := cfg.Nodes(), cfg.VCs
	places := bits.Len(uint(cfg.Depth - 1))
	n := &Network{
		cfg:           cfg,
		places:        uint8(places),
		width:         uint8(bits.Len(uint(numPorts*vcs - 1))),
		vcs:           vcs,
		stride:        numPorts * vcs,
		routers:       make([]router, nodes),
		multi:         make([]branches, nodes*numPorts*vcs),
		sources:       make([]source, nodes),
		unused:        -1,
		flight:        max(cfg.RouterCycles-2, 1) + cfg.LinkCycles,
		back:          2 + cfg.CreditCycles,
		requesting:    newOutputs(nodes),
		asking:        newOutputs(nodes),
		grants:        make([]grant, nodes*ports),
		activeSources: make([]uint64, (nodes+63)/64),
		told:          -1,
	}
	slots := 1 << bits.Len(uint(max(n.flight, n.back)))
	n.slots = make([]slot, slots)
	// In a cycle each output of a router, and its source, sends a flit at most; each input
	// and the node give back a credit.
	most := nodes * (numPorts + 1)
	for i := range n.slots {
		s := &n.slots[i]
		for kind := range s.flits {
			s.flits[kind].items = make([]flitArrival, most)
		}
		s.credits.items = make([]place, most)
	}
	n.behind.items = make([]place, most)
	for i := range n.portOf {
		n.portOf[i] = uint8(i / vcs % ports)
	}
	for p := range numPorts {
		n.channels[p] = (1<<vcs - 1) << (p * vcs)
		n.portAfter[p] = uint8((p + 1) % numPorts * vcs)
		n.kinds[p] = heads | bodies<<isBody
		if p == local {
			n.kinds[p] = ejected | ejected<<isBody
		}
		n.accepted[p] = input((p+1)%numPorts) << inputPrefers
		for v := range vcs {
			n.turned[p*vcs+v] = input(p*vcs + (v+1)%vcs)
			n.afterIn[p*vcs+v] = uint8((p*vcs + v + 1) % n.stride)
		}
	}
	for i := range n.routers {
		r := &n.routers[i]
		r.x, r.y = uint8(i%cfg.Width), uint8(i/cfg.Width)
		r.where = n.where(int(r.x), int(r.y))
		r.free = 1<<n.stride - 1
		r.buf = make([]flit, 1<<places<<n.width)
		for v := range r.out {
			r.out[v].credits = int16(cfg.Depth)
		}
		for p := range r.nodes {
			r.inputs[p] = input(p * vcs)
			r.nodes[p] = -1
		}
		r.nodes[local] = int32(i)
		if int(r.x) < cfg.Width-1 {
			r.nodes[east] = int32(i + 1)
		}
		if r.x > 0 {
			r.nodes[west] = int32(i - 1)
		}
		if int(r.y) < cfg.Height-1 {
			r.nodes[north] = int32(i + cfg.Width)
		}
		if r.y > 0 {
			r.nodes[south] = int32(i - cfg.Width)
		}
		n.sources[i] = source{first: -1, last: -1, vc: -1}
	}
	for i := range n.routers {
		r := &n.routers[i]
		for iv := range numPorts * vcs {
			p := iv / vcs
			r.in[iv].head = uint32(iv)
			r.in[iv].up = newPlace(i, n.stride+iv%vcs)
			r.out[iv].down = newPlace(i, iv)
			if to := int(r.nodes[p]); p != local && to >= 0 {
				there := opposite[p]*vcs + iv%vcs
				r.in[iv].up = newPlace(to, there)
				r.out[iv].down = newPlace(to, there)
			}
		}
	}
	return n, nil
}

// Config is the mesh as it was made.
func (n *Network) Config() Config { return n.cfg }

// Now is the current cycle.
func (n *Network) Now() int64 { return n.now }

// Queued is how many flits wait in a node for its link.
func (n *Network) Queued(node int) int { return int(n.sources[node].queued) }

// Idle tells whether no packet is in the network or in a queue. Credits may
// still be under way.
func (n *Network) Idle() bool { return n.counters.Injected == n.counters.Completed }

// Inject puts a packet into the queue of its source in the current cycle. A
// multicast must fit into a buffer, or its tree could block itself: see the
// package comment.
func (n *Network) Inject(p Packet) error {
	_, err := n.injectAt(n.now, p)
	return err
}

// injectAt puts a packet into the queue of its source in a cycle, which may not be reached
// yet; they come in order. No delivery of it is before the cycle that it returns.
func (n *Network) injectAt(at int64, p Packet) (least int64, err error) {
	nodes := n.cfg.Nodes()
	switch {
	case p.Src < 0 || p.Src >= nodes:
		return 0, fmt.Errorf("noc: source %d, expected 0 to %d", p.Src, nodes-1)
	case p.Flits < 1 || p.Flits > math.MaxInt32/2:
		return 0, fmt.Errorf("noc: packet of %d flits, expected at least 1", p.Flits)
	case p.Dsts == nil && (p.Dst < 0 || p.Dst >= nodes):
		return 0, fmt.Errorf("noc: destination %d, expected 0 to %d", p.Dst, nodes-1)
	case p.Dsts != nil && len(p.Dsts) == 0:
		return 0, fmt.Errorf("noc: multicast to no node")
	case len(p.Dsts) > 1 && p.Flits > n.cfg.Depth:
		return 0, fmt.Errorf("noc: multicast of %d flits, expected at most the %d of a buffer", p.Flits, n.cfg.Depth)
	}
	for _, d := range p.Dsts {
		if d < 0 || d >= nodes {
			return 0, fmt.Errorf("noc: destination %d, expected 0 to %d", d, nodes-1)
		}
	}
	id := n.newPacket()
	k := &n.packets[id]
	*k = packet{injected: at, tag: p.Tag, src: int32(p.Src), dst: int32(p.Dst), flits: int32(p.Flits), next: -1, tree: -1, waiting: 1}
	if len(p.Dsts) == 1 {
		k.dst = int32(p.Dsts[0])
	} else if len(p.Dsts) > 1 {
		k.tree, k.waiting = n.newTree(p.Dsts)
	}
	k.way = n.way(int(k.src), int(k.dst))
	to := int(k.dst)
	if k.tree >= 0 {
		to = p.Src // none is nearer
	}
	least = at + n.cfg.ZeroLoadLatency(p.Src, to, p.Flits)
	if n.Idle() || least < n.soonest {
		n.soonest = least
	}
	n.counters.Injected++
	n.sources[p.Src].queued += k.flits
	if at > n.now {
		n.later = append(n.later, id)
	} else {
		n.enqueue(id)
	}
	return least, nil
}

// enqueue puts a packet into the queue of its source.
func (n *Network) enqueue(id int32) {
	src := n.packets[id].src
	s := &n.sources[src]
	if s.first < 0 {
		s.first = id
		s.sent = 0
	} else {
		n.packets[s.last].next = id
	}
	s.last = id
	n.activeSources[src>>6] |= 1 << (src & 63)
}

// release enqueues the packets of the current cycle that came before it was reached.
func (n *Network) release() {
	k := 0
	for k < len(n.later) && n.packets[n.later[k]].injected <= n.now {
		n.enqueue(n.later[k])
		k++
	}
	if k > 0 {
		n.later = append(n.later[:0], n.later[k:]...)
	}
}

// Rest puts the arbiters of an idle network into the state of a new one, so that what
// packets take does not depend on those that came long before.
func (n *Network) Rest() {
	if !n.Idle() {
		return
	}
	for i := range n.routers {
		r := &n.routers[i]
		clear(r.inputs[:])
		for o := range r.outputs {
			r.outputs[o].prefers = 0
		}
		for v := range r.in {
			r.in[v].prefers = 0
		}
		for v := range r.out {
			r.out[v].prefers = 0
		}
		n.sources[i].lastVC = 0
	}
}

func (n *Network) newPacket() int32 {
	if id := n.unused; id >= 0 {
		n.unused = n.packets[id].next
		return id
	}
	n.packets = append(n.packets, packet{})
	return int32(len(n.packets) - 1)
}

// freePacket forgets a packet that all its nodes have received.
func (n *Network) freePacket(id int32) {
	k := &n.packets[id]
	if k.tree >= 0 {
		n.trees = append(n.trees, k.tree)
	}
	k.next = n.unused
	n.unused = id
	n.counters.Completed++
}

// NextEvent is a cycle before which no packet is delivered: nothing is missed by
// advancing to it. It is Never if no packet is under way, and later than Now
// otherwise.
func (n *Network) NextEvent() int64 {
	next := Never
	if n.Idle() {
		return next
	}
	if n.soonest > n.now+int64(n.flight) {
		return n.soonest
	}
	if len(n.later) > 0 {
		next = n.packets[n.later[0]].injected + int64(n.flight)
	}
	if n.busy() {
		next = n.now + int64(n.flight)
	}
	if n.pending > 0 {
		for d := 1; d < len(n.slots); d++ {
			s := n.slotAt(d)
			if s.flits[ejected].n > 0 && n.now+int64(d) > n.told {
				return min(next, n.now+int64(d))
			}
			if s.moving() > 0 || s.credits.n > 0 {
				next = min(next, n.now+int64(d+n.flight))
			}
		}
	}
	return next
}

// Back asks for huge pages of the host where the network lies.
func (n *Network) Back(s *hugepage.Slab) {
	hugepage.Back(s, unsafe.Slice(n, 1))
	hugepage.Back(s, n.routers)
	hugepage.Back(s, n.sources)
	for i := range n.routers {
		hugepage.Back(s, n.routers[i].buf)
	}
	for i := range n.slots {
		for k := range n.slots[i].flits {
			hugepage.Back(s, n.slots[i].flits[k].items)
		}
		hugepage.Back(s, n.slots[i].credits.items)
	}
}

// prefetch brings the state of routers into the caches of the host, if many will move
// something: between two cycles a model has used them for other things.
func (n *Network) prefetch() {
	if n.counters.Injected-n.counters.Completed < uint64(len(n.routers)/2) {
		return
	}
	const line = 64
	in := (n.stride*int(unsafe.Sizeof(inVC{})) + line - 1) / line
	out := ((n.stride+n.vcs)*int(unsafe.Sizeof(outVC{})) + line - 1) / line
	flits := (n.stride*int(unsafe.Sizeof(flit(0))) + line - 1) / line
	for i := range n.routers {
		r := &n.routers[i]
		prefetch.Lines(unsafe.Pointer(&r.outputs), int(unsafe.Sizeof(r.outputs))/line)
		prefetch.Lines(unsafe.Pointer(&r.in), in)
		prefetch.Lines(unsafe.Pointer(&r.out), out)
		prefetch.Lines(unsafe.Pointer(&r.inputs), 2) // and what follows
		prefetch.Lines(unsafe.Pointer(&r.buf[0]), flits)
	}
}

// busy tells whether something can move in the current cycle.
func (n *Network) busy() bool {
	if n.stirred || n.behind.n > 0 {
		return true
	}
	for _, w := range n.activeSources {
		if w != 0 {
			return true
		}
	}
	for i, some := range n.requesting.some {
		for ; some != 0; some &= some - 1 {
			if n.requesting.words[i<<6|bits.TrailingZeros64(some)] != 0 {
				return true
			}
		}
	}
	for i, some := range n.asking.some {
		for ; some != 0; some &= some - 1 {
			k := i<<6 | bits.TrailingZeros64(some)
			for w := n.asking.words[k]; w != 0; w &= w - 1 {
				if at := k<<6 | bits.TrailingZeros64(w); n.routers[at>>portBits].free&n.channels[at&(ports-1)] != 0 {
					return true
				}
			}
		}
	}
	for _, a := range n.slotAt(0).heads() {
		if q := &n.routers[a.at.node()].in[a.at.vc()]; q.ports == 0 || q.multicast {
			return true
		}
	}
	return false
}

// heads are those that arrive.
func (s *slot) heads() []flitArrival { return s.flits[heads].items[:s.flits[heads].n] }

func (n *Network) slotAt(delay int) *slot {
	return &n.slots[int(n.now+int64(delay))&(len(n.slots)-1)]
}

// AdvanceTo simulates up to the beginning of cycle t: what arrives in it has
// arrived and its deliveries are told; packets injected after that leave in t at
// the earliest. Cycles in which nothing moves are skipped. A time that has passed
// changes nothing.
func (n *Network) AdvanceTo(t int64) {
	for n.now < t {
		n.release()
		if !n.busy() {
			n.bufferHeads(n.slotAt(0))
			until := t
			if len(n.later) > 0 {
				until = min(t, n.packets[n.later[0]].injected)
			}
			d := int64(1)
			for n.pending > 0 && n.slotAt(int(d)).len() == 0 {
				d++
			}
			if n.pending == 0 || n.now+d > until {
				n.now = until
				continue
			}
			n.now += d
		} else {
			n.evaluate()
			n.now++
		}
		n.arrive()
	}
	n.release()
}

// evaluate lets sources and routers send in the current cycle. They do not see
// each other's doing before the next one, so that their order does not matter.
func (n *Network) evaluate() {
	n.counters.Cycles++
	for i, w := range n.activeSources {
		if w == 0 {
			continue
		}
		from := n.slotAt(1 + n.cfg.LinkCycles)
		for ; w != 0; w &= w - 1 {
			n.send(from, i<<6|bits.TrailingZeros64(w))
		}
	}
	n.stirred = false
	n.allocateSwitches()
	n.allocateVCs()
	if n.behind.n > 0 {
		n.askBehind()
	}
	if s := n.slotAt(0); s.flits[heads].n > 0 {
		n.bufferHeads(s)
	}
	if len(n.grants) == 0 {
		return
	}
	n.forward()
	if n.cfg.RouterCycles == 2 {
		n.askBehind()
	}
}

// forward lets routers send what their switches were allocated to.
func (n *Network) forward() {
	n.leaving, n.returning = n.slotAt(n.flight), n.slotAt(n.back)
	flits, credits := &n.leaving.flits, &n.returning.credits
	moving, rest := n.leaving.moving(), flits[ejected].n+credits.n
	n.acceptAll()
	n.connectAll()
	for _, at := range n.behind.items[:n.behind.n] {
		r := &n.routers[at.node()]
		n.front(at, r.buf[r.in[at.vc()].head])
	}
	moving = n.leaving.moving() - moving
	n.counters.FlitHops += uint64(moving)
	n.pending += moving + flits[ejected].n + credits.n - rest
}

// send moves a flit of a node onto the link to its router.
func (n *Network) send(to *slot, node int) {
	s := &n.sources[node]
	channels := n.routers[node].out[n.stride:][:n.vcs]
	if s.vc < 0 {
		for i, v := 0, int(s.lastVC); i < len(channels); i++ {
			if v++; v >= len(channels) {
				v = 0
			}
			if channels[v].credits > 0 {
				s.vc, s.lastVC = int8(v), int8(v)
				break
			}
		}
	}
	if s.vc < 0 || channels[s.vc].credits == 0 {
		n.activeSources[node>>6] &^= 1 << (node & 63) // until a credit comes
		return
	}
	channels[s.vc].credits--
	id := s.first
	k := &n.packets[id]
	tail := s.sent == k.flits-1
	kind := heads
	if s.sent > 0 {
		kind = bodies
	}
	to.flits[kind].put(flitArrival{newFlit(id, k, int(s.sent)), newPlace(node, local*n.vcs+int(s.vc))})
	n.pending++
	n.counters.InjectedFlits++
	s.sent++
	s.queued--
	if tail {
		s.first, s.sent, s.vc = k.next, 0, -1
		if s.first < 0 {
			n.activeSources[node>>6] &^= 1 << (node & 63)
		}
	}
}

// arrive takes in what reaches routers and nodes in the current cycle.
func (n *Network) arrive() {
	s := n.slotAt(0)
	n.pending -= s.len()
	if n.cfg.RouterCycles == 2 {
		n.bufferHeads(s)
	}
	if s.flits[bodies].n > 0 {
		n.bufferBodies(s)
	}
	for _, at := range s.credits.items[:s.credits.n] {
		out := &n.routers[at.node()].out[at.vc()]
		if out.credits++; out.credits == 1 {
			n.wake(at)
		}
	}
	s.credits.n = 0
	gone := &s.flits[ejected]
	if gone.n == 0 {
		return
	}
	back := &n.slotAt(n.back).credits
	for _, a := range gone.items[:gone.n] {
		back.put(a.at)
	}
	n.pending += gone.n
	for _, a := range gone.items[:gone.n] {
		n.eject(a)
	}
	gone.n = 0
}

// eject takes a flit out of the network.
func (n *Network) eject(a flitArrival) {
	node := a.at.node()
	n.counters.EjectedFlits++
	if n.onEject != nil {
		n.onEject(node, a.at.vc()-local*n.vcs, a.flit)
	}
	if n.now > n.told {
		n.tell(a, n.now)
	}
}

// tellAll tells the deliveries of a cycle that is not reached yet, but whose flits are
// known to arrive: they have left the last router.
func (n *Network) tellAll(t int64) {
	n.told = t
	gone := &n.slotAt(int(t - n.now)).flits[ejected]
	for _, a := range gone.items[:gone.n] {
		n.tell(a, t)
	}
}

// tell tells a delivery at a cycle, if it is the last flit.
func (n *Network) tell(a flitArrival, at int64) {
	if !a.flit.tail() {
		return
	}
	node := a.at.node()
	id := a.flit.packet()
	k := &n.packets[id]
	k.waiting--
	n.counters.Delivered++
	d := Delivery{Tag: k.tag, Src: int(k.src), Dst: node, Flits: int(k.flits), Injected: k.injected, At: at, Last: k.waiting == 0}
	if d.Last {
		n.freePacket(id)
	}
	if n.OnDelivery != nil {
		n.OnDelivery(d)
	}
}
