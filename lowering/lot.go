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
// transposed, and where each byte of them is (Infinity Stream, section 5.2). Nothing
// else knows: who wants an element asks here.
//
// All entries have the grid of one lattice space, so that elements of the same
// cell are on the same bitline. Table 1 has no place for the size of that grid; it
// is a register beside the entries here. Tile i is in array i, counted through the
// banks. An array has an entry while it is on bitlines or on the way there, so that
// several can have the same wordlines in turn.
type LOT struct {
	machine *tile.Machine
	bound   []int64
	tile    Shape
	grid    *Grid
	entries []Entry
}

// Entry is an entry of the table, with the fields of Table 1.
type Entry struct {
	Base, End uint64         // physical addresses, [Base, End)
	Size      int            // of an element, in bytes
	Dim       int            // dimensions, 1 to 3
	S, T      [MaxDims]int64 // sizes of the array and of tiles; 1 beyond Dim
	WL        int            // first wordline: bit i of an element is in row WL+i
	Trans     TransState

	// Order has the dimensions in the order of memory, the contiguous one first. Table 1
	// has no field for it: there it is 0, 1, 2.
	Order [MaxDims]uint8
}

// naturalOrder is that of Table 1.
var naturalOrder = [MaxDims]uint8{0, 1, 2}

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
func (r *Entry) fields() []uint64 {
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
func (r *Entry) Encode() (words [5]uint64, err error) {
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

// DecodeEntry reads what Encode returns.
func DecodeEntry(words [5]uint64) Entry {
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
	r := Entry{Order: naturalOrder, Base: v[0], End: v[1], Size: int(v[2]), Dim: int(v[3]), WL: int(v[10]), Trans: TransState(v[11])}
	for i := range MaxDims {
		r.S[i], r.T[i] = int64(v[4+i]), int64(v[7+i])
	}
	return r
}

// Bits returns the width of an element.
func (r *Entry) Bits() int { return 8 * r.Size }

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

// Grid returns the grid of all entries.
func (l *LOT) Grid() *Grid { return l.grid }

// Entries returns the entries.
func (l *LOT) Entries() []Entry { return l.entries }

// Add enters an array of contiguous physical addresses from base on, of the sizes
// given, whose dimension j lies along dimension axes[j] of the lattice, and whose
// elements lie from wordline wl on. It returns the index of the entry. An error wraps
// ErrRegions or ErrWordlines where the machine cannot hold it.
func (l *LOT) Add(base uint64, elemBytes int, size []int64, axes []int, wl int) (int, error) {
	m := l.machine
	if len(l.entries) >= m.LOT.Regions {
		return 0, fmt.Errorf("lowering: %w: more than %d regions", ErrRegions, m.LOT.Regions)
	}
	if _, err := ConstraintsOf(m, elemBytes); err != nil {
		return 0, err
	}
	if len(size) != len(axes) || len(size) > len(l.bound) {
		return 0, fmt.Errorf("lowering: array of %d dimensions along %v, expected at most %d", len(size), axes, len(l.bound))
	}
	if base%uint64(m.L3.LineBytes) != 0 {
		return 0, fmt.Errorf("lowering: array at address %#x, expected a multiple of %d, a cache line", base, m.L3.LineBytes)
	}
	e := Entry{Base: base, Size: elemBytes, Dim: len(l.bound), WL: wl, Order: naturalOrder}
	for d := range MaxDims {
		e.S[d], e.T[d] = 1, 1
		if d < len(l.bound) {
			e.T[d] = l.tile[d]
		}
	}
	bytes := uint64(elemBytes)
	for j, d := range axes {
		if d < 0 || d >= len(l.bound) || slices.Contains(axes[:j], d) {
			return 0, fmt.Errorf("lowering: array along dimensions %v, expected each once, below %d", axes, len(l.bound))
		}
		if size[j] < 1 || size[j] > l.bound[d] {
			return 0, fmt.Errorf("lowering: array of size %d in dimension %d, expected 1 to %d, the bounding box", size[j], d, l.bound[d])
		}
		e.S[d] = size[j]
		bytes *= uint64(size[j])
	}
	if !slices.IsSorted(axes) {
		e.Order = [MaxDims]uint8{}
		for j, d := range axes {
			e.Order[j] = uint8(d)
		}
		rest := len(axes)
		for d := range MaxDims {
			if !slices.Contains(axes, d) {
				e.Order[rest] = uint8(d)
				rest++
			}
		}
	}
	e.End = base + bytes
	if wl < 0 || wl+e.Bits() > m.UsableRows() {
		return 0, fmt.Errorf("lowering: %w: %d bits from wordline %d on, expected them below %d", ErrWordlines, e.Bits(), wl, m.UsableRows())
	}
	l.entries = append(l.entries, e)
	if err := l.Check(); err != nil {
		l.entries = l.entries[:len(l.entries)-1]
		return 0, err
	}
	return len(l.entries) - 1, nil
}

// Remove takes out the entry of an array that is in its normal format again. Entries
// behind it move up.
func (l *LOT) Remove(entry int) error {
	if t := l.entries[entry].Trans; t != Normal {
		return fmt.Errorf("lowering: region %d is %v, expected %v of one that leaves the table", entry, t, Normal)
	}
	l.entries = slices.Delete(l.entries, entry, entry+1)
	return nil
}

// Check reports entries that share addresses or wordlines, that do not fit the table, or
// whose first or last bits are not where their places say; nil if there are none.
func (l *LOT) Check() error {
	for j := range l.entries {
		e := &l.entries[j]
		words, err := e.Encode()
		if err != nil {
			return err
		}
		if back := DecodeEntry(words); e.Order == naturalOrder && back != *e {
			return fmt.Errorf("lowering: region %d is %+v in the table, expected %+v", j, back, *e)
		}
		for i := range l.entries[:j] {
			o := &l.entries[i]
			if e.Base < o.End && o.Base < e.End {
				return fmt.Errorf("lowering: addresses [%#x,%#x) overlap those of region %d, [%#x,%#x)", e.Base, e.End, i, o.Base, o.End)
			}
			if e.WL < o.WL+o.Bits() && o.WL < e.WL+e.Bits() {
				return fmt.Errorf("lowering: wordlines [%d,%d) overlap those of region %d, [%d,%d)", e.WL, e.WL+e.Bits(), i, o.WL, o.WL+o.Bits())
			}
		}
	}
	for i := range l.entries {
		e := &l.entries[i]
		for _, addr := range []uint64{e.Base, e.End - 1} {
			p, _ := l.Locate(addr, 7)
			if back, bit, ok := l.Address(p); !ok || back != addr || bit != 7 {
				return fmt.Errorf("lowering: region %d: bit 7 of address %#x is at %+v, which is bit %d of %#x", i, addr, p, bit, back)
			}
		}
	}
	return nil
}

// SetTrans changes the state of a region. The formats change through
// [Changing] only.
func (l *LOT) SetTrans(region int, s TransState) error {
	r := &l.entries[region]
	if s > Transposed || s != Changing && r.Trans != Changing {
		return fmt.Errorf("lowering: region %d from %v to %v, expected to go through %v", region, r.Trans, s, Changing)
	}
	r.Trans = s
	return nil
}

// Blocked reports whether a request of a core to an address must wait.
func (l *LOT) Blocked(addr uint64) bool {
	i := l.Find(addr)
	return i >= 0 && l.entries[i].Trans == Changing
}

// Find returns the region of a physical address, -1 if there is none.
func (l *LOT) Find(addr uint64) int {
	for i := range l.entries {
		if r := &l.entries[i]; r.Base <= addr && addr < r.End {
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

// Cell returns the tile and the bitline of an element of the array of an entry.
func (l *LOT) Cell(entry int, elem int64) (tile, bitline int) {
	r := &l.entries[entry]
	var point [MaxDims]int64
	for _, d := range r.Order {
		point[d] = elem % r.S[d]
		elem /= r.S[d]
	}
	return l.grid.Locate(point[:r.Dim])
}

// Elements returns which element of the array of an entry each bitline holds.
func (l *LOT) Elements(entry int) *Elements {
	r := &l.entries[entry]
	var step [MaxDims]int64
	next := int64(1)
	for _, d := range r.Order {
		step[d] = next
		next *= r.S[d]
	}
	return NewElements(l.grid, r.S[:], step[:])
}

// Register returns the rows of the elements of the array of an entry.
func (l *LOT) Register(entry int) Register {
	r := &l.entries[entry]
	return Register{Row: r.WL, Bits: r.Bits()}
}

// Locate returns where bit 0 to 7 of the byte at a physical address lies once its
// region is transposed. ok is false if the address is in no region.
func (l *LOT) Locate(addr uint64, bit int) (p Place, ok bool) {
	i := l.Find(addr)
	if i < 0 {
		return p, false
	}
	r := &l.entries[i]
	t, b := l.Cell(i, int64(addr-r.Base)/int64(r.Size))
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
	i := slices.IndexFunc(l.entries, func(r Entry) bool { return r.WL <= p.Wordline && p.Wordline < r.WL+r.Bits() })
	if i < 0 {
		return 0, 0, false
	}
	r := &l.entries[i]
	var point [MaxDims]int64
	t := p.Bank*l.machine.ArraysPerBank() + p.Way*l.machine.L3.ArraysPerWay + p.Array
	if !l.grid.Cell(t, p.Bitline, point[:r.Dim]) {
		return 0, 0, false
	}
	elem := int64(0)
	for _, d := range slices.Backward(r.Order[:]) {
		if point[d] >= r.S[d] {
			return 0, 0, false
		}
		elem = elem*r.S[d] + point[d]
	}
	w := p.Wordline - r.WL
	return r.Base + uint64(elem)*uint64(r.Size) + uint64(w/8), w % 8, true
}
