package multicore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/sram/cost"
	"github.com/bitsched/bitsched/system/machine"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/uop"
)

const scaleC = `#include "bitsched.h"
void scale(int n, const int A[n], int B[n])
{
	inf_array(A, n); inf_array(B, n);
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i] = 3 * A[i] + B[i];
}
`

const scaleN = 3000

func scale(t *testing.T) (*Program, Options) {
	g, err := cfront.CompileWhole(context.Background(), "scale.c", scaleC, cfront.Options{})
	require.NoError(t, err)
	m := stream.Memory{}
	for _, a := range g.Arrays {
		for i := range scaleN {
			m[a.Name] = append(m[a.Name], scalar.FromInt(a.Type, int64(i)))
		}
	}
	machine, err := tile.LoadMachine("nsc-small")
	require.NoError(t, err)
	return &Program{Graph: g, Memory: m, Args: stream.Args{Symbols: map[string]int64{"n": scaleN}}}, Options{Machine: machine, Threads: 4}
}

// begin makes a runner that has not run.
func begin(t *testing.T) *runner {
	p, opt := scale(t)
	return runnerOf(t, p, opt)
}

func runnerOf(t *testing.T, p *Program, opt Options) *runner {
	spec, err := machine.Of(opt.Machine)
	require.NoError(t, err)
	code, err := p.micro(opt.Machine, &opt, firstAddress, nil, nil)
	require.NoError(t, err)
	m, err := machine.New(spec)
	require.NoError(t, err)
	r := &runner{p: p, opt: &opt, spec: spec, code: code, m: m}
	r.load()
	r.sampler = newSampler(r)
	return r
}

// TestStaleMemory changes memory behind the back of the program: before the run a load
// sees it, after the run the comparison with what threads computed does.
func TestStaleMemory(t *testing.T) {
	ctx := context.Background()
	r := begin(t)
	r.m.Memory.Write(r.code.Address("A", 700), []byte{1, 2, 3, 4})
	err := runAll(ctx, []*runner{r})
	require.ErrorIs(t, err, ErrInternal)
	require.ErrorContains(t, err, "found other bytes")

	r = begin(t)
	require.NoError(t, runAll(ctx, []*runner{r}))
	require.NoError(t, r.collect())
	r.p.Memory["B"][1234] ^= 1
	err = r.collect()
	require.ErrorIs(t, err, ErrInternal)
	require.ErrorContains(t, err, "B[1234] is 4936 in the machine's memory")
}

// TestCheck sees an element that is not that of the sequential program.
func TestCheck(t *testing.T) {
	p, opt := scale(t)
	before := clone(p.Memory)
	_, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	v, err := Check(context.Background(), p, clone(before), opt)
	require.NoError(t, err)
	require.Equal(t, Verdict{Arrays: 2, Elements: 2 * scaleN, Equal: 2 * scaleN}, *v)
	p.Memory["B"][5]++
	v, err = Check(context.Background(), p, before, opt)
	require.NoError(t, err)
	require.Equal(t, "B[5] is 21, and 20 in the sequential program", v.First)
}

// TestConservation holds counters against each other: every line that memory reads is a
// miss of the L3, what it writes was written back; bytes times links are flits times
// links; shares of time add up; no part does more than it can.
func TestConservation(t *testing.T) {
	p, opt := scale(t)
	trace := &Trace{}
	opt.Trace = trace
	r, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	var back uint64
	for i := range 64 {
		back += uint64(value(t, r, fmt.Sprintf("system.homes[%d].writtenBack", i)))
	}
	require.Equal(t, r.Levels[2].Misses, r.Memory.Reads)
	require.Equal(t, back, r.Memory.Writes)
	hops := uint64(0)
	for _, c := range r.Traffic {
		hops += c.ByteHops
	}
	require.Equal(t, uint64(value(t, r, "system.mesh.flitHops"))*32, hops)
	share := 0.0
	for _, x := range r.Time {
		share += x.Share
	}
	require.InDelta(t, 1, share, 1e-9)
	for _, b := range r.Bounds {
		if b.Name != "misses" && b.Name != "stores in order" { // which are by mean latencies
			require.LessOrEqual(t, b.Share, 1.0, b.Name)
		}
	}
	require.Positive(t, r.Nearest().Share)
	table, err := cost.Load("chip-22nm")
	require.NoError(t, err)
	e := r.Energy(opt.Machine, table)
	require.Subset(t, e.Includes, []string{"cores", "L1", "L2", "L3", "network", "DRAM", "leakage of cores", "leakage of L1, L2", "leakage of the L3"})
	require.Empty(t, e.LeftOut)
	for _, l := range e.Lines {
		switch l.Name {
		case "L2":
			require.InEpsilon(t, 162*float64(r.Levels[1].Accesses), *l.Energy, 1e-9)
		case "DRAM":
			require.InEpsilon(t, 10400*float64(r.Memory.Reads+r.Memory.Writes), *l.Energy, 1e-9)
		}
	}
	// Slices of a trace are whole: those of a core end where the next begins.
	var b bytes.Buffer
	require.NoError(t, trace.Write(&b))
	var doc struct {
		TraceEvents []struct {
			Ph      string `json:"ph"`
			Tid     int    `json:"tid"`
			Ts, Dur int64
		} `json:"traceEvents"`
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc))
	end := map[int]int64{}
	for _, x := range doc.TraceEvents {
		if x.Ph == "X" {
			require.LessOrEqual(t, end[x.Tid], x.Ts)
			end[x.Tid] = x.Ts + x.Dur
		}
	}
	require.Len(t, doc.TraceEvents[1:3], 2)
	require.Positive(t, end[1], "core 0")
}

