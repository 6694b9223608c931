package masim

// cicppState is where every value lies at a moment of a schedule, and what the
// CICPP priority needs to know about it, all kept up to date by four reversible
// operations: put, drop, and compute, and their inverses in undo.
//
// Rows have no identity here: which of the free rows of an array takes a value
// changes nothing (section III-B3, case 1: "an arbitrary free row"), so only
// their number is kept and rows are assigned when the schedule is written out.
// A state is thus fully described by the set of computed gates and the set of
// (value, array) pairs, and every decision is a function of the state and the
// seed, not of the order in which the lists below happen to be.
type cicppState struct {
	net    *cicppNet
	arrays int
	seed   uint64

	cells  []cell  // value*arrays + array
	uses   []int32 // fanouts still to compute, per value
	shared []int32 // fanouts still to compute, per pair of partners
	held   []int32 // arrays that hold the value, homes included
	at     []arrayState
	alive  int // gate values held; each needs a row of its own at least
	rows   int // rows that may be written, in all arrays

	epoch  uint64    // counts the committed changes; tries that are undone do not count
	copies int       // copy instructions so far
	hash   uint64    // of the set of (value, array) pairs outside the homes
	log    []cicppOp // everything done since the start

	targets []target // scratch of moveOut and bestMove
}

// cell is a value in an array.
type cell struct {
	pos      int16 // index in arrayState.values; absent or home
	partners int16 // number of partners of the value that the array holds
}

const (
	absent = -1 // the array does not hold the value
	home   = -2 // the value is an input in its protected row
)

// arrayState is one array. The first dups of values are duplicated: still
// needed and held by another array too. Values that are not needed any more
// are dropped at once, which is what makes their rows free.
type arrayState struct {
	values []int32
	dups   int
	rows   int // rows that may be written
	homes  int // rows of inputs

	// Bounds that hold while the epoch of the state is the one noted.
	loss, move, roomyMove int32
	lossAt, moveAt        uint64
}

func (a *arrayState) free() int { return a.rows - len(a.values) }

// cicppOp is an entry of the log.
type cicppOp struct {
	value int32
	array int16
	from  int16 // source array of a copy, or one of the kinds below
}

const (
	opResult  = -1 // value appears in array, computed there
	opDrop    = -2 // value leaves array
	opCompute = -3 // gate value is computed: its fanins have one fanout less to feed
)

// newCicppState returns the state at the start of every schedule of p on its
// first `arrays` arrays.
func newCicppState(net *cicppNet, arrays, rows int) *cicppState {
	s := &cicppState{
		net:    net,
		arrays: arrays,
		cells:  make([]cell, net.nodes*arrays),
		uses:   append([]int32(nil), net.uses...),
		shared: append([]int32(nil), net.shared...),
		held:   make([]int32, net.nodes),
		at:     make([]arrayState, arrays),
		epoch:  1,
	}
	for i := range s.cells {
		s.cells[i].pos = absent
	}
	for a := range s.at {
		homes := min(max(net.inputs-a*rows, 0), rows)
		s.at[a] = arrayState{rows: rows - homes, homes: homes}
		s.rows += rows - homes
	}
	for v := int32(1); int(v) <= net.inputs; v++ {
		a := int(v-1) / rows
		s.cells[int(v)*arrays+a].pos = home
		s.held[v] = 1
		s.count(v, a, 1)
	}
	return s
}

// copyFrom makes s equal to another state of the same problem and arrays.
func (s *cicppState) copyFrom(o *cicppState) {
	copy(s.cells, o.cells)
	copy(s.uses, o.uses)
	copy(s.shared, o.shared)
	copy(s.held, o.held)
	for a := range s.at {
		v := append(s.at[a].values[:0], o.at[a].values...)
		s.at[a] = o.at[a]
		s.at[a].values = v
	}
	s.alive, s.rows = o.alive, o.rows
	s.seed, s.copies, s.hash, s.epoch = o.seed, o.copies, o.hash, o.epoch
	s.log = append(s.log[:0], o.log...)
}

