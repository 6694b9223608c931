package noc

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tile/event"
)

// TestAttachedIsTheNetwork injects the same packets by events and by hand, at
// sparse and at dense times.
func TestAttachedIsTheNetwork(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		cfg := randomConfig(rng, 5, 5)
		e := event.New()
		n, err := New(cfg)
		require.NoError(t, err)
		a := Attach(e, n)
		var got []Delivery
		n.OnDelivery = func(d Delivery) {
			require.Equal(t, e.Now(), d.At)
			got = append(got, d)
		}
		var packets []Packet
		inject := e.Handle(func(_ event.Time, i uint64) { require.NoError(t, a.Inject(packets[i])) })

		other, err := New(cfg)
		require.NoError(t, err)
		var want []Delivery
		other.OnDelivery = func(d Delivery) { want = append(want, d) }
		at := int64(0)
		for i := range uint64(200) {
			p := randomPacket(rng, cfg, 0.2)
			p.Tag = i
			packets = append(packets, p)
			at += int64(rng.ExpFloat64() * []float64{0.5, 20}[seed%2])
			e.At(at, inject, i)
			other.AdvanceTo(at)
			require.NoError(t, other.Inject(p))
		}
		other.AdvanceTo(at + 50_000)
		require.True(t, other.Idle())
		require.NoError(t, e.Run(context.Background(), event.Forever))
		require.True(t, a.Current().Idle())
		require.Equal(t, want, got)
		require.Equal(t, other.Counters(), n.Counters())
		if seed%2 == 1 {
			require.Less(t, e.Stats().Executed, uint64(at), "fewer events than cycles")
		}
	}
}

// TestAttachedAnswers lets deliveries start packets, in an engine whose clock does
// not stand at 0.
func TestAttachedAnswers(t *testing.T) {
	e := event.New()
	require.NoError(t, e.Run(context.Background(), 1000))
	cfg := DefaultConfig(4, 4)
	n, err := New(cfg)
	require.NoError(t, err)
	a := Attach(e, n)
	var at []event.Time
	n.OnDelivery = func(d Delivery) {
		at = append(at, e.Now())
		if len(at) < 5 {
			require.NoError(t, a.Inject(Packet{Src: d.Dst, Dst: d.Src, Flits: 1}))
		}
	}
	require.NoError(t, a.Inject(Packet{Src: 3, Dst: 4, Flits: 1}))
	require.NoError(t, e.Run(context.Background(), event.Forever))
	trip := cfg.ZeroLoadLatency(3, 4, 1)
	require.Equal(t, []event.Time{1000 + trip, 1000 + 2*trip, 1000 + 3*trip, 1000 + 4*trip, 1000 + 5*trip}, at)
}
