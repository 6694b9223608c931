package cost

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram"
)

func TestOfKernel(t *testing.T) {
	k, err := sram.ParseKernel(strings.NewReader(`.kernel neural-cache 1
.array rows=64
.input a 0 3
.input b 3 4
carry #0 #0
add 9  0 3
.output y 9 1
.end`), "k")
	require.NoError(t, err)
	require.Equal(t, Counts{Computes: 2, InputRows: 7, OutputRows: 1, Arrays: 1, Rows: 64, Cols: 128}, OfKernel(k, 128))
}
