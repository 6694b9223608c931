package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/system/sparse"
)

func (a *app) sparseRingCommand() *cobra.Command {
	var stack sparseStack
	w := sparse.RingTraffic{}
	var direction string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ring",
		Short: "Put the ring of a layer alone under load, cycle by cycle",
		Long: `Ring moves pairs between the banks of a layer, whose stations always have more to
send, and reports how many the ring takes and how far they go. With one direction
uniform traffic takes 32 hops in the mean, and a ring of 64 banks 2 pairs a cycle.`,
		Example: `  bitsched sparse ring --traffic uniform --pairs 6400000 --direction one
  bitsched sparse ring --traffic tornado,neighbor --direction both --json`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch direction {
			case "":
			case "one", "both":
				stack.readings = append(stack.readings, "ring="+direction)
			default:
				return usageError(cmd, "--direction %q, expected one or both", direction)
			}
			mach, err := stack.load(cmd)
			if err != nil {
				return err
			}
			line := a.newProgress()
			defer line.clear()
			s := a.startStoppable(0, line, "stopping")
			defer s.end()
			t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "traffic", Left: true}, {Name: "pairs"}, {Name: "cycles"}, {Name: "pairs a cycle"}, {Name: "pairs a ns"}, {Name: "mean hops"}, {Name: "simulated, M pairs/CPU s"}}}
			type measured struct {
				*sparse.RingResult
				Speed float64 `json:"simulated_pairs_per_cpu_second"`
			}
			var list []measured
			for _, pattern := range strings.Split(w.Pattern, ",") {
				x := w
				x.Pattern = pattern
				line.phase(pattern)
				began := cpuTime()
				res, err := x.Run(s.ctx, mach)
				if err != nil {
					return s.reasonOf(sparseError(err))
				}
				m := measured{res, float64(res.Pairs) / max(1e-9, (cpuTime()-began).Seconds())}
				list = append(list, m)
				t.Rows = append(t.Rows, []string{pattern, bigCount(res.Pairs), bigCount(res.Cycles), fmt.Sprintf("%.3f", res.Rate), fmt.Sprintf("%.3f", res.PerNanos), fmt.Sprintf("%.3f", res.MeanHops), fmt.Sprintf("%.1f", m.Speed/1e6)})
			}
			line.clear()
			if asJSON {
				if len(list) == 1 {
					return a.printJSON(list[0])
				}
				return a.printJSON(map[string]any{"points": list})
			}
			return a.printText(renderTable(t) + "\n")
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&w.Pattern, "traffic", "uniform", "`patterns` of traffic: "+strings.Join(sparse.RingPatterns, ", "))
	fl.Int64Var(&w.Pairs, "pairs", 640000, "`number` of pairs")
	fl.StringVar(&direction, "direction", "", "`directions` of the ring: one or both; by default as the machine has")
	fl.StringVar(&stack.machine, "machine", "gearbox", "the `stack`: a name, or a file in YAML")
	fl.Uint64Var(&w.Seed, "seed", 1, "`seed` of the traffic")
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) sparseKernelCommand() *cobra.Command {
	var stack sparseStack
	k := sparse.Scatter{}
	var fidelity, network string
	var asJSON bool
	var n int
	cmd := &cobra.Command{
		Use:   "kernel KERNEL",
		Short: "Execute scatter, or a regular kernel, on every SPU",
		Long: `Kernel executes the walk-through of the paper's figure 9, C[A[i]] += B[i], on every
SPU, and compares C with that of a plain loop. At fidelity instr the four instructions
are interpreted on rows, and cycles, row switches and words compared with those counted
pair by pair.

KERNEL may also be ` + strings.Join(sparse.RegularKernels, ", ") + `: those of figure 18, always interpreted, in
words of 32 bits, compared with plain loops.`,
		Example: `  bitsched sparse kernel scatter --per-spu 6400 --index identity --fidelity instr
  bitsched sparse kernel scatter --per-spu 6400 --index remote --network none
  bitsched sparse kernel dot --per-spu 6400`,
		Args: exactArgs("KERNEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			regular := slices.Contains(sparse.RegularKernels, args[0])
			if args[0] != "scatter" && !regular {
				return usageError(cmd, "unknown kernel %q, expected scatter, %s", args[0], strings.Join(sparse.RegularKernels, ", "))
			}
			for _, name := range []string{"index", "fidelity", "network"} {
				if regular && cmd.Flags().Changed(name) {
					return usageError(cmd, "--%s of kernel %s, expected it with scatter only", name, args[0])
				}
			}
			if fidelity != "instr" && fidelity != "pair" {
				return usageError(cmd, "--fidelity %q, expected pair or instr", fidelity)
			}
			if network != "cycle" && network != "none" {
				return usageError(cmd, "--network %q, expected cycle or none", network)
			}
			mach, err := stack.load(cmd)
			if err != nil {
				return err
			}
			if k.Threads, err = threads(cmd, n); err != nil {
				return err
			}
			k.Instr, k.Network = fidelity == "instr", network == "cycle"
			line := a.newProgress()
			defer line.clear()
			s := a.startStoppable(0, line, "stopping")
			defer s.end()
			line.phase(args[0])
			if regular {
				res, err := sparse.Regular{Kernel: args[0], PerSPU: k.PerSPU, Seed: k.Seed, Threads: k.Threads}.Run(s.ctx, mach)
				if err != nil {
					return s.reasonOf(sparseError(err))
				}
				line.clear()
				if asJSON {
					return a.printJSON(res)
				}
				var out summary
				out.add("kernel", "%s, %s entries on each of %s SPUs, interpreted", res.Kernel, bigCount(int64(res.PerSPU)), bigCount(int64(res.SPUs)))
				out.add("cycles", "%s of the busiest SPU, %.1f in the mean; %s row switches in all", bigCount(res.Cycles), res.Mean, bigCount(res.Loads))
				out.add("stack", "%.1f G entries/s", res.Entries/1e9)
				out.add("checked", "%s words equal to those of a %s", bigCount(res.Compared), res.Checked)
				return a.printText(out.String())
			}
			res, err := k.Run(s.ctx, mach)
			if err != nil {
				return s.reasonOf(sparseError(err))
			}
			line.clear()
			if asJSON {
				return a.printJSON(res)
			}
			var out summary
			out.add("kernel", "C[A[i]] += B[i], %s entries on each of %s SPUs, index %s, fidelity %s", bigCount(int64(res.PerSPU)), bigCount(int64(res.SPUs)), res.Index, fidelity)
			out.add("cycles", "%s of the busiest SPU, %.1f in the mean; %s row switches in all", bigCount(res.Cycles), res.Mean, bigCount(res.Loads))
			out.add("entries", "%s local, %s remote", bigCount(res.Local), bigCount(res.Remote))
			if res.Link > 0 && res.Remote > 0 {
				out.add("network", "at rest after %s link cycles", bigCount(res.Link))
			}
			out.add("checked", "%s words equal to those of a %s", bigCount(res.Compared), res.Checked)
			return a.printText(out.String())
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&k.PerSPU, "per-spu", 640, "`entries` of each SPU")
	fl.StringVar(&k.Index, "index", "identity", "what A `has`: "+strings.Join(sparse.ScatterIndices, ", "))
	fl.StringVar(&fidelity, "fidelity", "pair", "`how` SPUs are executed: pair by pair, or instr by instr; the same cycles")
	fl.StringVar(&network, "network", "cycle", "`cycle` by cycle, or none: remote pairs vanish")
	stack.add(fl)
	fl.Uint64Var(&k.Seed, "seed", 1, "`seed` of random indices")
	fl.IntVar(&n, "threads", 0, "number of `threads`, 0 for all cores")
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) sparseLowerCommand() *cobra.Command {
	var asJSON bool
	var variant, typ string
	cmd := &cobra.Command{
		Use:   "lower APP",
		Short: "Print the programs that SPUs run in the steps of an application",
		Long: `Lower prints the instructions that the logic layer broadcasts before each step, at
most 8 of 60 bits, and what their walkers hold. Scatter is the paper's figure 9.`,
		Example: `  bitsched sparse lower bfs
  bitsched sparse lower scatter --json`,
		Args: exactArgs("APP"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := sparse.LookupVariant(variant)
			if err != nil {
				return usageError(cmd, "--variant: %w", err)
			}
			list, err := sparse.Lower(args[0], v, sparse.Type(typ))
			if err != nil {
				return usageError(cmd, "%w", err)
			}
			if asJSON {
				type instruction struct {
					Word string `json:"word"`
					Text string `json:"text"`
				}
				type program struct {
					sparse.Program
					Code []instruction `json:"instructions"`
				}
				var out []program
				for _, p := range list {
					q := program{Program: p}
					for _, in := range p.Code {
						q.Code = append(q.Code, instruction{fmt.Sprintf("%015x", in.Encode()), in.String()})
					}
					out = append(out, q)
				}
				return a.printJSON(map[string]any{"app": args[0], "bits": sparse.InstructionBits(), "programs": out})
			}
			var b strings.Builder
			for i, p := range list {
				if i > 0 {
					b.WriteByte('\n')
				}
				var walkers []string
				for w, name := range p.Walkers {
					if name != "" {
						walkers = append(walkers, fmt.Sprintf("w%d %s", w+1, name))
					}
				}
				step := ""
				if p.Step > 0 {
					step = fmt.Sprintf("step %d, ", p.Step)
				}
				fmt.Fprintf(&b, "%s%s: %s\n", step, p.Name, strings.Join(walkers, ", "))
				for pc, in := range p.Code {
					fmt.Fprintf(&b, "  %d  %015x  %s\n", pc, in.Encode(), in)
				}
			}
			return a.printText(b.String())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&variant, "variant", "v3", "`version` of the stack: v0, v1, hypo, v2, v3 or bank")
	cmd.Flags().StringVar(&typ, "type", "f32", "`words` that are added: f32 or u32")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// verified is a run of sparse verify.
type verified struct {
	App      string  `json:"app"`
	Variant  string  `json:"variant"`
	Type     string  `json:"type"`
	Digest   string  `json:"digest"`
	Checked  string  `json:"checked"`
	Compared int64   `json:"compared"`
	Replayed int64   `json:"replayed"`
	Shadowed int64   `json:"interpreted_spus"`
	MeanHops float64 `json:"mean_ring_hops"`
	Cycles   int64   `json:"link_cycles"`
	Nonzeros int64   `json:"nonzeros_processed"`
}

func (a *app) sparseVerifyCommand() *cobra.Command {
	f := sparseAppFlags{o: sparse.DefaultAppOptions()}
	cmd := &cobra.Command{
		Use:   "verify APPS MATRIX",
		Short: "Execute applications on variants and compare results and digests",
		Long: `Verify executes each of the applications (a list, or all) on each of the variants,
and checks what every run checks: the result against plain loops, the interpreted
SPUs, and the invariants. Results in integers must have one digest whatever the
variant; if anything differs, the exit code is 1.`,
		Example: `  bitsched sparse verify all gen:rmat,scale=12,undirected --variant all --type u32
  bitsched sparse verify bfs,cc graph.txt --undirected`,
		Args: exactArgs("APPS", "MATRIX"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.sparseVerify(cmd, args[0], args[1], &f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringSliceVar(&f.variant, "variant", []string{"all"}, "`versions` of the stack: v0, v1, hypo, v2, v3 or all")
	fl.StringVar(&f.typ, "type", "u32", "`words` that are added: f32, or u32 modulo 2^32")
	fl.StringVar(&f.fidelity, "fidelity", "pair", "`how` SPUs are executed: pair by pair, or instr by instr")
	fl.IntVar(&f.every, "every", 64, "at fidelity pair, interpret one in so many `SPUs` too, and repeat one in so many sums; 0 for none")
	fl.IntVar(&f.o.Iterations, "iterations", 3, "`iterations` of pagerank")
	fl.IntVar(&f.o.Queries, "queries", 4, "`queries` of spknn and svm")
	f.check = true
	f.stack.add(fl)
	f.input.add(fl)
	fl.IntVar(&f.threads, "threads", 0, "number of `threads`, 0 for all cores")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

func (a *app) sparseVerify(cmd *cobra.Command, apps, text string, f *sparseAppFlags) error {
	var names []string
	for _, name := range strings.Split(apps, ",") {
		if name == "all" {
			for _, app := range sparse.Apps() {
				names = append(names, app.Name)
			}
			continue
		}
		if _, err := sparse.LookupApp(name); err != nil {
			return usageError(cmd, "%w", err)
		}
		names = append(names, name)
	}
	variants, err := parseVariants(cmd, f.variant)
	if err != nil {
		return err
	}
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	m, _, err := a.loadMatrix(cmd, text, &f.input, line)
	if err != nil {
		return err
	}
	s := a.startStoppable(0, line, "stopping")
	defer s.end()
	report := a.searchProgress(line)
	var list []verified
	digests := map[string]string{}
	for _, name := range names {
		for _, v := range variants {
			cfg.Variant = v
			cfg.Progress = iterationProgress(report, name+" "+v.Name+" ")
			o := f.o
			o.Top = min(o.Top, m.Rows)
			if !slices.Contains([]string{"pagerank"}, name) {
				o.Iterations = 0
			}
			res, err := sparse.Run(s.ctx, name, m, o, cfg, nil)
			if err != nil {
				return s.reasonOf(sparseError(err))
			}
			if res.Stopped != "" {
				return fmt.Errorf("bitsched: stopped by %w before all was verified", errInterrupt)
			}
			list = append(list, verified{name, v.Name, string(res.Type), res.Digest, res.Checked, res.Compared, res.Replayed, res.Shadowed, res.MeanRing, res.Cycles, res.Nonzeros})
			if res.Type == sparse.U32 {
				if old, ok := digests[name]; ok && old != res.Digest {
					return fmt.Errorf("%w: %s has digest %s on %s, %s on the variants before", errCheck, name, res.Digest, v.Name, old)
				}
				digests[name] = res.Digest
			}
		}
	}
	s.end()
	line.clear()
	if f.json {
		return a.printJSON(map[string]any{"runs": list, "digests": digests})
	}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "app", Left: true}, {Name: "variant", Left: true}, {Name: "type"}, {Name: "digest", Left: true}, {Name: "compared"}, {Name: "repeated sums"}, {Name: "interpreted SPUs"}, {Name: "mean hops"}, {Name: "checked against", Left: true}}}
	for _, v := range list {
		t.Rows = append(t.Rows, []string{v.App, v.Variant, v.Type, v.Digest[:16], bigCount(v.Compared), bigCount(v.Replayed), strconv.FormatInt(v.Shadowed, 10), fmt.Sprintf("%.3f", v.MeanHops), v.Checked})
	}
	return a.printText(renderTable(t) + "\n\n" + fmt.Sprintf("%s, one digest for each application in integers\n", count(len(list), "run")))
}
