package masim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// MaxOptimal is the greatest number of gates, and inputs that they read, for
// which the scheduler "optimal" looks for a proof.
const MaxOptimal = 64

// SizeError says that a problem is too large for a proof of optimality.
type SizeError struct {
	Values int // gates, and inputs that they read
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("masim: %d gates and inputs that they read are too many for scheduler optimal, expected %d at most; use scheduler bitsched",
		e.Values, MaxOptimal)
}

// optimalStates is how many states of the memory are looked at before the proof
// is given up, by effort. A state takes 21 bytes and 8 for each array in use.
var optimalStates = [...]int{Fast: 300_000, Normal: 4_000_000, High: 16_000_000}

// runOptimal finds a schedule of the fewest copies and proves that there is none
// of fewer, or gives up at a number of states that the effort sets, and then
// returns the best schedule of runBitsched with Optimal not set. Problems of more
// than [MaxOptimal] values get a [*SizeError]. It uses one thread.
//
// A schedule with as many copies as the lower bound needs no proof. Otherwise
// an A* search runs over states of the memory: which gates were computed, and
// which values each array holds beside its inputs. It drops what loses no
// optimum:
//
//   - Values that nobody needs any more are forgotten at once, others only when
//     their row is needed, and never the last one that is needed.
//   - A copy is made just before the first gate that reads it, or just before the
//     last row that holds the value is overwritten, which needs an array without
//     room for a gate's fanins.
//   - A gate that can be computed in an array is computed there at once, if it is
//     the only one left to read one of its fanins, a gate that is held nowhere
//     else. For take any schedule that does not: let the result go where it keeps
//     that fanin from here on.
//   - Empty arrays, and arrays that swapped contents, are the same.
//
// The estimate of the copies to come counts values that must be copied: inputs
// in full arrays that are needed and held nowhere else, then for each gate left
// the fewest of its fanins at hand and not yet counted that lie outside one array.
func runOptimal(ctx context.Context, p Problem, o Options) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	in := newInstance(p, p.Geometry.Arrays)
	s, err := newOptimal(in)
	if err != nil {
		return nil, err
	}
	effort := min(o.Effort, High)
	first := o
	first.Effort = Fast
	best, err := runBitsched(ctx, p, first)
	if err != nil && !errors.Is(err, ErrInfeasible) {
		return nil, err
	}
	most := math.MaxInt
	if best != nil {
		most = best.Copies
		if best.Stopped {
			return best, nil
		}
		if o.leastCopies(ctx, p) == most {
			best.Optimal = true
			return best, nil
		}
	}
	s.report = func(f int) {
		b := -1
		if best != nil {
			b = best.Copies
		}
		o.report(Progress{Phase: "proving", Done: f, Total: max(b, 0), Best: b})
	}
	goal, outcome := s.run(ctx, most, optimalStates[effort])
	switch outcome {
	case foundOptimum:
		prog, err := emit(p, s.steps(goal))
		if err != nil {
			return nil, err
		}
		r := &Result{Program: prog, Copies: prog.Copies(), Trials: len(s.cost), Optimal: true}
		if best != nil {
			r.Trials += best.Trials
		}
		return r, nil
	case noneBetter:
		if best == nil {
			return nil, fmt.Errorf("masim: %w: no order of the gates fits the rows, as a search of all %d states of the memory shows",
				ErrInfeasible, len(s.cost))
		}
		best.Trials += len(s.cost)
		best.Optimal = true
		return best, nil
	}
	if best == nil {
		if outcome == stopped {
			return nil, fmt.Errorf("masim: stopped before a schedule was found: %w", context.Cause(ctx))
		}
		return nil, fmt.Errorf("masim: %w: no schedule was found among %d states of the memory", ErrInfeasible, len(s.cost))
	}
	best.Stopped = outcome == stopped
	if effort > Fast && !best.Stopped {
		return runBitsched(ctx, p, o) // never more copies than at a lower effort
	}
	return best, nil
}

// outcome is how a search ended.
type outcome uint8

