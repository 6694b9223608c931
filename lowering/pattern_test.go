package lowering_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bitsched/bitsched/lowering"
)

// numbers expands a text of the form of a pattern by definition.
func numbers(start int, levels ...[2]int) []int {
	set := []int{start}
	for _, l := range levels {
		var next []int
		for i := range l[1] {
			for _, x := range set {
				next = append(next, x+i*l[0])
			}
		}
		set = next
	}
	slices.Sort(set)
	return set
}

func TestPatternText(t *testing.T) {
	for text, want := range map[string]struct {
		canonical string
		set       []int
	}{
		"0":             {"0", []int{0}},
		"7:3:1":         {"7", []int{7}},
		"1:2:2":         {"1:2:2", []int{1, 3}},
		"0:1:4:2:1":     {"0:1:4", numbers(0, [2]int{1, 4})},
		"0:1:4:4:2":     {"0:1:8", numbers(0, [2]int{1, 8})},
		"0:1:2:4:2:8:2": {"0:1:2:4:4", numbers(0, [2]int{1, 2}, [2]int{4, 4})},
		"5:1:3:16:3":    {"5:1:3:16:3", numbers(5, [2]int{1, 3}, [2]int{16, 3})},
		"0:1:2:3:2:9:2": {"0:1:2:3:2:9:2", numbers(0, [2]int{1, 2}, [2]int{3, 2}, [2]int{9, 2})},
	} {
		p, err := lowering.ParsePattern(text)
		require.NoError(t, err, text)
		require.Equal(t, want.canonical, p.String())
		require.Equal(t, want.set, slices.Collect(p.All()), text)
	}
	for text, want := range map[string]string{
		"":                          `lowering: "" in pattern "", expected a number from 0 to 2147483647`,
		"1:2":                       `lowering: pattern "1:2", expected a start and pairs of :stride:count`,
		"-1":                        `lowering: "-1" in pattern "-1", expected a number from 0 to 2147483647`,
		"+1":                        `lowering: "+1" in pattern "+1", expected a number from 0 to 2147483647`,
		"0:x:1":                     `lowering: "x" in pattern "0:x:1", expected a number from 0 to 2147483647`,
		"0:0:2":                     `lowering: stride or count 0 in pattern "0:0:2", expected at least 1`,
		"0:1:0":                     `lowering: stride or count 0 in pattern "0:1:0", expected at least 1`,
		"0:1:4:3:2":                 `lowering: stride 3 in pattern "0:1:4:3:2", expected more than the 3 that the levels before it span`,
		"1:2147483647:2":            `lowering: pattern "1:2147483647:2" goes beyond 2147483647`,
		"0:1:2:3:2:9:2:27:2":        `lowering: pattern "0:1:2:3:2:9:2:27:2", expected at most 3 levels`,
		"99999999999999999999":      `lowering: "99999999999999999999" in pattern "99999999999999999999", expected a number from 0 to 2147483647`,
		"0:2000000000:2:1999999:99": `lowering: stride 1999999 in pattern "0:2000000000:2:1999999:99", expected more than the 2000000000 that the levels before it span`,
	} {
		_, err := lowering.ParsePattern(text)
		require.EqualError(t, err, want)
	}
}

// pattern draws a pattern with its numbers by definition.
func pattern(t *rapid.T) (lowering.Pattern, []int) {
	start := rapid.IntRange(0, 20).Draw(t, "start")
	var levels [][2]int
	text, span := []int{start}, 0
	for range rapid.IntRange(0, 3).Draw(t, "levels") {
		stride := span + rapid.IntRange(1, 5).Draw(t, "stride")
		count := rapid.IntRange(1, 4).Draw(t, "count")
		text = append(text, stride, count)
		levels = append(levels, [2]int{stride, count})
		span += stride * (count - 1)
	}
	p, err := lowering.ParsePattern(join(text))
	require.NoError(t, err)
	return p, numbers(start, levels...)
}

func TestPatternProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, set := pattern(t)
		require.Equal(t, set, slices.Collect(p.All()))
		require.Equal(t, len(set), p.Len())
		require.Equal(t, set[0], p.Min())
		require.Equal(t, set[len(set)-1], p.Max())
		back, err := lowering.ParsePattern(p.String())
		require.NoError(t, err)
		require.Equal(t, p, back)
		mask := make([]uint64, 2)
		p.Mask(mask)
		for x := -3; x <= p.Max()+3; x++ {
			require.Equal(t, slices.Contains(set, x), p.Has(x), x)
			if x >= 0 && x < 128 {
				require.Equal(t, slices.Contains(set, x), mask[x/64]>>(x%64)&1 == 1, x)
			}
			next, ok := p.Next(x)
			i, _ := slices.BinarySearch(set, x)
			require.Equal(t, i < len(set), ok)
			if ok {
				require.Equal(t, set[i], next)
			}
		}
		perBank := rapid.IntRange(1, 40).Draw(t, "per bank")
		var banks []int
		for _, x := range set {
			if b := x / perBank; !slices.Contains(banks, b) {
				banks = append(banks, b)
			}
		}
		require.Equal(t, banks, banksOf(p, perBank))
		lo := rapid.IntRange(0, 60).Draw(t, "lo")
		hi := lo + rapid.IntRange(0, 20).Draw(t, "len")
		require.Equal(t, slices.ContainsFunc(set, func(x int) bool { return lo <= x && x < hi }), p.Meets(lo, hi))
	})
}

// banksOf is lowering.Banks, with an end for the process where that has none: a walk that
// does not get ahead takes more and more memory.
func banksOf(p lowering.Pattern, perBank int) []int {
	defer time.AfterFunc(2*time.Second, func() { panic(fmt.Sprintf("no end of the banks of %v, %d tiles each", p, perBank)) }).Stop()
	return lowering.Banks(nil, p, perBank)
}

// FuzzParsePattern holds what is accepted to its canonical text.
func FuzzParsePattern(f *testing.F) {
	for _, s := range []string{"0", "1:2:2", "0:1:4:4:2", "0:1:2:3:2:9:2", "1:2", "0:0:1", "5:7:2147483647", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := lowering.ParsePattern(s)
		if err != nil {
			return
		}
		back, err := lowering.ParsePattern(p.String())
		require.NoError(t, err)
		require.Equal(t, p, back)
		require.True(t, p.Has(p.Min()) && p.Has(p.Max()))
		require.False(t, p.Has(p.Min()-1) || p.Has(p.Max()+1))
	})
}
