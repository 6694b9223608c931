package dram

import "math"

// Time is a clock of the DRAM.
type Time = int64

// Never is later than all clocks.
const Never = Time(math.MaxInt64)

// Counters are what a channel has done.
type Counters struct {
	Reads        uint64 `json:"reads" desc:"read commands"`
	Writes       uint64 `json:"writes" desc:"write commands"`
	ReadHits     uint64 `json:"read_hits" desc:"reads but the first of a row since it was opened"`
	WriteHits    uint64 `json:"write_hits" desc:"writes but the first of a row since it was opened"`
	Activates    uint64 `json:"activates" desc:"rows opened"`
	Precharges   uint64 `json:"precharges" desc:"rows closed"`
	Refreshes    uint64 `json:"refreshes" desc:"refreshes of a rank"`
	Forwarded    uint64 `json:"forwarded" desc:"reads that the write buffer served"`
	MergedReads  uint64 `json:"merged_reads" desc:"reads that waited for another one of their line"`
	MergedWrites uint64 `json:"merged_writes" desc:"writes that found their line in the write buffer"`
	Drains       uint64 `json:"drains" desc:"times that writes went before reads"`
}

type command uint8

const (
	read command = iota
	write
	activate
	precharge
	refresh
	commands
)

// transaction is a read or write of a line that was accepted.
type transaction struct {
	line  uint64
	at    Place
	write bool
}

// waiter is a read that is to be told; next chains those of a line.
type waiter struct {
	id   uint64
	next int32
}

type bank struct {
	queue []transaction
	row   int32 // open; closed
	hits  int   // accesses to the open row
	next  [commands]Time
	try   Time // no command of the queue can be issued earlier
}

const closed = -1

type rank struct {
	next    [2]Time // read, write
	refresh Time
	faw     [4]Time // clocks of the last activates
	groups  []rankGroup
}
type rankGroup struct {
	column   [2]Time
	activate Time
}

type done struct {
	at Time
	id uint64
}

// Channel is a channel and its controller. It goes clock by clock with Tick, and
// may leave out clocks before Next.
type Channel struct {
	spec  *Spec
	clock Time
	banks []bank // rank, group, bank
	ranks []rank

	reads, writes []transaction
	readers       map[uint64]int32 // line to the first of its waiters
	waiters       []waiter
	freeWaiter    int32
	buffered      map[uint64]struct{} // lines with a write that was not issued yet
	results       ring
	draining      int
	last          int     // bank queue that was visited last
	queued        int     // commands in bank queues
	due           []int32 // ranks that wait for a refresh
	refreshAt     Time
	refreshRank   int32
	done          func(now Time, id uint64)
	stuck         bool // the last look found no transaction to move

	counters Counters
	// Constraints between column commands, derived from the timing.
	readToWrite, readToWriteOther, writeToReadS, writeToReadL, writeToReadOther, writeToPrecharge Time
}

// NewChannel returns an idle channel of a valid memory. done is called for each
// read that returns, with the number it was added with.
func NewChannel(spec *Spec, done func(now Time, id uint64)) *Channel {
	t := &spec.Timing
	c := &Channel{
		spec: spec, done: done, banks: make([]bank, spec.Ranks*spec.Groups*spec.Banks), ranks: make([]rank, spec.Ranks),
		readers: map[uint64]int32{}, buffered: map[uint64]struct{}{}, freeWaiter: -1,
		refreshAt:        Time(t.REFI / spec.Ranks),
		readToWrite:      Time(t.CL + t.Burst - t.CWL + t.RTRS),
		readToWriteOther: Time(t.CL + t.Burst + t.RTRS - t.CWL),
		writeToReadS:     Time(t.CWL + t.Burst + t.WTRS),
		writeToReadL:     Time(t.CWL + t.Burst + t.WTRL),
		writeToReadOther: Time(t.CWL + t.Burst + t.RTRS - t.CL),
		writeToPrecharge: Time(t.CWL + t.Burst + t.WR),
	}
	for i := range c.banks {
		c.banks[i] = bank{row: closed, try: Never, queue: make([]transaction, 0, spec.BankQueue)}
	}
	for i := range c.ranks {
		c.ranks[i].groups = make([]rankGroup, spec.Groups)
		for j := range c.ranks[i].faw {
			c.ranks[i].faw[j] = math.MinInt64 / 2
		}
	}
	return c
}

