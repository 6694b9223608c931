package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/sram"
)

type evalFlags struct {
	args   [3]string
	tech   string
	width  int
	rows   int
	consts []string
	random int
	seed   uint64
	output string
	few    bool
	cost   costFlags
	json   bool
}

const evalLong = `Eval computes one operation inside a modelled array and prints the value, its
bits and the cycles. OP is a type and an operation, as in int32.add, uint8.mulw,
fp32.mul, fp16.add, bf16.mul or fp32ftz.add; bitsched ops lists them.

Operands are decimal numbers in the range of the type, or the bits of a number as
0x... With --random the program is compared with the processor instead, on special
values in all combinations and then on random and directed patterns; the exit code
is 1 where they differ.`

const evalExample = `  bitsched eval fp32.mul --a 1.5 --b 2.25
  bitsched eval int8.div --a -7 --b 2 --tech xmg --json
  bitsched eval fp32.add --random 10000000
  bitsched eval int32.mul --b 10 --const b -o mul10.kernel
  bitsched eval fp16.mul --tech xmg -o mul.bsp`

func (a *app) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:     "eval OP --a X [--b Y] [--c Z]",
		Short:   "Compute one operation inside an array",
		Long:    evalLong,
		Example: evalExample,
		Args:    exactArgs("OP"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return arith.Names(32), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.eval(cmd, args[0], f) },
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	for i, name := range []string{"a", "b", "c"} {
		fl.StringVar(&f.args[i], name, "", "`value` of the "+[]string{"first", "second", "third"}[i]+" operand")
	}
	fl.StringVar(&f.tech, "tech", "neural-cache", "array `technology`: "+strings.Join(techNames(), ", "))
	fl.IntVar(&f.width, "width", 32, "width in `bits` of a type that does not say it")
	fl.IntVar(&f.rows, "rows", arith.DefaultRows, "`rows` of the array")
	fl.StringSliceVar(&f.consts, "const", nil, "`operands` that are constants of the program, as a or b,c")
	fl.IntVar(&f.random, "random", 0, "compare with the processor on this `number` of patterns")
	fl.Uint64Var(&f.seed, "seed", 1, "`seed` of the random patterns")
	fl.StringVarP(&f.output, "output", "o", "", "write the kernel to this `file` (- for stdout); to one that ends in .bsp, a program as schedule writes it (xmg only)")
	fl.BoolVar(&f.few, "few-rows", false, "search circuits for orders that need few scratch rows: seconds each, then kept on disk")
	f.cost.add(cmd, fl)
	fl.BoolVar(&f.json, "json", false, "print one JSON document")
	complete(cmd, "tech", techNames()...)
	return cmd
}

type evalReport struct {
	Op       string   `json:"op"`
	Tech     string   `json:"tech"`
	Args     []string `json:"args,omitempty"`
	Value    string   `json:"value,omitempty"`
	Bits     string   `json:"bits,omitempty"`
	Cycles   int      `json:"cycles"`
	Scratch  int      `json:"scratch_rows"`
	Energy   float64  `json:"energy"`
	Patterns int      `json:"patterns,omitempty"` // compared with the processor
	Seconds  float64  `json:"seconds,omitempty"`

	Cost *costReport `json:"cost,omitempty"`
}

