package noc_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/noc"
)

// A line of 64 bytes from one corner of a mesh to the one opposite, and to two others at once.
func ExampleNetwork() {
	n, err := noc.New(noc.DefaultConfig(4, 4))
	if err != nil {
		fmt.Println(err)
		return
	}
	n.OnDelivery = func(d noc.Delivery) {
		fmt.Printf("packet %d at node %d after %d cycles\n", d.Tag, d.Dst, d.At-d.Injected)
	}
	cfg := n.Config()
	flits := cfg.Flits(64)
	for _, p := range []noc.Packet{{Src: 0, Dst: 15, Flits: flits, Tag: 1}, {Src: 12, Dsts: []int{13, 14}, Flits: flits, Tag: 2}} {
		if err := n.Inject(p); err != nil {
			fmt.Println(err)
			return
		}
	}
	for !n.Idle() {
		n.AdvanceTo(n.NextEvent())
	}
	// Output:
	// packet 2 at node 13 after 13 cycles
	// packet 2 at node 14 after 18 cycles
	// packet 1 at node 15 after 38 cycles
}
