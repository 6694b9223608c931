package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering"
	"github.com/bitsched/bitsched/system"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tile"
)

// traceFile is the part of Chrome's trace events that Perfetto needs.
type traceFile struct {
	DisplayTimeUnit string
	OtherData       map[string]string
	TraceEvents     []traceEvent
}

type traceEvent struct {
	Ph, Name, S string
	Pid, Tid    int
	Ts, Dur     *int64
	Args        struct {
		Name string
		Sort int `json:"sort_index"`
	}
}

// TestTrace reads the trace of a run: every event is complete and on a named track,
// those of a track do not overlap, and they add up to the cycles of the report.
func TestTrace(t *testing.T) {
	ctx := context.Background()
	sizes := map[string]int64{"M": 80, "N": 64, "K": 16}
	k, err := kernels.Get("mm_outer")
	require.NoError(t, err)
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{})
	require.NoError(t, err)
	run := func(limit int) (*system.Report, *system.Trace, traceFile) {
		trace := &system.Trace{Limit: limit}
		m := tile.Default()
		m.L3.ComputeWays, m.L3.ArraysPerWay = 1, 4 // so that banks send to each other
		r, err := system.Run(ctx, p, sizes, nil, system.Options{Machine: m, Tile: lowering.Shape{16, 16}, TimingOnly: true, Trace: trace})
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, trace.Write(&b))
		d := json.NewDecoder(&b)
		d.DisallowUnknownFields()
		var f traceFile
		require.NoError(t, d.Decode(&f))
		return r, trace, f
	}
	report, trace, f := run(0)
	require.Equal(t, "ns", f.DisplayTimeUnit)
	require.Zero(t, trace.Dropped())
	tracks := map[int]string{}
	busy := map[string]int64{}
	last := int64(0)
	byTrack := map[int][]traceEvent{}
	for i, e := range f.TraceEvents {
		require.Equal(t, 1, e.Pid)
		switch e.Ph {
		case "M":
			switch e.Name {
			case "process_name":
				require.Zero(t, i)
				require.Equal(t, "infinity-stream (1 us = 1 cycle)", e.Args.Name)
			case "thread_sort_index":
				require.Contains(t, tracks, e.Tid)
				require.Equal(t, e.Tid, e.Args.Sort)
			default:
				require.Equal(t, "thread_name", e.Name)
				require.NotContains(t, tracks, e.Tid)
				for _, other := range tracks {
					require.NotEqual(t, other, e.Args.Name)
				}
				tracks[e.Tid] = e.Args.Name
			}
		case "X":
			require.Contains(t, tracks, e.Tid, "named before it is used")
			require.NotEmpty(t, e.Name)
			require.NotNil(t, e.Ts)
			require.NotNil(t, e.Dur)
			require.GreaterOrEqual(t, *e.Ts, int64(0))
			require.Positive(t, *e.Dur)
			last = max(last, *e.Ts+*e.Dur)
			name, _, _ := strings.Cut(e.Name, " ")
			busy[tracks[e.Tid]+" "+name] += *e.Dur
			byTrack[e.Tid] = append(byTrack[e.Tid], e)
		default:
			t.Errorf("phase %q", e.Ph)
		}
	}
	for tid, list := range byTrack {
		slices.SortStableFunc(list, func(a, b traceEvent) int { return int(*a.Ts - *b.Ts) })
		for i := 1; i < len(list); i++ {
			require.LessOrEqual(t, *list[i-1].Ts+*list[i-1].Dur, *list[i].Ts, "%s: %s and %s", tracks[tid], list[i-1].Name, list[i].Name)
		}
	}
	require.Equal(t, report.Cycles.Total, last)
	require.Equal(t, map[string]string{"machine": "infinity-stream", "unit": "a microsecond is a cycle", "dropped_events": "0"}, f.OtherData)
	require.Equal(t, []string{"regions", "host", "dram", "bank 00", "bank 01"}, []string{tracks[1], tracks[2], tracks[3], tracks[4], tracks[5]})
	// Regions follow each other, and all else happens while one of them is executed, but
	// for the transfer of results to memory at the end.
	regions := byTrack[1]
	require.Len(t, regions, int(report.Regions))
	for i := 1; i < len(regions); i++ {
		require.Equal(t, *regions[i-1].Ts+*regions[i-1].Dur, *regions[i].Ts)
	}
	for tid, list := range byTrack {
		for _, e := range list {
			if tracks[tid] != "dram" {
				require.True(t, slices.ContainsFunc(regions, func(r traceEvent) bool { return *r.Ts <= *e.Ts && *e.Ts+*e.Dur <= *r.Ts+*r.Dur }), "%s %s", tracks[tid], e.Name)
			}
		}
	}
	require.Equal(t, report.Cycles.JIT, busy["host lower"])
	require.Equal(t, report.Syncs*(2*77+63), busy["host sync"]) // a barrier over 64 banks
	sum := int64(0)
	for name, n := range busy {
		if strings.HasPrefix(name, "dram ") {
			sum += n
		}
	}
	require.Equal(t, report.Cycles.DRAM, sum)
	require.Positive(t, busy["bank 00 fp32.mul"])
	require.Contains(t, busy, "bank 01 xshift")

	_, short, cut := run(10)
	require.Equal(t, int64(events(f)-10), short.Dropped())
	require.Equal(t, 10, events(cut))
}

// TestTraceNear: regions near the memory take no time that is known, and are moments.
func TestTraceNear(t *testing.T) {
	ctx := context.Background()
	sizes := map[string]int64{"N": 100}
	k, err := kernels.Get("vec_add")
	require.NoError(t, err)
	p, err := cfront.Compile(ctx, k.File, k.Source, cfront.Options{Defines: sizes})
	require.NoError(t, err)
	trace := &system.Trace{}
	_, err = system.Run(ctx, p, sizes, nil, system.Options{Machine: tile.Default(), Decide: true, TimingOnly: true, Trace: trace})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, trace.Write(&b))
	var f traceFile
	require.NoError(t, json.Unmarshal(b.Bytes(), &f))
	last := f.TraceEvents[len(f.TraceEvents)-1]
	require.Equal(t, "i", last.Ph)
	require.Equal(t, "t", last.S, "of the track")
	require.Equal(t, "vec_add near the memory, not timed", last.Name)
	require.Zero(t, *last.Ts)
	require.Nil(t, last.Dur)

	// An empty trace is valid too.
	b.Reset()
	require.NoError(t, new(system.Trace).Write(&b))
	require.NoError(t, json.Unmarshal(b.Bytes(), &f))
}

// events is the number of events of a trace that take time.
func events(f traceFile) int {
	n := 0
	for _, e := range f.TraceEvents {
		if e.Ph == "X" {
			n++
		}
	}
	return n
}
