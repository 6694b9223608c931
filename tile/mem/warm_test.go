package mem

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// nextLine asks for the line after each access.
type nextLine struct{}

func (nextLine) Observe(_ uint32, line Line, _, _ bool, lines []Line) []Line {
	return append(lines, line+1)
}

// sent counts messages by kind.
type sent map[MessageKind]int

func (s sent) Send(m *Message) { s[m.Kind]++ }

// TestWarmPrefetches: without time as large a part of the prefetches is made as came before
// their lines were needed, of the lines that the L2 was asked for since the last pause.
func TestWarmPrefetches(t *testing.T) {
	const accesses = 400
	for _, c := range []struct {
		used, loads, writes uint64
		want                int
	}{{0, 0, 0, accesses}, {25, 50, 25, accesses / 4}, {0, 9, 0, 0}, {7, 0, 0, accesses}, {2, 3, 0, accesses * 2 / 5}} {
		net := sent{}
		spec := &PrivateSpec{L1: CacheSpec{ArraySpec: ArraySpec{Bytes: 4096, Ways: 4, Policy: LRU}, MSHRs: 4}, L2: CacheSpec{ArraySpec: ArraySpec{Bytes: 8192, Ways: 4, Policy: LRU}, MSHRs: 4}}
		p := NewPrivate(event.New(), spec, MESI(), 0, net, func(Line) Place { return Place{Bank, 0} }, nil, func(err error) { t.Fatal(err) })
		p.Counters.L2 = LevelCounters{PrefetchesUsed: 5, LoadMisses: 900, WriteMisses: 3}
		before := p.Counters
		p.Counters.L2.PrefetchesUsed += c.used
		p.Counters.L2.LoadMisses += c.loads
		p.Counters.L2.WriteMisses += c.writes
		p.Paused(&before)
		for i := range Line(accesses) {
			p.train(0, nextLine{}, 0, 2*i, false, false, func() {})
		}
		require.Equal(t, c.want, net[MsgGetS], "%+v", c)
		require.LessOrEqual(t, len(net), 1)
	}
}
