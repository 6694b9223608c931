package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
)

// TestMain is a worker, a sweep and the program of jobs as well, so that tests can
// kill them.
func TestMain(m *testing.M) {
	switch os.Getenv("QUEUE_TEST_ROLE") {
	case "":
		os.Exit(m.Run())
	case "job":
		os.Exit(job(os.Args[1:]))
	case "worker":
		exit(worker(os.Args[1]))
	case "sweep":
		exit(sweeper(os.Args[1], os.Args[2]))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// job prints what it was called with and what its input holds, after a while.
func job(args []string) int {
	if f, err := os.OpenFile(os.Getenv("QUEUE_TEST_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, strings.Join(args, " "))
		f.Close()
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ms, _ := strconv.Atoi(os.Getenv("QUEUE_TEST_MS"))
	time.Sleep(time.Duration(ms) * time.Millisecond)
	if slices.Contains(args, "--rows=13") {
		fmt.Fprintln(os.Stderr, "bitsched: thirteen rows")
		return 3
	}
	fmt.Printf("{\"args\": %q, \"text\": %q, \"cpu_seconds\": %d}\n", strings.Join(args, " "), text, time.Now().UnixNano())
	return 0
}

const (
	testVersion = "0123456789abcdef0123"
	testLease   = time.Second
)

// asJob lets the processes of jobs be that.
func asJob() { os.Setenv("QUEUE_TEST_ROLE", "job") }

func worker(url string) error {
	asJob()
	conn, err := (&Connection{URL: url}).Dial(context.Background())
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	return (&Worker{Conn: conn, Version: testVersion, Program: exe, Slots: 1, Lease: testLease}).Run(context.Background())
}

// sweeper runs the plan of a folder on a server in its process.
func sweeper(dir, listen string) error {
	asJob()
	s, err := open(dir)
	if err != nil {
		return err
	}
	srv, err := StartServer(ServerOptions{Dir: filepath.Join(dir, "nats"), Listen: listen})
	if err != nil {
		return err
	}
	conn, err := srv.Dial()
	if err != nil {
		return err
	}
	s.Executor = &Executor{Conn: conn, Version: testVersion, Lease: testLease}
	sum, err := s.Run(context.Background())
	if err == nil && sum.Done != sum.Jobs {
		err = fmt.Errorf("%d of %d jobs", sum.Done, sum.Jobs)
	}
	return err
}

func open(dir string) (*sweep.Sweep, error) {
	file := filepath.Join(dir, "plan.yaml")
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := sweep.Read(f, file, testVersion, sweep.ReadOptions{})
	if err != nil {
		return nil, err
	}
	store, err := results.Open(filepath.Join(dir, "results"))
	return &sweep.Sweep{Plan: p, Store: store}, err
}

// writePlan writes a plan of n jobs on two circuits.
func writePlan(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	rows := make([]string, n/2)
	for i := range rows {
		rows[i] = strconv.Itoa(i + 1)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.v"), []byte("A"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.v"), bytes.Repeat([]byte("B"), 300_000), 0o600))
	text := "version: 1\ncommand: [schedule, \"{circuit}\"]\nmatrix:\n  circuit: [a.v, b.v]\n  rows: [" + strings.Join(rows, ", ") + "]\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plan.yaml"), []byte(text), 0o600))
	return dir
}

// inProcess is what the plan of a folder gives without a queue, the oracle.
func inProcess(t *testing.T, dir string) string {
	t.Helper()
	s, err := open(dir)
	require.NoError(t, err)
	s.Store, err = results.Open(t.TempDir())
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	t.Setenv("QUEUE_TEST_ROLE", "job")
	t.Setenv("QUEUE_TEST_MS", "0")
	s.Executor = &sweep.Local{Workers: 4, Program: exe}
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	return export(t, s)
}

