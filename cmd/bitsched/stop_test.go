package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/masim"
)

// stoppedRun is a run that a budget or an interrupt stops at the n-th report of a phase.
type stoppedRun struct {
	phase     string // beginning of its name
	at        int
	interrupt bool
}

type aborted struct{ code int }

// run executes a command line; took is the time from the stop to the end, 0 if nothing
// was stopped.
func (s stoppedRun) run(args []string) (code int, stdout, stderr string, took time.Duration) {
	a, out, errs := testApp()
	a.interrupt = newInterrupts(errs, func(code int) { panic(aborted{code}) })
	var spent func()
	a.after = func(_ time.Duration, f func()) func() bool {
		spent = f
		return func() bool { return true }
	}
	seen := 0
	var since time.Time
	a.progress = func(p masim.Progress) {
		if !strings.HasPrefix(p.Phase, s.phase) {
			return
		}
		if seen++; seen != s.at {
			return
		}
		since = time.Now()
		if s.interrupt {
			a.interrupt.signalled()
		} else if spent != nil {
			spent()
		}
	}
	defer func() {
		if p := recover(); p != nil {
			abort, ok := p.(aborted)
			if !ok {
				panic(p)
			}
			code = abort.code
		}
		if !since.IsZero() {
			took = time.Since(since)
		}
		stdout, stderr = out.String(), errs.String()
	}()
	if !s.interrupt {
		args = append(args, "--budget", "1h")
	}
	return a.run(args), "", "", 0
}

// stopPhases are the phases of schedule, by how their reports begin, and of the proof.
var stopPhases = []string{"making gates", "", "bounding", "ordering", "racing", "verifying"}

// Whatever phase a budget or an interrupt meets, the run ends with a verified schedule or
// with nothing and exit code 130, and says so in one line.
func TestStopInEveryPhase(t *testing.T) {
	dir := t.TempDir()
	circuit := filepath.Join(dir, "c.aig")
	a, _, _ := testApp()
	if code := a.run([]string{"gen", "multiplier", "--width", "5", "--and", "-o", circuit}); code != exitOK {
		t.Fatal(code)
	}
	r := rand.New(rand.NewPCG(1, 2))
	stopped := map[string]int{}
	for i := range invariants.Draws(len(stopPhases)+2, 15) {
		s := stoppedRun{phase: stopPhases[i%len(stopPhases)], at: 1 + r.IntN(3)*(i/len(stopPhases)), interrupt: i%2 == 0}
		name := fmt.Sprintf("%q, report %d, interrupt %v", s.phase, s.at, s.interrupt)
		out := filepath.Join(dir, "out.bsp")
		code, _, stderr, took := s.run([]string{"schedule", circuit, "--rows", "12", "--effort", "fast", "-o", out})
		switch {
		case code == exitAborted:
			if _, err := os.Stat(out); !os.IsNotExist(err) {
				t.Errorf("%s: exit code 130, but there is a program", name)
			}
			if strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s: stderr %q, expected one line", name, stderr)
			}
		case code == exitOK:
			if strings.Count(stderr, "\n") > 1 {
				t.Errorf("%s: stderr %q, expected one line at most", name, stderr)
			}
			check, _, errs := testApp()
			if code := check.run([]string{"verify", circuit, out, "--patterns", "64"}); code != exitOK {
				t.Errorf("%s: the program does not pass: %s", name, errs)
			}
			os.Remove(out)
		default:
			t.Errorf("%s: exit code %d, stderr %q", name, code, stderr)
		}
		if took > 0 {
			stopped[s.phase]++
		}
	}
	if len(stopped) < 5 {
		t.Errorf("runs were stopped in phases %v, expected five", stopped)
	}
}

// A synthesis that is stopped gives the smallest circuit that is proved.
func TestStopSynthesis(t *testing.T) {
	mult := filepath.Join("..", "..", "testdata", "mult.aig")
	for _, s := range []stoppedRun{{"1", 2, true}, {"1", 5, false}, {"proving", 1, true}} {
		out := filepath.Join(t.TempDir(), "out.v")
		code, _, stderr, _ := s.run([]string{"synth", mult, "--effort", "fast", "-o", out})
		if code != exitOK {
			t.Fatalf("%+v: exit code %d, %s", s, code, stderr)
		}
		check, _, errs := testApp()
		if code := check.run([]string{"cec", mult, out}); code != exitOK {
			t.Errorf("%+v: not equal: %s", s, errs)
		}
	}
}

