package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/benchmarks/sweep"
	"github.com/bitsched/bitsched/benchmarks/sweep/queue"
	"github.com/bitsched/bitsched/masim"
)

type sweepFlags struct {
	results string
	workers int
	shard   string
	dryRun  bool
	retry   bool
	yes     bool
	show    []string
	output  string
	json    bool
	nats    natsFlags
	listen  string
}

const sweepLong = `Sweep runs a command over a matrix of its flags. PLAN is YAML:

  version: 1
  title: Rows that adders need       # may be left out
  command: [schedule, "{circuit}"]   # {circuit} is the value of an axis
  flags: {effort: fast}              # the same for all jobs
  matrix:                            # every combination, the first varies slowest
    circuit: [add.v, mult.aig]
    rows: [72, 128]
  exclude: [{circuit: mult.aig, rows: 72}]
  include: [{circuit: mult.aig, rows: 512}]
  seeds: 3                           # --seed 1 to 3 of each
  timeout: 10m                       # of a job

Values that are files are looked for beside the plan. A job runs as a process in a
folder with its inputs and nothing else. Its result is kept, without times, under a
key of its arguments, what its inputs hold and this program, as soon as it is there:
a sweep that was stopped or killed goes on where it was when it is started again.
What failed keeps its message; --retry-failed runs it again.

--shard 2/5 runs each fifth job from the second on, for many machines that share no
more than the plan; "sweep merge" puts their folders of results together.

--nats has the jobs run by a work queue: "embedded" is a server in this process, with
workers here, and with --nats-listen also elsewhere; a URL is that of a server, and
workers are those that "bitsched worker" starts anywhere. Inputs and results go
through the server. The results are the same bytes. Password: in the URL or in
NATS_PASSWORD.

--show names members of the JSON that the command prints, as copies or
lower_bound.copies, to be listed beside the parameters.`

const sweepExample = `  bitsched sweep plan.yaml --dry-run
  bitsched sweep plan.yaml --show copies,energy -o results.jsonl
  bitsched sweep plan.yaml --nats embedded --nats-listen 127.0.0.1:4222
  bitsched sweep plan.yaml --nats tls://queue.example.org:4222 --nats-creds me.creds
  bitsched sweep plan.yaml --shard 1/8 --results part1
  bitsched sweep merge all part1 part2 part3`

func (a *app) sweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:     "sweep PLAN",
		Short:   "Run a command over a matrix of its flags",
		Long:    sweepLong,
		Example: sweepExample,
		Args:    exactArgs("PLAN"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.sweep(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.results, "results", "", "`folder` of the results (default PLAN without its ending, and .results)")
	fl.IntVar(&f.workers, "workers", 0, "`jobs` at a time here (0 = one for each core, or none with a server elsewhere; -1 = none); does not change the results")
	fl.StringVar(&f.shard, "shard", "", "run one of several parts, as in `I/N`")
	f.nats.add(fl, "run the jobs by this NATS server, a `URL`, or embedded for one in this process")
	fl.StringVar(&f.listen, "nats-listen", "", "let workers elsewhere use the embedded server at this `address`, HOST:PORT")
	fl.BoolVar(&f.dryRun, "dry-run", false, "list the jobs with what they are expected to take, and run none")
	fl.BoolVar(&f.retry, "retry-failed", false, "run again what failed before")
	fl.BoolVar(&f.yes, "yes", false, fmt.Sprintf("run more than %d jobs", sweep.MaxJobs))
	fl.StringSliceVar(&f.show, "show", nil, "list these `members` of the results")
	fl.StringVarP(&f.output, "output", "o", "", "write the results to this `file`, a line of JSON each (- for stdout, instead of the list)")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	merge := &cobra.Command{
		Use:   "merge TO FROM...",
		Short: "Put folders of results together",
		Long: "Merge copies the results of folders to another one, which is made if need be. A result\n" +
			"takes the place of a failure, and nothing else.",
		Example: "  bitsched sweep merge all part1 part2",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError(cmd, "missing %s", []string{"TO", "FROM"}[len(args)])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.mergeSweeps(args[0], args[1:]) },
	}
	cmd.AddCommand(merge)
	return cmd
}

func (a *app) mergeSweeps(to string, from []string) error {
	var stores []*results.Store
	for _, dir := range from {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: no folder, expected one with results", dir)
		}
		s, err := results.Open(dir)
		if err != nil {
			return err
		}
		stores = append(stores, s)
	}
	target, err := results.Open(to)
	if err != nil {
		return err
	}
	n, err := sweep.Merge(target, stores...)
	if err != nil {
		return err
	}
	return a.printText(fmt.Sprintf("%s  %d files added\n", to, n))
}