func export(t *testing.T, s *sweep.Sweep) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Export(&b))
	return b.String()
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestKill kills workers and the sweep, which the server is in, at random, and starts
// them again. QUEUE_KILLS says how often, with 200 jobs then; else it is a short one.
func TestKill(t *testing.T) {
	kills, jobs, ms := 2, 12, 150
	if text := os.Getenv("QUEUE_KILLS"); text != "" {
		var err error
		kills, err = strconv.Atoi(text)
		require.NoError(t, err)
		jobs, ms = 200, 300
	}
	dir := writePlan(t, jobs)
	want := inProcess(t, dir)
	require.Equal(t, jobs, strings.Count(want, "\n"))
	log := filepath.Join(dir, "log")
	listen := freePort(t)
	exe, err := os.Executable()
	require.NoError(t, err)

	type process struct {
		role  string
		args  []string
		cmd   *exec.Cmd
		ended chan error
		err   bytes.Buffer
	}
	start := func(p *process) {
		p.cmd = exec.Command(exe, p.args...)
		p.cmd.Env = append(os.Environ(), "QUEUE_TEST_ROLE="+p.role, "QUEUE_TEST_LOG="+log, "QUEUE_TEST_MS="+strconv.Itoa(ms))
		p.err.Reset()
		p.cmd.Stderr = &p.err
		require.NoError(t, p.cmd.Start())
		p.ended = make(chan error, 1)
		cmd, ended := p.cmd, p.ended
		go func() { ended <- cmd.Wait() }()
	}
	all := []*process{{role: "sweep", args: []string{dir, listen}}}
	for range 3 {
		all = append(all, &process{role: "worker", args: []string{"nats://" + listen}})
	}
	for _, p := range all {
		start(p)
	}
	t.Cleanup(func() {
		for _, p := range all {
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	store, err := results.Open(filepath.Join(dir, "results"))
	require.NoError(t, err)
	sweeps := 0
	for kill := range kills {
		// After so many records, and a while.
		require.Eventually(t, func() bool {
			keys, err := store.Keys()
			return err == nil && len(keys)/2 >= kill*jobs/(kills+1)
		}, 2*time.Minute, 5*time.Millisecond, "no more results: %s", &all[0].err)
		time.Sleep(time.Duration(rng.IntN(ms)) * time.Millisecond)
		p := all[rng.IntN(len(all))]
		if kill == 0 {
			p = all[0]
		}
		if p == all[0] {
			sweeps++
		}
		require.NoError(t, p.cmd.Process.Kill())
		<-p.ended
		start(p)
	}
	select {
	case err := <-all[0].ended:
		require.NoError(t, err, all[0].err.String())
		all[0].ended <- err
	case <-time.After(2 * time.Minute):
		for i, p := range all {
			select {
			case err := <-p.ended:
				t.Logf("%s %d has ended: %v: %s", p.role, i, err, p.err.String())
				p.ended <- err
			default:
			}
		}
		t.Fatal("the sweep does not end")
	}
	s, err := open(dir)
	require.NoError(t, err)
	require.Equal(t, want, export(t, s), "other bytes than in one process")
	keys, err := s.Store.Keys()
	require.NoError(t, err)
	require.Len(t, keys, 2*jobs, "a record and times of each job, once")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	t.Logf("%d jobs, %d kills, %d of them of the sweep with its server; jobs were started %d times", jobs, kills, sweeps, bytes.Count(text, []byte("\n")))
}

// embedded is a server without a port, and a sweep on it.
func embedded(t *testing.T, n int) (*sweep.Sweep, *Executor, func() int) {
	t.Helper()
	dir := writePlan(t, n)
	log := filepath.Join(dir, "log")
	t.Setenv("QUEUE_TEST_ROLE", "job")
	t.Setenv("QUEUE_TEST_LOG", log)
	srv, err := StartServer(ServerOptions{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	conn, err := srv.Dial()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	exe, err := os.Executable()
	require.NoError(t, err)
	s, err := open(dir)
	require.NoError(t, err)
	e := &Executor{Conn: conn, Version: testVersion, Lease: testLease, Workers: 2, Program: exe}
	s.Executor = e
	return s, e, func() int {
		b, _ := os.ReadFile(log)
		return bytes.Count(b, []byte("\n"))
	}
}

func TestFailuresAndCache(t *testing.T) {
	s, e, runs := embedded(t, 26) // two jobs of 13 rows
	e.Lease = DefaultLease        // so that a busy machine is not taken for one that is gone
	sum, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, &sweep.Summary{Jobs: 26, Done: 26, Failed: 2}, sum)
	require.Equal(t, 26, runs())
	first := export(t, s)
	require.Contains(t, first, "thirteen rows")
	require.NotContains(t, first, os.TempDir())

	// Another sweep finds the results on the server; what failed runs again if that is asked.
	s.Store, err = results.Open(t.TempDir())
	require.NoError(t, err)
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 26, runs())
	require.Equal(t, first, export(t, s))
	e.Again, s.Retry = true, true
	_, err = s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 28, runs())
}

// TestStop: a sweep that is stopped leaves no jobs behind for workers.
func TestStop(t *testing.T) {
	s, e, _ := embedded(t, 20)
	e.Workers = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	var notes []string
	var mu sync.Mutex
	e.Note = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, fmt.Sprintf(format, args...))
		cancel(why)
	}
	_, err := s.Run(ctx)
	require.ErrorIs(t, err, why)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "no worker asks for jobs")
	q, err := openQueue(t.Context(), e.Conn, testVersion, testLease)
	require.NoError(t, err)
	info, err := q.jobs.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.State.Msgs)
	// A worker of another build gets nothing, and ends when it is idle.
	w := &Worker{Conn: e.Conn, Version: "another", Program: "none", Lease: testLease, Idle: time.Millisecond}
	require.NoError(t, w.Run(t.Context()))
}