func (a *app) eval(cmd *cobra.Command, name string, f evalFlags) error {
	o, t, err := arith.Resolve(name, f.width)
	if err != nil {
		return err
	}
	if f.random < 0 {
		return usageError(cmd, "--random %d, expected at least 1", f.random)
	}
	for _, c := range f.consts {
		if len(c) != 1 || c[0] < 'a' || int(c[0]-'a') >= len(o.Args) {
			return usageError(cmd, "--const %s, expected operands of %s", c, name)
		}
	}
	if f.json && f.output == "-" {
		return usageError(cmd, "--json and -o - both want stdout")
	}
	spec := arith.Spec{Op: name, Width: f.width, Tech: f.tech, Rows: f.rows, FewRows: f.few, Const: map[int]uint64{}}
	var values []uint64 // of the operands that are not constants
	var shown []string
	for i, arg := range []string{"a", "b", "c"} {
		given := cmd.Flags().Changed(arg)
		if i >= len(o.Args) {
			if given {
				return usageError(cmd, "--%s: %s has %s", arg, name, count(len(o.Args), "operand"))
			}
			continue
		}
		fixed := slices.Contains(f.consts, arg)
		if !given {
			if fixed || f.random == 0 && f.output == "" {
				return usageError(cmd, "missing --%s (%s)", arg, o.Args[i])
			}
			continue
		}
		if f.random > 0 && !fixed {
			return usageError(cmd, "--%s with --random, expected one of them, or --const %[1]s", arg)
		}
		v, err := parseOperand(o, t, i, f.args[i])
		if err != nil {
			return usageError(cmd, "--%s: %w", arg, err)
		}
		shown = append(shown, f.args[i])
		if fixed {
			spec.Const[i] = v
		} else {
			values = append(values, v)
		}
	}
	table, err := f.cost.load()
	if err != nil {
		return err
	}
	if err := a.checkWritable(f.output, f.cost.table); err != nil {
		return err
	}
	line := a.newProgress()
	defer line.clear()
	line.phase("building " + name)
	p, err := a.programs.Build(context.Background(), spec)
	if err != nil {
		return evalError(err)
	}
	r := evalReport{Op: p.Spec.Op, Tech: p.Spec.Tech, Cycles: p.Latency(), Scratch: p.Scratch, Energy: p.Kernel.Energy(sram.DefaultEnergy),
		Cost: f.cost.reportKernel(table, p.Kernel)}
	switch {
	case f.random > 0:
		line.phase("comparing")
		start := time.Now()
		a.unchecked(p)
		if err := p.Verify(context.Background(), f.random, f.seed); err != nil {
			return evalError(err)
		}
		r.Patterns, r.Seconds = p.Patterns(f.random), time.Since(start).Seconds()
	case len(values) == len(p.Args):
		v, err := p.Compute(values...)
		if err != nil {
			return evalError(err)
		}
		r.Args, r.Value, r.Bits = shown, showResult(o, t, v), bitsOf(o.ResultWidth(t), v)
	}
	line.clear()
	if f.output != "" {
		write := p.Kernel.WriteTo
		if strings.HasSuffix(f.output, ".bsp") {
			prog, err := p.Kernel.Program()
			if err != nil {
				return err
			}
			write = prog.WriteTo
		}
		if err := a.writeFile(f.output, func(w io.Writer) error { _, err := write(w); return err }); err != nil {
			return err
		}
		if f.output == "-" {
			return nil
		}
	}
	if f.json {
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		return a.printText(string(b) + "\n")
	}
	var b strings.Builder
	switch {
	case r.Patterns > 0:
		fmt.Fprintf(&b, "%s  %s patterns like the processor\n", r.Op, strconv.Itoa(r.Patterns))
	case r.Value != "":
		fmt.Fprintf(&b, "%s  %s\nvalue    %s\nbits     %s\n", r.Op, strings.Join(r.Args, " "), r.Value, r.Bits)
	default:
		fmt.Fprintf(&b, "%s\n", r.Op)
	}
	fmt.Fprintf(&b, "cycles   %d on %s, %s\n", r.Cycles, r.Tech, count(r.Scratch, "scratch row"))
	if f.output != "" {
		fmt.Fprintf(&b, "written  %s\n", f.output)
	}
	b.WriteString(r.Cost.text())
	return a.printText(b.String())
}

// evalError tells a program that is wrong from one that cannot be made.
func evalError(err error) error {
	var m *arith.MismatchError
	switch {
	case errors.As(err, &m):
		return fmt.Errorf("%w: %w", errCheck, err)
	case errors.Is(err, arith.ErrRows):
		return fmt.Errorf("bitsched: %w: %w", masim.ErrInfeasible, err)
	}
	return err
}

// parseOperand reads a number of the type of an operand, or its bits.
func parseOperand(o *arith.Operation, t arith.Type, i int, s string) (uint64, error) {
	w := o.ArgWidth(t, i)
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		v, err := strconv.ParseUint(hex, 16, 64)
		if err != nil || w < 64 && v>>w != 0 {
			return 0, fmt.Errorf("%q, expected at most %d bits in hexadecimal digits", s, w)
		}
		return v, nil
	}
	if f := o.ArgFormat(t, i); f != nil {
		v, err := f.Parse(s)
		if err != nil {
			return 0, fmt.Errorf("%q, expected a number, or its bits in hexadecimal after 0x", s)
		}
		if math.IsInf(f.Float64(v), 0) && !strings.Contains(strings.ToLower(s), "inf") {
			return 0, fmt.Errorf("%q, expected a number that %s holds, inf, or its bits in hexadecimal after 0x", s, f.Name)
		}
		return v, nil
	}
	low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(w))
	mask := new(big.Int).Sub(high, big.NewInt(1))
	if o.ArgSigned(t, i) {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	v, ok := new(big.Int).SetString(s, 10)
	if !ok || v.Cmp(low) < 0 || v.Cmp(high) >= 0 {
		return 0, fmt.Errorf("%q, expected a number from %v to %v, or its %s in hexadecimal after 0x", s, low, high.Sub(high, big.NewInt(1)), count(w, "bit"))
	}
	return v.And(v, mask).Uint64(), nil
}

// showResult is the value of a result: signed where the operation is.
func showResult(o *arith.Operation, t arith.Type, v arith.Value) string {
	w := o.ResultWidth(t)
	if f := o.ResultFormat(t); f != nil {
		x := f.Float64(v.Lo)
		if math.Signbit(x) && x == 0 {
			return "-0"
		}
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	n := new(big.Int).SetUint64(v.Hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v.Lo))
	if o.Signed() && n.Bit(w-1) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(w)))
	}
	return n.String()
}

func bitsOf(w int, v arith.Value) string {
	if w > 64 {
		return fmt.Sprintf("0x%0*x%016x", (w-64+3)/4, v.Hi, v.Lo)
	}
	return fmt.Sprintf("0x%0*x", (w+3)/4, v.Lo)
}
