package tensor

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/noc"
)

// Chip is the part of a machine that executes commands on arrays. It is for one
// goroutine.
type Chip struct {
	m      *tile.Machine
	engine *event.Engine
	banks  []*bank
	mesh   *noc.Attached
	shifts []shift
	unused []int32 // numbers of shifts that are done
	begin  event.Handler
	flying int // packets on their way, and to arrays
	err    error

	Counters Counters
}

// Counters say what happened, and what waited for what.
type Counters struct {
	Commands uint64 `json:"commands" desc:"commands that controllers took, one for each bank"`
	Packets  uint64 `json:"packets" desc:"packets that entered the mesh, a multicast once"`
	Arrivals uint64 `json:"arrivals" desc:"packets that arrived at banks"`

	TreeWait   uint64 `json:"tree_wait" unit:"Cycle" desc:"of shifts for an H-tree that packets had"`
	LandWait   uint64 `json:"land_wait" unit:"Cycle" desc:"of packets for an H-tree that a shift or packets had"`
	MeshWait   uint64 `json:"mesh_wait" unit:"Cycle" desc:"of packets in the mesh and its queues beyond the time without load"`
	Imbalance  uint64 `json:"dram_imbalance" unit:"Cycle" desc:"that the busiest channel of DRAM takes longer than the mean"`
	LateMesh   uint64 `json:"late_mesh" unit:"Cycle" desc:"that the last packets before barriers were later in the mesh than those of their shift alone would have been"`
	LateLand   uint64 `json:"late_land" unit:"Cycle" desc:"that the last packets before barriers waited for H-trees"`
	LateBanks  uint64 `json:"late_banks" unit:"Cycle" desc:"that the last banks before barriers had waited for H-trees"`
	MostFlying uint64 `json:"most_flying" desc:"packets on their way at a time, at most"`
}

// Part is what a bank does in a shift between tiles.
type Part struct {
	Bank   int
	Cycles int64 // until the controller goes on
	Tree   int64 // of these, the first ones that the H-tree is taken
}

// Flow is packets from one bank to another.
type Flow struct{ From, To, Packets int }

// New returns an idle chip at cycle 0.
func New(m *tile.Machine) (*Chip, error) {
	net, err := noc.New(m.NoCConfig())
	if err != nil {
		return nil, fmt.Errorf("tensor: %w", err)
	}
	c := &Chip{m: m, engine: event.New()}
	part := c.engine.Component("tensor")
	part.Counters(&c.Counters)
	part.Waits(func() string {
		if c.flying == 0 {
			return ""
		}
		return fmt.Sprintf("%d packets", c.flying)
	})
	c.mesh = noc.Attach(c.engine, net)
	net.OnDelivery = c.arrive
	for i := range m.Banks() {
		b, err := newBank(c, i)
		if err != nil {
			return nil, err
		}
		c.banks = append(c.banks, b)
	}
	c.begin = part.Handle(func(_ event.Time, number uint64) { c.send(int32(number)) })
	return c, nil
}

// Now is the cycle that has been reached.
func (c *Chip) Now() int64 { return c.engine.Now() }

// Local has a bank execute commands that stay in its arrays.
func (c *Chip) Local(bank int, cycles int64) { c.banks[bank].add(task{cycles: cycles, shift: -1}) }

// shift is a shift between tiles that some banks have yet to begin.
type shift struct {
	waiting   int // banks
	flows     []Flow
	multicast bool
	flits     int
	alone     int64 // cycles that the packets take if there are no others
	sent      int64 // cycle
	flying    int   // deliveries
}

// Shift has banks execute a shift between tiles. alone is when the last of its packets
// arrives, from their beginning, if there are no others. Flows are in the order of their
// banks; those of a multicast that have the same number of packets are one.
func (c *Chip) Shift(parts []Part, flows []Flow, multicast bool, alone int64) {
	number := int32(-1)
	if len(flows) > 0 {
		if n := len(c.unused); n > 0 {
			number = c.unused[n-1]
			c.unused = c.unused[:n-1]
		} else {
			number = int32(len(c.shifts))
			c.shifts = append(c.shifts, shift{})
		}
		c.shifts[number] = shift{waiting: len(parts), flows: flows, multicast: multicast, flits: tile.NewTiming(c.m).Flits(), alone: alone}
	}
	for _, p := range parts {
		c.banks[p.Bank].add(task{cycles: p.Cycles, tree: p.Tree, shift: number, between: true})
	}
}

