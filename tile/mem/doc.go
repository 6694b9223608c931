// Package mem is the memory system of a machine in time: private caches, the homes of
// lines with the banks of the L3, and memory controllers, with the values of all
// lines in them.
//
// A [Private] is the L1 and the L2 of a core, a [Home] a bank of the L3 and the
// directory of the lines whose home it is, a [Fixed] or a [DDR] a controller of
// memory. Each has a specification of its own (times in cycles), its counters, and
// one method that takes messages; they know each other only by [Place], and a
// [Network] carries what they say. [Direct] is a network without contention; a
// machine puts the mesh of package noc there.
//
//	e := event.New()
//	net := mem.NewDirect(e, func(*mem.Message) event.Time { return 5 }, receiver)
//	caches := mem.NewPrivate(e, &spec, mem.MESI(), 0, net, homeOf, core, fail)
//	if line := caches.Load(now, pc, address/mem.LineBytes, id); line == nil {
//		// core.Performed(now, filled, id, line) follows
//	}
//
// # Coherence
//
// The protocol is MESI with a full directory ([MESI]), a table of transitions: a
// home serves one request for a line at a time, from its arrival until the core that
// asked says that it has the line, but all that read what is shared at once. Messages may overtake each other without limit,
// so that invalidations, upgrades and lines that are given back race; the states
// with an underscore say what is waited for. Package system's machines and the tests
// execute the same table: the tests change every transition in turn and demand that
// the random tester sees it.
//
// The L3 does not include the private caches: lines that cores have may be missing
// there. Copies that are equal to memory and shared are dropped in silence; lines
// that a core owns are given back. Of a line that only memory has, a new home (a bank whose arrays
// compute, package tc) gets the bytes from memory itself: the bank of its address is asked, notes
// who owns the line, and never has it.
//
// # Values travel with time
//
// Lines have their bytes. A load is performed when its line is in the L1, and takes
// its bytes from that copy then; a write is performed when the line may be written.
// A lost message, a stale copy or a wrong bank gives a wrong value, or an access that
// never ends. What happens in the order of events is the order in which accesses are
// performed, which the random tester holds against a plain memory.
//
// Invariants: at any time one core may write a line, or any number may read it; every
// access that began is performed once; what is given back arrives before the line is
// asked for again. Clients must not begin accesses while they are called.
package mem
