package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCoverage runs well-known kernels, each compared by the program with its interpreter
// and with the C function, statement by statement, and has the share of their operations
// that arrays do. The last steps of reductions over several tiles are near the memory.
func TestCoverage(t *testing.T) {
	for name, c := range map[string]struct {
		least float64 // of the share
		args  []string
	}{
		"jacobi": {1, nil}, "atax": {0.99, nil}, "fdtd": {1, nil}, "heat3d": {1, nil}, "sobel": {1, nil}, "gemm8": {1, nil}, "softmax": {0.99, nil}, "floyd_copied": {1, nil},
		"bicg": {0.99, []string{"--rows", "512"}}, "mvt": {0.99, []string{"--rows", "512"}}, // of four and five arrays of floats
		"floyd": {0, nil}, // in place, in an order: tdfg --why has the other one
	} {
		a, stdout, stderr := testApp()
		file := filepath.Join("..", "..", "benchmarks", "known", "c", name+".c")
		require.Zero(t, a.run(append([]string{"run", file, "-D", "N=32", "--json"}, c.args...)), "%s: %s", name, stderr)
		var r struct {
			Share  float64 `json:"in_arrays"`
			Checks []any
		}
		require.NoError(t, json.Unmarshal(stdout.Bytes(), &r))
		require.GreaterOrEqual(t, r.Share, c.least, name)
		require.Len(t, r.Checks, 2, name)
	}
}