const (
	foundOptimum outcome = iota
	noneBetter           // every schedule has as many copies as known, or more
	outOfStates          // too many states
	stopped              // by the context
)

// optimal is a search over states of the memory. Values are bits: the inputs
// that gates read in order, then the gates. A state is the set of gates
// computed, then the set of values in each array with room, homes left out.
type optimal struct {
	in     *instance
	value  []int32 // by bit
	base   int     // full arrays, which come first
	homes  int     // 1 if the first array with room holds inputs, else 0
	room   []int
	home   []uint64 // by array with room: inputs there
	far    uint64   // inputs in full arrays
	inputs uint64
	gates  uint64
	outs   uint64
	fanins []uint64 // by bit
	users  []uint64
	most   int // copies of the best schedule known
	report func(f int)

	width   int      // words of a state
	states  []uint64 // all met
	parent  []int32
	cost    []uint16
	closed  []bool
	table   []int32   // by hash: state + 1
	buckets [][]int32 // states to expand, by estimate of all copies
	floor   int       // the bucket that is being emptied

	now   []uint64 // the state that is expanded
	child []uint64
	dup   uint64 // values of it that may be dropped from any array
	from  int32  // its number
	move  optimalMove
	visit func()
}

// optimalMove is what leads from a state to the next.
type optimalMove struct {
	array   int
	gate    int    // bit; -1 = only a copy
	copied  uint64 // into the array, before the gate is computed
	dropped uint64 // from the array before that
	over    uint64 // dropped from the array as the gate is computed
}

func newOptimal(in *instance) (*optimal, error) {
	rows := in.p.Geometry.Rows
	s := &optimal{in: in}
	bit := make([]int, in.values)
	for v := int32(1); v < in.values; v++ {
		if v < in.first && len(in.uses(v)) == 0 {
			continue
		}
		bit[v] = len(s.value)
		s.value = append(s.value, v)
	}
	if len(s.value) > MaxOptimal {
		return nil, &SizeError{len(s.value)}
	}
	inputs := int(in.first) - 1
	s.base = inputs / rows
	arrays := in.p.Geometry.Arrays - s.base
	s.room = make([]int, arrays)
	s.home = make([]uint64, arrays)
	for a := range s.room {
		s.room[a] = int(in.room[s.base+a])
	}
	if inputs%rows > 0 {
		s.homes = 1
	}
	s.fanins = make([]uint64, len(s.value))
	s.users = make([]uint64, len(s.value))
	for b, v := range s.value {
		switch {
		case v >= in.first:
			s.gates |= 1 << b
			for _, f := range in.fanin[v-in.first] {
				if f != 0 {
					s.fanins[b] |= 1 << bit[f]
				}
			}
			if in.isOut[v] {
				s.outs |= 1 << b
			}
		case int(in.home[v]) < s.base:
			s.far |= 1 << b
			s.inputs |= 1 << b
		default:
			s.home[0] |= 1 << b
			s.inputs |= 1 << b
		}
		for _, u := range in.uses(v) {
			s.users[b] |= 1 << bit[in.first+u]
		}
	}
	return s, nil
}

// run looks for a schedule of fewer copies than most, among at most limit states.
func (s *optimal) run(ctx context.Context, most, limit int) (goal int32, how outcome) {
	s.most = most
	// Each array that nothing lies in at first takes a copy to be of use.
	if n := len(s.room); most < n {
		s.room = s.room[:max(most, 1)]
	}
	s.width = 1 + len(s.room)
	s.child = make([]uint64, s.width)
	s.now = make([]uint64, s.width)
	s.table = make([]int32, 1<<12)
	s.from = -1
	if len(s.room) == 0 {
		return 0, noneBetter
	}
	s.visit = func() { s.meet(limit) }
	s.offer(0)
	for f := 0; f < len(s.buckets) && f < s.most; f++ {
		s.floor = f
		s.report(f)
		for n := 0; len(s.buckets[f]) > 0; n++ {
			last := len(s.buckets[f]) - 1
			i := s.buckets[f][last]
			s.buckets[f] = s.buckets[f][:last]
			if s.closed[i] {
				continue
			}
			s.closed[i] = true
			s.from = i
			copy(s.now, s.state(i))
			if s.now[0] == s.gates {
				return i, foundOptimum
			}
			s.expand()
			if len(s.cost) >= limit {
				return 0, outOfStates
			}
			if n&0xFF == 0 && ctx.Err() != nil {
				return 0, stopped
			}
		}
	}
	return 0, noneBetter
}

