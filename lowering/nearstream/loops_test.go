package nearstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/lowering/nearstream"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// loops are functions in C and what section III.B says of them, made by hand: for each
// stream its kind, pattern, place, operations and what it sends to the core in each
// iteration; for each loop in another one whether it is nested or vanishes.
var loops = []struct {
	name, about string
	params      string // behind int N
	arrays      string // inf_array
	body        string
	want        string
}{
	{
		"set", "a store of a constant needs nothing from the core (Fig. 2b, memset)",
		"float A[N]", "A,N", "for (int i = 0; i < N; i++) A[i] = 0;",
		"A.1 store affine near",
	},
	{
		"add", "operands are sent to the bank of the result (Fig. 2b)",
		"const float A[N], const float B[N], float C[N]", "A,N;B,N;C,N", "for (int i = 0; i < N; i++) C[i] = A[i] + B[i];",
		"A.1 load affine near; B.1 load affine near; C.1 store multi-operand near ops 1",
	},
	{
		"sum", "a sum in order follows the data (Fig. 2a)",
		"const float A[N], float S[1]", "A,N;S,1", "float s = 0; for (int i = 0; i < N; i++) s += A[i]; S[0] = s;",
		"A.1 load affine near; s.2 reduce affine near ops 1",
	},
	{
		"update", "a load and the store to the same address are one update",
		"float A[N], float c", "A,N", "for (int i = 0; i < N; i++) A[i] += c;",
		"A.1 rmw affine near ops 1",
	},
	{
		"key", "a closure that shrinks the value belongs to the load, whose result the core takes",
		"const uint32_t A[N], int32_t S[16]", "A,N;S,16",
		"uint32_t s = 0; for (int i = 0; i < N; i++) { uint8_t k = (A[i] >> 12) & 255; s = s * 3 + k; S[s & 15] = 1; }",
		"A.1 load affine near ops 2 -> uint8; S.1 store none core; s.2 reduce affine core",
	},
	{
		"histogram", "what an address follows from is computed with its base, and the update goes to the bank (Fig. 2c)",
		"const uint32_t A[N], uint32_t H[256]", "A,N;H,256",
		"for (int i = 0; i < N; i++) H[(A[i] >> 12) & 255]++;",
		"A.1 load affine near ops 2; H.1 rmw indirect near ops 1",
	},
	{
		"gather", "an indirect load whose value an affine store takes",
		"const int32_t I[N], const float A[N], float B[N]", "I,N;A,N;B,N", "for (int i = 0; i < N; i++) B[i] = A[I[i]];",
		"I.1 load affine near; A.1 load indirect near; B.1 store multi-operand near",
	},
	{
		"scatter", "C[B[i]] += A[i] is not eligible: A cannot compute the bank (II.B)",
		"const int32_t B[N], const float A[N], float C[N]", "B,N;A,N;C,N", "for (int i = 0; i < N; i++) C[B[i]] += A[i];",
		"B.1 load affine address -> int32; A.1 load affine address -> fp32; C.1 rmw indirect core",
	},
	{
		"own", "C[A[i]] += A[i] is: the base is the operand (II.B)",
		"const int32_t A[N], int32_t C[N]", "A,N;C,N", "for (int i = 0; i < N; i++) C[A[i]] += A[i];",
		"A.1 load affine near; C.1 rmw indirect near ops 1",
	},
	{
		"indirectsum", "integers may be summed bank by bank",
		"const int32_t I[N], const int32_t A[N], int32_t S[1]", "I,N;A,N;S,1", "int s = 0; for (int i = 0; i < N; i++) s += A[I[i]]; S[0] = s;",
		"I.1 load affine near; A.1 load indirect near; s.2 reduce indirect near ops 1",
	},
	{
		"floatsum", "sums of floats over banks would change their order",
		"const int32_t I[N], const float A[N], float S[1]", "I,N;A,N;S,1", "float s = 0; for (int i = 0; i < N; i++) s += A[I[i]]; S[0] = s;",
		"I.1 load affine near; A.1 load indirect address -> fp32; s.2 reduce indirect core",
	},
	{
		"anyorder", "unless the program says that they may",
		"const int32_t I[N], const float A[N], float S[1]", "I,N;A,N;S,1",
		"float s = 0;\n#pragma omp simd reduction(+: s)\nfor (int i = 0; i < N; i++) s += A[I[i]]; S[0] = s;",
		"I.1 load affine near; A.1 load indirect near; s.2 reduce indirect near ops 1",
	},
	{
		"list", "a list is followed near the L3, with the sum of its values and its end (Fig. 2d)",
		"const int32_t next[N], const int32_t v[N], int32_t S[1]", "next,N;v,N;S,1",
		"int s = 0; for (int p = 0; p >= 0; p = next[p]) s += v[p]; S[0] = s;",
		"v.1 load pointer-chasing near; next.1 load pointer-chasing near ops 1; s.2 reduce pointer-chasing near ops 1",
	},
	{
		"prefix", "a sum whose every value is needed is not reduced remotely, and what writes it takes it from the core",
		"const int32_t A[N], int32_t B[N]", "A,N;B,N", "int s = 0; for (int i = 0; i < N; i++) { s += A[i]; B[i] = s; }",
		"A.1 load affine address -> int32; B.1 store multi-operand core; s.2 reduce affine core",
	},
	{
		"twice", "what two stores take is computed once, with the load",
		"const float A[N], float B[N], float C[N]", "A,N;B,N;C,N", "for (int i = 0; i < N; i++) { float x = A[i] * A[i]; B[i] = x; C[i] = x; }",
		"A.1 load affine near ops 1; B.1 store multi-operand near; C.1 store multi-operand near",
	},
	{
		"stencil", "each neighbour is a stream, three loops are one configuration",
		"const float A[N][N], float B[N][N]", "A,N,N;B,N,N",
		"for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) B[i][j] = A[i][j] + A[i - 1][j] + A[i][j + 1];",
		"A.1 load affine near dims 2; A.2 load affine near dims 2; A.3 load affine near dims 2; B.1 store multi-operand near ops 2 dims 2 | j vanishes",
	},
	{
		"rows", "rows whose ends are in memory: inner streams are configured by outer ones",
		"const int32_t row[N], const int32_t col[N], int32_t C[N]", "row,N;col,N;C,N",
		"for (int i = 0; i < N - 1; i++) for (int e = row[i]; e < row[i + 1]; e++) C[col[e]] += 1;",
		"row.1 load affine near; row.2 load affine near; col.1 load affine near; C.1 rmw indirect near ops 1 | e vanishes",
	},
	{
		"counter", "a value of the core that changes from iteration to iteration cannot be an operand or an address",
		"const int32_t A[N], int32_t B[N]", "A,N;B,N", "int n = 0; for (int i = 0; i < N; i++) if (A[i] > 0) B[n++] = A[i];",
		"A.1 load affine address -> int32; B.1 store none core; n.2 reduce affine core",
	},
	{
		"condition", "a condition of streams is part of the store",
		"const int32_t A[N], int32_t B[N]", "A,N;B,N", "for (int i = 0; i < N; i++) if (A[i] > 0) B[i] = 7;",
		"A.1 load affine near ops 1; B.1 store multi-operand near",
	},
	{
		"atomic", "a relaxed atomic operation is a stream, and what it found goes to the core",
		"const int32_t I[N], int32_t A[N], int32_t S[1]", "I,N;A,N;S,1",
		"int s = 1; for (int i = 0; i < N; i++) { int old = __atomic_fetch_add(&A[I[i]], 1, __ATOMIC_RELAXED); s = s * 31 + old * s; } S[0] = s;",
		"I.1 load affine near; A.1 rmw indirect near ops 1 -> int32; s.2 reduce indirect core",
	},
	{
		"nine", "a computation has at most eight inputs",
		"const int32_t A[N], int32_t B[N]", "A,N;B,N",
		"for (int i = 4; i < N - 4; i++) B[i] = A[i] + A[i - 1] + A[i + 1] + A[i - 2] + A[i + 2] + A[i - 3] + A[i + 3] + A[i - 4] + A[i + 4];",
		"A.1 load affine address -> int32; A.2 load affine address -> int32; A.3 load affine address -> int32; A.4 load affine address -> int32; A.5 load affine address -> int32; " +
			"A.6 load affine address -> int32; A.7 load affine address -> int32; A.8 load affine address -> int32; A.9 load affine address -> int32; B.1 store multi-operand core",
	},
	{
		"two", "an address of two streams is none of theirs",
		"const int32_t I[N], const int32_t J[N], int32_t A[N]", "I,N;J,N;A,N", "for (int i = 0; i < N; i++) A[I[i] + J[i]] = 1;",
		"I.1 load affine address -> int32; J.1 load affine address -> int32; A.1 store none core",
	},
}

