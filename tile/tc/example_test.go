package tc_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
	"github.com/bitsched/bitsched/tile/tc"
)

// wires deliver messages after some cycles.
type wires struct {
	engine *event.Engine
	core   *tc.Core
	cycles event.Time
	drop   func(m *tc.Message) bool
	sent   map[tc.MessageKind]int
}

func (w *wires) SendTensor(m *tc.Message) {
	w.sent[m.Kind]++
	if w.drop != nil && w.drop(m) {
		return
	}
	for _, to := range m.To {
		w.engine.After(w.cycles, w.engine.Handle(func(now event.Time, _ uint64) { w.core.Banks[to].ReceiveTensor(now, m) }), 0)
	}
}

func (w *wires) Send(*mem.Message) {}

func spec() *tc.Spec {
	return &tc.Spec{CacheBytes: 64, CommandBytes: 32, Requests: 4, LineCycles: 1, WalkOps: 1, WalkLatency: 3, PacketBytes: 64, TreeBytes: 64}
}

func controllers(banks int, cycles event.Time, fail func(error)) *wires {
	return controllersOf(spec(), banks, cycles, fail)
}

func controllersOf(s *tc.Spec, banks int, cycles event.Time, fail func(error)) *wires {
	w := &wires{engine: event.New(), cycles: cycles, sent: map[tc.MessageKind]int{}}
	c, err := tc.New(w.engine, s, banks, w, w, func(mem.Line) int { return 0 }, fail)
	if err != nil {
		panic(err)
	}
	w.core = c
	return w
}

// A bank computes for 100 cycles and sends 8 packets to another one; both meet at a sync.
func Example() {
	w := controllers(2, 5, func(err error) { fmt.Println(err) })
	w.core.Execute([]tc.Command{
		{Parts: []tc.Part{{Bank: 1, Cycles: 100}}},
		{Parts: []tc.Part{{Bank: 1, Cycles: 16, Tree: 8, Flows: []tc.Flow{{To: 0, Packets: 8}}}}},
		{Sync: true},
	}, func(now event.Time) { fmt.Println("done in cycle", now) })
	if err := w.engine.Run(context.Background(), event.Forever); err != nil {
		fmt.Println(err)
	}
	fmt.Println(w.sent[tc.MsgData], "packets,", w.core.Counters.Syncs, "barrier")
	// Output:
	// done in cycle 131
	// 8 packets, 1 barrier
}
