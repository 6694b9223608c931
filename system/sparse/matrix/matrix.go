package matrix

import (
	"fmt"
	"math"
	"slices"
)

// Kind is what the entries of a matrix are.
type Kind uint8

// The kinds of entries.
const (
	Pattern Kind = iota // all one, not stored
	Integer             // two's complement, 32 bits
	Real                // IEEE 754 binary32
)

func (k Kind) String() string { return [...]string{"pattern", "integer", "real"}[k] }

// Limits of what is read.
const (
	MaxSize    = math.MaxUint32 // rows, columns
	MaxEntries = 1 << 40
)

// Matrix is a sparse matrix in compressed columns.
type Matrix struct {
	Rows, Cols int
	Kind       Kind
	Ptr        []int64  // Cols+1 offsets into Idx
	Idx        []uint32 // rows; rising in a column
	Val        []uint32 // bits of the entries; nil for a pattern
}

// NNZ returns the number of entries.
func (m *Matrix) NNZ() int64 { return int64(len(m.Idx)) }

// Col returns the rows of column c.
func (m *Matrix) Col(c int) []uint32 { return m.Idx[m.Ptr[c]:m.Ptr[c+1]] }

// Float returns the entry at offset k.
func (m *Matrix) Float(k int64) float32 {
	switch m.Kind {
	case Integer:
		return float32(int32(m.Val[k]))
	case Real:
		return math.Float32frombits(m.Val[k])
	}
	return 1
}

// Uint returns the entry at offset k as an integer modulo 2^32; a real number is
// rounded to the nearest.
func (m *Matrix) Uint(k int64) uint32 {
	switch m.Kind {
	case Integer:
		return m.Val[k]
	case Real:
		return uint32(int64(math.RoundToEven(float64(math.Float32frombits(m.Val[k])))))
	}
	return 1
}

// Check returns what is wrong with the matrix.
func (m *Matrix) Check() error {
	if len(m.Ptr) != m.Cols+1 || m.Ptr[0] != 0 || m.Ptr[m.Cols] != int64(len(m.Idx)) {
		return fmt.Errorf("matrix: offsets do not span %d entries in %d columns", len(m.Idx), m.Cols)
	}
	if (m.Val == nil) != (m.Kind == Pattern) || m.Val != nil && len(m.Val) != len(m.Idx) {
		return fmt.Errorf("matrix: %d values for %d %s entries", len(m.Val), len(m.Idx), m.Kind)
	}
	for c := range m.Cols {
		if m.Ptr[c] > m.Ptr[c+1] {
			return fmt.Errorf("matrix: offset of column %d falls", c+1)
		}
		last := int64(-1)
		for _, r := range m.Col(c) {
			if int64(r) <= last || int64(r) >= int64(m.Rows) {
				return fmt.Errorf("matrix: row %d after %d of %d in column %d", r, last, m.Rows, c)
			}
			last = int64(r)
		}
	}
	return nil
}

// RowLengths returns the number of entries of each row.
func (m *Matrix) RowLengths() []uint32 {
	n := make([]uint32, m.Rows)
	for _, r := range m.Idx {
		n[r]++
	}
	return n
}

// Asymmetry returns an entry (row, column) without its mirror image; ok is false
// if the pattern is symmetric.
func (m *Matrix) Asymmetry() (row, col int, ok bool) {
	if m.Rows != m.Cols {
		return 0, 0, true
	}
	// Walking the columns in order visits the entries of each row in order too.
	next := slices.Clone(m.Ptr[:m.Cols])
	for c := range m.Cols {
		for _, r := range m.Col(c) {
			if p := next[r]; p >= m.Ptr[r+1] || m.Idx[p] != uint32(c) {
				return int(r), c, true
			}
			next[r]++
		}
	}
	return 0, 0, false
}

// Permute returns the matrix with row i and column i at to[i].
func (m *Matrix) Permute(to []uint32) *Matrix {
	p := &Matrix{Rows: m.Rows, Cols: m.Cols, Kind: m.Kind, Ptr: make([]int64, m.Cols+1), Idx: make([]uint32, len(m.Idx))}
	if m.Val != nil {
		p.Val = make([]uint32, len(m.Val))
	}
	for c := range m.Cols {
		p.Ptr[to[c]+1] = m.Ptr[c+1] - m.Ptr[c]
	}
	for c := range m.Cols {
		p.Ptr[c+1] += p.Ptr[c]
	}
	for c := range m.Cols {
		at := p.Ptr[to[c]]
		for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
			p.Idx[at] = to[m.Idx[k]]
			if m.Val != nil {
				p.Val[at] = m.Val[k]
			}
			at++
		}
	}
	p.sortColumns()
	return p
}

