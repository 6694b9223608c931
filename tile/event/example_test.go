package event_test

import (
	"context"
	"fmt"

	"github.com/bitsched/bitsched/tile/event"
)

func ExampleEngine() {
	e := event.New()
	var tick event.Handler
	tick = e.Handle(func(now event.Time, n uint64) {
		fmt.Println(now, n)
		if n > 1 {
			e.After(10, tick, n-1)
		}
	})
	e.After(0, tick, 3)
	if err := e.Run(context.Background(), event.Forever); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 0 3
	// 10 2
	// 20 1
}

// A queue with one place: the second item is refused until the first one's place is free.
func ExamplePort() {
	e := event.New()
	p, err := event.NewPort[string](e, event.PortConfig{Places: 1, Latency: 2, Credit: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Arrived = func(now event.Time) {
		v, _ := p.Take()
		fmt.Println(now, "took", v)
	}
	p.Freed = func(now event.Time) { fmt.Println(now, "free:", p.Send("b")) }
	fmt.Println(p.Send("a"), p.Send("b"))
	if err := e.Run(context.Background(), event.Forever); err != nil {
		fmt.Println(err)
	}
	// Output:
	// true false
	// 2 took a
	// 5 free: true
	// 7 took b
}
