package fused

import (
	"context"
	"fmt"
	"math"

	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// closeEnough is how far elements may be from those of the sequential program where arrays
// sum floats in another order, relative to the greatest one of an array.
const closeEnough = 1e-3

// Check compares the memory of a program that has run with what its function means
// sequentially. before is the memory before the run, which it changes. Where arrays have
// computed, it executes the program once more without a machine, with the units that were
// in memory executed by the interpreter of graphs: all bits must agree.
func Check(ctx context.Context, p *Program, before stream.Memory, r *Report, opt Options) (*multicore.Verdict, error) {
	if !r.inMemory() {
		return multicore.Check(ctx, p.Program, before, opt.Options)
	}
	replay := &multicore.Program{Graph: p.Graph, Memory: stream.Memory{}, Args: p.Args, Reassociate: p.Reassociate}
	m := p.Arrays.Clone()
	for name, elems := range before {
		replay.Memory[name] = append([]scalar.Value(nil), elems...)
		if a := m.Arrays[name]; a != nil {
			a.Elems = replay.Memory[name]
		}
	}
	for _, s := range p.Tensors.Scalars {
		if !s.Input {
			m.Scalars[s.Name] = s.Init
		}
	}
	units, next, sums := align(p.Tensors, p.Graph), 0, false
	var around map[string]int64
	u := &micro.Units{Begin: func(_ int, values map[string]int64) (bool, error) {
		next++
		around = map[string]int64{}
		for name, v := range p.Sizes {
			around[name] = v
		}
		for name, v := range values {
			around[name] = v
		}
		return r.choices[next-1], nil
	}}
	u.End = func(i int) (map[string]scalar.Value, error) {
		opt := interp.Options{Group: r.layouts[i].Group}
		if r.banks {
			opt.Bank = r.layouts[i].Bank
		}
		body := tdfg.Program{Body: units[i].graphs}
		err := body.Each(ctx, around, func(g *tdfg.Graph, values map[string]int64) error {
			for k := range g.Nodes {
				sums = sums || g.Nodes[k].Kind == tdfg.Reduce && g.Nodes[k].Type.Float()
			}
			return interp.RunGraph(ctx, g, values, m, opt)
		})
		for name, a := range m.Arrays {
			copy(replay.Memory[name], a.Elems)
			a.Elems = replay.Memory[name]
		}
		values := map[string]scalar.Value{}
		for _, s := range units[i].streams {
			if v, ok := m.Scalars[s.Name]; ok && s.Kind == stream.Reduce {
				values[s.Name] = v
			}
		}
		return values, err
	}
	for _, v := range units {
		u.List = append(u.List, v.stmts)
	}
	if err := replay.Execute(ctx, opt.Options, u); err != nil {
		return nil, err
	}
	if text := p.Differs(replay.Memory); text != "" {
		return nil, fmt.Errorf("%w: executed again without a machine, %s", multicore.ErrInternal, text)
	}
	if _, err := p.Graph.Run(ctx, before, p.Args); err != nil {
		return nil, err
	}
	v := &multicore.Verdict{Arrays: len(p.Graph.Arrays), Tree: "in memory as the interpreter of graphs, on cores as the threads without a machine"}
	if sums {
		v.Bound = closeEnough
	}
	for i := range p.Graph.Arrays {
		compare(v, &p.Graph.Arrays[i], p.Memory, before)
	}
	return v, nil
}

// compare compares an array with that of the sequential program.
func compare(v *multicore.Verdict, a *stream.Array, got, want stream.Memory) {
	mask := scalar.Value(1)<<(8*a.Type.Bytes()) - 1
	if a.Type.Bytes() == 8 {
		mask = ^scalar.Value(0)
	}
	most := 0.0
	if a.Type.Float() {
		for _, w := range want[a.Name] {
			if f := math.Abs(scalar.ToFloat(a.Type, w)); f > most && !math.IsInf(f, 0) {
				most = f
			}
		}
	}
	for j, w := range want[a.Name] {
		g := got[a.Name][j]
		v.Elements++
		if g&mask == w&mask {
			v.Equal++
			continue
		}
		if a.Type.Float() && v.Bound > 0 && most > 0 {
			if far := math.Abs(scalar.ToFloat(a.Type, g)-scalar.ToFloat(a.Type, w)) / most; far <= v.Bound {
				v.Close++
				v.Distance = max(v.Distance, far)
				continue
			}
		}
		if v.First == "" {
			v.First = fmt.Sprintf("%s[%d] is %s, and %s in the sequential program", a.Name, j, scalar.Format(a.Type, g), scalar.Format(a.Type, w))
		}
	}
}

// inMemory reports whether any unit was.
func (r *Report) inMemory() bool {
	for _, there := range r.choices {
		if there {
			return true
		}
	}
	return false
}
