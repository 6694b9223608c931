package multicore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tile/se"
)

// nestC is a function of an array of 20 rows of N elements, whose inner part a loop computes, and
// the border the core.
func nestC(loop, body string) string {
	return "#include \"bitsched.h\"\nvoid f(int N, int32_t A[20][N], int32_t B[20][N], int32_t C[20][N], int32_t S[4])\n{\n" +
		"inf_array(A, 20, N); inf_array(B, 20, N); inf_array(C, 20, N); inf_array(S, 4);\n" + loop + " {\n" + body + "\n}\n}\n"
}

// TestNests has loops around others with what is linear in both, by hand: how many configurations
// there are, and how many rows their streams go on to.
func TestNests(t *testing.T) {
	const inner = "for (int j = 1; j < N - 1; j++)\n"
	for name, x := range map[string]struct {
		loop, body         string
		threads            int
		configured, others int64
	}{
		"all rows":                       {"for (int i = 0; i < 20; i++)", inner + "B[i][j] = A[i][j] + 1;", 1, 1, 19},
		"rows of each thread":            {"#pragma omp parallel for\nfor (int i = 0; i < 20; i++)", inner + "B[i][j] = A[i][j] + 1;", 4, 4, 16},
		"parts of a dynamic loop":        {"#pragma omp parallel for schedule(dynamic, 5)\nfor (int i = 0; i < 20; i++)", inner + "B[i][j] = A[i][j] + 1;", 2, 4, 16},
		"backwards, each second":         {"for (int i = 19; i > 0; i -= 2)", inner + "B[i][j] = A[i][j] + 1;", 1, 1, 9},
		"border in the core":             {"for (int i = 0; i < 20; i++)", "B[i][0] = 3;\n" + inner + "B[i][j] = A[i][j] + 1;\nB[i][N - 1] = A[i][N - 1];", 1, 1, 19},
		"neighbours, cut at the border":  {"for (int i = 0; i < 20; i++)", "int up = i > 0 ? i - 1 : 0, down = i < 19 ? i + 1 : 19;\n" + inner + "B[i][j] = A[up][j] * A[down][j];", 1, 3, 17},
		"the border is in the row":       {"for (int i = 0; i < 20; i++)", "B[i][1] = 3;\n" + inner + "B[i][j] = A[i][j] + 1;", 1, 20, 0},
		"a row is written that is read":  {"for (int i = 1; i < 20; i++)", inner + "B[i][j] = B[i - 1][j] + 1;", 1, 19, 0},
		"one row is written again":       {"for (int i = 0; i < 20; i++)", inner + "B[3][j] = A[i][j] + 1;", 1, 20, 0},
		"the value follows from the row": {"for (int i = 0; i < 20; i++)", inner + "B[i][j] = A[i][j] + i;", 1, 20, 0},
		"rows of other lengths":          {"for (int i = 0; i < 20; i++)", "for (int j = i; j < N; j++)\nB[i][j] = A[i][j] + 1;", 1, 20, 0},
		"the row is found in memory":     {"for (int i = 0; i < 20; i++)", "int k = S[i & 3] & 15;\n" + inner + "B[i][j] = A[k][j] + 1;", 1, 20, 0},
		"two loops inside":               {"for (int i = 0; i < 20; i++)", inner + "B[i][j] = A[i][j] + 1;\n" + inner + "C[i][j] = A[i][j] + 2;", 1, 40, 0},
	} {
		for _, config := range []string{"ns", "ns-decouple"} {
			p, want := compiled(t, nestC(x.loop, x.body), 300, 1)
			m := small(t, "ooo8")
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: x.threads, Config: config, Warm: true})
			require.NoError(t, err, name)
			require.NoError(t, sameMemory(p, want), name)
			configured, others := int64(0), int64(0)
			for _, l := range r.Streams.Loops {
				configured, others = configured+l.Instances, others+l.Through
			}
			if config == "ns" || others > 0 && r.Streams.Core.Offloaded > 0 { // what only the core fetches may go through more
				require.Equal(t, []int64{x.configured, x.others}, []int64{configured, others}, "%s, %s", name, config)
			}
			require.Zero(t, others*int64(r.Streams.Core.Ended[se.Alias]), "%s: ranges of rows have nothing of the border", name)
		}
	}
}

