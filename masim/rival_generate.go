package masim

// rivalState is the instruction generation of the published rivals, naive
// (XMG-GPPIC [4]) or greedy (DATE'24 [10]), along any order of the gates. Both
// compute a gate in one array and copy the fanins that are elsewhere into it
// right before (section II-C). They differ in the array:
//
//   - naive takes the array of the smallest index with enough available rows;
//   - greedy takes, among those, one that misses the fewest fanins, the first of
//     equals.
//
// A copy is made for one gate: its row is available again once the gate is
// computed. That is how Table II has to be read: adder, priority and dec leave no
// choice, and the rivals' 512, 238 and 18 copies there are the uses of inputs (or
// values) in other arrays and not the values used. So a value lies, apart from
// such a moment, in the one array that computed it.
//
// Enough rows means one for each missing fanin. The result may overwrite a copied
// fanin or one of the array's own that nothing else needs; if there is neither
// it takes one more row.
//
// The papers leave open what happens where no array has enough rows. Here
// values that are needed move to another array for good, by a copy each: the
// array is the one that takes the fewest copies, the first of equals, and the
// values of the smallest index leave it for the first array with room. Where
// that does not do either, the order is infeasible.
type rivalState struct {
	net    *cicppNet
	naive  bool
	arrays int
	homes  int // rows of an array; input i is in array i/homes

	loc    []int16   // by value: the array it was computed in or moved to, -1 = nowhere
	uses   []int32   // by value: fanouts still to compute
	pos    []int32   // by value: index in values of its array
	values [][]int32 // by array: values in it that are needed, inputs left out
	room   []int     // by array: rows that hold no input

	copies int
	hash   uint64
	log    []cicppOp // moves, as copies, and results
}

func newRivalState(net *cicppNet, arrays, rows int, naive bool) *rivalState {
	s := &rivalState{
		net: net, naive: naive, arrays: arrays, homes: rows,
		loc:    make([]int16, net.nodes),
		uses:   append([]int32(nil), net.uses...),
		pos:    make([]int32, net.nodes),
		values: make([][]int32, arrays),
		room:   make([]int, arrays),
	}
	for v := range s.loc {
		s.loc[v] = -1
		if v > 0 && v <= net.inputs {
			s.loc[v] = int16((v - 1) / rows)
		}
	}
	for a := range s.room {
		s.room[a] = rows - min(max(net.inputs-a*rows, 0), rows)
	}
	return s
}

func (s *rivalState) free(a int) int { return s.room[a] - len(s.values[a]) }

func (s *rivalState) place(v int32) uint64 { return uint64(v)*uint64(s.arrays) + uint64(s.loc[v]) }

func (s *rivalState) enter(v int32) {
	list := &s.values[s.loc[v]]
	s.pos[v] = int32(len(*list))
	*list = append(*list, v)
	s.hash ^= mix(s.place(v))
}

func (s *rivalState) leave(v int32) {
	list := &s.values[s.loc[v]]
	last := (*list)[len(*list)-1]
	(*list)[s.pos[v]] = last
	s.pos[last] = s.pos[v]
	*list = (*list)[:len(*list)-1]
	s.hash ^= mix(s.place(v))
}

func (s *rivalState) needed(v int32) bool { return s.uses[v] > 0 || s.net.keep[v] }

// demand returns how many fanins g misses in a, and how many rows more than are
// free there it takes to compute g in a.
func (s *rivalState) demand(g int32, a int) (missing, lacking int) {
	dies := false
	for _, f := range s.net.faninsOf(g) {
		switch {
		case f == 0:
		case int(s.loc[f]) != a:
			missing++
		case int(f) >= s.net.first && s.uses[f] == 1 && !s.net.keep[f]:
			dies = true
		}
	}
	rows := missing
	if missing == 0 && !dies {
		rows = 1
	}
	return missing, max(rows-s.free(a), 0)
}

// choose returns the array to compute g in, and the rows that have to be cleared
// there first; -1 if there is none.
func (s *rivalState) choose(g int32) (array, lacking int) {
	array = -1
	best, spare := 0, 0
	for a := range s.arrays {
		m, l := s.demand(g, a)
		if l == 0 && s.room[a] > 0 && (array < 0 || m < best) {
			array, best = a, m
			if s.naive || m == 0 {
				return array, 0
			}
		}
		spare += s.free(a)
	}
	if array >= 0 {
		return array, 0
	}
	for a := range s.arrays {
		m, l := s.demand(g, a)
		own := 0 // fanins in a, which have to stay
		for _, f := range s.net.faninsOf(g) {
			if int(f) >= s.net.first && int(s.loc[f]) == a {
				own++
			}
		}
		if l > len(s.values[a])-own || l > spare-s.free(a) {
			continue
		}
		if array < 0 || m+l < best {
			array, best, lacking = a, m+l, l
		}
	}
	return array, lacking
}

