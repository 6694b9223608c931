package system

import (
	"slices"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/tc"
)

// Forecast is what a graph would take in memory by closed forms, in cycles of an idle machine
// where nothing else is said. Nothing is executed.
type Forecast struct {
	Commands int64    // until the slowest bank has executed its own, with barriers
	Near     int64    // streams and last steps near the memory
	JIT      int64    // lowering anew
	Patch    int64    // lowering the next time: patches where the symbols change that commands depend on
	Symbols  []string // these
}

// Forecast returns that of a graph with a plan, for values of its symbols.
func (s *Session) Forecast(g *tdfg.Graph, values map[string]int64) (*Forecast, error) {
	r, p := s.r, s.r.plans[g]
	cmds, err := p.Lower(nil, r.grid(), values)
	if err != nil {
		return nil, err
	}
	m := r.opt.Machine
	f := &Forecast{Symbols: p.Symbols()}
	work := lowered(p, cmds, m.ArraysPerBank())
	f.JIT = m.JITCycles(work)
	if m.JIT.Patching {
		f.Patch = min(f.JIT, m.JITCycles(tile.JITWork{Patching: true, Numbers: work.Commands}))
	} else {
		f.Patch = f.JIT
	}
	return f, r.forecastCommands(p, cmds, values, f)
}

// Need is what of an array in memory would come to bitlines or to streams before a graph is executed.
type Need struct {
	Bytes int64 // that it reads, or writes in part
	Whole int64 // bytes of lines that it writes as a whole, and that come without theirs
	Banks int   // that have it then
}

// Needs returns what a graph needs of arrays that are not there, by their names.
func (s *Session) Needs(g *tdfg.Graph, values map[string]int64) map[string]Need {
	r, p, list := s.r, s.r.plans[g], map[string]Need{}
	for j, q := range p.Arrays {
		a := g.Arrays[j]
		if q.Bits == 0 && !streamed(g, a.Name) || a.Iota || r.entry(a.Name) >= 0 {
			continue
		}
		name := a.Name
		if a.View != nil {
			name = a.View.Of
		}
		bytes := r.m.Arrays[name].Bytes()
		if a.View != nil { // all lines that have one of its elements come
			step := int64(r.opt.Machine.L3.LineBytes / a.Type.Bytes())
			for _, x := range r.views[a.Name].lie.Step {
				if x != 0 {
					step = min(step, max(x, -x))
				}
			}
			bytes = min(bytes, r.elements(a)*step*int64(a.Type.Bytes()))
		}
		n := list[name]
		if fresh := r.fresh(g, j, values); fresh != nil {
			whole := min(bytes, fresh.size()*int64(a.Type.Bytes()))
			n.Whole += whole
			bytes -= whole
		}
		n.Bytes += bytes
		if n.Banks = r.opt.Machine.Banks(); q.Bits > 0 { // streams have theirs at home
			n.Banks = r.banksOf(n.Bytes+n.Whole, a.Type)
		}
		list[name] = n
	}
	return list
}

// Displaces returns the arrays on bitlines that go back before a graph is executed, since they are
// in its way.
func (s *Session) Displaces(g *tdfg.Graph) (list []Need) {
	r := s.r
	for _, a := range r.arrays {
		if r.entry(a.Name) < 0 || r.stays(a.Name, r.plans[g]) {
			continue
		}
		if v := r.views[a.Name]; v != nil && !v.stored {
			continue
		}
		if _, mem, err := r.lie(a); err == nil {
			list = append(list, Need{Bytes: mem.Bytes(), Banks: r.banksOf(mem.Bytes(), a.Type)})
		}
	}
	return list
}

// banksOf returns how many banks have bytes of an array on their bitlines.
func (r *runner) banksOf(bytes int64, typ scalar.Type) int {
	m := r.opt.Machine
	bank := int64(m.ArraysPerBank()*m.Array.Cols) * int64(typ.Bytes())
	return int(min(int64(m.Banks()), (bytes+bank-1)/bank))
}

// size returns how many elements are written and not read, at the most.
func (f *fresh) size() (n int64) {
	for _, b := range f.written {
		n += b.Size()
	}
	for _, b := range f.read {
		for _, w := range f.written {
			n -= b.Intersect(w).Size()
		}
	}
	return max(0, n)
}