// TestPlanes has three loops around each other, by hand: streams go on from plane to plane where they
// go through all rows of each.
func TestPlanes(t *testing.T) {
	const inner = "for (int j = 0; j < N; j++)\n"
	text := func(loop, body string) string {
		return "#include \"bitsched.h\"\nvoid f(int N, int32_t A[6][5][N], int32_t B[6][5][N], int32_t C[6][N], int32_t S[6])\n{\n" +
			"inf_array(A, 6, 5, N); inf_array(B, 6, 5, N); inf_array(C, 6, N); inf_array(S, 6);\n" + loop + "\n" + body + "\n}\n"
	}
	const i, k = "for (int i = 0; i < 6; i++)", "for (int k = 0; k < 5; k++)\n"
	for name, x := range map[string]struct {
		loop, body         string
		threads            int
		configured, others int64
	}{
		"all":                         {i, k + inner + "B[i][k][j] = A[i][k][j] + 1;", 1, 1, 29},
		"planes are not side by side": {i, "for (int k = 1; k < 4; k++)\n" + inner + "B[i][k][j] = A[i][k][j] + A[i][k + 1][j];", 1, 1, 17},
		"planes of each thread":       {"#pragma omp parallel for\n" + i, "for (int k = 0; k < N - 295; k++)\n" + inner + "B[i][k][j] = A[i][k][j] + 1;", 3, 3, 27},
		"backwards":                   {"for (int i = 5; i >= 0; i -= 2)", "for (int k = 4; k > 0; k -= 2)\n" + inner + "B[i][k][j] = A[i][4 - k][j] + 1;", 1, 1, 5},
		"linear but for the last":     {i, "{\nint u = i - i / 5;\nfor (int k = 0; k < 5; k++)\n" + inner + "B[i][k][j] = A[k][u][j] + 1;\n}", 1, 2, 28},
		"rows in turn":                {"for (int i = 0; i < 5; i++)", k + inner + "B[i][k][j] = A[k][i][j] + C[i][j];", 1, 1, 24},
		"scalars":                     {i, "{\nint u = 5 - i;\nfor (int k = 0; k < 5; k++) {\nint w = u + 4 - k - u;\n" + inner + "B[i][k][j] = A[u][w][j] + 1;\n}\n}", 1, 1, 29},
		"the core writes beside":      {i, "{\nS[i] = i;\nfor (int k = 0; k < 5; k++) {\nS[i] += k;\n" + inner + "B[i][k][j] = A[i][k][j] + 1;\n}\n}", 1, 1, 29},
		"a border of planes":          {i, "for (int k = 0; k < 5; k++) {\nint up = k > 0 ? k - 1 : 0;\n" + inner + "B[i][k][j] = A[i][up][j];\n}", 1, 12, 18},
		"a value follows from planes": {i, k + inner + "B[i][k][j] = A[i][k][j] + i;", 1, 6, 24},
		"rows of other numbers":       {i, "for (int k = 0; k < 5 - i % 2; k++)\n" + inner + "B[i][k][j] = A[i][k][j] + 1;", 1, 6, 21},
		"a plane is written again":    {i, k + inner + "B[2][k][j] = A[i][k][j];", 1, 6, 24},
		"another loop in the plane":   {i, "{\n" + k + inner + "B[i][k][j] = A[i][k][j];\n" + inner + "C[i][j] = A[i][0][j];\n}", 1, 12, 24},
	} {
		for _, config := range []string{"ns", "ns-decouple"} {
			p, want := compiled(t, text(x.loop, x.body), 300, 1)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: x.threads, Config: config, Warm: true})
			require.NoError(t, err, name)
			require.NoError(t, sameMemory(p, want), name)
			configured, others := int64(0), int64(0)
			for _, l := range r.Streams.Loops {
				configured, others = configured+l.Instances, others+l.Through
			}
			require.Equal(t, []int64{x.configured, x.others}, []int64{configured, others}, "%s, %s", name, config)
			require.Zero(t, r.Streams.Core.Ended, name)
		}
	}
}