// TestStoppedWorker: the job that comes to a worker after it was stopped goes to the next.
func TestStoppedWorker(t *testing.T) {
	_, e, _ := embedded(t, 2)
	q, err := openQueue(t.Context(), e.Conn, testVersion, time.Hour)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = q.next(ctx)
	}()
	require.Eventually(t, func() bool {
		info, err := q.workers.Info(t.Context())
		return err == nil && info.NumWaiting == 1
	}, time.Minute, time.Millisecond)
	cancel()
	<-ended
	_, err = q.js.Publish(t.Context(), q.subject("key"), []byte("job"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		m, err := q.next(t.Context())
		return err == nil && m != nil && string(m.Data()) == "job"
	}, time.Minute, time.Millisecond)
}

// TestHostileJobs: a worker runs what plans make, and nothing else.
func TestHostileJobs(t *testing.T) {
	s, e, runs := embedded(t, 2)
	q, err := openQueue(t.Context(), e.Conn, testVersion, testLease)
	require.NoError(t, err)
	good := s.Plan.Jobs[0].Staged()
	for _, change := range []func(j *sweep.Job){
		func(j *sweep.Job) { j.Args = nil },
		func(j *sweep.Job) { j.Args[0] = "sweep" },
		func(j *sweep.Job) { j.Args = append(j.Args, "-o=/tmp/x") },
		func(j *sweep.Job) { j.Args = append(j.Args, "--svg=/tmp/x") },
		func(j *sweep.Job) { j.Inputs[0].Name = "../x" },
		func(j *sweep.Job) { j.Inputs[0].Name = "/tmp/x" },
	} {
		j := good
		j.Args, j.Inputs = slices.Clone(good.Args), slices.Clone(good.Inputs)
		change(&j)
		require.Error(t, j.Validate())
	}
	require.NoError(t, good.Validate())
	bad := good
	bad.Args = []string{"worker"}
	text, err := json.Marshal(message{bad, 0})
	require.NoError(t, err)
	_, err = q.js.Publish(t.Context(), q.subject(bad.Key), text)
	require.NoError(t, err)
	_, err = s.Run(t.Context())
	require.ErrorContains(t, err, `runs "worker", expected one of`)
	require.LessOrEqual(t, runs(), 1)
}

func TestServerIsClosed(t *testing.T) {
	for _, address := range []string{"0.0.0.0:4999", ":4999", "192.0.2.1:4999", "[::]:4999", "example.com:4999"} {
		_, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: address})
		require.ErrorIs(t, err, ErrOpen, address)
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:http", "127.0.0.1:0", "4222"} {
		_, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: address})
		require.ErrorContains(t, err, "expected HOST:PORT", address)
	}
	listen := freePort(t)
	srv, err := StartServer(ServerOptions{Dir: t.TempDir(), Listen: listen, User: "bitsched", Password: "secret"})
	require.NoError(t, err)
	defer srv.Close()
	_, err = (&Connection{URL: "nats://" + listen}).Dial(t.Context())
	require.ErrorContains(t, err, "Authorization")
	_, err = (&Connection{URL: "nats://bitsched:wrong@" + listen}).Dial(t.Context())
	require.ErrorContains(t, err, "Authorization")
	require.NotContains(t, err.Error(), "wrong")
	c, err := (&Connection{URL: "nats://" + listen, User: "bitsched", Password: "secret"}).Dial(t.Context())
	require.NoError(t, err)
	c.Close()
	_, err = (&Connection{URL: "localhost"}).Dial(t.Context())
	require.ErrorContains(t, err, "expected one as nats://HOST:PORT")
}
