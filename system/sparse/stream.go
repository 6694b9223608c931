package sparse

import "fmt"

// Steps 1 and 4 move pairs between rows and the line of a bank, and compute nothing.
// Their instructions repeat by the sub-clock that shifts one-hot values, a pair each link
// cycle, two walkers taking rows in turn: while the words of one pass, the row of the
// other is loaded, or stored.

// AppendProgram is FrontierDistribution at an SPU, and the SPU's part of Dispatching:
// what comes along the line is appended to an array.
func AppendProgram(step int, array string) Program {
	return Program{[2]string{"FrontierDistribution", "Dispatching, to an SPU"}[step/4], step, [3]string{array + ", even rows", array + ", odd rows", ""}, []Instruction{
		{RegSrc: RegNone, RegDst: Walker1Reg, Shift: [3]Shift{Access}, Write: [3]bool{true}, Cond: IfRow, NextPC1: 0, NextPC2: 1},
		{RegSrc: RegNone, RegDst: Walker2Reg, Shift: [3]Shift{1: Access}, Write: [3]bool{1: true}, Cond: IfRow, NextPC1: 1, NextPC2: 0},
	}}
}

// DispatchProgram is Dispatching at a dispatcher: what it stored goes out along the line,
// by rows, or word by word at the clock of SPUs.
func DispatchProgram(words bool) Program {
	if words {
		return Program{"Dispatching, from a dispatcher", 4, [3]string{"stored pairs", "", ""}, []Instruction{
			{RegSrc: Walker1Reg, RegDst: Line, Shift: [3]Shift{Access}},
		}}
	}
	return Program{"Dispatching, from a dispatcher", 4, [3]string{"stored pairs, even rows", "stored pairs, odd rows", ""}, []Instruction{
		{RegSrc: Walker1Reg, RegDst: Line, Shift: [3]Shift{Access}, Cond: IfRow, NextPC1: 0, NextPC2: 1},
		{RegSrc: Walker2Reg, RegDst: Line, Shift: [3]Shift{1: Access}, Cond: IfRow, NextPC1: 1, NextPC2: 0},
	}}
}

// paced is the link cycle in which pair j of a stream is sent to an SPU that stores it: a
// row of pairs each row cycle.
func (n *network) paced(j int64) int64 {
	fill := int64(n.rowFill)
	return j/fill*max(fill, n.rowLink) + j%fill
}

// stored is how long an SPU takes for k pairs that come at that pace, where the row that
// the first goes into has some already, and the row switches: its closed form.
func (n *network) stored(begun, k int64) (cycles, loads int64) {
	if k == 0 {
		return 0, 0
	}
	fill := int64(n.rowFill)
	begun %= fill
	if begun > 0 {
		loads++ // loaded with the latches, when the step is launched
	}
	all := begun + k
	loads += (all + fill - 1) / fill
	last := n.paced(k-1) + 1
	if full := all / fill * fill; full > begun && full < all { // the row before is being stored
		last = max(last, n.paced(full-begun-1)+1+n.rowLink)
	}
	return last + n.rowLink, loads
}

// streamer interprets a program of instructions that move words between rows and the line.
type streamer struct {
	n     *network
	code  []Instruction
	mem   []uint32 // of the array, from the beginning of a row
	loads int64
	free  int64    // link cycle from which rows can be loaded or stored
	idle  [3]int64 // and from which a walker can take its next row
}

// walker is the one that an instruction accesses.
func (in *Instruction) walker() int {
	for w, s := range in.Shift {
		if s != NoAccess {
			return w
		}
	}
	return -1
}

// row loads or stores a row for a walker, from a link cycle on at the earliest.
func (x *streamer) row(w int, from int64) (done int64) {
	done = max(from, x.free) + x.n.rowLink
	x.free, x.idle[w] = done, done
	x.loads++
	return done
}

// send runs a program that sends the words of mem, and calls each for a pair that is on
// the line in a link cycle.
func (x *streamer) send(each func(j, cycle int64, pair uint64)) {
	per := int64(2 * x.n.rowFill)
	rows := (int64(len(x.mem)) + per - 1) / per
	var loaded [3]int64
	pc, next := 0, int64(0) // instruction, and the row to be loaded next
	prefetch := func(from int64) {
		if next < rows {
			w := x.code[pc].walker()
			loaded[w] = x.row(w, max(from, x.idle[w]))
			next++
		}
	}
	prefetch(0)
	cycle := int64(-1) // of the latest pair
	var spu int64      // cycles of the SPU, where it moves word by word
	for at := int64(0); at < int64(len(x.mem)); {
		in := &x.code[pc]
		if in.RegDst != Line || in.RegSrc != Walker1Reg+Register(in.walker()) {
			return // nothing is sent
		}
		if in.Cond != IfRow {
			if at%per == 0 {
				spu += x.n.r.time.row
				if at > 0 {
					x.loads++
				}
			}
			index := x.mem[at]
			spu += 2
			each(at/2, x.n.r.link(spu), uint64(index)<<32|uint64(x.mem[at+1]))
			at += 2
			pc = int(in.NextPC1)
			continue
		}
		w := in.walker()
		pc = int(in.NextPC2)
		prefetch(0)
		for end := min(at+per, int64(len(x.mem))); at < end; at += 2 {
			cycle = max(cycle+1, loaded[w])
			each(at/2, cycle, uint64(x.mem[at])<<32|uint64(x.mem[at+1]))
		}
		x.idle[w] = cycle + 1
	}
}

