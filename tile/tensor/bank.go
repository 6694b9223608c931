package tensor

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
)

// places is how many commands a controller has before it.
const places = 64

// task is a command of a bank.
type task struct {
	cycles  int64
	tree    int64 // of these, the first ones that the H-tree is taken
	shift   int32 // whose packets wait for it, -1 if none
	between bool  // a shift between tiles: it takes the H-tree
}

// bank is a tensor controller with the arrays and the H-tree of its bank.
type bank struct {
	chip     *Chip
	number   int
	queue    []task // that the core has yet to send
	part     *event.Component
	commands *event.Port[task] // from the core to the controller
	busy     bool
	current  task
	end, try event.Handler

	packetTree int64 // cycles of the H-tree for the data of a packet
	treeFree   int64 // from when on the H-tree is free

	// When the last command was done and the last packet had landed; how long commands
	// since the last barrier waited for the H-tree; how late the last packet was in the
	// mesh, and how long it waited to land.
	done, landed           int64
	waited                 int64
	lateMesh               int64 // of the packet that arrives
	landedMesh, landedWait int64
	land1                  event.Handler
}

func newBank(c *Chip, number int) (*bank, error) {
	b := &bank{chip: c, number: number}
	b.packetTree = int64((c.m.NoC.PacketBytes + c.m.HTree.BandwidthBytes - 1) / c.m.HTree.BandwidthBytes)
	var err error
	if b.commands, err = event.NewPort[task](c.engine, event.PortConfig{Places: places}); err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	b.commands.Arrived = func(event.Time) { b.next() }
	b.commands.Freed = func(event.Time) { b.feed() }
	b.part = c.engine.Component(BankName(number))
	b.part.Waits(func() string {
		if n := len(b.queue) + b.commands.Len(); b.busy || n > 0 {
			return fmt.Sprintf("the end of a command, with %d behind it", n)
		}
		return ""
	})
	b.end = b.part.Handle(func(now event.Time, _ uint64) {
		b.busy, b.done = false, now
		b.next()
	})
	b.try = b.part.Handle(func(event.Time, uint64) { b.start() })
	b.land1 = b.part.Handle(func(event.Time, uint64) { c.flying-- })
	return b, nil
}

// add puts a command behind those of the bank. Commands that stay in arrays meet nobody:
// neighbours among them are one.
func (b *bank) add(t task) {
	b.chip.Counters.Commands++
	if n := len(b.queue); n > 0 && !t.between && !b.queue[n-1].between {
		b.queue[n-1].cycles += t.cycles
		return
	}
	b.queue = append(b.queue, t)
	if len(b.queue) == 1 {
		b.feed()
	}
}

// feed sends commands to the controller while it has room for them.
func (b *bank) feed() {
	n := 0
	for n < len(b.queue) && b.commands.Send(b.queue[n]) {
		n++
	}
	if b.queue = b.queue[n:]; len(b.queue) == 0 {
		b.queue = nil
	}
}

// next takes the next command if the controller is idle.
func (b *bank) next() {
	if b.busy {
		return
	}
	t, ok := b.commands.Take()
	if !ok {
		return
	}
	b.busy, b.current = true, t
	b.start()
}

// start executes the current command, once the H-tree is free if it needs it.
func (b *bank) start() {
	e := b.chip.engine
	t := &b.current
	if t.between {
		if wait := b.treeFree - e.Now(); wait > 0 {
			b.chip.Counters.TreeWait += uint64(wait)
			b.waited += wait
			e.After(wait, b.try, 0)
			return
		}
		b.treeFree = e.Now() + t.tree
		if t.shift >= 0 {
			b.chip.started(t.shift)
		}
	}
	what := "in arrays"
	if t.between {
		what = "between tiles"
	}
	b.part.Span(what, e.Now(), t.cycles)
	e.After(t.cycles, b.end, 0)
}

// land takes a packet through the H-tree to the arrays.
func (b *bank) land() {
	e := b.chip.engine
	at := max(e.Now(), b.treeFree)
	wait := at - e.Now()
	b.chip.Counters.LandWait += uint64(wait)
	b.treeFree = at + b.packetTree
	if at >= b.landed {
		b.landed, b.landedMesh, b.landedWait = at, b.lateMesh, wait
	}
	e.At(at, b.land1, 0)
}
