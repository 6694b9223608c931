package noc

import "slices"

// naive is the same network by definition: every router in every cycle, requests
// as matrices, buffers as slices, wires as lists of what arrives when. It shares
// the types of packets and deliveries with Network and nothing else.
type naive struct {
	cfg     Config
	now     int64
	routers []*naiveRouter
	sources []*naiveSource
	wires   []naiveWire
	packets []*naivePacket
	done    []Delivery
	hops    uint64 // flits over links between routers
}

type naivePacket struct {
	Packet
	injected int64
	dsts     map[int]bool
	left     int
}

type naiveFlit struct {
	packet *naivePacket
	seq    int
	vc     int
}

func (f naiveFlit) tail() bool { return f.seq == f.packet.Flits-1 }

type naiveWire struct {
	at       int64
	to, port int // router, input port; for credits output port; port -1 = source's credit
	credit   bool
	eject    bool
	vc       int
	flit     naiveFlit
}

type naiveBranch struct {
	vc    int // -1 = not allocated
	since int64
	sent  int
	done  bool
}

type naiveInput struct {
	queue    []naiveFlit
	state    string // "idle", "routing", "ready": its branches ask or send
	since    int64  // cycle of routing
	branches map[int]*naiveBranch
}

type naiveRouter struct {
	id       int
	in       [numPorts][]*naiveInput
	credit   [numPorts][]int
	taken    [numPorts][]bool
	vaGrant  []int
	vaAccept []int
	saGrant  [numPorts]int
	saAccept [numPorts]int
	turn     [numPorts]int
}

type naiveSource struct {
	queue  []*naivePacket
	sent   int
	vc     int
	last   int
	credit []int
}

func newNaive(cfg Config) *naive {
	n := &naive{cfg: cfg}
	for id := range cfg.Width * cfg.Height {
		r := &naiveRouter{id: id, vaGrant: make([]int, numPorts*cfg.VCs), vaAccept: make([]int, numPorts*cfg.VCs)}
		for p := range numPorts {
			for range cfg.VCs {
				r.in[p] = append(r.in[p], &naiveInput{state: "idle"})
				r.credit[p] = append(r.credit[p], cfg.Depth)
				r.taken[p] = append(r.taken[p], false)
			}
		}
		n.routers = append(n.routers, r)
		s := &naiveSource{vc: -1}
		for range cfg.VCs {
			s.credit = append(s.credit, cfg.Depth)
		}
		n.sources = append(n.sources, s)
	}
	return n
}

func (n *naive) inject(p Packet) {
	k := &naivePacket{Packet: p, injected: n.now, dsts: map[int]bool{}}
	for _, d := range p.Dsts {
		k.dsts[d] = true
	}
	if p.Dsts == nil {
		k.dsts[p.Dst] = true
	}
	k.left = len(k.dsts)
	n.sources[p.Src].queue = append(n.sources[p.Src].queue, k)
	n.packets = append(n.packets, k)
}

// way is the routers from src to dst, first along x and then along y, or the other
// way round.
func (n *naive) way(src, dst int) []int {
	w := n.cfg.Width
	x, y := src%w, src/w
	way := []int{src}
	for n.cfg.YX && y != dst/w {
		if y < dst/w {
			y++
		} else {
			y--
		}
		way = append(way, y*w+x)
	}
	for x != dst%w {
		if x < dst%w {
			x++
		} else {
			x--
		}
		way = append(way, y*w+x)
	}
	for y != dst/w {
		if y < dst/w {
			y++
		} else {
			y--
		}
		way = append(way, y*w+x)
	}
	return way
}

func (n *naive) port(from, to int) int {
	switch to - from {
	case 0:
		return local
	case 1:
		if n.cfg.Width > 1 {
			return east
		}
		return north
	case -1:
		if n.cfg.Width > 1 {
			return west
		}
		return south
	case n.cfg.Width:
		return north
	}
	return south
}

