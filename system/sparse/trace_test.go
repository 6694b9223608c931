package sparse

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/sparse/matrix"
)

// TestTrace reads a trace back: steps follow each other to the end of the run, what banks
// and links do lies within a step, rings carry what is counted, and the tracks are few.
func TestTrace(t *testing.T) {
	m, err := matrix.Generate("gen:rmat,scale=9,undirected", 1)
	require.NoError(t, err)
	for _, variant := range []string{"v0", "v2", "v3"} {
		var trace Trace
		cfg := config(small(2, 20, 3), variant)
		cfg.Threads = 2
		res, err := Run(context.Background(), "bfs", m, DefaultAppOptions(), cfg, &trace)
		require.NoError(t, err)
		var text bytes.Buffer
		require.NoError(t, trace.Write(&text))
		var doc struct {
			TraceEvents []struct {
				Ph, Name string
				Tid      int
				Ts, Dur  int64
				Args     struct{ Name string }
			}
		}
		require.NoError(t, json.Unmarshal(text.Bytes(), &doc))
		tracks := map[int]string{}
		var at, onRings int64
		type span struct{ from, to int64 }
		var steps []span
		for _, e := range doc.TraceEvents {
			if e.Name == "thread_name" {
				tracks[e.Tid] = e.Args.Name
			}
			if e.Ph == "X" && tracks[e.Tid] == e.Name {
				steps = append(steps, span{e.Ts, e.Ts + e.Dur})
			}
		}
		for i, s := range steps {
			require.GreaterOrEqual(t, s.from, at, i) // vault cores apply between steps
			at = s.to
		}
		require.LessOrEqual(t, at, res.Cycles)
		banks := map[string]bool{}
		for _, e := range doc.TraceEvents {
			name := tracks[e.Tid]
			if strings.HasPrefix(name, "ring") && e.Ph == "X" {
				n, err := json.Number(strings.Fields(e.Name)[0]).Int64()
				require.NoError(t, err)
				onRings += n
			}
			if strings.HasPrefix(name, "SPU") || strings.HasPrefix(name, "dispatcher") {
				banks[name] = true
			}
			if e.Ph != "X" {
				continue
			}
			within := false
			for _, s := range steps {
				within = within || e.Ts >= s.from && e.Ts+e.Dur <= s.to
			}
			require.True(t, within, "%s %s at %d for %d", name, e.Name, e.Ts, e.Dur)
		}
		require.Equal(t, res.Counters.RingUsed, onRings)
		require.LessOrEqual(t, len(banks), 2*traceBanks)
		require.NotEmpty(t, banks)
	}
}
