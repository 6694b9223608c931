package sparse

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestColumn lets pairs go up and down a TSV column: none is lost, each takes a cycle
// a segment, and no segment carries two pairs in a cycle.
func TestColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.IntRange(2, 6).Draw(t, "layers")
		r := newRunnerOn(context.Background(), &Placement{Matrix: &matrix.Matrix{Rows: 1, Cols: 1}, RowFirst: make([]uint32, layers*2+1), ColFirst: make([]uint32, layers*2+1), Base: make([]int64, layers*2+1), OffBase: make([]int64, layers*2+1)},
			Semiring{}, Config{Machine: small(layers, 1, 2), Threads: 1})
		n := r.net
		n.reset()
		count := rapid.IntRange(1, 40).Draw(t, "pairs")
		from := make([]int, count)
		for k := range count {
			from[k] = rapid.IntRange(0, layers-1).Draw(t, "from")
			ready := int64(rapid.IntRange(0, 20).Draw(t, "ready"))
			to := rapid.IntRange(-1, layers-1).Draw(t, "to")
			d, layer := 0, uint8(to)
			switch {
			case to < 0 || to == from[k]:
				layer, d = toLogicLayer, 1
			case to < from[k]:
				d = 1
			}
			n.columns[0].queue[d][from[k]].push(newFlit(uint32(k), 0, ready, 0, layer, 0))
			n.note(from[k], 0)
		}
		for at := int64(0); at < 64*20; at += n.window {
			n.tsvs(at, at+n.window)
		}
		busy := map[[2]int64]bool{} // segment and direction, cycle
		seen := 0
		travel := func(f flit, to int) {
			seen++
			at, end := from[f.idx()]+1, to+1 // the logic layer is 0
			step, way := 1, int64(0)
			if end < at {
				step, way = -1, 1000
			}
			cycle := f.ready()
			for p := end; p != at; p -= step {
				key := [2]int64{int64(min(p, p-step)) + way, cycle}
				require.False(t, busy[key], "two pairs on segment %d in cycle %d", key[0], cycle)
				busy[key] = true
				cycle--
			}
		}
		for l := range layers {
			q := &n.stations[l].direct
			for k := range q.size() {
				require.Equal(t, l, q.at(k).layer())
				travel(*q.at(k), l)
			}
		}
		for i := range n.logic[0] {
			a := &n.logic[0][i]
			travel(a.f.from(a.at), -1)
		}
		require.Equal(t, count, seen)
		require.EqualValues(t, len(busy), n.tsvH[0])
	})
}

// fault is a change of the program that its checks must notice.
type fault struct {
	name, file, old, new string
}

