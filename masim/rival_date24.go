package masim

import "slices"

// The parameters of the divide and conquer.
const (
	dateLeaf    = 80     // gates of a sub-netlist that is scheduled as a whole
	dateBalance = 0.1    // a half has at most so much more than half of the gates
	datePasses  = 8      // of refining a cut, at most
	dateStar    = 60_000 // gates up to which STAR's order is looked at, whose time is nearly quadratic
	dateStates  = 5000   // that the search for the fewest rows of a sub-netlist looks at
)

// date24Order is the execution sequence of the divide and conquer of DATE'24
// [10]: the netlist is cut into two halves, of which the first needs nothing of
// the second, with as few values passing from one to the other as can be; each
// half is cut again, down to sub-netlists small enough to be scheduled for the
// fewest rows. Inputs take no rows beyond their own.
//
// The authors cut by an integer program (Gurobi) and schedule sub-netlists by SMT
// (Z3), for minutes each. Here a cut is the best prefix of several orders, the
// netlist's own and those of the other rivals, refined by moving gates across it
// (the method of Fiduccia and Mattheyses, with both halves kept closed). A
// sub-netlist is scheduled by an exact search, see [piece], that starts from
// the best of those orders and ends with the best so far when it has looked at a
// number of states. So a cut may have more values than theirs, and a sub-netlist
// may take more rows than the fewest; neither depends on the speed of the machine.
//
// It returns nil if stop says so.
func date24Order(net *cicppNet, r ranks, stop func() bool) []int32 {
	d := newDate24(net, r, stop)
	if d == nil {
		return nil
	}
	d.divide(0, len(d.order))
	if stop() {
		return nil
	}
	return d.order
}

func newDate24(net *cicppNet, r ranks, stop func() bool) *date24 {
	d := &date24{
		net:   net,
		stop:  stop,
		order: netlistOrder(net),
		side:  make([]int8, net.nodes),
		late:  make([]int32, net.nodes),
		local: make([]int32, net.nodes),
		stamp: make([]int32, net.nodes),
	}
	for v := range d.side {
		d.side[v] = noHalf
	}
	copy(d.late, net.uses)
	bases := [][]int32{d.order, simplerOrder(net, r, stop), gppicOrder(net, r, stop)}
	if net.gates() <= dateStar {
		bases = append(bases, starOrder(net, r, stop))
	}
	for _, order := range bases {
		if order == nil {
			return nil
		}
		rank := make([]int32, net.nodes)
		for i, g := range order {
			rank[g] = int32(i)
		}
		d.bases = append(d.bases, rank)
	}
	return d
}

// The sides of a gate. Gates are outside of the part that is being cut, or in one
// of its halves.
const (
	noHalf     = -1
	firstHalf  = 0
	secondHalf = 1
)

type date24 struct {
	net   *cicppNet
	stop  func() bool
	order []int32   // always a valid order; parts are spans of it
	bases [][]int32 // by base order and gate: its time there

	side  []int8  // by node
	late  []int32 // by value: fanouts that are not computed, or in the second half
	local []int32 // by node: index in the piece
	stamp []int32 // by gate: last move
	tick  int32

	cut   []int32 // scratch of bisect
	best  []int32
	moved []int32
}

// divide reorders the span [lo, hi) of the order. The fanouts computed so far
// are those before lo.
func (d *date24) divide(lo, hi int) {
	if d.stop() {
		return
	}
	part := d.order[lo:hi]
	if len(part) <= dateLeaf {
		d.conquer(part)
		for _, g := range part {
			d.read(g, -1)
		}
		return
	}
	mid := lo + d.bisect(part)
	d.divide(lo, mid)
	d.divide(mid, hi)
}

// read adds to the fanouts to come of the fanins of g.
func (d *date24) read(g int32, change int32) {
	for _, f := range d.net.faninsOf(g) {
		d.late[f] += change
	}
}

