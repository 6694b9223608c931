package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type inner struct {
	Reads  uint64 `desc:"rows read"`
	Writes uint64 `desc:"rows written"`
}

type more struct {
	Signed int64 `desc:"of a type with a sign"`
	Plain  int   `desc:"the same"`
}

type counters struct {
	Hits     uint64       `desc:"requests that found their line"`
	Misses   uint64       `desc:"requests that did not"`
	MSHRFull uint64       `unit:"Cycle" desc:"with no miss register free"`
	DRAM     uint64       `stat:"cycles::dram" unit:"Cycle" desc:"waiting for DRAM"`
	Links    [2]uint64    `parts:"east,west" desc:"flits"`
	Banks    []uint64     `desc:"requests by bank"`
	Latency  Histogram    `unit:"Cycle" desc:"of requests"`
	Size     Distribution `unit:"Byte" desc:"of requests"`
	Queue    Level        `desc:"places in use"`
	Host     float64      `unit:"Second" desc:"of this run"`
	Rows     inner
	More     more   `stat:"."`
	Hidden   uint64 `stat:"-"`
}

func fill(c *counters) {
	c.Hits, c.Misses, c.MSHRFull, c.DRAM, c.Host = 30, 10, 4, 9, 1.5
	c.Links, c.Banks = [2]uint64{3, 4}, []uint64{1, 2, 3}
	for _, v := range []uint64{1, 1, 2, 40} {
		c.Latency.Sample(v)
		c.Size.Sample(v)
	}
	c.Queue.Set(10, 2)
	c.Queue.Set(15, 0)
	c.Rows, c.More = inner{5, 6}, more{7, 8}
}

func TestViews(t *testing.T) {
	r := New()
	var c counters
	r.Register("system.l2[0]", &c)
	r.Formula("system.hitRate", Ratio, "hits of requests", func(s *Snapshot) float64 {
		return s.Value("system.l2[0].hits") / max(1, s.Value("system.l2[0].hits")+s.Value("system.l2[0].misses"))
	})
	before := r.Snapshot(0)
	require.Equal(t, 0.0, before.Value("system.hitRate"), "nothing to divide by")
	fill(&c)
	s := r.Snapshot(20)
	var b strings.Builder
	require.NoError(t, s.WriteText(&b))
	require.Equal(t, `---------- Begin Simulation Statistics ----------
system.l2[0].hits                                          30  # requests that found their line (Count)
system.l2[0].misses                                        10  # requests that did not (Count)
system.l2[0].mshrFull                                       4  # with no miss register free (Cycle)
system.l2[0].cycles::dram                                   9  # waiting for DRAM (Cycle)
system.l2[0].links::east                                    3  # flits (Count)
system.l2[0].links::west                                    4  # flits (Count)
system.l2[0].links::total                                   7  # flits (Count)
system.l2[0].banks::0                                       1  # requests by bank (Count)
system.l2[0].banks::1                                       2  # requests by bank (Count)
system.l2[0].banks::2                                       3  # requests by bank (Count)
system.l2[0].banks::total                                   6  # requests by bank (Count)
system.l2[0].latency::samples                               4  # of requests (Cycle)
system.l2[0].latency::mean                          11.000000  # of requests (Cycle)
system.l2[0].latency::stdev                         19.339080  # of requests (Cycle)
system.l2[0].latency::min                                   1  # of requests (Cycle)
system.l2[0].latency::max                                  40  # of requests (Cycle)
system.l2[0].latency::total                                44  # of requests (Cycle)
system.l2[0].latency::1                                     2  # of requests (Cycle)
system.l2[0].latency::2                                     1  # of requests (Cycle)
system.l2[0].latency::40-43                                 1  # of requests (Cycle)
system.l2[0].size::samples                                  4  # of requests (Byte)
system.l2[0].size::mean                             11.000000  # of requests (Byte)
system.l2[0].size::stdev                            19.339080  # of requests (Byte)
system.l2[0].size::min                                      1  # of requests (Byte)
system.l2[0].size::max                                     40  # of requests (Byte)
system.l2[0].size::total                                   44  # of requests (Byte)
system.l2[0].queue::mean                             0.500000  # places in use (Count)
system.l2[0].queue::max                                     2  # places in use (Count)
system.l2[0].host                                    1.500000  # of this run (Second)
system.l2[0].rows.reads                                     5  # rows read (Count)
system.l2[0].rows.writes                                    6  # rows written (Count)
system.l2[0].signed                                         7  # of a type with a sign (Count)
system.l2[0].plain                                          8  # the same (Count)
system.hitRate                                       0.750000  # hits of requests (Ratio)
---------- End Simulation Statistics   ----------
`, b.String())

	var list []struct {
		Name, Unit, Description string
		Value                   float64
	}
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list, len(r.Stats()))
	for i, d := range list {
		require.Equal(t, r.Stats()[i], Stat{d.Name, d.Unit, d.Description})
		require.Equal(t, s.Value(d.Name), d.Value)
	}

	c.Hits += 10
	require.Equal(t, 30.0, s.Value("system.l2[0].hits"), "a snapshot does not change")
	d := r.Snapshot(40).Sub(s)
	require.Equal(t, 10.0, d.Value("system.l2[0].hits"))
	require.Equal(t, 1.0, d.Value("system.hitRate"), "formulas of differences")
	require.EqualValues(t, 20, d.Cycles())
}

