package se

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// asked is caches that keep what is asked for.
type asked struct {
	Caches
	lines []mem.Line
	write bool
}

func (a *asked) Fetch(_ event.Time, _ uint32, line mem.Line, write bool) bool {
	a.lines, a.write = append(a.lines, line), write
	return true
}

// TestBeyond has instances of loops, with the lines of later ones by hand: the FIFO has 8 lines.
func TestBeyond(t *testing.T) {
	b := func(line, bytes uint64, row, plane, at, rows, planes int64) Beyond {
		return Beyond{Base: 64 * line, Bytes: bytes, Row: row, Plane: plane, At: at, Rows: rows, Planes: planes}
	}
	lines := func(from, end mem.Line) (list []mem.Line) {
		for ; from < end; from++ {
			list = append(list, from)
		}
		return list
	}
	for name, c := range map[string]struct {
		instances []Beyond
		want      [][]mem.Line
	}{
		"rows of four lines: two ahead, then one more each time": {
			[]Beyond{b(100, 256, 256, 0, 0, 5, 0), b(104, 256, 256, 0, 1, 5, 0), b(108, 256, 256, 0, 2, 5, 0), b(112, 256, 256, 0, 3, 5, 0), b(116, 256, 256, 0, 4, 5, 0)},
			[][]mem.Line{lines(104, 112), lines(112, 116), lines(116, 120), nil, nil}},
		"an instance longer than the FIFO: the first lines of the next": {
			[]Beyond{b(100, 1024, 1024, 0, 0, 2, 0)}, [][]mem.Line{lines(116, 124)}},
		"the same row in all of a plane: that of the next one": {
			[]Beyond{b(100, 128, 0, 128, 2, 4, 1), b(100, 128, 0, 128, 3, 4, 1), b(102, 128, 0, 128, 0, 4, 0)}, [][]mem.Line{lines(102, 104), nil, nil}},
		"no plane behind this one": {
			[]Beyond{b(100, 128, 0, 128, 2, 4, 0)}, [][]mem.Line{nil}},
		"an element of each instance: a line": {
			[]Beyond{b(100, 4, 4, 0, 0, 1000, 0), {Base: 6404, Bytes: 4, Row: 4, At: 1, Rows: 1000}}, [][]mem.Line{lines(101, 102), nil}},
		"as many instances, to the next plane": {
			[]Beyond{b(100, 4, 4, 4096, 20, 32, 9)}, [][]mem.Line{{162, 163}}},
		"backwards, over planes": {
			[]Beyond{b(100, 64, -64, -128, 1, 2, 1)}, [][]mem.Line{{99, 98}}},
		"a line of each instance": {
			[]Beyond{b(100, 4, 64, 0, 0, 99, 0)}, [][]mem.Line{lines(101, 109)}},
		"one that does not begin where it was expected: anew": {
			[]Beyond{b(100, 256, 256, 0, 0, 9, 0), b(200, 256, 256, 0, 0, 9, 0)}, [][]mem.Line{lines(104, 112), lines(204, 212)}},
	} {
		seen := &asked{}
		engine := &Core{spec: &Spec{FIFO: 512}, caches: seen}
		for i, x := range c.instances {
			seen.lines, seen.write = nil, false
			x.Write = true
			engine.goBeyond(0, &Group{Loop: 3, Beyond: []Beyond{x}})
			assert.Equal(t, c.want[i], seen.lines, "%s, instance %d", name, i)
			assert.Equal(t, len(seen.lines) > 0, seen.write)
		}
	}
}
