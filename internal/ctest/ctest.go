// Package ctest runs C programs in tests, where there is a compiler: an oracle for
// what kernels mean that is not of this module.
package ctest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flags make the compiler do what C says and no more: products are not fused with
// sums, and integers wrap.
var flags = []string{"-std=gnu11", "-O1", "-ffp-contract=off", "-fwrapv", "-Wno-unknown-pragmas"}

// Run compiles main.c of the files, which may include the others, and returns what
// the program writes for the input. It skips the test where there is no gcc, or one
// that does not know the further flags.
func Run(t testing.TB, files map[string]string, input []byte, more ...string) []byte {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to compile kernels with")
	}
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	program := filepath.Join(dir, "program")
	if len(more) > 0 && exec.Command(gcc, append(slices.Clone(more), "-E", "-xc", os.DevNull)...).Run() != nil {
		t.Skipf("gcc does not know %s", strings.Join(more, " "))
	}
	args := slices.Concat(flags, more, []string{"-o", program, filepath.Join(dir, "main.c"), "-lm"})
	out, err := exec.Command(gcc, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	run := exec.Command(program)
	run.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	require.NoError(t, run.Run(), stderr.String())
	return stdout.Bytes()
}