// source is a function in C.
func source(name, params, arrays, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include \"bitsched.h\"\nvoid %s(int N, %s)\n{\n", name, params)
	for _, a := range strings.Split(arrays, ";") {
		fmt.Fprintf(&b, "inf_array(%s);\n", strings.ReplaceAll(a, ",", ", "))
	}
	return b.String() + body + "\n}\n"
}

func analyze(t *testing.T, name, text string) *nearstream.Plan {
	g, err := cfront.CompileWhole(context.Background(), name+".c", text, cfront.Options{})
	require.NoError(t, err, name)
	p, err := nearstream.Analyze(g)
	require.NoError(t, err, name)
	return p
}

// describe is a plan in the form of the table.
func describe(p *nearstream.Plan) string {
	var list, nests []string
	for _, s := range p.Streams {
		place := map[nearstream.Place]string{nearstream.InCore: "core", nearstream.AddressNear: "address", nearstream.Near: "near"}[s.Place]
		text := fmt.Sprintf("%s %s %s %s", s.Name, s.Kind, s.Pattern(), place)
		if len(s.Ops) > 0 {
			text += fmt.Sprintf(" ops %d", len(s.Ops))
		}
		if s.Dims > 1 {
			text += fmt.Sprintf(" dims %d", s.Dims)
		}
		if s.Result != scalar.Invalid {
			text += " -> " + s.Result.String()
		}
		list = append(list, text)
	}
	for _, l := range p.Loops {
		switch {
		case l.Decoupled:
			nests = append(nests, l.Source.Var+" vanishes")
		case l.Nested:
			nests = append(nests, l.Source.Var+" nested")
		}
	}
	text := strings.Join(list, "; ")
	if len(nests) > 0 {
		text += " | " + strings.Join(nests, "; ")
	}
	return text
}

func TestLoops(t *testing.T) {
	require.GreaterOrEqual(t, len(loops), 20)
	for _, l := range loops {
		p := analyze(t, l.name, source(l.name, l.params, l.arrays, l.body))
		assert.Equal(t, l.want, describe(p), "%s: %s\n%s", l.name, l.about, p.Graph)
		for _, s := range p.Streams {
			require.Equal(t, s.Place == nearstream.Near, s.Why == "", "%s: %s says why it is not better: %q", l.name, s.Name, s.Why)
			for _, part := range s.Parts {
				if part.Kind != stream.Reduce {
					require.Same(t, s, p.Of(part))
				}
			}
		}
	}
}