func (s *optimal) state(i int32) []uint64 {
	return s.states[int(i)*s.width : (int(i)+1)*s.width]
}

// expand makes all moves from the present state.
func (s *optimal) expand() {
	done, held := s.now[0], s.now[1:]
	any, dup := uint64(0), s.inputs
	for _, h := range held {
		dup |= any & h
		any |= h
	}
	s.dup = dup
	ready := uint64(0)
	for m := s.gates &^ done; m != 0; m &= m - 1 {
		g := bits.TrailingZeros64(m)
		if s.fanins[g]&s.gates&^done == 0 {
			ready |= 1 << g
		}
	}
	for m := ready; m != 0; m &= m - 1 {
		g := bits.TrailingZeros64(m)
		for a, h := range held {
			if s.fanins[g]&^(h|s.home[a]) != 0 {
				continue
			}
			for f := s.fanins[g] & h &^ (dup | s.outs); f != 0; f &= f - 1 {
				if s.users[bits.TrailingZeros64(f)]&^done == 1<<g {
					s.compute(g, a)
					return
				}
			}
		}
	}
	for m := ready; m != 0; m &= m - 1 {
		g := bits.TrailingZeros64(m)
		for a := range held {
			if !s.again(a) {
				s.compute(g, a)
			}
		}
	}
	for a, h := range held {
		if s.again(a) || bits.OnesCount64(h)+3 <= s.room[a] {
			continue // a gate and its fanins find room
		}
		for m := h &^ dup; m != 0; m &= m - 1 {
			v := m & -m
			for b := range held {
				if b != a && (!s.again(b) || b > 0 && b-1 == a) {
					s.move = optimalMove{array: b, gate: -1, copied: v}
					s.place(v)
				}
			}
		}
	}
}

// again reports whether array a holds the same as the one before it, and both
// have the same room: moves there give nothing new.
func (s *optimal) again(a int) bool {
	return a > s.homes && s.now[1+a] == s.now[a]
}

// compute makes the moves that compute gate g in array a: copy the fanins that
// are not there, and put the result.
func (s *optimal) compute(g, a int) {
	s.move = optimalMove{array: a, gate: g, copied: s.fanins[g] &^ (s.now[1+a] | s.home[a])}
	s.place(s.fanins[g])
}

// place completes a move by dropping values of its array other than keep, in all
// ways, as few as give room for the copies.
func (s *optimal) place(keep uint64) {
	a := s.move.array
	h := s.now[1+a]
	drop := bits.OnesCount64(h) + bits.OnesCount64(s.move.copied) - s.room[a]
	s.dropFrom(h&s.dup&^keep, max(drop, 0))
}

func (s *optimal) dropFrom(choice uint64, drop int) {
	if drop == 0 {
		s.result()
		return
	}
	if bits.OnesCount64(choice) < drop {
		return
	}
	for m := choice; m != 0; m &= m - 1 {
		v := m & -m
		s.move.dropped |= v
		s.dropFrom(m&^v, drop-1)
		s.move.dropped &^= v
	}
}

