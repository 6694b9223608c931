package machine

import (
	"slices"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/se"
)

// near keeps the messages of stream engines that are under way.
type near struct {
	m       *Machine
	engine  *event.Engine
	pool    []*se.Message
	free    []uint64
	handler event.Handler
	known   bool
}

// streamTag tells the messages of stream engines from others on the mesh.
const streamTag = uint64(1) << 40

func (n *near) keep(m *se.Message) uint64 {
	if k := len(n.free); k > 0 {
		i := n.free[k-1]
		n.free = n.free[:k-1]
		n.pool[i] = m
		return i
	}
	n.pool = append(n.pool, m)
	return uint64(len(n.pool) - 1)
}

// arrive delivers a message after some cycles.
func (n *near) arrive(delay event.Time, i uint64) {
	if !n.known {
		n.known = true
		n.handler = n.engine.Handle(func(now event.Time, i uint64) {
			m := n.pool[i]
			n.pool[i] = nil
			n.free = append(n.free, i)
			if m.ToCore() {
				n.m.StreamCores[m.To].ReceiveStream(now, m)
			} else {
				n.m.StreamBanks[m.To].ReceiveStream(now, m)
			}
		})
	}
	n.engine.After(delay, n.handler, i)
}

// count counts a message.
func (n *near) count(m *se.Message) {
	c := &n.m.StreamTraffic
	c.Messages[m.Kind]++
	c.Bytes[m.Kind] += uint64(m.Bytes())
}

// SendStream implements se.Network, on a machine without a mesh.
func (n *near) SendStream(m *se.Message) {
	if f := n.m.Intercept; f != nil && !f(m) {
		return
	}
	if m.Kind != se.MsgBroadcast {
		n.local(m)
		return
	}
	n.count(m)
	for _, bank := range m.Banks() {
		n.arrive(1, n.keep(m.For(bank)))
	}
}

// Queued implements se.Network: nothing waits.
func (n *near) Queued(int, int) int { return 0 }

// Queued implements se.Network.
func (n *mesh) Queued(node, most int) int { return n.attached.Queued(node, most) }

// local sends a message within a node.
func (n *near) local(m *se.Message) {
	n.count(m)
	n.arrive(1, n.keep(m))
}

// SendStream implements se.Network. Messages within a node take a cycle, as instant ones do.
func (n *mesh) SendStream(m *se.Message) {
	if f := n.m.Intercept; f != nil && !f(m) {
		return
	}
	if m.Kind == se.MsgBroadcast {
		n.multicast(m)
		return
	}
	if m.From == m.To || n.m.spec.Streams.Instant[m.Kind] {
		n.streams.local(m)
		return
	}
	n.streams.count(m)
	flits := n.spec.Flits(m.Bytes())
	n.m.StreamTraffic.ByteHops[m.Kind] += uint64(flits * n.spec.LinkBytes * n.spec.Distance(m.From, m.To))
	if err := n.attached.Inject(noc.Packet{Src: m.From, Dst: m.To, Flits: flits, Tag: streamTag | n.streams.keep(m)}); err != nil {
		n.m.fail(err)
	}
}

// multicast sends a message of streams to several banks, along a tree.
func (n *mesh) multicast(m *se.Message) {
	n.streams.count(m)
	banks := m.Banks()
	if k := slices.Index(banks, m.From); k >= 0 {
		n.streams.arrive(1, n.streams.keep(m.For(m.From)))
		banks = slices.Delete(banks, k, k+1)
	}
	if len(banks) == 0 {
		return
	}
	flits := n.spec.Flits(m.Bytes())
	n.m.StreamTraffic.ByteHops[m.Kind] += uint64(flits * n.spec.LinkBytes * n.spec.TreeLinks(m.From, banks))
	if err := n.attached.Inject(noc.Packet{Src: m.From, Dsts: banks, Flits: flits, Tag: streamTag | n.streams.keep(m)}); err != nil {
		n.m.fail(err)
	}
}

// reached delivers a message of streams that has come to a node, and to others if it is a multicast.
func (n *near) reached(d noc.Delivery) {
	i := d.Tag - streamTag
	m := n.pool[i]
	if m.Kind != se.MsgBroadcast {
		n.arrive(0, i)
		return
	}
	if d.Last {
		n.pool[i] = nil
		n.free = append(n.free, i)
	}
	n.arrive(0, n.keep(m.For(d.Dst)))
}
