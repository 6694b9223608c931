package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/tile/noc"
)

type nocFlags struct {
	mesh           string
	traffic, load  []string
	flits          []int
	vcs, buffer    int
	router         int
	link, credit   int
	bytes          int
	warmup, window int64
	seed           uint64
	reference      string
	json, links    bool
	svg            string
}

const nocExample = `  bitsched noc --load 0.1:0.4:0.1 --flits 3
  bitsched noc --mesh 4x4 --traffic transpose,tornado --load 0.05,0.1,0.2 --svg latency.svg
  bitsched noc --reference booksim_mesh8x8.csv`

// nocLong lists the patterns.
func nocLong() string {
	var b strings.Builder
	b.WriteString(`Noc simulates a mesh network-on-chip under synthetic traffic, cycle by cycle, at
each of several loads, and reports the mean latency of packets from the queue of
their source to the ejection of their last flit, with a 95 % confidence interval,
and what of it contention adds. Loads are flits that each node starts in a cycle.

Packets go along x, then along y, through routers of four cycles and links of one.
docs/noc.md says more.

Traffic is a list of:
`)
	for _, p := range noc.Patterns() {
		fmt.Fprintf(&b, "  %-10s  %s\n", p.Name, p.Text)
	}
	b.WriteString(`
With --reference, latencies of another simulator stand beside those measured, with
the deviation; without --traffic, --load and --flits the points are those of FILE.
It is a CSV file that has the columns traffic, packet_flits,
injected_flits_per_node_per_cycle, avg_packet_latency_cycles and avg_hops, in any
order; others are left aside. Where a load is more than the mesh can carry there is
no latency: it would depend on the window, and "saturated" stands in its place.

The result depends on the flags only. Ctrl-C ends the sweep with the points done
by then; a second Ctrl-C aborts.`)
	return b.String()
}

func (a *app) nocCommand() *cobra.Command {
	var f nocFlags
	cmd := &cobra.Command{
		Use:     "noc",
		Short:   "Measure the latency of a mesh network-on-chip under synthetic traffic",
		Long:    nocLong(),
		Example: nocExample,
		Args:    exactArgs(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.noc(cmd, f) },
	}
	d := noc.DefaultConfig(8, 8)
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.mesh, "mesh", "8x8", "`routers` in x and in y")
	fl.StringSliceVar(&f.traffic, "traffic", []string{"uniform"}, "`patterns` of traffic")
	fl.StringSliceVar(&f.load, "load", []string{"0.05:0.4:0.05"}, "flits that a node starts in a cycle: `loads`, or from:to:step")
	fl.IntSliceVar(&f.flits, "flits", []int{1}, "`lengths` of packets in flits")
	fl.IntVar(&f.vcs, "vcs", d.VCs, "virtual `channels` of a link")
	fl.IntVar(&f.buffer, "buffer", d.Depth, "`flits` that the buffer of a virtual channel holds")
	fl.IntVar(&f.router, "router", d.RouterCycles, "`cycles` of a router")
	fl.IntVar(&f.link, "link", d.LinkCycles, "`cycles` of a link")
	fl.IntVar(&f.credit, "credit", d.CreditCycles, "`cycles` that a credit takes back")
	fl.IntVar(&f.bytes, "link-bytes", d.LinkBytes, "`bytes` of a flit")
	fl.Int64Var(&f.warmup, "warmup", noc.DefaultWarmup, "`cycles` before packets are measured")
	fl.Int64Var(&f.window, "window", noc.DefaultWindow, "`cycles` in which the packets start that are measured")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the traffic")
	fl.StringVar(&f.reference, "reference", "", "compare with the latencies of this `file`")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	fl.BoolVar(&f.links, "links", false, "with --json: also the flits that each link carried")
	fl.StringVar(&f.svg, "svg", "", "draw latencies against loads into this `file`")
	var names []string
	for _, p := range noc.Patterns() {
		names = append(names, p.Name)
	}
	complete(cmd, "traffic", names...)
	return cmd
}