// outputs are the ports by which the ways from the source to the nodes leave a
// router.
func (n *naive) outputs(k *naivePacket, router int) map[int]*naiveBranch {
	out := map[int]*naiveBranch{}
	for d := range k.dsts {
		way := n.way(k.Src, d)
		i := slices.Index(way, router)
		if i < 0 {
			continue
		}
		next := router
		if i+1 < len(way) {
			next = way[i+1]
		}
		out[n.port(router, next)] = &naiveBranch{vc: -1}
	}
	return out
}

func (n *naive) neighbour(router, port int) int {
	return router + []int{1, -1, n.cfg.Width, -n.cfg.Width, 0}[port]
}

func (n *naive) advanceTo(t int64) {
	for n.now < t {
		n.cycle()
		n.now++
		n.arrivals()
	}
}

func (n *naive) arrivals() {
	var rest []naiveWire
	for _, w := range n.wires {
		switch {
		case w.at > n.now:
			rest = append(rest, w)
		case w.credit && w.port < 0:
			n.sources[w.to].credit[w.vc]++
		case w.credit:
			n.routers[w.to].credit[w.port][w.vc]++
		case w.eject:
			rest = append(rest, naiveWire{at: n.now + 2 + int64(n.cfg.CreditCycles), to: w.to, port: local, credit: true, vc: w.flit.vc})
			if k := w.flit.packet; w.flit.tail() {
				k.left--
				n.done = append(n.done, Delivery{Tag: k.Tag, Src: k.Src, Dst: w.to, Flits: k.Flits, Injected: k.injected, At: n.now, Last: k.left == 0})
			}
		default:
			q := n.routers[w.to].in[w.port][w.flit.vc]
			q.queue = append(q.queue, w.flit)
			if len(q.queue) > n.cfg.Depth {
				panic("buffer overflow")
			}
			if q.state == "idle" {
				q.state, q.since = "routing", n.now
				if n.cfg.RouterCycles == 2 { // routed by the router before
					q.branches = n.outputs(w.flit.packet, w.to)
					q.state, q.since = "ready", n.now-1
				}
			}
		}
	}
	n.wires = rest
}

// match is one iteration of iSLIP: each output grants the first input from its
// pointer on, each input accepts the first such output. The accepted pairs advance
// both pointers.
func match(request [][]bool, grantFrom, acceptFrom []int) map[int]int {
	inputs, outputs := len(request), len(request[0])
	granted := make([]int, outputs)
	for o := range outputs {
		granted[o] = -1
		for i := range inputs {
			if in := (grantFrom[o] + i) % inputs; request[in][o] {
				granted[o] = in
				break
			}
		}
	}
	accepted := map[int]int{}
	for in := range inputs {
		for i := range outputs {
			o := (acceptFrom[in] + i) % outputs
			if granted[o] == in {
				accepted[in] = o
				grantFrom[o], acceptFrom[in] = (in+1)%inputs, (o+1)%outputs
				break
			}
		}
	}
	return accepted
}

func (n *naive) cycle() {
	for id, s := range n.sources {
		if len(s.queue) == 0 {
			continue
		}
		if s.vc < 0 {
			for i := 1; i <= n.cfg.VCs; i++ {
				if v := (s.last + i) % n.cfg.VCs; s.credit[v] > 0 {
					s.vc, s.last = v, v
					break
				}
			}
		}
		if s.vc < 0 || s.credit[s.vc] == 0 {
			continue
		}
		f := naiveFlit{s.queue[0], s.sent, s.vc}
		s.credit[s.vc]--
		n.wires = append(n.wires, naiveWire{at: n.now + 1 + int64(n.cfg.LinkCycles), to: id, port: local, flit: f})
		s.sent++
		if f.tail() {
			s.queue, s.sent, s.vc = s.queue[1:], 0, -1
		}
	}
	for _, r := range n.routers {
		n.router(r)
	}
}

