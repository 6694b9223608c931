package se

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/mem"
)

// plainLine is a line that a plain FIFO has.
type plainLine struct {
	line  mem.Line
	last  int64
	stale bool
}

// plainFIFO keeps lists, and finds lines iteration by iteration.
type plainFIFO struct {
	g     *Group
	room  int
	next  []int64
	lists [][]plainLine
	done  int64
}

func (p *plainFIFO) fetch() {
	for {
		sid := -1
		for i := range p.lists {
			p.next[i] = max(p.next[i], p.done)
			if p.next[i] < p.g.N && len(p.lists[i]) < p.room && (sid < 0 || p.next[i] < p.next[sid]) {
				sid = i
			}
		}
		if sid < 0 {
			return
		}
		line, end := p.g.address(sid, p.next[sid])/mem.LineBytes, p.next[sid]
		for end < p.g.N && p.g.address(sid, end)/mem.LineBytes == line {
			end++
		}
		p.lists[sid] = append(p.lists[sid], plainLine{line, end - 1, p.g.Streams[sid].Kind != Load})
		p.next[sid] = end
	}
}

func (p *plainFIFO) step(n int64) {
	p.done += n
	for i := range p.lists {
		for len(p.lists[i]) > 0 && p.lists[i][0].last < p.done {
			p.lists[i] = append([]plainLine{}, p.lists[i][1:]...)
		}
	}
	p.fetch()
}

func (p *plainFIFO) flush(line mem.Line) {
	for i := range p.lists {
		for k := range p.lists[i] {
			if p.lists[i][k].line == line {
				p.lists[i][k].stale = true
			}
		}
	}
}

func (p *plainFIFO) has(sid int, line mem.Line) bool {
	for _, x := range p.lists[sid] {
		if x.line == line && !x.stale {
			return true
		}
	}
	return false
}

// TestFIFO compares the FIFO out of time with plain lists: loops one after the other, which take the memory of
// those before, with lines that change and loads of what is there and of what is not.
func TestFIFO(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fetched := 0
	c := &Core{spec: &Spec{FIFO: 1024}}
	c.warm = func(_ uint32, line mem.Line, _ bool) *mem.Bytes {
		fetched++
		b := &mem.Bytes{}
		binary.LittleEndian.PutUint64(b[:], line)
		return b
	}
	c.foresee = func(mem.Line, bool) {}
	served, missed, stale := 0, 0, 0
	for range 400 {
		g := &Group{N: int64(1 + r.IntN(400)), Lanes: 1, Range: 16}
		if r.IntN(2) == 0 {
			if g.Row = int64(1 + r.IntN(40)); r.IntN(2) == 0 {
				g.Plane = int64(1 + r.IntN(4))
			}
		}
		loads := 0
		for i := range 1 + r.IntN(3) {
			s := Stream{Kind: Load, Base: 1 << 20, Stride: []int64{0, 4, -4, 8, 64, -64, 68, 200}[r.IntN(8)], RowStride: int64(r.IntN(300)-150) * 4, PlaneStride: int64(r.IntN(3000)-1500) * 4, PC: [2]uint32{uint32(2*i + 1), uint32(2*i + 2)}}
			s.Base += uint64(4 * r.IntN(32))
			if r.IntN(4) == 0 {
				s.Kind = Store
			} else {
				loads++
			}
			g.Ahead = append(g.Ahead, s)
		}
		f := newFIFO(c, g)
		p := &plainFIFO{g: f.g, room: 1024 / mem.LineBytes / max(1, loads), next: make([]int64, len(g.Ahead)), lists: make([][]plainLine, len(g.Ahead))}
		f.fetch(0)
		p.fetch()
		for p.done < g.N {
			for sid := range p.lists {
				var list []plainLine
				for i := range f.streams[sid].lines {
					tag := f.streams[sid].tags[i]
					x := plainLine{tag, f.streams[sid].lines[i].last, tag == noLine}
					if x.stale && i < len(p.lists[sid]) {
						x.line = p.lists[sid][i].line
					}
					list = append(list, x)
				}
				require.Equal(t, len(p.lists[sid]), len(list))
				if len(list) > 0 {
					require.Equal(t, p.lists[sid], list)
				}
			}
			sid := r.IntN(len(g.Ahead))
			line := f.g.line(sid, p.done)
			if r.IntN(3) == 0 {
				line = f.g.line(sid, min(g.N-1, p.done+int64(r.IntN(60))))
			}
			want := g.Ahead[sid].Kind == Load && p.has(sid, line)
			b, waits := f.load(g.Ahead[sid].PC[r.IntN(2)], line, 0)
			require.False(t, waits)
			require.Equal(t, want, b != nil)
			if want {
				require.Equal(t, line, binary.LittleEndian.Uint64(b[:]))
				served++
			} else {
				missed++
			}
			if r.IntN(4) == 0 {
				f.flush(line)
				p.flush(line)
				stale++
			}
			n := min(g.N-p.done, int64(1+r.IntN(8)))
			f.step(0, n)
			p.step(n)
		}
		f.over()
	}
	require.Less(t, len(c.windows), 4)
	require.Greater(t, min(served, missed, stale), 1000)
	require.Greater(t, fetched, 10_000)
}

// TestStale lets lines of the loop at hand, and of one that has been left with lines on their way, change out of time.
func TestStale(t *testing.T) {
	c := &Core{spec: &Spec{FIFO: 1024}}
	c.warm = func(uint32, mem.Line, bool) *mem.Bytes { return &mem.Bytes{} }
	c.foresee = func(mem.Line, bool) {}
	g := &Group{N: 64, Lanes: 1, Range: 16, Ahead: []Stream{{Kind: Load, Base: 1 << 20, Stride: 4, PC: [2]uint32{1, 2}}}}
	c.fifo, c.left = newFIFO(c, g), []*fifo{newFIFO(c, g)}
	list := []*fifo{c.fifo, c.left[0]}
	for _, f := range list {
		f.fetch(0)
	}
	c.Stale(1<<20/mem.LineBytes + 1)
	for _, f := range list {
		for i := range mem.Line(3) {
			b, _ := f.load(1, 1<<20/mem.LineBytes+i, 0)
			require.Equal(t, i != 1, b != nil, i)
		}
	}
}
