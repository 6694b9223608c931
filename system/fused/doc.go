// Package fused runs a whole C function on one machine in time, where regions of tensors
// are computed in memory and everything else on cores, with or without streams near the
// memory: configurations in-l3 and inf-s of Infinity Stream (sections 4.3, 5 and 7).
//
//	p := &fused.Program{Program: whole, Tensors: tensors, Sizes: sizes}
//	report, err := fused.Run(ctx, p, fused.Options{Options: multicore.Options{Config: "inf-s", Machine: m, Threads: 64}})
//
// There is one event engine, one mesh, one directory and one memory. Cores execute the
// micro-ops of the function (package multicore). Where thread 0 comes to a part of the
// function that is tensors, a unit ([Units]), it waits at a register of its tensor controller
// (package tile/tc) while the other threads wait at their barrier, and the arrays execute
// the graphs of the unit (package system: layout, plans, commands, and their bits). A unit is
// the least part that the function and its graphs have in common: statements that are
// neighbours, of which no loop is shared out around them.
//
// # A region in time
//
// Requests of cores drain. The ways that compute are taken from the L3, and what was written
// in them goes to memory. Arrays that are not on bitlines are fetched line by line, through
// the directory; lines that cores have asked for since are fetched again. Thread 0 lowers
// (the cycles of the machine's reading of jit), commands go to the banks, data between banks
// on the mesh. Last steps of reductions and streams of a region go from bank to bank. Then
// thread 0 goes on. Arrays stay until cores have asked for them too often, the L3 misses too
// much, or some time has passed (lot of the machine), and go back in any case at the end.
//
// # Layouts
//
// Units share a layout of the arrays where the lattice of all fits, and have several otherwise, of as
// many units each as fit: what lies on bitlines goes home before a unit of another layout begins. A
// unit too large for all arrays is executed in parts, if the options say so.
//
// # Values
//
// What comes to bitlines is the bytes of the lines that the machine has delivered; what a
// core loads later is what the bitlines hold. Bits are computed when a region's commands
// are handed to the controllers, not when each bank executes its own: that order is checked
// by counts of packets at each barrier. Loads of cores are compared with the program, and
// memory after the run with its sequential meaning, as for all configurations.
//
// # Places
//
// A part is a unit, or an outermost loop of the rest. A [Plan] says where each is, each time: on cores
// with prefetchers, on cores with streams at the L3, or in memory. [Rehearsals] are simulated runs under
// plans, of which configurations auto and oracle take the fastest; auto-predicted chooses in the run, by
// closed forms.
//
// # What is not in time
//
// Threads that wait at a barrier do not spin while a region runs. Streams of a region are
// walks with a number of operations at each bank, not elements one by one.
//
// Invariants: a run depends on the program and the options only; a unit is executed by the
// arrays or by threads, never by both.
package fused
