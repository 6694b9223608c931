package lowering_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlanMovesAgain has rows for two registers beside the arrays, where three values are needed: the
// one that was moved is moved again.
func TestPlanMovesAgain(t *testing.T) {
	const body = "%0 = tensor A [0,12)\n%1 = mv %0 dim 0 dist 4\n%2 = tensor A [4,16)\n%3 = cmp add %2 %1\n%4 = cmp mul %3 %3\n%5 = cmp sub %4 %1\n%6 = cmp sub %5 %2\nstore %4 B\nstore %6 C\n"
	p := planOf(t, "A B C", 24+2*8+2, body)
	require.Equal(t, []string{"move r0:8 to r24:8", "add r0:8 r24:8 to r32:8", "mul r32:8 r32:8 to r24:8", "copy r24:8 to r8:8",
		"move r0:8 to r24:8", "sub r8:8 r24:8 to r24:8", "sub r24:8 r0:8 to r24:8", "copy r24:8 to r16:8"}, steps(p))
	require.Zero(t, p.Slots)
	require.NoError(t, p.Check())
	p = planOf(t, "A B C", 256, body)
	require.Len(t, p.Steps, 7, "there is room for all")
}

// TestPlanStoresApart has parts of an array stored as soon as they are there, though the first of them
// is stored at the end, or other parts are still to be read.
func TestPlanStoresApart(t *testing.T) {
	p := planOf(t, "A B C", 24+8+2+1, "%0 = tensor A [0,8)\n%1 = tensor C [8,16)\n%2 = cmp abs %1\n%3 = tensor C [0,8)\n%4 = cmp neg %3\nstore %0 B\nstore %2 B\nstore %4 C\n")
	require.Equal(t, []string{"abs r16:8 to r24:8", "copy r24:8 to r8:8", "neg r16:8 to r24:8", "copy r24:8 to r16:8", "copy r0:8 to r8:8"}, steps(p))
	require.Zero(t, p.Slots)
	require.NoError(t, p.Check())
	p = planOf(t, "A B C", 256, "%0 = tensor A [0,8)\n%1 = tensor C [7,16)\n%2 = cmp abs %1\nstore %0 B\nstore %2 B\n")
	require.Equal(t, []string{"abs r16:8 to r24:8", "copy r0:8 to r8:8", "copy r24:8 to r8:8"}, steps(p), "one of their elements is the same")
	require.NoError(t, p.Check())
	p = planOf(t, "A B", 256, "%0 = tensor A [8,16)\n%1 = tensor B [0,8)\n%2 = cmp neg %1\n%3 = cmp abs %0\nstore %2 A\nstore %3 B\n")
	require.Equal(t, []string{"neg r8:8 to r16:8", "copy r16:8 to r0:8", "abs r0:8 to r16:8", "copy r16:8 to r8:8"}, steps(p), "what is read later are other elements")
	require.NoError(t, p.Check())
	p = planOf(t, "A B", 256, "%0 = tensor A [7,16)\n%1 = tensor B [0,8)\n%2 = cmp neg %1\n%3 = cmp abs %0\nstore %2 A\nstore %3 B\n")
	require.Equal(t, []string{"neg r8:8 to r16:8", "abs r0:8 to r24:8", "copy r24:8 to r8:8", "copy r16:8 to r0:8"}, steps(p))
	require.NoError(t, p.Check())
	p = planOf(t, "A B C", 256, "%0 = tensor C [0,16)\n%1 = cmp neg %0\n%2 = cmp abs %0\n%3 = tensor B [0,16)\n%4 = cmp add %3 %2\nstore %1 A\nstore %1 B\nstore %2 A\nstore %4 C\n")
	require.NoError(t, p.Check(), "what A holds goes to B at the end, and is not written over before")
}