func (s *cicppState) clone() *cicppState {
	c := &cicppState{
		net:    s.net,
		arrays: s.arrays,
		cells:  make([]cell, len(s.cells)),
		uses:   make([]int32, len(s.uses)),
		shared: make([]int32, len(s.shared)),
		held:   make([]int32, len(s.held)),
		at:     make([]arrayState, len(s.at)),
	}
	c.copyFrom(s)
	return c
}

func (s *cicppState) cell(v int32, a int) *cell { return &s.cells[int(v)*s.arrays+a] }

func (s *cicppState) holds(v int32, a int) bool { return s.cell(v, a).pos != absent }

// count tells the partners of v that v appeared in array a (d = 1) or left it
// (d = -1).
func (s *cicppState) count(v int32, a int, d int16) {
	if s.uses[v] == 0 {
		return
	}
	for _, e := range s.net.edgesOf(v) {
		if s.shared[e.pair] > 0 {
			s.cells[int(e.other)*s.arrays+a].partners += d
		}
	}
}

// partners reports whether u and v share a fanout that has not been computed.
func (s *cicppState) partners(u, v int32) bool {
	eu, ev := s.net.edgesOf(u), s.net.edgesOf(v)
	if len(eu) > len(ev) {
		eu, v = ev, u
	}
	for _, e := range eu {
		if e.other == v {
			return s.shared[e.pair] > 0
		}
	}
	return false
}

// place names a value in an array for the hash and for breaking ties.
func (s *cicppState) place(v int32, a int) uint64 { return uint64(v)*uint64(s.arrays) + uint64(a) }

// tie is the random rank of choosing value v in array a; equal priorities are
// decided by the smaller rank, then by the smaller place.
func (s *cicppState) tie(v int32, a int) uint32 { return uint32(mix(s.place(v, a)^s.seed) >> 32) }

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// swap exchanges two entries of an array's list.
func (s *cicppState) swap(a, i, j int) {
	if i == j {
		return
	}
	v := s.at[a].values
	v[i], v[j] = v[j], v[i]
	s.cell(v[i], a).pos = int16(i)
	s.cell(v[j], a).pos = int16(j)
}

// setDup moves v, held by a outside a home, in or out of the duplicated part.
func (s *cicppState) setDup(v int32, a int, dup bool) {
	st := &s.at[a]
	pos := int(s.cell(v, a).pos)
	if dup {
		s.swap(a, pos, st.dups)
		st.dups++
	} else {
		st.dups--
		s.swap(a, pos, st.dups)
	}
}

// insert puts v into a free row of a.
func (s *cicppState) insert(v int32, a int) {
	st := &s.at[a]
	s.cell(v, a).pos = int16(len(st.values))
	st.values = append(st.values, v)
	s.held[v]++
	switch s.held[v] {
	case 1:
		s.alive++
	case 2:
		for b := range s.arrays {
			if s.cell(v, b).pos >= 0 {
				s.setDup(v, b, true)
			}
		}
	default:
		s.setDup(v, a, true)
	}
	s.count(v, a, 1)
	s.hash ^= mix(s.place(v, a))
}

// remove is the inverse of insert.
func (s *cicppState) remove(v int32, a int) {
	s.count(v, a, -1)
	st := &s.at[a]
	if s.held[v] > 1 {
		s.setDup(v, a, false)
	}
	last := len(st.values) - 1
	s.swap(a, int(s.cell(v, a).pos), last)
	st.values = st.values[:last]
	s.cell(v, a).pos = absent
	s.held[v]--
	switch s.held[v] {
	case 0:
		s.alive--
	case 1:
		for b := range s.arrays {
			if s.cell(v, b).pos >= 0 {
				s.setDup(v, b, false)
			}
		}
	}
	s.hash ^= mix(s.place(v, a))
}