// Refresh sets when the first refresh is: of gets the clock at which it is otherwise, and returns
// one from 1 to that. No clock may have passed.
func (c *Channel) Refresh(of func(most Time) Time) { c.refreshAt = of(c.refreshAt) }

// Counters returns the counters.
func (c *Channel) Counters() Counters { return c.counters }

// Clock is the next clock that Tick executes.
func (c *Channel) Clock() Time { return c.clock }

// Accepts tells whether a queue has a place.
func (c *Channel) Accepts(isWrite bool) bool {
	if isWrite {
		return len(c.writes) < c.spec.WriteQueue
	}
	return len(c.reads) < c.spec.ReadQueue
}

// Pending tells whether something is left to do but refreshes. Writes that stay in
// the buffer until there are more of them are not.
func (c *Channel) Pending() bool {
	return len(c.reads) > 0 || c.queued > 0 || c.results.n > 0 || c.mayDrain()
}

// Add gives the channel a line of its own before the Tick of the clock. A queue
// must have a place. Writes are finished with that.
func (c *Channel) Add(address uint64, at Place, isWrite bool, id uint64) {
	line := address / LineBytes
	if isWrite {
		if _, ok := c.buffered[line]; ok {
			c.counters.MergedWrites++
			return
		}
		c.buffered[line] = struct{}{}
		c.writes = append(c.writes, transaction{line, at, true})
		c.stuck = false
		return
	}
	if _, ok := c.buffered[line]; ok {
		c.counters.Forwarded++
		c.results.push(done{c.clock + Time(c.spec.Timing.Forward), id})
		return
	}
	i := c.freeWaiter
	if i >= 0 {
		c.freeWaiter = c.waiters[i].next
	} else {
		i = int32(len(c.waiters))
		c.waiters = append(c.waiters, waiter{})
	}
	first, merged := c.readers[line]
	if !merged {
		first = -1
		c.reads = append(c.reads, transaction{line, at, false})
		c.stuck = false
	} else {
		c.counters.MergedReads++
	}
	c.waiters[i] = waiter{id, first}
	c.readers[line] = i
}

// Next is the first clock at which Tick may do something, without further Adds.
func (c *Channel) Next() Time {
	next := c.refreshAt
	if len(c.due) > 0 {
		return c.clock
	}
	if !c.stuck && (len(c.reads) > 0 || c.mayDrain()) {
		return c.clock
	}
	if c.results.n > 0 {
		next = min(next, c.results.first().at)
	}
	if c.queued > 0 {
		for i := range c.banks {
			next = min(next, c.banks[i].try)
		}
	}
	return max(next, c.clock)
}

func (c *Channel) mayDrain() bool {
	return c.draining > 0 || len(c.writes) >= c.spec.WriteQueue || len(c.writes) > c.spec.DrainAbove && c.queued == 0
}

// SkipTo leaves out the clocks before t, which is not after Next.
func (c *Channel) SkipTo(t Time) { c.clock = max(c.clock, t) }

// Tick executes a clock: reads that are done return, a command is issued, a
// transaction moves to the queue of its bank.
func (c *Channel) Tick() {
	for c.results.n > 0 && c.results.first().at <= c.clock {
		d := c.results.pop()
		c.done(c.clock, d.id)
	}
	if c.clock == c.refreshAt {
		c.due = append(c.due, c.refreshRank)
		c.refreshRank = (c.refreshRank + 1) % int32(len(c.ranks))
		c.refreshAt += Time(c.spec.Timing.REFI / len(c.ranks))
	}
	if len(c.due) == 0 || !c.refreshStep(c.due[0]) {
		c.issue()
	}
	c.move()
	c.clock++
}

// perRank is the banks of a rank.
func (c *Channel) perRank() int { return c.spec.Groups * c.spec.Banks }

