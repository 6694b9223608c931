package dram

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// single gives the clocks from acceptance to return of accesses in a row, each
// alone.
func single(t *testing.T, spec Spec, addresses ...uint64) (latencies []Time) {
	require.NoError(t, spec.Validate())
	layout := spec.Layout()
	returned := Never
	c := NewChannel(&spec, func(now Time, _ uint64) { returned = now })
	for _, a := range addresses {
		c.SkipTo(min(c.Clock()+200, c.Next()))
		start := c.Clock()
		c.Add(a, layout.Of(a), false, 0)
		for returned = Never; returned == Never; {
			c.Tick()
		}
		latencies = append(latencies, returned-start)
	}
	return latencies
}

// TestIdleLatencies are the sums of the data sheet: a clock in the queue, then
// activate, read, data, with a precharge in front on a conflict.
func TestIdleLatencies(t *testing.T) {
	for _, spec := range []Spec{DDR4At3200(), DDR4At2400()} {
		p := spec.Timing
		got := single(t, spec, 0, 64, 1<<30, 1<<30+64)
		hit := Time(1 + p.CL + p.Burst)
		require.Equal(t, []Time{hit + Time(p.RCD), hit, hit + Time(p.RCD+p.RP), hit}, got, spec.Name)
	}
}

// saturated is the bandwidth of a pattern without end.
func saturated(t *testing.T, spec Spec, pattern string) *Measurement {
	e := Experiment{Spec: spec, Pattern: pattern, Arrival: "even", Load: 2, Warmup: 5000, Window: 50_000}
	m, err := e.Run(context.Background())
	require.NoError(t, err)
	require.True(t, m.Saturated)
	return m
}

// TestBounds holds saturated bandwidth against what the timing allows at most.
func TestBounds(t *testing.T) {
	quiet := DDR4At3200()
	quiet.Timing.REFI = 1 << 20 // no refresh in the window
	// Lines that change the bank group each time leave no gap on the bus.
	quiet.Mapping = "rorabacobgch"
	require.InEpsilon(t, quiet.PeakGBs(), saturated(t, quiet, "seq").AchievedGBs, 0.02)
	// Lines in one bank group are tCCD_L apart, but at the ends of rows.
	quiet.Mapping = "rorababgcoch"
	near := quiet.PeakGBs() * float64(quiet.Timing.Burst) / float64(quiet.Timing.CCDL)
	require.Greater(t, saturated(t, quiet, "seq").AchievedGBs, near)
	// A single bank with one line a row takes tRC each.
	one := quiet
	one.Ranks, one.Groups, one.Banks, one.RowLines = 1, 1, 1, 1
	m := saturated(t, one, "seq")
	rc := float64(one.Timing.RAS + one.Timing.RP)
	require.InEpsilon(t, LineBytes/(rc*one.Timing.ClockNs), m.AchievedGBs, 0.01)
	// Refresh takes its share away.
	often := quiet
	often.Mapping = "rorabacobgch"
	often.Timing.REFI = 2000
	share := float64(often.Timing.RFC) / float64(often.Timing.REFI)
	require.InEpsilon(t, often.PeakGBs()*(1-share), saturated(t, often, "seq").AchievedGBs, 0.04)
	// tFAW bounds random reads of one rank: four lines in each window.
	faw := quiet
	faw.Ranks, faw.Timing.FAW = 1, 100
	require.Less(t, saturated(t, faw, "rand").AchievedGBs, 1.01*4*LineBytes/(100*faw.Timing.ClockNs))
}

// TestTurns checks that a bus that changes between reads and writes loses clocks,
// fewer where the turns are short.
func TestTurns(t *testing.T) {
	spec := DDR4At3200()
	spec.Mapping = "rorabacobgch"
	rw := saturated(t, spec, "rw")
	require.Greater(t, saturated(t, spec, "seq").AchievedGBs, 1.1*rw.AchievedGBs)
	require.Greater(t, rw.Counters.Drains, uint64(0))
	short := spec
	short.Timing.WTRS, short.Timing.WTRL = 1, 1
	require.Greater(t, saturated(t, short, "rw").AchievedGBs, rw.AchievedGBs)
}

