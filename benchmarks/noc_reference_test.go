package benchmarks

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const nocHeader = "traffic,packet_flits,injected_flits_per_node_per_cycle,avg_packet_latency_cycles,avg_hops\n"

func TestReadNoCReference(t *testing.T) {
	points, err := ReadNoCReference("ref.csv", strings.NewReader(nocHeader+"uniform,1,0.1,33.8,6.24\nneighbor,3,0.4,27.1,4.49\n"))
	require.NoError(t, err)
	require.Equal(t, []NoCReference{{"uniform", 1, 0.1, 33.8, 6.24}, {"neighbor", 3, 0.4, 27.1, 4.49}}, points)
	points, err = ReadNoCReference("ref.csv", strings.NewReader(nocHeader))
	require.NoError(t, err)
	require.Empty(t, points)

	points, err = ReadNoCReference("ref.csv", strings.NewReader("vcs,avg_hops,traffic,injected_flits_per_node_per_cycle,note,packet_flits,avg_packet_latency_cycles\n2,6.24,uniform,0.1,slow,3,33.8\n"))
	require.NoError(t, err)
	require.Equal(t, []NoCReference{{"uniform", 3, 0.1, 33.8, 6.24}}, points)

	for _, c := range []struct{ text, want string }{
		{"", "ref.csv:1:1: empty file, expected the columns " + strings.TrimSpace(nocHeader)},
		{"a,b\n", `ref.csv:1:1: columns "a,b" without traffic, expected ` + strings.TrimSpace(nocHeader)},
		{strings.Repeat("a", 300) + "\n", `ref.csv:1:1: columns "` + strings.Repeat("a", 80) + `" without traffic, expected ` + strings.TrimSpace(nocHeader)},
		{"avg_hops," + nocHeader, "ref.csv:1:1: column avg_hops twice, expected it once"},
		{strings.Repeat("\n", 1<<18+1), "ref.csv:1:1: more than 262144 bytes, expected at most so many"},
		{nocHeader + "uniform,1,0.1,33.8\n", "ref.csv:2:1: 4 fields, expected 5"},
		{nocHeader + "uniform,1,0.1,33.8,6\nuniform,1,x,33.8,6\n", `ref.csv:3:11: injected_flits_per_node_per_cycle "x", expected a positive number`},
		{nocHeader + "uniform,1.5,0.1,33.8,6\n", `ref.csv:2:9: packet_flits "1.5", expected a positive number`},
		{nocHeader + "uniform,1,0.1,-3,6\n", `ref.csv:2:15: avg_packet_latency_cycles "-3", expected a positive number`},
		{nocHeader + "uniform,1,0.1,33.8,inf\n", `ref.csv:2:20: avg_hops "inf", expected a positive number`},
		{nocHeader + "uniform,1,0.1,33.8,6\nuniform,1,0.10,1,1\n", "ref.csv:3:1: uniform traffic of 1 flits at load 0.1 a second time, expected it once"},
		{nocHeader + "uni\"form,1,0.1,33.8,6\n", `ref.csv:2:4: bare " in non-quoted-field, expected CSV`},
	} {
		_, err := ReadNoCReference("ref.csv", strings.NewReader(c.text))
		require.EqualError(t, err, c.want, "%q", c.text)
	}
}

// FuzzReadNoCReference expects points in range or an error with a place.
func FuzzReadNoCReference(f *testing.F) {
	f.Add(nocHeader + "uniform,1,0.1,33.8,6.24\n")
	f.Add(nocHeader + "\"a\nb\",1,0.1,33.8,6.24\n,1,1,1,1\n")
	f.Add("traffic\n")
	place := regexp.MustCompile(`^f:\d+:\d+: .*, expected `)
	f.Fuzz(func(t *testing.T, text string) {
		points, err := ReadNoCReference("f", strings.NewReader(text))
		if err != nil {
			require.Regexp(t, place, strings.ReplaceAll(err.Error(), "\n", " "))
			return
		}
		for _, p := range points {
			require.Positive(t, p.Flits)
			require.Positive(t, p.Load)
			require.Positive(t, p.Latency)
			require.Positive(t, p.Hops)
		}
	})
}
