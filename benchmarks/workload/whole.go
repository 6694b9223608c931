package workload

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// CompileWhole compiles the whole function of the kernel as streams, of which not all
// need to be tensors; sizes get their values as in Compile. One that is tensors too has
// the same sizes and arguments as for Compile, so that results can be compared.
func (k *Kernel) CompileWhole(ctx context.Context, values map[string]int64, files []File, some bool) (err error) {
	if k.Builtin == nil || !k.Builtin.Whole {
		err = k.Compile(ctx, values, files, some)
		if _, wrong := err.(*UsageError); err == nil || wrong || ctx.Err() != nil || k.Builtin != nil {
			if err == nil {
				k.Whole, err = k.streams(ctx, nil, values)
			}
			return err
		}
		k.Sizes = map[string]int64{}
	}
	// What is not a symbol may be a parameter that is only computed with.
	defer func() {
		if err == nil {
			err = k.parts(ctx)
		}
	}()
	if k.Whole, err = k.streams(ctx, nil, values); err != nil {
		// Products of sizes are sizes where these have values.
		all := maps.Clone(k.Sizes)
		maps.Copy(all, values)
		bound, other := k.streams(ctx, all, nil)
		if other != nil || len(all) == 0 {
			return err
		}
		if err := k.given(values); err != nil {
			return err
		}
		maps.Copy(k.Sizes, values)
		k.Whole, values, err = bound, nil, nil
	}
	sizes := maps.Clone(values)
	if sizes == nil {
		sizes = map[string]int64{}
	}
	fixed := map[string]int64{}
	for name, v := range values {
		if k.Whole.Param(name) != nil {
			fixed[name] = v
			delete(sizes, name)
		}
	}
	if len(fixed) > 0 {
		if k.Whole, err = k.streams(ctx, fixed, sizes); err != nil {
			return err
		}
		maps.Copy(k.Sizes, fixed)
	}
	g := k.Whole
	k.Program = &tdfg.Program{Name: g.Name, Sizes: g.Symbols.Symbols()}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		if a.Scope != stream.Argument {
			continue
		}
		k.Program.Arrays = append(k.Program.Arrays, &tdfg.Array{Name: a.Name, Type: a.Type, Size: a.Size})
	}
	for _, p := range g.Params {
		k.Program.Scalars = append(k.Program.Scalars, tdfg.Scalar{Param: tdfg.Param{Name: p.Name, Type: p.Type}, Input: true})
	}
	k.infer(sizes, files)
	return k.define(sizes, some)
}

// given checks that a kernel that comes with the program has the sizes.
func (k *Kernel) given(values map[string]int64) error {
	if k.Builtin == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if k.Builtin.Small[name] == 0 {
			return usage("-D %s=%d: %s has no size %s, expected one of %s", name, values[name], k.Builtin.Name, name, strings.Join(slices.Sorted(maps.Keys(k.Builtin.Small)), ", "))
		}
		if values[name] < 1 || values[name] > MaxSize {
			return usage("-D %s=%d, expected 1 to %d", name, values[name], int64(MaxSize))
		}
	}
	return nil
}

// parts compiles the regions of a function that has other statements too.
func (k *Kernel) parts(ctx context.Context) error {
	k.Parts, k.NoParts = cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: k.Sizes, Files: k.Files, Parts: true})
	if k.Parts != nil && len(k.Parts.Body) == 0 {
		k.Parts = nil
	}
	return ctx.Err()
}

// Regions are the parts that arrays may compute, after CompileWhole: of a kernel of tensors all of
// it; nil if there are none.
func (k *Kernel) Regions() *tdfg.Program {
	if k.Program.Body != nil {
		return k.Program
	}
	return k.Parts
}

func (k *Kernel) streams(ctx context.Context, defines, values map[string]int64) (*stream.Graph, error) {
	return cfront.CompileWhole(ctx, k.File, k.Source, cfront.Options{Defines: defines, Values: values, Files: k.Files, Reassociates: &k.Reassociate})
}

// Streams returns the arrays of a memory as those of the graph of the whole function,
// which share their elements, and its arguments.
func (k *Kernel) Streams(m *memory.Memory) (stream.Memory, stream.Args) {
	args := stream.Args{Symbols: map[string]int64{}, Params: m.Scalars}
	for _, s := range k.Whole.Symbols.Symbols() {
		if v, ok := k.Sizes[s.Name]; ok {
			args.Symbols[s.Name] = v
		} else if p := k.Program.Scalar(s.Name); p != nil {
			args.Symbols[s.Name] = scalar.ToInt(p.Type, m.Scalars[s.Name])
		}
	}
	mem := stream.Memory{}
	for name, a := range m.Arrays {
		mem[name] = a.Elems
	}
	return mem, args
}

// indices says which arrays have elements that become subscripts, as Program.Indices.
func (k *Kernel) indices() (from, into []string, all bool) {
	if k.Program.Body != nil || k.Whole == nil {
		return k.Program.Indices()
	}
	sources, accessed := tdfg.StreamIndices(k.Whole)
	return sources, accessed, slices.ContainsFunc(k.Whole.Streams(), func(s *stream.Stream) bool {
		return (s.Kind == stream.Store || s.Kind == stream.RMW) && slices.Contains(sources, s.Array)
	})
}

// Races executes the whole function on a memory, which it changes, and reports the races
// of its parallel loops that change results.
func (k *Kernel) Races(ctx context.Context, m *memory.Memory, limit stream.RaceLimit) ([]string, error) {
	p, err := stream.Compile(k.Whole)
	if err != nil {
		return nil, err
	}
	mem, args := k.Streams(m)
	list, err := p.Races(ctx, mem, args, limit)
	var text []string
	for i := range list {
		text = append(text, list[i].String())
	}
	return text, err
}
