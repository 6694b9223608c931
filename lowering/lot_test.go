package lowering_test

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
)

// small is a machine of 4 banks of 2x4 arrays with 64 bitlines.
func small() *tile.Machine {
	m := tile.Default()
	m.Name = "small"
	m.Mesh.Cols, m.Mesh.Rows = 2, 2
	m.NoC.MemoryControllers = 1
	m.L3.Ways, m.L3.ComputeWays, m.L3.ArraysPerWay = 3, 2, 4
	m.Array.Cols = 64
	return m
}

// TestLOT maps every bit of random arrays there and back: no two bits share a
// cell, each cell that is used comes back to its address, others to none, a cache
// line stays in one bank, and elements of the same lattice cell share a bitline.
func TestLOT(t *testing.T) {
	m := small()
	require.NoError(t, m.Check())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "dims")
		type array struct {
			bytes int
			size  []int64
		}
		var arrays []array
		bound := make([]int64, n)
		for range rapid.IntRange(1, 3).Draw(t, "arrays") {
			a := array{bytes: rapid.SampledFrom([]int{2, 4}).Draw(t, "bytes"), size: make([]int64, n)}
			a.size[0] = 64 / int64(a.bytes) * rapid.Int64Range(1, 2).Draw(t, "lines")
			for d := 1; d < n; d++ {
				a.size[d] = rapid.Int64Range(1, 6).Draw(t, "size")
			}
			for d := range n {
				bound[d] = max(bound[d], a.size[d])
			}
			arrays = append(arrays, a)
		}
		c, err := lowering.ConstraintsOf(m, 2)
		require.NoError(t, err)
		bound[0] = (bound[0] + c.L - 1) / c.L * c.L
		shapes, err := lowering.Shapes(bound, c)
		if err != nil {
			require.ErrorIs(t, err, lowering.ErrTooLarge)
			return
		}
		lot, err := lowering.NewLOT(m, bound, rapid.SampledFrom(shapes).Draw(t, "shape"))
		require.NoError(t, err)
		base, wl := uint64(4096), 0
		for i, a := range arrays {
			got, err := lot.Add(lowering.Lie{Base: base, Bytes: a.bytes, Size: a.size, Axes: along(a.size)}, wl)
			require.NoError(t, err)
			require.Equal(t, i, got)
			r := lot.Entries()[i]
			words, err := r.Encode()
			require.NoError(t, err)
			require.Equal(t, r, lowering.DecodeEntry(words))
			base = (r.End+63)/64*64 + 64
			wl = r.WL + r.Bits() + 3
		}
		seen := map[lowering.Place]bool{}
		for i, r := range lot.Entries() {
			for addr := r.Base; addr < r.End; addr++ {
				p, ok := lot.Locate(addr, int(addr%8))
				inside := p.Bank < 4 && p.Way < 2 && p.Array < 4 && p.Bitline < 64
				if !ok || seen[p] || !inside || lot.Find(addr) != i {
					require.Fail(t, "wrong place", "%#x at %v of region %d, found %v", addr, p, lot.Find(addr), ok)
				}
				seen[p] = true
				back, bit, ok := lot.Address(p)
				if !ok || back != addr || bit != int(addr%8) {
					require.Fail(t, "wrong address", "%#x back as %#x, bit %d", addr, back, bit)
				}
				if line, _ := lot.Locate(addr&^63, 0); line.Bank != p.Bank {
					require.Fail(t, "a line in two banks", "%#x", addr)
				}

				// The element of region 0 at the same point of the lattice.
				elem, first := int64(addr-r.Base)/int64(r.Size), lot.Entries()[0]
				point := [3]int64{elem % r.S[0], elem / r.S[0] % r.S[1], elem / r.S[0] / r.S[1]}
				if point[0] < first.S[0] && point[1] < first.S[1] && point[2] < first.S[2] {
					other, _ := lot.Locate(first.Base+uint64(first.Size)*uint64(point[0]+first.S[0]*(point[1]+first.S[1]*point[2])), 0)
					if p.Wordline, other.Wordline = 0, 0; p != other {
						require.Equal(t, p, other)
					}
				}
			}
			_, ok := lot.Locate(r.End, 0)
			require.False(t, ok)
		}
		// Every cell that no bit was found in has no address.
		used := 0
		for bank := range 4 {
			for way := range 2 {
				for a := range 4 {
					for b := range 64 {
						for w := range wl {
							p := lowering.Place{Bank: bank, Way: way, Array: a, Bitline: b, Wordline: w}
							addr, bit, ok := lot.Address(p)
							if ok {
								used++
								if back, _ := lot.Locate(addr, bit); back != p {
									require.Equal(t, p, back)
								}
							}
						}
					}
				}
			}
		}
		total := 0
		for _, r := range lot.Entries() {
			total += 8 * int(r.End-r.Base)
		}
		require.Equal(t, total, used)
	})
}

