package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
)

// TestMain is the program of jobs as well: it prints what it was called with, and
// what its inputs hold.
func TestMain(m *testing.M) {
	if os.Getenv("SWEEP_TEST_JOB") == "" {
		os.Exit(m.Run())
	}
	os.Exit(job(os.Args[1:]))
}

func job(args []string) int {
	if f, err := os.OpenFile(os.Getenv("SWEEP_TEST_JOB"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, strings.Join(args, " "))
		f.Close()
	}
	text := ""
	for _, a := range args {
		v := a[strings.Index(a, "=")+1:]
		if b, err := os.ReadFile(v); err == nil {
			text += string(b)
		}
		switch a {
		case "--effort=slow":
			time.Sleep(time.Minute)
		case "--effort=bad":
			fmt.Fprintln(os.Stderr, "bitsched: bad effort")
			return 2
		}
	}
	wd, _ := os.Getwd()
	entries, _ := os.ReadDir(wd)
	fmt.Printf("{\"z\": 1e3, \"args\": %q, \"text\": %q, \"entries\": %d, \"cpu_seconds\": %d, \"deep\": [{\"ops_per_second\": 1, \"a\": 2}]}\n",
		strings.Join(args, " "), text, len(entries), time.Now().UnixNano())
	return 0
}

// fixture makes a plan with two inputs, one of them outside of its folder.
func fixture(t *testing.T, text string) (*Plan, *results.Store, *Local, func() int) {
	t.Helper()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "b.v")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.v"), []byte("A"), 0o600))
	require.NoError(t, os.WriteFile(outside, []byte("B"), 0o600))
	log := filepath.Join(dir, "log")
	t.Setenv("SWEEP_TEST_JOB", log)
	p, err := Read(strings.NewReader(strings.ReplaceAll(text, "OUTSIDE", outside)), filepath.Join(dir, "plan.yaml"), "v", ReadOptions{})
	require.NoError(t, err)
	store, err := results.Open(filepath.Join(dir, "results"))
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	return p, store, &Local{Workers: 3, Program: exe}, func() int {
		b, _ := os.ReadFile(log)
		return bytes.Count(b, []byte("\n"))
	}
}

const smallPlan = "version: 1\ncommand: [schedule, \"{circuit}\"]\nmatrix:\n  circuit: [a.v, OUTSIDE]\n  rows: [1, 2, 3]\n"

func TestRunAndResume(t *testing.T) {
	p, store, local, runs := fixture(t, smallPlan)
	s := &Sweep{Plan: p, Store: store, Executor: local}
	// A part of the jobs, and then the rest.
	half := &Sweep{Plan: p, Store: store, Executor: local, Shard: 2, Shards: 2}
	sum, err := half.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &Summary{Jobs: 3, Done: 3}, sum)
	var seen []Progress
	s.Progress = func(p Progress) { seen = append(seen, p) }
	sum, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &Summary{Jobs: 6, Done: 6, Kept: 3}, sum)
	require.Equal(t, 6, runs())
	require.Equal(t, 3, seen[0].Done)
	require.Equal(t, 6, seen[len(seen)-1].Done)
	var first bytes.Buffer
	require.NoError(t, s.Export(&first))
	require.Equal(t, 6, strings.Count(first.String(), "\n"))
	require.NotContains(t, first.String(), "cpu_seconds")
	require.NotContains(t, first.String(), "per_second")
	require.NotContains(t, first.String(), os.TempDir(), "a path of this machine")
	require.Contains(t, first.String(), `"text":"B"`)
	require.Contains(t, first.String(), `"entries":1`)
	require.Contains(t, first.String(), `"z":1e3`)

	// Another executor, another order, the same bytes.
	other, err := results.Open(t.TempDir())
	require.NoError(t, err)
	again := &Sweep{Plan: p, Store: other, Executor: &Local{Workers: 1, Program: local.Program}}
	_, err = again.Run(t.Context())
	require.NoError(t, err)
	var second bytes.Buffer
	require.NoError(t, again.Export(&second))
	require.Equal(t, first.String(), second.String())

	seconds, of, err := s.Estimate(&p.Jobs[0])
	require.NoError(t, err)
	require.Equal(t, 1, of)
	require.Positive(t, seconds)
}

// patient counts jobs, and has only slow ones end when they take too long, so that a busy
// machine makes no difference.
type patient struct {
	*Local
	jobs int
}