// faults are mutants of the machine, its programs, links, placement and checks.
var faults = []fault{
	{"lost pair", "net.go", "	s.pairs = append(s.pairs, f.pair)", "	if f.idx()%7 != 3 {\n		s.pairs = append(s.pairs, f.pair)\n	}"},
	{"pair twice", "net.go", "	s.pairs = append(s.pairs, f.pair)", "	s.pairs = append(s.pairs, f.pair)\n	if f.idx()%7 == 3 {\n		s.pairs = append(s.pairs, f.pair)\n	}"},
	{"pair goes to the wrong bank", "spu.go", "r.homes[p.owner.of(i)]", "r.homes[(p.owner.of(i)+r.pairs)%len(r.homes)]"},
	{"pair with another value", "spu.go", "port{flit: newFlit(idx, val, r.link(u.cycles), s, to.layer,", "port{flit: newFlit(idx, val^1, r.link(u.cycles), s, to.layer,"},
	{"hop not counted", "net.go", "					hops += int64(h)", "					hops += int64(h) - 1"},
	{"slot left a cycle late", "net.go", "freed[(t+int64(h))&63]", "freed[(t+int64(h)+1)&63]"},
	{"longer way round", "net.go", "	d = int(uint(n.banks-2*h-from&1) >> 63)", "	d = 1 - int(uint(n.banks-2*h-from&1)>>63)"},
	{"occupied slot granted", "net.go", "rotate(want, turn, k) &^ occupied", "rotate(want, turn, k)"},
	{"two pairs on a segment of a column", "net.go", "if was := &col.slot[d][slot&127]; *was == slot {", "if was := &col.slot[d][slot&127]; *was == slot && slot < 0 {"},
	{"slot of the line taken twice", "net.go", "			st.lastA = a\n", "			st.lastA = a - 1\n			a--\n"},
	{"dispatcher overflows", "net.go", "if reserved[to] >= n.cap {", "if reserved[to] >= n.cap+5 {"},
	{"pair down lost", "net.go", "		r.down(a.f)\n", "		if a.f.idx() != 2 {\n			r.down(a.f)\n		}\n"},
	{"clean indicator lost", "spu.go", "sends := old == cleanValue && v != cleanValue && r.checkClean", "sends := old == cleanValue && v != cleanValue && r.checkClean && i%5 != 0"},
	{"clean indicator not appended", "spu.go", "if r.checkClean && (old == clean || value == clean) {", "if r.checkClean && old == clean {"},
	{"replica not reduced", "run.go", "			r.logicAcc(i, r.rep[int64(s)*n+int64(i)])", "			if s != 1 {\n				r.logicAcc(i, r.rep[int64(s)*n+int64(i)])\n			}"},
	{"replica not cleaned", "spu.go", "	r.postDown(s, u, uint32(next), r.rep[at])\n	r.rep[at] = r.ring.Clean", "	r.postDown(s, u, uint32(next), r.rep[at])"},
	{"replica not marked as touched", "spu.go", "			if old == cleanValue && v != cleanValue {\n				if len(r.touched", "			if old == cleanValue && v != cleanValue && i != 1 {\n				if len(r.touched"},
	{"output not cleaned", "spu.go", "		r.out[i] = r.ring.Clean\n	}\n	r.cleanLen[s] = 0", "		if i%3 != 0 {\n			r.out[i] = r.ring.Clean\n		}\n	}\n	r.cleanLen[s] = 0"},
	{"frontier entry at the wrong SPU", "app.go", "	s := ownerOf(r.p.ColFirst, c)\n	r.setFrontier(s, c, value)", "	s := (ownerOf(r.p.ColFirst, c) + 1) % len(r.spus)\n	r.setFrontier(s, c, value)"},
	{"visited vertices come again", "spu.go", "		if now == old {", "		if now == old && i%4 != 1 {"},
	{"last nonzero of a column left out", "spu.go", "u.k, u.end, u.f = u.nk, u.nend, u.nf", "u.k, u.end, u.f = u.nk, max(u.nk+1, u.nend-1), u.nf"},
	{"product counted, not added", "spu.go", "		r.out[i] = acc(accOp, cleanValue, old, v)\n			u.local++", "		if i%11 != 0 {\n				r.out[i] = acc(accOp, cleanValue, old, v)\n			}\n			u.local++"},
	{"last dispatched pair left out", "run.go", "				hops += int64(q) + 1\n				r.receive(s, &state[q], i, uint32(e))", "				hops += int64(q) + 1\n				if i%9 != 4 {\n					r.receive(s, &state[q], i, uint32(e))\n				}"},
	{"row switch not counted", "spu.go", "		w.row, w.dirty = row, false\n		*loads++", "		w.row, w.dirty = row, false"},
	{"row cycle of a miss too short", "spu.go", "t.miss = append(t.miss, max(t.row, s))", "t.miss = append(t.miss, max(t.row-1, s))"},
	{"shift a cycle too long", "spu.go", "t.hit = append(t.hit, max(0, s-1))", "t.hit = append(t.hit, s)"},
	{"dirty row not stored", "spu.go", "	if dirty {\n		*loads++\n		return t.row", "	if dirty {\n		return t.row"},
	{"port not waited for", "spu.go", "		cycles = max(cycles, free) + 1 // test, which sends", "		cycles++ // test, which sends"},
	{"link cycle rounded down", "run.go", "return r.toLink.of(c, r.toLink.den-1)", "return r.toLink.of(c, 0)"},
	{"long nonzero at the wrong SPU", "place.go", "					s = p.owner.of(r)\n				} else", "					s = (p.owner.of(r) + 1) % spus\n				} else"},
	{"nonzero placed twice", "place.go", "				p.Idx[at] = p.RowTo[m.Idx[k]]\n				if p.Val", "				p.Idx[at] = p.RowTo[m.Idx[max(m.Ptr[old], k-1)]]\n				if p.Val"},
	{"long entries not broadcast", "app.go", "		r.longFront = append(r.longFront, uint64(c)<<32|uint64(value))\n		return\n	}\n	s := ownerOf", "		return\n	}\n	s := ownerOf"},
	{"saturating sum wraps", "semiring.go", "		if s := f + a; s >= f {", "		if s := f + a; s >= f || s < 1000 {"},
	{"round begins before pairs have landed", "net.go", "				still = still || n.direct[l] != 0", "				still = still || n.direct[l] == 1<<63"},
	{"step of a merge not counted", "rows.go", "cycles = rows*(m+5) +", "cycles = rows*(m+4) +"},
	{"match of a merge lost", "rows.go", "				matches[s]++\n", "				if i%13 == 5 {\n					continue\n				}\n				matches[s]++\n"},
	{"dirty row of a merge left for nothing", "rows.go", "		cycles += (up(rows) - 1) * t.row\n", "		cycles += 0 * t.row\n"},
	{"stream of a dispatcher a cycle late", "run.go", "return max(row+j, row*(j/fill+1)+j%fill)", "return max(row+j, row*(j/fill+1)+j%fill) + 1"},
	{"stream word by word too fast", "run.go", "return r.link(2*(j+1) + r.time.row*(j/fill+1))", "return r.link(2*j + r.time.row*(j/fill+1))"},
	{"stream into a row that was not loaded", "stream.go", "		loads++ // loaded with the latches, when the step is launched\n", "		loads += 0\n"},
	{"stream does not wait for the row before", "stream.go", "last = max(last, n.paced(full-begun-1)+1+n.rowLink)", "last = max(last, n.paced(full-begun-1)+1)"},
	{"received pairs overflow", "run.go", "if counts[q]++; counts[q] >= r.recvCap[s] && j+1 < len(list) {", "if counts[q]++; counts[q] > 4*r.recvCap[s] && j+1 < len(list) {"},
}

