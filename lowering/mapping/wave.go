package mapping

// Wave is a step in time: an invocation of every unit, and what is moved around it.
// The waves of a mapping are its commands; clock and executors consume them.
type Wave struct {
	Time   [MaxLoops]uint32 // position of each loop in time, tiles and waves together
	Load   uint8            // operands that units take before it
	Fresh  bool             // the result begins anew
	Finish bool             // the result leaves after it
	// TileFirst and TileLast mark the first and the last wave of a tile of the buffer;
	// TileLoad are the operands that the buffer takes before it, TileStore says that the
	// result leaves the buffer after it.
	TileFirst, TileLast bool
	TileLoad            uint8
	TileStore           bool
}

// Waves calls f with every wave in order and the one after it, nil after the last. It
// walks the loops themselves and compares the places of tiles. It stops when f
// returns false.
func (q *Problem) Waves(m *Mapping, f func(w, next *Wave) bool) {
	type loop struct {
		l     int
		n     uint32
		scale uint32
		tile  bool
	}
	var loops []loop
	for i := range q.loops {
		if l := int(m.Tile[i]); m.Factor[SlotTile][l] > 1 {
			loops = append(loops, loop{l, m.Factor[SlotTile][l], m.Factor[SlotWave][l], true})
		}
	}
	tiles := len(loops)
	for i := range q.loops {
		if l := int(m.Wave[i]); m.Factor[SlotWave][l] > 1 {
			loops = append(loops, loop{l, m.Factor[SlotWave][l], 1, false})
		}
	}
	// moved compares where a tile of an operand lies: the positions of loops that index it.
	var indexed [3]uint16
	for o := range indexed {
		for l := range q.loops {
			if q.Op.Tensors[m.Tensor(o)].Indexed(l) {
				indexed[o] |= 1 << l
			}
		}
	}
	moved := func(o int, a, b *[MaxLoops]uint32, chip bool) bool {
		for l := range q.loops {
			if a[l] == b[l] || indexed[o]>>l&1 == 0 {
				continue
			}
			if f := m.Factor[SlotWave][l]; !chip || a[l]/f != b[l]/f {
				return true
			}
		}
		return false
	}
	digits := make([]uint32, len(loops))
	step := func(t *[MaxLoops]uint32) (first int) { // the outermost loop that goes on or begins anew, -1 at the end
		for i := len(loops) - 1; i >= 0; i-- {
			x := &loops[i]
			digits[i]++
			if digits[i] < x.n {
				t[x.l] += x.scale
				return i
			}
			digits[i] = 0
			t[x.l] -= (x.n - 1) * x.scale
		}
		return -1
	}
	// What a step of a loop moves is found once, by comparing the places before and after it:
	// the loops within begin anew with it, whatever goes round outside.
	type moves struct {
		known             bool
		load, chip        uint8
		finish, tileStore bool
	}
	found := make([]moves, len(loops))
	var w Wave
	w.Load, w.TileLoad, w.Fresh, w.TileFirst = 3, 3, true, true
	for o := range 2 {
		if q.staysLoaded(m, o, false) {
			w.Load &^= 1 << o
		}
		if q.staysLoaded(m, o, true) {
			w.TileLoad &^= 1 << o
		}
	}
	next := Wave{}
	for {
		next.Time = w.Time
		i := step(&next.Time)
		if i < 0 {
			w.Finish, w.TileLast, w.TileStore = true, true, true
			f(&w, nil)
			return
		}
		boundary := i < tiles
		x := &found[i]
		if !x.known {
			x.known = true
			for o := range 3 {
				to, chip := moved(o, &w.Time, &next.Time, false), boundary && moved(o, &w.Time, &next.Time, true)
				if o == Dst {
					x.finish, x.tileStore = to, chip
					continue
				}
				if to {
					x.load |= 1 << o
				}
				if chip {
					x.chip |= 1 << o
				}
			}
		}
		w.TileLast, next.TileFirst = boundary, boundary
		w.Finish, next.Fresh = x.finish, x.finish
		w.TileStore, next.Load, next.TileLoad = x.tileStore, x.load, x.chip
		next.Finish, next.TileLast, next.TileStore = false, false, false
		if !f(&w, &next) {
			return
		}
		w, next = next, w
	}
}

// staysLoaded reports whether a static operand is where it belongs before the first
// inference that counts: in units, or in the buffer, for the whole operator.
func (q *Problem) staysLoaded(m *Mapping, o int, chip bool) bool {
	t := &q.Op.Tensors[m.Tensor(o)]
	if q.Options.Cold || !q.tensors[m.Tensor(o)].static {
		return false
	}
	for l := range q.loops {
		if t.Indexed(l) && (m.Factor[SlotTile][l] > 1 || !chip && m.Factor[SlotWave][l] > 1) {
			return false
		}
	}
	return true
}
