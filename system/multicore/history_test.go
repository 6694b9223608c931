package multicore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// sweepsC goes through one array again and again, and through eight others in turn.
const sweepsC = `#include "bitsched.h"
void f(int N, int32_t A[N], int32_t B[8][N])
{
	inf_array(A, N); inf_array(B, 8, N);
	for (int t = 0; t < 8; t++) {
		for (int i = 0; i < N; i++)
			A[i] += t;
		for (int i = 0; i < N; i++)
			B[t][i] += t;
	}
}
`

// TestHistoryDecides has streams that stay in the core from the second time on, where the L2 has
// what they access, and others that never do.
func TestHistoryDecides(t *testing.T) {
	for _, x := range []struct {
		n       int64
		offload string
		at      [2]int64 // instances of each loop at the L3
	}{
		{1024, "history", [2]int64{1, 8}}, // two rows of 4 kB in an L2 of 16 kB
		{2048, "history", [2]int64{1, 8}}, // it has room for both just so
		{2300, "history", [2]int64{8, 8}}, // each of them fits, both do not
		{5000, "history", [2]int64{8, 8}}, // larger than the L2
		{1024, "always", [2]int64{8, 8}},
		{1024, "computation", [2]int64{8, 8}},
	} {
		for _, config := range []string{"ns", "ns-decouple"} {
			p, want := compiled(t, sweepsC, x.n, 1)
			m := machine(t, "nsc-small", "ooo8")
			require.NoError(t, m.Set("streams.core.offload", x.offload))
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: config, Warm: true})
			require.NoError(t, err)
			require.NoError(t, sameMemory(p, want))
			require.EqualValues(t, x.at[0]+x.at[1], r.Streams.Core.Offloaded, "%+v", x)
			for k := range x.at {
				l := r.Streams.Loops[k]
				require.Equal(t, x.at[k], l.Instances, "%+v, loop %d", x, k)
				require.Equal(t, 8-x.at[k], l.Reused+l.Hits, "%+v, loop %d", x, k)
			}
			if l := r.Streams.Loops[0]; x.at[0] == 1 { // two are found by their addresses, until it has been counted that lines of the second one hit
				require.GreaterOrEqual(t, l.Reused, int64(2), "%+v", x)
				require.GreaterOrEqual(t, l.Hits, int64(3), "%+v", x)
			}
		}
	}
}

// TestNeighboursStay has loads whose lines the core's own caches would get once for three of them,
// and one whose lines nothing else takes.
func TestNeighboursStay(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N);
	for (int i = 1; i < N - 1; i++)
		C[i] = A[i - 1] * A[i] + A[i + 1] * B[i];
}
`
	run := func(offload, text string) *multicore.Report {
		p, want := compiled(t, text, 2000, 1)
		m := machine(t, "nsc-small", "ooo8")
		require.NoError(t, m.Set("streams.core.offload", offload))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns-no-comp", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		return r
	}
	data := func(r *multicore.Report) uint64 { return r.Streams.Messages[se.MsgData].Bytes }
	four, one := data(run("always", text)), data(run("history", text))
	require.InDelta(t, 4*2000*4, float64(four), 0.25*4*2000*4) // elements, and a header for each line
	require.InDelta(t, four/4, one, float64(four/40))
	two := strings.ReplaceAll(text, "A[i - 1]", "A[i]") // half of them hit, which is not more than half
	require.Equal(t, data(run("always", two)), data(run("history", two)))
}

// decided runs a function on one core, warm, and compares its memory with the sequential meaning.
func decided(t *testing.T, text string, n int64, seed uint64, name, config string) *multicore.Report {
	t.Helper()
	p, want := compiled(t, text, n, seed)
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, name, "ooo8"), Threads: 1, Config: config, Warm: true})
	require.NoError(t, err)
	require.NoError(t, sameMemory(p, want))
	return r
}

// TestColumnsAhead has instances that go through 8 rows, each with an element of a column that is
// not of a stream: rows of 4 lines, of which the first ones are not asked for ahead.
func TestColumnsAhead(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t X[N][8 * N], int32_t Y[N][8 * N])
{
	inf_array(X, N, 8 * N); inf_array(Y, N, 8 * N);
	for (int k = 0; k < 8 * N; k++)
		for (int m = 0; m < N; m++)
			for (int n = 0; n < 8 * N; n++)
				Y[m][n] += X[m][k];
}
`
	r := decided(t, text, 8, 1, "nsc-small", "ns-core")
	require.EqualValues(t, 64, r.Streams.Core.Groups)
	require.EqualValues(t, 8*3, r.Streams.Core.Beyond)
}

