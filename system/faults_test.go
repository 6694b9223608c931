package system

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// broken runs a kernel whose plans and commands are changed first, and returns the
// error of the run, or the first difference from the plain program.
func broken(t *testing.T, name string, sizes map[string]int64, f Fidelity, plans func(*lowering.Plan), commands func([]lowering.Command) []lowering.Command) (string, error) {
	ctx := context.Background()
	k, err := kernels.Get(name)
	require.NoError(t, err)
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	d := k.DataExact(sizes, 1)
	m := d.Memory()
	r := newRunner(p, sizes, m, Options{Machine: tile.Default(), Fidelity: f, Check: 2})
	require.NoError(t, r.prepare(ctx))
	require.NotEmpty(t, r.plans)
	for _, plan := range r.plans {
		if plans != nil {
			plans(plan)
		}
	}
	r.edit = commands
	err = p.Each(ctx, sizes, func(g *tdfg.Graph, values map[string]int64) error { return r.region(ctx, g, values) })
	if err == nil {
		err = r.release(ctx)
	}
	if err != nil {
		return "", err
	}
	k.Reference(d)
	return d.Diff(m), nil
}

var faultSizes = map[string]map[string]int64{
	"stencil1d":  {"N": 3008, "T": 2},
	"stencil2d":  {"N": 48, "M": 64, "T": 2},
	"mm_outer":   {"M": 20, "N": 32, "K": 16},
	"array_sum":  {"N": 3008},
	"mm_inner":   {"M": 16, "N": 20, "K": 48},
	"conv3d":     {"I": 2, "O": 5, "H": 9, "W": 16},
	"gauss_elim": {"N": 32},
}

// TestMissingBarrier leaves barriers out: what was shifted between tiles is read before
// it arrives, or nothing waits for it.
func TestMissingBarrier(t *testing.T) {
	for _, name := range []string{"stencil1d", "stencil2d", "mm_outer", "conv3d"} {
		for _, f := range []Fidelity{Gate, Word} {
			diff, err := broken(t, name, faultSizes[name], f, nil, func(c []lowering.Command) []lowering.Command { return c })
			require.NoError(t, err)
			require.Empty(t, diff)
			// All but the last, so that all arrives in the end.
			diff, err = broken(t, name, faultSizes[name], f, nil, func(cmds []lowering.Command) []lowering.Command {
				last := lastSync(cmds)
				keep := 0
				return slices.DeleteFunc(cmds, func(c lowering.Command) bool {
					keep++
					return c.Kind == lowering.Sync && keep-1 != last
				})
			})
			require.True(t, err != nil || diff != "" || oneSync(t, name), "%s %v", name, f)
			_, err = broken(t, name, faultSizes[name], f, nil, func(cmds []lowering.Command) []lowering.Command {
				return slices.DeleteFunc(cmds, func(c lowering.Command) bool { return c.Kind == lowering.Sync })
			})
			require.ErrorIs(t, err, ErrInternal, "%s %v", name, f)
			require.ErrorContains(t, err, "no barrier waits for them")
		}
	}
}

func lastSync(cmds []lowering.Command) int {
	last := -1
	for i := range cmds {
		if cmds[i].Kind == lowering.Sync {
			last = i
		}
	}
	return last
}

// oneSync reports whether regions of a kernel have one barrier at most, as broadcasts
// have that come one after another.
func oneSync(t *testing.T, name string) bool {
	most := 0
	_, err := broken(t, name, faultSizes[name], Word, nil, func(cmds []lowering.Command) []lowering.Command {
		n := 0
		for i := range cmds {
			if cmds[i].Kind == lowering.Sync {
				n++
			}
		}
		most = max(most, n)
		return cmds
	})
	require.NoError(t, err)
	return most < 2
}

// TestMissingPadding leaves out what makes the missing places of groups the identity of
// a reduction: cells hold garbage then.
func TestMissingPadding(t *testing.T) {
	for _, f := range []Fidelity{Gate, Word} {
		for _, name := range []string{"array_sum"} {
			diff, err := broken(t, name, faultSizes[name], f, nil, func(cmds []lowering.Command) []lowering.Command {
				return slices.DeleteFunc(cmds, func(c lowering.Command) bool { return c.Kind == lowering.Fill && c.Immediate })
			})
			require.NoError(t, err)
			require.NotEmpty(t, diff, "%s %v", name, f)
		}
	}
}

// TestRowsOfOthers has a program write over a row of an array that is none of its
// operands: elements do not show that, cells that last through the run do.
func TestRowsOfOthers(t *testing.T) {
	for _, f := range []Fidelity{Gate, Word} {
		diff, err := broken(t, "gauss_elim", faultSizes["gauss_elim"], f, func(p *lowering.Plan) {
			for i := range p.Steps {
				s := &p.Steps[i]
				if s.Kind != lowering.ComputeStep {
					continue
				}
				other := slices.IndexFunc(p.Arrays, func(a lowering.Register) bool {
					return a.Bits > 0 && !a.Overlaps(s.Dst) && !slices.ContainsFunc(s.Args, func(o lowering.Operand) bool { return !o.Const && o.Overlaps(a) })
				})
				if other < 0 {
					continue
				}
				k := *s.Code.Kernel()
				k.Instrs = append(slices.Clone(k.Instrs), sram.Micro{Op: sram.NCNot, Dst: uint16(p.Arrays[other].Row + 3), Src: [3]sram.Operand{sram.Row(s.Dst.Row, false)}})
				code, err := k.Compile()
				require.NoError(t, err)
				s.Code = code
				return
			}
		}, nil)
		if f == Word {
			require.ErrorIs(t, err, ErrInternal)
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, diff)
	}
}

// TestSelfCheckIsNoReason has programs that differ from the processor while they are
// built: the run ends, and nothing is executed near the memory in their place.
func TestSelfCheckIsNoReason(t *testing.T) {
	for err, reason := range map[error]bool{
		&arith.MismatchError{}: false, lowering.ErrWordlines: false, context.Canceled: false,
		arith.ErrRows: true, arith.ErrNoOperation: true, lowering.ErrRegisters: true,
	} {
		require.Equal(t, reason, reasonOf(fmt.Errorf("lowering: g: %w", err)) != nil, "%v", err)
	}
	require.ErrorIs(t, internal(&arith.MismatchError{}), ErrInternal)
	require.NotErrorIs(t, internal(context.Canceled), ErrInternal)
	require.NoError(t, internal(nil))
}
