package lowering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tile"
)

// Errors that say why an array cannot be transposed; computing in memory is
// disabled then, and cores or streams do the work (Infinity Stream, section 4.1).
var (
	ErrMisaligned = errors.New("innermost dimension does not align with cache lines")
	ErrNoShape    = errors.New("no valid tile size")
	ErrTooLarge   = errors.New("array too large for the arrays that compute")
)

// Constraints are what tiles must comply with (Infinity Stream, section 4.1), in
// the letters of the paper.
type Constraints struct {
	B int64 // bitlines of an array
	W int64 // arrays of a bank that compute
	L int64 // elements of a cache line
	N int64 // arrays that compute in all banks

	Remote int64 // what a bit costs that goes to another bank, beside one that stays; less than 1 is 1
}

// ConstraintsOf returns the constraints of a machine for elements of a size. An
// error says that a cache line does not hold a whole number of elements.
func ConstraintsOf(m *tile.Machine, elemBytes int) (Constraints, error) {
	if elemBytes < 1 || m.L3.LineBytes%elemBytes != 0 {
		return Constraints{}, fmt.Errorf("lowering: elements of %d bytes, expected a divisor of a cache line of %d", elemBytes, m.L3.LineBytes)
	}
	return Constraints{
		B: int64(m.Array.Cols), W: int64(m.ArraysPerBank()), L: int64(m.L3.LineBytes / elemBytes), N: int64(m.Arrays()), Remote: int64(tile.NewTiming(m).RemoteCost()),
	}, nil
}

// Check reports why an array of a size in a bounding box cannot have tiles of a
// shape, or nil. The error wraps one of those above.
//
// Constraint (2) of the paper alone keeps lines in one bank where every row of
// tiles begins at a line, that is, if the tiles of a row take a multiple of L
// elements. It follows for powers of two, and is checked for others.
func (c Constraints) Check(size, bound []int64, t Shape) error {
	g, err := NewGrid(bound, t)
	if err != nil {
		return err
	}
	row := g.dim[0].tiles * t[0]
	switch {
	case len(size) != len(bound):
		return fmt.Errorf("lowering: array of %d dimensions, expected %d", len(size), len(bound))
	case size[0]%c.L != 0:
		return fmt.Errorf("lowering: %w: %d elements, expected a multiple of %d", ErrMisaligned, size[0], c.L)
	case t.Bitlines() != c.B:
		return fmt.Errorf("lowering: %w: tiles of %v have %d elements, expected %d, one for each bitline", ErrNoShape, t, t.Bitlines(), c.B)
	case t[0]*c.W%c.L != 0 || row%c.L != 0 && g.Tiles() > int(g.dim[0].tiles):
		return fmt.Errorf("lowering: %w: with tiles of %v, cache lines of %d elements would be split between banks of %d arrays", ErrNoShape, t, c.L, c.W)
	case int64(g.Tiles()) > c.N:
		return fmt.Errorf("lowering: %w: %v elements in tiles of %v take %d arrays, expected at most %d", ErrTooLarge, Shape(bound), t, g.Tiles(), c.N)
	}
	for i := range size {
		if size[i] < 1 || size[i] > bound[i] {
			return fmt.Errorf("lowering: array of size %d in dimension %d, expected 1 to %d, the bounding box", size[i], i, bound[i])
		}
	}
	return nil
}

// Shapes returns all valid shapes of tiles for an array that is its own bounding
// box, dimension 0 from small to large, then dimension 1. If there are none, the
// error wraps the reason.
func Shapes(size []int64, c Constraints) ([]Shape, error) {
	if len(size) < 1 || len(size) > MaxDims {
		return nil, fmt.Errorf("lowering: %d dimensions, expected 1 to %d", len(size), MaxDims)
	}
	var shapes []Shape
	var last error
	var try func(t Shape, rest int64)
	try = func(t Shape, rest int64) {
		if len(t) == len(size)-1 {
			t = append(slices.Clone(t), rest)
			if err := c.Check(size, size, t); err != nil {
				// The reason that is given is the one of the shape that came nearest.
				if last == nil || errors.Is(err, ErrTooLarge) {
					last = err
				}
				return
			}
			shapes = append(shapes, t)
			return
		}
		for d := int64(1); d <= rest; d++ {
			if rest%d == 0 {
				try(append(t, d), rest/d)
			}
		}
	}
	try(nil, c.B)
	if len(shapes) == 0 {
		return nil, last
	}
	return shapes, nil
}

// DimSet is a set of dimensions.
type DimSet uint8

// Dims returns the set of these dimensions.
func Dims(dims ...int) DimSet {
	var s DimSet
	for _, d := range dims {
		s |= 1 << d
	}
	return s
}

// Has reports whether a dimension is in the set.
func (s DimSet) Has(d int) bool { return s>>d&1 == 1 }

