package masim

// parking is the first time a value is evicted to an array that does not need it.
type parking struct {
	stamp int32
	time  int32
}

// findParked notes the values that the current schedule parks.
func (s *search) findParked() {
	if s.parked == nil {
		s.parked = make([]parking, s.in.values)
	}
	for i := range s.ev.segments {
		for _, c := range s.ev.segments[i].copies {
			if p := &s.parked[c.value]; c.parked && p.stamp != s.stamp {
				*p = parking{s.stamp, c.time}
			}
		}
	}
}

// flipParked moves to another array gates whose values are evicted before they are read: computed
// there, they need not be copied there. What is cheapest to move along moves too, as in flipCut.
func (s *search) flipParked() {
	var g int32 = -1
	for range 8 {
		if e := s.copyEvent(); e.parked && e.value >= s.in.first {
			g = e.value - s.in.first
			break
		}
	}
	if g < 0 {
		return
	}
	s.flipWindow(g, s.otherArray(g), true)
}

// flipCut is flipWindow without regard to what is evicted.
func (s *search) flipCut(g int32, b uint8) { s.flipWindow(g, b, false) }

// flipWindow moves gate g to array b, and with it those gates of a window of time
// that are cheapest to move along: the arrays of the window's gates become a
// minimum cut of the values that are read in both arrays, all else staying.
// Gates lean a little to b, so that some moves take many gates.
//
// Where parked is set only those gates lean whose values the schedule evicts before it reads them: a
// copy less each. Of values that it evicts later the place of the gate makes no difference.
func (s *search) flipWindow(g int32, b uint8, parked bool) {
	in, ev, net := s.in, s.ev, &s.net
	array, order := ev.plan.array, ev.plan.order
	a := array[g]
	if a == b {
		return
	}
	w := min(s.width(), in.gates)
	lo := min(max(ev.pos[g]-int32(s.r.IntN(int(w))), 0), in.gates-w)
	hi := lo + w
	weight := int32(1) << s.r.IntN(8) // of a copy, where the lean of a gate is 1

	s.stamp++
	if parked {
		s.findParked()
	}
	stamp := s.stamp
	nodes := int32(2)
	s.queue = s.queue[:0] // the values that matter
	touch := func(v int32) {
		if s.seen[v] != stamp {
			s.seen[v] = stamp
			s.queue = append(s.queue, v)
		}
	}
	s.span = s.span[:0] // the gates that may move
	for t := lo; t < hi; t++ {
		x := order[t]
		if array[x] != a && array[x] != b {
			continue
		}
		s.mark[x] = stamp
		s.node[in.first+x] = nodes
		nodes++
		s.span = append(s.span, x)
		for _, v := range in.fanin[x] {
			if v != 0 {
				touch(v)
			}
		}
		touch(in.first + x)
	}
	values := nodes
	net.reset(int(nodes) + 2*len(s.queue))
	for i, v := range s.queue {
		if x := v - in.first; parked && x >= 0 && s.parked[v].stamp == stamp && s.mark[x] == stamp && array[x] == a {
			if k := in.useStart[v]; k == in.useEnd[v] || ev.useTime[k] >= s.parked[v].time {
				net.arc(s.node[v], sink, weight)
			}
			continue
		}
		s.addValue(v, values+2*int32(i), a, b, weight)
	}
	for _, x := range s.span {
		if !parked {
			net.arc(s.node[in.first+x], sink, 1)
		}
	}
	net.arc(s.node[in.first+g], sink, noCut)
	before := net.work
	net.maximise(noCut)
	net.sinkSide()
	ev.work += (net.work-before)/8 + int64(w)/2
	for _, x := range s.span {
		to := a
		if net.level[s.node[in.first+x]] >= 0 {
			to = b
		}
		s.flip(x, to)
	}
}

// addValue adds a value to the network of flipCut: an arc of the weight of a
// copy from node id to id+1, cut where gates on both sides have to do with it.
func (s *search) addValue(v, id int32, a, b uint8, weight int32) {
	in, net, array := s.in, &s.net, s.ev.plan.array
	net.arc(id, id+1, weight)
	inA, inB := false, false
	join := func(x int32) {
		switch {
		case s.mark[x] == s.stamp:
			n := s.node[in.first+x]
			net.arc(n, id, noCut)
			net.arc(id+1, n, noCut)
		case array[x] == a:
			inA = true
		case array[x] == b:
			inB = true
		}
	}
	if h := in.home[v]; h >= 0 {
		inA, inB = int(h) == int(a), int(h) == int(b)
	} else {
		join(v - in.first)
	}
	for _, u := range in.uses(v) {
		join(u)
	}
	if inA {
		net.arc(source, id, noCut)
	}
	if inB {
		net.arc(id+1, sink, noCut)
	}
}
