package mem

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// portsClient notes the cycle of each look-up that hits.
type portsClient struct {
	found map[uint64]event.Time
	owned map[Line]event.Time
}

func (c *portsClient) Performed(event.Time, event.Time, uint64, *Bytes) {}
func (c *portsClient) Found(looked event.Time, id uint64, _ *Bytes)     { c.found[id] = looked }
func (c *portsClient) Owned(now event.Time, line Line)                  { c.owned[line] = now - 1 }
func (c *portsClient) Lost(event.Time, Line)                            {}

// wants is a prefetcher that asks for so many lines with the first access it sees.
type wants struct{ lines int }

func (w *wants) Observe(_ uint32, _ Line, _, _ bool, lines []Line) []Line {
	for ; w.lines > 0; w.lines-- {
		lines = append(lines, 1) // which is there
	}
	return lines
}

// TestSharedPorts holds the cycles in which look-ups begin against what follows by hand
// from four a cycle, eight in any three cycles, of which two parts above have a half each.
func TestSharedPorts(t *testing.T) {
	for _, c := range []struct {
		name                   string
		loads, writes, fetches int
		same                   int   // loads of the line of the first
		load, write            []int // look-ups by cycle
		late                   bool  // a write more, a cycle later
	}{
		{"loads have half of the ports", 7, 0, 0, 0, []int{2, 2, 2, 1}, nil, false},
		{"so have writes, and eight fill three cycles", 6, 6, 0, 0, []int{2, 2, 0, 2}, []int{2, 2, 0, 2}, false},
		{"the prefetcher has what is left, also where loads wait", 8, 0, 6, 0, []int{2, 2, 0, 2, 2}, nil, false},
		{"writes before the prefetcher", 4, 2, 4, 0, []int{2, 2}, []int{2}, false},
		{"loads of a line are looked up once", 3, 0, 0, 4, []int{6, 1}, nil, false},
		{"no look-up before it is asked for", 0, 1, 0, 0, nil, []int{1, 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := event.New()
			client := &portsClient{map[uint64]event.Time{}, map[Line]event.Time{}}
			spec := &PrivateSpec{
				L1: CacheSpec{ArraySpec: ArraySpec{Bytes: 64 * LineBytes, Ways: 64, Policy: LRU}, Latency: 2, MSHRs: 4, Lookups: 4, Sharers: 2},
				L2: CacheSpec{ArraySpec: ArraySpec{Bytes: 64 * LineBytes, Ways: 64, Policy: LRU}, Latency: 3, MSHRs: 4},
			}
			require.NoError(t, spec.Validate())
			p := NewPrivate(e, spec, MESI(), 0, nil, nil, client, func(err error) { t.Error(err) })
			p.prefetch1 = &wants{c.fetches}
			for line := range Line(40) {
				p.fillL1(0, line, M, &Bytes{})
			}
			start := e.Handle(func(now event.Time, _ uint64) {
				id := uint64(0)
				for range c.loads {
					p.Load(now, 0, Line(id), id)
					id++
				}
				for range c.same {
					p.Load(now, 0, 0, id)
					id++
				}
				for k := range c.writes {
					require.False(t, p.Own(now, 0, Line(20+k)))
				}
				require.True(t, p.Pending())
			})
			e.At(10, start, 0)
			e.At(11, e.Handle(func(now event.Time, _ uint64) {
				if c.late {
					require.False(t, p.Own(now, 0, 30))
				}
			}), 0)
			require.NoError(t, e.Run(context.Background(), event.Forever))
			load, write := make([]int, len(c.load)), make([]int, len(c.write))
			for _, at := range client.found {
				load[at-10]++
			}
			for _, at := range client.owned {
				write[at-10]++
			}
			require.Equal(t, append([]int{}, c.load...), load)
			require.Equal(t, append([]int{}, c.write...), write)
			require.False(t, p.Pending())
		})
	}
}

// TestIPStride: one line a cycle, not across a page, and the newest access goes first.
func TestIPStride(t *testing.T) {
	s := &ipStride{}
	all := func() (lines []Line) {
		for line, pc, ok := s.Next(); ok; line, pc, ok = s.Next() {
			require.Equal(t, uint32(7), pc)
			lines = append(lines, line)
		}
		return lines
	}
	for _, c := range []struct {
		line Line
		want []Line
	}{{0, nil}, {2, nil}, {4, []Line{6, 8, 10}}, {6, []Line{8, 10, 12}}, {58, nil}, {60, nil}, {62, nil}, {56, nil}, {50, []Line{44, 38, 32}}, {44, []Line{38, 32, 26}}} {
		require.Empty(t, s.Observe(7, c.line, true, false, nil))
		require.Equal(t, c.want, all(), "line %d", c.line)
	}
	for _, line := range []Line{100, 101, 102} {
		s.Observe(7, line, true, false, nil)
	}
	line, _, _ := s.Next()
	require.Equal(t, Line(103), line)
	s.Observe(7, 103, true, false, nil)
	require.Equal(t, []Line{104, 105, 106}, all())
}

// TestSpare has four look-ups a cycle: of what the core leaves, streams take so many, and a load of
// the core does not wait for those that there is no look-up for.
func TestSpare(t *testing.T) {
	for _, c := range []struct{ before, want, after int }{{0, 4, 1}, {3, 1, 1}, {4, 0, 1}, {6, 0, 1}} { // of the last two begin in the next cycle
		e := event.New()
		cache := CacheSpec{ArraySpec: ArraySpec{Bytes: 64 * LineBytes, Ways: 64, Policy: LRU}, Latency: 2, MSHRs: 4, Lookups: 4}
		p := NewPrivate(e, &PrivateSpec{L1: cache, L2: cache}, MESI(), 0, nil, nil, &portsClient{}, func(err error) { t.Error(err) })
		for line := range Line(8) {
			p.fillL1(0, line, M, &Bytes{byte(line)})
		}
		e.At(10, e.Handle(func(now event.Time, _ uint64) {
			for k := range c.before {
				p.Load(now, 0, Line(k), 0)
			}
			got := 0
			for k := range 8 {
				b, ok := p.Spare(now, 0, Line(k), 0, k%2 > 0)
				if !ok {
					break
				}
				got++
				if k%2 == 0 {
					require.Equal(t, byte(k), b[0])
				}
			}
			require.Equal(t, c.want, got)
			_, delay := p.Load(now, 0, 0, 0)
			require.EqualValues(t, c.after, delay, "%+v", c)
		}), 0)
		require.NoError(t, e.Run(context.Background(), event.Forever))
	}
}
