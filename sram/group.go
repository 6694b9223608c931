package sram

// GroupWords is the number of words of a row of a [Group].
const GroupWords = groupWords

// Group is [GroupCols] bitlines of arrays whose cells outlive a kernel: row r of a
// group is row r of every kernel that runs on it. The rows that a technology
// reserves for constants are there beside the others. A Group refers to its cells,
// copies of it to the same ones; it is not safe for concurrent use.
type Group struct{ rows [][groupWords]uint64 }

// NewGroups returns n groups of arrays with a number of rows that hold words, all
// zero. They lie adjacent in memory: 256 bytes for each row and four more.
func NewGroups(n, rows int) []Group {
	size := slotRows + rows
	cells := make([][groupWords]uint64, n*size)
	groups := make([]Group, n)
	for i := range groups {
		g := Group{cells[i*size : (i+1)*size : (i+1)*size]}
		for k := range g.rows[slotOnes] {
			g.rows[slotOnes][k] = ^uint64(0)
		}
		groups[i] = g
	}
	return groups
}

// Rows returns the number of rows.
func (g Group) Rows() int { return len(g.rows) - slotRows }

// Row returns a row, whose bit b of word k is bitline 64k+b.
func (g Group) Row(r int) *[GroupWords]uint64 { return &g.rows[slotRows+r] }

// Rows returns the number of rows that a group must have for the code.
func (c *KernelCode) Rows() int { return c.slots - slotRows }

// RunGroup executes the kernel on the cells of a group, which must have the rows
// that the code needs. It allocates nothing.
func (c *KernelCode) RunGroup(g Group) { c.kernel.Tech.exec(c.ops, g.rows) }
