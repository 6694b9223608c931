package se

import (
	"math"
	"math/rand/v2"

	"github.com/bitsched/bitsched/tile/event"
)

// Inject disturbs streams on purpose, to show that the state stays precise: each is a
// probability, and what follows from a seed is always the same.
type Inject struct {
	Alias  float64 // that an access of the core seems to be aliased with a stream
	Fault  float64 // that a page of a range cannot be accessed
	Switch float64 // that the core gets another context in a cycle
	Seed   uint64
}

// injector is what is injected into the streams of a core.
type injector struct {
	Inject
	rand *rand.Rand
}

func newInjector(x Inject, core int) *injector {
	return &injector{x, rand.New(rand.NewPCG(x.Seed, uint64(core)))}
}

// happens draws with a probability.
func (i *injector) happens(p float64) bool { return i != nil && p > 0 && i.rand.Float64() < p }

func (i *injector) alias() bool { return i != nil && i.happens(i.Alias) }
func (i *injector) fault() bool { return i != nil && i.happens(i.Fault) }

// gap is how many cycles pass until the next switch, 0 if there is none.
func (i *injector) gap() event.Time {
	if i == nil || i.Switch <= 0 {
		return 0
	}
	if i.Switch >= 1 {
		return 1
	}
	return 1 + event.Time(min(1e12, math.Log(1-i.rand.Float64())/math.Log(1-i.Switch)))
}

// switches gives the core another context, if streams of the loop are still there.
func (c *Core) switches(now event.Time, group uint64) {
	if a := c.of(uint32(group)); a == nil || a.over() {
		return
	}
	c.end(now, Switch)
	c.engine.At(now+c.inject.gap(), c.switching, group)
}
