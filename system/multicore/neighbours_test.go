package multicore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// TestNeighbours: loads less than a line apart are one stream, with one configuration and one
// credit for as many ranges as may begin, and read each line once, but for those that two ranges share where the
// second one has no credit yet.
func TestNeighbours(t *testing.T) {
	const n, line = 1537, 64 / 4 // ranges of loops that go backwards begin where banks meet
	for name, x := range map[string]struct {
		loop, value  string
		loads, lines int64 // streams of A and B, lines of them
	}{
		"three":            {"for (int i = 1; i < N - 1; i++)", "A[i - 1] * 3 + A[i] - A[i + 1]", 1, n/line + 1},
		"backwards":        {"for (int i = N - 2; i > 0; i--)", "A[i - 1] * 3 + A[i] - A[i + 1]", 1, n/line + 1},
		"each third":       {"for (int i = 3; i < N - 3; i += 3)", "A[i - 1] * 3 + A[i + 2]", 1, n/line + 1},
		"a line apart":     {"for (int i = 8; i < N - 8; i++)", "A[i - 8] + A[i + 8]", 2, 2 * (n/line + 1)},
		"nearly a line":    {"for (int i = 8; i < N - 7; i++)", "A[i - 8] + A[i + 7]", 1, n/line + 1},
		"of another array": {"for (int i = 1; i < N - 1; i++)", "A[i - 1] + B[i] + A[i + 1]", 2, 2 * (n/line + 1)},
	} {
		for _, slices := range []int{32, 1} {
			text := fmt.Sprintf("#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N])\n{\n"+
				"inf_array(A, N); inf_array(B, N); inf_array(C, N);\n%s\nC[i] = %s;\n}\n", x.loop, x.value)
			p, want := compiled(t, text, n, 1)
			m := small(t, "ooo8")
			m.Streams.L2.Slices = slices
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true})
			require.NoError(t, err, name)
			require.NoError(t, sameMemory(p, want), name)
			s := r.Streams
			require.Zero(t, s.Core.Ended, name)
			count := map[string]uint64{}
			for _, k := range s.Messages {
				count[k.Name] = k.Messages
			}
			require.EqualValues(t, x.loads+1, count[se.MsgConfigure.String()], "%s: with that of what is written", name)
			credits := count[se.MsgCredit.String()]
			require.LessOrEqual(t, credits, uint64(x.loads+1)*s.Core.Ranges, "%s: a message for each stream at most", name)
			require.GreaterOrEqual(t, credits*uint64(max(1, slices/8)), s.Core.Ranges, "%s: of all streams, and all that may be under way", name)
			require.GreaterOrEqual(t, int64(s.Bank.Reads), x.lines-x.loads, name)
			require.LessOrEqual(t, int64(s.Bank.Reads), x.lines+2*x.loads*int64(s.Core.Ranges), name)
			if slices > 1 {
				require.LessOrEqual(t, int64(s.Bank.Reads), x.lines+x.loads*int64(s.Core.Ranges), name)
			}
			require.Equal(t, x.loads < 2 || name == "of another array", s.Bank.Shared > 0, name)
		}
	}
}