// result completes a move by the row that the gate's value takes, if it has one:
// a free one, that of a fanin that nobody else needs, or that of any value that
// may be dropped.
func (s *optimal) result() {
	a, g := s.move.array, s.move.gate
	copy(s.child, s.now)
	h := s.now[1+a]&^s.move.dropped | s.move.copied
	s.child[1+a] = h
	if g < 0 {
		s.visit()
		return
	}
	done := s.now[0] | 1<<g
	s.child[0] = done
	dead := uint64(0)
	for m := s.fanins[g] &^ s.outs; m != 0; m &= m - 1 {
		if s.users[bits.TrailingZeros64(m)]&^done == 0 {
			dead |= m & -m
		}
	}
	for b := range s.room {
		s.child[1+b] &^= dead
	}
	value := uint64(1) << g
	if s.users[g]|s.outs&value == 0 {
		value = 0 // needs a row for a moment only
	}
	if h&dead != 0 || bits.OnesCount64(h) < s.room[a] {
		s.child[1+a] |= value
		s.visit()
		return
	}
	for m := h & (s.dup | s.move.copied); m != 0; m &= m - 1 {
		s.move.over = m & -m
		s.child[1+a] = h&^s.move.over | value
		s.visit()
		// meet sorts the arrays of the child
		copy(s.child[1:], s.now[1:])
		for b := range s.room {
			s.child[1+b] &^= dead
		}
	}
	s.move.over = 0
}

// meet notes the child as a state to expand.
func (s *optimal) meet(limit int) {
	if len(s.cost) < limit {
		s.offer(s.cost[s.from] + uint16(bits.OnesCount64(s.move.copied)))
	}
}

// offer notes the state in child, which so many copies lead to.
func (s *optimal) offer(cost uint16) {
	sortDown(s.child[1+s.homes:])
	f := int(cost) + s.toCome(s.child)
	if f >= s.most {
		return
	}
	if 4*len(s.cost) >= 3*len(s.table) {
		s.grow()
	}
	mask := len(s.table) - 1
	slot := hashWords(s.child) & mask
	for ; s.table[slot] != 0; slot = (slot + 1) & mask {
		i := s.table[slot] - 1
		if slices.Equal(s.state(i), s.child) {
			if cost >= s.cost[i] {
				return
			}
			s.cost[i], s.parent[i], s.closed[i] = cost, s.from, false
			s.push(f, i)
			return
		}
	}
	i := int32(len(s.cost))
	s.table[slot] = i + 1
	s.states = append(s.states, s.child...)
	s.parent = append(s.parent, s.from)
	s.cost = append(s.cost, cost)
	s.closed = append(s.closed, false)
	s.push(f, i)
}

// push puts a state where it is expanded as one of estimate f. The estimate may
// fall from a state to the next, since one copy can serve several gates that
// were counted apart; then it is that of the state before.
func (s *optimal) push(f int, i int32) {
	f = max(f, s.floor)
	for len(s.buckets) <= f {
		s.buckets = append(s.buckets, nil)
	}
	s.buckets[f] = append(s.buckets[f], i)
}

