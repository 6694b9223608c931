package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestSparseKilled kills the program while it writes a cache, at many points of the file:
// under its name is always a whole one, the old or the new, and what is left of the other
// is never read as a matrix.
func TestSparseKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	dir := t.TempDir()
	base, out := filepath.Join(dir, "base.bsx"), filepath.Join(dir, "out.bsx")
	run := func(args ...string) *exec.Cmd {
		c := exec.Command("bitsched", append([]string{"sparse"}, args...)...)
		c.Dir = dir
		return c
	}
	require.NoError(t, run("gen", "gen:uniform,n=100000,nnz=1000000", "-o", base).Run())
	require.NoError(t, run("gen", "gen:uniform,n=1000,nnz=5000", "-o", out).Run())
	st, err := os.Stat(base)
	require.NoError(t, err)
	whole := st.Size()

	const points = 5 // of the file, within each of which one kill must fall
	var hit [points]bool
	hits := 0
	for try := 0; try < 40*points && hits < points; try++ {
		c := run("convert", "base.bsx", "-o", "out.bsx")
		require.NoError(t, c.Start())
		// The next point that was not hit.
		next := 0
		for hit[next] {
			next++
		}
		from := whole * int64(next) / points
		var temps []string
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
			temps, err = filepath.Glob(filepath.Join(dir, ".out.bsx.*.tmp"))
			require.NoError(t, err)
			if len(temps) == 1 {
				if st, err := os.Stat(temps[0]); err != nil || st.Size() > from {
					break
				}
			} else if st, err := os.Stat(out); err == nil && st.Size() == whole {
				break // too late
			}
		}
		require.NoError(t, c.Process.Kill())
		_ = c.Wait() // killed, or done before
		m, _, err := matrix.Open(out, matrix.Options{})
		require.NoError(t, err)
		require.Contains(t, []int64{5000, 1000000}, m.NNZ())
		temps, err = filepath.Glob(filepath.Join(dir, ".out.bsx.*.tmp"))
		require.NoError(t, err)
		for _, temp := range temps {
			st, err := os.Stat(temp)
			require.NoError(t, err)
			if size := st.Size(); size < whole {
				_, _, err := matrix.Open(temp, matrix.Options{})
				require.Error(t, err, "%d of %d bytes", size, whole)
				if at := size * points / whole; !hit[at] {
					hit[at] = true
					hits++
				}
			}
			require.NoError(t, os.Remove(temp))
		}
		require.NoError(t, run("gen", "gen:uniform,n=1000,nnz=5000", "-o", out).Run())
	}
	t.Logf("killed at %d of %d points of the file", hits, points)
	require.GreaterOrEqual(t, hits, points/2)
}
