package kernels

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Shares of the quadrants of a Kronecker graph, in percent (table VI): A, B and C.
const (
	kroneckerA = 57
	kroneckerB = 19
	kroneckerC = 19
)

// edge is one of a directed graph.
type edge struct{ from, to int32 }

// kronecker draws E different edges between V vertices, none from a vertex to itself:
// each bit of both ends by the shares of the quadrants, then vertices in a random order
// (Graph500; GAP does the same). Vertex 1 is one from which most edges go, so that
// searches that begin there reach much.
func kronecker(w *workspace) ([]edge, error) {
	v, n := w.n("V"), w.n("E")
	if v < 4 || n < 1 || n > v*(v-1)/8 {
		return nil, fmt.Errorf("kernels: a graph of %d vertices and %d edges, expected at least 4 vertices and at most V*(V-1)/8 edges", v, n)
	}
	bits := 0
	for 1<<bits < v {
		bits++
	}
	draw := func() edge {
		for {
			var e edge
			for range bits {
				x := w.r.IntN(100)
				e.from, e.to = e.from<<1, e.to<<1
				switch {
				case x < kroneckerA:
				case x < kroneckerA+kroneckerB:
					e.to++
				case x < kroneckerA+kroneckerB+kroneckerC:
					e.from++
				default:
					e.from++
					e.to++
				}
			}
			if e.from != e.to && int(e.from) < v && int(e.to) < v {
				return e
			}
		}
	}
	order := func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) }
	var list []edge
	for tries := 0; len(list) < n; tries++ {
		if tries == 200 {
			return nil, fmt.Errorf("kernels: a Kronecker graph of %d vertices with %d different edges is too dense, expected fewer", v, n)
		}
		for range n - len(list) + n/16 {
			list = append(list, draw())
		}
		slices.SortFunc(list, order)
		list = slices.Compact(list)
	}
	w.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	list = list[:n]
	name := w.r.Perm(v)
	degree := make([]int, v)
	for i := range list {
		e := &list[i]
		e.from, e.to = int32(name[e.from]), int32(name[e.to])
		degree[e.from]++
	}
	most := int32(slices.Index(degree, slices.Max(degree)))
	rename := func(x *int32) {
		switch *x {
		case most:
			*x = 1
		case 1:
			*x = most
		}
	}
	for i := range list {
		rename(&list[i].from)
		rename(&list[i].to)
	}
	slices.SortFunc(list, order)
	return list, nil
}

