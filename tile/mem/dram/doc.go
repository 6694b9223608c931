// Package dram is a memory of DDR4 channels, clock by clock, each with the
// controller in front of it.
//
// A [Spec] is the memory: the timing of its devices, how channels consist of ranks,
// bank groups and banks, how addresses are laid out, and the queues of the
// controller. [DDR4At3200] and [DDR4At2400] are those that the model is compared
// with. A [Channel] executes it:
//
//	spec := dram.DDR4At3200()
//	layout := spec.Layout()
//	c := dram.NewChannel(&spec, func(now dram.Time, id uint64) { fmt.Println(id, "at", now) })
//	if c.Accepts(false) {
//		c.Add(address, layout.Of(address), false, 7)
//	}
//	c.Tick() // or c.SkipTo(c.Next()) first
//
// The controller schedules first-ready, first-come: of the queues of its banks in
// turn, the first command that the timing allows, hits on the open row before
// others, but no more than a limit of them while an older request waits. Reads go
// before writes, which collect in a buffer until it is full, or until there are some
// and nothing else to do; then they are drained together, since each turn of the bus
// costs clocks. Refreshes are those of a rank, one rank after another.
//
// The mechanisms and their order within a clock are those of DRAMsim3, which is the
// reference (docs/memory.md says how close it comes, and which command prints it); an
// [Experiment] puts a memory under the same traffic as the reference had.
//
// Invariants: every read that was added returns once; writes are finished when they
// are added, and later reads of their line return the same clock at the earliest in
// which they would have found it in the buffer; nothing but the calls decides the
// clocks. The package knows no data: who owns the channel reads and writes the bytes
// when it adds the transaction, since the controller keeps the order of accesses to
// a line.
package dram
