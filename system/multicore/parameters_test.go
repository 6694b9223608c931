package multicore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
)

// everythingC has something for each part of a machine: streams, gathers, chains of
// pointers, branches that depend on data, divisions, atomic updates and strides.
const everythingC = `#include "bitsched.h"
void everything(int n, int m, const float A[n], float B[n], const int I[n], int H[64], float C[n], const int P[m], int W[m][16], double D[n], uint32_t V[n])
{
	inf_array(A, n); inf_array(B, n); inf_array(I, n); inf_array(H, 64); inf_array(C, n); inf_array(P, m); inf_array(W, m, 16); inf_array(D, n); inf_array(V, n);
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i] = A[i] * 2 + B[i];
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		C[i] = A[I[i]] / (A[i] + 2);
		#pragma omp atomic
		H[I[i] & 63] += 1;
		if (A[i] > 0)
			V[i] = V[i] * 3 + I[i] / (i % 7 + 1) + V[i] / (I[i] + 1u) + I[i] / (V[i] % 5 + 2);
	}
	#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		#pragma omp atomic
		H[(I[i] + 1) & 63] += 2;
		C[i] = (C[i] + 1) * (C[i] + 2) * (C[i] + 3) * (C[i] + 4) / (C[i] + 5) + (C[i] + 6) / (C[i] + 7) + (C[i] + 8) / (C[i] + 9) + C[i] * 3 + C[i] * 4 + C[i] * 5 + C[i] * 6;
		V[i] = V[i] / 3 + V[i] / 5 + V[i] / 7 + V[i] / 9 + V[i] / 11 + V[i] * 5 + (V[i] + 1) * (V[i] + 2) * (V[i] + 3);
	}
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		V[i] = (V[i] ^ 5) + (V[i] | 9) + (V[i] ^ 7) + (V[i] & 12) + (V[i] ^ 17) + (V[i] & 9) + (V[i] | 31) + ((V[i] ^ 3) & 11) + ((V[i] ^ 4) & 12) + ((V[i] ^ 5) & 13);
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i] = (B[i] + 1) * (B[i] + 2) + (B[i] + 3) * (B[i] + 4) + (B[i] + 5) * (B[i] + 6) + (B[i] + 7) * (B[i] + 8);
	int p = 0;
	for (int k = 0; k < m; k++) {
		p = P[p];
		W[k][0] = W[k][0] + p;
		W[k][0] = W[k][0] * 3;
	}
	#pragma omp parallel for
	for (int i = 0; i < n; i++)
		D[i] = D[i] * D[i] + 1.0 / (D[i] + 3);
	#pragma omp parallel for
	for (int k = 0; k < 8; k++)
		for (int i = 0; i < m / 8; i++)
			for (int j = 0; j < I[i] % 5; j++)
				W[k * (m / 8) + i][j + 1] = W[k * (m / 8) + i][j] / (j + 1) * 5;
}
`

// everything returns that program with its arguments.
func everything(t testing.TB) func() *multicore.Program {
	const n, m = 1000, 256
	g, err := cfront.CompileWhole(context.Background(), "everything.c", everythingC, cfront.Options{})
	require.NoError(t, err)
	return func() *multicore.Program {
		r := rand.New(rand.NewPCG(1, 2))
		p := &multicore.Program{Graph: g, Memory: stream.Memory{}, Args: stream.Args{Symbols: map[string]int64{"n": n, "m": m}}}
		for _, a := range g.Arrays {
			size := int64(1)
			for _, x := range a.Size {
				v, err := x.Eval(p.Args.Symbols)
				require.NoError(t, err)
				size *= v
			}
			list := make([]scalar.Value, size)
			for i := range list {
				switch {
				case a.Type.Float():
					list[i] = scalar.FromFloat(a.Type, float64(2*r.Float32()-1))
				case a.Name == "P":
					list[i] = scalar.FromInt(a.Type, r.Int64N(m))
				default:
					list[i] = scalar.FromInt(a.Type, r.Int64N(n))
				}
			}
			p.Memory[a.Name] = list
		}
		return p
	}
}

