package noc

import (
	"context"
	"fmt"
	"testing"

	"github.com/bitsched/bitsched/tile/event"
)

// BenchmarkMesh simulates the 8x8 mesh under uniform traffic, which it generates
// as well. The aim is 150,000 cycles/s at a load of 0.1 on one core.
func BenchmarkMesh(b *testing.B) {
	for _, load := range []float64{0.01, 0.1, 0.3} {
		for _, flits := range []int{1, 3} {
			b.Run(fmt.Sprintf("load=%g/flits=%d", load, flits), func(b *testing.B) {
				pattern, err := LookupPattern("uniform")
				if err != nil {
					b.Fatal(err)
				}
				cfg := DefaultConfig(8, 8)
				n, err := New(cfg)
				if err != nil {
					b.Fatal(err)
				}
				t := newTraffic(cfg, pattern, load, flits, 1)
				cycle := func() {
					if err := t.inject(n, 0); err != nil {
						b.Fatal(err)
					}
					n.AdvanceTo(n.Now() + 1)
				}
				for range 10_000 {
					cycle()
				}
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					cycle()
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
			})
		}
	}
}

// BenchmarkSparse sends a packet of three flits across the 8x8 mesh at a time, by
// events: what a model of a machine pays for a message in an idle network.
func BenchmarkSparse(b *testing.B) {
	e := event.New()
	n, err := New(DefaultConfig(8, 8))
	if err != nil {
		b.Fatal(err)
	}
	a := Attach(e, n)
	left := b.N
	send := e.Handle(func(event.Time, uint64) {
		if err := a.Inject(Packet{Src: 0, Dst: 63, Flits: 3}); err != nil {
			b.Fatal(err)
		}
	})
	n.OnDelivery = func(Delivery) {
		if left--; left > 0 {
			e.After(1000, send, 0)
		}
	}
	b.ReportAllocs()
	e.After(0, send, 0)
	if err := e.Run(context.Background(), event.Forever); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/15, "ns/hop")
}
