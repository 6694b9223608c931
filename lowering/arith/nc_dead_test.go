package arith

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

// TestRemoveDead marks the instructions that must go with a comment.
func TestRemoveDead(t *testing.T) {
	const head, tail = ".kernel neural-cache 1\n.array rows=16\n.input a 0 4\n", ".output y 4 2\n.end\n"
	const body = `carry #0 #0
and 5 0 1      # written again before it is read
add 4 0 1
carry 2 2
xor 5 0 1
tag.copy 3     # another tag is set before it is used
tag.copy 2
copy? 5 0
or 6 0 1       # no result
and 7 6 0      # nor what depends on it
copy 7 1
copy? 7 2
xor 5 5 7
add 8 0 1      # neither the sum nor the carry
wcarry 9       # no result
tag.carry      # no use
`
	parse := func(body string) *sram.Kernel {
		k, err := sram.ParseKernel(strings.NewReader(head+body+tail), "k")
		require.NoError(t, err)
		return k
	}
	var kept strings.Builder
	for line := range strings.Lines(body) {
		if !strings.Contains(line, "# ") && !strings.HasPrefix(line, "carry 2") {
			kept.WriteString(line)
		}
	}
	k, want := parse(body), parse(kept.String())
	require.NoError(t, k.Check())
	removeDead(k)
	require.Equal(t, want.Instrs, k.Instrs)
	require.NoError(t, k.Check())
	removeDead(k)
	require.Equal(t, want.Instrs, k.Instrs, "nothing is left to remove")
}