// nocPoint is one measurement of a sweep.
type nocPoint struct {
	Traffic string  `json:"traffic"`
	Flits   int     `json:"packet_flits"`
	Load    float64 `json:"load"`
	*noc.Measurement

	// Of the measurement; null where it is saturated, since they depend on the window then.
	Latency  *float64 `json:"latency"`
	Interval *float64 `json:"latency_95"`
	Queue    *float64 `json:"latency_queue"`
	P99      *int64   `json:"latency_p99"`
	Max      *int64   `json:"latency_max"`

	Reference *float64 `json:"reference"` // null = none
	Deviation *float64 `json:"deviation_percent"`
}

type nocResult struct {
	Mesh         string     `json:"mesh"`
	VCs          int        `json:"virtual_channels"`
	Buffer       int        `json:"buffer_flits"`
	RouterCycles int        `json:"router_cycles"`
	LinkCycles   int        `json:"link_cycles"`
	CreditCycles int        `json:"credit_cycles"`
	LinkBytes    int        `json:"link_bytes"`
	Warmup       int64      `json:"warmup_cycles"`
	Window       int64      `json:"window_cycles"`
	Seed         uint64     `json:"seed"`
	Points       []nocPoint `json:"points"`
	Stopped      string     `json:"stopped"` // "" or "interrupt"
	CPUSeconds   float64    `json:"cpu_seconds"`
	WallSeconds  float64    `json:"wall_seconds"`
}

func (a *app) noc(cmd *cobra.Command, f nocFlags) error {
	var reference []benchmarks.NoCReference
	if f.reference != "" {
		var err error
		if reference, err = a.readNoCReference(f.reference); err != nil {
			return err
		}
	}
	sweep, err := f.sweep(cmd, reference)
	if err != nil {
		return err
	}
	switch {
	case f.svg == "-":
		return usageError(cmd, "--svg -, expected a file")
	case f.links && !f.json:
		return usageError(cmd, "--links without --json")
	}
	if err := a.checkWritable(f.svg, f.reference); err != nil {
		return err
	}

	line := a.newProgress()
	defer line.clear()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	disarm := a.interrupt.onFirst(func() {
		cancel(errInterrupt)
		line.note("interrupted: finishing with the points so far (Ctrl-C again to abort)")
	})
	defer disarm()
	report := a.searchProgress(line)
	c := sweep[0].Config
	r := &nocResult{
		Mesh: fmt.Sprintf("%dx%d", c.Width, c.Height), VCs: c.VCs, Buffer: c.Depth, RouterCycles: c.RouterCycles, LinkCycles: c.LinkCycles,
		CreditCycles: c.CreditCycles, LinkBytes: c.LinkBytes, Warmup: f.warmup, Window: f.window, Seed: f.seed,
	}
	for i, e := range sweep {
		m, err := e.Run(ctx)
		if errors.Is(err, errInterrupt) {
			r.Stopped = errInterrupt.Error()
			break
		}
		if err != nil {
			return err
		}
		if m.Packets == 0 {
			return usageError(cmd, "no packet of %s starts in a --window of %d cycles at load %g, expected a longer one", e.Pattern, e.Window, e.Load)
		}
		if !f.links {
			m.Links = nil
		}
		p := nocPoint{Traffic: e.Pattern, Flits: e.Flits, Load: e.Load, Measurement: m}
		if !m.Saturated {
			p.Latency, p.Interval, p.Queue, p.P99, p.Max = &m.Latency, &m.Interval, &m.Queue, &m.P99, &m.Max
		}
		for _, ref := range reference {
			if ref.Traffic == e.Pattern && ref.Flits == e.Flits && math.Abs(ref.Load-e.Load) < 1e-9 {
				p.Reference = &ref.Latency
				if !m.Saturated {
					deviation := 100 * (m.Latency/ref.Latency - 1)
					p.Deviation = &deviation
				}
			}
		}
		r.Points = append(r.Points, p)
		report(masim.Progress{Phase: "point", Done: i + 1, Total: len(sweep), Best: -1})
	}
	disarm()
	line.clear()
	if len(r.Points) == 0 {
		return fmt.Errorf("bitsched: stopped by %w before the first point was complete", errInterrupt)
	}
	if f.svg != "" {
		svg := benchmarks.LatencyFigure(fmt.Sprintf("Latency of a mesh of %s routers", r.Mesh), filepath.Base(f.reference), r.series())
		if err := a.writeBytes(f.svg, svg); err != nil {
			return err
		}
	}
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		return a.printJSON(r)
	}
	return a.printText(r.text(f))
}