// TestFold adds up components that differ by a number.
func TestFold(t *testing.T) {
	r := New()
	c := make([]counters, 3)
	for i := range c {
		fill(&c[i])
		r.Register(fmt.Sprintf("system.l2[%d]", i), &c[i])
	}
	r.Register("system.l3", new(inner))
	s := r.Snapshot(20)
	f := s.Fold()
	require.Equal(t, 90.0, f.Value("system.l2.hits"))
	require.Equal(t, 21.0, f.Value("system.l2.links"))
	require.Equal(t, 1.5, f.Value("system.l2.queue"), "queues of one machine are one")
	require.EqualValues(t, 40, f.Quantile("system.l2.latency", 1))
	require.True(t, f.Has("system.l3.reads"))
	require.Len(t, f.entries, (len(s.entries)-2)/3+2)
	sum := s.Add(s)
	require.Equal(t, 60.0, sum.Value("system.l2[0].hits"))
	require.Equal(t, 30.0, s.Value("system.l2[0].hits"))
}

func TestNotDescribed(t *testing.T) {
	for text, f := range map[string]func(r *Registry){
		"stats: a.x has no description":                   func(r *Registry) { r.Register("a", &struct{ X uint64 }{}) },
		"stats: a.x is of type int32, expected a counter": func(r *Registry) { r.Register("a", &struct{ X int32 }{}) },
		`stats: group "a b", expected names of letters and digits, separated by dots, each with an index in brackets or none`: func(r *Registry) {
			r.Register("a b", &inner{})
		},
		"stats: group a of int, expected the pointer to a struct": func(r *Registry) { r.Register("a", 1) },
		"stats: a.reads is registered twice": func(r *Registry) {
			r.Register("a", &inner{})
			r.Register("a", &inner{})
		},
		"stats: no stat b": func(r *Registry) { r.Snapshot(0).Value("b") },
		`stats: a.x has 2 parts and names for 3`: func(r *Registry) {
			r.Register("a", &struct {
				X [2]uint64 `parts:"a,b,c" desc:"x"`
			}{})
		},
	} {
		require.PanicsWithValue(t, text, func() { f(New()) })
	}
}

func TestUncapital(t *testing.T) {
	for in, want := range map[string]string{"Hits": "hits", "MSHRFull": "mshrFull", "DRAM": "dram", "NoCFlits": "noCFlits", "L1Hits": "l1Hits", "X": "x"} {
		require.Equal(t, want, uncapital(in))
	}
}

