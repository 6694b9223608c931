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

// sharedProblem reads a netlist of the MASIM project on eight arrays of the
// rows that the paper gives it.
func sharedProblem(tb testing.TB, name string) Problem {
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