// Hints are the layout hints of a configuration (Infinity Stream, section 3.4):
// along which dimensions tensors are moved.
type Hints struct {
	Reduce    DimSet // dimensions that reductions run along
	Shift     DimSet // dimensions that tensors are moved along
	Broadcast DimSet // dimensions that tensors are broadcast along

	// Round has the cycles of a round of a reduction within tiles, see RoundCycles. 0
	// has reductions take as many rounds as there can be.
	Round int64

	Finals bool // the last steps of reductions are rounds in arrays, one for each further tile

	// Lanes and Words are what SIMD units beside a bank combine, and its H-tree carries to them,
	// in a cycle of last steps, where each bank reduces what it has. 0: banks do one operation a
	// cycle, and what they combine costs nothing to read.
	Lanes, Words int64

	// Extent is how many elements reductions along a dimension take at most, 0: all that there are.
	Extent [MaxDims]int64
}

// RoundCycles returns the cycles of a round of a reduction: a shift of the words, and
// the program that combines them.
func RoundCycles(ctx context.Context, programs *arith.Store, tech string, op scalar.Op, t scalar.Type) (int64, error) {
	p, err := programs.Build(ctx, arith.Spec{Op: name(t, op.String()), Tech: tech})
	if err != nil {
		return 0, err
	}
	return int64(p.Latency() + t.Bits()), nil
}

// Choose picks the tile shape of the primary array by the heuristics of section
// 4.1, reductions first:
//
//   - a reduction favours the tiles with the fewest cycles of rounds within tiles
//     and of operations near the memory after them, by what the banks that have tiles do
//     in a cycle: another round halves these. In the paper more rounds are always better,
//     and they are here too where the cycles of a round are not given; tiles longer than
//     the array are no better then.
//   - shifts and broadcasts favour what makes the busiest bank send the fewest bits.
//     A shift sends the elements at the boundaries of tiles in its dimension, so that
//     tiles close to square are best; a broadcast sends its source, which should lie
//     in many banks. The paper puts shifts first; but where the source of a broadcast
//     is a whole plane (conv3d), that costs more than any shift.
//
// Of shapes that are alike in this, those with boundaries in the fewest dimensions of
// shifts are better, since each takes commands of its own; then the fewest tiles, the
// shape nearest to a cube, and the longest dimension 0.
func Choose(size []int64, c Constraints, h Hints) (Shape, error) {
	shapes, err := Shapes(size, c)
	if err != nil {
		return nil, err
	}
	return slices.MinFunc(shapes, func(a, b Shape) int {
		x, y := h.score(size, a, c), h.score(size, b, c)
		return slices.Compare(x[:], y[:])
	}), nil
}

// score of a shape; the less in order, the better.
func (h Hints) score(size []int64, t Shape, c Constraints) (s [6]int64) {
	g, err := NewGrid(size, t)
	if err != nil {
		panic(err) // the shape is valid
	}
	s[0] = -1
	if h.Round > 0 {
		s[0] = 0
	}
	for d := range t {
		switch {
		case !h.Reduce.Has(d):
		case h.Round > 0:
			results := int64(1)
			for e := range t {
				if e != d {
					results *= size[e]
				}
			}
			banks := max(1, c.N/c.W)
			s[0] += h.Round * int64(bits.Len64(uint64(t[d]))-1)
			more := g.dim[d].tiles - 1 // tiles beside the first one
			if n := h.Extent[d]; n > 0 {
				more = (n+t[d]-1)/t[d] - 1
			}
			last := more * results
			switch {
			case h.Finals:
				s[0] += h.Round * more
			case h.Lanes > 0:
				banks = min(banks, (int64(g.Tiles())+c.W-1)/c.W)
				s[0] += last/(banks*h.Lanes) + last/(banks*h.Words)
			default:
				s[0] += last / banks
			}
		default:
			s[0] *= min(t[d], size[d])
		}
		if g.dim[d].tiles == 1 {
			continue
		}
		if h.Shift.Has(d) {
			s[1] += min(c.W, int64(g.Tiles())) * (c.B / t[d])
			s[2]++
		}
		if h.Broadcast.Has(d) {
			s[1] += g.broadcastCost(d, c)
		}
	}
	s[3] = int64(g.Tiles())
	s[4] = slices.MaxFunc(t, cmp.Compare[int64])
	s[5] = -t[0]
	return s
}

// broadcastCost is the number of bitlines that the busiest bank sends in a broadcast
// along a dimension, of a source that fills the others.
func (g *Grid) broadcastCost(d int, c Constraints) int64 {
	var source Part
	for i := range MaxDims {
		source.dim[i] = g.dim[i].whole(span{hi: fixed(g.dim[i].tiles)})
	}
	source.dim[d].tiles.hi = fixed(1)
	bank, tiles, busiest := int64(-1), int64(0), int64(0)
	pattern := g.tiles(newCourse(), &source)
	for t := range pattern.pattern().All() {
		if b := int64(t) / c.W; b != bank {
			bank, tiles = b, 0
		}
		tiles++
		busiest = max(busiest, tiles)
	}
	lines := busiest * c.B / g.dim[d].tile
	if reach := g.dim[d].tileStride * g.dim[d].tiles; c.W%reach != 0 {
		lines *= max(c.Remote, 1) // the tiles along the dimension lie in several banks
	}
	return lines
}
