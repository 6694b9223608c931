package reproduce

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/results"
	"github.com/bitsched/bitsched/system/fused"
)

func TestEntriesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Entries {
		require.False(t, seen[e.ID], e.ID)
		seen[e.ID] = true
		require.Regexp(t, `^[a-z]+:[a-z0-9-]+$`, e.ID)
		require.NotEmpty(t, e.Title, e.ID)
		require.NotEmpty(t, e.Paper, e.ID)
		require.NotEmpty(t, e.Doc, e.ID)
		require.NotNil(t, e.Run, e.ID)
		claims := map[string]bool{}
		for _, c := range e.Claims {
			key := c.Name + string(c.Only) + c.Reading
			require.False(t, claims[key], "%s: %s", e.ID, c.Name)
			claims[key] = true
			require.NotEmpty(t, c.Section, "%s: %s", e.ID, c.Name)
			require.True(t, c.Points || c.Paper != 0, "%s: %s: a share of 0", e.ID, c.Name)
		}
		found, err := Find(e.ID)
		require.NoError(t, err)
		require.Equal(t, []*Entry{e}, found)
	}
	all, err := Find("all")
	require.NoError(t, err)
	require.Len(t, all, len(Entries))
	some, err := Find("masim:all")
	require.NoError(t, err)
	require.Len(t, some, len(masimEntries))
	for _, name := range []string{"", "masim:", "x", "mas", "masim:table9"} {
		_, err = Find(name)
		require.ErrorIs(t, err, ErrUnknown, name)
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		claim Claim
		ours  float64
		want  Verdict
		off   float64
	}{
		{Claim{Paper: 100, Tolerance: 0.2}, 119, Reproduced, 0.19},
		{Claim{Paper: 100, Tolerance: 0.2}, 121, Differs, 0.21},
		{Claim{Paper: 100, Tolerance: 0.2, Better: 1}, 121, BetterThan, 0.21},
		{Claim{Paper: 100, Tolerance: 0.2, Better: 1}, 79, Differs, -0.21},
		{Claim{Paper: 100, Tolerance: 0.2, Better: -1}, 79, BetterThan, -0.21},
		{Claim{Paper: 100, Tolerance: 0.2, Reading: "x"}, 100, UnderReading, 0},
		{Claim{Paper: -69, Tolerance: 10, Points: true}, -60, Reproduced, 9},
		{Claim{Paper: -69, Tolerance: 10, Points: true}, -58, Differs, 11},
		{Claim{Paper: 0, Points: true}, 0, Reproduced, 0},
	} {
		c.claim.Name = "n"
		got := c.claim.compare([]Value{{"m", "", 1, 0}, {"n", "", c.ours, 0}})
		require.Equal(t, c.want, got.Verdict, "%+v", c)
		require.InDelta(t, c.off, *got.Deviation, 1e-9)
		require.Equal(t, c.ours, *got.Ours)
	}
	for _, x := range []struct{ reading, more, want string }{{"", "", ""}, {"a", "", "a"}, {"", "b", "b"}, {"a", "b", "a; b"}} {
		c := Claim{Name: "n", Paper: 1, Reading: x.reading}
		got := c.under(x.more).compare([]Value{{"n", "", 1, 0}})
		require.Equal(t, x.want, got.Reading)
		require.Equal(t, x.want != "", got.Verdict == UnderReading)
		require.Equal(t, x.reading, c.Reading)
	}
	c := Claim{Name: "n", Paper: 1}
	require.Equal(t, NotMeasured, c.compare(nil).Verdict)
}

