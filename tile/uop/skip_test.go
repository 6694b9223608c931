package uop

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSkip compares what is left of a batch with a batch of what comes behind.
func TestSkip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var from, got, want Batch
		n := 1 + r.IntN(20)
		k := r.IntN(n + 1)
		for i := range n {
			o := Op{PC: uint32(i), Kind: Kind(r.IntN(int(NumKinds))), Lanes: 1, Data: uint32(len(from.Data))}
			if o.Kind.Memory() {
				o.Size = uint16(1 + r.IntN(16))
			}
			for range o.DataBytes() {
				from.Data = append(from.Data, byte(r.Uint32()))
			}
			got.Append(&from, &o)
			if i >= k {
				want.Append(&from, &o)
			}
		}
		got.Skip(k)
		require.Equal(t, want.Data, append([]byte(nil), got.Data...))
		require.Len(t, got.Ops, len(want.Ops))
		for i := range want.Ops {
			a, b := got.Ops[i], want.Ops[i]
			if a.DataBytes() > 0 {
				require.Equal(t, b.Data, a.Data)
			}
			require.LessOrEqual(t, int(a.Data), len(got.Data), "also of one without data")
			a.Data, b.Data = 0, 0
			require.Equal(t, b, a)
		}
	}
}
