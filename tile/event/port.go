package event

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/stats"
)

// PortConfig is the shape of a Port.
type PortConfig struct {
	Places  int  // items that were sent and not yet taken, at most; at least 1
	Latency Time // cycles from Send to the arrival
	Credit  Time // cycles from Take until the sender can use the place
}

// PortStats are what a Port has done since it was made.
type PortStats struct {
	Sent    uint64      `desc:"items sent"`
	Refused uint64      `desc:"times that no place was free to send"`
	Taken   uint64      `desc:"items taken"`
	Used    stats.Level `desc:"places in use"`
}

// Port is a queue between two parts of a model. Items arrive in the order they
// were sent in. A place is in use from Send until its credit is back: a sender can
// be refused although the receiver has taken all.
type Port[T any] struct {
	// Arrived is called for each item when it arrives. The receiver need not take
	// it at once.
	Arrived func(now Time)
	// Freed is called when a place becomes free after Send was refused, once for
	// any number of refusals.
	Freed func(now Time)

	e              *Engine
	cfg            PortConfig
	items          []T // ring
	first          int
	arrived        int // items at the front that have arrived
	queued         int // items in the ring
	used           int // places
	refused        bool
	arrive, credit Handler
	stats          PortStats
}

// NewPort returns an empty port.
func NewPort[T any](e *Engine, cfg PortConfig) (*Port[T], error) {
	switch {
	case cfg.Places < 1:
		return nil, fmt.Errorf("event: port with %d places, expected at least 1", cfg.Places)
	case cfg.Latency < 0:
		return nil, fmt.Errorf("event: port with a latency of %d cycles, expected at least 0", cfg.Latency)
	case cfg.Credit < 0:
		return nil, fmt.Errorf("event: port with credits of %d cycles, expected at least 0", cfg.Credit)
	}
	p := &Port[T]{e: e, cfg: cfg, items: make([]T, cfg.Places)}
	// What a port brings is there before the parts act, unless it is sent in the same
	// cycle.
	phase := Deliver
	if cfg.Latency == 0 {
		phase = Act
	}
	p.arrive = e.unnamed.HandleIn(phase, func(now Time, _ uint64) {
		p.arrived++
		if p.Arrived != nil {
			p.Arrived(now)
		}
	})
	p.credit = e.Handle(func(now Time, _ uint64) {
		p.use(-1)
		if p.refused {
			p.refused = false
			if p.Freed != nil {
				p.Freed(now)
			}
		}
	})
	return p, nil
}

// Free is the number of places a sender can use.
func (p *Port[T]) Free() int { return p.cfg.Places - p.used }

// Len is the number of items that have arrived and are not taken.
func (p *Port[T]) Len() int { return p.arrived }

// Send sends an item, or returns false if no place is free.
func (p *Port[T]) Send(v T) bool {
	if p.used == p.cfg.Places {
		p.refused = true
		p.stats.Refused++
		return false
	}
	p.items[(p.first+p.queued)%len(p.items)] = v
	p.queued++
	p.use(1)
	p.stats.Sent++
	p.e.After(p.cfg.Latency, p.arrive, 0)
	return true
}

// Peek returns the first item that has arrived.
func (p *Port[T]) Peek() (v T, ok bool) {
	if p.arrived == 0 {
		return v, false
	}
	return p.items[p.first], true
}

// Take takes the first item that has arrived out of the port.
func (p *Port[T]) Take() (v T, ok bool) {
	if p.arrived == 0 {
		return v, false
	}
	var none T
	v, p.items[p.first] = p.items[p.first], none
	p.first = (p.first + 1) % len(p.items)
	p.arrived--
	p.queued--
	p.stats.Taken++
	p.e.After(p.cfg.Credit, p.credit, 0)
	return v, true
}

// use changes the number of places in use.
func (p *Port[T]) use(change int) {
	p.used += change
	p.stats.Used.Set(p.e.now, uint64(p.used))
}

// Stats returns the statistics, to be read or registered.
func (p *Port[T]) Stats() *PortStats { return &p.stats }