// parseShard reads I/N.
func parseShard(cmd *cobra.Command, text string) (i, n int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	first, rest, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(rest)
	if !ok || err1 != nil || err2 != nil || i < 1 || i > n {
		return 0, 0, usageError(cmd, "--shard %s, expected I/N as in 2/5", text)
	}
	return i, n, nil
}

type sweepResult struct {
	Title   string          `json:"title"`
	Jobs    int             `json:"jobs"`
	Done    int             `json:"done"`
	Failed  int             `json:"failed"`
	Kept    int             `json:"kept"`
	Stopped string          `json:"stopped"`
	Records []*sweep.Record `json:"records"`
}

func (a *app) sweep(cmd *cobra.Command, file string, f sweepFlags) error {
	part, parts, err := parseShard(cmd, f.shard)
	if err != nil {
		return err
	}
	switch {
	case f.output == "-" && f.json:
		return usageError(cmd, "--json and -o - both want stdout")
	case f.workers < -1 || f.workers == -1 && f.nats.url == "":
		return usageError(cmd, "--workers %d, expected 0 or more, or -1 with --nats", f.workers)
	case f.listen != "" && f.nats.url != embedded:
		return usageError(cmd, "--nats-listen is for --nats embedded")
	}
	if err := f.nats.complete(cmd); err != nil {
		return err
	}
	version, err := results.Version()
	if err != nil {
		return err
	}
	plan, err := readPlan(cmd, file, version, f.yes)
	if err != nil {
		return err
	}
	if err := a.checkWritable(f.output, file); err != nil {
		return err
	}
	if f.results == "" {
		f.results = strings.TrimSuffix(file, filepath.Ext(file)) + ".results"
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bitsched: %w", err)
	}
	s := &sweep.Sweep{Plan: plan, Shard: part, Shards: parts, Retry: f.retry}
	if f.dryRun {
		return a.listJobs(s, f)
	}
	if s.Store, err = results.Open(f.results); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	search := a.startStoppable(0, line, "ending the jobs that run; what is done is kept")
	defer search.end()
	executor, closed, err := f.executor(search.ctx, version, program, line)
	if err != nil {
		return search.reasonOf(err)
	}
	defer closed()
	s.Executor = executor
	s.Progress = func(p sweep.Progress) {
		text := fmt.Sprintf("%d of %d jobs", p.Done, p.Total)
		if p.Failed > 0 {
			text += fmt.Sprintf(", %d failed", p.Failed)
		}
		if p.Left > 0 {
			text += fmt.Sprintf(", about %v left", p.Left.Round(time.Second))
		}
		line.report(masim.Progress{Phase: text, Best: -1})
	}
	sum, err := s.Run(search.ctx)
	search.end()
	line.clear()
	stopped := ""
	if err != nil && search.ctx.Err() != nil {
		stopped = context.Cause(search.ctx).Error()
	} else if err != nil {
		return err
	}
	records, err := s.Records()
	if err != nil {
		return err
	}
	if f.output != "" {
		if err := a.writeFile(f.output, s.Export); err != nil {
			return err
		}
	}
	switch {
	case f.output == "-":
	case f.json:
		err = a.printJSON(sweepResult{plan.Title, sum.Jobs, sum.Done, sum.Failed, sum.Kept, stopped, records})
	default:
		err = a.printText(sweepText(plan, sum, records, f.show))
	}
	switch {
	case err != nil:
		return err
	case stopped != "":
		return fmt.Errorf("bitsched: %d of %d jobs done: stopped by %w; the same command goes on", sum.Done, sum.Jobs, context.Cause(search.ctx))
	case sum.Failed > 0:
		return fmt.Errorf("%w: %d of %d jobs failed", errCheck, sum.Failed, sum.Jobs)
	}
	return nil
}

// executor is what runs the jobs, and what ends it.
func (f *sweepFlags) executor(ctx context.Context, version, program string, line *progressLine) (sweep.Executor, func(), error) {
	if f.nats.url == "" {
		return &sweep.Local{Workers: f.workers, Program: program}, func() {}, nil
	}
	e := &queue.Executor{Version: version, Again: f.retry, Workers: max(f.workers, 0), Program: program, Note: line.note}
	if f.nats.url != embedded {
		conn, err := f.nats.dial(ctx, line)
		if err != nil {
			return nil, nil, err
		}
		e.Conn = conn
		return e, conn.Close, nil
	}
	if f.workers == 0 {
		e.Workers = runtime.GOMAXPROCS(0)
	}
	server, err := queue.StartServer(queue.ServerOptions{
		Dir: filepath.Join(f.results, "nats"), Listen: f.listen, User: f.nats.user, Password: os.Getenv(natsPasswordEnv), Cert: f.nats.cert, Key: f.nats.key,
	})
	if err != nil {
		return nil, nil, err
	}
	conn, err := server.Dial()
	if err != nil {
		server.Close()
		return nil, nil, err
	}
	e.Conn = conn
	return e, func() { conn.Close(); server.Close() }, nil
}

