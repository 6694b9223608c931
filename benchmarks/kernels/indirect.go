package kernels

import (
	"fmt"
	"math/rand/v2"
	"slices"

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

// queries draws n keys, of which one in eight is in a list.
func queries(w *workspace, n int, list []uint64) []uint64 {
	return random(w, n, func(r *rand.Rand) uint64 {
		if r.IntN(8) == 0 {
			return list[r.IntN(len(list))]
		}
		return r.Uint64() | 1
	})
}

// makeBinTree makes a balanced tree whose nodes lie in any order, as the authors' program does
// (gem-forge-transform, bst.h): one in eight queries finds its key.
func makeBinTree(w *workspace) error {
	n := w.n("N")
	if n < 1 {
		return fmt.Errorf("kernels: a tree of %d nodes, expected at least 1", n)
	}
	sorted := keys(w, n)
	slices.Sort(sorted)
	place := append([]int{0}, w.r.Perm(n-1)...) // of nodes in the order in which they are made
	for i := range place[1:] {
		place[1+i]++
	}
	key, left, right := make([]uint64, n), make([]int64, n), make([]int64, n)
	made := 0
	var build func(low, high int) int64
	build = func(low, high int) int64 {
		if low == high {
			return -1
		}
		at, middle := place[made], (low+high)/2
		made++
		key[at] = sorted[middle]
		left[at] = build(low, middle)
		right[at] = build(middle+1, high)
		return int64(at)
	}
	build(0, n)
	add(w, "nodes.key", key)
	add(w, "nodes.left", left)
	add(w, "nodes.right", right)
	add(w, "nodes.value", random(w, n, func(r *rand.Rand) uint64 { return r.Uint64() }))
	pad(w, "nodes", n, 4)
	add(w, "query", queries(w, w.n("Q"), key))
	add(w, "hits", make([]int64, 1))
	add(w, "total", make([]uint64, 1))
	return nil
}

// pad adds members without a meaning to the elements of a structure.
func pad(w *workspace, name string, n, members int) {
	for k := range members {
		add(w, fmt.Sprintf("%s.pad%d", name, k), make([]uint64, n))
	}
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

// makeHashJoin makes chains of equal length of the keys from 0 on, whose entries lie in any order, as the
// authors' program does (gem-forge-transform, omp_hash_join.c): one in eight probes finds its key.
func makeHashJoin(w *workspace) error {
	n, b := w.n("N"), w.n("B")
	if n < 1 || b < 1 || b&(b-1) != 0 {
		return fmt.Errorf("kernels: a table of %d entries with B=%d chains, expected at least 1 entry and a power of two", n, b)
	}
	key, next, first := make([]uint64, n), make([]int64, n), make([]int64, b)
	for i := range first {
		first[i] = -1
	}
	place := w.r.Perm(n)
	for k := n - 1; k >= 0; k-- {
		at, h := place[k], k&(b-1)
		key[at], next[at], first[h] = uint64(k), first[h], int64(at)
	}
	add(w, "entries.key", key)
	add(w, "entries.value", random(w, n, func(r *rand.Rand) uint64 { return r.Uint64() }))
	add(w, "entries.next", next)
	pad(w, "entries", n, 5)
	add(w, "heads.first", first)
	add(w, "probe", random(w, w.n("Q"), func(r *rand.Rand) uint64 { return r.Uint64N(8 * uint64(n)) }))
	add(w, "matches", make([]int64, 1))
	add(w, "total", make([]uint64, 1))
	return nil
}

func checkHashJoin(before, after *workspace) error {
	hits, total := joined(before, "entries.key", "entries.value", "probe")
	return firstOf(differ(after, "matches", []int64{hits}), differ(after, "total", []uint64{total}))
}
