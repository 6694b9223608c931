package interp

import (
	"context"
	"fmt"
	"maps"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/memory"
)

// Run executes a program. sizes has values for its sizes, and m its arrays and the
// scalars that are inputs; the others get their initial values. An error, that of
// the context included, leaves the arrays half done.
func Run(ctx context.Context, p *tdfg.Program, sizes map[string]int64, m *memory.Memory, opt Options) error {
	values := maps.Clone(sizes)
	if values == nil {
		values = map[string]int64{}
	}
	for _, sym := range p.Sizes {
		v, ok := values[sym.Name]
		if !ok {
			return fmt.Errorf("interp: %s: no value for %s", p.Name, sym.Name)
		}
		lo, err := sym.Lo.Eval(values)
		if err != nil {
			return fmt.Errorf("interp: %s: %w", p.Name, err)
		}
		hi := v
		if sym.Bounded {
			if hi, err = sym.Hi.Eval(values); err != nil {
				return fmt.Errorf("interp: %s: %w", p.Name, err)
			}
		}
		if v < lo || v > hi {
			return fmt.Errorf("interp: %s: %s is %d, expected at least %s%s", p.Name, sym.Name, v, sym.Lo, atMost(sym.Bounded, sym.Hi.String()))
		}
	}
	for _, s := range p.Scalars {
		if s.Input {
			if _, ok := m.Scalars[s.Name]; !ok {
				return fmt.Errorf("interp: %s: no value for %s", p.Name, s.Name)
			}
			continue
		}
		m.Scalars[s.Name] = s.Init
	}
	done := int64(0)
	return p.Each(ctx, values, func(g *tdfg.Graph, values map[string]int64) error {
		err := RunGraph(ctx, g, values, m, opt)
		if done++; opt.Progress != nil && err == nil {
			opt.Progress(done)
		}
		return err
	})
}

func atMost(bounded bool, hi string) string {
	if !bounded {
		return ""
	}
	return " and at most " + hi
}
