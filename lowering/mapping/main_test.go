package mapping

import (
	"flag"
	"os"
	"testing"

	"github.com/bitsched/bitsched/internal/invariants"
)

// TestMain draws fewer cases than rapid's hundred, unless told by -rapid.checks or
// where invariants are checked.
func TestMain(m *testing.M) {
	if !invariants.Enabled {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