// TestBuckets checks that the buckets are a partition of all values, and as fine as
// they are said to be.
func TestBuckets(t *testing.T) {
	next := uint64(0)
	for i := range bucketOf(math.MaxUint64) + 1 {
		least, most := bucketRange(i)
		require.Equal(t, next, least, i)
		require.Equal(t, i, bucketOf(least))
		require.Equal(t, i, bucketOf(most))
		require.LessOrEqual(t, most-least, least/8)
		next = most + 1
	}
	require.Zero(t, next, "the last bucket ends with the greatest number")
}

// TestHistogram compares with sorted values, and a difference with the histogram of
// what was counted in between.
func TestHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOf(rapid.Uint64Range(0, 1<<20)).Draw(t, "values")
		cut := rapid.IntRange(0, len(values)).Draw(t, "cut")
		var h, early, late Histogram
		for i, v := range values {
			h.Sample(v)
			if i < cut {
				early.Sample(v)
			} else {
				late.Sample(v)
			}
		}
		d := h.sub(&early)
		require.Equal(t, late.Buckets(), d.Buckets())
		require.Equal(t, late.Count(), d.Count())
		require.Equal(t, late.Sum(), d.Sum())
		require.InDelta(t, late.Deviation(), d.Deviation(), 1+late.Deviation()/100)
		early.Add(&late)
		require.Equal(t, h, early)
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		if len(sorted) == 0 {
			require.Zero(t, h.Quantile(0.5))
			return
		}
		require.Equal(t, sorted[0], h.Min())
		require.Equal(t, sorted[len(sorted)-1], h.Max())
		for _, q := range []float64{0, 0.1, 0.5, 0.99, 1} {
			exact := sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
			got := h.Quantile(q)
			require.GreaterOrEqual(t, got, exact)
			require.LessOrEqual(t, got, exact+exact/8)
		}
		var sum, squares float64
		for _, v := range values {
			sum += float64(v)
		}
		mean := sum / float64(len(values))
		for _, v := range values {
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		require.InDelta(t, mean, h.Mean(), 1e-6*mean)
		if len(values) > 1 {
			want := math.Sqrt(squares / float64(len(values)-1))
			require.InDelta(t, want, h.Deviation(), 1e-3*(1+mean))
		}
	})
}

// TestSnapshotsAddUp: differences of consecutive snapshots add up to the last one.
func TestSnapshotsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c counters
		r := New()
		r.Register("x", &c)
		sum := r.Snapshot(0)
		last := sum
		now := int64(0)
		for range rapid.IntRange(1, 5).Draw(t, "snapshots") {
			for range rapid.IntRange(0, 5).Draw(t, "steps") {
				n := rapid.Uint64Range(0, 100).Draw(t, "n")
				now += int64(n % 7)
				c.Hits += n
				c.Links[n%2]++
				c.Latency.Sample(n)
				c.Size.Sample(n)
				c.Queue.Set(now, n%4)
				if n > 50 {
					c.Banks = append(c.Banks, n)
				}
			}
			s := r.Snapshot(now)
			sum = sum.Add(s.Sub(last))
			last = s
		}
		var got, want strings.Builder
		require.NoError(t, sum.WriteText(&got))
		require.NoError(t, last.WriteText(&want))
		require.Equal(t, dropExtremes(want.String()), dropExtremes(got.String()))
	})
}

// dropExtremes takes out the lines of least and greatest values, which differences do not
// know exactly.
func dropExtremes(s string) string {
	var keep []string
	for line := range strings.Lines(s) {
		if !strings.Contains(line, "::min ") && !strings.Contains(line, "::max ") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}

func BenchmarkCount(b *testing.B) {
	var c counters
	New().Register("x", &c)
	for i := range b.N {
		c.Hits++
		c.Latency.Sample(uint64(i & 255))
	}
}

func BenchmarkSnapshot(b *testing.B) {
	r := New()
	for i := range 64 {
		r.Register(fmt.Sprintf("system.cpu[%d]", i), new(counters))
	}
	b.ReportAllocs()
	for range b.N {
		r.Snapshot(0)
	}
}
