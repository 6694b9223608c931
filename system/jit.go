package system

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/tile"
)

// repeat is what is kept of a plan from one lowering to the next.
type repeat struct {
	last     map[string]int64 // values of the symbols of the last time
	template *lowering.Template
	step     map[string]int64 // of the template, or of those before it
	used     bool             // the template was patched
	wasted   int              // templates in turn that were not
}

// maxWasted is how many templates of a plan in turn may be of no use before no more are
// made: values of its symbols follow no loop.
const maxWasted = 3

// lower returns the commands of a region: those made before if it was executed with the
// same values of the symbols that they depend on (section 4.2, memoization); those of the
// last time, patched, where a loop of the host goes on; else new ones.
func (r *runner) lower(ctx context.Context, p *lowering.Plan, values map[string]int64) ([]lowering.Command, error) {
	var key strings.Builder
	fmt.Fprintf(&key, "%p", p)
	for _, sym := range p.Symbols() {
		fmt.Fprintf(&key, " %d", values[sym])
	}
	if cmds, ok := r.commands.get(key.String()); ok {
		r.report.Memoized++
		return cmds, nil
	}
	start := time.Now()
	cmds, work, err := r.jit(p, values)
	if err != nil {
		return nil, err
	}
	r.report.LowerSeconds += time.Since(start).Seconds()
	if checkAlways {
		if err := r.checkCommands(p, values, cmds, work.Patching); err != nil {
			return nil, internal(err)
		}
	}
	if r.edit != nil {
		cmds = r.edit(slices.Clone(cmds))
	}
	switch {
	case work.Patching:
		r.report.Patched++
	case r.repeats[p].template != nil:
		r.commands.put(key.String(), slices.Clone(cmds)) // patching changes those of a template
	default:
		r.commands.put(key.String(), cmds)
	}
	return cmds, r.emit(ctx, &Work{Kind: Lowered, Plan: p, Commands: cmds, JIT: work})
}

// checkCommands checks commands, and that patched ones are those that lowering gives.
func (r *runner) checkCommands(p *lowering.Plan, values map[string]int64, cmds []lowering.Command, patched bool) error {
	if patched {
		want, err := p.Lower(nil, r.grid(), values)
		if err != nil {
			return err
		}
		if !slices.Equal(want, cmds) {
			return fmt.Errorf("system: %s: patched commands are not those that lowering gives", p.Graph.Name)
		}
	}
	return p.CheckCommands(r.grid(), cmds)
}

// jit patches the commands of a plan, or makes them, and says what that took. The second
// time that a plan is lowered tells what changes from one time to the next; from then on
// it has a template.
func (r *runner) jit(p *lowering.Plan, values map[string]int64) ([]lowering.Command, tile.JITWork, error) {
	k := r.repeats[p]
	firstOfRegion, firstOfProgram := k == nil, len(r.repeats) == 0
	if k == nil {
		k = &repeat{}
		r.repeats[p] = k
	}
	if k.template != nil {
		n, ok, err := k.template.Patch(values)
		if ok || err != nil {
			k.used, k.wasted = true, 0
			return k.template.Commands, tile.JITWork{Steps: n.Steps, Commands: n.Commands, Banks: n.Banks, Patching: true, Numbers: n.Numbers}, err
		}
		if !k.used {
			k.wasted++
			k.step = nil
		}
		k.template = nil
	}
	step := k.step
	if step == nil && k.last != nil {
		step = map[string]int64{}
		for _, sym := range p.Symbols() {
			if d := values[sym] - k.last[sym]; d != 0 {
				step[sym] = d
			}
		}
	}
	k.last = maps.Clone(values)
	var cmds []lowering.Command
	var err error
	if len(step) > 0 && k.wasted < maxWasted && r.opt.Machine.JIT.Patching {
		k.step, k.used = step, false
		if k.template, err = p.Template(r.grid(), values, step, r.opt.Machine.ArraysPerBank()); err == nil {
			cmds = k.template.Commands
		}
	} else {
		cmds, err = p.Lower(nil, r.grid(), values)
	}
	if err != nil {
		return nil, tile.JITWork{}, err
	}
	w := lowered(p, cmds, r.opt.Machine.ArraysPerBank())
	w.FirstOfRegion, w.FirstOfProgram = firstOfRegion, firstOfProgram
	return cmds, w, nil
}

// lowered counts what the lowering of a plan took: steps, commands, and banks that these
// are matched with (section 4.2, step 3).
func lowered(p *lowering.Plan, cmds []lowering.Command, perBank int) tile.JITWork {
	w := tile.JITWork{Steps: len(p.Steps), Commands: len(cmds)}
	var banks []int
	for i := range cmds {
		if k := cmds[i].Kind; k != lowering.Sync && k != lowering.Near {
			banks = lowering.Banks(banks[:0], cmds[i].Tiles, perBank)
			w.Banks += len(banks)
		}
	}
	return w
}