// along returns the dimensions of an array of these sizes, in order.
func along(size []int64) []int {
	axes := make([]int, len(size))
	for d := range axes {
		axes[d] = d
	}
	return axes
}

func TestLOTErrors(t *testing.T) {
	m := small()
	_, err := lowering.NewLOT(m, []int64{4096}, lowering.Shape{64})
	require.EqualError(t, err, "lowering: array too large for the arrays that compute: 4096 elements in tiles of 64 take 64 arrays, expected at most 32")
	_, err = lowering.NewLOT(m, []int64{64}, lowering.Shape{32})
	require.EqualError(t, err, "lowering: no valid tile size: tiles of 32 have 32 elements, expected 64, one for each bitline")
	lot, err := lowering.NewLOT(m, []int64{128, 4}, lowering.Shape{16, 4})
	require.NoError(t, err)
	_, err = lot.Add(lowering.Lie{Base: 4096, Bytes: 4, Size: []int64{128, 4}, Axes: along([]int64{128, 4})}, 0)
	require.NoError(t, err)
	for _, c := range []struct {
		base  uint64
		bytes int
		size  []int64
		wl    int
		want  string
	}{
		{0, 4, []int64{128, 5}, 32, "lowering: array of size 5 in dimension 1, expected 1 to 4, the bounding box"},
		{0, 4, []int64{128, 4, 1}, 32, "lowering: array of 3 dimensions along [0 1 2], expected at most 2"},
		{0, 3, []int64{128, 4}, 32, "lowering: elements of 3 bytes, expected a divisor of a cache line of 64"},
		{8, 4, []int64{16, 4}, 32, "lowering: array at address 0x8, expected a multiple of 64, a cache line"},
		{0, 4, []int64{16, 4}, 230, "lowering: not enough wordlines: 32 bits from wordline 230 on, expected them below 254"},
		{4096, 4, []int64{16, 4}, 32, "lowering: addresses [0x1000,0x1100) overlap those of region 0, [0x1000,0x1800)"},
		{0, 4, []int64{16, 4}, 31, "lowering: wordlines [31,63) overlap those of region 0, [0,32)"},
		{1 << 48, 4, []int64{16, 4}, 32, "lowering: base of 281474976710656 does not fit the 48 bits of a layout override table"},
	} {
		_, err := lot.Add(lowering.Lie{Base: c.base, Bytes: c.bytes, Size: c.size, Axes: along(c.size)}, c.wl)
		require.EqualError(t, err, c.want)
	}
	require.Len(t, lot.Entries(), 1)

	m.LOT.Regions = 1
	_, err = lot.Add(lowering.Lie{Base: 0, Bytes: 4, Size: []int64{16, 4}, Axes: along([]int64{16, 4})}, 32)
	require.ErrorIs(t, err, lowering.ErrRegions)
	require.EqualError(t, err, "lowering: layout override table is full: more than 1 regions")
}

