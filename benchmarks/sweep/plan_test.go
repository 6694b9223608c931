package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadOrder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.v", "b.v"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	read := func(text string) (*Plan, error) {
		return Read(strings.NewReader(text), filepath.Join(dir, "plan.yaml"), "v1", ReadOptions{})
	}
	p, err := read(`version: 1
title: rows
command: [schedule, "{circuit}"]
flags: {effort: fast, arrays: 4}
matrix:
  rows: [64, 128]
  circuit: [b.v, a.v]
exclude:
  - {rows: 64, circuit: a.v}
include:
  - {circuit: a.v, rows: 17, rematerialize: true}
  - {circuit: b.v, rows: 64}
seeds: 2
timeout: 90s
`)
	require.NoError(t, err)
	var lines []string
	for _, j := range p.Jobs {
		lines = append(lines, j.String())
		require.Len(t, j.Inputs, 1)
		require.Len(t, j.Key, 64)
	}
	require.Equal(t, []string{
		"schedule b.v --effort=fast --arrays=4 --rows=64 --seed=1 --json",
		"schedule b.v --effort=fast --arrays=4 --rows=64 --seed=2 --json",
		"schedule b.v --effort=fast --arrays=4 --rows=128 --seed=1 --json",
		"schedule b.v --effort=fast --arrays=4 --rows=128 --seed=2 --json",
		"schedule a.v --effort=fast --arrays=4 --rows=128 --seed=1 --json",
		"schedule a.v --effort=fast --arrays=4 --rows=128 --seed=2 --json",
		"schedule a.v --effort=fast --arrays=4 --rows=17 --rematerialize=true --json",
		"schedule b.v --effort=fast --arrays=4 --rows=64 --json",
	}, lines)

	again, err := read("version: 1\ncommand: [schedule, \"{circuit}\"]\nmatrix: {circuit: [a.v], rows: [64]}\n")
	require.NoError(t, err)
	key := again.Jobs[0].Key
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.v"), []byte("other"), 0o600))
	again, err = read("version: 1\ncommand: [schedule, \"{circuit}\"]\nmatrix: {circuit: [a.v], rows: [64]}\n")
	require.NoError(t, err)
	require.NotEqual(t, key, again.Jobs[0].Key)
	other, err := Read(strings.NewReader("version: 1\ncommand: [schedule, \"{circuit}\"]\nmatrix: {circuit: [a.v], rows: [64]}\n"), filepath.Join(dir, "plan.yaml"), "v2", ReadOptions{})
	require.NoError(t, err)
	require.NotEqual(t, again.Jobs[0].Key, other.Jobs[0].Key, "another program")
}

func TestBadPlans(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "plan.yaml:1:"},
		{"version: 2\ncommand: [ops]\nmatrix: {tech: [xmg]}\n", "plan.yaml:1:.*version is 2, expected 1"},
		{"version: 1\ncomand: [ops]\n", "plan.yaml:2:.*comand"},
		{"version: 1\nmatrix: {a: [1]}\n", "command is missing"},
		{"version: 1\ncommand: [rm, x]\nmatrix: {a: [1]}\n", "plan.yaml:2:.*command is rm, expected one of schedule"},
		{"version: 1\ncommand: [ops]\n", "matrix is missing or empty"},
		{"version: 1\ncommand: [ops]\nmatrix: {}\n", "matrix is missing or empty"},
		{"version: 1\ncommand: [ops]\nmatrix:\n  tech: []\n", "plan.yaml:4:.*matrix.tech has no values"},
		{"version: 1\ncommand: [ops]\nmatrix:\n  tech: [xmg, xmg]\n", "plan.yaml:4:.*xmg a second time"},
		{"version: 1\ncommand: [ops]\nmatrix:\n  svg: [x]\n", "plan.yaml:4:.*writes files"},
		{"version: 1\ncommand: [schedule, \"{c}\"]\nmatrix: {rows: [1]}\n", "plan.yaml:2:.*has {c}, expected an axis"},
		{"version: 1\ncommand: [schedule, \"{c}\"]\nmatrix:\n  rows: [1]\n  c: [no.v]\n", "plan.yaml:5:.*no.v, which is no file"},
		{"version: 1\ncommand: [schedule, no.v]\nmatrix:\n  rows: [1]\n", "no.v, which is no file"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1]}\nexclude: [{widht: 1}]\n", "plan.yaml:4:.*no axis"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1]}\nexclude: [{width: 1}]\n", "leaves no job"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1]}\ninclude: [{}]\n", "include\\[0\\] is empty"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1]}\ntimeout: soon\n", "plan.yaml:4:.*expected a time"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [[1]]}\n", "matrix.width"},
		{"version: 1\ncommand: [ops]\nmatrix: {seed: [1]}\nseeds: 3\n", "plan.yaml:4:.*beside matrix.seed"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1]}\nseeds: 1000000\n", "plan.yaml:4: seeds is 1000000, more than 10000"},
		{"version: 1\ncommand: [ops]\nmatrix: {width: [1, 2, 3, 4, 5, 6]}\nseeds: 5000\n", "plan.yaml:3: matrix has more than 10000 combinations"},
	} {
		_, err := Read(strings.NewReader(c.text), filepath.Join(t.TempDir(), "plan.yaml"), "", ReadOptions{})
		require.Error(t, err, c.text)
		require.Regexp(t, c.want, err.Error(), c.text)
	}
	p, err := Read(strings.NewReader("version: 1\ncommand: [ops]\nmatrix: {width: [1]}\nseeds: 20000\n"), "plan.yaml", "", ReadOptions{Many: true})
	require.NoError(t, err)
	require.Len(t, p.Jobs, 20000)
}
