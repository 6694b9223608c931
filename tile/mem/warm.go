package mem

import (
	"unsafe"

	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
)

// SetNetwork lets messages go another way, while nothing is under way.
func (p *Private) SetNetwork(n Network) { p.net = n }

// SetNetwork lets messages go another way, while nothing is under way; instant homes
// answer at once.
func (h *Home) SetNetwork(n Network, instant bool) { h.net, h.instant = n, instant }

// Paused sets how many of the prefetches of Warm are made: as many of the lines that the L2
// was asked for in time, since it had these counters, as a prefetch brought before they were
// used. The others come when they are used, and BRRIP takes lines that were hit for lines that
// are used again.
func (p *Private) Paused(since *PrivateCounters) {
	now, then := &p.Counters.L2, &since.L2
	used := now.PrefetchesUsed - then.PrefetchesUsed
	missed := now.LoadMisses - then.LoadMisses + now.WriteMisses - then.WriteMisses
	if used+missed > 0 {
		p.timely = float64(used) / float64(used+missed)
	}
}

// Warm makes an access at once, while nothing is under way, by the transitions of the
// protocol: settle delivers all messages. It returns the bytes of the copy in the L1,
// which the caller may write if it said so. Prefetchers see the access; what they ask for
// comes to the L2, as far as it would come in time.
func (p *Private) Warm(now event.Time, pc uint32, line Line, write bool, settle func()) *Bytes {
	kind := Load
	if write {
		kind = Write
	}
	i := p.l1.find(line)
	found := i >= 0 && p.protocol.serves(p.l1.state(i), kind)
	if found {
		p.used(p.l1, i, &p.Counters.L1)
	} else {
		j := p.l2.find(line)
		if j >= 0 {
			p.used(p.l2, j, &p.Counters.L2)
		}
		p.train(now, p.prefetch2, pc, line, j >= 0, write, settle)
		p.bring(now, line, kind, settle)
		if p.l1.find(line) < 0 {
			j := p.l2.find(line)
			p.fillL1(now, line, p.l2.state(j), &p.l2.data[j])
			settle()
		}
		i = p.l1.find(line)
	}
	if write {
		p.l1.become(i, p.protocol.Cache[p.l1.state(i)][Write].Next)
		p.l1.written(i, true)
	}
	data := &p.l1.data[i]
	p.train(now, p.prefetch1, pc, line, found, write, settle)
	return data
}

// Ahead brings what Warm will look at into the caches of the host: tags first, and bytes when it
// is near. It tells whether the L1 has not got the line.
func (p *Private) Ahead(line Line, near bool) bool {
	switch {
	case p.l1.find(line) >= 0:
		return false
	case near:
		p.prefetchData(line)
	default:
		p.l2.prefetch(line)
	}
	return true
}

// Ahead is the same of a home.
func (h *Home) Ahead(line Line, near bool) {
	if !near {
		h.prefetch(line)
	} else if i := h.l3.find(line); i >= 0 {
		prefetch.Lines(unsafe.Pointer(&h.l3.data[i]), 1)
	}
}

// Knows tells whether the bank or a core has a line.
func (h *Home) Knows(line Line) bool {
	return h.entries.slots[h.entries.place(line)].line == line || h.l3.find(line) >= 0
}

// Owner returns the core that alone has a line, which may have newer bytes than the bank, -1 if none has.
func (h *Home) Owner(line Line) int {
	if e := &h.entries.slots[h.entries.place(line)]; e.line == line {
		return int(e.owner)
	}
	return -1
}

// Poke changes bytes of the bank's copy of a line, and returns the cores that have others, a
// bit each.
func (h *Home) Poke(line Line, from uint64, data []byte) (cores uint64) {
	if i := h.l3.find(line); i >= 0 {
		copy(h.l3.data[i][from:], data)
	}
	if e := &h.entries.slots[h.entries.place(line)]; e.line == line {
		cores = e.sharers
		if e.owner >= 0 {
			cores |= 1 << uint(e.owner)
		}
	}
	return cores
}

// Poke changes bytes of the copies of a line.
func (p *Private) Poke(line Line, from uint64, data []byte) {
	if i := p.l1.find(line); i >= 0 {
		copy(p.l1.data[i][from:], data)
	}
	if i := p.l2.find(line); i >= 0 {
		copy(p.l2.data[i][from:], data)
	}
}

// bring lets an access to a line be served by the L1 or the L2.
func (p *Private) bring(now event.Time, line Line, kind Event, settle func()) {
	for {
		state := p.state(line)
		if p.protocol.serves(state, kind) {
			return
		}
		p.ask(now, line, state, kind, false)
		settle()
	}
}

// train lets a prefetcher see an access, and fetches what it asks for.
func (p *Private) train(now event.Time, f Prefetcher, pc uint32, line Line, found, write bool, settle func()) {
	if f == nil {
		return
	}
	p.candidates = f.Observe(pc, line, found, write, p.candidates[:0])
	if paced, ok := f.(Paced); ok {
		for next, _, ok := paced.Next(); ok; next, _, ok = paced.Next() {
			p.candidates = append(p.candidates, next)
		}
	}
	for _, c := range p.candidates {
		if p.state(c) != I {
			continue
		}
		if p.owed += p.timely; p.owed >= 1 {
			p.owed--
			p.ask(now, c, I, Load, true)
			settle()
		}
	}
}