// refreshStep closes a bank of the rank, or refreshes it once all are closed. It
// tells whether it has issued a command.
func (c *Channel) refreshStep(r int32) bool {
	n := c.perRank()
	ready := 0
	for i := int(r) * n; i < (int(r)+1)*n; i++ {
		b := &c.banks[i]
		switch {
		case b.row != closed && c.clock >= b.next[precharge]:
			c.close(b)
			return true
		case b.row == closed && c.clock >= max(b.next[refresh], c.ranks[r].refresh):
			ready++
		}
	}
	if ready < n {
		return false
	}
	c.counters.Refreshes++
	c.ranks[r].refresh = c.clock + Time(c.spec.Timing.RFC)
	for i := int(r) * n; i < (int(r)+1)*n; i++ {
		b := &c.banks[i]
		b.next[activate] = max(b.next[activate], c.clock+Time(c.spec.Timing.RFC))
		b.try = c.clock
		if len(b.queue) == 0 {
			b.try = Never
		}
	}
	c.due = append(c.due[:0], c.due[1:]...)
	return true
}

func (c *Channel) close(b *bank) {
	c.counters.Precharges++
	b.row, b.hits = closed, 0
	t := c.clock + Time(c.spec.Timing.RP)
	b.next[activate] = max(b.next[activate], t)
	b.next[refresh] = max(b.next[refresh], t)
	b.try = c.clock
}

// issue goes round the bank queues from the one after the last visited, to the
// first that has a command ready.
func (c *Channel) issue() {
	if c.queued == 0 {
		return
	}
	skip := int32(-1)
	if len(c.due) > 0 {
		skip = c.due[0]
	}
	n := c.perRank()
	for k := 1; k <= len(c.banks); k++ {
		i := c.last + k
		if i >= len(c.banks) {
			i -= len(c.banks)
		}
		if c.banks[i].try > c.clock || skip >= 0 && i/n == int(skip) {
			continue
		}
		if c.issueFrom(i) {
			c.last = i
			return
		}
	}
}

// issueFrom issues the first command of a queue that is ready, and else notes when
// one may be.
func (c *Channel) issueFrom(i int) bool {
	b := &c.banks[i]
	if len(b.queue) == 0 {
		b.try = Never
		return false
	}
	r := &c.ranks[i/c.perRank()]
	g := &r.groups[i/c.spec.Banks%c.spec.Groups]
	if b.row == closed {
		at := max(b.next[activate], g.activate, r.faw[0]+Time(c.spec.Timing.FAW))
		if at > c.clock {
			b.try = at
			return false
		}
		c.open(b, r, g, b.queue[0].at.Row)
		return true
	}
	try := Never
	for k := range b.queue {
		t := &b.queue[k]
		if t.at.Row != b.row {
			// Only the oldest may close the row, if nothing waits for it, or enough was served.
			if k == 0 && (b.hits >= c.spec.HitLimit || !b.waitsFor(b.row)) {
				if b.next[precharge] <= c.clock {
					c.close(b)
					return true
				}
				try = min(try, b.next[precharge])
			}
			continue
		}
		kind := read
		if t.write {
			kind = write
			if b.readBefore(k) {
				continue
			}
		}
		at := max(b.next[kind], g.column[kind], r.next[kind])
		if at <= c.clock {
			c.column(b, r, g, k, kind)
			return true
		}
		try = min(try, at)
	}
	b.try = try
	return false
}

func (b *bank) waitsFor(row int32) bool {
	for i := range b.queue {
		if b.queue[i].at.Row == row {
			return true
		}
	}
	return false
}

// readBefore tells whether an older read of its line must go before the write.
func (b *bank) readBefore(k int) bool {
	for i := range k {
		if !b.queue[i].write && b.queue[i].line == b.queue[k].line {
			return true
		}
	}
	return false
}

func (c *Channel) open(b *bank, r *rank, g *rankGroup, row int32) {
	t := &c.spec.Timing
	c.counters.Activates++
	b.row, b.hits = row, 0
	b.next[activate] = max(b.next[activate], c.clock+Time(t.RAS+t.RP))
	b.next[read] = max(b.next[read], c.clock+Time(t.RCD))
	b.next[write] = max(b.next[write], c.clock+Time(t.RCD))
	b.next[precharge] = max(b.next[precharge], c.clock+Time(t.RAS))
	b.try = c.clock
	g.activate = max(g.activate, c.clock+Time(t.RRDL))
	for i := range r.groups {
		r.groups[i].activate = max(r.groups[i].activate, c.clock+Time(t.RRDS))
	}
	copy(r.faw[:], r.faw[1:])
	r.faw[3] = c.clock
}