// A proof that would take hours ends where the budget or an interrupt meets it, in each of
// its phases and in each command that proves: with exit code 1, what stopped it, and no file.
func TestStopProof(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"gen", "multiplier", "--width", "16", "-o", path("tree.v")},
		{"gen", "mul-full", "--width", "16", "-o", path("halves.v")}, // of three shorter ones: undecided
		{"schedule", path("halves.v"), "--rows", "128", "--effort", "fast", "-o", path("halves.bsp")},
		{"gen", "multiplier", "--width", "8", "--and", "-o", path("ands.aig")},
	} {
		a, _, errs := testApp()
		if code := a.run(args); code != exitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errs)
		}
	}
	cec := []string{"cec", path("tree.v"), path("halves.v")}
	verify := []string{"verify", path("tree.v"), path("halves.bsp"), "--prove", "--patterns", "64"}
	schedule := []string{"schedule", path("ands.aig"), "--rows", "128", "--effort", "fast", "--prove", "-o", path("out.bsp")}
	for _, c := range []struct {
		args  []string
		phase string
		at    int
	}{
		{cec, "proving", 1}, {cec, "proving gates equal", 1}, {cec, "proving gates equal", 8},
		{verify, "proving gates equal", 1}, {verify, "proving gates equal", 8},
		{schedule, "proving gates equal", 1},
	} {
		for _, interrupt := range []bool{false, true} {
			s := stoppedRun{c.phase, c.at, interrupt}
			code, stdout, stderr, took := s.run(c.args)
			want := "stopped by budget"
			if interrupt {
				want = "interrupt"
			}
			if took == 0 || code != exitCheck && !(interrupt && code == exitAborted) || !strings.Contains(stdout+stderr, want) {
				t.Errorf("%v, %+v: stopped %v, exit code %d, %s%s, expected %q", c.args, s, took > 0, code, stdout, stderr, want)
			}
		}
	}
	if _, err := os.Stat(path("out.bsp")); !os.IsNotExist(err) {
		t.Errorf("a program that was not proved is there: %v", err)
	}
}

// Whatever phase an interrupt meets, run --config ends with exit code 130, says so in one
// line, and prints what is known: nothing before the machine runs, then the part of the
// run, the run without a comparison, and of several runs those that ended.
func TestStopConfigRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs kernels on cores")
	}
	long := []string{"-D", "M=512", "-D", "N=512", "-D", "T=40"} // what does not end by itself
	for _, c := range []struct {
		phase string
		at    int
		args  []string
		want  []string // in stdout
	}{
		{"compiling", 1, nil, nil},
		{"making arguments", 1, nil, nil},
		{"looking for races", 1, []string{"--check-races"}, nil},
		{"running", 1, nil, []string{"stopped                  in cycle", "checked                  not: the program has not ended"}},
		{"cycles", 2, long, []string{"stopped                  in cycle", "bounds ", "checked                  not: the program has not ended"}},
		{"cycles", 2, append([]string{"--sample", "0.1"}, long...), []string{"stopped                  in cycle"}},
		{"comparing", 1, []string{"-D", "M=160", "-D", "N=160"}, []string{"cycles ", "checked                  not with the sequential program"}},
		{"running", 2, []string{"--core", "io4,ooo8"}, []string{"base           io4 ", " equal\n", " stopped\n"}},
	} {
		s := stoppedRun{phase: c.phase, at: c.at, interrupt: true}
		code, stdout, stderr, took := s.run(append([]string{"run", "stencil2d", "--config", "base", "--machine", "nsc-small", "--omp-threads", "4"}, c.args...))
		if code != exitAborted || took == 0 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d after %s, stderr %q, expected %d and one line", c.phase, code, took, stderr, exitAborted)
		}
		if len(c.want) == 0 && stdout != "" {
			t.Errorf("%s: stdout %q, expected nothing", c.phase, stdout)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in %s", c.phase, want, stdout)
			}
		}
	}
}

// An interrupt ends a search for races that would never end.
func TestStopEndlessRaceSearch(t *testing.T) {
	kernel := filepath.Join(t.TempDir(), "endless.c")
	if err := os.WriteFile(kernel, []byte("void endless(int n, int a[n]) { int i = 0; while (a[0] != a[1]) { i++; a[2] = i; } }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, out, errs := testApp()
	a.interrupt = newInterrupts(errs, func(int) { t.Error("aborted, expected the first interrupt to stop the search") })
	a.progress = func(p masim.Progress) {
		if p.Phase == "looking for races" {
			time.AfterFunc(200*time.Millisecond, a.interrupt.signalled)
		}
	}
	code := a.run([]string{"run", kernel, "-D", "n=8", "--config", "base", "--machine", "infinity-stream-slice", "--check-races"})
	if want := "bitsched: interrupted: stopping (Ctrl-C again to abort)\n"; code != exitAborted || out.Len() > 0 || errs.String() != want {
		t.Errorf("exit code %d, stdout %q, stderr %q, expected %d and %q", code, out, errs, exitAborted, want)
	}
}

// BenchmarkStop stops schedule, of a multiplier of a million gates, at 30 random times in
// its phases, and gives the longest time from there to the end of the run:
//
//	go test ./cmd/bitsched -run '^$' -bench Stop -benchtime 1x -timeout 2h -v
func BenchmarkStop(b *testing.B) {
	circuit := filepath.Join(b.TempDir(), "c.aig")
	a, _, _ := testApp()
	if code := a.run([]string{"gen", "multiplier", "--width", "240", "--and", "-o", circuit}); code != exitOK {
		b.Fatal(code)
	}
	for b.Loop() {
		r := rand.New(rand.NewPCG(3, 4))
		longest := time.Duration(0)
		for i := range 30 {
			s := stoppedRun{phase: stopPhases[i%len(stopPhases)], at: 1 + r.IntN(20), interrupt: r.IntN(2) == 0}
			var errs bytes.Buffer
			code, _, stderr, took := s.run([]string{"schedule", circuit, "--rows", "2048", "--effort", "fast", "-o", filepath.Join(b.TempDir(), "out.bsp")})
			errs.WriteString(stderr)
			if code != exitOK && code != exitAborted {
				b.Fatalf("%+v: exit code %d, %s", s, code, &errs)
			}
			b.Logf("%+v: exit code %d after %.1f s", s, code, took.Seconds())
			longest = max(longest, took)
		}
		b.ReportMetric(longest.Seconds(), "most-s")
	}
}
