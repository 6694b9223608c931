package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Record is what came of a job. Records of one key are equal, whoever ran the job.
type Record struct {
	Key    string          `json:"key"`
	Params []Param         `json:"params"`
	Args   []string        `json:"args"`
	Exit   int             `json:"exit"`             // exit code; TimedOut if it took too long
	Error  string          `json:"error,omitempty"`  // what it said on stderr, if it failed
	Result json.RawMessage `json:"result,omitempty"` // what it printed, without times
}

// TimedOut is the exit code of a job that was ended since it took too long.
const TimedOut = -1

// Failed reports whether the job has no result that counts.
func (r *Record) Failed() bool { return r.Exit != 0 }

// Times are what differs from run to run.
type Times struct {
	CPU  float64 `json:"cpu_seconds"`
	Wall float64 `json:"wall_seconds"`
}

// ErrStopped is the error of a job that was ended with the sweep: it has no record.
var ErrStopped = errors.New("sweep: stopped")

// stageName is the name under which a job finds an input in its folder: its own
// where that stays in the folder, else one made of what it holds, so that no path of
// a machine gets into results.
func stageName(in Input) string {
	if in.folder != "" {
		return stageFolder(in) + "/" + in.rest
	}
	if filepath.IsLocal(in.Name) {
		return filepath.ToSlash(filepath.Clean(in.Name))
	}
	return "inputs/" + in.Key[:12] + "-" + filepath.Base(in.Name)
}

// stageFolder is that of a folder.
func stageFolder(in Input) string {
	if filepath.IsLocal(in.folder) {
		return filepath.ToSlash(filepath.Clean(in.folder))
	}
	return "inputs/" + filepath.Base(filepath.Clean(in.folder))
}

// stagedValue is a value with the name that a file or folder has in the job's folder.
func stagedValue(j *Job, v string) string {
	for _, in := range j.Inputs {
		switch v {
		case in.Name:
			return stageName(in)
		case in.folder:
			return stageFolder(in)
		}
	}
	return v
}

// stagedArgs are the arguments with the names that inputs have in the folder.
func stagedArgs(j *Job) []string {
	args := slices.Clone(j.Args)
	for i, a := range args {
		if flag, v, ok := strings.Cut(a, "="); ok && strings.HasPrefix(flag, "--") && v != "" {
			args[i] = flag + "=" + stagedValue(j, v)
		} else if a != "" {
			args[i] = stagedValue(j, a)
		}
	}
	return args
}

// stagedParams are the parameters with these names.
func stagedParams(j *Job) []Param {
	params := slices.Clone(j.Params)
	for i := range params {
		if params[i].Value != "" {
			params[i].Value = stagedValue(j, params[i].Value)
		}
	}
	return params
}

// stderrLimit bounds what a record keeps of stderr, outputLimit what a job may print.
const (
	stderrLimit = 4 << 10
	outputLimit = 256 << 20
)

// Staged returns the job as it is run on any machine: under the names that its inputs
// have in its folder, without their paths.
func (j *Job) Staged() Job {
	s := Job{Number: j.Number, Key: j.Key, Params: stagedParams(j), Args: stagedArgs(j)}
	for _, in := range j.Inputs {
		s.Inputs = append(s.Inputs, Input{Name: stageName(in), Key: in.Key})
	}
	return s
}

// Validate reports why a staged job that came from elsewhere is none that a plan makes:
// a worker runs nothing else, and writes no file outside of the job's folder.
func (j *Job) Validate() error {
	if len(j.Args) == 0 || !slices.Contains(Commands, j.Args[0]) {
		return fmt.Errorf("sweep: job %.12s runs %q, expected one of %s", j.Key, slices.Concat(j.Args, []string{""})[0], strings.Join(Commands, ", "))
	}
	for _, a := range j.Args[1:] {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "-") && a != "--json" && slices.Contains(refused, name) {
			return fmt.Errorf("sweep: job %.12s has %s, expected no flag that writes files", j.Key, a)
		}
	}
	for _, in := range j.Inputs {
		if !filepath.IsLocal(filepath.FromSlash(in.Name)) || len(in.Key) != 64 {
			return fmt.Errorf("sweep: job %.12s has the input %q, expected a file in its folder", j.Key, in.Name)
		}
	}
	return nil
}

// Execute executes a job as a process in a new folder, which fetch fills with the
// inputs. The process ends with this one where the system can do that.
func Execute(ctx context.Context, program string, j *Job, timeout time.Duration, fetch func(in Input, path string) error) (*Record, *Times, error) {
	dir, err := os.MkdirTemp("", "bitsched-job-*")
	if err != nil {
		return nil, nil, fmt.Errorf("sweep: %w", err)
	}
	defer os.RemoveAll(dir)
	for _, in := range j.Inputs {
		path := filepath.Join(dir, filepath.FromSlash(stageName(in)))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, nil, fmt.Errorf("sweep: %w", err)
		}
		if err := fetch(in, path); err != nil {
			return nil, nil, fmt.Errorf("sweep: input %s of job %d: %w", in.Name, j.Number, err)
		}
	}
	args := stagedArgs(j)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimedOut)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	var out, errs limited
	out.left, errs.left = outputLimit, stderrLimit
	cmd.Stdout, cmd.Stderr = &out, &errs
	detach(cmd)
	runtime.LockOSThread() // the process ends with the thread that started it
	defer runtime.UnlockOSThread()
	start := time.Now()
	err = cmd.Run()
	times := &Times{Wall: time.Since(start).Seconds()}
	if cmd.ProcessState != nil {
		times.CPU = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	}
	r := &Record{Key: j.Key, Params: stagedParams(j), Args: args}
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) == errTimedOut:
		r.Exit, r.Error = TimedOut, fmt.Sprintf("took longer than %v", timeout)
		return r, times, nil
	case ctx.Err() != nil:
		return nil, nil, ErrStopped
	case errors.As(err, &exit):
		r.Exit = exit.ExitCode()
		if r.Exit < 0 { // a signal: who sent it may send it again
			return nil, nil, fmt.Errorf("sweep: job %d (%s): %v", j.Number, j, exit)
		}
		r.Error = strings.TrimSpace(errs.buf.String())
	case err != nil:
		return nil, nil, fmt.Errorf("sweep: %w", err)
	}
	if out.over {
		return nil, nil, fmt.Errorf("sweep: job %d (%s) printed more than %d bytes", j.Number, j, outputLimit)
	}
	if r.Result, err = withoutTimes(out.buf.Bytes()); err != nil && r.Exit == 0 {
		return nil, nil, fmt.Errorf("sweep: job %d (%s): %w", j.Number, j, err)
	}
	return r, times, nil
}

var errTimedOut = errors.New("timed out")

// limited keeps the first bytes that are written.
type limited struct {
	buf  bytes.Buffer
	left int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.buf.Write(p[:n])
	l.left -= n
	l.over = l.over || n < len(p)
	return len(p), nil
}

// withoutTimes returns a JSON document in one form, without what differs from run to
// run: members whose name ends in seconds or in per_second. Nil for no text.
func withoutTimes(text []byte) (json.RawMessage, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON document")
	}
	return json.Marshal(timeless(v)) // maps in the order of their keys
}

func timeless(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			if strings.HasSuffix(name, "seconds") || strings.HasSuffix(name, "per_second") {
				delete(v, name)
			} else {
				v[name] = timeless(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = timeless(v[i])
		}
	}
	return v
}

// copyFile copies a file.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
