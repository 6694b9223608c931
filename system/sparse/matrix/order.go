package matrix

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Orders are the names that Order takes.
var Orders = []string{"natural", "random", "bfs", "rcm"}

// Order renumbers the rows and columns of a square matrix; to[i] is the new number
// of row i, nil for the natural order.
func (m *Matrix) Order(name string, seed uint64) (to []uint32, err error) {
	if name == "natural" || name == "" {
		return nil, nil
	}
	if !slices.Contains(Orders, name) {
		return nil, fmt.Errorf("unknown order %q, expected natural, random, bfs or rcm", name)
	}
	if m.Rows != m.Cols {
		return nil, fmt.Errorf("order %s of a matrix of %d x %d, expected a square one", name, m.Rows, m.Cols)
	}
	n := m.Cols
	to = make([]uint32, n)
	if name == "random" {
		for i, v := range rand.New(rand.NewPCG(seed, 0x6f72646572)).Perm(n) {
			to[i] = uint32(v)
		}
		return to, nil
	}
	// Breadth first from a vertex of least degree of each component. Cuthill and
	// McKee visit neighbours by rising degree, and turn the order round.
	degree := func(v uint32) int64 { return m.Ptr[v+1] - m.Ptr[v] }
	byDegree := make([]uint32, n)
	for i := range byDegree {
		byDegree[i] = uint32(i)
	}
	slices.SortStableFunc(byDegree, func(a, b uint32) int { return int(degree(a) - degree(b)) })
	seen := make([]bool, n)
	queue := make([]uint32, 0, n)
	for _, root := range byDegree {
		if seen[root] {
			continue
		}
		seen[root] = true
		for at := len(queue); ; at++ {
			if at == len(queue) {
				queue = append(queue, root)
			}
			first := len(queue)
			for _, r := range m.Col(int(queue[at])) {
				if !seen[r] {
					seen[r] = true
					queue = append(queue, r)
				}
			}
			if name == "rcm" {
				slices.SortStableFunc(queue[first:], func(a, b uint32) int { return int(degree(a) - degree(b)) })
			}
			if at == len(queue)-1 {
				break
			}
		}
	}
	if name == "rcm" {
		slices.Reverse(queue)
	}
	for i, v := range queue {
		to[v] = uint32(i)
	}
	return to, nil
}
