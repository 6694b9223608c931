package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/system"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{fmt.Errorf("%w: bits", errCheck), 1},
		{errors.New("anything"), 2},
		{fmt.Errorf("masim: %w", masim.ErrInfeasible), 3},
		{fmt.Errorf("stopped by %w", errBudget), 130},
		{fmt.Errorf("stopped by %w", errInterrupt), 130},
		{fmt.Errorf("g: %w", system.ErrInternal), 70},
		{fmt.Errorf("build: %w", &arith.MismatchError{}), 70},
		{fmt.Errorf("%w: %w", errCheck, &arith.MismatchError{}), 1},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(errors.New("a\n  b\r\nc\n")); got != "a; b; c" {
		t.Errorf("oneLine = %q", got)
	}
}

// testApp is a run whose output goes to buffers.
func testApp() (a *app, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	a = newApp()
	a.stdout, a.stderr, a.terminal, a.width = stdout, stderr, false, 0
	return a, stdout, stderr
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestBrokenPipe: a reader that has seen enough is no error, a full disk is.
func TestBrokenPipe(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   int
		stderr string
	}{
		{syscall.EPIPE, exitOK, ""},
		{syscall.ENOSPC, exitUsage, "bitsched: write stdout: " + syscall.ENOSPC.Error() + "\n"},
	} {
		for _, args := range [][]string{{"version"}, {"version", "--json"}, {"gen", "adder", "--width", "64", "-o", "-"},
			{"--help"}, {"schedule", "--help"}, {"help", "cec"}, {"--version"}, {"completion", "bash"}} {
			a, _, stderr := testApp()
			a.stdout = brokenWriter{&os.PathError{Op: "write", Path: "/dev/stdout", Err: c.err}}
			if code := a.run(args); code != c.code || stderr.String() != c.stderr {
				t.Errorf("%v after %v: exit code %d, stderr %q; want %d, %q", args, c.err, code, stderr, c.code, c.stderr)
			}
		}
	}
}

// TestAbort: an interrupt removes the temporary files of the moment, and only
// those.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	open, done := filepath.Join(dir, "open"), filepath.Join(dir, "done")
	var stderr bytes.Buffer
	code := -1
	in := newInterrupts(&stderr, func(c int) { code = c })
	for _, path := range []string{open, done} {
		f, err := in.createTemp(path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	in.removeTemp(done)

	stopped := 0
	in.onFirst(func() { stopped++ })
	in.signalled()
	if stopped != 1 || code != -1 {
		t.Fatalf("first interrupt of a search: stopped %d times, exit code %d", stopped, code)
	}
	in.signalled()
	if stopped != 1 || code != exitAborted || stderr.String() != "bitsched: interrupted\n" {
		t.Errorf("second interrupt: stopped %d times, exit code %d, stderr %q", stopped, code, &stderr)
	}
	if _, err := os.Stat(open); !os.IsNotExist(err) {
		t.Errorf("temporary file is still there: %v", err)
	}
	if _, err := os.Stat(done); err != nil {
		t.Errorf("finished file: %v", err)
	}

	code = -1
	in.onFirst(func() { stopped++ })()
	in.signalled()
	if stopped != 1 || code != exitAborted {
		t.Errorf("interrupt after a search: stopped %d times, exit code %d", stopped, code)
	}
}

// TestHangUp: without a terminal there is nobody to finish for, and nothing is left.
func TestHangUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "open")
	code := -1
	in := newInterrupts(io.Discard, func(c int) { code = c })
	f, err := in.createTemp(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in.onFirst(func() { t.Error("the search was stopped, expected an abort") })
	in.hungUp()
	if _, err := os.Stat(path); !os.IsNotExist(err) || code != exitAborted {
		t.Errorf("exit code %d, temporary file: %v", code, err)
	}
}