func (s *optimal) grow() {
	s.table = make([]int32, 2*len(s.table))
	mask := len(s.table) - 1
	for i := range s.cost {
		slot := hashWords(s.state(int32(i))) & mask
		for s.table[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.table[slot] = int32(i) + 1
	}
}

// toCome returns a number of copies that a state needs at least.
func (s *optimal) toCome(state []uint64) int {
	done, held := state[0], state[1:]
	any := uint64(0)
	for _, h := range held {
		any |= h
	}
	left := s.gates &^ done
	n, counted := 0, uint64(0)
	for m := s.far &^ any; m != 0; m &= m - 1 {
		if s.users[bits.TrailingZeros64(m)]&left != 0 {
			counted |= m & -m
			n++
		}
	}
	here := s.inputs | done
	for m := left; m != 0; m &= m - 1 {
		f := s.fanins[bits.TrailingZeros64(m)] & here &^ counted
		if f&(f-1) == 0 && f&s.far == 0 {
			continue
		}
		least := len(s.value)
		for a, h := range held {
			if least = min(least, bits.OnesCount64(f&^(h|s.home[a]))); least == 0 {
				break
			}
		}
		if least > 0 {
			n += least
			counted |= f
		}
	}
	return n
}

func hashWords(words []uint64) int {
	h := uint64(0)
	for _, w := range words {
		h = (h ^ w) * 0x9E3779B97F4A7C15
		h ^= h >> 29
	}
	return int(h >> 1)
}

func sortDown(w []uint64) {
	for i := 1; i < len(w); i++ {
		for j := i; j > 0 && w[j] > w[j-1]; j-- {
			w[j], w[j-1] = w[j-1], w[j]
		}
	}
}

// steps returns the steps that lead to a state.
func (s *optimal) steps(goal int32) []step {
	var path []int32
	for i := goal; i >= 0; i = s.parent[i] {
		path = append(path, i)
	}
	slices.Reverse(path)
	w := newOptimalWriter(s)
	for k := 1; k < len(path); k++ {
		copy(s.now, s.state(path[k-1]))
		want := s.state(path[k])
		found := false
		raw := make([]uint64, s.width)
		s.visit = func() {
			copy(raw, s.child)
			sortDown(s.child[1+s.homes:])
			if !found && slices.Equal(s.child, want) &&
				int(s.cost[path[k-1]])+bits.OnesCount64(s.move.copied) == int(s.cost[path[k]]) {
				found = true
				w.write(s.move, raw)
			}
		}
		s.expand()
	}
	return w.steps
}

// optimalWriter turns moves into steps: it knows in which array of the machine
// each array of a state is, and in which row each value.
type optimalWriter struct {
	s     *optimal
	array []int // by array of the state: array of the machine, less base
	row   [][]int32
	held  []uint64 // by array of the machine
	free  [][]uint16
	steps []step
}

func newOptimalWriter(s *optimal) *optimalWriter {
	w := &optimalWriter{s: s}
	rows := s.in.p.Geometry.Rows
	for a := range s.room {
		w.array = append(w.array, a)
		w.row = append(w.row, make([]int32, len(s.value)))
		w.held = append(w.held, 0)
		var free []uint16
		for r := rows - 1; r >= rows-s.room[a]; r-- {
			free = append(free, uint16(r))
		}
		w.free = append(w.free, free)
	}
	return w
}

// write does a move, after which the arrays hold what raw says.
func (w *optimalWriter) write(m optimalMove, raw []uint64) {
	s := w.s
	a := w.array[m.array]
	w.drop(a, m.dropped)
	for c := m.copied; c != 0; c &= c - 1 {
		b := bits.TrailingZeros64(c)
		v := s.value[b]
		from := int(s.in.home[v])
		if from < 0 {
			for x, h := range w.held {
				if h>>b&1 != 0 {
					from = s.base + x
					break
				}
			}
		}
		w.put(b, a, from)
	}
	if m.gate >= 0 {
		// Rows may be freed before the gate is computed: it reads before it
		// writes, and no other row is written in between.
		for i, x := range w.array {
			w.drop(x, w.held[x]&^raw[1+i])
		}
		if w.put(m.gate, a, computed); raw[1+m.array]>>m.gate&1 == 0 {
			w.drop(a, 1<<m.gate)
		}
	}
	// The state has its arrays in descending order of contents.
	order := make([]int, len(w.array))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order[s.homes:], func(x, y int) int {
		switch {
		case raw[1+x] > raw[1+y]:
			return -1
		case raw[1+x] < raw[1+y]:
			return 1
		}
		return 0
	})
	old := slices.Clone(w.array)
	for i, x := range order {
		w.array[i] = old[x]
	}
}

func (w *optimalWriter) drop(a int, values uint64) {
	for m := values; m != 0; m &= m - 1 {
		w.free[a] = append(w.free[a], uint16(w.row[a][bits.TrailingZeros64(m)]))
	}
	w.held[a] &^= values
}

func (w *optimalWriter) put(b, a, from int) {
	last := len(w.free[a]) - 1
	row := w.free[a][last]
	w.free[a] = w.free[a][:last]
	w.row[a][b] = int32(row)
	w.held[a] |= 1 << b
	w.steps = append(w.steps, step{value: w.s.value[b], array: uint16(w.s.base + a), row: row, from: int32(from)})
}
