// Package timing makes measurements again that public simulators made: of memories
// under load (DRAMsim3), and of cores and caches that execute synthetic kernels
// (ChampSim), and holds the model's results against theirs.
//
//	points, err := timing.ReadPoints("core_cache.csv", file)
//	for i := range points {
//		outcome, err := points[i].Run(ctx)
//		fmt.Println(outcome.ID, outcome.Deviation, outcome.Verdict)
//	}
//
// A [Kernel] is an instruction stream as the reference describes it; [Champsim] has
// the machines that are shaped like the reference. Nothing of a point but its
// description goes into a run: the tolerances are those that the reference suggests
// for its kind, and no parameter follows from a point, but for the latencies of the
// pointer chase, which are there to calibrate with.
package timing
