// Package noc simulates a mesh network-on-chip cycle by cycle.
//
// A [Network] is a mesh of routers with a node at each. Packets travel first along
// x, then along y, as wormholes of flits: a flit is as wide as a link and takes a
// cycle on it. A link has several virtual channels, each with a buffer at its end,
// and credits count the free places of that buffer. A router has four stages of a
// cycle each: it routes a head, allocates a virtual channel of the output, then
// for each flit the switch, and sends the flit through it; the link takes another
// cycle. This is the five-stage router of Infinity Stream's table 2. Both
// allocators are iSLIP with one iteration; latencies agree with those of BookSim 2
// (docs/noc.md has the comparison and the command that prints it).
//
//	n, err := noc.New(noc.DefaultConfig(8, 8))
//	n.OnDelivery = func(d noc.Delivery) { fmt.Println(d.Tag, d.Dst, d.At) }
//	err = n.Inject(noc.Packet{Src: 0, Dst: 63, Flits: n.Config().Flits(64), Tag: 7})
//	n.AdvanceTo(n.NextEvent())
//
// A packet to several nodes goes along the tree of their ways and is copied where
// the tree branches. A router serves the branches independently of each other: each
// takes its output virtual channel when it gets one, and a flit leaves the buffer
// when all branches have sent it. Ways along x and then y cannot form a circle of
// virtual channels that wait for each other, but two multicasts could if each held
// the output that the other one waits for. They cannot where the whole packet fits
// into the buffer, since then a branch that goes on never waits for one that does
// not; so Inject refuses longer multicasts, and the caller sends several.
//
// The network works on the outputs for which something waits, stage by stage over all
// routers, and skips cycles in which nothing moves, so that sparse packets cost little. [Attach] lets it run inside a
// discrete-event engine; [Experiment] puts it under synthetic traffic ([Patterns])
// at a steady load and measures latencies.
//
// Invariants: flits of a packet arrive at each of its nodes once and in order, a
// buffer never holds more than its flits, and everything follows from the calls in
// their order: there is no randomness but the seed of an Experiment. What packets
// contain, and which of them depend on each other, is not known here.
package noc
