package system_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/interp"
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
)

// TestEveryOperation computes each operation on each type that has it, and each change of
// type, element by element and bit by bit, and compares all with the interpreter.
func TestEveryOperation(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 7))
	run := func(name string, from, to scalar.Type, node func(b *tdfg.Builder, args []tdfg.NodeID) tdfg.NodeID) bool {
		s := tdfg.Scope{Dims: 1, Space: lattice.NewSpace()}
		for _, a := range []string{"A", "B", "C"} {
			s.Arrays = append(s.Arrays, &tdfg.Array{Name: a, Type: from, Axes: []int{0}, Size: []lattice.Expr{lattice.Const(64)}})
		}
		s.Arrays = append(s.Arrays, &tdfg.Array{Name: "Y", Type: to, Axes: []int{0}, Size: []lattice.Expr{lattice.Const(64)}})
		b := tdfg.NewBuilder(name, s)
		var args []tdfg.NodeID
		for i := range 3 {
			args = append(args, b.Tensor(i, s.ArrayRect(i)))
		}
		b.Store(node(b, args), 3)
		g, err := b.Finish()
		require.NoError(t, err, name)
		p := &tdfg.Program{Name: "op", Arrays: g.Arrays, Body: []tdfg.Stmt{&tdfg.Region{Graph: g}}}
		before := memory.New()
		require.NoError(t, before.Allocate(g.Arrays, nil))
		fill(r, before, g.Arrays)
		if from.Float() { // some are large for integers, some small
			for _, a := range []string{"A", "B", "C"} {
				for i, v := range before.Arrays[a].Elems {
					before.Arrays[a].Elems[i] = scalar.FromFloat(from, scalar.ToFloat(from, v)*[]float64{1, 64, 1. / 64}[i%3])
				}
			}
		}
		want := before.Clone()
		require.NoError(t, interp.Run(ctx, p, nil, want, interp.Options{}))
		got := before.Clone()
		m := small(t)
		m.Array.Rows = 512
		rep, err := system.Run(ctx, p, nil, got, system.Options{Machine: m, Fidelity: system.Word, Tile: lowering.Shape{64}, Check: 1})
		require.NoError(t, err, name)
		require.Empty(t, want.Diff(got), name)
		return rep.NearRegions > 0
	}
	var near []string
	for _, typ := range scalar.Types() {
		if typ == scalar.Bool {
			continue
		}
		for _, op := range scalar.Ops() {
			if op.Supports(typ) {
				if name := fmt.Sprintf("%s of %s", op, typ); run(name, typ, typ, func(b *tdfg.Builder, args []tdfg.NodeID) tdfg.NodeID {
					if op == scalar.Select {
						args[0] = b.Compute(scalar.Lt, args[0], args[1])
					}
					y := b.Compute(op, args[:op.Arity()]...)
					if op.Result(typ) == scalar.Bool {
						y = b.Convert(typ, y)
					}
					return y
				}) {
					near = append(near, name)
				}
			}
		}
		for _, to := range scalar.Types() {
			name := fmt.Sprintf("%s to %s", typ, to)
			memory := to
			if to == scalar.Bool {
				memory = typ
			}
			if run(name, typ, memory, func(b *tdfg.Builder, args []tdfg.NodeID) tdfg.NodeID {
				y := b.Convert(to, args[0])
				if to != memory {
					y = b.Convert(memory, y)
				}
				return y
			}) {
				near = append(near, name)
			}
		}
	}
	for _, op := range []scalar.Op{scalar.And, scalar.Or, scalar.Xor, scalar.Not, scalar.Select} {
		require.False(t, run(fmt.Sprintf("%s of bool", op), scalar.Int8, scalar.Int8, func(b *tdfg.Builder, args []tdfg.NodeID) tdfg.NodeID {
			flags := []tdfg.NodeID{b.Compute(scalar.Lt, args[0], args[1]), b.Compute(scalar.Lt, args[1], args[2]), b.Compute(scalar.Le, args[2], args[0])}
			return b.Convert(scalar.Int8, b.Compute(op, flags[:op.Arity()]...))
		}), op)
	}
	// What no program computes is done near the memory, exactly as well.
	var want []string
	wide := []scalar.Type{scalar.Int64, scalar.UInt32, scalar.UInt64}
	for _, typ := range scalar.Types() {
		for _, op := range scalar.Ops() {
			if typ == scalar.FP64 && op.Supports(typ) {
				want = append(want, fmt.Sprintf("%s of %s", op, typ))
			}
		}
		for _, to := range scalar.Types() {
			if typ != to && (typ == scalar.FP64 || to == scalar.FP64 || slices.Contains(wide, typ) && to.Float() || typ.Float() && slices.Contains(wide, to)) {
				want = append(want, fmt.Sprintf("%s to %s", typ, to))
			}
		}
	}
	require.Equal(t, want, near)
}
