package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bitsched/bitsched/benchmarks/reproduce"
	"github.com/bitsched/bitsched/lowering/arith"
	"github.com/bitsched/bitsched/lowering/mapping"
	"github.com/bitsched/bitsched/masim"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/system/sparse"
)

// The exit codes of every subcommand.
const (
	exitOK         = 0
	exitCheck      = 1   // a check failed: mismatch, broken rule
	exitUsage      = 2   // bad usage, bad input, or a file that cannot be read or written
	exitInfeasible = 3   // no schedule fits the machine
	exitInternal   = 70  // a check of the program against itself failed: a defect (EX_SOFTWARE of sysexits.h)
	exitAborted    = 130 // by Ctrl-C, as shells report it, or by --budget, before there was a result
)

// errCheck is wrapped by the error of a check that failed.
var errCheck = errors.New("bitsched: check failed")

// app is one run of the program with everything that it touches outside.
type app struct {
	start     time.Time
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	terminal  bool // stderr is one: show progress there
	width     int  // of the terminal that stdout is, in characters; 0 if it is none
	interrupt *interrupts
	programs  *arith.Store // of operations

	progress func(masim.Progress)                           // sees every report of a scheduler; nil outside tests
	damage   func(result any)                               // changes a result before it is checked; nil outside tests
	after    func(time.Duration, func()) (stop func() bool) // calls a function when a time has passed
}

// run executes the command line and returns the exit code.
func run(args []string) int { return newApp().run(args) }

func newApp() *app {
	a := &app{
		start:    time.Now(),
		programs: arith.NewStore(arith.UserDir()),
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		terminal: term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb",
		width:    widthOf(os.Stdout),
		after:    func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
	}
	a.interrupt = newInterrupts(os.Stderr, os.Exit)
	return a
}

// widthOf returns the characters of a line of a terminal, 0 if the file is none.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// unchecked hands a result to tests, which spoil it to see that the check finds that.
func (a *app) unchecked(result any) {
	if a.damage != nil {
		a.damage(result)
	}
}

func (a *app) run(args []string) int {
	a.interrupt.listen()
	defer a.interrupt.close()
	out := &checkedWriter{w: a.stdout}
	a.stdout = out
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if out.err != nil && (err == nil || errors.Is(err, out.err)) {
		err = fmt.Errorf("bitsched: write stdout: %w", cause(out.err))
	}
	if err == nil || errors.Is(err, syscall.EPIPE) {
		// The reader of stdout has seen enough: not an error of ours.
		return exitOK
	}
	// An interrupt that was answered has its line; a verdict that it left open is on stdout.
	if !errors.Is(err, errInterrupt) || !a.interrupt.answered() {
		fmt.Fprintln(a.stderr, plain(err))
	}
	return exitCode(err)
}

// checkedWriter keeps the first error, which cobra does not look at.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errCheck):
		return exitCheck
	case errors.Is(err, masim.ErrInfeasible), errors.Is(err, sparse.ErrInfeasible), errors.Is(err, mapping.ErrInfeasible):
		return exitInfeasible
	case errors.Is(err, errInterrupt), errors.Is(err, errBudget):
		return exitAborted
	case errors.Is(err, system.ErrInternal), errors.Is(err, multicore.ErrInternal), errors.Is(err, reproduce.ErrBound):
		return exitInternal
	}
	if mismatch := new(arith.MismatchError); errors.As(err, &mismatch) {
		return exitInternal
	}
	return exitUsage
}

// oneLine is the message of err on one line. What a terminal does not print, as an
// excerpt of a binary file has it, is escaped.
func oneLine(err error) string {
	msg := strings.TrimSpace(err.Error())
	if strings.Contains(msg, "\n") {
		lines := strings.FieldsFunc(msg, func(r rune) bool { return r == '\n' || r == '\r' })
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		msg = strings.Join(lines, "; ")
	}
	var b strings.Builder
	for len(msg) > 0 {
		r, n := utf8.DecodeRuneInString(msg)
		c := msg[:n]
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) && r != '\t' {
			c = strconv.Quote(c)
			c = c[1 : len(c)-1]
		}
		b.WriteString(c)
		msg = msg[n:]
	}
	return b.String()
}

