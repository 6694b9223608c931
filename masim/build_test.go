package masim

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// A search that takes its share of the budget leaves time to prove what it has found.
func TestBuildLeavesTimeToProve(t *testing.T) {
	n, err := gen.Build(context.Background(), "multiplier", gen.Options{Width: 12})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Build(context.Background(), n, BuildOptions{
		Options: Options{Effort: xmg.High}, Geometry: sram.Geometry{Arrays: 2, Rows: 40, Cols: 64},
		Prove: true, Budget: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !b.Stopped || b.Proof == nil || b.Proof.Verdict != xmg.Equal {
		t.Errorf("stopped %v, proof %+v, expected a search that was stopped and a proof", b.Stopped, b.Proof)
	}
}

// TestReadStopped: nothing is read once the context has ended, however fast it might be.
func TestReadStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("lunch"))
	for range 20 {
		_, err := ReadCircuit(ctx, func() (*netlist.Network, error) {
			t.Error("it is read")
			return &netlist.Network{}, nil
		})
		require.ErrorIs(t, err, ErrStopped)
		require.ErrorContains(t, err, "lunch before the circuit was read")
	}
}