// TestLOTTrans follows the states of section 5.2: 0 at first, 1 while data is
// fetched and requests of cores are blocked, 2 when transposed.
func TestLOTTrans(t *testing.T) {
	lot, err := lowering.NewLOT(small(), []int64{128}, lowering.Shape{64})
	require.NoError(t, err)
	_, err = lot.Add(lowering.Lie{Base: 0, Bytes: 4, Size: []int64{128}, Axes: along([]int64{128})}, 0)
	require.NoError(t, err)
	require.Equal(t, lowering.Normal, lot.Entries()[0].Trans)
	require.EqualError(t, lot.SetTrans(0, lowering.Transposed), "lowering: region 0 from normal to transposed, expected to go through changing")
	require.False(t, lot.Blocked(0))
	require.NoError(t, lot.SetTrans(0, lowering.Changing))
	require.True(t, lot.Blocked(0))
	require.False(t, lot.Blocked(512))
	require.NoError(t, lot.SetTrans(0, lowering.Transposed))
	require.False(t, lot.Blocked(0))
	require.Error(t, lot.SetTrans(0, lowering.Normal))
	require.Error(t, lot.SetTrans(0, 3))
	require.NoError(t, lot.SetTrans(0, lowering.Changing))
	require.NoError(t, lot.SetTrans(0, lowering.Normal))
	require.Equal(t, "normal changing transposed state(3)", lowering.Normal.String()+" "+lowering.Changing.String()+" "+lowering.Transposed.String()+" "+lowering.TransState(3).String())
}

// TestLOTBits packs entries with large numbers in all fields into one number, field after
// field from the lowest bit on, and compares its words.
func TestLOTBits(t *testing.T) {
	r := lowering.Entry{Base: 0x8123456789ab, End: 0xfedcba987653, Size: 0xa5, Dim: 3, S: [3]int64{0xdeadbeef, 0x87654321, 0xffffffff},
		T: [3]int64{0x80000001, 0x7fffffff, 0xc0ffee11}, WL: 1021, Trans: lowering.Transposed}
	all, at := new(big.Int), uint(0)
	for _, f := range []struct {
		v    uint64
		bits uint
	}{{r.Base, 48}, {r.End, 48}, {0xa5, 8}, {3, 2}, {0xdeadbeef, 32}, {0x87654321, 32}, {0xffffffff, 32}, {0x80000001, 32}, {0x7fffffff, 32}, {0xc0ffee11, 32}, {1021, 10}, {2, 2}} {
		all.Or(all, new(big.Int).Lsh(new(big.Int).SetUint64(f.v), at))
		at += f.bits
	}
	require.EqualValues(t, 310, at)
	r.Step[0] = 1
	for d := 1; d < 3; d++ {
		r.Step[d] = r.Step[d-1] * r.S[d-1]
	}
	words, err := r.Encode()
	require.NoError(t, err)
	for i, w := range words {
		require.Equal(t, new(big.Int).And(new(big.Int).Rsh(all, uint(64*i)), new(big.Int).SetUint64(1<<64-1)).Uint64(), w, "word %d", i)
	}
	require.Equal(t, r, lowering.DecodeEntry(words))
	r.WL = 1024
	_, err = r.Encode()
	require.EqualError(t, err, "lowering: wl of 1024 does not fit the 10 bits of a layout override table")
}

