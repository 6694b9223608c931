package machine

import (
	"slices"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/tc"
)

// tensorNet keeps the messages of tensor controllers that are under way.
type tensorNet struct {
	m       *Machine
	pool    []tensorMessage
	free    []uint64
	handler event.Handler
	known   bool
}

type tensorMessage struct {
	m    *tc.Message
	left int // destinations that have not got it
}

// tensorTag tells the messages of tensor controllers from others on the mesh.
const tensorTag = uint64(1) << 41

// nodeBits are those of a node in the argument of a delivery.
const nodeBits = 12

func (n *tensorNet) keep(m *tc.Message, left int) uint64 {
	if k := len(n.free); k > 0 {
		i := n.free[k-1]
		n.free = n.free[:k-1]
		n.pool[i] = tensorMessage{m, left}
		return i
	}
	n.pool = append(n.pool, tensorMessage{m, left})
	return uint64(len(n.pool) - 1)
}

// arrive delivers a message to a node after some cycles.
func (n *tensorNet) arrive(delay event.Time, node int, i uint64) {
	if !n.known {
		n.known = true
		n.handler = n.m.Engine.Handle(func(now event.Time, arg uint64) {
			i := arg >> nodeBits
			m := n.pool[i].m
			if n.pool[i].left--; n.pool[i].left == 0 {
				n.pool[i].m = nil
				n.free = append(n.free, i)
			}
			m.Of().Banks[arg&(1<<nodeBits-1)].ReceiveTensor(now, m)
		})
	}
	n.m.Engine.After(delay, n.handler, i<<nodeBits|uint64(node))
}

func (n *tensorNet) count(m *tc.Message) {
	t := &m.Of().Traffic
	t.Messages[m.Kind]++
	t.Bytes[m.Kind] += uint64(m.Bytes())
}

// SendTensor implements tc.Network, on a machine without a mesh.
func (n *tensorNet) SendTensor(m *tc.Message) {
	if f := n.m.InterceptTensor; f != nil && !f(m) {
		return
	}
	n.count(m)
	i := n.keep(m, len(m.To))
	for _, to := range m.To {
		n.arrive(1, to, i)
	}
}

// SendTensor implements tc.Network. Messages within a node take a cycle.
func (n *mesh) SendTensor(m *tc.Message) {
	if f := n.m.InterceptTensor; f != nil && !f(m) {
		return
	}
	n.tensors.count(m)
	i := n.tensors.keep(m, len(m.To))
	var far []int
	for _, to := range m.To {
		if to == m.From {
			n.tensors.arrive(1, to, i)
		} else {
			far = append(far, to)
		}
	}
	if len(far) == 0 {
		return
	}
	flits := n.spec.Flits(m.Bytes())
	m.Of().Traffic.ByteHops[m.Kind] += uint64(flits * n.spec.LinkBytes * n.spec.TreeLinks(m.From, far))
	p := noc.Packet{Src: m.From, Dst: far[0], Flits: flits, Tag: tensorTag | i}
	if len(far) > 1 {
		p.Dsts = slices.Clone(far)
	}
	if err := n.attached.Inject(p); err != nil {
		n.m.fail(err)
	}
}

// port is the caches of a core, with the register of its tensor controller.
type port struct {
	core.Memory
	tensor *tc.Core
}

// port returns what a core has in front of it: that of thread 0 of a program has the register.
func (m *Machine) port(number int, caches core.Memory) core.Memory {
	for i, s := range m.spec.Tensors {
		if number == s.Node {
			return &port{caches, m.Tensors[i]}
		}
	}
	return caches
}

// Own implements core.Memory.
func (p *port) Own(now event.Time, pc uint32, line mem.Line) bool {
	if owns, ok := p.tensor.Own(now, line); ok {
		return owns
	}
	return p.Memory.Own(now, pc, line)
}

// Write implements core.Memory.
func (p *port) Write(line mem.Line) *mem.Bytes {
	if b, ok := p.tensor.Write(line); ok {
		return b
	}
	return p.Memory.Write(line)
}

// Quiet reports whether no request of a core is under way, nor anything at a bank.
func (m *Machine) Quiet() bool {
	return !slices.ContainsFunc(m.Caches, (*mem.Private).Pending) && !slices.ContainsFunc(m.Homes, (*mem.Home).Pending)
}

// QuietCores reports whether no request of some cores is under way.
func (m *Machine) QuietCores(first, end int) bool {
	return !slices.ContainsFunc(m.Caches[first:end], (*mem.Private).Pending)
}

// BankOf is the bank that is the home of a line.
func (m *Machine) BankOf(line mem.Line) int { return int(m.bank(line)) }

// Interleave is the bytes that lie in a bank together.
func (m *Machine) Interleave() int { return m.interleave * mem.LineBytes }

// Share shares lines out to banks by so many bytes, a multiple of a line, before any is in a bank.
func (m *Machine) Share(bytes int) {
	m.interleave = bytes / mem.LineBytes
	m.bank = share(uint64(m.interleave), uint64(m.spec.Banks))
	for _, h := range m.Homes {
		h.Interleave(m.interleave)
	}
}

// Group numbers what lines of memory that follow each other should not share: the controller of a
// line, and the group of banks in its memory, which takes longer from one line to the next.
func (m *Machine) Group(line mem.Line) int {
	i := int(m.controller(line))
	if m.layout == nil {
		return i
	}
	return i*m.spec.Memory.DRAM.Groups + int(m.layout.Of(m.local(line)*mem.LineBytes).Group)
}

// Fail ends the run with an error.
func (m *Machine) Fail(err error) { m.fail(err) }
