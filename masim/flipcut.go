package masim

// flipCut moves gate g to array b, and with it those gates of a window of time
// that are cheapest to move along: the arrays of the window's gates become a
// minimum cut of the values that are read in both arrays, all else staying.
// Gates lean a little to b, so that some moves take many gates.
func (s *search) flipCut(g int32, b uint8) {
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
		s.addValue(v, values+2*int32(i), a, b, weight)
	}
	for _, x := range s.span {
		net.arc(s.node[in.first+x], sink, 1)
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
