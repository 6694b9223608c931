package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/noc"
	"github.com/bitsched/bitsched/tile/tensor"
)

// analytic counts cycles without going through them. Banks execute commands one
// after another, each by itself; a Sync waits for all of them and for the packets
// between them, which are simulated for each shift as if there were no others.
type analytic struct {
	m        *tile.Machine
	timing   tile.Timing
	trace    *Trace
	busy     []int64 // when each bank is done
	arrive   int64   // when the last packet between banks arrives
	mesh     *idleMesh
	cycles   Cycles
	byteHops int64
	region   int64 // when it began
}

// drain is what the network makes of packets that start together.
type drain struct {
	cycles   int64
	byteHops uint64
}

// keptDrains is how many drains are kept for when the same packets are sent again.
const keptDrains = 1 << 14

func newAnalytic(m *tile.Machine, t *Trace) *analytic {
	if t != nil {
		t.machine = m.Name
	}
	return &analytic{m: m, timing: tile.NewTiming(m), trace: t, busy: make([]int64, m.Banks()), mesh: newIdleMesh(m)}
}

func (c *analytic) Now(context.Context) (int64, error) { return c.now(), nil }
func (c *analytic) Cycles() Cycles                     { return c.cycles }
func (c *analytic) ByteHops() int64                    { return c.byteHops }

// Consume gives a piece of work its time.
func (c *analytic) Consume(ctx context.Context, w *Work) error {
	switch w.Kind {
	case RegionBegins:
		c.region = c.now()
	case RegionEnds:
		c.trace.add(regionTrack, w.Name, c.region, c.now()-c.region)
	case RegionNear:
		c.trace.add(regionTrack, w.Name+" near the memory, not timed", c.now(), 0)
	case Lowered:
		n, t := c.m.JITCycles(w.JIT), c.now()
		c.all(t + n)
		c.cycles.JIT += n
		c.trace.add(hostTrack, "lower "+w.Plan.Graph.Name, t, n)
	case Transferred:
		n, t := transferCycles(c.m, w.Bytes), c.now()
		c.all(t + n)
		c.cycles.DRAM += n
		c.trace.add(dramTrack, w.Name, t, n)
	case Executed:
		return c.commands(ctx, w.Plan, w.Commands)
	}
	return nil
}

// now returns when all banks are done.
func (c *analytic) now() int64 { return max(slices.Max(c.busy), c.arrive) }

// all makes all banks wait until a time.
func (c *analytic) all(t int64) {
	for b := range c.busy {
		c.busy[b] = t
	}
	c.arrive = t
}

// transferCycles returns the cycles of the transfer of bytes between memory and arrays,
// through the tensor transpose units, which keep up with it: a cycle to begin, and the
// whole cycles of the bytes.
func transferCycles(m *tile.Machine, bytes int64) int64 {
	return int64(float64(bytes)/m.DRAMBytesPerCycle()) + 1
}

// commands gives commands their time.
func (c *analytic) commands(ctx context.Context, p *lowering.Plan, cmds []lowering.Command) error {
	var banks []int
	for i := range cmds {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := &cmds[i]
		switch k.Kind {
		case lowering.Sync:
			busy := slices.Max(c.busy)
			t := max(busy, c.arrive)
			n := c.timing.Sync(c.m.Banks())
			c.cycles.Sync += t + n - busy
			c.trace.add(hostTrack, "sync", t, n)
			c.all(t + n)
			continue
		case lowering.ShiftInter:
			if err := c.inter(p, k); err != nil {
				return err
			}
			continue
		}
		n, part := localCycles(c.timing, p, k)
		banks = lowering.Banks(banks[:0], k.Tiles, c.m.ArraysPerBank())
		for _, b := range banks {
			c.trace.bank(b, k, p, c.busy[b], n)
			c.busy[b] += n
		}
		*part(&c.cycles) += n
	}
	return nil
}

