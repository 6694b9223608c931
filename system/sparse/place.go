package sparse

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// ErrInfeasible is wrapped by errors of what does not fit the stack.
var ErrInfeasible = errors.New("sparse: does not fit")

// infeasible is an error whose message needs no more words.
type infeasible string

func (e infeasible) Error() string { return string(e) }
func (e infeasible) Unwrap() error { return ErrInfeasible }

// Placement says where each row, column and nonzero of a matrix lies. New numbers
// are those after reordering: the long ones first, then those of SPU 0, 1, ...
type Placement struct {
	Matrix *matrix.Matrix

	Long     int      // long columns; new numbers 0 .. Long-1
	LongRows int      // long rows, equal to Long for a square matrix
	RowTo    []uint32 // new number of a row
	ColTo    []uint32 // new number of a column; RowTo for a square matrix
	RowFrom  []uint32 // the row of a new number
	ColFrom  []uint32

	RowFirst []uint32 // of SPU s: new rows RowFirst[s] .. RowFirst[s+1]-1
	ColFirst []uint32

	// The nonzeros of SPU s are at Base[s] .. Base[s+1]-1: first those of its parts of
	// long columns, then its short columns. Offs has, from OffBase[s] on, where each
	// begins, relative to Base[s]: Long parts, the columns, and the end.
	Base    []int64
	OffBase []int64
	Offs    []uint32
	Idx     []uint32 // new rows
	Val     []uint32 // bits; nil for a pattern

	// RowLoad has the nonzeros in the rows of each SPU, which are what an SPU of v0 has;
	// nil for all other variants.
	RowLoad []int64

	owner lookup // of rows

	Layout Layout // rows of the largest SPU
}

// lookup finds the SPU that owns a number.
type lookup struct {
	shift uint
	base  uint32
	table []uint16
	first []uint32
}

func newLookup(first []uint32) lookup {
	l := lookup{base: first[0], first: first}
	span := first[len(first)-1] - first[0]
	for span>>l.shift > uint32(4*len(first)) {
		l.shift++
	}
	s := 0
	for k := uint32(0); k <= span>>l.shift; k++ {
		for s+1 < len(first)-1 && first[s+1] <= l.base+k<<l.shift {
			s++
		}
		l.table = append(l.table, uint16(s))
	}
	return l
}

// of returns the owner of number i, which is not long.
func (l *lookup) of(i uint32) int {
	s := int(l.table[(i-l.base)>>l.shift])
	for i >= l.first[s+1] {
		s++
	}
	return s
}

// PlaceOptions are the choices of a placement.
type PlaceOptions struct {
	Long    int    // long columns and rows; -1: by the machine's percentage
	Deal    string // same-bank, same-subarray or scatter
	Balance string // count or nnz
	Seed    uint64
	Rows    bool // SPUs have rows: v0
}

// LongCount returns the number of long ones of n.
func (m *Machine) LongCount(n int) int {
	return min(n, int(math.Ceil(float64(n)*m.LongPercent/100-1e-9)))
}

// Place distributes a matrix over the stack: section 2.2 of the specification.
func Place(m *matrix.Matrix, mach *Machine, o PlaceOptions) (*Placement, error) {
	if int64(mach.SPUs()) > math.MaxUint16 {
		return nil, fmt.Errorf("stack of %d SPUs, expected at most %d", mach.SPUs(), math.MaxUint16)
	}
	p := &Placement{Matrix: m}
	square := m.Rows == m.Cols
	rowLen := m.RowLengths()
	colLen := func(c int) uint32 { return uint32(m.Ptr[c+1] - m.Ptr[c]) }
	long := func(n int) int {
		if o.Long >= 0 {
			return min(o.Long, n)
		}
		return mach.LongCount(n)
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x706c616365))
	if square {
		p.Long = long(m.Cols)
		p.LongRows = p.Long
		weight := func(i int) uint32 { return max(rowLen[i], colLen(i)) }
		p.ColTo, p.ColFrom, p.ColFirst = deal(m.Cols, p.Long, mach, o, rng, weight, colLen)
		p.RowTo, p.RowFrom, p.RowFirst = p.ColTo, p.ColFrom, p.ColFirst
	} else {
		p.Long, p.LongRows = long(m.Cols), long(m.Rows)
		p.ColTo, p.ColFrom, p.ColFirst = deal(m.Cols, p.Long, mach, o, rng, colLen, colLen)
		row := func(i int) uint32 { return rowLen[i] }
		p.RowTo, p.RowFrom, p.RowFirst = deal(m.Rows, p.LongRows, mach, o, rng, row, row)
	}
	p.owner = newLookup(p.RowFirst)
	if err := p.fill(mach, o.Seed); err != nil {
		return nil, err
	}
	if o.Rows {
		p.RowLoad = make([]int64, mach.SPUs())
		for _, old := range m.Idx {
			p.RowLoad[p.owner.of(p.RowTo[old])]++
		}
	}
	p.Layout = layout(p, mach)
	return p, p.Layout.check(mach)
}

