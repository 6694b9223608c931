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

	// First is the element at coordinates 0, and Step how many elements further in memory the
	// next one is in each dimension, both from Base. Table 1 has no fields for them: there
	// the first is 0, and an array is contiguous, dimension 0 first.
	First int64
	Step  [MaxDims]int64
	View  bool // of an array, of whose elements others may have some too
}

// contiguous returns the steps of Table 1.
func (r *Entry) contiguous() (step [MaxDims]int64) {
	n := int64(1)
	for d := range step {
		step[d] = n
		n *= r.S[d]
	}
	return step
}

// plain reports whether an entry has what Table 1 has.
func (r *Entry) plain() bool { return !r.View && r.Step == r.contiguous() }

// whole reports whether an entry has all elements between its addresses.
func (r *Entry) whole() bool {
	n := int64(1)
	for _, s := range r.S {
		n *= s
	}
	return n*int64(r.Size) == int64(r.End-r.Base)
}

// element returns the element of a point, from Base.
func (r *Entry) element(point []int64) int64 {
	at := r.First
	for d, x := range point {
		at += x * r.Step[d]
	}
	return at
}

// point finds the first point of an element, from Base. It goes through the coordinates
// that the elements left can have, which is one in each dimension but for views that have
// elements several times.
func (r *Entry) point(elem int64, point *[MaxDims]int64) bool {
	order := [MaxDims]int{2, 1, 0} // the greatest step first
	for i := range order {
		for j := i; j > 0 && magnitude(r.Step[order[j]]) > magnitude(r.Step[order[j-1]]); j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return r.find(order[:], elem-r.First, point)
}

func (r *Entry) find(order []int, left int64, point *[MaxDims]int64) bool {
	if len(order) == 0 {
		return left == 0
	}
	var low, high int64 // of the dimensions behind
	for _, d := range order[1:] {
		far := r.Step[d] * (r.S[d] - 1)
		low, high = low+min(0, far), high+max(0, far)
	}
	d := order[0]
	from, to := int64(0), r.S[d]-1
	if s := r.Step[d]; s > 0 {
		from, to = max(from, -floorDiv(high-left, s)), min(to, floorDiv(left-low, s))
	} else if s < 0 {
		from, to = max(from, -floorDiv(left-low, -s)), min(to, floorDiv(high-left, -s))
	}
	for x := from; x <= to; x++ {
		point[d] = x
		if r.find(order[1:], left-x*r.Step[d], point) {
			return true
		}
	}
	return false
}

// floorDiv returns a/b towards minus infinity, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func magnitude(x int64) int64 { return max(x, -x) }

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
	r := Entry{Base: v[0], End: v[1], Size: int(v[2]), Dim: int(v[3]), WL: int(v[10]), Trans: TransState(v[11])}
	for i := range MaxDims {
		r.S[i], r.T[i] = int64(v[4+i]), int64(v[7+i])
	}
	r.Step = r.contiguous()
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

// Lie says where an array lies in memory and in the lattice.
type Lie struct {
	Base  uint64 // address of the first element in memory
	Bytes int    // of an element
	Size  []int64
	Axes  []int // dimensions of the lattice, in the order of Size

	// First is the element at coordinates 0, counted from Base, and Step the elements from a
	// coordinate to the next one. Without Step the array is contiguous from Base on.
	First int64
	Step  []int64
	View  bool // see [Entry]
}

// Add enters an array whose elements lie from wordline wl on. It returns the index of the
// entry. An error wraps ErrRegions or ErrWordlines where the machine cannot hold it.
func (l *LOT) Add(a Lie, wl int) (int, error) {
	m := l.machine
	if len(l.entries) >= m.LOT.Regions {
		return 0, fmt.Errorf("lowering: %w: more than %d regions", ErrRegions, m.LOT.Regions)
	}
	if _, err := ConstraintsOf(m, a.Bytes); err != nil {
		return 0, err
	}
	if len(a.Size) != len(a.Axes) || len(a.Size) > len(l.bound) || a.Step != nil && len(a.Step) != len(a.Size) {
		return 0, fmt.Errorf("lowering: array of %d dimensions along %v, expected at most %d", len(a.Size), a.Axes, len(l.bound))
	}
	if a.Base%uint64(m.L3.LineBytes) != 0 {
		return 0, fmt.Errorf("lowering: array at address %#x, expected a multiple of %d, a cache line", a.Base, m.L3.LineBytes)
	}
	e := Entry{Size: a.Bytes, Dim: len(l.bound), WL: wl, View: a.View}
	for d := range MaxDims {
		e.S[d], e.T[d] = 1, 1
		if d < len(l.bound) {
			e.T[d] = l.tile[d]
		}
	}
	low, high, next := a.First, a.First, int64(1)
	for j, d := range a.Axes {
		if d < 0 || d >= len(l.bound) || slices.Contains(a.Axes[:j], d) {
			return 0, fmt.Errorf("lowering: array along dimensions %v, expected each once, below %d", a.Axes, len(l.bound))
		}
		if a.Size[j] < 1 || a.Size[j] > l.bound[d] {
			return 0, fmt.Errorf("lowering: array of size %d in dimension %d, expected 1 to %d, the bounding box", a.Size[j], d, l.bound[d])
		}
		e.S[d] = a.Size[j]
		if e.Step[d] = next; a.Step != nil {
			e.Step[d] = a.Step[j]
		}
		next *= a.Size[j]
		far := e.Step[d] * (a.Size[j] - 1)
		low, high = low+min(0, far), high+max(0, far)
	}
	for d, natural := range e.contiguous() {
		if !slices.Contains(a.Axes, d) { // one coordinate
			e.Step[d] = natural
		}
	}
	if low < 0 {
		return 0, fmt.Errorf("lowering: array with element %d at %v, expected at least 0", low, a.Axes)
	}
	e.Base, e.End, e.First = a.Base+uint64(low)*uint64(a.Bytes), a.Base+uint64(high+1)*uint64(a.Bytes), a.First-low
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

// Check reports entries that share wordlines, or addresses if none is a view, that
// do not fit the table, or whose first or last bits are not where their places say; nil if
// there are none. Views of one array may share elements: who enters them keeps them alike.
func (l *LOT) Check() error {
	for j := range l.entries {
		e := &l.entries[j]
		words, err := e.Encode()
		if err != nil {
			return err
		}
		if back := DecodeEntry(words); e.plain() && back != *e {
			return fmt.Errorf("lowering: region %d is %+v in the table, expected %+v", j, back, *e)
		}
		for i := range l.entries[:j] {
			o := &l.entries[i]
			if !e.View && !o.View && e.Base < o.End && o.Base < e.End {
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
			p, _ := l.locate(i, addr, 7)
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
	return slices.ContainsFunc(l.entries, func(r Entry) bool { return r.Trans == Changing && r.has(addr) })
}

// has reports whether the byte at an address is of an element of an entry.
func (r *Entry) has(addr uint64) bool {
	var point [MaxDims]int64
	return r.Base <= addr && addr < r.End && (r.whole() || r.point(int64(addr-r.Base)/int64(r.Size), &point))
}

// Find returns the region of a physical address, the first one of several views, and -1
// if there is none.
func (l *LOT) Find(addr uint64) int {
	return slices.IndexFunc(l.entries, func(r Entry) bool { return r.has(addr) })
}

// Place is a cell of an array.
type Place struct {
	Bank, Way, Array  int // array of the way
	Bitline, Wordline int
}

// Cell returns the tile and the bitline of an element of the array of an entry, counted
// from its lowest address; it must have it.
func (l *LOT) Cell(entry int, elem int64) (tile, bitline int) {
	r := &l.entries[entry]
	var point [MaxDims]int64
	r.point(elem, &point)
	return l.grid.Locate(point[:r.Dim])
}

// Has is Cell for an element that the array may not have.
func (l *LOT) Has(entry int, elem int64) (tile, bitline int, ok bool) {
	r := &l.entries[entry]
	var point [MaxDims]int64
	if !r.point(elem, &point) {
		return 0, 0, false
	}
	tile, bitline = l.grid.Locate(point[:r.Dim])
	return tile, bitline, true
}

// Elements returns which element each bitline holds of the array of an entry, counted from
// its lowest address.
func (l *LOT) Elements(entry int) *Elements {
	r := &l.entries[entry]
	return NewElements(l.grid, r.First, r.S[:], r.Step[:])
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
	return l.locate(i, addr, bit)
}

func (l *LOT) locate(i int, addr uint64, bit int) (p Place, ok bool) {
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
	for d, x := range point {
		if x >= r.S[d] {
			return 0, 0, false
		}
	}
	elem := r.element(point[:])
	w := p.Wordline - r.WL
	return r.Base + uint64(elem)*uint64(r.Size) + uint64(w/8), w % 8, true
}
