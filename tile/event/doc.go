// Package event is a discrete-event engine: things happen at cycles, in order of
// time and, in a cycle, in the order in which they were scheduled.
//
// An [Engine] keeps the events of the next cycles in a time wheel, a list for each
// cycle, and those further away in a heap, from which they move to the wheel when
// their time comes near. An event is a number of a handler and an argument, so
// that scheduling one allocates nothing once the lists have grown.
//
//	e := event.New()
//	var tick event.Handler
//	tick = e.Handle(func(now event.Time, n uint64) {
//		if n > 1 {
//			e.After(10, tick, n-1)
//		}
//	})
//	e.After(0, tick, 3)
//	err := e.Run(ctx, event.Forever) // at cycles 0, 10, 20
//
// A [Port] is a queue between two parts of a model, with places, a latency and
// back-pressure: a sender is refused while no place is free, and told when one is.
//
// Invariants: time never goes back; the order of events depends on nothing but the
// calls and their order, so a run can be repeated; a run that a context stops can
// go on. An Engine belongs to one goroutine, and it knows nothing of what its
// events mean.
package event
