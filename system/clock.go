package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/noc"
)

// clock counts the cycles of what is executed in memory. Banks execute commands one
// after another, each by itself; a Sync waits for all of them and for the packets
// between them.
type clock struct {
	m      *tile.Machine
	timing tile.Timing
	report *Report
	trace  *Trace
	busy   []int64 // when each bank is done
	arrive int64   // when the last packet between banks arrives
	drains map[string]drain

	lowered map[*lowering.Plan]bool
	kernels map[*sram.Kernel]cost.Kinds // instructions of each
}

// drain is what the network makes of packets that start together.
type drain struct {
	cycles   int64
	byteHops uint64
}

func newClock(m *tile.Machine, r *Report, t *Trace) *clock {
	if t != nil {
		t.machine = m.Name
	}
	return &clock{m: m, timing: tile.NewTiming(m), report: r, trace: t, busy: make([]int64, m.Banks()), drains: map[string]drain{}, lowered: map[*lowering.Plan]bool{}, kernels: map[*sram.Kernel]cost.Kinds{}}
}

// now returns when all banks are done.
func (c *clock) now() int64 {
	t := c.arrive
	for _, b := range c.busy {
		t = max(t, b)
	}
	return t
}

// all makes all banks wait until a time.
func (c *clock) all(t int64) {
	for b := range c.busy {
		c.busy[b] = t
	}
	c.arrive = t
}

// jit counts the lowering of a plan to commands. Cores do it while memory waits.
func (c *clock) jit(p *lowering.Plan, cmds []lowering.Command) {
	var banks []int
	w := tile.JITWork{Steps: len(p.Steps), Commands: len(cmds), FirstOfRegion: !c.lowered[p], FirstOfProgram: len(c.lowered) == 0}
	c.lowered[p] = true
	for i := range cmds {
		if k := cmds[i].Kind; k != lowering.Sync && k != lowering.Near {
			banks = lowering.Banks(banks[:0], cmds[i].Tiles, c.m.ArraysPerBank())
			w.Banks += len(banks)
		}
	}
	n := c.m.JITCycles(w)
	t := c.now()
	c.all(t + n)
	c.report.Cycles.JIT += n
	c.trace.add(hostTrack, "lower "+p.Graph.Name, t, n)
}

// dram counts the transfer of bytes between memory and arrays, through the tensor
// transpose units, which keep up with it: a cycle to begin, and the whole cycles of
// the bytes. load says that they go to arrays.
func (c *clock) dram(what string, bytes int64, load bool) {
	n := int64(float64(bytes)/c.m.DRAMBytesPerCycle()) + 1
	t := c.now()
	c.all(t + n)
	c.report.Cycles.DRAM += n
	c.report.DRAMBytes += bytes
	if load {
		c.report.LoadBytes += bytes
	}
	c.trace.add(dramTrack, what, t, n)
}

// commands counts commands that were executed.
func (c *clock) commands(ctx context.Context, p *lowering.Plan, cmds []lowering.Command) error {
	var banks []int
	for i := range cmds {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := &cmds[i]
		c.report.Commands++
		c.instructions(p, k)
		switch k.Kind {
		case lowering.Sync:
			busy := slices.Max(c.busy)
			t := max(busy, c.arrive)
			n := c.timing.Sync(c.m.Banks())
			c.report.Cycles.Sync += t + n - busy
			c.report.Syncs++
			c.trace.add(hostTrack, "sync", t, n)
			c.all(t + n)
			continue
		case lowering.ShiftInter:
			if err := c.inter(p, k); err != nil {
				return err
			}
			continue
		}
		n, group := c.local(p, k)
		banks = lowering.Banks(banks[:0], k.Tiles, c.m.ArraysPerBank())
		for _, b := range banks {
			c.trace.bank(b, k, p, c.busy[b], n)
			c.busy[b] += n
		}
		*group += n
		lanes := int64(k.Tiles.Len())
		if k.Whole {
			lanes *= int64(c.m.Array.Cols)
		} else {
			lanes *= int64(k.Bitlines.Len())
		}
		if k.Kind == lowering.ShiftIntra {
			c.report.IntraBytes += lanes * int64(k.Rows) / 8
		}
		if k.Kind == lowering.Compute {
			c.report.Operations += lanes
		}
		c.report.RowOps += n * int64(k.Tiles.Len())
	}
	return nil
}

