// Package invariants says whether checks are compiled in that are too slow for users:
// those of each intermediate representation between all stages, and the shuffling of
// what must not matter. Tests that take long are left to such a run, too.
//
//	go test -tags invariants ./...
//
// Code asks [Enabled], a constant, so that nothing is left of the checks without the
// tag. A check that fails is a defect of this module, and an error or a panic of the
// stage before it.
package invariants
