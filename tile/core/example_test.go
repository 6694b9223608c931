package core_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/core"
	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/uop"
)

// additions is a thread of micro-ops without memory.
type additions []uop.Op

func (a additions) Next(b *uop.Batch, _ int) (uop.Status, error) {
	b.Ops = append(b.Ops, a...)
	return uop.Done, nil
}

func (additions) Resolve([]byte) error { return nil }

// A hundred additions, each of the sum before it, and a hundred that do not wait for each other.
func Example() {
	var runs []core.Run
	for k := range uop.NumKinds {
		runs = append(runs, core.Run{Kind: k.String(), Latency: 1})
	}
	spec := core.Spec{Name: "small", Fetch: 4, Dispatch: 4, Issue: 4, Commit: 4, FrontEnd: 3, Buffer: 32, Redirect: 8, Predictor: "gshare",
		ROB: 64, IQ: 32, LQ: 16, SQ: 16, LoadPorts: 1, StorePorts: 1, StoresInFlight: 1, LoadSelect: "age", HitUse: 4, FillUse: 5, Forward: 4,
		Units: []core.Unit{{Name: "alu", Count: 4, Runs: runs}}}
	for _, from := range []uop.Reg{1, 2} {
		e := event.New()
		c := core.New(e, &spec, 0, nil, func(err error) { fmt.Println(err) })
		var thread additions
		for pc := range uint32(100) {
			thread = append(thread, uop.Op{PC: pc, Kind: uop.IntALU, Lanes: 1, Dst: 1, Src: [3]uop.Reg{from}})
		}
		c.Start(thread)
		if err := e.Run(context.Background(), event.Forever); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.Counters.Committed, "micro-ops in", e.Now(), "cycles")
	}
	// Output:
	// 100 micro-ops in 106 cycles
	// 100 micro-ops in 31 cycles
}
