package sram

// pageRows is the number of rows that one page of a RowTable covers.
const pageRows = 256

// RowTable holds a number for every row of every array; 0 stands for nothing.
// Memory is taken for the rows that are set, in pages of 256 rows, so that a
// large geometry of which little is used costs little: 4 bytes for 256 rows
// untouched, 4 bytes a row touched.
type RowTable struct {
	perArray int
	index    []int32 // page of each run of 256 rows of an array, plus 1; 0 = none
	pages    [][pageRows]uint32
}

// NewRowTable returns an empty table for the rows of a valid geometry.
func NewRowTable(g Geometry) *RowTable {
	per := (g.Rows + pageRows - 1) / pageRows
	return &RowTable{perArray: per, index: make([]int32, per*g.Arrays)}
}

// Get returns the number of a row, 0 if it was never set.
func (t *RowTable) Get(array, row int) uint32 {
	i := t.index[array*t.perArray+row/pageRows]
	if i == 0 {
		return 0
	}
	return t.pages[i-1][row%pageRows]
}

// Set sets the number of a row.
func (t *RowTable) Set(array, row int, v uint32) {
	i := &t.index[array*t.perArray+row/pageRows]
	if *i == 0 {
		t.pages = append(t.pages, [pageRows]uint32{})
		*i = int32(len(t.pages))
	}
	t.pages[*i-1][row%pageRows] = v
}