// TestLOTInTurn has two arrays on the same wordlines, one after the other, and one that
// lies along other dimensions than memory has it.
func TestLOTInTurn(t *testing.T) {
	lot, err := lowering.NewLOT(small(), []int64{16, 64}, lowering.Shape{16, 4})
	require.NoError(t, err)
	i, err := lot.Add(lowering.Lie{Base: 4096, Bytes: 4, Size: []int64{64}, Axes: []int{1}}, 7)
	require.NoError(t, err)
	for elem := range int64(64) {
		tl, b := lot.Cell(i, elem)
		require.Equal(t, [2]int{int(elem) / 4, int(elem) % 4 * 16}, [2]int{tl, b})
	}
	_, err = lot.Add(lowering.Lie{Base: 8192, Bytes: 4, Size: []int64{64, 16}, Axes: []int{1, 0}}, 7)
	require.EqualError(t, err, "lowering: wordlines [7,39) overlap those of region 0, [7,39)")
	require.NoError(t, lot.SetTrans(i, lowering.Changing))
	require.EqualError(t, lot.Remove(i), "lowering: region 0 is changing, expected normal of one that leaves the table")
	require.NoError(t, lot.SetTrans(i, lowering.Normal))
	require.NoError(t, lot.Remove(i))
	require.Negative(t, lot.Find(4096))
	i, err = lot.Add(lowering.Lie{Base: 8192, Bytes: 4, Size: []int64{64, 16}, Axes: []int{1, 0}}, 7)
	require.NoError(t, err)
	grid := lot.Grid()
	for elem := range int64(64 * 16) {
		tl, b := grid.Locate([]int64{elem / 64, elem % 64})
		gotTile, gotLine := lot.Cell(i, elem)
		require.Equal(t, [2]int{tl, b}, [2]int{gotTile, gotLine})
		p, ok := lot.Locate(8192+uint64(4*elem), 3)
		require.True(t, ok)
		require.Equal(t, 10, p.Wordline)
		addr, bit, ok := lot.Address(p)
		require.True(t, ok)
		require.Equal(t, 8192+uint64(4*elem), addr)
		require.Equal(t, 3, bit)
	}
	_, err = lot.Add(lowering.Lie{Base: 0, Bytes: 4, Size: []int64{16, 16}, Axes: []int{0, 0}}, 100)
	require.EqualError(t, err, "lowering: array along dimensions [0 0], expected each once, below 2")
}

// TestLOTViews has views of an array at random strides, forwards and backwards: every
// element is where its coordinates are, and comes back, and addresses between are nowhere.
func TestLOTViews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := []int64{16, 8, 2}
		lot, err := lowering.NewLOT(small(), bound, lowering.Shape{16, 4, 1})
		require.NoError(t, err)
		lie := lowering.Lie{Base: 4096, Bytes: rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "bytes"), View: true}
		low, next := int64(0), int64(1)
		for _, d := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "axes") {
			n := rapid.Int64Range(1, bound[d]).Draw(t, "size")
			step := next + rapid.Int64Range(0, 3).Draw(t, "more")
			next += step * (n - 1)
			if rapid.Bool().Draw(t, "back") {
				step = -step
				low += step * (n - 1)
			}
			lie.Axes, lie.Size, lie.Step = append(lie.Axes, d), append(lie.Size, n), append(lie.Step, step)
		}
		lie.First = rapid.Int64Range(0, 9).Draw(t, "first") - low
		i, err := lot.Add(lie, 3)
		require.NoError(t, err)
		e := lot.Entries()[i]
		at := map[uint64][2]int{}
		for x := range lie.Size[0] {
			for y := range lie.Size[1] {
				for z := range lie.Size[2] {
					point := make([]int64, 3)
					point[lie.Axes[0]], point[lie.Axes[1]], point[lie.Axes[2]] = x, y, z
					elem := lie.First + x*lie.Step[0] + y*lie.Step[1] + z*lie.Step[2]
					tl, b := lot.Grid().Locate(point)
					at[lie.Base+uint64(elem)*uint64(lie.Bytes)] = [2]int{tl, b}
				}
			}
		}
		require.Len(t, at, int(lie.Size[0]*lie.Size[1]*lie.Size[2]))
		for addr := e.Base; addr < e.End; addr += uint64(e.Size) {
			want, there := at[addr]
			p, ok := lot.Locate(addr, 5)
			require.Equal(t, there, ok)
			if !there {
				continue
			}
			back, bit, ok := lot.Address(p)
			require.True(t, ok)
			require.Equal(t, addr, back)
			require.Equal(t, 5, bit)
			tl, b := lot.Cell(i, int64(addr-e.Base)/int64(e.Size))
			require.Equal(t, want, [2]int{tl, b})
		}
	})
}