func readPlan(cmd *cobra.Command, file, version string, many bool) (*sweep.Plan, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	has := func(command []string, flag string) bool {
		c, _, err := cmd.Root().Find(command)
		// Which of several commands it is may be for an axis to say.
		return err != nil || c.HasSubCommands() || c.Flags().Lookup(flag) != nil || c.InheritedFlags().Lookup(flag) != nil
	}
	return sweep.Read(f, file, version, sweep.ReadOptions{Many: many, Has: has})
}

// listJobs is --dry-run.
func (a *app) listJobs(s *sweep.Sweep, f sweepFlags) error {
	if _, err := os.Stat(f.results); err == nil {
		if s.Store, err = results.Open(f.results); err != nil {
			return err
		}
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "job"}, {Name: "command", Left: true}, {Name: "CPU s, estimated"}, {Name: "from", Left: true}}}
	n, total, unknown := 0, 0.0, 0
	for i := range s.Plan.Jobs {
		j := &s.Plan.Jobs[i]
		if s.Shards > 0 && i%s.Shards != s.Shard-1 {
			continue
		}
		n++
		estimate, from := "-", "nothing like it was run"
		if s.Store != nil {
			seconds, of, err := s.Estimate(j)
			if err != nil {
				return err
			}
			if of > 0 {
				estimate, from = fmt.Sprintf("%.2f", seconds), fmt.Sprintf("%d that were run", of)
				total += seconds
			} else {
				unknown++
			}
		} else {
			unknown++
		}
		t.Rows = append(t.Rows, []string{strconv.Itoa(j.Number), j.String(), estimate, from})
	}
	text := renderTable(t) + fmt.Sprintf("\n\n%d jobs", n)
	if unknown < n {
		text += fmt.Sprintf(", about %.0f s of CPU for those with an estimate", total)
	}
	return a.printText(text + "\n")
}

// sweepText lists the records with what is to be shown of them.
func sweepText(p *sweep.Plan, sum *sweep.Summary, records []*sweep.Record, show []string) string {
	var b strings.Builder
	if p.Title != "" {
		fmt.Fprintf(&b, "%s\n\n", p.Title)
	}
	t := benchmarks.Table{}
	index := map[string]int{}
	for _, r := range records {
		for _, x := range r.Params {
			if _, ok := index[x.Name]; !ok {
				index[x.Name] = len(t.Columns)
				t.Columns = append(t.Columns, benchmarks.Column{Name: x.Name, Left: true})
			}
		}
	}
	params := len(t.Columns)
	for _, name := range show {
		t.Columns = append(t.Columns, benchmarks.Column{Name: name})
	}
	t.Columns = append(t.Columns, benchmarks.Column{Name: "", Left: true})
	for _, r := range records {
		row := make([]string, len(t.Columns))
		for _, x := range r.Params {
			row[index[x.Name]] = x.Value
		}
		for i, name := range show {
			row[params+i] = member(r.Result, name)
		}
		if r.Failed() {
			row[len(row)-1] = fmt.Sprintf("failed (%d): %s", r.Exit, r.Error)
		}
		t.Rows = append(t.Rows, row)
	}
	fmt.Fprintf(&b, "%s\n\n%d of %d jobs done", renderTable(t), sum.Done, sum.Jobs)
	if sum.Kept > 0 {
		fmt.Fprintf(&b, ", %d of them before", sum.Kept)
	}
	if sum.Failed > 0 {
		fmt.Fprintf(&b, "; %d failed", sum.Failed)
	}
	b.WriteString("\n")
	return b.String()
}

// member returns a member of a JSON document, a.b.c or with numbers for places of
// lists; "-" if there is none.
func member(text json.RawMessage, path string) string {
	for _, step := range strings.Split(path, ".") {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(text, &object) == nil && object[step] != nil:
			text = object[step]
		case json.Unmarshal(text, &list) == nil:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(list) {
				return "-"
			}
			text = list[i]
		default:
			return "-"
		}
	}
	var s string
	if json.Unmarshal(text, &s) == nil {
		return s
	}
	return string(text)
}
