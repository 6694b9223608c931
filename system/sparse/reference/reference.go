// Package reference computes what sparse kernels give, with plain loops and queues:
// the oracle of package sparse. It knows no SPU, and package sparse uses none of it
// to compute.
//
// Vectors are in the numbering of the matrix. See GAP (Beamer et al., 2015) for the
// algorithms.
//
//	level, parent := reference.BFS(m, 0, 0)
//
// Invariants: a function reads its matrix only.
package reference

import (
	"math"
	"slices"

	"github.com/emirpasic/gods/queues/priorityqueue"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// Unreached is the level, parent, distance or label of a vertex that was not reached.
const Unreached = math.MaxUint32

// BFS returns the level of each vertex, and the least of its neighbours one level up,
// for at most so many levels; 0 for all.
func BFS(m *matrix.Matrix, source, levels int) (level, parent []uint32) {
	level, parent = unreached(m.Cols), unreached(m.Cols)
	level[source], parent[source] = 0, uint32(source)
	// A list with a head: the array queue of gods moves all of its elements at each exit.
	queue := []uint32{uint32(source)}
	for head := 0; head < len(queue); head++ {
		u := queue[head]
		if levels > 0 && level[u] == uint32(levels) {
			break
		}
		for _, w := range m.Col(int(u)) {
			switch {
			case level[w] == Unreached:
				level[w], parent[w] = level[u]+1, u
				queue = append(queue, w)
			case level[w] == level[u]+1:
				parent[w] = min(parent[w], u)
			}
		}
	}
	return level, parent
}

func unreached(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = Unreached
	}
	return list
}

// Distances returns the least sums of weights from the source, by Dijkstra's algorithm.
func Distances(m *matrix.Matrix, source int) []uint32 {
	type item struct {
		d uint32
		v uint32
	}
	dist := unreached(m.Cols)
	dist[source] = 0
	q := priorityqueue.NewWith(func(a, b any) int {
		x, y := a.(item), b.(item)
		switch {
		case x.d < y.d:
			return -1
		case x.d > y.d:
			return 1
		}
		return 0
	})
	for q.Enqueue(item{0, uint32(source)}); !q.Empty(); {
		e, _ := q.Dequeue()
		u := e.(item)
		if u.d > dist[u.v] {
			continue
		}
		for k := m.Ptr[u.v]; k < m.Ptr[u.v+1]; k++ {
			w := m.Idx[k]
			d := uint64(u.d) + uint64(m.Uint(k))
			if d < uint64(dist[w]) {
				dist[w] = uint32(d)
				q.Enqueue(item{uint32(d), w})
			}
		}
	}
	return dist
}

// Components returns the least vertex of the component of each vertex of a symmetric
// matrix, by union and find.
func Components(m *matrix.Matrix) []uint32 {
	root := make([]uint32, m.Cols)
	for i := range root {
		root[i] = uint32(i)
	}
	find := func(v uint32) uint32 {
		for root[v] != v {
			root[v] = root[root[v]]
			v = root[v]
		}
		return v
	}
	for c := range m.Cols {
		for _, r := range m.Col(c) {
			a, b := find(uint32(c)), find(r)
			root[max(a, b)] = min(a, b)
		}
	}
	for v := range root {
		root[v] = find(uint32(v))
	}
	return root
}

// Relax returns y after rounds in which every y becomes the least of itself and those
// of its neighbours, plus the weights of the edges where they are added.
func Relax(m *matrix.Matrix, y []uint32, weights bool, rounds int) []uint32 {
	for range rounds {
		next := slices.Clone(y)
		for c, v := range y {
			if v == Unreached {
				continue
			}
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				d := uint64(v)
				if weights {
					d += uint64(m.Uint(k))
				}
				next[m.Idx[k]] = uint32(min(d, uint64(next[m.Idx[k]])))
			}
		}
		y = next
	}
	return y
}

