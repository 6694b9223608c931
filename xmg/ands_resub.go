package xmg

import (
	"container/heap"
	"context"
	"slices"
)

// ResubstituteAnds makes all gates ANDs and builds the graph anew, each gate as another
// one that is there or as an AND of two others, wherever that is the same function over
// a cut of at most eight leaves and takes fewer gates (Mishchenko, Brayton, "Scalable
// logic synthesis using a simple circuit structure", IWLS 2006). Two gates that share
// nothing but their function over the cut are found so, which [RewriteAnds] does not see.
//
// It takes 5 to 50 us a gate. An error means that the context ended, and wraps its error.
func ResubstituteAnds(ctx context.Context, g *Graph, opt Options) (*Graph, error) {
	g = g.ands()
	r := &andResub{rebuilder: newRebuilder(g), users: make([][]uint32, g.FirstGate(), g.NumNodes()), place: make([]int32, g.FirstGate(), g.NumNodes())}
	tick := ticker{ctx, opt.Progress, "resubstituting ANDs", g.NumNodes()}
	for i, id := range resubOrder(g) {
		if err := tick.tick(i); err != nil {
			return nil, err
		}
		r.gate(int(id))
	}
	out := r.finish()
	if out.NumGates() > g.NumGates() {
		return g, nil
	}
	return out, nil
}

// resubOrder returns the gates in a topological order: those that nothing is saved by
// replacing come as early as they can, the others as late, the least deep first, so
// that there is much that these can be replaced by.
func resubOrder(g *Graph) []uint32 {
	levels, refs := g.Levels(), g.References()
	first := uint32(g.FirstGate())
	saves := func(id uint32) int32 {
		for _, l := range g.nodes[id] {
			if uint32(l>>1) >= first && refs[l>>1] == 1 {
				return 1
			}
		}
		return 0
	}
	rank := make([]uint32, g.NumGates()) // the last comes first
	for i := range rank {
		rank[i] = first + uint32(i)
	}
	slices.SortStableFunc(rank, func(x, y uint32) int {
		if d := saves(y) - saves(x); d != 0 {
			return int(d)
		}
		return int(levels[y] - levels[x])
	})
	place, missing := make([]uint32, len(g.nodes)), make([]int32, len(g.nodes))
	var ready nodeQueue
	for i, id := range rank {
		place[id] = uint32(i)
		for _, l := range g.nodes[id] {
			if uint32(l>>1) >= first {
				missing[id]++
			}
		}
		if missing[id] == 0 {
			heap.Push(&ready, uint32(i))
		}
	}
	offsets, users := g.Fanouts()
	order := make([]uint32, 0, len(rank))
	for len(ready) > 0 {
		id := rank[heap.Pop(&ready).(uint32)]
		order = append(order, id)
		for _, u := range users[offsets[id]:offsets[id+1]] {
			if missing[u]--; missing[u] == 0 {
				heap.Push(&ready, place[u])
			}
		}
	}
	return order
}

const (
	maxResubLeaves  = 8   // of a cut
	maxDivisors     = 150 // looked at for a gate
	maxDivisorUsers = 100 // of a divisor that are looked at
)

// table8 is a function of the leaves of a cut.
type table8 [1 << maxResubLeaves / 64]uint64

var eightTables = func() (t [maxResubLeaves]table8) {
	for i := range t {
		for p := range 1 << maxResubLeaves {
			t[i][p>>6] |= uint64(p>>i&1) << (p & 63)
		}
	}
	return t
}()

// of returns the function of an AND or OR of two literals.
func (t *table8) of(f gate, a, b *table8) {
	x, y, z := -uint64(f[0]&1), -uint64(f[1]&1), -uint64(f[2]&1)
	for i := range t {
		a, b := a[i]^y, b[i]^z
		t[i] = a&b | x&(a^b)
	}
}

// within reports whether a function, complemented or not, is false wherever another is.
func (t *table8) within(u *table8, flip, flipU uint64) bool {
	for i := range t {
		if (t[i]^flip)&^(u[i]^flipU) != 0 {
			return false
		}
	}
	return true
}

type andResub struct {
	rebuilder
	users    [][]uint32 // by new node: gates of it
	place    []int32    // by new node: 1 + its place among the divisors, or 0
	leaves   []uint32
	divisors []uint32 // leaves, gates between these and the gate in hand, and what else is of them
	tables   []table8 // of the divisors
	cover    []Lit    // places of divisors <<1 | complement
}

// andChoice is what a gate may be: the AND of two edges, complemented or not.
type andChoice struct {
	a, b Lit
	flip Lit
}