func value(t *testing.T, r *Report, name string) float64 {
	require.True(t, r.Stats().Has(name), name)
	return r.Stats().Value(name)
}

// TestWarm: what is in the L3 does not come from memory, and comes sooner.
func TestWarm(t *testing.T) {
	p, opt := scale(t)
	cold, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	p, opt = scale(t)
	opt.Warm = true
	warm, err := Run(context.Background(), p, opt)
	require.NoError(t, err)
	require.Less(t, warm.Cycles, cold.Cycles)
	require.Less(t, warm.Memory.Reads, uint64(40), "lines that threads share")
	require.GreaterOrEqual(t, cold.Memory.Reads, uint64(2*scaleN*4/64))
}

// TestStops: a run that is stopped says how far it came.
func TestStops(t *testing.T) {
	p, opt := scale(t)
	opt.MaxCycles = 3000
	r, err := Run(context.Background(), p, opt)
	require.ErrorIs(t, err, ErrMaxCycles)
	require.NotEmpty(t, r.Stopped)
	require.Positive(t, r.MicroOps)
	require.LessOrEqual(t, r.Cycles, int64(3000))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, opt = scale(t)
	r, err = Run(ctx, p, opt)
	require.ErrorIs(t, err, context.Canceled)
	require.NotEmpty(t, r.Stopped)
	p, opt = scale(t)
	opt.Threads = 65
	_, err = Run(context.Background(), p, opt)
	require.ErrorContains(t, err, "65 threads, expected 1 to 64")
}

// TestEnergyCounts has the counts of a report of two windows' worth of micro-ops, priced
// by a table of ones: lanes, words and arrays by hand.
func TestEnergyCounts(t *testing.T) {
	table, err := cost.Parse(bytes.NewReader([]byte(`name: n
title: t
array: {rows: 256, cols: 256}
values:
  - {what: core.energy, value: 1, unit: pJ, source: s, where: w, confirmed: true}
  - {what: lane-add.energy, value: 1, unit: pJ, source: s, where: w, confirmed: true}
  - {what: lane-multiply.energy, value: 1, unit: pJ, source: s, where: w, confirmed: true}
  - {what: l1.energy, value: 1, unit: pJ, source: s, where: w, confirmed: true}
  - {what: core.power, value: 1, unit: mW, source: s, where: w, confirmed: true}
  - {what: leakage.power, value: 1, unit: mW, source: s, where: w, confirmed: true}
`)), "t.yaml")
	require.NoError(t, err)
	m, err := tile.LoadMachine("infinity-stream-slice") // 4 tiles at 2 GHz, lanes of 512 bits
	require.NoError(t, err)
	report := &Report{MicroOps: 100, Cycles: 2000, Levels: []Level{{Accesses: 40}, {}, {}}}
	report.simd[uop.Load], report.simd[uop.FPAdd], report.simd[uop.FPMul], report.simd[uop.FPFMA], report.simd[uop.Branch] = 10, 3, 4, 5, 7
	lines := func() map[string]float64 {
		energies := map[string]float64{}
		for _, l := range report.Energy(m, table).Lines {
			if l.Energy != nil {
				energies[l.Name] = *l.Energy
			}
		}
		return energies
	}
	e := lines()
	require.InDelta(t, 100, e["cores"], 1e-9)
	require.InDelta(t, 16*(3+5), e["lanes, sums"], 1e-9)
	require.InDelta(t, 16*(4+5), e["lanes, products"], 1e-9)
	require.InDelta(t, 40+7*10, e["L1"], 1e-9)
	require.InDelta(t, 4*1000, e["leakage of cores"], 1e-9)
	require.InDelta(t, 4*1000*float64(m.L1I.Bytes+m.L1D.Bytes+m.L2.Bytes)/8192, e["leakage of L1, L2"], 1e-6)
	require.InDelta(t, 4*1000*float64(m.L3.Ways*m.L3.ArraysPerWay), e["leakage of the L3"], 1e-6)

	report.Sample = &Sampled{Forwarded: 80} // a fifth is in windows
	e = lines()
	require.InDelta(t, 100, e["cores"], 1e-9)
	require.InDelta(t, 5*(40+7*10), e["L1"], 1e-9)
	require.InDelta(t, 4*1000, e["leakage of cores"], 1e-9)
}