func (s *rivalState) step(g int32) bool {
	a, lacking := s.choose(g)
	if a < 0 {
		return false
	}
	for range lacking {
		s.moveOut(a, s.net.faninsOf(g))
	}
	s.result(g, a)
	s.log = append(s.log, cicppOp{g, int16(a), opResult})
	return true
}

// moveOut moves the value of the smallest index that is no pinned one from a to
// the first other array with room.
func (s *rivalState) moveOut(a int, pinned *[3]int32) {
	b := 0
	for b == a || s.free(b) <= 0 {
		b++
	}
	least := int32(s.net.nodes)
	for _, v := range s.values[a] {
		if v < least && v != pinned[0] && v != pinned[1] && v != pinned[2] {
			least = v
		}
	}
	s.move(least, b)
	s.copies++
	s.log = append(s.log, cicppOp{least, int16(b), int16(a)})
}

func (s *rivalState) move(v int32, b int) {
	s.leave(v)
	s.loc[v] = int16(b)
	s.enter(v)
}

// result computes g in a.
func (s *rivalState) result(g int32, a int) {
	for _, f := range s.net.faninsOf(g) {
		if f == 0 {
			break
		}
		if int(s.loc[f]) != a {
			s.copies++
		}
		s.uses[f]--
		if int(f) >= s.net.first && !s.needed(f) {
			s.leave(f)
		}
	}
	s.loc[g] = int16(a)
	if s.needed(g) {
		s.enter(g)
	}
}

// unresult is the inverse of result. A value that nothing needs keeps its loc, so
// it comes back to where it was.
func (s *rivalState) unresult(g int32) {
	a := s.loc[g]
	if s.needed(g) {
		s.leave(g)
	}
	s.loc[g] = -1
	for _, f := range s.net.faninsOf(g) {
		if f == 0 {
			break
		}
		if s.loc[f] != a {
			s.copies--
		}
		if int(f) >= s.net.first && !s.needed(f) {
			s.enter(f)
		}
		s.uses[f]++
	}
}

// What improvement passes ask of a generator.

func (s *rivalState) mark() int           { return len(s.log) }
func (s *rivalState) record() []cicppOp   { return s.log }
func (s *rivalState) total() int          { return s.copies }
func (s *rivalState) fingerprint() uint64 { return s.hash }
func (s *rivalState) graph() *cicppNet    { return s.net }

func (s *rivalState) rewind(mark int) {
	for len(s.log) > mark {
		op := s.log[len(s.log)-1]
		s.log = s.log[:len(s.log)-1]
		if op.from == opResult {
			s.unresult(op.value)
		} else {
			s.move(op.value, int(op.from))
			s.copies--
		}
	}
}

func (s *rivalState) redo(log []cicppOp) {
	for _, op := range log {
		if op.from == opResult {
			s.result(op.value, int(op.array))
		} else {
			s.move(op.value, int(op.array))
			s.copies++
		}
	}
	s.log = append(s.log, log...)
}

// instructions computes the gates in the given order. It reports whether all
// could be computed.
func (s *rivalState) instructions(order []int32, stop func() bool) bool {
	for i, g := range order {
		if i&stopMask == 0 && stop() || !s.step(g) {
			return false
		}
	}
	return true
}

// steps turns the log into instructions with rows. Each array keeps its rows
// that were given up on a stack.
func (s *rivalState) steps() []step {
	t := newRivalState(s.net, s.arrays, s.homes, s.naive)
	rowOf := make([]uint16, s.net.nodes)
	spare := make([][]uint16, s.arrays)
	fresh := make([]uint16, s.arrays)
	for a := range fresh {
		fresh[a] = uint16(s.homes - s.room[a])
	}
	take := func(a int) uint16 {
		if k := len(spare[a]); k > 0 {
			r := spare[a][k-1]
			spare[a] = spare[a][:k-1]
			return r
		}
		fresh[a]++
		return fresh[a] - 1
	}
	out := make([]step, 0, s.net.gates()+s.copies)
	for i, op := range s.log {
		v, a := op.value, int(op.array)
		if op.from != opResult {
			r := take(a)
			out = append(out, step{v, uint16(a), r, int32(op.from)})
			spare[op.from] = append(spare[op.from], rowOf[v])
			rowOf[v] = r
			t.redo(s.log[i : i+1])
			continue
		}
		var copied [3]uint16
		missing := 0
		for _, f := range s.net.faninsOf(v) {
			if f != 0 && int(t.loc[f]) != a {
				copied[missing] = take(a)
				out = append(out, step{f, uint16(a), copied[missing], int32(t.loc[f])})
				missing++
			}
		}
		spare[a] = append(spare[a], copied[:missing]...)
		t.redo(s.log[i : i+1])
		for _, f := range s.net.faninsOf(v) {
			if int(f) >= s.net.first && !t.needed(f) {
				spare[t.loc[f]] = append(spare[t.loc[f]], rowOf[f])
			}
		}
		rowOf[v] = take(a)
		out = append(out, step{v, uint16(a), rowOf[v], computed})
		if !t.needed(v) {
			spare[a] = append(spare[a], rowOf[v])
		}
	}
	return out
}
