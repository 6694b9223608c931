package masim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// sharedMASIM is where the netlists of the MASIM project are, seen from here.
const sharedMASIM = "../../shared/data/masim"

// sharedProblems are those that were read, by name.
var sharedProblems sync.Map

// sharedProblem is a netlist of the MASIM project on eight arrays of the rows
// that the paper gives it, read once.
func sharedProblem(tb testing.TB, name string) Problem {
	tb.Helper()
	p, ok := sharedProblems.Load(name)
	if !ok {
		p, _ = sharedProblems.LoadOrStore(name, readShared(tb, name))
	}
	return p.(Problem)
}

func readShared(tb testing.TB, name string) Problem {
	tb.Helper()
	f, err := os.Open(filepath.Join(sharedMASIM, "rows.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("the netlists of the MASIM project are not there")
	}
	require.NoError(tb, err)
	defer f.Close()
	rows := 0
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var n string
		var r int
		if _, err := fmt.Sscan(sc.Text(), &n, &r); err == nil && n == name {
			rows = r
		}
	}
	require.NotZero(tb, rows, name)
	n, err := netlist.ReadFile(filepath.Join(sharedMASIM, name+".v"))
	require.NoError(tb, err)
	g, err := xmg.FromNetwork(context.Background(), n, xmg.Options{})
	require.NoError(tb, err)
	return Problem{g, sram.Geometry{Arrays: 8, Rows: rows, Cols: 1}}
}

// sharedBounds are the bounds of shared problems, which take seconds, by name.
var sharedBounds sync.Map

// sharedBound returns [LowerBound] of a shared problem.
func sharedBound(tb testing.TB, name string, p Problem) *Bound {
	tb.Helper()
	once, _ := sharedBounds.LoadOrStore(name, sync.OnceValue(func() *Bound {
		b := LowerBound(context.Background(), p)
		return &b
	}))
	return once.(func() *Bound)()
}

// sharedRun is what MASIM finds for a shared problem.
type sharedRun struct {
	*Result
	err error
}

// sharedRuns are what MASIM found, by name.
var sharedRuns sync.Map

// sharedMASIMRun schedules a shared problem with MASIM at Fast effort, once.
func sharedMASIMRun(tb testing.TB, name string) *Result {
	tb.Helper()
	p := sharedProblem(tb, name)
	once, _ := sharedRuns.LoadOrStore(name, sync.OnceValue(func() sharedRun {
		r, err := runMASIM(context.Background(), p, Options{Effort: Fast, Seed: 1, Threads: 2, Bound: sharedBound(tb, name, p)})
		return sharedRun{r, err}
	}))
	r := once.(func() sharedRun)()
	require.NoError(tb, r.err, name)
	return r.Result
}

// BenchmarkCICPP makes one complete random schedule, all ready gates and all
// arrays looked at.
func BenchmarkCICPP(b *testing.B) {
	for _, name := range []string{"sin", "multiplier", "log2"} {
		b.Run(name, func(b *testing.B) {
			p := sharedProblem(b, name)
			net := newCicppNet(p.Graph)
			seed, copies, failed := uint64(0), 0, 0
			for b.Loop() {
				seed++
				a := trial{arrays: 8, seed: mix(seed), random: true}.run(net, p.Geometry.Rows, func() bool { return false })
				if a == nil {
					failed++
					continue
				}
				copies += a.state.copies
			}
			b.ReportMetric(float64(copies)/float64(b.N-failed), "copies")
			b.ReportMetric(float64(failed), "failed")
		})
	}
}

// BenchmarkInstructions generates the instructions along the order of the
// netlist.
func BenchmarkInstructions(b *testing.B) {
	for _, name := range []string{"sin", "multiplier", "log2"} {
		b.Run(name, func(b *testing.B) {
			p := sharedProblem(b, name)
			net := newCicppNet(p.Graph)
			seed, copies := uint64(0), 0
			for b.Loop() {
				seed++
				a := trial{arrays: 8, seed: mix(seed)}.run(net, p.Geometry.Rows, func() bool { return false })
				copies += a.state.copies
			}
			b.ReportMetric(float64(copies)/float64(b.N), "copies")
		})
	}
}