// TestComesAgain has loops whose instances have elements that the next ones have, too, by hand:
// most of what one accesses comes again before an L2 of 16 kB has lost it, or not.
func TestComesAgain(t *testing.T) {
	const head = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[8][N], const int32_t B[8][N], int32_t C[N], int32_t D[8][8])\n{\n" +
		"\tinf_array(A, 8, N); inf_array(B, 8, N); inf_array(C, N); inf_array(D, 8, 8);\n"
	const row = "for (int j = 0; j < N; j++)\n"
	for name, x := range map[string]struct {
		body string
		n    int64
		at   int64 // instances of the first loop at the L3
	}{
		"a row that all change":                {"for (int i = 0; i < 8; i++)\n" + row + "C[j] += A[i][j];", 1024, 0},
		"as large as the L2 with what it adds": {"for (int i = 0; i < 8; i++)\n" + row + "C[j] += A[i][j];", 2048, 0},
		"too large with it":                    {"for (int i = 0; i < 8; i++)\n" + row + "C[j] += A[i][j];", 2100, 8},
		"less than half":                       {"for (int i = 0; i < 8; i++) {\nint s = 0;\n" + row + "s += A[i][j] * B[i][j] * C[j];\nD[i][0] = s;\n}", 1024, 8},
		"another loop between":                 {"for (int i = 0; i < 8; i++) {\n" + row + "C[j] += A[i][j];\nint s = 0;\n" + row + "s += A[i][j] * B[i][j];\nD[i][0] = s;\n}", 1024, 1},
		"one of a small array between":         {"for (int i = 0; i < 8; i++) {\n" + row + "C[j] += A[i][j];\nfor (int j = 0; j < 8; j++)\nD[i][j] += i;\n}", 1024, 0},
		"one that writes it between":           {"for (int i = 0; i < 8; i++) {\n" + row + "C[j] += A[i][j];\n" + row + "C[j] ^= i;\n}", 1024, 1},
		"all rows in the next plane":           {"for (int m = 0; m < 8; m++)\nfor (int i = 0; i < 4; i++) {\nint s = 0;\n" + row + "s += A[m][j] * B[i][j];\nD[m][i] = s;\n}", 512, 0},
		"too many rows for it":                 {"for (int m = 0; m < 8; m++)\nfor (int i = 0; i < 8; i++) {\nint s = 0;\n" + row + "s += A[m][j] * B[i][j];\nD[m][i] = s;\n}", 512, 64},
	} {
		r := decided(t, head+x.body+"\n}\n", x.n, 5, "nsc-small", "ns")
		require.Equal(t, x.at, r.Streams.Loops[0].Instances, name)
	}
}

// TestBlocksAhead has the same in four blocks of rows, each of which begins where the one before
// ends: the engine asks for elements of X, and for rows of Y, on into the next block.
func TestBlocksAhead(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t X[4 * N][8 * N], int32_t Y[4 * N][8 * N])
{
	inf_array(X, 4 * N, 8 * N); inf_array(Y, 4 * N, 8 * N);
	for (int b = 0; b < 4; b++)
		for (int k = 0; k < 8 * N; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < 8 * N; n++)
					Y[m][n] += X[m][k];
}
`
	r := decided(t, text, 8, 1, "nsc", "ns-core")
	require.EqualValues(t, 4*64, r.Streams.Core.Groups)
	// Of X 4 lines in each of 32 rows but the first ones, of Y as many in each block but the first one.
	require.EqualValues(t, 32*4-8+24*4, r.Streams.Core.Beyond)
}

// TestAskedFor has blocks that are cleared by a loop of their own: the first one at the L3, later ones in
// the core, whose engine has asked for their lines by then.
func TestAskedFor(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t X[4 * N][8 * N], int32_t Y[4 * N][32 * N])
{
	inf_array(X, 4 * N, 8 * N); inf_array(Y, 4 * N, 32 * N);
	for (int b = 0; b < 4; b++) {
		for (int m = 8 * b; m < 8 * b + 8; m++)
			for (int n = 0; n < 32 * N; n++)
				Y[m][n] = 0;
		for (int k = 0; k < 8 * N; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < 32 * N; n++)
					Y[m][n] += X[m][k];
	}
}
`
	r := decided(t, text, 8, 1, "nsc", "ns")
	require.Equal(t, "n", r.Streams.Loops[0].Var)
	require.EqualValues(t, []int64{1, 3}, []int64{r.Streams.Loops[0].Instances, r.Streams.Loops[0].Reused + r.Streams.Loops[0].Hits})
}

// TestRowsAhead has instances that go through all rows of X, an element in each, and add to the same row of
// Y: the engine asks for all of the next rows of both.
func TestRowsAhead(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t X[N][8 * N], int32_t Y[N][8 * N])
{
	inf_array(X, N, 8 * N); inf_array(Y, N, 8 * N);
	for (int m = 0; m < N; m++)
		for (int k = 0; k < 8 * N; k++)
			for (int n = 0; n < 8 * N; n++)
				Y[m][n] += X[m][k];
}
`
	r := decided(t, text, 8, 1, "nsc", "ns-core")
	require.EqualValues(t, 8, r.Streams.Core.Groups)
	require.EqualValues(t, 7*4+7*4, r.Streams.Core.Beyond)
}

// TestBlocksAgain has blocks of rows, each of which has elements of its own of two arrays, which the next
// block only seems to have where it is not said that it begins later: half of what an instance
// accesses comes again, and that is not enough to stay.
func TestBlocksAgain(t *testing.T) {
	const text = `#include "bitsched.h"
void f(int N, const int32_t A[8][32][N], const int32_t B[8][32][N], int32_t Y[32][N])
{
	inf_array(A, 8, 32, N); inf_array(B, 8, 32, N); inf_array(Y, 32, N);
	for (int b = 0; b < 4; b++)
		for (int k = 0; k < 8; k++)
			for (int m = 8 * b; m < 8 * b + 8; m++)
				for (int n = 0; n < N; n++)
					Y[m][n] += A[k][m][n] + B[k][m][n];
}
`
	r := decided(t, text, 64, 1, "nsc", "ns")
	require.EqualValues(t, 4*8, r.Streams.Core.Offloaded)
}