func (p *patient) Run(ctx context.Context, jobs []Job, timeout time.Duration, done func(*Record, *Times) error) error {
	p.jobs += len(jobs)
	slow := slices.IndexFunc(jobs, func(j Job) bool { return slices.Contains(j.Args, "--effort=slow") })
	if slow < 0 {
		return p.Local.Run(ctx, jobs, 0, done)
	}
	if err := p.Local.Run(ctx, slices.Delete(slices.Clone(jobs), slow, slow+1), 0, done); err != nil {
		return err
	}
	return p.Local.Run(ctx, jobs[slow:slow+1], timeout, done)
}

func TestFailedAndStopped(t *testing.T) {
	p, store, local, _ := fixture(t, "version: 1\ncommand: [ops]\nmatrix:\n  effort: [fine, bad, slow]\ntimeout: 100ms\n")
	counted := &patient{Local: local}
	s := &Sweep{Plan: p, Store: store, Executor: counted}
	sum, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &Summary{Jobs: 3, Done: 3, Failed: 2}, sum)
	list, err := s.Records()
	require.NoError(t, err)
	require.Equal(t, 2, list[1].Exit)
	require.Equal(t, "bitsched: bad effort", list[1].Error)
	require.Equal(t, TimedOut, list[2].Exit)
	require.Equal(t, "took longer than 100ms", list[2].Error)
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, counted.jobs)
	s.Retry = true
	sum, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &Summary{Jobs: 3, Done: 3, Failed: 2, Kept: 1}, sum)
	require.Equal(t, 5, counted.jobs)

	// What is stopped has no record.
	p.Timeout = 0
	empty, err := results.Open(t.TempDir())
	require.NoError(t, err)
	s = &Sweep{Plan: p, Store: empty, Executor: &Local{Workers: 1, Program: local.Program}}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s.Progress = func(p Progress) {
		if p.Done == 2 {
			time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
		}
	}
	sum, err = s.Run(ctx)
	require.ErrorIs(t, err, why)
	require.Equal(t, 2, sum.Done)
	list, err = s.Records()
	require.NoError(t, err)
	require.Len(t, list, 2)
}

// TestFolders: a folder goes along with its files, under no path of the machine, and
// what they hold is part of the key.
func TestFolders(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "private-name", "data")
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "sub", "x.v"), []byte("X"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "y"), []byte("Y"), 0o600))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(outside, link))
	keys := map[string]bool{}
	for _, folder := range []string{outside, link + "/"} {
		p, store, local, _ := fixture(t, "version: 1\ncommand: [ops]\nflags: {data: "+folder+"}\nmatrix: {rows: [1, 2]}\n")
		require.Len(t, p.Jobs[0].Inputs, 2)
		keys[p.Jobs[0].Key] = true
		s := &Sweep{Plan: p, Store: store, Executor: local}
		_, err := s.Run(t.Context())
		require.NoError(t, err)
		list, err := s.Records()
		require.NoError(t, err)
		require.Contains(t, string(list[0].Result), `"entries":1`)
		require.Contains(t, []string{"--data=inputs/data", "--data=inputs/link"}, list[0].Args[1])
	}
	require.NoError(t, os.WriteFile(filepath.Join(outside, "y"), []byte("Z"), 0o600))
	p, _, _, _ := fixture(t, "version: 1\ncommand: [ops]\nflags: {data: "+outside+"}\nmatrix: {rows: [1, 2]}\n")
	require.False(t, keys[p.Jobs[0].Key])
}

func TestMerge(t *testing.T) {
	p, a, local, _ := fixture(t, smallPlan)
	b, err := results.Open(t.TempDir())
	require.NoError(t, err)
	whole, err := results.Open(t.TempDir())
	require.NoError(t, err)
	for i, st := range []*results.Store{a, b} {
		_, err := (&Sweep{Plan: p, Store: st, Executor: local, Shard: i + 1, Shards: 2}).Run(t.Context())
		require.NoError(t, err)
	}
	added, err := Merge(whole, a, b)
	require.NoError(t, err)
	require.Equal(t, 12, added) // records and times
	added, err = Merge(whole, a, b)
	require.NoError(t, err)
	require.Zero(t, added)
	list, err := (&Sweep{Plan: p, Store: whole}).Records()
	require.NoError(t, err)
	require.Len(t, list, 6)
	// A failure makes room for a result, and not the other way round.
	key := p.Jobs[0].Key
	require.NoError(t, whole.Put(key, &Record{Key: key, Exit: 1}))
	_, err = Merge(whole, a)
	require.NoError(t, err)
	var r Record
	_, err = whole.Get(key, &r)
	require.NoError(t, err)
	require.Zero(t, r.Exit)
}
