package mem_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
	"github.com/bitsched/bitsched/tile/mem"
)

// home asks for lines, and shows what comes.
type home struct{}

func (home) Receive(now event.Time, m *mem.Message) {
	fmt.Printf("%d: %v of line %d begins with %q\n", now, m.Kind, m.Line, m.Data[:5])
}

// A controller of memory answers two requests; its bus takes one after the other.
func ExampleFixed() {
	e := event.New()
	store := mem.NewStore()
	store.Write(3*mem.LineBytes, []byte("hello"))
	store.Write(4*mem.LineBytes, []byte("world"))

	var controller *mem.Fixed
	net := mem.NewDirect(e, func(*mem.Message) event.Time { return 10 }, func(p mem.Place) mem.Receiver {
		if p.Kind == mem.Controller {
			return controller
		}
		return home{}
	})
	controller = mem.NewFixed(e, mem.FixedSpec{Latency: 100, Bus: 8}, store, net)
	for line := mem.Line(3); line <= 4; line++ {
		net.Send(&mem.Message{Kind: mem.MsgRead, From: mem.Place{Kind: mem.Bank}, To: mem.Place{Kind: mem.Controller}, Line: line})
	}
	if err := e.Run(context.Background(), event.Forever); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 120: ReadData of line 3 begins with "hello"
	// 128: ReadData of line 4 begins with "world"
}