func (n *naive) router(r *naiveRouter) {
	v := n.cfg.VCs
	type sending struct{ p, vc, o int }
	var sends []sending

	// What the switch can do depends on the state before this cycle's allocation of
	// virtual channels, which in turn does not see the tails that leave in it.
	request := make([][]bool, numPorts)
	chosen := [numPorts][numPorts]int{}
	for p := range numPorts {
		request[p] = make([]bool, numPorts)
		for o := range numPorts {
			for i := range v {
				vc := (r.turn[p] + i) % v
				q := r.in[p][vc]
				b := q.branches[o]
				if q.state == "ready" && b != nil && !b.done && b.vc >= 0 && b.since < n.now && b.sent < len(q.queue) && r.credit[o][b.vc] > 0 {
					request[p][o] = true
					chosen[p][o] = vc
					break
				}
			}
		}
	}
	granted := [numPorts]int{}
	for o := range numPorts {
		granted[o] = -1
		for i := range numPorts {
			if p := (r.saGrant[o] + i) % numPorts; request[p][o] {
				granted[o] = p
				break
			}
		}
	}
	for p, o := range match(request, r.saGrant[:], r.saAccept[:]) {
		vc := chosen[p][o]
		r.turn[p] = (vc + 1) % v
		sends = append(sends, sending{p, vc, o})
		for also := range numPorts {
			q := r.in[p][vc]
			if also != o && granted[also] == p && chosen[p][also] == vc && q.branches[also].sent == q.branches[o].sent {
				r.saGrant[also] = (p + 1) % numPorts
				sends = append(sends, sending{p, vc, also})
			}
		}
	}

	for o := range numPorts {
		ask := make([][]bool, numPorts*v)
		for i := range ask {
			ask[i] = make([]bool, numPorts*v)
			q := r.in[i/v][i%v]
			if b := q.branches[o]; q.state == "ready" && q.since < n.now && b != nil && !b.done && b.vc < 0 {
				for vc := range v {
					ask[i][o*v+vc] = !r.taken[o][vc]
				}
			}
		}
		for i, out := range match(ask, r.vaGrant, r.vaAccept) {
			b := r.in[i/v][i%v].branches[o]
			b.vc, b.since = out%v, n.now
			r.taken[o][out%v] = true
		}
	}

	for p := range numPorts {
		for vc := range v {
			if q := r.in[p][vc]; q.state == "routing" && q.since == n.now {
				q.branches = n.outputs(q.queue[0].packet, r.id)
				q.state = "ready"
			}
		}
	}

	for _, s := range sends {
		q := r.in[s.p][s.vc]
		b := q.branches[s.o]
		f := q.queue[b.sent]
		f.vc = b.vc
		b.sent++
		r.credit[s.o][b.vc]--
		w := naiveWire{at: n.now + int64(max(n.cfg.RouterCycles-2, 1)+n.cfg.LinkCycles), to: n.neighbour(r.id, s.o), port: s.o ^ 1, flit: f}
		if s.o == local {
			w.eject = true
		} else {
			n.hops++
		}
		n.wires = append(n.wires, w)
		if f.tail() {
			b.done = true
			r.taken[s.o][b.vc] = false
		}
	}
	for p := range numPorts {
		for vc := range v {
			q := r.in[p][vc]
			for q.state == "ready" {
				all, done := true, true
				for _, b := range q.branches {
					all = all && b.sent > 0
					done = done && b.done
				}
				if !all {
					break
				}
				q.queue = q.queue[1:]
				for _, b := range q.branches {
					b.sent--
				}
				c := naiveWire{at: n.now + 2 + int64(n.cfg.CreditCycles), to: r.id, port: -1, credit: true, vc: vc}
				if p != local {
					c.to, c.port = n.neighbour(r.id, p), p^1
				}
				n.wires = append(n.wires, c)
				if !done {
					continue
				}
				left := 0
				for _, b := range q.branches {
					left = max(left, b.sent)
				}
				if left > 0 {
					continue
				}
				q.branches = nil
				q.state = "idle"
				if len(q.queue) > 0 {
					q.state, q.since = "routing", n.now+1
					if n.cfg.RouterCycles == 2 {
						q.branches = n.outputs(q.queue[0].packet, r.id)
						q.state, q.since = "ready", n.now
						break // its flits are sent in later cycles
					}
				}
			}
		}
	}
}
