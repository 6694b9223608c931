package kernels

import (
	"fmt"
	"math/rand/v2"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// points adds N points of 16 coordinates, which are small integers, so that sums are
// exact in any order, and the order that they are looked at.
func points(w *workspace, name string) {
	n := w.n("N")
	add(w, name, random(w, 16*n, func(r *rand.Rand) float32 { return float32(r.IntN(16)) }), n, 16)
	add(w, "order", permutation(w, n))
}

func makeScluster(w *workspace) error {
	n, t := w.n("N"), w.n("T")
	points(w, "P")
	add(w, "candidate", random(w, t, func(r *rand.Rand) int32 { return r.Int32N(int32(n)) }))
	add(w, "cost", random(w, n, func(r *rand.Rand) float32 { return float32(r.IntN(1200)) }))
	add(w, "center", make([]int32, n))
	add(w, "dist", make([]float32, n))
	add(w, "opened", make([]int32, t))
	w.m.Scalars["z"] = scalar.FromFloat(scalar.FP32, float64(float32(20*n)))
	return nil
}

func checkScluster(before, after *workspace) error {
	p, order := get[float32](before, "P"), get[int32](before, "order")
	cost, center, opened := get[float32](before, "cost"), get[int32](before, "center"), get[int32](before, "opened")
	for t, c := range get[int32](before, "candidate") {
		saved, dist := 0, make([]int, len(cost))
		for i, q := range order {
			for k := range 16 {
				x := int(p[16*int(q)+k]) - int(p[16*int(c)+k])
				dist[i] += x * x
			}
			saved += max(0, int(cost[i])-dist[i])
		}
		opened[t] = 0
		if saved <= int(before.scalar("z")) {
			continue
		}
		opened[t] = 1
		for i := range cost {
			if float32(dist[i]) < cost[i] {
				cost[i], center[i] = float32(dist[i]), c
			}
		}
	}
	return firstOf(differ(after, "cost", cost), differ(after, "center", center), differ(after, "opened", opened))
}

func makeSvm(w *workspace) error {
	n := w.n("N")
	points(w, "X")
	add(w, "y", random(w, n, func(r *rand.Rand) float32 { return float32(2*r.IntN(2) - 1) }))
	// Weights and gradients as they are after some steps.
	add(w, "G", random(w, n, func(r *rand.Rand) float32 { return 2*r.Float32() - 1 }))
	add(w, "alpha", random(w, n, func(r *rand.Rand) float32 { return float32(r.IntN(5)) / 4 }))
	w.m.Scalars["C"] = scalar.FromFloat(scalar.FP32, 1)
	return nil
}

func checkSvm(before, after *workspace) error {
	x, order, y := get[float32](before, "X"), get[int32](before, "order"), get[float32](before, "y")
	g, alpha, c := get[float32](before, "G"), get[float32](before, "alpha"), before.scalar("C")
	for range before.n("T") {
		a, b := -1, -1
		v := func(i int) float32 { return -y[i] * g[i] }
		for i := range y {
			rises, falls := alpha[i] < c, alpha[i] > 0
			if y[i] < 0 {
				rises, falls = falls, rises
			}
			if rises && (a < 0 || v(i) > v(a)) {
				a = i
			}
			if falls && (b < 0 || v(i) < v(b)) {
				b = i
			}
		}
		if a < 0 || b < 0 || v(a) <= v(b) {
			break
		}
		diff := make([]float32, 16)
		var eta float32
		for k := range diff {
			diff[k] = x[16*int(order[a])+k] - x[16*int(order[b])+k]
			eta += diff[k] * diff[k] // small integers
		}
		step := (v(a) - v(b)) / max(eta, 1e-6)
		room := func(i int, up bool) float32 {
			if up {
				return c - alpha[i]
			}
			return alpha[i]
		}
		step = min(step, room(a, y[a] > 0), room(b, y[b] < 0))
		alpha[a] += y[a] * step
		alpha[b] -= y[b] * step
		for i := range g {
			dot := 0
			for k := range diff {
				dot += int(x[16*int(order[i])+k]) * int(diff[k])
			}
			g[i] += float32(y[i] * float32(step*float32(dot)))
		}
	}
	return firstOf(differ(after, "alpha", alpha), differ(after, "G", g))
}

// keys draws different keys.
func keys(w *workspace, n int) []uint64 {
	seen := make(map[uint64]bool, n)
	list := make([]uint64, 0, n)
	for len(list) < n {
		if k := w.r.Uint64(); k != 0 && !seen[k] {
			seen[k] = true
			list = append(list, k)
		}
	}
	return list
}

// queries draws n keys, of which those that one in every few draws are in a list.
func queries(w *workspace, n, every int, list []uint64) []uint64 {
	return random(w, n, func(r *rand.Rand) uint64 {
		if r.IntN(every) == 0 {
			return list[r.IntN(len(list))]
		}
		return r.Uint64() | 1
	})
}

func makeBinTree(w *workspace) error {
	n := w.n("N")
	if n < 1 {
		return fmt.Errorf("kernels: a tree of %d nodes, expected at least 1", n)
	}
	key := keys(w, n)
	left, right := make([]int64, n), make([]int64, n)
	left[0], right[0] = -1, -1
	for i := 1; i < n; i++ { // in the order of their drawing, which is random
		left[i], right[i] = -1, -1
		for at := 0; ; {
			next := &right[at]
			if key[i] < key[at] {
				next = &left[at]
			}
			if *next < 0 {
				*next = int64(i)
				break
			}
			at = int(*next)
		}
	}
	add(w, "nodes.key", key)
	add(w, "nodes.left", left)
	add(w, "nodes.right", right)
	add(w, "nodes.value", random(w, n, func(r *rand.Rand) uint64 { return r.Uint64() }))
	add(w, "query", queries(w, w.n("Q"), 2, key))
	add(w, "hits", make([]int64, 1))
	add(w, "total", make([]uint64, 1))
	return nil
}

// joined counts the queries that are keys, by a map, and adds up the keys' values.
func joined(w *workspace, key, value, query string) (hits int64, total uint64) {
	values := map[uint64]uint64{}
	v := get[uint64](w, value)
	for i, k := range get[uint64](w, key) {
		values[k] = v[i]
	}
	for _, k := range get[uint64](w, query) {
		if x, ok := values[k]; ok {
			hits++
			total += x
		}
	}
	return hits, total
}

func checkBinTree(before, after *workspace) error {
	hits, total := joined(before, "nodes.key", "nodes.value", "query")
	return firstOf(differ(after, "hits", []int64{hits}), differ(after, "total", []uint64{total}))
}

func makeHashJoin(w *workspace) error {
	n, b := w.n("N"), w.n("B")
	if n < 1 || b < 1 || b&(b-1) != 0 {
		return fmt.Errorf("kernels: a table of %d entries with B=%d chains, expected at least 1 entry and a power of two", n, b)
	}
	key := keys(w, n)
	next, first := make([]int64, n), make([]int64, b)
	for i := range first {
		first[i] = -1
	}
	for i, k := range key {
		h := k * 0x9e3779b97f4a7c15 >> 32 & uint64(b-1)
		next[i], first[h] = first[h], int64(i)
	}
	add(w, "entries.key", key)
	add(w, "entries.value", random(w, n, func(r *rand.Rand) uint64 { return r.Uint64() }))
	add(w, "entries.next", next)
	add(w, "heads.first", first)
	add(w, "probe", queries(w, w.n("Q"), 8, key))
	add(w, "matches", make([]int64, 1))
	add(w, "total", make([]uint64, 1))
	return nil
}

func checkHashJoin(before, after *workspace) error {
	hits, total := joined(before, "entries.key", "entries.value", "probe")
	return firstOf(differ(after, "matches", []int64{hits}), differ(after, "total", []uint64{total}))
}