// rows adds a graph in compressed rows, of the edges from each vertex, or to it: their other
// ends are an array of some name.
func rows(w *workspace, list []edge, to bool, name string) {
	v := w.n("V")
	row, col := make([]int32, v+1), make([]int32, 0, len(list))
	if to {
		list = slices.Clone(list)
		for i := range list {
			list[i].from, list[i].to = list[i].to, list[i].from
		}
		slices.SortFunc(list, func(a, b edge) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	}
	for _, e := range list {
		row[e.from+1]++
		col = append(col, e.to)
	}
	for i := range v {
		row[i+1] += row[i]
	}
	add(w, "row", row)
	add(w, name, col)
}

func makeBFSPush(w *workspace) error {
	list, err := kronecker(w)
	if err != nil {
		return err
	}
	rows(w, list, false, "col")
	for _, name := range []string{"parent", "queue", "next"} {
		add(w, name, make([]int32, w.n("V")))
	}
	add(w, "tail", make([]int32, 1))
	return nil
}

func makeBFSPull(w *workspace) error {
	list, err := kronecker(w)
	if err != nil {
		return err
	}
	rows(w, list, true, "col")
	add(w, "order", permutation(w, w.n("V")))
	add(w, "parent", make([]int32, w.n("V")))
	add(w, "front", make([]uint8, w.n("V")))
	add(w, "next", make([]uint8, w.n("V")))
	return nil
}

// checkBFS checks the specification of a search: a vertex has a parent if there is a way
// to it, the parent has an edge to it, and is one step nearer to the source.
func checkBFS(before, after *workspace) error {
	row, col := get[int32](before, "row"), get[int32](before, "col")
	v, source := before.n("V"), int32(before.n("source"))
	_, pull := before.m.Arrays["front"]
	out := make([][]int32, v)
	for i := range v {
		for _, j := range col[row[i]:row[i+1]] {
			if pull {
				out[j] = append(out[j], int32(i))
			} else {
				out[i] = append(out[i], j)
			}
		}
	}
	depth := make([]int, v)
	for i := range depth {
		depth[i] = -1
	}
	depth[source] = 0
	for queue := []int32{source}; len(queue) > 0; queue = queue[1:] {
		for _, j := range out[queue[0]] {
			if depth[j] < 0 {
				depth[j] = depth[queue[0]] + 1
				queue = append(queue, j)
			}
		}
	}
	for i, p := range get[int32](after, "parent") {
		switch {
		case depth[i] < 0 && p != -1:
			return fmt.Errorf("kernels: vertex %d has parent %d, and there is no way to it", i, p)
		case depth[i] < 0:
		case int32(i) == source && p != source:
			return fmt.Errorf("kernels: the source has parent %d, expected itself", p)
		case int32(i) == source:
		case p < 0 || int(p) >= v:
			return fmt.Errorf("kernels: vertex %d has parent %d, and is %d steps away", i, p, depth[i])
		case depth[p] != depth[i]-1 || !slices.Contains(out[p], int32(i)):
			return fmt.Errorf("kernels: vertex %d, %d steps away, has parent %d, %d steps away and with an edge to it: %t", i, depth[i], p, depth[p], slices.Contains(out[p], int32(i)))
		}
	}
	return nil
}

func makePageRankPush(w *workspace) error {
	list, err := kronecker(w)
	if err != nil {
		return err
	}
	rows(w, list, false, "col")
	add(w, "score", make([]float32, w.n("V")))
	add(w, "sum", make([]float32, w.n("V")))
	return nil
}

func makePageRankPull(w *workspace) error {
	list, err := kronecker(w)
	if err != nil {
		return err
	}
	rows(w, list, true, "col")
	degree := make([]int32, w.n("V"))
	for _, e := range list {
		degree[e.from]++
	}
	add(w, "degree", degree)
	add(w, "order", permutation(w, w.n("V")))
	add(w, "score", make([]float32, w.n("V")))
	add(w, "share", make([]float32, w.n("V")))
	return nil
}

// epsilon is half the distance of 1 from the next float.
const epsilon = 1.0 / (1 << 24)

// checkPageRank computes scores with twice the digits. Additions of n shares in any order
// are off by n roundings at most, and errors of a round go into the next one.
func checkPageRank(before, after *workspace) error {
	row, col := get[int32](before, "row"), get[int32](before, "col")
	v, rounds := before.n("V"), before.n("T")
	_, pull := before.m.Arrays["share"]
	degree, into := make([]float64, v), make([]float64, v)
	visit := func(f func(from, to int32)) {
		for i := range v {
			for _, j := range col[row[i]:row[i+1]] {
				if pull {
					f(j, int32(i))
				} else {
					f(int32(i), j)
				}
			}
		}
	}
	visit(func(from, to int32) { degree[from]++; into[to]++ })
	score := make([]float64, v)
	for i := range score {
		score[i] = 1 / float64(v)
	}
	for range rounds {
		next := make([]float64, v)
		visit(func(from, to int32) { next[to] += score[from] / degree[from] })
		for i := range score {
			score[i] = 0.15/float64(v) + 0.85*next[i]
		}
	}
	most := slices.Max(into)
	for i, x := range get[float32](after, "score") {
		if far := math.Abs(float64(x) - score[i]); !(far <= epsilon*score[i]*(most+8)*float64(rounds)) {
			return fmt.Errorf("kernels: the score of vertex %d is %g, expected %g", i, x, score[i])
		}
	}
	return nil
}

func makeSSSP(w *workspace) error {
	list, err := kronecker(w)
	if err != nil {
		return err
	}
	rows(w, list, false, "edges.to")
	add(w, "edges.weight", random(w, len(list), func(r *rand.Rand) int32 { return 1 + r.Int32N(255) }))
	for _, name := range []string{"dist", "queued", "piled", "queue", "next", "pile", "rest"} {
		add(w, name, make([]int32, w.n("V")))
	}
	add(w, "tail", make([]int32, 1))
	add(w, "top", make([]int32, 1))
	return nil
}

// far is how far a vertex is that there is no way to.
const far = 1 << 30

// reached is a vertex with a way of some length.
type reached struct{ vertex, dist int32 }

type nearest []reached

func (h nearest) Len() int           { return len(h) }
func (h nearest) Less(i, j int) bool { return h[i].dist < h[j].dist }
func (h nearest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nearest) Push(x any)        { *h = append(*h, x.(reached)) }
func (h *nearest) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// checkSSSP compares distances with those of Dijkstra's algorithm.
func checkSSSP(before, after *workspace) error {
	row, col, weight := get[int32](before, "row"), get[int32](before, "edges.to"), get[int32](before, "edges.weight")
	dist := make([]int32, before.n("V"))
	for i := range dist {
		dist[i] = far
	}
	source := int32(before.n("source"))
	dist[source] = 0
	for h := (&nearest{{source, 0}}); h.Len() > 0; {
		x := heap.Pop(h).(reached)
		if x.dist > dist[x.vertex] {
			continue
		}
		for e := row[x.vertex]; e < row[x.vertex+1]; e++ {
			if d := x.dist + weight[e]; d < dist[col[e]] {
				dist[col[e]] = d
				heap.Push(h, reached{col[e], d})
			}
		}
	}
	return differ(after, "dist", dist)
}