// receive runs a program that appends pairs, which are on the line in rising link cycles,
// to mem from a word on. It returns when the last row is stored, or why a pair was lost.
func (x *streamer) receive(at int64, pairs []uint64, cycle func(j int64) int64) (end int64, err error) {
	per := int64(2 * x.n.rowFill)
	pc := 0
	if at%per != 0 {
		x.loads++ // with the latches
	}
	for j, e := range pairs {
		in := &x.code[pc]
		w := in.walker()
		if !in.Write[w] || in.RegSrc != RegNone || in.RegDst != Walker1Reg+Register(w) {
			return 0, fmt.Errorf("instruction %d does not store what comes", pc)
		}
		now := cycle(int64(j))
		if now < x.idle[w] {
			return 0, fmt.Errorf("pair %d comes in cycle %d, its walker stores a row until %d", j, now, x.idle[w])
		}
		x.mem[at], x.mem[at+1] = uint32(e>>32), uint32(e)
		at += 2
		if at%per == 0 || j == len(pairs)-1 {
			end = x.row(w, now+1)
			pc = int(in.NextPC2)
		}
	}
	return end, nil
}

// appended interprets an SPU that stores k pairs in an array from a word on.
func (sh *shadow) appended(s int, step int, array int, at int64, pairs []uint64, cycle func(j int64) int64) (end, loads int64) {
	v := sh.spus[s]
	from := v.at(array)
	v.grown(from + at + 2*int64(len(pairs)))
	x := streamer{n: sh.r.net, code: AppendProgram(step, "").Code, mem: v.mem[from:]}
	end, err := x.receive(at, pairs, cycle)
	if err != nil {
		sh.fail(s, "%s: %v", stepNames[step-1], err)
	}
	return end, x.loads
}

// distribute interprets FrontierDistribution: own entries come first where the host or the
// logic layer has them, then the long ones.
func (sh *shadow) distribute(s int, own bool) {
	v := sh.spus[s]
	if v == nil {
		return
	}
	r := sh.r
	if !v.made {
		sh.make(s, v)
	}
	n := int64(r.frontLen[s])
	part := func(begun int64, pairs []uint64) {
		if len(pairs) == 0 {
			return
		}
		end, loads := sh.appended(s, 1, arrFrontier, 2*begun, pairs, r.net.paced)
		if c, l := r.net.stored(begun, int64(len(pairs))); c != end || l != loads {
			sh.fail(s, "FrontierDistribution takes %d link cycles and %d row switches, pair by pair %d and %d", end, loads, c, l)
		}
	}
	list := r.front[int64(r.p.ColFirst[s])-int64(r.p.Long):][:n]
	if own {
		part(0, list)
		v.wrote = true
	}
	part(n, r.longFront)
}

// dispatch interprets Dispatching of a bank with an interpreted SPU: its dispatcher's rows,
// and what these SPUs store. The receivers say how many pairs each got.
func (sh *shadow) dispatch(g int, list []uint64, state []receiver) {
	r := sh.r
	first := g * r.pairs
	got := make([][]uint64, r.pairs)
	when := make([][]int64, r.pairs)
	there := false
	for q := range r.pairs {
		there = there || sh.spus[first+q] != nil
	}
	if !there {
		return
	}
	x := streamer{n: r.net, code: DispatchProgram(r.net.wordly > 0).Code, mem: make([]uint32, 0, 2*len(list))}
	for _, e := range list {
		x.mem = append(x.mem, uint32(e>>32), uint32(e))
	}
	sent := 0
	x.send(func(j, cycle int64, pair uint64) {
		sent++
		if want := r.sendTime(j); pair != list[j] || cycle != want {
			sh.fail(first, "the dispatcher of bank %d sends %#x in link cycle %d, pair by pair %#x in %d", g, pair, cycle, list[j], want)
		}
		if s, ok := r.receiverOf(g, uint32(pair>>32)); ok {
			q := s - first
			got[q], when[q] = append(got[q], pair), append(when[q], cycle)
		}
	})
	if rows := (int64(len(list)) + int64(r.net.rowFill) - 1) / int64(r.net.rowFill); sent != len(list) || x.loads != rows {
		sh.fail(first, "the dispatcher of bank %d sends %d pairs from %d rows, pair by pair %d from %d", g, sent, x.loads, len(list), rows)
	}
	for q := range r.pairs {
		if v := sh.spus[first+q]; v == nil || state[q].pairs == 0 {
			continue
		} else if !v.made {
			sh.make(first+q, v)
		}
		_, loads := sh.appended(first+q, 4, arrReceived, 0, got[q], func(j int64) int64 { return when[q][j] })
		if _, want := r.net.stored(0, state[q].pairs); loads != want {
			sh.fail(first+q, "Dispatching stores %d rows, pair by pair %d", loads, want)
		}
	}
}