// TestEveryParameter changes parameters of a machine: then a figure of the program that
// has everything changes, or the parameter is one of those on which runs in time do not
// depend, and none does. By default one in 27 is changed, with
// BITSCHED_PARAMETERS=all all are, or with a prefix those that have it.
func TestEveryParameter(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("takes long: go test -tags invariants")
	}
	program := everything(t)
	var bases []*tile.Machine
	for _, set := range []string{
		"core=ooo8 l1d.mshrs=4 dram.timing.refi=1300 tlb.l2.ways=2 tlb.l2.entries=8 tlb.l1.ways=2 tlb.l1.entries=4 memory.page_bytes=4096",
		"core=ooo8 prefetch.l1=none prefetch.l2=none cores.ooo8.fp_simd=4-pipelined dram.reading=total l1d.replacement=lru l2.replacement=lru l3.replacement=lru dram.write_queue=10 dram.bank_queue=2 dram.read_queue=4",
		"core=ooo4 prefetch.l1=stride prefetch.l2=stride prefetch.stride.train_misses=2 prefetch.stride.streams=2 memory.placement=staggered cores.ooo4.stores_in_flight=8 cores.ooo4.fp_simd=4-pipelined cores.ooo4.int_registers=40 cores.ooo4.fp_registers=40 cores.ooo4.units.int_alu.count=1 cores.ooo4.units.int_simd.count=1 cores.ooo4.units.int_alu.cycles=2 cores.ooo4.units.int_simd.cycles=2 cores.ooo4.units.fp_mul.count=1 cores.ooo4.units.fp_alu.count=1",
		"core=io4 cores.io4.units.int_alu.count=1 cores.io4.units.int_simd.count=1 cores.io4.units.int_alu.cycles=2 cores.io4.units.int_simd.cycles=2 cores.io4.units.fp_mul.count=1 cores.io4.units.fp_alu.count=1 prefetch.l1=bingo prefetch.bingo.filter_entries=2 prefetch.bingo.accumulation_entries=2 prefetch.bingo.pattern_entries=16 noc.vcs=1 l3.mshrs=2 l2.mshrs=2 l3.tags_per_cycle=1 tlb.walks_at_a_time=1 memory.page_bytes=4096 tlb.l2.entries=16 tlb.l1.entries=8",
		"core=ooo8 memory.placement=random-4k cores.ooo8.int_registers=40 cores.ooo8.fp_registers=40 cores.ooo8.stores_in_flight=8 l3.interleave_bytes=1024 dram.interleave_bytes=4096 noc.memory_controllers=1 dram.rows=64 dram.lines_per_row=4 dram.hit_limit=1 cores.ooo8.units.int_alu.count=1 cores.ooo8.units.int_simd.count=1 cores.ooo8.units.int_alu.cycles=2 cores.ooo8.units.int_simd.cycles=2 cores.ooo8.units.fp_mul.count=1 cores.ooo8.units.fp_alu.count=1",
	} {
		m := machine(t, "nsc-small", "ooo8")
		m.Mesh.Cols, m.Mesh.Rows = 2, 2
		for _, s := range append([]string{"noc.memory_controllers=2", "l3.ways=2", "l2.bytes=8192", "l1i.ways=8"}, strings.Fields(set)...) {
			path, value, _ := strings.Cut(s, "=")
			require.NoError(t, m.Set(path, value), s)
		}
		bases = append(bases, m)
	}
	figures := func(m *tile.Machine) string {
		r, err := multicore.Run(context.Background(), program(), multicore.Options{Machine: m, Threads: 4, Seed: 1})
		if err != nil {
			require.NotErrorIs(t, err, multicore.ErrInternal)
			return err.Error()
		}
		r.Host = multicore.Host{}
		text, err := json.Marshal(r)
		require.NoError(t, err)
		return string(text)
	}
	before, values := make([]string, len(bases)), make([]map[string]string, len(bases))
	for i, m := range bases {
		values[i] = map[string]string{}
		for _, p := range m.Parameters() {
			values[i][p.Path] = p.Value
		}
		before[i] = figures(m)
	}
	require.Equal(t, before[0], figures(bases[0]))
	only := os.Getenv("BITSCHED_PARAMETERS")
	all := only != ""
	for k, p := range tile.Default().Parameters() {
		if p.Source == "" || !all && k%27 != 0 || all && only != "all" && !strings.HasPrefix(p.Path, only) {
			continue
		}
		changed, tried := "", 0
		for i, base := range bases {
			if c, isCore := strings.CutPrefix(p.Path, "cores."); isCore && !strings.HasPrefix(c, base.Core+".") {
				continue // of a core that it does not have
			}
			for _, v := range others(values[i][p.Path], p) {
				m := *base
				if m.Set(p.Path, v) != nil {
					continue
				}
				tried++
				if figures(&m) != before[i] {
					changed = v
					break
				}
				if !p.Time {
					break
				}
			}
			if changed != "" || !p.Time && tried > 0 {
				break
			}
		}
		if tried == 0 {
			continue
		}
		if all {
			if p.Time != (changed != "") {
				t.Errorf("%s: in time %v, changed %q", p.Path, p.Time, changed)
			}
			continue
		}
		if p.Time {
			require.NotEmpty(t, changed, "%s changes nothing", p.Path)
		} else {
			require.Empty(t, changed, "%s changes figures, expected it not among those that are not modelled in time", p.Path)
		}
	}
}

// others returns values that a parameter may be changed to from one.
func others(value string, p tile.Parameter) []string {
	list := slices.Clone(p.Reading)
	if n, err := strconv.Atoi(value); err == nil {
		for _, v := range []int{4 * n, n / 2, 2 * n, n + 1, n - 1, 1, 8 * n} {
			list = append(list, strconv.Itoa(v))
		}
	} else if x, err := strconv.ParseFloat(value, 64); err == nil {
		list = append(list, fmt.Sprint(2*x), fmt.Sprint(x/2))
	}
	list = append(list, map[string]string{"true": "false", "false": "true"}[value])
	list = append(list, "in", "out", "io4", "ooo4", "ooo8", "gshare", "lru", "brrip", "none", "stride", "robabgracoch", "corners", "edges", "exclusive", "tree", "yx")
	return slices.DeleteFunc(list, func(v string) bool { return v == "" || v == value })
}