// TestMutants builds the package with each fault in turn, and runs the tests that
// execute kernels: each must fail. It takes minutes of CPU time: BITSCHED_MUTANTS=1, or
// part of their names.
func TestMutants(t *testing.T) {
	dir, err := filepath.Abs(".")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range faults {
		text, err := os.ReadFile(f.file)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), f.old), "%s: the place of the fault", f.name)
		require.False(t, names[f.name], f.name)
		names[f.name] = true
	}
	require.GreaterOrEqual(t, len(faults), 25)
	if os.Getenv("BITSCHED_MUTANTS") == "" {
		t.Skip("BITSCHED_MUTANTS is not set")
	}
	var survived []string
	only := os.Getenv("BITSCHED_MUTANTS")
	for _, f := range faults {
		if only != "1" && !strings.Contains(f.name, only) {
			continue
		}
		text, err := os.ReadFile(f.file)
		require.NoError(t, err)
		tmp := t.TempDir()
		file := filepath.Join(tmp, f.file)
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), f.old, f.new, 1)), 0o600))
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, f.file): file}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(tmp, "overlay.json"), overlay, 0o600))
		binary := filepath.Join(tmp, "mutant.test")
		build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", filepath.Join(tmp, "overlay.json"), "-o", binary, ".")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s does not build: %s", f.name, out)
		run := exec.Command(binary, "-test.run", "^(TestApps|TestLaws|TestRounds|TestRoundOnColumn|TestSaturated|TestReceived|TestScatter|TestRingAgainstObjects|TestLine|TestColumn|TestWays|TestTraffic|TestRows|TestRandom)$", "-test.timeout", "120s", "-test.failfast", "-rapid.checks=60", "-rapid.nofailfile", "-rapid.shrinktime=0s")
		out, err = run.CombinedOutput()
		if err == nil {
			survived = append(survived, f.name)
			fmt.Printf("SURVIVED %s\n", f.name)
			continue
		}
		fmt.Printf("caught   %-40s %s\n", f.name, firstReason(string(out)))
	}
	require.Empty(t, survived)
}

// firstReason is what the first test that failed says.
func firstReason(out string) string {
	for line := range strings.Lines(out) {
		if i := strings.Index(line, "check failed"); i >= 0 {
			return strings.TrimSpace(line[i:])
		}
	}
	for line := range strings.Lines(out) {
		if s := strings.TrimSpace(line); strings.HasPrefix(s, "--- FAIL") || strings.HasPrefix(s, "panic:") {
			return s
		}
	}
	return "fails"
}
