package mem

import (
	"unsafe"

	"github.com/bitsched/bitsched/internal/hugepage"
	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
)

// directory is what a home knows of lines: a table with open addressing, linear
// probing and removal by moving back, so that a look-up mostly touches one line of the
// host. Places of entries hold until the next call of entry or forget.
type directory struct {
	slots  []entry
	shift  uint8 // of hashes
	n      int   // entries
	memory *hugepage.Slab
	queues []queue
	unused int32 // list of queues
}

// entry is what the directory knows of a line.
type entry struct {
	line    Line // noLine: unused
	sharers uint64
	queue   int32 // of those that wait, noQueue
	owner   int16
	reads   int8 // cores that were given the line to read and have not said that they have it
	state   HomeState
	fetch   bool // asked from memory, or waits for that
	from    bool // has just come from there
}

// queue is the requests that wait for a line.
type queue struct {
	waiting []Message
	since   event.Time // of the fetch
	next    int32      // unused one
}

const (
	noLine  = ^Line(0)
	noQueue = int32(-1)

	leastSlots = 64
)

func newDirectory(memory *hugepage.Slab) directory {
	d := directory{unused: noQueue, memory: memory}
	d.resize(leastSlots)
	return d
}

func (d *directory) resize(n int) {
	old := d.slots
	d.slots = hugepage.Make[entry](d.memory, n)
	d.shift = 64
	for ; n > 1; n /= 2 {
		d.shift--
	}
	for i := range d.slots {
		d.slots[i].line = noLine
	}
	for i := range old {
		if old[i].line != noLine {
			d.slots[d.place(old[i].line)] = old[i]
		}
	}
}

// home is where the search for a line begins.
func (d *directory) home(line Line) int { return int(line * 0x9e3779b97f4a7c15 >> (d.shift & 63)) }

// prefetch brings the place of a line into the caches of the host.
func (d *directory) prefetch(line Line) {
	prefetch.Lines(unsafe.Pointer(&d.slots[d.home(line)]), 1)
}

// place is where a line is, or where it would be put.
func (d *directory) place(line Line) int {
	i := d.home(line)
	for mask := len(d.slots) - 1; ; i = (i + 1) & mask {
		if e := &d.slots[i]; e.line == line || e.line == noLine {
			return i
		}
	}
}

// entry finds the entry of a line, or makes one that says nothing.
func (d *directory) entry(line Line) int {
	i := d.place(line)
	if d.slots[i].line == line {
		return i
	}
	d.n++
	if 4*d.n > 3*len(d.slots) {
		d.resize(2 * len(d.slots))
		i = d.place(line)
	}
	d.slots[i] = entry{line: line, queue: noQueue, owner: -1}
	return i
}

// forget drops an entry that says nothing.
func (d *directory) forget(i int) {
	if e := &d.slots[i]; e.state != HI || e.fetch || e.queue != noQueue {
		return
	}
	d.n--
	mask := len(d.slots) - 1
	// What was put further away for its sake moves back.
	for k := (i + 1) & mask; d.slots[k].line != noLine; k = (k + 1) & mask {
		if (k-d.home(d.slots[k].line))&mask >= (k-i)&mask {
			d.slots[i] = d.slots[k]
			i = k
		}
	}
	d.slots[i].line = noLine
}

// of is the queue of an entry.
func (d *directory) of(i int) *queue {
	e := &d.slots[i]
	if e.queue == noQueue {
		if d.unused == noQueue {
			d.queues = append(d.queues, queue{next: noQueue})
			d.unused = int32(len(d.queues) - 1)
		}
		e.queue = d.unused
		d.unused = d.queues[e.queue].next
	}
	return &d.queues[e.queue]
}

// wait lets a request wait behind others.
func (d *directory) wait(i int, m *Message) {
	q := d.of(i)
	q.waiting = append(q.waiting, *m)
}

// first lets a request wait in front of others.
func (d *directory) first(i int, m *Message) *queue {
	q := d.of(i)
	q.waiting = append(q.waiting, Message{})
	copy(q.waiting[1:], q.waiting)
	q.waiting[0] = *m
	return q
}

// next takes the first of those that wait.
func (d *directory) next(i int) Message {
	e := &d.slots[i]
	q := &d.queues[e.queue]
	m := q.waiting[0]
	q.waiting = append(q.waiting[:0], q.waiting[1:]...)
	if len(q.waiting) == 0 {
		q.next, d.unused, e.queue = d.unused, e.queue, noQueue
	}
	return m
}

// pending tells whether a line is busy or waited for.
func (d *directory) pending() bool {
	for i := range d.slots {
		if e := &d.slots[i]; e.line != noLine && (e.state > HX || e.queue != noQueue) {
			return true
		}
	}
	return false
}
