package se

import (
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// A bank translates the addresses that its streams make by the TLB beside it (section IV.B). A
// stream keeps its translation until it comes to another page, or to another bank.

// translated is when the address of a stream's access is known.
func (b *Bank) translated(now event.Time, h *head, addr uint64) event.Time {
	if b.tlb == nil {
		return now
	}
	if page := addr / uint64(b.spec.TLB.PageBytes); h.page != page+1 {
		h.page = page + 1
		b.Counters.Translations++
		before := b.tlb.Counters.L2Misses
		h.known = max(h.known, now+event.Time(b.tlb.Translate(now, addr)))
		b.Counters.Walks += b.tlb.Counters.L2Misses - before
	}
	return max(now, h.known)
}

// access does what a stream does with an address, when that is known.
func (b *Bank) access(now event.Time, h *head, addr uint64, f func()) {
	at := b.translated(now, h, addr)
	if at == now {
		f()
		return
	}
	b.at(at, func(event.Time) {
		if !b.dead(h.core, h.g.id) {
			f()
		}
	})
}

// read reads the line of an address of a stream.
func (b *Bank) read(now event.Time, h *head, addr uint64, done func(now event.Time, data *mem.Bytes)) {
	b.access(now, h, addr, func() { b.agent.read(addr/mem.LineBytes, done) })
}
