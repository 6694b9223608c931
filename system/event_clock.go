package system

import (
	"context"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/stats"
	"github.com/bitsched/bitsched/tile/tensor"
)

// eventDriven has components of an engine execute work: banks with their controllers and
// H-trees, the mesh that all packets share, and channels of DRAM. It gives what the
// analytic clock does where nothing waits for anything, and its counters say what
// waited. Lowering and barriers take the same cycles as there, by the same formulas.
type eventDriven struct {
	m      *tile.Machine
	timing tile.Timing
	trace  *Trace
	chip   *tensor.Chip
	mesh   *idleMesh // what packets would take without others
	cycles Cycles
	buf    []int
}

func newEventDriven(m *tile.Machine, t *Trace) (*eventDriven, error) {
	if t != nil {
		t.machine = m.Name
	}
	chip, err := tensor.New(m)
	if err != nil {
		return nil, err
	}
	c := &eventDriven{m: m, timing: tile.NewTiming(m), trace: t, chip: chip, mesh: newIdleMesh(m)}
	if t != nil {
		banks := map[string]track{}
		for b := range m.Banks() {
			banks[tensor.BankName(b)] = bankTrack + track(b)
		}
		chip.Engine().Attach(&event.Hooks{Span: func(part *event.Component, what string, start, cycles event.Time) {
			if on, ok := banks[part.Name()]; ok {
				t.add(on, what, start, cycles)
			}
		}})
	}
	return c, nil
}

func (c *eventDriven) Now(ctx context.Context) (int64, error) { return c.chip.Wait(ctx) }
func (c *eventDriven) Cycles() Cycles                         { return c.cycles }
func (c *eventDriven) ByteHops() int64                        { return c.chip.ByteHops() }

// Consume has the components execute a piece of work. Commands wait in queues until
// something needs all of them to be done.
func (c *eventDriven) Consume(ctx context.Context, w *Work) error {
	switch w.Kind {
	case Lowered:
		n := c.m.JITCycles(w.JIT)
		c.cycles.JIT += n
		return c.hold(ctx, hostTrack, "lower "+w.Plan.Graph.Name, n)
	case Transferred:
		t, err := c.chip.Wait(ctx)
		if err != nil {
			return err
		}
		n, err := c.chip.Transfer(ctx, w.lines()...)
		c.cycles.DRAM += n
		c.trace.add(dramTrack, w.Name, t, n)
		return err
	case Executed:
		for i := range w.Commands {
			if err := c.command(ctx, w.Plan, &w.Commands[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// hold has arrays wait for cycles after all is done.
func (c *eventDriven) hold(ctx context.Context, on track, what string, n int64) error {
	t, err := c.chip.Wait(ctx)
	if err != nil {
		return err
	}
	c.trace.add(on, what, t, n)
	c.trace.sample(t, c.chip.Links)
	return c.chip.Hold(ctx, n)
}

func (c *eventDriven) command(ctx context.Context, p *lowering.Plan, k *lowering.Command) error {
	switch k.Kind {
	case lowering.Sync:
		banks, all, err := c.chip.Barrier(ctx)
		if err != nil {
			return err
		}
		n := c.timing.Sync(c.m.Banks())
		c.cycles.Sync += all + n - banks
		return c.hold(ctx, hostTrack, "sync", n)
	case lowering.ShiftInter:
		parts, flows := shiftBetween(c.m, c.timing, k)
		longest, alone := int64(0), int64(0)
		for _, x := range parts {
			longest = max(longest, x.Cycles)
		}
		c.cycles.Inter += longest
		if len(flows) > 0 {
			d, err := c.mesh.drain(flows, k.Copies > 1)
			if err != nil {
				return err
			}
			alone = d.cycles
		}
		c.chip.Shift(parts, flows, k.Copies > 1, alone)
		return nil
	}
	n, part := localCycles(c.timing, p, k)
	*part(&c.cycles) += n
	c.buf = lowering.Banks(c.buf[:0], k.Tiles, c.m.ArraysPerBank())
	for _, b := range c.buf {
		c.chip.Local(b, n)
	}
	return nil
}

// waits returns what waited for what.
func (c *eventDriven) waits() *tensor.Counters { return &c.chip.Counters }

// counters returns what all components counted, once their checks have passed.
func (c *eventDriven) counters() (*stats.Snapshot, error) {
	e := c.chip.Engine()
	if err := e.Check(); err != nil {
		return nil, internal(err)
	}
	return e.Registry().Snapshot(e.Now()), nil
}
