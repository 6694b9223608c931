package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/xmg"
)

type cecFlags struct {
	match  string
	budget time.Duration
	json   bool
}

const cecLong = `Cec (combinational equivalence checking) decides whether two circuits compute
the same outputs for all inputs. Inputs and outputs are matched by position,
whatever their names, or with --match names by these; the circuits may be in
different formats.

The answer is one of three. Equal is proved, for all inputs. Different comes
with an input pattern, for which both circuits were evaluated, and an output
that then differs. Undecided means that neither was found within the budget or
within a million conflicts of a SAT query; without a budget that can take very
long. Multipliers, multipliers that add and trees of adders are compared by
algebra, whatever their structure, as far as it finds their adders. The exit code
is 0 for equal, 1 for different and for undecided. Ctrl-C stops the proof and says
what is undecided.`

const cecExample = `  bitsched cec mult.aig mult.v
  bitsched cec mult.aig mapped.blif --json
  bitsched cec old.aig new.aig --budget 60s
  bitsched cec design.v synthesised.v --match names
  bitsched gen adder --width 8 -o - | bitsched cec - adder.v`

func (a *app) cecCommand() *cobra.Command {
	var f cecFlags
	cmd := &cobra.Command{
		Use:     "cec A B",
		Short:   "Prove two circuits equal, or show where they differ",
		Long:    cecLong,
		Example: cecExample,
		Args:    exactArgs("A", "B"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.cec(cmd, args[0], args[1], f)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.match, "match", "position", "match inputs and outputs by `what`: position or names")
	complete(cmd, "match", "position", "names")
	fl.DurationVar(&f.budget, "budget", 0, "give up after this `time`, for example 60s (0 = when all is tried)")
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	return cmd
}

type cecResult struct {
	A         cecCircuit     `json:"a"`
	B         cecCircuit     `json:"b"`
	Match     string         `json:"match"`     // position or names
	Names     string         `json:"names"`     // how names differ where ports are matched by position
	Verdict   string         `json:"verdict"`   // equal, different or undecided
	Witness   *witnessReport `json:"witness"`   // null unless different
	Undecided []int          `json:"undecided"` // outputs neither proved equal nor known to differ; empty unless undecided
	Stopped   string         `json:"stopped"`   // "", "budget" or "interrupt"

	ByTable   int   `json:"proved_by_table"` // gates proved equal to others
	BySAT     int   `json:"proved_by_sat"`
	ByAlgebra int   `json:"proved_by_algebra"` // outputs, as bits of words
	Work      int64 `json:"work"`              // values of gates computed

	CPUSeconds  float64 `json:"cpu_seconds"`
	WallSeconds float64 `json:"wall_seconds"`
}

type cecCircuit struct {
	File string `json:"file"`
	netlistReport
	Read readReport `json:"read"`
}

type witnessReport struct {
	Inputs string `json:"inputs"` // a 0 or 1 for each input, input 0 first
	Output int    `json:"output"`
	Name   string `json:"name"` // of the output, in A
	A      bool   `json:"a"`
	B      bool   `json:"b"`

	text string // the inputs with their names
}

func (a *app) cec(cmd *cobra.Command, fileA, fileB string, f cecFlags) error {
	switch {
	case fileA == "-" && fileB == "-":
		return usageError(cmd, "A and B are both -, expected at most one to be read from stdin")
	case f.match != "position" && f.match != "names":
		return usageError(cmd, "--match %s, expected position or names", f.match)
	case f.budget < 0:
		return usageError(cmd, "--budget %v, expected 0 (none) or more", f.budget)
	}
	line := a.newProgress()
	defer line.clear()
	s := a.startBudget(f.budget)
	defer s.end()
	var graphs [2]*xmg.Graph
	r := &cecResult{Match: f.match, Undecided: []int{}}
	var first *netlist.Network
	for i, file := range []string{fileA, fileB} {
		n, err := a.readCircuit(s.ctx, file, line)
		if err != nil {
			return err
		}
		if i == 1 && f.match == "names" {
			if n, err = n.Matched(first); err != nil {
				return fmt.Errorf("bitsched: %s and %s: %w", fileName(fileA), fileName(fileB), err)
			}
		}
		first = n
		graphs[i], err = xmg.FromNetwork(s.ctx, n, xmg.Options{NoMap: true, Progress: a.graphProgress(line)})
		if err != nil {
			return s.reasonOf(err)
		}
		*[2]*cecCircuit{&r.A, &r.B}[i] = cecCircuit{fileName(file), newNetlistReport(file, n.Name, graphs[i]), newReadReport(n)}
	}
	fileA, fileB = fileName(fileA), fileName(fileB)
	ga, gb := graphs[0], graphs[1]
	a.onInterrupt(s, line, "stopping the proof")
	a.phase(line, "proving")
	e, err := xmg.Equivalent(s.ctx, ga, gb, xmg.EquivalenceOptions{Progress: a.graphProgress(line)})
	if err != nil {
		if r.Stopped = s.stopped(); r.Stopped == "" {
			return fmt.Errorf("bitsched: %s and %s: %w", fileA, fileB, err)
		}
	}
	s.end()
	line.clear()

	r.Names = portNames(ga, gb)
	r.Verdict = e.Verdict.String()
	if e.Verdict == xmg.Undecided {
		r.Undecided = append(r.Undecided, e.Undecided...)
	}
	r.Witness = newWitnessReport(ga, e.Witness)
	r.ByTable, r.BySAT, r.ByAlgebra, r.Work = e.Stats.ByTable, e.Stats.BySAT, e.Stats.ByAlgebra, e.Stats.Work
	r.CPUSeconds, r.WallSeconds = cpuTime().Seconds(), time.Since(a.start).Seconds()
	if f.json {
		err = a.printJSON(r)
	} else {
		err = a.printText(r.text())
	}
	switch e.Verdict {
	case xmg.Different:
		return fmt.Errorf("%w: %s and %s differ: %s", errCheck, fileA, fileB, r.Witness)
	case xmg.Undecided:
		if r.Stopped == errInterrupt.Error() {
			return fmt.Errorf("%w: %s and %s undecided: %w", errCheck, fileA, fileB, errInterrupt)
		}
		return fmt.Errorf("%w: %s and %s: %s", errCheck, fileA, fileB, undecided(len(r.Undecided), ga.NumOutputs(), r.Stopped))
	}
	return err
}

// undecided says how much was not decided, and why.
func undecided(open, of int, stopped string) string {
	why := "too hard"
	if stopped != "" {
		why = "stopped by " + stopped
	}
	return fmt.Sprintf("%d of %s undecided, %s", open, count(of, "output"), why)
}

func newWitnessReport(g *xmg.Graph, w *xmg.Witness) *witnessReport {
	if w == nil {
		return nil
	}
	digits := make([]byte, len(w.Inputs))
	names := make([]string, len(w.Inputs))
	for i, v := range w.Inputs {
		digits[i] = '0' + bit(v)
		if names[i] = g.InputName(i); names[i] == "" {
			names[i] = fmt.Sprintf("i%d", i)
		}
	}
	return &witnessReport{
		Inputs: string(digits), Output: w.Output, Name: g.Output(w.Output).Name, A: w.A, B: w.B,
		text: patternText(names, w.Inputs),
	}
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// output is the number of the output with its name, if it has one.
func (w *witnessReport) output() string {
	if w.Name == "" {
		return strconv.Itoa(w.Output)
	}
	return fmt.Sprintf("%d (%s)", w.Output, w.Name)
}

func (w *witnessReport) String() string {
	return fmt.Sprintf("output %s is %d and %d for inputs %s", w.output(), bit(w.A), bit(w.B), w.text)
}

func (r *cecResult) text() string {
	var s summary
	for _, c := range []*cecCircuit{&r.A, &r.B} {
		s.add(map[bool]string{true: "A", false: "B"}[c == &r.A], "%s: %s, %s, %s",
			c.File, count(c.Inputs, "input"), count(c.Outputs, "output"), c.Read.text(count(c.Read.Gates, "gate")))
	}
	if r.Names != "" {
		s.add("names", "%s", r.Names)
	}
	s.gap()
	switch {
	case r.Witness != nil:
		w := r.Witness
		s.add("verdict", "DIFFERENT")
		s.add("output", "%s: A %d, B %d", w.output(), bit(w.A), bit(w.B))
		s.add("inputs", "%s", w.text)
	case r.Verdict == xmg.Equal.String():
		s.add("verdict", "equal, proved for all inputs")
	default:
		s.add("verdict", "UNDECIDED: %s", undecided(len(r.Undecided), r.A.Outputs, r.Stopped))
	}
	s.add("time", "%s (%s CPU)", seconds(r.WallSeconds), seconds(r.CPUSeconds))
	return s.String()
}

// portNames says how the names of inputs and outputs differ, "" if they agree.
func portNames(a, b *xmg.Graph) string {
	var parts []string
	add := func(what string, n int, nameA, nameB func(int) string) {
		different, first := 0, 0
		for i := range n {
			if nameA(i) != nameB(i) {
				if different == 0 {
					first = i
				}
				different++
			}
		}
		if different > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s, the first is %s %d: %q in A, %q in B",
				different, count(n, what), what, first, nameA(first), nameB(first)))
		}
	}
	add("input", a.NumInputs(), a.InputName, b.InputName)
	add("output", a.NumOutputs(), func(i int) string { return a.Output(i).Name }, func(i int) string { return b.Output(i).Name })
	if parts == nil {
		return ""
	}
	if sameNames(a.NumInputs(), a.InputName, b.InputName) && sameNames(a.NumOutputs(), func(i int) string { return a.Output(i).Name }, func(i int) string { return b.Output(i).Name }) {
		return "matched by position, though the names stand in another order (--match names matches them): " + strings.Join(parts, "; ")
	}
	return "matched by position, since names differ: " + strings.Join(parts, "; ")
}

