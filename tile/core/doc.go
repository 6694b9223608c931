// Package core executes micro-ops in time: an out-of-order or an in-order core in
// front of private caches.
//
// A [Core] pulls the micro-ops of a [uop.Thread] and takes them through fetch, with a
// branch predictor; a window that they enter and leave in order, and issue from when
// their operands, a unit and a port are there; and queues of loads and stores. A
// [Spec] says how wide and how deep all that is:
//
//	c := core.New(engine, &spec, 0, nil, fail)
//	c.Connect(mem.NewPrivate(engine, &caches, protocol, 0, net, homeOf, c, fail))
//	c.Start(thread)
//	err := engine.Run(ctx, event.Forever)
//
// Loads take their bytes when they are performed: from an older store in the queue,
// or from the line in the L1. What a thread expects of a load is compared when the
// load commits; a difference is an internal error. Addresses of stores are known to
// the loads behind them (the memory dependences of the thread are foretold without
// error), and there is no wrong path: fetch waits until a branch that was foretold
// wrong has executed.
//
// # Order of memory accesses
//
// It is that of x86-TSO (Owens, Sarkar, Sewell, TPHOLs 2009). Stores wait in a queue
// until they commit, then ask for their lines, several at once if the spec says so,
// and are performed one after another. Loads are performed early and out of order,
// and again if another core may have written their line before all older loads were
// performed, so that they are seen in order; they may pass older stores. Atomic
// operations and fences wait until all before them is performed.
//
// Invariants: micro-ops commit in the order of the thread; at most as many are in the
// window and in the queues as the spec says; a run depends on nothing but the thread
// and what the memory does. A core that has nothing to do in a cycle costs nothing.
package core
