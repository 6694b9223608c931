// Package sweep runs a command over a matrix of its flags: hundreds of jobs, each of
// them pure, whose results are kept one by one.
//
// A [Plan] is read from strict YAML and lists its jobs in a fixed order. A job has a
// key of all that its result depends on: the arguments, what its input files hold and
// the program. An [Executor] runs jobs ([Local] does on this machine), each as a
// process of its own in a folder with nothing but its inputs, so that a job sees no
// path of the machine and one that crashes takes no other with it.
// A [Record] is what came of a job, without times: it is the same bytes whoever ran
// it. Records outlive the process one by one ([results.Store]); a sweep that is started
// again runs what is missing.
//
//	plan, err := sweep.Read(f, "plan.yaml", version, sweep.ReadOptions{})
//	s := &sweep.Sweep{Plan: plan, Store: store, Executor: &sweep.Local{Workers: 2, Program: exe}}
//	summary, err := s.Run(ctx)
//	err = s.Export(w)
package sweep