// local returns the cycles of a command that stays within arrays, and the counter
// that they belong to.
func (c *clock) local(p *lowering.Plan, k *lowering.Command) (int64, *int64) {
	switch k.Kind {
	case lowering.Compute:
		return c.timing.Compute(p.Steps[k.Step].Code.Kernel()), &c.report.Cycles.Compute
	case lowering.Fill:
		return c.timing.Constant(int(k.Rows)), &c.report.Cycles.Compute
	case lowering.Copy:
		return c.timing.IntraShift(int(k.Rows), 0), &c.report.Cycles.Move
	}
	return c.timing.IntraShift(int(k.Rows), int(k.BitlineDist)), &c.report.Cycles.Move
}

// inter counts a shift between tiles: what leaves each bank goes through its H-tree
// and, if it goes to another bank, as packets through the network.
func (c *clock) inter(p *lowering.Plan, k *lowering.Command) error {
	lines := c.m.Array.Cols
	if !k.Whole {
		lines = k.Bitlines.Len()
	}
	per := c.m.ArraysPerBank()
	local, remote := make([]int, len(c.busy)), make([]int, len(c.busy)) // bitlines that leave their tile
	targets := make([]map[int]int, len(c.busy))                         // banks that get them, and how many
	for t := range k.Tiles.All() {
		from := t / per
		leaves := false
		last := -1
		for i := range int(k.Copies) {
			to := (t + int(k.TileDist) + i*int(k.TileStride)) / per
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
	}
	var flows []flow
	start := int64(-1)
	longest := int64(0)
	for b := range c.busy {
		if local[b]+remote[b] == 0 {
			continue
		}
		n := c.timing.InterTile(int(k.Rows), local[b], remote[b])
		c.trace.bank(b, k, p, c.busy[b], n)
		for to := range c.busy { // in order, whatever the map
			if bitlines := targets[b][to]; bitlines > 0 {
				flows = append(flows, flow{b, to, c.timing.Packets(int(k.Rows), bitlines)})
			}
		}
		start = max(start, c.busy[b])
		c.busy[b] += n
		longest = max(longest, n)
		c.report.InterBytes += int64(local[b]+remote[b]) * int64(k.Rows) / 8
	}
	c.report.Cycles.Inter += longest
	if len(flows) == 0 {
		return nil
	}
	d, err := c.network(flows, k.Copies > 1)
	if err != nil {
		return err
	}
	c.arrive = max(c.arrive, start+d.cycles)
	c.report.ByteHops += int64(d.byteHops)
	return nil
}

// flow is packets from one bank to another.
type flow struct{ from, to, packets int }

// network simulates packets that all banks start to send at the same time, and
// returns when the last one arrives. The packets of a broadcast are multicasts.
func (c *clock) network(flows []flow, multicast bool) (drain, error) {
	key := fmt.Sprint(multicast, flows)
	if d, ok := c.drains[key]; ok {
		return d, nil
	}
	n, err := noc.New(c.m.NoCConfig())
	if err != nil {
		return drain{}, fmt.Errorf("system: %w", err)
	}
	var last int64
	n.OnDelivery = func(d noc.Delivery) { last = max(last, d.At) }
	flits := c.timing.Flits()
	for i := 0; i < len(flows); {
		j := i + 1
		for multicast && j < len(flows) && flows[j].from == flows[i].from && flows[j].packets == flows[i].packets {
			j++
		}
		p := noc.Packet{Src: flows[i].from, Dst: flows[i].to, Flits: flits}
		if j > i+1 {
			for _, f := range flows[i:j] {
				p.Dsts = append(p.Dsts, f.to)
			}
		}
		for range flows[i].packets {
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
	const keep = 1 << 14
	if len(c.drains) < keep {
		c.drains[key] = d
	}
	return d, nil
}