// started tells that a bank has begun its part of a shift.
func (c *Chip) started(number int32) {
	s := &c.shifts[number]
	if s.waiting--; s.waiting == 0 {
		// Behind all that happens in this cycle at banks.
		c.engine.After(0, c.begin, uint64(number))
	}
}

// send puts the packets of a shift into the queues of the mesh.
func (c *Chip) send(number int32) {
	s := &c.shifts[number]
	s.sent = c.engine.Now()
	c.mesh.Current().Rest()
	for i := 0; i < len(s.flows); {
		f := &s.flows[i]
		j := i + 1
		for s.multicast && j < len(s.flows) && s.flows[j].From == f.From && s.flows[j].Packets == f.Packets {
			j++
		}
		p := noc.Packet{Src: f.From, Dst: f.To, Flits: s.flits, Tag: uint64(number)}
		if j > i+1 {
			for _, g := range s.flows[i:j] {
				p.Dsts = append(p.Dsts, g.To)
			}
		}
		for range f.Packets {
			if err := c.mesh.Inject(p); err != nil && c.err == nil {
				c.err = fmt.Errorf("tensor: %w", err)
				c.engine.Stop()
				return
			}
			c.Counters.Packets++
			s.flying += j - i
			c.flying += j - i
		}
		i = j
	}
	c.Counters.MostFlying = max(c.Counters.MostFlying, uint64(c.flying))
}

// arrive takes a packet out of the mesh to the H-tree of its bank.
func (c *Chip) arrive(d noc.Delivery) {
	s := &c.shifts[d.Tag]
	cfg := c.mesh.Network().Config()
	c.Counters.Arrivals++
	c.Counters.MeshWait += uint64(d.At - d.Injected - cfg.ZeroLoadLatency(d.Src, d.Dst, d.Flits))
	b := c.banks[d.Dst]
	b.lateMesh = max(0, d.At-s.sent-s.alone)
	b.land()
	if s.flying--; s.flying == 0 {
		s.flows = nil
		c.unused = append(c.unused, int32(d.Tag))
	}
}

// Wait runs until all commands are done and all packets have landed, and returns the
// cycle.
func (c *Chip) Wait(ctx context.Context) (int64, error) {
	if err := c.engine.Run(ctx, event.Forever); err != nil {
		return 0, err
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.engine.Now(), nil
}

// Barrier is Wait, and counts what made the last of all late. It returns the cycle at
// which the last bank was done too.
func (c *Chip) Barrier(ctx context.Context) (banks, all int64, err error) {
	if _, err = c.Wait(ctx); err != nil {
		return 0, 0, err
	}
	var lastBank, lastPacket *bank
	for _, b := range c.banks {
		if lastBank == nil || b.done > lastBank.done {
			lastBank = b
		}
		if lastPacket == nil || b.landed > lastPacket.landed {
			lastPacket = b
		}
	}
	all = max(lastBank.done, lastPacket.landed)
	if lastPacket.landed > lastBank.done {
		c.Counters.LateMesh += uint64(lastPacket.landedMesh)
		c.Counters.LateLand += uint64(lastPacket.landedWait)
	}
	c.Counters.LateBanks += uint64(lastBank.waited)
	for _, b := range c.banks {
		b.waited, b.landedMesh, b.landedWait = 0, 0, 0
	}
	return lastBank.done, all, nil
}

// Hold lets cycles pass after all is done, for what arrays wait for: a barrier, or the
// lowering on a core.
func (c *Chip) Hold(ctx context.Context, cycles int64) error {
	t, err := c.Wait(ctx)
	if err != nil {
		return err
	}
	if err := c.engine.Run(ctx, t+cycles); err != nil {
		return err
	}
	for _, b := range c.banks {
		b.done, b.landed = c.engine.Now(), c.engine.Now()
	}
	return nil
}

// BankName is the name of the component that is a bank.
func BankName(bank int) string { return fmt.Sprintf("tensor.bank[%d]", bank) }

// Engine is what runs the chip, for hooks that observe it and for its counters.
func (c *Chip) Engine() *event.Engine { return c.engine }

// Links returns what has gone over each link of the mesh.
func (c *Chip) Links() []noc.Link { return c.mesh.Current().Links() }

// ByteHops is the bytes of packets times the links between routers that they took.
func (c *Chip) ByteHops() int64 { return int64(c.mesh.Current().ByteHops()) }