// TestMetamorphic: more banks, more queues, shorter times never make a stream
// slower.
func TestMetamorphic(t *testing.T) {
	base := saturated(t, DDR4At3200(), "rand").AchievedGBs
	for name, change := range map[string]func(s *Spec){
		"banks":   func(s *Spec) { s.Banks *= 2 },
		"groups":  func(s *Spec) { s.Groups *= 2 },
		"ranks":   func(s *Spec) { s.Ranks *= 2 },
		"queues":  func(s *Spec) { s.ReadQueue *= 2 },
		"ccd":     func(s *Spec) { s.Timing.CCDL = s.Timing.CCDS },
		"rp":      func(s *Spec) { s.Timing.RP /= 2 },
		"faw":     func(s *Spec) { s.Timing.FAW /= 2 },
		"refresh": func(s *Spec) { s.Timing.RFC /= 2 },
	} {
		s := DDR4At3200()
		change(&s)
		require.GreaterOrEqual(t, saturated(t, s, "rand").AchievedGBs, 0.99*base, name)
	}
}

// TestEveryReadReturnsOnce drives a channel at random. The clock in which something
// can happen next must not be missed: a channel that leaves clocks out does the
// same as one that does not.
func TestEveryReadReturnsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := DDR4At3200()
		spec.Ranks = 1 << rapid.IntRange(0, 2).Draw(rt, "ranks")
		spec.Groups = 1 << rapid.IntRange(0, 2).Draw(rt, "groups")
		spec.Banks = 1 << rapid.IntRange(0, 2).Draw(rt, "banks")
		spec.BankQueue = rapid.IntRange(1, 8).Draw(rt, "bank queue")
		spec.WriteQueue = rapid.IntRange(9, 20).Draw(rt, "write queue")
		spec.Timing.REFI = rapid.IntRange(4000, 8000).Draw(rt, "refi")
		span := rapid.SampledFrom([]int{4, 64, 1 << 20}).Draw(rt, "lines")
		layout := spec.Layout()
		steps := rapid.SliceOfN(rapid.IntRange(0, 1<<30), 1, 300).Draw(rt, "steps")
		run := func(skip bool) (log []string) {
			open := map[uint64]bool{}
			c := NewChannel(&spec, func(now Time, id uint64) {
				require.True(rt, open[id])
				delete(open, id)
				log = append(log, fmt.Sprint(id, "@", now))
			})
			until := Time(0)
			advance := func() {
				for c.Clock() < until {
					if skip {
						c.SkipTo(min(c.Next(), until))
						if c.Clock() == until {
							break
						}
					}
					c.Tick()
				}
			}
			for i, step := range steps {
				write := step&3 == 0
				if step&4 == 0 {
					until += Time(step >> 3 % 64)
				} else {
					until++
				}
				advance()
				a := uint64(step>>5%span) * LineBytes
				if !c.Accepts(write) {
					continue
				}
				if !write {
					open[uint64(i)] = true
				}
				c.Add(a, layout.Of(a), write, uint64(i))
			}
			until += 20_000
			advance()
			require.Empty(rt, open)
			return log
		}
		require.Equal(rt, run(false), run(true))
	})
}

func TestLayout(t *testing.T) {
	spec := DDR4At3200()
	spec.Channels = 4
	for _, mapping := range []string{"rorababgcoch", "rorabacobgch", "rochrababgco", "rorababgcoch-xor", "rochrababgco-xor"} {
		spec.Mapping = mapping
		require.NoError(t, spec.Validate())
		l := spec.Layout()
		// Lines of a whole set of rows lie in different places.
		seen := map[Place]bool{}
		for i := range uint64(4 * 2 * 16 * 128 * 2) {
			seen[l.Of(LineBytes*i)] = true
		}
		require.Len(t, seen, 4*2*16*128*2)
	}
	spec.Mapping = "rorababgcoch"
	l := spec.Layout()
	require.Equal(t, Place{Channel: 1}, l.Of(64))
	require.Equal(t, Place{Column: 1}, l.Of(256))
	require.Equal(t, Place{Group: 1}, l.Of(256*128))
	require.Equal(t, Place{Row: 1}, l.Of(256*128*32))
}

