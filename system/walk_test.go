package system

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg/cfront"
)

// TestWritesAll has loops, with what is said by hand of B[N][64]: that each element from the first to
// the last one is written, and none is read.
func TestWritesAll(t *testing.T) {
	const rows, columns = "for (int i = 0; i < N; i++)\n", "for (int j = 0; j < 64; j++)\n"
	for body, want := range map[string]bool{
		rows + columns + "B[i][j] = A[X[i]];":                                   true,
		rows + columns + "B[N - 1 - i][j] = 3;":                                 true,
		"for (int i = N - 1; i >= 0; i--)\n" + columns + "B[i][63 - j] = A[i];": true,
		"for (int t = 0; t < 3; t++)\n" + rows + columns + "B[i][j] = t;":       true,
		rows + columns + "B[i][j] += A[i];":                                     false, // read
		rows + columns + "B[i][j] = B[i][63 - j];":                              false, // read
		rows + columns + "if (A[i] > 0) B[i][j] = 1;":                           false, // not all
		"for (int i = 0; i < N; i += 2)\n" + columns + "B[i][j] = 1;":           false, // each second row
		rows + "for (int j = 0; j < i; j++)\nB[i][j] = 1;":                      false, // a triangle
		rows + "B[i][0] = 1;":                                                   true,  // of what lies between, see borrow
		rows + columns + "B[X[i] & 7][j] = A[i];":                               false, // wherever
		rows + columns + "B[i / 2][j] = A[i];":                                  false,
		"for (int i = 0; i < 16; i++)\nB[i][i] = 1;":                            false, // a diagonal
		"for (int i = 0; i < N && A[i] > 0; i++)\n" + columns + "B[i][j] = 1;":  false, // nobody knows how many
		rows + "B[i][0] = 1;\n" + rows + "B[i][1] = 2;":                         false, // two stores are not joined
		rows + columns + "S[0] += A[i];":                                        false, // nothing is written
		"for (int i = 0; i < 0; i++)\n" + columns + "B[i][j] = 1;":              false, // nothing is written
	} {
		g, err := cfront.CompileWhole(context.Background(), "f.c", "void f(int N, int A[64], int X[64], int B[N][64], int S[1])\n{\n"+body+"\n}\n", cfront.Options{})
		require.NoError(t, err, body)
		assert.Equal(t, want, writesAll(g, "B", map[string]int64{"N": 16}), body)
	}
}
