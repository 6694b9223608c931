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

// Broken is a part of the protocol that a test leaves out, to see that it is missed.
type Broken string

// The parts.
const (
	NoLoadCheck    Broken = "loads of the core are not compared with ranges"
	NoStoreCheck   Broken = "stores of the core are not compared with ranges"
	NoStreamCheck  Broken = "ranges are not compared with each other"
	ShortRange     Broken = "a range ends one element early"
	LateRange      Broken = "a range begins one iteration late"
	EarlyCommit    Broken = "a range commits when it is credited, before the core has"
	NoPartCommit   Broken = "the part of a range that the core has committed is not written"
	NoDoneWait     Broken = "the state is restored before banks have written"
	NoEnd          Broken = "streams are not ended at banks"
	NoSquash       Broken = "the core keeps what it has not committed"
	DiscardWritten Broken = "what is not committed is written when streams end"
	RestoreLate    Broken = "the thread goes on one iteration late"
	RestoreEarly   Broken = "the thread goes on one iteration early"
	RestoreOld     Broken = "a reduction is restored from a range before"
	ForgetLoop     Broken = "the thread does not learn which loop has ended"
	NoHistory      Broken = "an alias is not remembered"
	PauseEarly     Broken = "streams are taken back before they have come to the end of their credit"
	PauseLate      Broken = "streams go on one range after where they were taken back"
	NoLock         Broken = "an update does not wait for a line that another stream has locked"
	NoRelease      Broken = "a line is not unlocked when its updates have been committed"
	ReaderWrites   Broken = "an update that changes its element shares the line with those that do not"
	MixInstances   Broken = "updates of an instance do not wait for those of the instance before"
	KeepLocks      Broken = "lines stay locked when streams end before their time"
	NoOrder        Broken = "requests of an indirect stream are taken as they come"
	OverShare      Broken = "a core uses more of a bank's buffer than it has"
	NoReturn       Broken = "a core does not give back what a bank has lent it"
	LendTwice      Broken = "a bank lends the same room twice"
	LateFinal      Broken = "what a reduction has come to is taken although its streams are being ended"
)

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

// switches gives the core another context, if streams of the loop are still there. One that has
// come back has a cycle to commit in.
func (c *Core) switches(now event.Time, group uint64) {
	if a := c.of(uint32(group)); a == nil || a.over() {
		return
	}
	if now > c.resumed+1 {
		c.end(now, Switch)
	}
	c.engine.At(now+c.inject.gap(), c.switching, group)
}
