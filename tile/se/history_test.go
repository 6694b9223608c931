package se

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// loads is a group of streams that read n elements of 4 bytes each, side by side.
func loads(loop uint32, n int64, bases ...uint64) *Group {
	g := &Group{Loop: loop, N: n}
	for _, at := range bases {
		g.Streams = append(g.Streams, Stream{Kind: Load, Base: at, Stride: 4, Bytes: 4})
	}
	return g
}

// updates is such a group whose first stream writes its elements, too.
func updates(loop uint32, n int64, bases ...uint64) *Group {
	g := loads(loop, n, bases...)
	g.Streams[0].Kind = Update
	return g
}

// TestHistory has instances of loops one after another, with what section IV.B says of each by
// hand: caches of 4 kB are 1,024 elements.
func TestHistory(t *testing.T) {
	type step struct {
		g             *Group
		lines, misses uint64 // counted in the core, if it stays
		want          Choice
	}
	const a, b, c = 0x10000, 0x20000, 0x30000
	// Four rows of two arrays, each with the same row of sums, and once more with another one: 3,600
	// to 3,867 bytes in between.
	var sums []step
	for m := range uint64(2) {
		for k := range uint64(4) {
			sums = append(sums, step{g: loads(1, 100, a+400*m, b+400*k, c+400*k), lines: 50, misses: 25, want: []Choice{Leaves, Reused}[m]})
		}
	}
	for name, steps := range map[string][]step{
		"a row of sums that stays counts once":                            sums,
		"the first instance leaves, later ones of the same elements stay": {{loads(1, 512, a), 0, 0, Leaves}, {loads(1, 512, a), 32, 32, Reused}, {loads(1, 512, a), 32, 0, Reused}, {loads(1, 512, a), 0, 0, Hits}},
		"larger than the caches":                                          {{loads(1, 1025, a), 0, 0, Leaves}, {loads(1, 1025, a), 0, 0, Leaves}},
		"as large as the caches":                                          {{loads(1, 1024, a), 0, 0, Leaves}, {loads(1, 1024, a), 0, 0, Reused}},
		"two streams that fit one by one, and not together":               {{loads(1, 600, a, b), 0, 0, Leaves}, {loads(1, 600, a, b), 0, 0, Leaves}},
		"neighbours are the same bytes":                                   {{loads(1, 600, a, a+4), 0, 0, Leaves}, {loads(1, 600, a, a+4), 0, 0, Reused}},
		"other elements":                                                  {{loads(1, 512, a), 0, 0, Leaves}, {loads(1, 512, b), 0, 0, Leaves}, {loads(1, 512, a), 0, 0, Reused}},
		"a part of them":                                                  {{loads(1, 512, a), 0, 0, Leaves}, {loads(1, 256, a+512), 0, 0, Reused}},
		"half of them":                                                    {{loads(1, 256, a, b), 0, 0, Leaves}, {loads(1, 256, a, b+8192), 0, 0, Leaves}},
		"an update counts twice":                                          {{updates(1, 256, a, b), 0, 0, Leaves}, {updates(1, 256, a, b+8192), 0, 0, Reused}},
		"less than half of them":                                          {{loads(1, 256, a, b, c), 0, 0, Leaves}, {loads(1, 256, a, b+8192, c+8192), 0, 0, Leaves}},
		"another loop in between takes their place":                       {{loads(1, 512, a), 0, 0, Leaves}, {loads(2, 513, b), 0, 0, Leaves}, {loads(1, 512, a), 0, 0, Leaves}},
		"another loop, and there is room":                                 {{loads(1, 512, a), 0, 0, Leaves}, {loads(2, 512, b), 0, 0, Leaves}, {loads(1, 512, a), 0, 0, Reused}},
		"rows of an array that fits":                                      {{loads(1, 200, a), 0, 0, Leaves}, {loads(1, 200, a+800), 0, 0, Leaves}, {loads(1, 200, a+1600), 0, 0, Leaves}, {loads(1, 200, a), 0, 0, Reused}, {loads(1, 200, a+800), 0, 0, Reused}},
		"hits":                                                            {{loads(1, 512, a), 0, 0, Leaves}, {loads(1, 512, a), 32, 15, Reused}, {loads(1, 512, b), 32, 16, Hits}, {loads(1, 512, c), 0, 0, Leaves}},
	} {
		h := History{private: 4096}
		for i, s := range steps {
			got := h.Choose(s.g)
			assert.Equal(t, s.want, got, "%s, instance %d", name, i)
			if got != Leaves {
				h.stayed(s.g.Loop, s.lines, s.misses)
			}
		}
	}
	h := History{private: 4096}
	kept := func(loop uint32, n int64, bases ...uint64) *Group {
		g := loads(loop, n, bases...)
		g.Streams, g.Ahead = nil, g.Streams
		return g
	}
	h.Keeps(kept(1, 256, a, b), false)
	assert.Equal(t, Reused, h.Choose(loads(2, 256, a)), "a loop in the core has fetched it")
	assert.Equal(t, Leaves, h.Choose(loads(3, 256, a+512)), "it has fetched no more than a part of that")
	h.Keeps(kept(1, 128, a), false)
	h.Keeps(kept(1, 256, b), true)
	assert.EqualValues(t, 2048+1024+512, h.touched, "what the core had fetched pushes nothing out, and what was chosen has been counted")
	assert.Equal(t, Leaves, h.Choose(updates(4, 512, b)), "half of it is not there")
	assert.Equal(t, Leaves, h.Choose(loads(5, 256, b)), "a bank has written it")
	h = History{private: 4096}
	g := loads(1, 100, a)
	g.Streams = append(g.Streams, Stream{Kind: Update, Indirect: true})
	for range 3 {
		assert.Equal(t, Leaves, h.Choose(g), "indirect streams")
	}
	assert.EqualValues(t, 3*(400+100*64), h.touched)
	// Blocks of 8 rows of sums with a column: 2,048 bytes and 8 lines, though the column goes
	// through 3,588 bytes.
	h = History{private: 4096}
	for k, want := range []Choice{Leaves, Reused} {
		block := updates(1, 512, a)
		block.Row, block.Streams[0].RowStride = 64, 256
		block.Streams = append(block.Streams, Stream{Kind: Load, Base: b + uint64(4*k), RowStride: 512, Bytes: 4})
		assert.Equal(t, want, h.Choose(block), "column %d", k)
		assert.EqualValues(t, 512, block.footprint(1))
		assert.EqualValues(t, 2048, block.footprint(0))
	}
	assert.EqualValues(t, 2048+2*512, h.touched, "what is there pushes nothing out")
	planes := loads(1, 4*3*2, a)
	planes.Row, planes.Plane, planes.Streams[0].RowStride, planes.Streams[0].PlaneStride = 4, 3, 1024, 1<<20
	assert.EqualValues(t, 4*3*2*64, planes.footprint(0), "a line for each at most")
	planes.Streams[0].RowStride = 0
	assert.EqualValues(t, 4*2*64, planes.footprint(0), "rows are the same elements")
	backwards := loads(1, 10, a)
	backwards.Streams[0].Stride = -4
	assert.Equal(t, interval{a - 36, a + 4}, backwards.interval(0))
	assert.EqualValues(t, 37, union([]interval{{10, 20}, {40, 50}, {15, 25}, {12, 14}, {45, 50}, {20, 25}, {60, 65}, {70, 90}}, []int64{10, 10, 10, 2, 5, 5, 5, 7}))
}
