package event

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/tile/stats"
)

// Component is a named part of a model. Its name says where in a machine it is, such
// as system.l2[3], and is that of its counters.
type Component struct {
	e     *Engine
	name  string
	waits func() string
	check func() error
}

// Component makes a part of a model known by a name, which no other part may have.
func (e *Engine) Component(name string) *Component {
	if e.names[name] != nil {
		panic(fmt.Sprintf("event: two components %s", name))
	}
	c := &Component{e: e, name: name}
	e.names[name] = c
	e.parts = append(e.parts, c)
	return c
}

// Name returns the name, "" for what has none.
func (c *Component) Name() string { return c.name }

// Engine returns the engine that runs the component.
func (c *Component) Engine() *Engine { return c.e }

// Handle makes a function of the component known, which is called in the phase Act.
func (c *Component) Handle(f Func) Handler { return c.HandleIn(Act, f) }

// HandleIn makes a function of the component known that is called in a phase.
func (c *Component) HandleIn(p Phase, f Func) Handler {
	if p >= phases {
		panic(fmt.Sprintf("event: phase %d, expected Deliver, Act or Settle", p))
	}
	c.e.handlers = append(c.e.handlers, handler{f: f, phase: p})
	c.e.partOf = append(c.e.partOf, c)
	return Handler(len(c.e.handlers) - 1)
}

// Counters makes the counters of the component known, a struct as package stats has
// them, under its name.
func (c *Component) Counters(counters any) { c.e.registry.Register(c.name, counters) }

// Waits tells the engine how to ask what the component waits for: "" if it has nothing
// to do. When no event is left and a component waits, the model is stuck.
func (c *Component) Waits(f func() string) { c.waits = f }

// Check tells the engine how to ask whether the component is as it must be between two
// cycles; see [Engine.Check].
func (c *Component) Check(f func() error) { c.check = f }

// Span tells hooks that the component did something for some cycles.
func (c *Component) Span(what string, start, cycles Time) {
	for _, h := range c.e.hooks {
		if h.Span != nil {
			h.Span(c, what, start, cycles)
		}
	}
}

// Observed tells whether a hook takes spans, so that their names need not be made else.
func (c *Component) Observed() bool {
	for _, h := range c.e.hooks {
		if h.Span != nil {
			return true
		}
	}
	return false
}

// Components returns the components in the order in which they were made.
func (e *Engine) Components() []*Component { return append([]*Component(nil), e.parts...) }

// Registry returns the counters of all components, and of the engine.
func (e *Engine) Registry() *stats.Registry { return e.registry }

// Check asks all components whether they are as they must be between two cycles, and
// returns what is wrong with the first one.
func (e *Engine) Check() error {
	for _, c := range e.parts {
		if c.check == nil {
			continue
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("event: cycle %d: %s: %w", e.now, c.name, err)
		}
	}
	return nil
}

// ErrStuck is wrapped by the error of [Engine.Run] when no event is left and components
// wait for each other.
var ErrStuck = errors.New("nothing happens any more")

// maxWaits is how many components an error of a stuck model names.
const maxWaits = 8

// stuck says who waits for what, nil if nobody does.
func (e *Engine) stuck() error {
	var list []string
	more := 0
	for _, c := range e.parts {
		if c.waits == nil {
			continue
		}
		if what := c.waits(); what == "" {
			continue
		} else if len(list) < maxWaits {
			list = append(list, c.name+" waits for "+what)
		} else {
			more++
		}
	}
	if len(list) == 0 {
		return nil
	}
	text := strings.Join(list, "; ")
	if more > 0 {
		text += fmt.Sprintf("; and %d more wait", more)
	}
	return fmt.Errorf("event: cycle %d: %w: %s", e.now, ErrStuck, text)
}

// Hooks observe an engine from outside: traces, samples of counters, checks. They must
// not schedule events nor change parts. A nil function is not called.
type Hooks struct {
	// Event is called before each event; c is the component of the handler, whose
	// name is "" if it has none.
	Event func(now Time, c *Component, p Phase, arg uint64)
	// Cycle is called when time moves on, with the cycle that is over and the next
	// one in which something happens. Parts are at rest.
	Cycle func(over, next Time)
	// Span is called for what a component says it did.
	Span func(c *Component, what string, start, cycles Time)
}

// Attach lets hooks observe the engine from now on. The function that it returns ends that.
func (e *Engine) Attach(h *Hooks) (detach func()) {
	e.hooks = append(e.hooks, h)
	return func() {
		for i := range e.hooks {
			if e.hooks[i] == h {
				e.hooks = append(e.hooks[:i:i], e.hooks[i+1:]...)
				return
			}
		}
	}
}

// observe tells hooks of an event.
func (e *Engine) observe(now Time, c *Component, p Phase, arg uint64) {
	for _, h := range e.hooks {
		if h.Event != nil {
			h.Event(now, c, p, arg)
		}
	}
}

// CheckEvery returns hooks that check all components after each so many cycles in
// which something happened, and stop the engine at the first mistake, which err returns.
func (e *Engine) CheckEvery(cycles int) (h *Hooks, err func() error) {
	var found error
	left := cycles
	return &Hooks{Cycle: func(Time, Time) {
		if left--; left > 0 || found != nil {
			return
		}
		left = cycles
		if found = e.Check(); found != nil {
			e.Stop()
		}
	}}, func() error { return found }
}
