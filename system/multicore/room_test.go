package multicore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

const roomC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N])\n{\n" +
	"inf_array(A, N); inf_array(B, N); inf_array(C, N);\n#pragma omp parallel for\nfor (int i = 0; i < N; i++) C[i] = A[i] + B[i];\n}\n"

// roomRun runs a sum of two arrays, and finds from its messages how many bytes of operands a core
// has at one bank at most: those of the iterations that are credited there and not done.
func roomRun(t *testing.T, n int64, threads int, set ...string) (r *multicore.Report, most int64, messages func(k se.MessageKind) uint64) {
	const store, each, bank = 2, 8, 256 // its number, bytes of an iteration, and elements of a bank side by side
	p, want := compiled(t, roomC, n, 1)
	m := machine(t, "nsc-small", "ooo8") // of 16 tiles
	require.NoError(t, m.Set("streams.l3.buffer_bytes", "16384"))
	for i := 0; i < len(set); i += 2 {
		require.NoError(t, m.Set(set[i], set[i+1]))
	}
	type place struct{ core, bank int }
	open, banks := map[place]int64{}, m.Banks()
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: threads, Config: "ns", Warm: true, MaxCycles: 1 << 22, Intercept: func(m *se.Message) bool {
		switch {
		case m.Stream != store && !slices.Contains(m.Others, store):
		case m.Kind == se.MsgCredit:
			for i := m.First; i < m.End; {
				end := min(m.End, (i/bank+1)*bank)
				at := place{m.Core, (m.To + int(i/bank-m.First/bank)) % banks}
				open[at] += (end - i) * each
				most = max(most, open[at])
				i = end
			}
		case m.Kind == se.MsgDone:
			open[place{m.Core, m.From}] -= (m.End - m.First) * each
		}
		return true
	}})
	require.NoError(t, err)
	require.NoError(t, sameMemory(p, want))
	return r, most, func(k se.MessageKind) uint64 { return r.Streams.Messages[k].Messages }
}

// TestRoomAlone has one thread sum arrays that begin where a bank's part does: 1 kB of elements in
// each bank, ranges of 8 lines whose operands take 1 kB, and no more than four of them, the first four by one credit, of all three streams. With a share of
// 1 kB one at a time is at a bank, with half of it they are of half the length, and where nobody else
// has anything, both of a bank are there at once: by one message to ask for it, one that grants it
// and one that gives it back.
func TestRoomAlone(t *testing.T) {
	const n, rng, banks = 4096, 128, 4096 / 256
	all, most, messages := roomRun(t, n, 1)
	assert.EqualValues(t, 2048, most)
	assert.EqualValues(t, n/rng-3, messages(se.MsgCredit))
	assert.Zero(t, messages(se.MsgAsk))

	share, most, messages := roomRun(t, n, 1, "streams.l3.sharing", "static")
	assert.EqualValues(t, 1024, most)
	assert.EqualValues(t, n/rng-(banks-1), messages(se.MsgCredit), "the last range of a bank comes with the first one of the next")
	assert.Zero(t, messages(se.MsgAsk))
	assert.Greater(t, share.Cycles, all.Cycles*3/2)

	_, most, messages = roomRun(t, n, 1, "streams.l3.sharing", "static", "streams.l3.buffer_bytes", "8192")
	assert.EqualValues(t, 512, most)
	assert.EqualValues(t, 2*n/rng-(banks-1), messages(se.MsgCredit))

	lent, most, messages := roomRun(t, n, 1, "streams.l3.sharing", "dynamic")
	assert.EqualValues(t, 2048, most)
	assert.Equal(t, []uint64{banks, banks, 0, banks}, []uint64{messages(se.MsgAsk), messages(se.MsgGrant), messages(se.MsgRecall), messages(se.MsgReturn)})
	assert.Less(t, lent.Cycles, all.Cycles*5/4)

	r, _, _ := roomRun(t, n, 1, "streams.l3.sharing", "static", "streams.l3.buffer_bytes", "1024") // 64 bytes each
	assert.Zero(t, r.Streams.Core.Offloaded, "not one iteration of 16 elements has room")
}

// TestRoomTaken has four threads on four tiles, whose banks have room for one range of each: what one
// of them has got above that before others come is taken back, and comes back to it.
func TestRoomTaken(t *testing.T) {
	tiny := []string{"mesh.rows", "2", "mesh.cols", "2", "streams.l3.buffer_bytes", "4096", "streams.l3.sharing"}
	share, most, _ := roomRun(t, 8192, 4, append(tiny, "static")...)
	assert.EqualValues(t, 1024, most)
	lent, most, messages := roomRun(t, 8192, 4, append(tiny, "dynamic")...)
	assert.Greater(t, most, int64(1024))
	assert.Positive(t, messages(se.MsgRecall))
	assert.Equal(t, messages(se.MsgAsk), messages(se.MsgGrant))
	t.Log(share.Cycles, lent.Cycles, messages(se.MsgAsk), messages(se.MsgRecall), messages(se.MsgReturn))
}
