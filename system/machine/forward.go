package machine

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// forward is a machine whose threads are executed without time.
type forward struct {
	m      *Machine
	queue  []mem.Message
	caches []mem.PrivateCounters // as they were
	homes  []mem.HomeCounters
	tlbs   []mem.TLBCounters
}

// Send implements mem.Network.
func (f *forward) Send(m *mem.Message) { f.queue = append(f.queue, *m) }

// settle delivers all messages. Controllers of memory answer at once.
func (f *forward) settle() {
	now := f.m.Engine.Now()
	for head := 0; head < len(f.queue); head++ {
		m := f.queue[head]
		if m.To.Kind != mem.Controller {
			f.m.receiver(m.To).Receive(now, &m)
			continue
		}
		answer := mem.Message{Kind: mem.MsgWriteAck, From: m.To, To: m.From, Line: m.Line}
		if m.Kind == mem.MsgRead {
			answer.Kind, answer.HasData, answer.Data = mem.MsgReadData, true, *f.m.Memory.Line(m.Line)
		} else {
			*f.m.Memory.Line(m.Line) = m.Data
		}
		f.queue = append(f.queue, answer)
	}
	f.queue = f.queue[:0]
}

// Pause lets cores fetch nothing more, and the machine run until nothing is under way.
// Until Resume, threads are executed by Forward.
func (m *Machine) Pause(ctx context.Context) error {
	for _, c := range m.Cores {
		c.Pause(true)
	}
	if err := m.Engine.Run(ctx, event.Forever); err != nil {
		return err
	}
	if m.err != nil {
		return m.err
	}
	for i, c := range m.Caches {
		if c.Pending() {
			return fmt.Errorf("machine: the caches of core %d still have something under way, and nothing happens any more", i)
		}
	}
	f := &forward{m: m}
	for _, c := range m.Caches {
		f.caches = append(f.caches, c.Counters)
		c.SetNetwork(f)
	}
	for i, h := range m.Homes {
		if h.Pending() {
			return fmt.Errorf("machine: bank %d still has something under way, and nothing happens any more", i)
		}
		f.homes = append(f.homes, h.Counters)
		h.SetNetwork(f, true)
	}
	for _, t := range m.TLBs {
		f.tlbs = append(f.tlbs, t.Counters)
	}
	m.forward = f
	return nil
}

// Forward executes about n micro-ops of the thread of a core without time, between Pause
// and Resume. Values, caches with the directory, TLBs and predictors are as after an
// execution in time, in the order in which threads are forwarded; counters stay.
func (m *Machine) Forward(core int, n uint64) (core.Forwarded, error) {
	caches := m.Caches[core]
	done, err := m.Cores[core].Forward(n, func(pc uint32, line mem.Line, write bool) *mem.Bytes {
		return caches.Warm(m.Engine.Now(), pc, m.spec.Pages.physical(line), write, m.forward.settle)
	})
	if err == nil {
		err = m.err
	}
	return done, err
}

// Resume lets cores go on in time.
func (m *Machine) Resume() {
	for i, c := range m.Caches {
		c.Counters = m.forward.caches[i]
		c.SetNetwork(m.net)
	}
	for i, h := range m.Homes {
		h.Counters = m.forward.homes[i]
		h.SetNetwork(m.net, false)
	}
	for i, t := range m.TLBs {
		t.Counters = m.forward.tlbs[i]
	}
	m.forward = nil
	for _, c := range m.Cores {
		c.Pause(false)
	}
}
