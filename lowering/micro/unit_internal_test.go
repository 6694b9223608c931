package micro

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/stream"
)

// TestUnitsHave says of loops whether an instance may be executed elsewhere: those that are statements
// of a unit, but for units that threads execute each time.
func TestUnitsHave(t *testing.T) {
	a, b, c := &stream.Loop{Var: "a"}, &stream.Loop{Var: "b"}, &stream.Loop{Var: "c"}
	u := &Units{List: [][]stream.Stmt{{a}, {b}}}
	require.True(t, u.has(a))
	require.True(t, u.has(b))
	require.False(t, u.has(c))
	u.Stay = []bool{true, false}
	require.False(t, u.has(a))
	require.True(t, u.has(b))
	require.False(t, (*Units)(nil).has(a))
}