// sameNames reports whether two lists have the same names, each once, in any order.
func sameNames(n int, nameA, nameB func(int) string) bool {
	seen := map[string]bool{}
	for i := range n {
		seen[nameA(i)] = true
	}
	found := 0
	for i := range n {
		if seen[nameB(i)] {
			found++
			delete(seen, nameB(i))
		}
	}
	return found == n && !seen[""]
}

// patternText writes values with their names. The bits of a word, name[0] and
// on in order, become one number: name[7:0]=0x2f.
func patternText(names []string, values []bool) string {
	var parts []string
	for i := 0; i < len(names); {
		word, first, ok := wordBit(names[i])
		n := 1
		for ok && i+n < len(names) {
			w, k, isBit := wordBit(names[i+n])
			if !isBit || w != word || k != first+n {
				break
			}
			n++
		}
		switch {
		case n >= 4:
			parts = append(parts, fmt.Sprintf("%s[%d:%d]=0x%s", word, first+n-1, first, hexDigits(values[i:i+n])))
		default:
			n = 1
			parts = append(parts, fmt.Sprintf("%s=%d", names[i], bit(values[i])))
		}
		i += n
	}
	return strings.Join(parts, " ")
}

// wordBit splits the name of a bit of a word: a[3], a3 or a_3.
func wordBit(name string) (word string, index int, ok bool) {
	name = strings.TrimSuffix(name, "]")
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	index, err := strconv.Atoi(name[end:])
	return strings.TrimRight(name[:end], "[_"), index, err == nil && end > 0
}

// hexDigits writes bits, the lowest first, as a number in base 16.
func hexDigits(bits []bool) string {
	var b strings.Builder
	for k := (len(bits) + 3) / 4 * 4; k > 0; k -= 4 {
		d := byte(0)
		for i := min(k, len(bits)) - 1; i >= k-4; i-- {
			d = d<<1 | bit(bits[i])
		}
		b.WriteByte("0123456789abcdef"[d])
	}
	return b.String()
}