func (a *app) readNoCReference(path string) ([]benchmarks.NoCReference, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bitsched: read %s: %w", path, cause(err))
	}
	defer file.Close()
	points, err := benchmarks.ReadNoCReference(path, file)
	var pathErr *fs.PathError
	switch {
	case errors.As(err, &pathErr):
		return nil, fmt.Errorf("bitsched: read %s: %w", path, cause(err))
	case err != nil:
		return nil, err
	case len(points) == 0:
		return nil, fmt.Errorf("%s:2:1: no measurements, expected at least one", path)
	}
	return points, nil
}

// sweep is the experiments that the flags ask for, all of them valid.
func (f *nocFlags) sweep(cmd *cobra.Command, reference []benchmarks.NoCReference) ([]noc.Experiment, error) {
	width, height, ok := strings.Cut(f.mesh, "x")
	w, err1 := strconv.Atoi(width)
	h, err2 := strconv.Atoi(height)
	if !ok || err1 != nil || err2 != nil {
		return nil, usageError(cmd, "--mesh %q, expected two numbers as in 8x8", f.mesh)
	}
	base := noc.Experiment{
		Config: noc.Config{Width: w, Height: h, VCs: f.vcs, Depth: f.buffer, RouterCycles: f.router, LinkCycles: f.link, CreditCycles: f.credit, LinkBytes: f.bytes},
		Seed:   f.seed, Warmup: f.warmup, Window: f.window,
	}
	switch {
	case f.warmup < 0:
		return nil, usageError(cmd, "--warmup %d, expected at least 0", f.warmup)
	case f.window < 1:
		return nil, usageError(cmd, "--window %d, expected at least 1", f.window)
	case f.warmup == 0:
		base.Warmup = -1
	}
	loads, err := parseLoads(cmd, f.load)
	if err != nil {
		return nil, err
	}
	var sweep []noc.Experiment
	add := func(pattern string, flits int, load float64) error {
		e := base
		e.Pattern, e.Flits, e.Load = pattern, flits, load
		if err := e.Validate(); err != nil {
			return usageError(cmd, "%w", err)
		}
		sweep = append(sweep, e)
		return nil
	}
	changed := cmd.Flags().Changed
	if len(reference) > 0 && !changed("traffic") && !changed("load") && !changed("flits") {
		for _, p := range reference {
			if err := add(p.Traffic, p.Flits, p.Load); err != nil {
				return nil, err
			}
		}
		return sweep, nil
	}
	for _, pattern := range f.traffic {
		for _, flits := range f.flits {
			for _, load := range loads {
				if err := add(pattern, flits, load); err != nil {
					return nil, err
				}
			}
		}
	}
	return sweep, nil
}

// maxLoads bounds what a range may expand to.
const maxLoads = 1000

// parseLoads expands ranges, both ends included.
func parseLoads(cmd *cobra.Command, texts []string) (loads []float64, err error) {
	for _, text := range texts {
		var v []float64
		for part := range strings.SplitSeq(text, ":") {
			x, err := strconv.ParseFloat(part, 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, usageError(cmd, "--load %q, expected a number or from:to:step", text)
			}
			v = append(v, x)
		}
		switch {
		case len(v) == 1:
			loads = append(loads, v[0])
			continue
		case len(v) != 3:
			return nil, usageError(cmd, "--load %q, expected a number or from:to:step", text)
		case !(v[2] > 0) || v[1] < v[0]:
			return nil, usageError(cmd, "--load %q, expected to above from and a step above 0", text)
		case (v[1]-v[0])/v[2] > maxLoads:
			return nil, usageError(cmd, "--load %q, expected at most %d loads", text, maxLoads)
		}
		for i := 0; ; i++ {
			x := math.Round((v[0]+float64(i)*v[2])*1e9) / 1e9
			if x > v[1]+v[2]*1e-6 {
				break
			}
			loads = append(loads, x)
		}
	}
	for i, x := range loads {
		if slices.Contains(loads[:i], x) {
			return nil, usageError(cmd, "--load has %g twice, expected each load once", x)
		}
	}
	return loads, nil
}