// shiftBetween returns what banks do in a shift between tiles: what leaves each goes
// through its H-tree and, if it goes to another bank, as packets through the network.
func shiftBetween(m *tile.Machine, timing tile.Timing, k *lowering.Command) (parts []tensor.Part, flows []tensor.Flow) {
	lines := m.Array.Cols
	if !k.Whole {
		lines = k.Bitlines.Len()
	}
	per, banks := m.ArraysPerBank(), m.Banks()
	local, remote := make([]int, banks), make([]int, banks) // bitlines that leave their tile
	targets := make([]map[int]int, banks)                   // banks that get them, and how many
	climbs := make([]*tile.Climb, banks)                    // where leaves of an H-tree are slower than it
	for t := range k.Tiles.All() {
		from := t / per
		leaves := false
		last := -1
		if m.HTree.LeafBytes > 0 && climbs[from] == nil {
			climbs[from] = m.NewClimb()
		}
		climb, level := climbs[from], -1
		for i := range int(k.Copies) {
			target := t + int(k.TileDist) + i*int(k.TileStride)
			if climb != nil {
				level = max(level, climb.Level(t, target))
			}
			to := target / per
			if to == from || to == last {
				continue
			}
			last, leaves = to, true
			if targets[from] == nil {
				targets[from] = map[int]int{}
			}
			targets[from][to] += lines
		}
		if leaves {
			remote[from] += lines
		} else {
			local[from] += lines
		}
		if climb != nil {
			climb.Add(t, level)
		}
	}
	bits := int(k.Rows)
	for b := range banks {
		if local[b]+remote[b] == 0 {
			continue
		}
		tree := timing.HTree(bits, local[b]+remote[b])
		taken := tree - int64(m.HTree.Levels)
		if climbs[b] != nil {
			tree = timing.Climb(climbs[b], bits, lines)
			taken = tree
		}
		parts = append(parts, tensor.Part{Bank: b, Cycles: timing.InterTile(tree, bits, remote[b]), Tree: taken})
		for to := range banks { // in order, whatever the map
			if bitlines := targets[b][to]; bitlines > 0 {
				flows = append(flows, tensor.Flow{From: b, To: to, Packets: timing.Packets(bits, bitlines)})
			}
		}
	}
	return parts, flows
}

// inter gives a shift between tiles its time.
func (c *analytic) inter(p *lowering.Plan, k *lowering.Command) error {
	parts, flows := shiftBetween(c.m, c.timing, k)
	start, longest := int64(-1), int64(0)
	for _, x := range parts {
		c.trace.bank(x.Bank, k, p, c.busy[x.Bank], x.Cycles)
		start = max(start, c.busy[x.Bank])
		c.busy[x.Bank] += x.Cycles
		longest = max(longest, x.Cycles)
	}
	c.cycles.Inter += longest
	if len(flows) == 0 {
		return nil
	}
	d, err := c.mesh.drain(flows, k.Copies > 1)
	if err != nil {
		return err
	}
	c.arrive = max(c.arrive, start+d.cycles)
	c.byteHops += int64(d.byteHops)
	return nil
}

// idleMesh simulates the packets of one shift in a network without others.
type idleMesh struct {
	m      *tile.Machine
	flits  int
	drains *lru[drain]
}

func newIdleMesh(m *tile.Machine) *idleMesh {
	return &idleMesh{m, tile.NewTiming(m).Flits(), newLRU[drain](1 + invariants.Pick(4, keptDrains-1))}
}

// drain returns when the last of packets arrives that all banks start to send at the same
// time. The packets of a broadcast are multicasts.
func (c *idleMesh) drain(flows []tensor.Flow, multicast bool) (drain, error) {
	key := fmt.Sprint(multicast, flows)
	if d, ok := c.drains.get(key); ok {
		return d, nil
	}
	n, err := noc.New(c.m.NoCConfig())
	if err != nil {
		return drain{}, fmt.Errorf("system: %w", err)
	}
	var last int64
	n.OnDelivery = func(d noc.Delivery) { last = max(last, d.At) }
	for i := 0; i < len(flows); {
		j := i + 1
		for multicast && j < len(flows) && flows[j].From == flows[i].From && flows[j].Packets == flows[i].Packets {
			j++
		}
		p := noc.Packet{Src: flows[i].From, Dst: flows[i].To, Flits: c.flits}
		if j > i+1 {
			for _, f := range flows[i:j] {
				p.Dsts = append(p.Dsts, f.To)
			}
		}
		for range flows[i].Packets {
			if err := n.Inject(p); err != nil {
				return drain{}, fmt.Errorf("system: %w", err)
			}
		}
		i = j
	}
	for !n.Idle() {
		t := n.NextEvent()
		if t == noc.Never {
			break
		}
		n.AdvanceTo(t)
	}
	d := drain{last, n.ByteHops()}
	c.drains.put(key, d)
	return d, nil
}