func (d *date24) needed(v int32) bool { return d.net.keep[v] || d.late[v] > 0 }

// weight is what value v costs at a cut after it.
func (d *date24) weight(v int32) int32 {
	if int(v) >= d.net.first && d.needed(v) {
		return 1
	}
	return 0
}

// gain is by how much the cost of the cut falls when g goes to the other side.
func (d *date24) gain(g int32) int32 {
	gain := int32(0)
	if d.side[g] == firstHalf {
		gain = d.weight(g)
		for _, f := range d.net.faninsOf(g) {
			if int(f) >= d.net.first && d.late[f] == 0 && !d.net.keep[f] {
				gain--
			}
		}
		return gain
	}
	gain = -d.weight(g)
	for _, f := range d.net.faninsOf(g) {
		if int(f) >= d.net.first && d.late[f] == 1 && !d.net.keep[f] {
			gain++
		}
	}
	return gain
}

// flip takes g to the other side.
func (d *date24) flip(g int32) {
	d.side[g] ^= 1
	d.read(g, 1-2*int32(1-d.side[g]))
}

// movable reports whether the halves stay closed when g changes sides.
func (d *date24) movable(g int32) bool {
	if d.side[g] == firstHalf {
		for _, h := range d.net.fanoutsOf(g) {
			if d.side[h] == firstHalf {
				return false
			}
		}
		return true
	}
	for _, f := range d.net.faninsOf(g) {
		if int(f) >= d.net.first && d.side[f] == secondHalf {
			return false
		}
	}
	return true
}

// bisect reorders part into two halves and returns the length of the first.
func (d *date24) bisect(part []int32) int {
	n := len(part)
	least := int(float64(n) * (1 - dateBalance) / 2)
	most := n - least
	for _, g := range part {
		d.side[g] = secondHalf
	}
	bestCost := int32(1<<31 - 1)
	bestBase := d.bases[0]
	d.cut = append(d.cut[:0], part...)
	for _, base := range d.bases {
		sortBy(d.cut, base)
		// The cheapest prefix.
		cost, at, low := int32(0), least, int32(1<<31-1)
		for i, g := range d.cut[:most] {
			cost -= d.gain(g)
			d.flip(g)
			if i+1 >= least && cost < low {
				low, at = cost, i+1
			}
		}
		for _, g := range d.cut[at:most] {
			d.flip(g)
		}
		low -= d.refine(d.cut, at, least, most)
		if low < bestCost {
			bestCost, bestBase = low, base
			d.best = d.best[:0]
			for _, g := range d.cut {
				if d.side[g] == firstHalf {
					d.best = append(d.best, g)
				}
			}
		}
		for _, g := range d.cut {
			if d.side[g] == firstHalf {
				d.flip(g)
			}
		}
	}
	for _, g := range d.best {
		d.side[g] = firstHalf
	}
	sortBy(part, bestBase)
	d.cut = append(d.cut[:0], part...)
	k, l := 0, len(d.best)
	for _, g := range d.cut {
		if d.side[g] == firstHalf {
			part[k] = g
			k++
		} else {
			part[l] = g
			l++
		}
		d.side[g] = noHalf
	}
	return k
}

func sortBy(gates []int32, rank []int32) {
	slices.SortFunc(gates, func(a, b int32) int { return int(rank[a] - rank[b]) })
}