// sortColumns puts the entries of each column in the order of rows.
func (m *Matrix) sortColumns() {
	var scratch []uint64
	for c := range m.Cols {
		col := m.Col(c)
		if slices.IsSorted(col) {
			continue
		}
		if m.Val == nil {
			slices.Sort(col)
			continue
		}
		val := m.Val[m.Ptr[c]:m.Ptr[c+1]]
		scratch = scratch[:0]
		for i, r := range col {
			scratch = append(scratch, uint64(r)<<32|uint64(i))
		}
		slices.Sort(scratch)
		for i, s := range scratch { // values by their places, which are then replaced
			col[i] = uint32(s >> 32)
			scratch[i] = uint64(val[uint32(s)])
		}
		for i, s := range scratch {
			val[i] = uint32(s)
		}
	}
}

// chunk is how many entries a part of an entries list has.
const chunk = 1 << 20

// entries collects entries in any order, without copying what there is.
type entries struct {
	rows, cols, vals [][]uint32
	valued           bool
	n                int64
}

func (e *entries) add(row, col, val uint32) {
	last := len(e.rows) - 1
	if last < 0 || len(e.rows[last]) == chunk {
		e.rows = append(e.rows, make([]uint32, 0, chunk))
		e.cols = append(e.cols, make([]uint32, 0, chunk))
		if e.valued {
			e.vals = append(e.vals, make([]uint32, 0, chunk))
		}
		last++
	}
	e.rows[last] = append(e.rows[last], row)
	e.cols[last] = append(e.cols[last], col)
	if e.valued {
		e.vals[last] = append(e.vals[last], val)
	}
	e.n++
}

// matrix sorts the entries into columns and forgets them. Entries that are there
// twice stand beside each other in the order in which they were added.
func (e *entries) matrix(rows, cols int, kind Kind) *Matrix {
	m := &Matrix{Rows: rows, Cols: cols, Kind: kind, Ptr: make([]int64, cols+1), Idx: make([]uint32, e.n)}
	for _, part := range e.cols {
		for _, c := range part {
			m.Ptr[c+1]++
		}
	}
	for c := range cols {
		m.Ptr[c+1] += m.Ptr[c]
	}
	if e.valued && kind != Pattern {
		m.Val = make([]uint32, e.n)
	}
	at := slices.Clone(m.Ptr[:cols])
	for i, part := range e.cols {
		for j, c := range part {
			p := at[c]
			at[c]++
			m.Idx[p] = e.rows[i][j]
			if m.Val != nil {
				m.Val[p] = e.vals[i][j]
			}
		}
		e.rows[i], e.cols[i] = nil, nil
		if m.Val != nil {
			e.vals[i] = nil
		}
	}
	m.sortColumns()
	return m
}

// Duplicates is what to do with entries that are there twice.
type Duplicates string

// The ways to treat duplicates. The zero value is error in MatrixMarket, first in
// lists of edges.
const (
	DuplicatesDefault Duplicates = ""
	DuplicatesError   Duplicates = "error"
	DuplicatesFirst   Duplicates = "first"
	DuplicatesSum     Duplicates = "sum"
	DuplicatesMin     Duplicates = "min"
)

// combine merges duplicates and returns how many entries went; with
// DuplicatesError it returns the first that is there twice instead.
func (m *Matrix) combine(how Duplicates) (gone int64, row, col int, twice bool) {
	var out int64
	var begin int64
	for c := range m.Cols {
		end := m.Ptr[c+1]
		first := out
		for k := begin; k < end; k++ {
			if out == first || m.Idx[out-1] != m.Idx[k] {
				m.Idx[out] = m.Idx[k]
				if m.Val != nil {
					m.Val[out] = m.Val[k]
				}
				out++
				continue
			}
			if how == DuplicatesError {
				return 0, int(m.Idx[k]), c, true
			}
			gone++
			if m.Val == nil {
				continue
			}
			a, b := m.Val[out-1], m.Val[k]
			switch {
			case how == DuplicatesSum && m.Kind == Real:
				m.Val[out-1] = math.Float32bits(math.Float32frombits(a) + math.Float32frombits(b))
			case how == DuplicatesSum:
				m.Val[out-1] = a + b
			case how == DuplicatesMin && m.Kind == Real:
				m.Val[out-1] = math.Float32bits(min(math.Float32frombits(a), math.Float32frombits(b)))
			case how == DuplicatesMin:
				m.Val[out-1] = uint32(min(int32(a), int32(b)))
			}
		}
		begin = end
		m.Ptr[c+1] = out
	}
	m.Idx = m.Idx[:out]
	if m.Val != nil {
		m.Val = m.Val[:out]
	}
	return gone, 0, 0, false
}