// TestMakeKeeps counts runs: results are kept for the same entry, sizes, inputs, seed
// and version, and for nothing else.
func TestMakeKeeps(t *testing.T) {
	runs := 0
	e := &Entry{ID: "t:x", Inputs: []string{"d/*.txt"}, Claims: []Claim{{Name: "v", Section: "1", Paper: 2, Tolerance: 0.5}, {Name: "w", Section: "1", Paper: 2, Only: PaperSizes}},
		Run: func(_ context.Context, env *Env) (*Measured, error) {
			runs++
			text, err := os.ReadFile(env.File("d/a.txt"))
			m := &Measured{}
			m.Add("v", "", float64(len(text)))
			return m, err
		}}
	data := t.TempDir()
	env := &Env{Size: Small, Data: data, Seed: 1}
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	var missing *MissingError
	_, err = e.Make(t.Context(), env, store, "1", false)
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "t:x needs d/*.txt, which is not in")
	_, err = e.Make(t.Context(), &Env{}, store, "1", false)
	require.ErrorContains(t, err, "expected a folder that has it as --data")
	require.NoError(t, os.MkdirAll(filepath.Join(data, "d"), 0o777))
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(data, "d", "a.txt"), []byte(text), 0o600))
	}
	write("ab")
	made := func(wantRuns int, env *Env, version string, fresh bool) *Report {
		r, err := e.Make(t.Context(), env, store, version, fresh)
		require.NoError(t, err)
		require.Equal(t, wantRuns, runs)
		return r
	}
	first := made(1, env, "1", false)
	require.Len(t, first.Comparisons, 1)
	require.Equal(t, Reproduced, first.Comparisons[0].Verdict)
	kept := made(1, env, "1", false)
	require.True(t, kept.Kept)
	kept.Kept = false
	require.Equal(t, first, kept)
	made(2, env, "1", true)
	made(3, env, "2", false)
	seeded := *env
	seeded.Seed = 2
	made(4, &seeded, "1", false)
	paper := *env
	paper.Size = PaperSizes
	require.Len(t, made(5, &paper, "1", false).Comparisons, 2)
	write("abcd")
	require.Equal(t, Differs, made(6, env, "1", false).Comparisons[0].Verdict)

	broken := &Entry{ID: "t:y", Run: func(context.Context, *Env) (*Measured, error) { return nil, errors.New("no") }}
	_, err = broken.Make(t.Context(), env, store, "1", false)
	require.ErrorContains(t, err, "reproduce: t:y: no")
}

// TestSmallNetlists makes the entries that take seconds, where the inputs are.
func TestSmallNetlists(t *testing.T) {
	data := filepath.Join("..", "..", "..", "shared", "data")
	if _, err := os.Stat(filepath.Join(data, "masim", "rows.txt")); err != nil {
		t.Skip("needs shared/data/masim")
	}
	e, err := Find("masim:table1")
	require.NoError(t, err)
	r, err := e[0].Make(t.Context(), &Env{Size: Small, Data: data}, nil, "", false)
	require.NoError(t, err)
	require.Equal(t, Reproduced, r.Comparisons[0].Verdict)

	m, err := masimComparison(t.Context(), &Env{Size: Small, Data: data, Seed: 1, Threads: 1}, []string{"masim", "date24"}, []string{"int2float", "router"})
	require.NoError(t, err)
	require.Len(t, m.Tables[0].Rows, 2)
	for _, v := range m.Values {
		if strings.HasPrefix(v.Name, "copies less than date24") {
			require.Greater(t, v.Value, 30.0)
		}
	}
}

// TestPartsAreKept stops an entry after its first part: the next call measures the
// second alone. What has failures is measured again.
func TestPartsAreKept(t *testing.T) {
	measured := map[string]int{}
	stop := true
	e := &Entry{ID: "t:z", Run: func(_ context.Context, env *Env) (*Measured, error) {
		m := &Measured{}
		for _, name := range []string{"a", "b"} {
			var v float64
			err := env.kept(&v, func() error {
				if name == "b" && stop {
					return errors.New("stopped")
				}
				measured[name]++
				v = float64(len(measured))
				return nil
			}, "t", name)
			if err != nil {
				return nil, err
			}
			m.Add(name, "", v)
		}
		if measured["b"] == 1 {
			m.Failed = []string{"b"}
		}
		return m, nil
	}}
	store, err := results.Open(t.TempDir())
	require.NoError(t, err)
	env := &Env{Size: Small, Seed: 1}
	_, err = e.Make(t.Context(), env, store, "1", false)
	require.ErrorContains(t, err, "stopped")
	stop = false
	for range 2 { // a result with failures is not kept, its parts are
		r, err := e.Make(t.Context(), env, store, "1", false)
		require.NoError(t, err)
		require.False(t, r.Kept)
		require.Equal(t, []Value{{"a", "", 1, 0}, {"b", "", 2, 0}}, r.Values)
		require.Equal(t, map[string]int{"a": 1, "b": 1}, measured)
	}
	_, err = e.Make(t.Context(), env, store, "2", false)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 2, "b": 2}, measured)
	_, err = e.Make(t.Context(), env, store, "2", true)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 3, "b": 3}, measured)
}

