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

// randomRows is a random function of loops with others inside that reduce rows of at most a line,
// which the loop around finds by an array.
func randomRows(r *rand.Rand) string {
	var b strings.Builder
	typ := []string{"int32_t", "float", "int64_t", "uint8_t"}[r.IntN(4)]
	most := map[string]int{"int32_t": 16, "float": 16, "int64_t": 8, "uint8_t": 64}[typ]
	length := most >> r.IntN(3)
	fmt.Fprintf(&b, "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const %[1]s X[N][%[2]d], const %[1]s Y[4][%[2]d], %[1]s B[N], %[1]s C[N], const int32_t D[N], int64_t S[4])\n{\n"+
		"inf_array(A, N); inf_array(X, N, %[2]d); inf_array(Y, 4, %[2]d); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(S, 4);\n", typ, length)
	for n := range 1 + r.IntN(2) {
		free := []string{"", "", "#pragma s_sync_free\n"}[r.IntN(3)]
		fmt.Fprintf(&b, "int64_t s%d = %d;\n%sfor (int i = 0; i < N; i++) {\n", n, r.IntN(9), free)
		for k := range 1 + r.IntN(2) {
			d := fmt.Sprintf("d%d%d", n, k)
			x := fmt.Sprintf("X[p%s][k]", d)
			fmt.Fprintf(&b, "uint32_t p%s = ((uint32_t)A[i] >> %d) %% (uint32_t)N;\n%s %s = %d;\n", d, r.IntN(9), typ, d, r.IntN(3))
			form := r.IntN(5)
			sum, op := []string{
				d + " += " + x, d + " += " + x + " * Y[2][k]", d + " += (" + x + " - Y[1][k]) * (" + x + " + Y[0][k])", d + " = " + x + " > " + d + " ? " + x + " : " + d, d + " += " + x + " * k",
			}[form], "+"
			if form == 3 {
				op = "max"
			}
			fmt.Fprintf(&b, "#pragma omp simd reduction(%s: %s)\nfor (int k = 0; k < %d; k++)\n%s;\n", op, d, length, sum)
			switch r.IntN(6) {
			case 0:
				fmt.Fprintf(&b, "B[i] = %s;\n", d)
			case 1:
				fmt.Fprintf(&b, "C[i] += %s * 2;\n", d)
			case 2:
				fmt.Fprintf(&b, "s%d = s%d * 3 + (int32_t)(%s > 7 ? 5 : 2);\n", n, n, d)
			case 3:
				fmt.Fprintf(&b, "if (%s > %d) B[i] = %s;\n", d, r.IntN(1<<16), d)
			case 4: // the core takes it
				fmt.Fprintf(&b, "if (%s > 40) S[2] += D[((uint32_t)S[2]) %% (uint32_t)N];\n", d)
			case 5:
				fmt.Fprintf(&b, "B[i] = %s; s%d ^= D[i];\n", d, n)
			}
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n", n, n)
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomRows compares random functions whose streams configure the loops inside with their
// sequential meaning, in all configurations, in samples and while streams are ended;
// BITSCHED_STREAMS=10000 runs more.
func TestRandomRows(t *testing.T) {
	programs := 10
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	rows, ended := 0, uint64(0)
	configs := []string{"ns", "ns", "ns", "ns-no-sync", "ns-decouple", "ns-no-comp"}
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 12))
		text := randomRows(r)
		p, want := compiled(t, text, 300+int64(r.IntN(500)), seed)
		p.Reassociate = r.IntN(2) == 0
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			m.Streams.L2.Slices = 1
		}
		opt := multicore.Options{Machine: m, Threads: 1, Config: configs[r.IntN(len(configs))], Warm: r.IntN(2) == 0, Seed: seed, MaxCycles: 1 << 22}
		switch r.IntN(5) {
		case 0, 1, 2:
			rate := func() float64 { return []float64{0, 0.01, 0.1}[r.IntN(3)] }
			opt.Inject = &se.Inject{Alias: rate() / 10, Fault: rate(), Switch: rate() / 10}
		case 3:
			opt.Sample = &multicore.Sampling{Share: 0.3, Window: 50 + int64(r.IntN(800))}
		}
		report, err := multicore.Run(context.Background(), p, opt)
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, opt.Config, opt.Inject, text)
		for _, l := range report.Streams.Loops {
			if l.Var[0] == 'i' && l.Rows > 0 && l.Instances > 0 {
				rows++
			}
		}
		for _, n := range report.Streams.Core.Ended {
			ended += n
		}
	}
	t.Log(rows, ended)
	require.Greater(t, rows, programs/4)
	require.Positive(t, ended)
}

// TestRowMessages: a loop of rows has one request for each, and a message with what it comes
// to; breaking any is noticed.
func TestRowMessages(t *testing.T) {
	const n, text = 256, "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t X[N][16], int32_t B[N], int64_t S[1])\n{\n" +
		"inf_array(A, N); inf_array(X, N, 16); inf_array(B, N); inf_array(S, 1);\n" +
		"for (int i = 0; i < N; i++) {\nuint32_t p = (uint32_t)A[i] %% (uint32_t)N;\nint32_t d = 3;\n#pragma omp simd reduction(+: d)\nfor (int k = 0; k < 16; k++)\nd += X[p][k] * 3;\n%s\n}\n}\n"
	run := func(use string, f func(m *se.Message) bool) (*multicore.Report, error) {
		p, want := compiled(t, fmt.Sprintf(text, use), n, 1)
		m := small(t, "ooo8")
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true, Intercept: f, MaxCycles: 1 << 18})
		if err == nil {
			err = sameMemory(p, want)
		}
		return r, orEnded(r, err)
	}
	for _, use := range []string{"B[i] = d;", "S[0] += B[(uint32_t)(S[0] + d) % (uint32_t)N];"} {
		near := strings.HasPrefix(use, "B")
		r, err := run(use, nil)
		require.NoError(t, err)
		count := map[string]uint64{}
		for _, m := range r.Streams.Messages {
			count[m.Name] = m.Messages
		}
		require.EqualValues(t, n, count["request"], use)
		require.EqualValues(t, n/8, count["range"], use) // of 8 iterations each
		kinds := []se.MessageKind{se.MsgRequest, se.MsgRange, se.MsgForward}
		if near {
			require.EqualValues(t, n, count["forward"])
			require.Zero(t, count["data"])
		} else {
			require.EqualValues(t, n, count["data"])
			kinds[2] = se.MsgData
		}
		require.EqualValues(t, n*(16*2)+0, r.Streams.Bank.Operations, use)
		breakMessages(t, func(f func(m *se.Message) bool) error { _, err := run(use, f); return err }, []mutant{
			{"lost", kinds, func(*se.Message) bool { return false }},
			{"one element wrong", kinds[2:], wrongElement},
			{"of another row", kinds[:1], func(m *se.Message) bool { m.Low ^= 64; return true }},
			{"to another bank", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { m.To ^= 5; return true }},
			{"of another stream", []se.MessageKind{se.MsgRequest}, func(m *se.Message) bool { m.Stream ^= 1; return true }},
		})
	}
}