// refine moves gates across the cut, size being those in the first half, as long
// as that makes the cut cheaper, and returns by how much it did.
//
// In a pass each gate moves once at most, the one of the highest gain first, even
// if it is negative; then all moves after the best moment are taken back.
func (d *date24) refine(part []int32, size, least, most int) int32 {
	var heaps [2]gateHeap // by side
	total := int32(0)
	patience := max(100, len(part)/10)
	for range datePasses {
		d.tick++
		pass := d.tick
		for i := range heaps {
			heaps[i] = heaps[i][:0]
		}
		offer := func(g int32) {
			if s := d.side[g]; s != noHalf && d.stamp[g] != pass && d.movable(g) {
				heaps[s].push(gateKey{uint32(1<<20 - d.gain(g)), uint32(d.bases[0][g]), g})
			}
		}
		for _, g := range part {
			offer(g)
		}
		moved := d.moved[:0]
		sum, high, until := int32(0), int32(0), 0
		for len(moved)-until < patience {
			// The top of each heap that is still true.
			pick, from := gateKey{priority: ^uint32(0)}, -1
			for s := range heaps {
				if s == firstHalf && size <= least || s == secondHalf && size >= most {
					continue
				}
				h := &heaps[s]
				for len(*h) > 0 {
					k := (*h)[0]
					if int(d.side[k.gate]) == s && d.stamp[k.gate] != pass && d.movable(k.gate) {
						if now := uint32(1<<20 - d.gain(k.gate)); now == k.priority {
							if k.before(pick) {
								pick, from = k, s
							}
							break
						}
					}
					h.pop()
				}
			}
			if from < 0 {
				break
			}
			g := pick.gate
			heaps[from].pop()
			sum += d.gain(g)
			d.flip(g)
			d.stamp[g] = pass
			size += 1 - 2*(1-from)
			moved = append(moved, g)
			if sum > high {
				high, until = sum, len(moved)
			}
			for _, f := range d.net.faninsOf(g) {
				if int(f) < d.net.first {
					continue
				}
				offer(f)
				for _, h := range d.net.fanoutsOf(f) {
					offer(h)
				}
			}
			for _, h := range d.net.fanoutsOf(g) {
				offer(h)
			}
		}
		for i := len(moved) - 1; i >= until; i-- {
			g := moved[i]
			size += 2*int(d.side[g]) - 1
			d.flip(g)
		}
		d.moved = moved
		total += high
		if high == 0 || d.stop() {
			break
		}
	}
	return total
}

// conquer puts a sub-netlist into the order of the fewest rows. d.late tells what
// is to come from it on.
func (d *date24) conquer(part []int32) {
	p := &piece{n: len(part)}
	sortBy(part, d.bases[0])
	for i, g := range part {
		d.side[g] = secondHalf
		d.local[g] = int32(i)
	}
	p.users = make([]pieceSet, p.n, 2*p.n)
	p.kept = make([]bool, p.n, 2*p.n)
	inside := make([]int32, p.n, 2*p.n)
	var before []int32 // values from outside
	for i, g := range part {
		f := [3]int32{-1, -1, -1}
		for k, v := range d.net.faninsOf(g) {
			if int(v) < d.net.first {
				continue
			}
			if d.side[v] == noHalf {
				d.side[v] = firstHalf
				d.local[v] = int32(len(p.users))
				before = append(before, v)
				p.users = append(p.users, pieceSet{})
				inside = append(inside, 0)
			}
			f[k] = d.local[v]
			p.users[f[k]].add(int32(i))
			inside[f[k]]++
		}
		p.fanins = append(p.fanins, f)
	}
	for i, g := range part {
		p.kept[i] = d.net.keep[g] || d.late[g] > inside[i]
	}
	for i, v := range before {
		p.kept = append(p.kept, d.net.keep[v] || d.late[v] > inside[p.n+i])
		d.side[v] = noHalf
	}
	p.start = len(before)
	var known []int32
	peak := 0
	for _, base := range d.bases {
		sortBy(part, base)
		order := make([]int32, p.n)
		for i, g := range part {
			order[i] = d.local[g]
		}
		if k := p.peak(order); known == nil || k < peak {
			known, peak = order, k
		}
	}
	order, _ := p.schedule(known, dateStates)
	sortBy(part, d.bases[0])
	sorted := slices.Clone(part)
	for i, l := range order {
		part[i] = sorted[l]
		d.side[sorted[l]] = noHalf
	}
}
