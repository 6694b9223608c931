// Package tc has the tensor controllers of a machine with cores (Infinity Stream, sections
// 5.2 and 5.3): that of thread 0's core ([Core], TC_core) and that of each bank of the L3
// ([Bank], TC_L3). They share the engine, the mesh, the directory and DRAM with cores.
//
//	c := tc.New(engine, &spec, net, coherence, homeOf, fail)
//	c.Fetch(lines, done)    // lines of an array leave all caches and come to the arrays
//	c.Execute(commands, done)
//	c.Walk(walks, done)     // streams that go from bank to bank
//	c.Return(lines, done)   // lines go back to their homes
//
// # Coherence
//
// A bank fetches a line as a core that writes: it becomes its owner, and its new home, to which
// memory answers itself. So the protocol does
// what section 5.2 asks for: private copies, dirty and clean, vanish, the directory knows
// who has the line now, and a core that asks for it later is sent to the bank, which reads
// it from the bitlines and hands it over ("normal accesses to transposed data"); the array
// has to fetch that line again before its next region. While a region runs (trans of
// Table 1 is not 2), such requests wait.
//
// # Commands
//
// TC_core sends a command to the banks that it is for, one a cycle, as long as each has a
// place in its command cache. A bank tells it of commands that are done when they are a quarter
// of the cache, when it has no more, and with all else that it tells: a message for each would
// fill the links around TC_core. A bank looks at the next command while it executes one. Data
// for other banks leaves as packets, each on the mesh. At a sync a bank tells the banks that
// it sent packets to how many, those of the same number by one multicast, and TC_core how many in all; a bank tells TC_core how many
// have landed each time that all it knows of have. TC_core clears the barrier when the sums
// are equal.
//
// Invariants: when a barrier is cleared, no packet is on its way, and each bank has got what
// others say that they sent; a line has one owner; the package knows nothing of what is
// computed: lengths of commands and contents of lines come from its owner ([Host]).
package tc
