package noc

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/stats"
)

// Attached is a network inside a discrete-event engine. The network runs ahead to
// each cycle in which a packet may be delivered and costs the engine no event while
// it is empty.
type Attached struct {
	net   *Network
	e     *event.Engine
	tick  event.Handler
	wake  event.ID
	due   int64 // cycle of wake, Never = none
	epoch int64 // cycle of the engine at cycle 0 of the network
}

// Attach is AttachAs with the name noc.
func Attach(e *event.Engine, n *Network) *Attached { return AttachAs(e, "noc", n) }

// AttachAs lets an engine run a network, which must be at cycle 0, as the component of
// a name, with its counters. OnDelivery is called in events of the cycle of the delivery,
// in the phase Deliver, or in an Inject before it; the Delivery gives cycles of the
// network, which are those of the engine if its clock stands at 0.
func AttachAs(e *event.Engine, name string, n *Network) *Attached {
	a := &Attached{net: n, e: e, due: Never, epoch: e.Now() - n.now}
	c := e.Component(name)
	c.Counters(&n.counters)
	e.Registry().Formula(name+".byteHops", stats.Byte, "bytes over links between routers, each counted once a link", func(s *stats.Snapshot) float64 {
		return s.Value(name+".flitHops") * float64(n.cfg.LinkBytes)
	})
	c.Waits(func() string {
		if n.Idle() {
			return ""
		}
		return fmt.Sprintf("the delivery of %d packets", n.counters.Injected-n.counters.Completed)
	})
	c.Check(n.Check)
	a.tick = c.HandleIn(event.Deliver, func(now event.Time, _ uint64) {
		a.due = Never
		a.net.prefetch()
		a.net.AdvanceTo(now - a.epoch)
		a.schedule()
	})
	return a
}

// Inject puts a packet into the queue of its source in the current cycle of the
// engine. Deliveries of this cycle that have not been told yet are told before.
func (a *Attached) Inject(p Packet) error {
	a.net.AdvanceTo(a.e.Now() - a.epoch)
	err := a.net.Inject(p)
	a.schedule()
	return err
}

// Network is the network, for its counters.
func (a *Attached) Network() *Network { return a.net }

// schedule makes the engine wake the network when something may be delivered.
func (a *Attached) schedule() {
	next := a.net.NextEvent()
	if next >= a.due {
		return
	}
	if a.due != Never {
		a.e.Cancel(a.wake)
	}
	a.due = next
	a.wake = a.e.At(next+a.epoch, a.tick, 0)
}
