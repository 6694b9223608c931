// Package tensor has the parts of a chip that execute commands on arrays, as
// components of an event engine: the tensor controller of each bank, its H-tree, the
// mesh between banks, the channels of DRAM, and the core that lowers and waits at
// barriers (Infinity Stream, section 5.2).
//
//	chip, err := tensor.New(machine)
//	chip.Local(bank, 638)                    // commands that stay in the arrays of a bank
//	chip.Shift(parts, flows, false)          // a shift between tiles, at several banks
//	t, err := chip.Wait(ctx)                 // when all of that is done
//
// A controller executes its commands one after another. A shift takes the H-tree of
// its bank, and what leaves the bank becomes packets, which enter the mesh when all
// banks of the shift have begun. A packet that arrives takes the H-tree of its bank
// too, for its data, and waits while a shift has it; a shift waits likewise. All packets
// of all shifts share one mesh.
//
// Nothing here knows what is computed. Lengths of commands are given; package tile says
// how long each is ([tile.Timing]). Where nothing waits for anything, cycles are those
// of the clock of package system that does not go through them; the counters say what
// waited. The lines of an array lie on the channels of DRAM in turn; on their way they
// take no cycles of the mesh.
package tensor