// randomPlanes is a random function of three loops around each other.
func randomPlanes(r *rand.Rand, threads int) string {
	var b strings.Builder
	typ := []string{"int32_t", "float", "int64_t", "uint8_t"}[r.IntN(4)]
	planes, rows := 2+r.IntN(4), 2+r.IntN(5)
	fmt.Fprintf(&b, "#include \"bitsched.h\"\nvoid f(int N, %[1]s A[%[2]d][%[3]d][N], %[1]s B[%[2]d][%[3]d][N], %[1]s C[%[2]d][%[3]d][N], const %[1]s W[N], int64_t S[4])\n{\n"+
		"inf_array(A, %[2]d, %[3]d, N); inf_array(B, %[2]d, %[3]d, N); inf_array(C, %[2]d, %[3]d, N); inf_array(W, N); inf_array(S, 4);\n", typ, planes, rows)
	if threads > 1 {
		b.WriteString([]string{"#pragma omp parallel for\n", "#pragma omp parallel for schedule(dynamic, 2)\n"}[r.IntN(2)])
	}
	first, last := r.IntN(2), rows-r.IntN(2)
	fmt.Fprintf(&b, "for (int i = 0; i < %d; i++) {\nint next = i < %d ? i + 1 : 0, back = %d - i;\n", planes, planes-1, planes-1)
	border := func(at string) {
		switch r.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "B[i][%s][0] = W[2];\n", at)
		case 1:
			if threads == 1 {
				fmt.Fprintf(&b, "S[1] = S[1] * 3 + (int64_t)(B[i][%s][N - 1] > 7 ? 2 : 5);\n", at)
			}
		}
	}
	border("0")
	fmt.Fprintf(&b, "for (int k = %d; k < %d; k++) {\nint down = k + %d;\n", first, last, []int{0, rows - last}[r.IntN(2)])
	border("k")
	b.WriteString("for (int j = 1; j < N - 1; j++) {\n")
	element := func() string {
		return []string{"A[i][k][j - 1]", "A[i][k][j]", "A[back][k][j]", "A[next][k][j]", "A[i][down][j + 1]", "W[j]", "C[i][k][j]", "(" + typ + ")3"}[r.IntN(8)]
	}
	for range 1 + r.IntN(2) {
		switch v := element() + []string{" + ", " * ", " - "}[r.IntN(3)] + element(); r.IntN(8) {
		case 0, 1, 2, 3:
			fmt.Fprintf(&b, "B[i][k][j] = %s;\n", v)
		case 4, 5:
			fmt.Fprintf(&b, "C[i][k][j] += %s;\n", v)
		case 6:
			if threads == 1 {
				fmt.Fprintf(&b, "B[i][k][j] = B[back][k][j] + %s;\n", v)
			}
		case 7: // the core takes it
			if threads == 1 {
				fmt.Fprintf(&b, "S[0] = S[0] * 3 + (int64_t)(%s > 9 ? 4 : 1);\n", element())
			}
		}
	}
	b.WriteString("}\n}\n")
	border("0")
	b.WriteString("}\n}\n")
	return b.String()
}

