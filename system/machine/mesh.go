package machine

import (
	"unsafe"

	"github.com/bitsched/bitsched/internal/prefetch"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/noc"
)

// mesh carries messages over the network-on-chip. Those within a node take a cycle.
type mesh struct {
	m           *Machine
	net         *noc.Network
	attached    *noc.Attached
	spec        *noc.Config
	controllers []int
	flits       [2]int // of a message without data, and with data
	nodes       int
	hops        []uint8 // from node to node
	pool        []*mem.Message
	free        []int32
	local       event.Handler
	counters    mem.NetworkCounters
	streams     near
	tensors     tensorNet
}

func newMesh(m *Machine, spec *Spec) (*mesh, error) {
	net, err := noc.New(*spec.Mesh)
	if err != nil {
		return nil, err
	}
	n := &mesh{m: m, net: net, spec: spec.Mesh, controllers: spec.Memory.Controllers}
	for i, size := range []int{mem.ControlBytes, mem.DataBytes} {
		n.flits[i] = n.spec.Flits(size)
	}
	n.nodes = n.spec.Nodes()
	n.hops = make([]uint8, n.nodes*n.nodes)
	for i := range n.hops {
		n.hops[i] = uint8(n.spec.Distance(i/n.nodes, i%n.nodes))
	}
	n.local = m.Engine.Handle(func(now event.Time, i uint64) { n.deliver(now, int32(i)) })
	m.Engine.Ahead(n.local, n.far, n.near)
	// Not at once: whoever receives may send, and the network is busy delivering.
	n.streams, n.tensors = near{m: m, engine: m.Engine}, tensorNet{m: m}
	net.OnDelivery = func(d noc.Delivery) {
		if d.Tag >= tensorTag {
			n.tensors.arrive(0, d.Dst, d.Tag-tensorTag)
			return
		}
		if d.Tag >= streamTag {
			n.streams.reached(d)
			return
		}
		prefetch.Lines(unsafe.Pointer(n.pool[d.Tag]), 1)
		m.Engine.After(0, n.local, d.Tag)
	}
	n.attached = noc.Attach(m.Engine, net)
	return n, nil
}

// far and near let caches see a message before they receive it.
func (n *mesh) far(i uint64) {
	switch m := n.pool[i]; {
	case m.To.Kind == mem.Core && m.To.Index < mem.MaxCores:
		n.m.Caches[m.To.Index].Far(m)
	case m.To.Kind == mem.Bank:
		n.m.Homes[m.To.Index].Far(m)
	}
}

func (n *mesh) near(i uint64) {
	switch m := n.pool[i]; {
	case m.To.Kind == mem.Core && m.To.Index < mem.MaxCores:
		n.m.Caches[m.To.Index].Near(m)
	case m.To.Kind == mem.Bank:
		n.m.Homes[m.To.Index].Near(m)
	}
}

func (n *mesh) node(p mem.Place) int {
	switch {
	case p.Kind == mem.Controller:
		return n.controllers[p.Index]
	case p.Kind == mem.Core:
		return int(p.Index) % mem.MaxCores // the stream engine of a bank is behind the cores
	}
	return int(p.Index)
}

// Send implements mem.Network.
func (n *mesh) Send(m *mem.Message) {
	n.counters.Count(m)
	var i int32
	if k := len(n.free); k > 0 {
		i, n.free = n.free[k-1], n.free[:k-1]
	} else {
		i = int32(len(n.pool))
		n.pool = append(n.pool, new(mem.Message))
	}
	*n.pool[i] = *m
	src, dst := n.node(m.From), n.node(m.To)
	if src == dst {
		n.m.Engine.After(1, n.local, uint64(i))
		return
	}
	flits := n.flits[0]
	if m.HasData {
		flits = n.flits[1]
	}
	n.counters.ByteHops[m.Class()] += uint64(flits * n.spec.LinkBytes * int(n.hops[src*n.nodes+dst]))
	if err := n.attached.Inject(noc.Packet{Src: src, Dst: dst, Flits: flits, Tag: uint64(i)}); err != nil {
		n.m.fail(err)
	}
}

func (n *mesh) deliver(now event.Time, i int32) {
	m := n.pool[i]
	n.m.receiver(m.To).Receive(now, m)
	n.free = append(n.free, i)
}
