package lowering

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/tile"
)

// Load writes an array to the bitlines of its region, as the load streams do that
// prepare transposed data (Infinity Stream, section 5.2). data is the array as it
// lies in memory. Bitlines of boundary tiles that hold no element keep what they
// have. The tiles are shared out among threads (0 means 1).
//
// An error says that data has not the size of the region, that its elements are
// wider than 8 bytes, that the cells are too few, or that ctx is done.
func (l *LOT) Load(ctx context.Context, c *tile.Cells, threads, region int, data []byte) error {
	return l.transpose(ctx, c, threads, region, data, func(r *Entry, t, k int, at *[64]int64, mask uint64) {
		var elems [64]uint64
		switch r.Size {
		case 4:
			for i := range elems {
				if mask>>i&1 == 1 {
					elems[i] = uint64(binary.LittleEndian.Uint32(data[4*at[i]:]))
				}
			}
		default:
			for i := range elems {
				if mask>>i&1 == 1 {
					for j := range r.Size {
						elems[i] |= uint64(data[at[i]*int64(r.Size)+int64(j)]) << (8 * j)
					}
				}
			}
		}
		c.LoadWord(t, k, r.WL, r.Bits(), &elems, mask)
	})
}

// Store is the reverse of Load, as the streams do that release transposed data.
func (l *LOT) Store(ctx context.Context, c *tile.Cells, threads, region int, data []byte) error {
	return l.transpose(ctx, c, threads, region, data, func(r *Entry, t, k int, at *[64]int64, mask uint64) {
		var elems [64]uint64
		c.StoreWord(t, k, r.WL, r.Bits(), &elems)
		switch r.Size {
		case 4:
			for i := range elems {
				if mask>>i&1 == 1 {
					binary.LittleEndian.PutUint32(data[4*at[i]:], uint32(elems[i]))
				}
			}
		default:
			for i := range elems {
				if mask>>i&1 == 1 {
					for j := range r.Size {
						data[at[i]*int64(r.Size)+int64(j)] = byte(elems[i] >> (8 * j))
					}
				}
			}
		}
	})
}

// transpose calls do for every 64 bitlines of every tile that hold elements of a
// region, with the index of the element of each in the array and a mask of those
// that hold one.
func (l *LOT) transpose(ctx context.Context, c *tile.Cells, threads, region int, data []byte, do func(r *Entry, t, k int, at *[64]int64, mask uint64)) error {
	r := &l.entries[region]
	switch {
	case uint64(len(data)) != r.End-r.Base:
		return fmt.Errorf("lowering: %d bytes for region %d, expected %d", len(data), region, r.End-r.Base)
	case r.Size > 8:
		return fmt.Errorf("lowering: elements of %d bytes in region %d, expected at most 8", r.Size, region)
	case c.Arrays() < l.grid.Tiles() || c.Cols() != l.grid.Bitlines():
		return fmt.Errorf("lowering: %d arrays of %d bitlines, expected %d of %d", c.Arrays(), c.Cols(), l.grid.Tiles(), l.grid.Bitlines())
	}
	elements := l.Elements(region)
	const chunk = 8 // arrays whose rows are adjacent: no two threads in one
	tiles := l.grid.Tiles()
	var next atomic.Int64
	work := func() {
		at, mask := make([]int64, c.Cols()), make([]uint64, c.Cols()/64)
		for {
			first := int(next.Add(1)-1) * chunk
			if first >= tiles || ctx.Err() != nil {
				return
			}
			for t := first; t < min(first+chunk, tiles); t++ {
				if !elements.Tile(t, at, mask) {
					continue
				}
				for k, m := range mask {
					if m != 0 {
						do(r, t, k, (*[64]int64)(at[64*k:]), m)
					}
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range threads - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lowering: transposition stopped: %w", err)
	}
	return nil
}