// TestProtected: what others made read-only and where a link leads nowhere nothing is
// written.
func TestProtected(t *testing.T) {
	dir := t.TempDir()
	a, _, _ := testApp()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err == nil {
		err := a.checkWritable(link)
		if err == nil || !strings.Contains(err.Error(), "link to nowhere, which does not exist") {
			t.Errorf("dangling link: %v", err)
		}
		if err := a.writeFile(link, func(io.Writer) error { return nil }); err == nil {
			t.Error("wrote through a dangling link")
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 12345, -1); err != nil {
		t.Skipf("owners cannot be changed: %v", err)
	}
	if err := a.checkWritable(file); err != nil {
		t.Errorf("file of another owner: %v", err)
	}
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	err := a.checkWritable(file)
	if err == nil || !strings.Contains(err.Error(), "is a read-only file of another owner") {
		t.Errorf("read-only file of another owner: %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	a, _, _ := testApp()
	path := filepath.Join(dir, "out")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			if _, werr := io.WriteString(w, text); werr != nil {
				return werr
			}
			return err
		}
	}
	content := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := a.writeFile(path, write("first", nil)); err != nil || content() != "first" {
		t.Fatalf("new file: %v, %q", err, content())
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.writeFile(path, write("second", nil)); err != nil || content() != "second" {
		t.Fatalf("replaced file: %v, %q", err, content())
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
		t.Errorf("replacing a file widened its permissions to %v (%v)", st.Mode(), err)
	}
	fail := errors.New("half way")
	if err := a.writeFile(path, write(strings.Repeat("third", 100_000), fail)); !errors.Is(err, fail) {
		t.Errorf("failed write: %v", err)
	}
	if content() != "second" {
		t.Errorf("a failed write left %d bytes of the new text", len(content()))
	}

	link := filepath.Join(dir, "link")
	if err := os.Symlink("out", link); err == nil {
		if err := a.writeFile(link, write("through", nil)); err != nil || content() != "through" {
			t.Errorf("file behind a link: %v, %q", err, content())
		}
		if st, err := os.Lstat(link); err != nil || st.Mode().IsRegular() {
			t.Errorf("the link was replaced by a file (%v)", err)
		}
		os.Remove(link)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the directory: %v (%v)", entries, err)
	}
}

func TestProgressLine(t *testing.T) {
	var b bytes.Buffer
	clock := time.Unix(1000, 0)
	p := &progressLine{w: &b, terminal: true, start: clock, now: func() time.Time { return clock }}
	p.report(masim.Progress{Phase: "annealing", Done: 3, Total: 10, Best: 42})
	p.report(masim.Progress{Phase: "annealing", Done: 4, Total: 10, Best: 42}) // too soon
	clock = clock.Add(2 * time.Second)
	p.report(masim.Progress{Phase: "annealing", Done: 5, Total: 10, Best: 41})
	p.note("stop")
	p.clear()
	want := "\r\033[K  0.0 s  annealing 3/10  best: 42 copies\r\033[K  2.0 s  annealing 5/10  best: 41 copies\r\033[Kbitsched: stop\n"
	if b.String() != want {
		t.Errorf("terminal shows %q, want %q", b.String(), want)
	}

	for _, c := range []struct {
		p    masim.Progress
		want string
	}{
		{masim.Progress{Phase: "a", Done: 1, Total: 3, Best: -1}, " 61.5 s  a 1/3"},
		{masim.Progress{Phase: "a", Done: 250, Total: 1000, Best: 0}, " 61.5 s  a 25 %  best: 0 copies"},
		{masim.Progress{Phase: "a", Done: 7, Best: -1}, " 61.5 s  a 7"},
		{masim.Progress{Phase: "a", Best: -1}, " 61.5 s  a"},
	} {
		if got := progressText(c.p, 61500*time.Millisecond); got != c.want {
			t.Errorf("progressText(%+v) = %q, want %q", c.p, got, c.want)
		}
	}

	// What does not fit a line is cut, or a part of it would stay. A line that is just
	// full is cut too, as some terminals go on to the next one.
	b.Reset()
	p = &progressLine{w: &b, terminal: true, width: 19, start: clock, now: func() time.Time { return clock }}
	p.report(masim.Progress{Phase: "é a name of many words", Best: -1})
	clock = clock.Add(time.Second)
	p.report(masim.Progress{Phase: "0123456789", Best: -1})
	clock = clock.Add(time.Second)
	p.report(masim.Progress{Phase: "012345678", Best: -1})
	if want := "\r\033[K  0.0 s  é a name \r\033[K  1.0 s  012345678\r\033[K  2.0 s  012345678"; b.String() != want {
		t.Errorf("a narrow terminal shows %q, want %q", b.String(), want)
	}

	b.Reset()
	p = &progressLine{w: &b}
	p.report(masim.Progress{Phase: "annealing", Best: -1})
	p.phase("reading")
	p.clear()
	p.note("stop")
	if b.String() != "bitsched: stop\n" {
		t.Errorf("off a terminal: %q", b.String())
	}
}

// TestUnverifiedIsNotPrinted gives schedule a scheduler that makes wrong
// programs.
func TestUnverifiedIsNotPrinted(t *testing.T) {
	all := masim.Schedulers
	defer func() { masim.Schedulers = all }()
	spoil := map[string]func(p *sram.Program){
		"negates":  func(p *sram.Program) { p.Outputs[0].Operand ^= 1 },
		"forgets":  func(p *sram.Program) { p.Instrs = p.Instrs[:len(p.Instrs)-1] },
		"repeats":  func(p *sram.Program) { p.Instrs = append(p.Instrs, p.Instrs[0]) },
		"wanders":  func(p *sram.Program) { p.Inputs[0].Row = 7 },
		"swaps":    func(p *sram.Program) { p.Instrs[0].Op ^= 1 },
		"protects": func(p *sram.Program) { p.Instrs[0].Dst = 0 },
	}
	for name, f := range spoil {
		masim.Schedulers = append(masim.Schedulers[:len(masim.Schedulers):len(masim.Schedulers)], masim.Scheduler{
			Name: name,
			Run: func(ctx context.Context, p masim.Problem, o masim.Options) (*masim.Result, error) {
				r, err := all[0].Run(ctx, p, o)
				if err == nil {
					f(r.Program)
				}
				return r, err
			},
		})
	}
	dir := t.TempDir()
	circuit := filepath.Join(dir, "c.blif")
	text := ".model c\n.inputs a b c\n.outputs y z\n.names a b t\n11 1\n.names t c y\n01 1\n10 1\n.names t a b z\n111 1\n000 1\n.end\n"
	if err := os.WriteFile(circuit, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for name := range spoil {
		for _, extra := range [][]string{{}, {"--json"}, {"-o", filepath.Join(dir, "p.bsp")}, {"-o", "-"}} {
			a, stdout, stderr := testApp()
			args := append([]string{"schedule", circuit, "--rows", "12", "--effort", "fast", "--scheduler", name}, extra...)
			if code := a.run(args); code != exitCheck || stdout.Len() > 0 || !strings.Contains(stderr.String(), "check failed") {
				t.Errorf("%v: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%v left %v (%v)", args, entries, err)
			}
		}
	}
}
