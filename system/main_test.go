package system

import "github.com/bitsched/bitsched/lowering/arith"

// All tests have the programs of one store, so that each is built once.
func init() {
	checkAlways = true
	shared := arith.NewStore("")
	newStore = func() *arith.Store { return shared }
}