// TestBest holds means to workloads that ran in all configurations, and to the fastest
// design of each.
func TestBest(t *testing.T) {
	var b best
	for _, r := range []struct {
		workload, kernel, config string
		cycles                   int64
		traffic                  float64
	}{
		{"a", "a", "base", 800, 100}, {"a", "a", "inf-s", 100, 10},
		{"b", "b", "base", 100, 80}, {"b", "b2", "base", 400, 100}, {"b", "b", "inf-s", 90, 100}, {"b", "b2", "inf-s", 50, 40},
		{"c", "c", "base", 1000, 100},
	} {
		b.add(r.workload, r.kernel, r.config, &infsPart{Cycles: r.cycles, Data: r.traffic})
	}
	names := b.whole([]string{"base", "inf-s"})
	require.Equal(t, []string{"a", "b"}, names)
	require.InDelta(t, 4, b.over(names, "inf-s", "base"), 1e-9)                        // of 8 and 2
	require.InDelta(t, 70, b.saved(names, "inf-s", "base", (*infsPart).traffic), 1e-9) // of 90 and 50 %
	require.Equal(t, "b2", b.which[[2]string{"b", "inf-s"}])
	require.Equal(t, "-", b.speedup("c", "inf-s", b.of("c", "base")))
	require.Equal(t, names, b.inTime([]string{"a", "b", "c"}, "inf-s", "base"))
	b.add("a", "a2", "inf-s", &infsPart{Cycles: 50, Sampled: true})
	require.Equal(t, []string{"b"}, b.inTime([]string{"a", "b", "c"}, "inf-s", "base"))
	require.Equal(t, []string{"a", "b", "c"}, b.inTime([]string{"a", "b", "c"}, "base"))
}

// TestRegionRows says where regions ran, and why not in memory.
func TestRegionRows(t *testing.T) {
	of := func(r ...fused.RegionReport) *ownPart { return &ownPart{Regions: r} }
	rows := regionRows("k", map[string]*ownPart{
		"inf-s": of(fused.RegionReport{Name: "k.1", Reached: 2, InMemory: 2}, fused.RegionReport{Name: "k.2", Reached: 4, Why: "no room"}),
		"in-l3": of(fused.RegionReport{Name: "k.1", Reached: 2, Near: 2}, fused.RegionReport{Name: "k.2", Reached: 4, Why: "no room"}),
		"auto":  of(fused.RegionReport{Name: "k.1", Reached: 2, InMemory: 1, Against: 1}),
	})
	require.Equal(t, [][]string{
		{"k", "k.1", "0 of 2", "2 of 2", "1 of 2", "in-l3: it needs streams near the memory; auto: threads were faster"},
		{"k", "k.2", "0 of 4", "0 of 4", "-", "in-l3: no room; inf-s: no room"},
	}, rows)
	require.Empty(t, regionRows("k", map[string]*ownPart{"base": of()}))
}

// TestSmallEntries makes an entry of Infinity Stream that takes no time.
func TestSmallEntries(t *testing.T) {
	e, err := Find("infs:eq1")
	require.NoError(t, err)
	r, err := e[0].Make(t.Context(), &Env{Size: Small, Seed: 1}, nil, "", false)
	require.NoError(t, err)
	for _, c := range r.Comparisons {
		require.Equal(t, Reproduced, c.Verdict, c.Name)
	}
	require.Equal(t, "128.0", r.Tables[0].Rows[0][4])
}
