package masim

// starOrder is the execution sequence of STAR [9]: of the gates that are ready,
// the one whose own result can be removed from memory soonest, that is for which
// the fewest other gates have to be computed until all its fanouts are.
//
// An output is never removed, so it comes after all others that are ready.
func starOrder(net *cicppNet, r ranks) []int32 {
	s := &star{
		net:  net,
		done: make([]bool, net.nodes),
		seen: make([]int32, net.nodes),
	}
	missing := pendingFanins(net)
	// A key holds the step at which the count was made plus the count: since a
	// gate computed takes at most one from each count, the count is now at least
	// that less the present step.
	var ready, outputs gateHeap
	step := uint32(0)
	push := func(g int32, count uint32) { ready.push(gateKey{step + count, r.of(g), g}) }
	enter := func(g int32) {
		if net.keep[g] {
			outputs.push(gateKey{0, r.of(g), g})
		} else {
			push(g, 0)
		}
	}
	for g := int32(net.first); int(g) < net.nodes; g++ {
		if missing[g] == 0 {
			enter(g)
		}
	}
	order := make([]int32, 0, net.gates())
	var counted []gateKey
	for len(ready)+len(outputs) > 0 {
		best := gateKey{priority: starNever}
		counted = counted[:0]
		for len(ready) > 0 && ready[0].priority-step <= best.priority {
			k := ready.pop()
			count, exact := s.count(k.gate, max(2*(k.priority-step), starReach))
			if !exact {
				push(k.gate, count)
				continue
			}
			k.priority = count
			if k.before(best) {
				best = k
			}
			counted = append(counted, k)
		}
		for _, k := range counted {
			if k.gate != best.gate {
				push(k.gate, k.priority)
			}
		}
		if len(counted) == 0 {
			best = outputs.pop()
		}
		g := best.gate
		s.done[g] = true
		step++
		order = append(order, g)
		for _, h := range net.fanoutsOf(g) {
			if missing[h]--; missing[h] == 0 {
				enter(h)
			}
		}
	}
	return order
}

const (
	starReach = 32      // gates that a count looks at, at least
	starNever = 1 << 30 // more than any count
)

type star struct {
	net   *cicppNet
	done  []bool
	seen  []int32 // by node: stamp of the count that met it
	stamp int32
	stack []int32
}

// count returns how many gates have to be computed, g left out, until the
// result of g is needed no more. It stops above the limit; what it returns is then
// a lower bound.
func (s *star) count(g int32, limit uint32) (count uint32, exact bool) {
	s.stamp++
	s.seen[g] = s.stamp
	s.stack = s.stack[:0]
	meet := func(v int32) {
		if int(v) >= s.net.first && !s.done[v] && s.seen[v] != s.stamp {
			s.seen[v] = s.stamp
			s.stack = append(s.stack, v)
			count++
		}
	}
	for _, h := range s.net.fanoutsOf(g) {
		meet(h)
	}
	for len(s.stack) > 0 && count <= limit {
		v := s.stack[len(s.stack)-1]
		s.stack = s.stack[:len(s.stack)-1]
		for _, f := range s.net.faninsOf(v) {
			meet(f)
		}
	}
	return count, count <= limit
}