// randomNest is a random function of loops over rows, of which streams may go through several:
// neighbours in the row and in other rows, a border that the core computes, rows that are
// written and read.
func randomNest(r *rand.Rand, threads int) string {
	var b strings.Builder
	typ := []string{"int32_t", "float", "int64_t", "uint8_t"}[r.IntN(4)]
	rows := 3 + r.IntN(20)
	fmt.Fprintf(&b, "#include \"bitsched.h\"\nvoid f(int N, %[1]s A[%[2]d][N], %[1]s B[%[2]d][N], %[1]s C[%[2]d][N], const %[1]s W[N], int64_t S[4])\n{\n"+
		"inf_array(A, %[2]d, N); inf_array(B, %[2]d, N); inf_array(C, %[2]d, N); inf_array(W, N); inf_array(S, 4);\n", typ, rows)
	for range 1 + r.IntN(2) {
		if threads > 1 {
			b.WriteString([]string{"#pragma omp parallel for\n", "#pragma omp parallel for schedule(dynamic, 3)\n"}[r.IntN(2)])
		}
		border := 1 + r.IntN(2)
		fmt.Fprintf(&b, "for (int i = 0; i < %d; i++) {\nint up = i > 0 ? i - 1 : 0, down = i < %d ? i + 1 : %d;\n", rows, rows-1, rows-1)
		core := func() {
			switch at := []string{"0", "N - 1", "N - 2", strconv.Itoa(r.IntN(4))}[r.IntN(4)]; r.IntN(5) {
			case 0, 1:
				fmt.Fprintf(&b, "B[i][%s] = A[i][%s];\n", at, at)
			case 2:
				fmt.Fprintf(&b, "C[i][%s] += W[3];\n", at)
			case 3:
				if threads == 1 {
					fmt.Fprintf(&b, "S[1] = S[1] * 3 + (int64_t)(%s[i][%s] > 7 ? 2 : 5);\n", []string{"B", "C"}[r.IntN(2)], at)
				}
			}
		}
		core()
		if r.IntN(4) == 0 {
			fmt.Fprintf(&b, "for (int j = N - %d; j >= %d; j--) {\n", 1+border, border)
		} else {
			fmt.Fprintf(&b, "for (int j = %d; j < N - %d; j += %d) {\n", border, border, 1+r.IntN(4)/3)
		}
		element := func() string {
			return []string{"A[i][j - 1]", "A[i][j]", "A[i][j + 1]", "A[up][j]", "A[down][j]", "W[j]", "C[i][j]", "(" + typ + ")3"}[r.IntN(8)]
		}
		for range 1 + r.IntN(2) {
			switch v := element() + []string{" + ", " * ", " - "}[r.IntN(3)] + element(); r.IntN(10) {
			case 0, 1, 2, 3:
				fmt.Fprintf(&b, "B[i][j] = %s;\n", v)
			case 4, 5:
				fmt.Fprintf(&b, "C[i][j] += %s;\n", v)
			case 6:
				fmt.Fprintf(&b, "if (A[i][j] > 5) B[i][j] = %s;\n", v)
			case 7:
				if threads == 1 {
					fmt.Fprintf(&b, "B[i][j] = B[up][j] + %s;\n", v)
				}
			case 8: // the core takes it
				if threads == 1 {
					fmt.Fprintf(&b, "S[0] = S[0] * 3 + (int64_t)(%s > 9 ? 4 : 1);\n", element())
				}
			case 9:
				fmt.Fprintf(&b, "B[i][j] = (%s)(j & 15) + %s;\n", typ, v)
			}
		}
		b.WriteString("}\n")
		core()
		b.WriteString("}\n")
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomNests compares such functions with their sequential meaning in all configurations,
// while streams are ended at any time; BITSCHED_STREAMS=10000 runs more.
func TestRandomNests(t *testing.T) {
	programs := 20
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	configs := []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple", "ns-no-comp", "ns-core"}
	var ended [se.NumReasons]uint64
	through, planes, shared := int64(0), int64(0), uint64(0)
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 16))
		threads := 1 + r.IntN(3)
		text := randomNest(r, threads)
		if r.IntN(3) == 0 {
			text = randomPlanes(r, threads)
		}
		p, want := compiled(t, text, 20+int64(r.IntN(200)), seed)
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(3) == 0 {
			m.Streams.L2.Slices = 1
		}
		if r.IntN(3) == 0 {
			m.Streams.L3.RangePolicy = "adaptive"
		}
		opt := multicore.Options{Machine: m, Threads: threads, Config: configs[r.IntN(len(configs))], Warm: r.IntN(2) == 0, Seed: seed, MaxCycles: 1 << 22}
		switch r.IntN(4) {
		case 0, 1:
			rate := func() float64 { return []float64{0, 0.01, 0.1}[r.IntN(3)] }
			opt.Inject = &se.Inject{Alias: rate() / 10, Fault: rate(), Switch: rate() / 10}
		case 2:
			opt.Sample = &multicore.Sampling{Share: 0.3, Window: 50 + int64(r.IntN(800))}
		}
		report, err := multicore.Run(context.Background(), p, opt)
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		if opt.Inject == nil {
			require.Zero(t, report.Streams.Core.Ended[se.Timeout], "seed %d, %s\n%s", seed, opt.Config, text)
		}
		for k, n := range report.Streams.Core.Ended {
			ended[k] += n
		}
		for _, l := range report.Streams.Loops {
			through, planes = through+l.Through, planes+l.Planes
		}
		shared += report.Streams.Bank.Shared
	}
	t.Log(through, planes, shared, ended)
	require.Greater(t, through, int64(2*programs))
	require.Greater(t, planes, int64(programs/5))
	require.Greater(t, shared, uint64(programs))
	require.Positive(t, ended[se.Alias]+ended[se.Switch])
}