// TestHashed has a row in one bank, and lines that lie a power of two apart in all banks,
// which meet in one without the hash.
func TestHashed(t *testing.T) {
	spec := DDR4At3200()
	banks := func(distance uint64) int {
		l, seen := spec.Layout(), map[Place]bool{}
		for i := range uint64(32) {
			p := l.Of(i * distance)
			p.Row, p.Column = 0, 0
			seen[p] = true
		}
		return len(seen)
	}
	for _, rows := range []uint64{1, 2, 8, 32, 256} {
		distance := rows * 128 * 32 * LineBytes
		spec.Mapping = "rorababgcoch"
		require.Equal(t, 1, banks(distance))
		spec.Mapping = "rorababgcoch-xor"
		require.Equal(t, 32, banks(distance))
	}
	require.Equal(t, 1, banks(LineBytes))
	// Row 33 is folded to 0, row 34 to 3: bank group 3.
	l := spec.Layout()
	require.Equal(t, Place{Row: 33}, l.Of(33*128*32*LineBytes))
	require.Equal(t, Place{Row: 34, Group: 3}, l.Of(34*128*32*LineBytes))
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(s *Spec){
		"channels of 3":            func(s *Spec) { s.Channels = 3 },
		"mapping \"rorarabgcoch\"": func(s *Spec) { s.Mapping = "rorarabgcoch" },
		"and -xor behind":          func(s *Spec) { s.Mapping = "rorababgcoch-xo" },
		"mapping \"ro\"":           func(s *Spec) { s.Mapping = "ro" },
		"timing cl of 0":           func(s *Spec) { s.Timing.CL = 0 },
		"refi of 1000":             func(s *Spec) { s.Timing.REFI = 1000 },
		"clock_ns":                 func(s *Spec) { s.Timing.ClockNs = 0 },
		"within a bank group":      func(s *Spec) { s.Timing.CCDL = 1 },
		"drain_above of 40":        func(s *Spec) { s.DrainAbove = 40 },
	} {
		s := DDR4At3200()
		change(&s)
		require.ErrorContains(t, s.Validate(), want)
	}
	e := Experiment{Spec: DDR4At3200(), Pattern: "zigzag", Arrival: "even", Load: 1, Window: 1}
	require.ErrorContains(t, e.Validate(), `pattern "zigzag"`)
}

// TestDRAMsim3 compares a share of the points of DRAMsim3, short windows first; the
// command `bitsched reference` compares all. Latency within a hundredth: the model
// executes the same mechanisms.
func TestDRAMsim3(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "..", "..", "shared", "data", "timing", "dram_latency_load.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the latencies of DRAMsim3 are not at ../shared/data/timing")
	}
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.TrimSuffix(s, "(saturating)"), 64)
		require.NoError(t, err)
		return v
	}
	for i, row := range rows[1:] {
		if i%12 != 0 || row[6] == "closed1" {
			continue
		}
		spec := DDR4At3200()
		if row[1] == "2400" {
			spec = DDR4At2400()
		}
		spec.Channels, spec.Mapping = int(number(row[3])), row[4]
		e := Experiment{Spec: spec, Pattern: row[5], Arrival: row[6], Load: number(row[7]), Warmup: DefaultWarmup, Window: Time(number(row[19]))}
		m, err := e.Run(context.Background())
		require.NoError(t, err)
		require.InEpsilon(t, number(row[9]), m.AchievedGBs, 0.02, row[0])
		if row[11] != "" {
			require.InEpsilon(t, number(row[11]), m.Latency, 0.01, row[0])
			require.InDelta(t, number(row[14]), m.P50, 1, row[0])
		}
	}
}

func BenchmarkRandom(b *testing.B) {
	e := Experiment{Spec: DDR4At3200(), Pattern: "rand", Arrival: "bern", Load: 0.7, Window: Time(b.N)}
	if _, err := e.Run(context.Background()); err != nil {
		b.Fatal(err)
	}
}