// forecastCommands adds the cycles of commands, and those of steps near the memory among them.
func (r *runner) forecastCommands(p *lowering.Plan, cmds []lowering.Command, values map[string]int64, f *Forecast) error {
	m, t := r.opt.Machine, tile.NewTiming(r.opt.Machine)
	per := m.ArraysPerBank()
	busy := make([]int64, m.Banks())
	var banks []int
	for i := range cmds {
		k := &cmds[i]
		switch k.Kind {
		case lowering.Sync:
			f.Commands += slices.Max(busy) + t.Sync(m.Banks())
			clear(busy)
		case lowering.Near:
			f.Commands += slices.Max(busy)
			clear(busy)
			s := &p.Steps[k.Step]
			n := &p.Graph.Nodes[s.Node]
			switch s.Kind {
			case lowering.FinalStep:
				box, group, err := r.groups(p.Graph, n, values)
				if err != nil {
					return err
				}
				if !box.Empty() {
					inside, between := r.finalWalks(s, n, box, group)
					f.Near += walkCycles(m, inside) + walkCycles(m, between)
				}
			case lowering.StreamStep:
				g := n.Stream.Graph
				ops := r.streamOps(g, values)
				walks := r.streamWalks(p, g, values, ops)
				switch {
				case walks == nil && inTurn(g):
					walks = []tc.Walk{{Stops: []tc.Stop{{Ops: ops}}}}
				case walks == nil: // lines of arrays lie in all banks
					walks = []tc.Walk{{Stops: []tc.Stop{{Ops: vectors(ops, int64(m.Banks()))}}}}
				}
				f.Near += walkCycles(m, walks)
			case lowering.SpillStep, lowering.ReloadStep:
				reg := s.Src
				if s.Kind == lowering.ReloadStep {
					reg = s.Dst
				}
				if cmds := r.stash(p, int(k.Step)); cmds != nil {
					f.Near += stashCycles(m, t, &cmds[0])
				} else {
					f.Near += int64(float64(r.spillBytes(p.Graph, s, reg)) / m.DRAMBytesPerCycle())
				}
			}
		case lowering.ShiftInter:
			parts, _ := Sends(m, t, k)
			for _, x := range parts {
				busy[x.Bank] += x.Cycles
			}
		default:
			n, _ := localCycles(t, p, k)
			banks = lowering.Banks(banks[:0], k.Tiles, per)
			for _, b := range banks {
				busy[b] += n
			}
		}
	}
	f.Commands += slices.Max(busy)
	return nil
}

// walkCycles returns what walks take that begin together, in an idle network.
func walkCycles(m *tile.Machine, walks []tc.Walk) (longest int64) {
	t, rate, latency := tile.NewTiming(m), int64(max(1, m.Streams.L3.OpsPerCycle)), int64(m.CoreVariant().FPSIMDUnit().Cycles)
	hop := t.Latency(t.Diameter()/2, 1)
	banks := map[int]int64{}
	for i := range walks {
		n := 2 * hop
		for _, s := range walks[i].Stops {
			here := max(s.Tree, (s.Ops+rate-1)/rate, s.Chain*latency)
			banks[s.Bank] += max(s.Tree, (s.Ops+rate-1)/rate)
			n += int64(m.Streams.L3.ComputeInitCycles) + here + hop
			longest = max(longest, banks[s.Bank])
		}
		longest = max(longest, n)
	}
	return longest
}

// streamOps returns the SIMD operations of streams by the iterations of their loops, those whose
// bounds follow from data left out.
func (r *runner) streamOps(g *stream.Graph, values map[string]int64) (ops int64) {
	lanes := r.vectorised(g)
	g.Walk(func(loops []*stream.Loop, s *stream.Stream) {
		inside, n := map[string]int64{}, int64(1)
		for k, v := range values {
			inside[k] = v
		}
		for _, l := range loops {
			lo, err := l.Range.Lo.Eval(inside)
			hi, err2 := l.Range.Hi.Eval(inside)
			if err != nil || err2 != nil || l.Open {
				continue
			}
			step := max(l.Stride(), -l.Stride())
			n *= max(0, (hi-lo+step-1)/step)
			inside[l.Var] = (lo + hi) / 2
		}
		ops += vectors(n, lanes[s])
	})
	return ops
}
