package se_test

import (
	"fmt"

	"github.com/bitsched/bitsched/tile/se"
)

// Messages have a header of 8 bytes, and elements of other streams behind it.
func ExampleMessage() {
	for _, m := range []se.Message{{Kind: se.MsgCredit, First: 0, End: 128}, {Kind: se.MsgCommit, First: 0, End: 128}, {Kind: se.MsgFinal, Values: []uint64{42}}} {
		fmt.Printf("%s: %d bytes, for the core: %v\n", m.Kind, m.Bytes(), m.ToCore())
	}
	// Output:
	// credit: 8 bytes, for the core: false
	// commit: 14 bytes, for the core: false
	// final: 16 bytes, for the core: true
}