// copyTo copies v into a free row of a, from the lowest array that holds it.
func (s *cicppState) copyTo(v int32, a int) {
	from := 0
	for s.cell(v, from).pos == absent {
		from++
	}
	s.insert(v, a)
	s.copies++
	s.log = append(s.log, cicppOp{v, int16(a), int16(from)})
}

// drop frees the row of v in a.
func (s *cicppState) drop(v int32, a int) {
	s.remove(v, a)
	s.log = append(s.log, cicppOp{v, int16(a), opDrop})
}

// dead reports whether nothing needs v any more.
func (s *cicppState) dead(v int32) bool { return s.uses[v] == 0 && !s.net.keep[v] }

// compute marks g as computed: pairs that only g kept together end, and the
// fanins that fed only g leave all arrays, their homes apart. The result is not
// placed yet.
func (s *cicppState) compute(g int32) {
	s.use(g, -1)
	s.log = append(s.log, cicppOp{g, 0, opCompute})
	for _, f := range s.net.faninsOf(g) {
		if f != 0 && s.dead(f) {
			s.clear(f)
		}
	}
}

// clear drops v from all arrays.
func (s *cicppState) clear(v int32) {
	for a := range s.arrays {
		if s.cell(v, a).pos >= 0 {
			s.drop(v, a)
		}
	}
}

// result places the computed g in a free row of a.
func (s *cicppState) result(g int32, a int) {
	s.insert(g, a)
	s.log = append(s.log, cicppOp{g, int16(a), opResult})
	if s.dead(g) {
		s.drop(g, a)
	}
}

// use takes g off the fanouts of its fanins (d = -1), or back (d = 1).
func (s *cicppState) use(g int32, d int32) {
	f := s.net.faninsOf(g)
	p := &s.net.pairs[int(g)-s.net.first]
	for _, v := range f {
		s.uses[v] += d // of the constant too, which nobody looks at
	}
	if p[0] >= 0 {
		s.usePair(p[0], f[0], f[1], d)
	}
	if p[1] >= 0 {
		s.usePair(p[1], f[0], f[2], d)
		s.usePair(p[2], f[1], f[2], d)
	}
}

func (s *cicppState) usePair(p, u, v, d int32) {
	s.shared[p] += d
	if d < 0 && s.shared[p] > 0 || d > 0 && s.shared[p] > 1 {
		return
	}
	cu := s.cells[int(u)*s.arrays:][:s.arrays]
	cv := s.cells[int(v)*s.arrays:][:s.arrays]
	for a := range cu {
		if cv[a].pos != absent {
			cu[a].partners += int16(d)
		}
		if cu[a].pos != absent {
			cv[a].partners += int16(d)
		}
	}
}

// undo takes back everything that was logged after the mark.
func (s *cicppState) undo(mark int) {
	for i := len(s.log) - 1; i >= mark; i-- {
		op := s.log[i]
		switch op.from {
		case opCompute:
			s.use(op.value, 1)
		case opDrop:
			s.insert(op.value, int(op.array))
		case opResult:
			s.remove(op.value, int(op.array))
		default:
			s.remove(op.value, int(op.array))
			s.copies--
		}
	}
	s.log = s.log[:mark]
}

// rewind is undo for changes that had been committed.
func (s *cicppState) rewind(mark int) {
	s.undo(mark)
	s.epoch++
}

// redo does what a log says.
func (s *cicppState) redo(log []cicppOp) {
	s.epoch++
	for _, op := range log {
		switch op.from {
		case opCompute:
			s.use(op.value, -1)
		case opDrop:
			s.remove(op.value, int(op.array))
		case opResult:
			s.insert(op.value, int(op.array))
		default:
			s.insert(op.value, int(op.array))
			s.copies++
		}
	}
	s.log = append(s.log, log...)
}

// What improvement passes ask of a generator.

func (s *cicppState) mark() int           { return len(s.log) }
func (s *cicppState) record() []cicppOp   { return s.log }
func (s *cicppState) total() int          { return s.copies }
func (s *cicppState) fingerprint() uint64 { return s.hash }
func (s *cicppState) graph() *cicppNet    { return s.net }
