package xmg

import (
	"cmp"

	"github.com/emirpasic/gods/queues/priorityqueue"
)

// Copies estimates the copies that a computation of the graph takes on arrays
// of so many rows, gates in the graph's order: all gates are computed in one
// array, the one that holds the inputs where they leave a row free, else an
// empty one into which inputs are copied; and where it is full the value whose
// next use is the furthest is moved out (Belady, "A study of replacement
// algorithms for a virtual-storage computer", 1966). Real schedules take fewer;
// the estimate is for comparing graphs of one circuit. It needs at least four
// rows.
//
// It takes O(n log rows) time and 16 bytes a node.
func (g *Graph) Copies(rows int) int {
	rows = max(rows, 4)
	away := g.spills(rows, false)
	if room := rows - g.NumInputs(); room >= 4 {
		return min(away, g.spills(room, true))
	}
	return away
}

// spill is the array that computes, by value.
type spill struct {
	g       *Graph
	next    []int32              // by edge into a gate: the gate of the next use of its fanin, noUse if none
	due     []int32              // by node: its next use
	state   []uint8              // by node
	queue   *priorityqueue.Queue // of spillEntry, the value that is needed last first
	present int
	copies  int
}

type spillEntry struct{ due, node int32 }

const (
	inArray  uint8 = 1 << iota // the value is in the array
	backedUp                   // it also is elsewhere
)

// The next use of a value that no gate needs: noUse, or wanted for an output.
const (
	wanted int32 = 1<<31 - 2
	noUse  int32 = 1<<31 - 1
)

// spills counts the copies in and out of an array with room for values; the
// inputs are at hand at no cost if home is set.
func (g *Graph) spills(room int, home bool) int {
	first := g.FirstGate()
	s := &spill{g: g, due: make([]int32, g.NumNodes()), next: make([]int32, 3*g.NumGates()), state: make([]uint8, g.NumNodes()),
		queue: priorityqueue.NewWith(neededLater)}
	for i := range s.due {
		s.due[i] = noUse
	}
	for _, o := range g.outputs {
		if o.Lit.Node() >= first {
			s.due[o.Lit.Node()] = wanted
		}
	}
	for id := g.NumNodes() - 1; id >= first; id-- {
		for k, l := range g.nodes[id] {
			s.next[3*(id-first)+k] = s.due[l.Node()]
			s.due[l.Node()] = int32(id)
		}
	}
	for id := 1; id < first; id++ {
		s.state[id] = backedUp
	}
	for id := first; id < g.NumNodes(); id++ {
		f := g.nodes[id]
		needs := func(n int32) bool {
			return n == int32(f[0].Node()) || n == int32(f[1].Node()) || n == int32(f[2].Node())
		}
		for _, l := range f {
			n := l.Node()
			if n == 0 || home && n < first || s.state[n]&inArray != 0 {
				continue
			}
			s.makeRoom(room, needs)
			s.copies++
			s.put(int32(n))
		}
		for k, l := range f {
			n := l.Node()
			s.due[n] = s.next[3*(id-first)+k]
			if n == 0 || s.state[n]&inArray == 0 {
				continue
			}
			if s.due[n] == noUse || s.due[n] == wanted && s.state[n]&backedUp != 0 {
				s.state[n] &^= inArray
				s.present--
			} else {
				s.queue.Enqueue(spillEntry{s.due[n], int32(n)})
			}
		}
		s.makeRoom(room, func(int32) bool { return false })
		s.put(int32(id))
	}
	return s.copies
}

func (s *spill) put(n int32) {
	s.state[n] |= inArray
	s.present++
	s.queue.Enqueue(spillEntry{s.due[n], n})
}

// makeRoom moves out the value that is needed last, if the array is full; not
// those that keep says.
func (s *spill) makeRoom(room int, keep func(int32) bool) {
	var kept []spillEntry
	for s.present >= room {
		first, _ := s.queue.Dequeue()
		e := first.(spillEntry)
		if s.state[e.node]&inArray == 0 || s.due[e.node] != e.due {
			continue // out of date
		}
		if keep(e.node) {
			kept = append(kept, e)
			continue
		}
		if s.state[e.node]&backedUp == 0 {
			s.copies++
		}
		s.state[e.node] = backedUp
		s.present--
	}
	for _, e := range kept {
		s.queue.Enqueue(e)
	}
}

// neededLater orders entries, the one that is needed last first; of equals the lowest node.
func neededLater(x, y any) int {
	a, b := x.(spillEntry), y.(spillEntry)
	return cmp.Or(cmp.Compare(b.due, a.due), cmp.Compare(a.node, b.node))
}