const rootLong = `bitsched computes inside SRAM arrays, bit by bit.

Circuits: it maps one to MAJ and XOR gates, schedules these onto arrays with few
copies between them, executes the schedule on a model of the arrays and compares
every bitline with the circuit (schedule, verify). Circuits are AIGER (ASCII or
binary), BLIF, structural Verilog or BENCH files.

Kernels: it compiles one in C to graphs of tensors (tdfg), these to commands for the
arrays of a modelled chip (lower), executes them, compares every bit and counts
cycles (run).`

const rootExample = `  bitsched gen multiplier --width 16 -o mult.aig
  bitsched schedule mult.aig --rows 256
  bitsched schedule mult.aig --rows 256 -o mult.bsp
  bitsched verify mult.aig mult.bsp
  bitsched run mm_outer -D M=64 -D N=64 -D K=64`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:                        "bitsched",
		Short:                      "Schedule logic circuits onto computing SRAM arrays",
		Long:                       rootLong,
		Example:                    rootExample,
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableAutoGenTag:          true,
		Version:                    version().String(),
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE:          func(cmd *cobra.Command, _ []string) error { return noEmptyFlags(cmd) },
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(a.helpCommand())
	if help := root.HelpFunc(); a.width > 0 {
		root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
			var b strings.Builder
			out := cmd.OutOrStdout()
			cmd.SetOut(&b)
			help(cmd, args)
			cmd.SetOut(out)
			_, _ = io.WriteString(out, wrapHelp(b.String(), a.width)) // run looks at the error
		})
	}
	for i, group := range a.groups() {
		id := strconv.Itoa(i)
		root.AddGroup(&cobra.Group{ID: id, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.versionCommand())
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args = unknownCommand
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	return root
}

// commandGroup is commands that help lists together.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

func (a *app) groups() []commandGroup {
	return []commandGroup{
		{"Circuits", []*cobra.Command{a.genCommand(), a.convertCommand(), a.statsCommand(), a.synthCommand(), a.cecCommand(), a.scheduleCommand(),
			a.verifyCommand(), a.compareCommand(), a.faultsCommand()}},
		{"Arithmetic", []*cobra.Command{a.opsCommand(), a.evalCommand(), a.costsCommand()}},
		{"Kernels", []*cobra.Command{a.tdfgCommand(), a.lowerCommand(), a.runCommand(), a.tilesizeCommand()}},
		{"Machines", []*cobra.Command{a.machineCommand(), a.nocCommand(), a.referenceCommand(), a.microbenchCommand()}},
		{"Sparse", []*cobra.Command{a.sparseCommand()}},
		{"Networks", []*cobra.Command{a.layersCommand(), a.platformCommand(), a.mapCommand(), a.mapcheckCommand(), a.mapstudyCommand()}},
		{"Studies", []*cobra.Command{a.reproduceCommand(), a.sensitivityCommand(), a.sweepCommand(), a.workerCommand(), a.reportCommand(), a.serveCommand()}},
	}
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if len(args) == 0 {
				for _, c := range cmd.Root().Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name())
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(target, rest)
			}
			target.InitDefaultHelpFlag() // as --help does
			return target.Help()
		},
	}
}

// unknownCommand is the argument check of a command that only has subcommands.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	// Two changes make another word of a short one.
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 && (len(args[0]) > 3 || strings.HasPrefix(s[0], args[0])) {
		near = fmt.Sprintf(", did you mean %q?", s[0])
	}
	return usageError(cmd, "unknown command %q%s", args[0], near)
}

// usageError is the error of a wrong command line; it says where the help is.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%s: %w (see %s --help)", cmd.CommandPath(), fmt.Errorf(format, args...), cmd.CommandPath())
}

// exactArgs checks that there is one argument for each of the names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageError(cmd, "missing %s", strings.Join(names[len(args):], " and "))
		}
		if len(args) > len(names) {
			return usageError(cmd, "unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// maxThreads is the most workers for each core: more only take memory.
const maxThreads = 4

// threads is the number of workers for a --threads flag: 0 is all cores.
func threads(cmd *cobra.Command, n int) (int, error) {
	if n < 0 {
		return 0, usageError(cmd, "--threads %d, expected 0 (all cores) or more", n)
	}
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, maxThreads*runtime.GOMAXPROCS(0)), nil
}

// complete gives the values that the shell may offer for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	// The only error is a flag that does not exist, or twice the same.
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err)
	}
}
