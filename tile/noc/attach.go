package noc

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/stats"
)

// Attached is a network inside a discrete-event engine. It costs the engine no event while
// it is empty. A flit that leaves the last router is known some cycles before it arrives, so
// that the network stays that many cycles behind the engine and executes them in a row, with
// its state in the caches of the host.
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
// in the phase Deliver; the Delivery gives cycles of the network, which are those of the engine if its clock stands at 0.
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
		if t := now - a.epoch; t < n.now+int64(n.flight) {
			n.tellAll(t)
		} else {
			n.prefetch()
			n.AdvanceTo(t)
		}
		a.wakeAt(n.NextEvent())
	})
	return a
}

// Inject puts a packet into the queue of its source in the current cycle of the
// engine.
func (a *Attached) Inject(p Packet) error {
	least, err := a.net.injectAt(a.e.Now()-a.epoch, p)
	if err == nil {
		a.wakeAt(least)
	}
	return err
}

// Network is the network, some cycles behind the engine.
func (a *Attached) Network() *Network { return a.net }

// Queued is how many flits wait in a node for its link in the current cycle of the engine, or any
// lower number than most. It must not be called in OnDelivery.
func (a *Attached) Queued(node, most int) int {
	if n := a.net.Queued(node); n < most { // none comes by itself
		return n
	}
	return a.Current().Queued(node)
}

// Current is the network in the current cycle of the engine, for its counters. It must not
// be called in OnDelivery.
func (a *Attached) Current() *Network {
	a.net.AdvanceTo(a.e.Now() - a.epoch)
	return a.net
}

// wakeAt makes the engine wake the network at a cycle, or before.
func (a *Attached) wakeAt(next int64) {
	if next >= a.due {
		return
	}
	if a.due != Never {
		a.e.Cancel(a.wake)
	}
	a.due = next
	a.wake = a.e.At(next+a.epoch, a.tick, 0)
}
