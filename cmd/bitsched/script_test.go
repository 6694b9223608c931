package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/masim"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"bitsched":                       main,
		"bitsched-interrupted-once":      func() { os.Exit(runInterrupted(1, "trial", "point", "executing region", "lowering region")) },
		"bitsched-interrupted-twice":     func() { os.Exit(runInterrupted(2, "trial", "point", "executing region", "lowering region")) },
		"bitsched-interrupted-verifying": func() { os.Exit(runInterrupted(1, "verifying")) },
		"bitsched-interrupted-running":   func() { os.Exit(runInterrupted(1, "cycles")) },
		"bitsched-overbudget":            func() { os.Exit(runOverBudget()) },
	})
}

// runInterrupted is run with Ctrl-C pressed when one of the phases is reported, or, but
// for verifying, when the search has its first schedule, and again as soon as that was
// noticed.
func runInterrupted(times int, phases ...string) int {
	a := newApp()
	pressed := 0
	a.progress = func(p masim.Progress) {
		if !slices.Contains(phases, p.Phase) && (p.Best < 0 || phases[0] == "verifying") {
			return
		}
		for ; pressed < times; pressed++ {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Signal(os.Interrupt)
			}
			if err != nil {
				panic(err)
			}
			for !a.interrupt.stopping() {
				time.Sleep(time.Millisecond)
			}
		}
		if times > 1 {
			select {} // until the abort
		}
	}
	return a.run(os.Args[1:])
}

// runOverBudget is run with the budget used up when the search has its first
// schedule, or when a phase begins as $STOP_PHASE, however long that takes.
func runOverBudget() int {
	a := newApp()
	var end func()
	a.after = func(_ time.Duration, f func()) func() bool {
		end = f
		return func() bool { return true }
	}
	a.progress = func(p masim.Progress) {
		if phase := os.Getenv("STOP_PHASE"); phase == "" && p.Best >= 0 || phase != "" && strings.HasPrefix(p.Phase, phase) {
			end()
		}
	}
	return a.run(os.Args[1:])
}

// TestScript runs the scripts of testdata/script. Besides the commands of
// testscript they have:
//
//	exits N CMD ARG...     runs CMD, which must exit with the code N
//	json PATH [WANT]       stdout must be one JSON document with a value at PATH
//	                       (names joined by dots), equal to WANT if that is given
//	oneline                stderr must be exactly one line, stdout empty
//	samebuttime FILE FILE  the files are equal but for lines of times
//	onlyfiles FILE...      the work directory holds these files and no others
func TestScript(t *testing.T) {
	mult, err := filepath.Abs(filepath.Join("..", "..", "testdata", "mult.aig"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		// Scripts that take long begin with [!invariants] skip.
		Condition: func(name string) (bool, error) {
			if name != "invariants" {
				return false, fmt.Errorf("condition %q, expected invariants", name)
			}
			return invariants.Enabled, nil
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("MULT", mult)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("ADDRESS", l.Addr().String()) // nothing listens there any more
			return l.Close()
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":       cmdExits,
			"json":        cmdJSON,
			"oneline":     cmdOneLine,
			"onlyfiles":   cmdOnlyFiles,
			"samebuttime": cmdSameButTime,
		},
	})
}

func noNegation(ts *testscript.TestScript, neg bool, name string) {
	if neg {
		ts.Fatalf("%s cannot be negated", name)
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, "exits")
	if len(args) < 2 {
		ts.Fatalf("usage: exits N CMD ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ee *exec.ExitError
		if !errors.As(err, &ee) {
			ts.Fatalf("%v", err)
		}
		got = ee.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	if s := ts.ReadFile("stderr"); strings.Contains(s, "panic:") || strings.Contains(s, "goroutine ") {
		ts.Fatalf("the program panicked")
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, "json")
	if len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: json PATH [WANT]")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	d.UseNumber()
	var v any
	ts.Check(d.Decode(&v))
	if _, err := d.Token(); err != io.EOF {
		ts.Fatalf("more than one JSON document on stdout")
	}
	for _, key := range strings.Split(args[0], ".") {
		m, ok := v.(map[string]any)
		if !ok {
			ts.Fatalf("%s: no object at %s", args[0], key)
		}
		if v, ok = m[key]; !ok {
			ts.Fatalf("%s: no key %s", args[0], key)
		}
	}
	if len(args) == 2 {
		if got := fmt.Sprint(v); got != args[1] {
			ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
		}
	}
}

func cmdOneLine(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, "oneline")
	s := ts.ReadFile("stderr")
	if len(s) < 2 || strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "\n") {
		ts.Fatalf("stderr is %q, want one line", s)
	}
	if s := ts.ReadFile("stdout"); s != "" {
		ts.Fatalf("stdout is %q, want nothing", s)
	}
}

func cmdSameButTime(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: samebuttime FILE FILE")
	}
	a, b := times.ReplaceAllString(ts.ReadFile(args[0]), "$1"), times.ReplaceAllString(ts.ReadFile(args[1]), "$1")
	if (a == b) == neg {
		ts.Fatalf("%s and %s: equal is %v", args[0], args[1], a == b)
	}
}

func cmdOnlyFiles(ts *testscript.TestScript, neg bool, args []string) {
	noNegation(ts, neg, "onlyfiles")
	want := map[string]bool{".tmp": true} // testscript's own
	for _, a := range args {
		want[a] = true
	}
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	var extra bytes.Buffer
	for _, e := range entries {
		if !want[e.Name()] {
			fmt.Fprintf(&extra, " %s", e.Name())
		}
		delete(want, e.Name())
	}
	delete(want, ".tmp")
	if extra.Len() > 0 {
		ts.Fatalf("unexpected files:%s", extra.String())
	}
	for name := range want {
		ts.Fatalf("missing file %s", name)
	}
}

// stopping reports whether nothing is left that a first interrupt would stop.
func (in *interrupts) stopping() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.stop == nil
}