// gate builds one gate of the old graph.
func (r *andResub) gate(id int) {
	f := r.old.nodes[id]
	fanins := r.fanins(f)
	choice := andChoice{fanins[1], fanins[2], 0}
	if f[0] == True {
		choice = andChoice{fanins[1] ^ 1, fanins[2] ^ 1, 1}
	}
	if a, b, found := choice.a, choice.b, false; a>>1 != b>>1 && a > True && b > True {
		if _, found = r.out.findMaj(a, b, False); !found {
			freed := r.undo(fanins)
			r.divide(choice)
			var want table8
			pa, pb := &r.tables[r.place[a>>1]-1], &r.tables[r.place[b>>1]-1]
			for i := range want {
				want[i] = (pa[i] ^ -uint64(a&1)) & (pb[i] ^ -uint64(b&1))
			}
			choice = r.search(choice, &want, fanins, freed)
			for _, d := range r.divisors {
				r.place[d] = 0
			}
		}
	}
	l := r.out.And(choice.a, choice.b) ^ choice.flip
	for len(r.users) < len(r.out.nodes) {
		for _, l := range r.out.nodes[len(r.users)][1:] {
			r.users[l>>1] = append(r.users[l>>1], uint32(len(r.users)))
		}
		r.users, r.place = append(r.users, nil), append(r.place, 0)
	}
	r.built(id, l, fanins)
}

// divide finds a cut under two edges, its leaves those that as few other leaves as
// possible stand for, and the divisors over it with their functions.
func (r *andResub) divide(c andChoice) {
	r.leaves = append(r.leaves[:0], uint32(min(c.a, c.b)>>1), uint32(max(c.a, c.b)>>1))
	r.divisors = append(r.divisors[:0], r.leaves...)
	for _, n := range r.leaves {
		r.place[n] = 1 // reached
	}
	for {
		pick, least := -1, 3
		for i, n := range r.leaves {
			if !r.out.IsGate(int(n)) {
				continue
			}
			news := -1
			for _, l := range r.out.nodes[n][1:] {
				if r.place[l>>1] == 0 {
					news++
				}
			}
			if news < least {
				pick, least = i, news
			}
		}
		if pick < 0 || len(r.leaves)+least > maxResubLeaves || len(r.divisors) > maxDivisors/2 {
			break
		}
		n := r.leaves[pick]
		r.leaves = slices.Delete(r.leaves, pick, pick+1)
		for _, l := range r.out.nodes[n][1:] {
			if m := uint32(l >> 1); r.place[m] == 0 {
				r.place[m] = 1
				r.leaves = append(r.leaves, m)
				r.divisors = append(r.divisors, m)
			}
		}
	}
	slices.Sort(r.divisors)
	r.tables = r.tables[:0]
	for i, n := range r.divisors {
		r.place[n] = int32(i) + 1
		if k := slices.Index(r.leaves, n); k >= 0 {
			r.tables = append(r.tables, eightTables[k])
		} else {
			r.tables = append(r.tables, r.table(n))
		}
	}
	for i := 0; i < len(r.divisors) && len(r.divisors) < maxDivisors; i++ {
		users := r.users[r.divisors[i]]
		for _, n := range users[max(0, len(users)-maxDivisorUsers):] {
			f := r.out.nodes[n]
			if r.refs[n] > 0 && r.place[n] == 0 && r.place[f[1]>>1] != 0 && r.place[f[2]>>1] != 0 {
				r.divisors = append(r.divisors, n)
				r.place[n] = int32(len(r.divisors))
				r.tables = append(r.tables, r.table(n))
			}
		}
	}
}

// table returns the function of a gate whose fanins are divisors.
func (r *andResub) table(n uint32) (t table8) {
	f := r.out.nodes[n]
	a, b := &r.tables[r.place[f[1]>>1]-1], &r.tables[r.place[f[2]>>1]-1]
	t.of(f, a, b)
	return t
}

// search looks for a choice that takes fewer gates than the one given; freed is how
// many would be freed at best.
func (r *andResub) search(best andChoice, want *table8, fanins [3]Lit, freed int) andChoice {
	least, given := 1, best.flip
	try := func(c andChoice) {
		c.flip ^= given
		added := 0
		if l, ok := r.out.findMaj(c.a, c.b, False); ok {
			added = r.ref(l, exactBudget)
		} else {
			added = 1 + r.ref(c.a, exactBudget) + r.ref(c.b, exactBudget)
		}
		if added -= r.undo(fanins); added < least {
			best, least = c, added
		}
	}
	for _, flip := range [2]Lit{0, 1} {
		// Of divisors that are true wherever the gate is, or its complement.
		r.cover = r.cover[:0]
		for i := range r.tables {
			for _, c := range [2]Lit{0, 1} {
				if !want.within(&r.tables[i], -uint64(flip), -uint64(c)) {
					continue
				}
				r.cover = append(r.cover, Lit(i)<<1|c)
				if r.tables[i].within(want, -uint64(c), -uint64(flip)) {
					try(andChoice{Lit(r.divisors[i])<<1 | c, True, flip})
				}
			}
		}
		if freed == 0 {
			continue
		}
		for k, x := range r.cover {
			for _, y := range r.cover[:k] {
				if r.meet(x, y, want, -uint64(flip)) {
					try(andChoice{Lit(r.divisors[x>>1])<<1 | x&1, Lit(r.divisors[y>>1])<<1 | y&1, flip})
				}
			}
		}
	}
	return best
}

// meet reports whether two divisors are both true only where a function is.
func (r *andResub) meet(x, y Lit, want *table8, flip uint64) bool {
	a, b := &r.tables[x>>1], &r.tables[y>>1]
	for i := range want {
		if (a[i]^-uint64(x&1))&(b[i]^-uint64(y&1))&^(want[i]^flip) != 0 {
			return false
		}
	}
	return true
}
