package reference

import (
	"sync"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// split calls f for parts of n things that have about equally many nonzeros, one a thread.
func split(m *matrix.Matrix, threads int, f func(thread, from, to int)) {
	var wg sync.WaitGroup
	from := 0
	for t := range threads {
		to := from
		for end := m.NNZ() * int64(t+1) / int64(threads); to < m.Cols && (t == threads-1 || m.Ptr[to] < end); {
			to++
		}
		wg.Add(1)
		go func(from, to int) {
			defer wg.Done()
			f(t, from, to)
		}(from, to)
		from = to
	}
	wg.Wait()
}

// Push multiplies a matrix by a vector of its columns in float32: each entry is added to
// the output of its row. Threads have outputs of their own, which are added at the end.
func Push(m *matrix.Matrix, x []float32, threads int) []float32 {
	parts := make([][]float32, threads)
	split(m, threads, func(t, from, to int) {
		y := make([]float32, m.Rows)
		for c := from; c < to; c++ {
			v := x[c]
			if m.Val == nil {
				for _, r := range m.Idx[m.Ptr[c]:m.Ptr[c+1]] {
					y[r] += v
				}
				continue
			}
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				y[m.Idx[k]] += v * m.Float(k)
			}
		}
		parts[t] = y
	})
	for _, part := range parts[1:] {
		for r, v := range part {
			parts[0][r] += v
		}
	}
	return parts[0]
}

// Pull multiplies the transpose of a matrix by a vector of the matrix's rows: each column
// collects what its entries need.
func Pull(m *matrix.Matrix, x []float32, threads int) []float32 {
	y := make([]float32, m.Cols)
	split(m, threads, func(_, from, to int) {
		for c := from; c < to; c++ {
			sum := float32(0)
			if m.Val == nil {
				for _, r := range m.Idx[m.Ptr[c]:m.Ptr[c+1]] {
					sum += x[r]
				}
			} else {
				for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
					sum += x[m.Idx[k]] * m.Float(k)
				}
			}
			y[c] = sum
		}
	})
	return y
}