// PageRank returns the ranks after a number of rounds, in float64.
func PageRank(m *matrix.Matrix, damping float64, rounds int) []float64 {
	n := m.Cols
	rank, next := make([]float64, n), make([]float64, n)
	for i := range rank {
		rank[i] = 1 / float64(n)
	}
	for range rounds {
		clear(next)
		dangling := 0.0
		for c := range n {
			list := m.Col(c)
			if len(list) == 0 {
				dangling += rank[c]
				continue
			}
			x := rank[c] / float64(len(list))
			for _, r := range list {
				next[r] += x
			}
		}
		base := (1-damping)/float64(n) + damping*dangling/float64(n)
		for i := range next {
			next[i] = base + damping*next[i]
		}
		rank, next = next, rank
	}
	return rank
}

// Recurrence returns y after rounds of y = base + A (scale·y) in integers modulo 2^32,
// A being the pattern, and y one at first.
func Recurrence(m *matrix.Matrix, scale []uint32, base uint32, rounds int) []uint32 {
	y, next := make([]uint32, m.Cols), make([]uint32, m.Cols)
	for i := range y {
		y[i] = 1
	}
	for range rounds {
		for i := range next {
			next[i] = base
		}
		for c := range m.Cols {
			x := y[c] * scale[c]
			for _, r := range m.Col(c) {
				next[r] += x
			}
		}
		y, next = next, y
	}
	return y
}

// Product returns A x in float64, with the sums of magnitudes and the number of terms
// of each row; entries of x that are NaN are not there.
func Product(m *matrix.Matrix, x []float32) (y, magnitude []float64, terms []uint32) {
	y, terms = make([]float64, m.Rows), make([]uint32, m.Rows)
	negative := false
	for c, v := range x {
		negative = negative || v < 0
		if v != v {
			continue
		}
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			a := m.Float(k)
			negative = negative || a < 0
			y[m.Idx[k]] += float64(a) * float64(v)
			terms[m.Idx[k]]++
		}
	}
	if !negative {
		return y, y, terms
	}
	magnitude = make([]float64, m.Rows)
	for c, v := range x {
		if v != v {
			continue
		}
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			magnitude[m.Idx[k]] += math.Abs(float64(m.Float(k)) * float64(v))
		}
	}
	return y, magnitude, terms
}

// ProductU32 returns A x modulo 2^32 with add and mul; there says which entries of x
// are there. Rows without a term are none.
func ProductU32(m *matrix.Matrix, x []uint32, there []bool, mul, add func(a, b uint32) uint32, none uint32) []uint32 {
	y := make([]uint32, m.Rows)
	met := make([]bool, m.Rows)
	for i := range y {
		y[i] = none
	}
	for c, v := range x {
		if !there[c] {
			continue
		}
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			r := m.Idx[k]
			p := mul(v, m.Uint(k))
			if met[r] {
				p = add(y[r], p)
			}
			y[r], met[r] = p, true
		}
	}
	return y
}

// Dots returns the scalar products of the rows of m with rows of m, in float64: a
// query a row of the result.
func Dots(m *matrix.Matrix, queries []int) [][]float64 {
	x := make([][]float64, len(queries))
	for q := range x {
		x[q] = make([]float64, m.Cols)
	}
	for c := range m.Cols {
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			for q, row := range queries {
				if int(m.Idx[k]) == row {
					x[q][c] = float64(m.Float(k))
				}
			}
		}
	}
	out := make([][]float64, len(queries))
	for q := range queries {
		out[q] = make([]float64, m.Rows)
		for c, v := range x[q] {
			if v == 0 {
				continue
			}
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				out[q][m.Idx[k]] += v * float64(m.Float(k))
			}
		}
	}
	return out
}

// Top returns the k rows with the greatest scores, the lesser row first where scores
// are equal; rows of score 0 do not count.
func Top(score []float64, k int) []int {
	var rows []int
	for i, s := range score {
		if s != 0 {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		switch {
		case score[a] > score[b]:
			return -1
		case score[a] < score[b]:
			return 1
		}
		return a - b
	})
	return rows[:min(k, len(rows))]
}