// name is the curve that a point belongs to.
func (p *nocPoint) name() string { return fmt.Sprintf("%s, %s", p.Traffic, count(p.Flits, "flit")) }

func (r *nocResult) series() []benchmarks.LatencySeries {
	var series []benchmarks.LatencySeries
	for _, p := range r.Points {
		i := slices.IndexFunc(series, func(s benchmarks.LatencySeries) bool { return s.Name == p.name() })
		if i < 0 {
			i = len(series)
			series = append(series, benchmarks.LatencySeries{Name: p.name()})
		}
		s := &series[i]
		if p.Latency != nil {
			s.Points = append(s.Points, benchmarks.LatencyPoint{Load: p.Load, Latency: *p.Latency, Margin: *p.Interval})
		}
		if p.Reference != nil {
			s.Reference = append(s.Reference, benchmarks.LatencyPoint{Load: p.Load, Latency: *p.Reference})
		}
	}
	return series
}

func (r *nocResult) text(f nocFlags) string {
	var s summary
	s.add("mesh", "%s, %s of %s, routers of %s, links of %s and %s", r.Mesh, count(r.VCs, "virtual channel"), count(r.Buffer, "flit"),
		count(r.RouterCycles, "cycle"), count(r.LinkCycles, "cycle"), count(r.LinkBytes, "byte"))
	s.add("measured", "packets of %d cycles after %d, seed %d", r.Window, r.Warmup, r.Seed)
	compared := slices.ContainsFunc(r.Points, func(p nocPoint) bool { return p.Reference != nil })
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "traffic", Left: true}, {Name: "flits"}, {Name: "load"}, {Name: "latency"},
		{Name: "±"}, {Name: "queueing"}, {Name: "p99"}, {Name: "max"}, {Name: "hops"}, {Name: "accepted"}, {Name: "busiest link"}}}
	if compared {
		t.Columns = append(t.Columns, benchmarks.Column{Name: "reference"}, benchmarks.Column{Name: "deviation"})
	}
	fixed := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	var end summary
	for _, p := range r.Points {
		row := []string{p.Traffic, strconv.Itoa(p.Flits), strconv.FormatFloat(p.Load, 'g', -1, 64), "saturated", "-", "-", "-", "-", fixed(p.Hops, 3), fixed(p.Accepted, 3), fixed(p.Busiest, 3)}
		if p.Latency != nil {
			copy(row[3:], []string{fixed(*p.Latency, 2), fixed(*p.Interval, 2), fixed(*p.Queue, 2), strconv.FormatInt(*p.P99, 10), strconv.FormatInt(*p.Max, 10)})
		}
		if compared {
			ref, dev := "-", "-"
			if p.Reference != nil {
				ref = fixed(*p.Reference, 2)
				if p.Deviation != nil {
					dev = fmt.Sprintf("%+.1f %%", *p.Deviation)
				}
			}
			row = append(row, ref, dev)
		}
		t.Rows = append(t.Rows, row)
		if p.Saturated {
			text := "latencies grow with the window"
			switch {
			case p.Load > p.Capacity:
				text = fmt.Sprintf("its busiest link is full at %.3f", p.Capacity)
			case p.Lost > 0:
				text = fmt.Sprintf("%s not delivered in %d cycles after the window", count(int(p.Lost), "packet"), p.Cycles-r.Window-r.Warmup)
			}
			end.add("note", "%s at %g is more than the mesh takes: %s", p.name(), p.Load, text)
		}
	}
	if f.reference != "" && !compared {
		end.add("note", "%s has none of these points", f.reference)
	}
	if r.Stopped != "" {
		end.add("note", "stopped by %s", r.Stopped)
	}
	if f.svg != "" {
		end.add("written", "%s", f.svg)
	}
	end.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return s.String() + "\n" + renderTable(t) + "\n\n" + end.String()
}
