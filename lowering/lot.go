package lowering

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/tile"
)

// Errors of a [LOT].
var (
	ErrRegions   = errors.New("layout override table is full")
	ErrWordlines = errors.New("not enough wordlines")
)

// TransState says in which format the data of a region is.
type TransState uint8

// The states of a region (Infinity Stream, section 5.2). While the format changes,
// and while commands run, requests of cores are blocked.
const (
	Normal     TransState = iota // in the cache, as other data
	Changing                     // on the way to or from the transposed format
	Transposed                   // on bitlines
)

func (s TransState) String() string {
	if s <= Transposed {
		return [...]string{"normal", "changing", "transposed"}[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// LOT is the layout override table: it says which ranges of physical addresses lie
// transposed, and where each byte of them is (Infinity Stream, section 5.2).
//
// All regions have the grid of one lattice space, so that elements of the same
// cell are on the same bitline. Table 1 has no place for the size of that grid; it
// is a register beside the regions here. Tile i is in array i, counted through the
// banks.
type LOT struct {
	machine *tile.Machine
	bound   []int64
	tile    Shape
	grid    *Grid
	regions []Region
}

// Region is an entry of the table, with the fields of Table 1.
type Region struct {
	Base, End uint64         // physical addresses, [Base, End)
	Size      int            // of an element, in bytes
	Dim       int            // dimensions, 1 to 3
	S, T      [MaxDims]int64 // sizes of the array and of tiles; 1 beyond Dim
	WL        int            // first wordline: bit i of an element is in row WL+i
	Trans     TransState
}

// LOTField is a field of Table 1.
type LOTField struct {
	Name  string
	Bits  int
	Count int
	Doc   string
}

// LOTFields is Table 1, in its order. An entry takes 310 bits.
var LOTFields = [...]LOTField{
	{"base", 48, 1, "base physical address"},
	{"end", 48, 1, "end physical address"},
	{"size", 8, 1, "element size in bytes"},
	{"dim", 2, 1, "dimensions, at most 3"},
	{"S", 32, 3, "array size in each dimension"},
	{"T", 32, 3, "tile size in each dimension"},
	{"wl", 10, 1, "start wordline"},
	{"trans", 2, 1, "transpose state"},
}

// fields lists the values in the order of LOTFields.
func (r *Region) fields() []uint64 {
	f := []uint64{r.Base, r.End, uint64(r.Size), uint64(r.Dim)}
	for _, s := range r.S {
		f = append(f, uint64(s))
	}
	for _, t := range r.T {
		f = append(f, uint64(t))
	}
	return append(f, uint64(r.WL), uint64(r.Trans))
}

// Encode returns the entry as it lies in the table, the first field in the lowest
// bits. An error names a field that does not fit its bits.
func (r *Region) Encode() (words [5]uint64, err error) {
	values, at := r.fields(), 0
	for _, f := range LOTFields {
		for range f.Count {
			v := values[0]
			values = values[1:]
			if v>>f.Bits != 0 {
				return words, fmt.Errorf("lowering: %s of %d does not fit the %d bits of a layout override table", f.Name, v, f.Bits)
			}
			words[at/64] |= v << (at % 64)
			if at%64+f.Bits > 64 {
				words[at/64+1] |= v >> (64 - at%64)
			}
			at += f.Bits
		}
	}
	return words, nil
}

// DecodeRegion reads what Encode returns.
func DecodeRegion(words [5]uint64) Region {
	at := 0
	next := func(bits int) uint64 {
		v := words[at/64] >> (at % 64)
		if at%64+bits > 64 {
			v |= words[at/64+1] << (64 - at%64)
		}
		at += bits
		return v & (1<<bits - 1)
	}
	var v []uint64
	for _, f := range LOTFields {
		for range f.Count {
			v = append(v, next(f.Bits))
		}
	}
	r := Region{Base: v[0], End: v[1], Size: int(v[2]), Dim: int(v[3]), WL: int(v[10]), Trans: TransState(v[11])}
	for i := range MaxDims {
		r.S[i], r.T[i] = int64(v[4+i]), int64(v[7+i])
	}
	return r
}

// Bits returns the width of an element.
func (r *Region) Bits() int { return 8 * r.Size }

// NewLOT returns an empty table of a machine for arrays in a bounding box, in
// tiles of a shape.
func NewLOT(m *tile.Machine, bound []int64, t Shape) (*LOT, error) {
	g, err := NewGrid(bound, t)
	if err != nil {
		return nil, err
	}
	if g.Tiles() > m.Arrays() {
		return nil, fmt.Errorf("lowering: %w: %v elements in tiles of %v take %d arrays, expected at most %d", ErrTooLarge, Shape(bound), t, g.Tiles(), m.Arrays())
	}
	if g.Bitlines() != m.Array.Cols {
		return nil, fmt.Errorf("lowering: %w: tiles of %v have %d elements, expected %d, one for each bitline", ErrNoShape, t, g.Bitlines(), m.Array.Cols)
	}
	return &LOT{machine: m, bound: slices.Clone(bound), tile: slices.Clone(t), grid: g}, nil
}

// Grid returns the grid of all regions.
func (l *LOT) Grid() *Grid { return l.grid }

// Regions returns the entries in the order of Add.
func (l *LOT) Regions() []Region { return l.regions }

// Add enters an array of contiguous physical addresses from base on, whose
// elements lie from wordline wl on, and returns its index. An error wraps
// ErrRegions, ErrWordlines or one of the errors of [Constraints.Check] where the
// array cannot be transposed.
func (l *LOT) Add(base uint64, elemBytes int, size []int64, wl int) (int, error) {
	m := l.machine
	if len(l.regions) >= m.LOT.Regions {
		return 0, fmt.Errorf("lowering: %w: more than %d regions", ErrRegions, m.LOT.Regions)
	}
	c, err := ConstraintsOf(m, elemBytes)
	if err != nil {
		return 0, err
	}
	if err := c.Check(size, l.bound, l.tile); err != nil {
		return 0, err
	}
	if base%uint64(m.L3.LineBytes) != 0 {
		return 0, fmt.Errorf("lowering: array at address %#x, expected a multiple of %d, a cache line", base, m.L3.LineBytes)
	}
	r := Region{Base: base, Size: elemBytes, Dim: len(size), WL: wl}
	bytes := uint64(elemBytes)
	for i := range MaxDims {
		r.S[i], r.T[i] = 1, 1
		if i < len(size) {
			r.S[i], r.T[i] = size[i], l.tile[i]
			bytes *= uint64(size[i])
		}
	}
	r.End = base + bytes
	if wl < 0 || wl+r.Bits() > m.UsableRows() {
		return 0, fmt.Errorf("lowering: %w: %d bits from wordline %d on, expected them below %d", ErrWordlines, r.Bits(), wl, m.UsableRows())
	}
	if _, err := r.Encode(); err != nil {
		return 0, err
	}
	for i, o := range l.regions {
		if base < o.End && o.Base < r.End {
			return 0, fmt.Errorf("lowering: addresses [%#x,%#x) overlap those of region %d, [%#x,%#x)", base, r.End, i, o.Base, o.End)
		}
		if wl < o.WL+o.Bits() && o.WL < wl+r.Bits() {
			return 0, fmt.Errorf("lowering: wordlines [%d,%d) overlap those of region %d, [%d,%d)", wl, wl+r.Bits(), i, o.WL, o.WL+o.Bits())
		}
	}
	l.regions = append(l.regions, r)
	return len(l.regions) - 1, nil
}

// SetTrans changes the state of a region. The formats change through
// [Changing] only.
func (l *LOT) SetTrans(region int, s TransState) error {
	r := &l.regions[region]
	if s > Transposed || s != Changing && r.Trans != Changing {
		return fmt.Errorf("lowering: region %d from %v to %v, expected to go through %v", region, r.Trans, s, Changing)
	}
	r.Trans = s
	return nil
}

// Blocked reports whether a request of a core to an address must wait.
func (l *LOT) Blocked(addr uint64) bool {
	i := l.Find(addr)
	return i >= 0 && l.regions[i].Trans == Changing
}

// Find returns the region of a physical address, -1 if there is none.
func (l *LOT) Find(addr uint64) int {
	for i := range l.regions {
		if r := &l.regions[i]; r.Base <= addr && addr < r.End {
			return i
		}
	}
	return -1
}

// Place is a cell of an array.
type Place struct {
	Bank, Way, Array  int // array of the way
	Bitline, Wordline int
}

// Locate returns where bit 0 to 7 of the byte at a physical address lies once its
// region is transposed. ok is false if the address is in no region.
func (l *LOT) Locate(addr uint64, bit int) (p Place, ok bool) {
	i := l.Find(addr)
	if i < 0 {
		return p, false
	}
	r := &l.regions[i]
	elem := int64(addr-r.Base) / int64(r.Size)
	var point [MaxDims]int64
	for d := range MaxDims {
		point[d] = elem % r.S[d]
		elem /= r.S[d]
	}
	t, b := l.grid.Locate(point[:r.Dim])
	perWay := l.machine.L3.ArraysPerWay
	perBank := l.machine.ArraysPerBank()
	return Place{
		Bank: t / perBank, Way: t % perBank / perWay, Array: t % perWay,
		Bitline: b, Wordline: r.WL + 8*int((addr-r.Base)%uint64(r.Size)) + bit,
	}, true
}

// Address is the reverse of Locate. ok is false if the cell holds no bit of a
// region: another wordline, or a bitline beyond the array.
func (l *LOT) Address(p Place) (addr uint64, bit int, ok bool) {
	i := slices.IndexFunc(l.regions, func(r Region) bool { return r.WL <= p.Wordline && p.Wordline < r.WL+r.Bits() })
	if i < 0 {
		return 0, 0, false
	}
	r := &l.regions[i]
	var point [MaxDims]int64
	t := p.Bank*l.machine.ArraysPerBank() + p.Way*l.machine.L3.ArraysPerWay + p.Array
	if !l.grid.Cell(t, p.Bitline, point[:r.Dim]) {
		return 0, 0, false
	}
	elem := int64(0)
	for d := MaxDims - 1; d >= 0; d-- {
		if point[d] >= r.S[d] {
			return 0, 0, false
		}
		elem = elem*r.S[d] + point[d]
	}
	w := p.Wordline - r.WL
	return r.Base + uint64(elem)*uint64(r.Size) + uint64(w/8), w % 8, true
}