func (c *Channel) column(b *bank, r *rank, g *rankGroup, k int, kind command) {
	t := &c.spec.Timing
	line := b.queue[k].line
	copy(b.queue[k:], b.queue[k+1:])
	b.queue = b.queue[:len(b.queue)-1]
	c.queued--
	c.stuck = false
	hit := b.hits > 0
	b.hits++
	var same, near, other [2]Time // to read, write: in the group, in the rank, in other ranks
	if kind == read {
		c.counters.Reads++
		if hit {
			c.counters.ReadHits++
		}
		same = [2]Time{Time(t.CCDL), c.readToWrite}
		near = [2]Time{Time(t.CCDS), c.readToWrite}
		other = [2]Time{Time(t.Burst + t.RTRS), c.readToWriteOther}
		b.next[precharge] = max(b.next[precharge], c.clock+Time(t.RTP))
		for i := c.readers[line]; i >= 0; {
			w := &c.waiters[i]
			c.results.push(done{c.clock + Time(t.CL+t.Burst), w.id})
			next := w.next
			w.next = c.freeWaiter
			c.freeWaiter = i
			i = next
		}
		delete(c.readers, line)
	} else {
		c.counters.Writes++
		if hit {
			c.counters.WriteHits++
		}
		same = [2]Time{c.writeToReadL, Time(t.CCDL)}
		near = [2]Time{c.writeToReadS, Time(t.CCDS)}
		other = [2]Time{c.writeToReadOther, Time(t.Burst)}
		b.next[precharge] = max(b.next[precharge], c.clock+c.writeToPrecharge)
		delete(c.buffered, line)
	}
	b.try = c.clock
	if len(b.queue) == 0 {
		b.try = Never
	}
	for i := range c.ranks {
		o := &c.ranks[i]
		d := &other
		if o == r {
			d = &near
		}
		o.next[read] = max(o.next[read], c.clock+d[read])
		o.next[write] = max(o.next[write], c.clock+d[write])
	}
	g.column[read] = max(g.column[read], c.clock+same[read])
	g.column[write] = max(g.column[write], c.clock+same[write])
}

// move takes the oldest transaction whose bank has room to its queue: reads, or
// writes while they are drained.
func (c *Channel) move() {
	if c.draining == 0 && c.mayDrain() {
		c.draining = len(c.writes)
		c.counters.Drains++
		c.stuck = false
	}
	if c.stuck {
		return
	}
	queue := &c.reads
	if c.draining > 0 {
		queue = &c.writes
	}
	c.stuck = true
	for k := range *queue {
		t := &(*queue)[k]
		i := (int(t.at.Rank)*c.spec.Groups+int(t.at.Group))*c.spec.Banks + int(t.at.Bank)
		b := &c.banks[i]
		if len(b.queue) >= c.spec.BankQueue {
			continue
		}
		c.stuck = false
		if t.write {
			// A read of the line that was accepted before must not see the write.
			if _, ok := c.readers[t.line]; ok {
				c.draining = 0
				return
			}
			c.draining--
		}
		b.queue = append(b.queue, *t)
		b.try = c.clock + 1
		c.queued++
		*queue = append((*queue)[:k], (*queue)[k+1:]...)
		return
	}
}

// ring is a queue of results. They are in order of time but for those that the
// write buffer serves.
type ring struct {
	list []done
	head int
	n    int
}

func (r *ring) first() *done { return &r.list[r.head] }

func (r *ring) pop() done {
	d := r.list[r.head]
	r.head = (r.head + 1) & (len(r.list) - 1)
	r.n--
	return d
}

func (r *ring) push(d done) {
	if r.n == len(r.list) {
		list := make([]done, max(16, 2*len(r.list)))
		for i := range r.n {
			list[i] = r.list[(r.head+i)&(len(r.list)-1)]
		}
		r.list, r.head = list, 0
	}
	mask := len(r.list) - 1
	i := r.n
	for i > 0 && r.list[(r.head+i-1)&mask].at > d.at {
		r.list[(r.head+i)&mask] = r.list[(r.head+i-1)&mask]
		i--
	}
	r.list[(r.head+i)&mask] = d
	r.n++
}