// deal numbers n rows or columns: the long ones, then those of each SPU.
func deal(n, long int, mach *Machine, o PlaceOptions, rng *rand.Rand, weight, load func(int) uint32) (to, from, first []uint32) {
	from = make([]uint32, 0, n)
	isLong := make([]bool, n)
	if long > 0 {
		byWeight := make([]uint64, n) // rising: the heaviest first, then by number
		for i := range byWeight {
			byWeight[i] = uint64(math.MaxUint32-weight(i))<<32 | uint64(i)
		}
		slices.Sort(byWeight)
		for _, w := range byWeight[:long] {
			isLong[uint32(w)] = true
			from = append(from, uint32(w))
		}
	}
	for i := range n {
		if !isLong[i] {
			from = append(from, uint32(i))
		}
	}
	short := from[long:]
	if o.Deal == "scatter" {
		rng.Shuffle(len(short), func(i, j int) { short[i], short[j] = short[j], short[i] })
	}
	banks, pairs := mach.Banks(), mach.ComputePairs()
	cuts := cut(short, banks, o.Balance, load)
	first = make([]uint32, 1, banks*pairs+1)
	first[0] = uint32(long)
	for b := range banks {
		part := short[cuts[b]:cuts[b+1]]
		if o.Deal == "same-bank" {
			rng.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
		for q := range pairs {
			first = append(first, uint32(long+cuts[b]+len(part)*(q+1)/pairs))
		}
	}
	to = make([]uint32, n)
	for i, v := range from {
		to[v] = uint32(i)
	}
	return to, from, first
}

// cut cuts a list into parts of equal length, or of equal load.
func cut(list []uint32, parts int, balance string, load func(int) uint32) []int {
	cuts := make([]int, parts+1)
	for b := range cuts {
		cuts[b] = len(list) * b / parts
	}
	if balance != "nnz" {
		return cuts
	}
	var total, sum int64
	for _, v := range list {
		total += int64(load(int(v))) + 1
	}
	b := 1
	for i, v := range list {
		for b < parts && sum >= total*int64(b)/int64(parts) {
			cuts[b] = i
			b++
		}
		sum += int64(load(int(v))) + 1
	}
	for ; b < parts; b++ {
		cuts[b] = len(list)
	}
	return cuts
}

// fill gives each nonzero to an SPU.
func (p *Placement) fill(mach *Machine, seed uint64) error {
	m := p.Matrix
	spus := mach.SPUs()
	p.OffBase = make([]int64, spus+1)
	for s := range spus {
		p.OffBase[s+1] = p.OffBase[s] + int64(p.Long) + int64(p.ColFirst[s+1]-p.ColFirst[s]) + 1
	}
	p.Offs = make([]uint32, p.OffBase[spus])
	// Nonzeros that are long both ways go round all SPUs from a drawn one on.
	start := rand.New(rand.NewPCG(seed, 0x726f756e64)).IntN(spus)
	each := func(visit func(s, part int, k int64)) {
		turn := start
		for part := range p.Long {
			c := p.ColFrom[part]
			for k := m.Ptr[c]; k < m.Ptr[c+1]; k++ {
				r := p.RowTo[m.Idx[k]]
				s := turn
				if int(r) >= p.LongRows {
					s = p.owner.of(r)
				} else if turn++; turn == spus {
					turn = 0
				}
				visit(s, part, k)
			}
		}
	}
	each(func(s, part int, _ int64) { p.Offs[p.OffBase[s]+int64(part)+1]++ })
	p.Base = make([]int64, spus+1)
	for s := range spus {
		offs := p.Offs[p.OffBase[s]:p.OffBase[s+1]]
		sum := uint64(0)
		for i := range p.Long {
			sum += uint64(offs[i+1])
			offs[i+1] = uint32(sum)
		}
		at := p.Long
		for c := p.ColFirst[s]; c < p.ColFirst[s+1]; c++ {
			old := p.ColFrom[c]
			sum += uint64(m.Ptr[old+1] - m.Ptr[old])
			at++
			offs[at] = uint32(sum)
		}
		if sum > math.MaxUint32/2 {
			return infeasible(fmt.Sprintf("SPU %d gets %d nonzeros, whose offsets do not fit words of 32 bits", s, sum))
		}
		p.Base[s+1] = p.Base[s] + int64(sum)
	}
	p.Idx = make([]uint32, m.NNZ())
	if m.Val != nil {
		p.Val = make([]uint32, m.NNZ())
	}
	if p.Long > 0 {
		next := make([]uint32, int64(spus)*int64(p.Long))
		for s := range spus {
			copy(next[s*p.Long:(s+1)*p.Long], p.Offs[p.OffBase[s]:])
		}
		each(func(s, part int, k int64) {
			at := p.Base[s] + int64(next[s*p.Long+part])
			next[s*p.Long+part]++
			p.Idx[at] = p.RowTo[m.Idx[k]]
			if p.Val != nil {
				p.Val[at] = m.Val[k]
			}
		})
	}
	for s := range spus {
		at := p.Base[s] + int64(p.Offs[p.OffBase[s]+int64(p.Long)])
		for c := p.ColFirst[s]; c < p.ColFirst[s+1]; c++ {
			old := p.ColFrom[c]
			for k := m.Ptr[old]; k < m.Ptr[old+1]; k++ {
				p.Idx[at] = p.RowTo[m.Idx[k]]
				if p.Val != nil {
					p.Val[at] = m.Val[k]
				}
				at++
			}
		}
	}
	return nil
}

// part returns the nonzeros of entry i of SPU s: the i-th long part, or, from Long
// on, its columns.
func (p *Placement) part(s int, i int) (from, to int64) {
	offs := p.Offs[p.OffBase[s]+int64(i):]
	return p.Base[s] + int64(offs[0]), p.Base[s] + int64(offs[1])
}

// slot is the place of column c among the offsets of SPU s.
func (p *Placement) slot(s int, c uint32) int {
	if int(c) < p.Long {
		return int(c)
	}
	return p.Long + int(c-p.ColFirst[s])
}

// Layout is how many rows the arrays of the SPU with the most take, and which row
// each begins at.
type Layout struct {
	SPU      int   `json:"spu"` // the one that needs the most rows
	Needed   int   `json:"rows_needed"`
	Received int   `json:"rows_received"` // left for received pairs
	Pairs    int   `json:"rows_pairs"`
	Most     int64 `json:"nonzeros_most"`
	rows     int
}

// minReceived is the least rows for received pairs: one that is filled while the
// other waits.
const minReceived = 2

func layout(p *Placement, mach *Machine) Layout {
	l := Layout{Needed: -1, rows: mach.RowsPerSPU()}
	for s := range len(p.Base) - 1 {
		a := arrays(p, mach, s)
		if need := a.end(); need > l.Needed {
			l.SPU, l.Needed, l.Pairs = s, need, a.rowsOf(arrPairs)
		}
		most := p.Base[s+1] - p.Base[s]
		if p.RowLoad != nil {
			most = p.RowLoad[s]
		}
		l.Most = max(l.Most, most)
	}
	l.Received = l.rows - l.Needed
	return l
}

func (l *Layout) check(mach *Machine) error {
	switch {
	case l.Needed > l.rows:
		return infeasible(fmt.Sprintf("SPU %d needs %d of %d rows, %d of %d bytes", l.SPU, l.Needed, l.rows,
			int64(l.Needed)*int64(mach.Organisation.RowBytes), int64(l.rows)*int64(mach.Organisation.RowBytes)))
	case l.Received < minReceived:
		return infeasible(fmt.Sprintf("received pairs need %d rows, %d is left", minReceived, l.Received))
	}
	return nil
}

// The arrays of an SPU, in the order in which they lie in its subarrays.
const (
	arrPairs = iota
	arrOffsets
	arrLongOffsets
	arrOutput
	arrReplica
	arrY
	arrNew
	arrScale
	arrFrontier
	arrPack
	arrClean
	arrTemp
	arrReceived
	numArrays
)

// arrayMap says at which row each array of an SPU begins; an array ends where the
// next one begins.
type arrayMap [numArrays + 1]int

func (a *arrayMap) rowsOf(i int) int { return a[i+1] - a[i] }

// end is the row after the arrays but for received pairs, which get the rest.
func (a *arrayMap) end() int { return a[arrReceived] }

// arrays lays out the arrays of an SPU.
func arrays(p *Placement, mach *Machine, s int) arrayMap {
	words := mach.Words()
	cols := int(p.ColFirst[s+1] - p.ColFirst[s])
	rows := int(p.RowFirst[s+1] - p.RowFirst[s])
	need := [numArrays]int{
		arrPairs:       2 * int(p.Base[s+1]-p.Base[s]),
		arrOffsets:     cols + 1,
		arrLongOffsets: p.Long + 1,
		arrOutput:      rows,
		arrReplica:     p.LongRows,
		arrY:           rows,
		arrNew:         rows,
		arrScale:       rows,
		arrFrontier:    2 * (max(cols, rows) + p.Long),
		arrPack:        3 * (cols + p.Long),
		arrClean:       2 * rows,
		arrTemp:        2 * rows,
	}
	if p.RowLoad != nil { // a row ends in an index of its own; the chunk comes where others receive
		need = [numArrays]int{arrPairs: 2*int(p.RowLoad[s]) + rows, arrOutput: rows, arrY: rows, arrNew: rows, arrScale: rows, arrFrontier: 2 * rows, arrTemp: 2 * rows}
	}
	var a arrayMap
	for i, w := range need {
		a[i+1] = a[i] + (w+words-1)/words
	}
	a[numArrays] = max(a[arrReceived], mach.RowsPerSPU())
	return a
}
