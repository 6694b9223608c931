package cfront_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
	"github.com/bitsched/bitsched/tdfg/cfront"
)

func compile(source string, defines map[string]int64) (*tdfg.Program, error) {
	return cfront.Compile(context.Background(), "k.c", source, cfront.Options{Defines: defines})
}

// TestBroken has the messages for kernels that C programmers may write and that are
// outside of the subset.
func TestBroken(t *testing.T) {
	for name, want := range map[string]string{
		"nonaffine": "nonaffine.c:9:23: a bound of the loop that is not affine: supported are sums of constants, parameters and outer loop variables, each times a constant",
		"alias":     "alias.c:6:8: pointer B, a second name of array A: supported are arrays that are parameters, each under one name",
		"goto":      "goto.c:9:4: goto: supported are for loops, if, assignments and declarations",
		"pointer":   "pointer.c:9:3: operator *: pointers and their arithmetic are not supported, write A[i]",
		"missing":   "missing.c:8:3: array B has no inf_array: expected inf_array(B, ...) with its sizes in front of the region",
		"modulo":    "modulo.c:8:10: % of float: supported for floating-point numbers are + - * / and comparisons",
		"bounds":    "bounds.c:9:12: subscript 4 of B is out of bounds, expected at least 0 and less than 4",
		"recursion": "recursion.c:9:3: twice calls itself: recursion is not supported",
	} {
		file := name + ".c"
		source, err := os.ReadFile(filepath.Join("testdata", "broken", file))
		require.NoError(t, err)
		_, err = cfront.Compile(context.Background(), file, string(source), cfront.Options{})
		var e *cfront.Error
		require.True(t, errors.As(err, &e), "%s: %v", name, err)
		require.EqualError(t, err, want)
	}
}

// region returns a kernel with arrays A, B of N floats, C and D of N x M, I of N
// int32 and a body.
func region(clause, body string) string {
	return `#include "bitsched.h"
void k(int N, int M, float s, float A[N], float B[N], float C[N][M], float D[N][M], int32_t I[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N, M); inf_array(D, N, M); inf_array(I, N);
#pragma bitsched region ` + clause + "\n" + body + "\n}\n"
}

// TestRefused has messages for what else is outside of the subset.
func TestRefused(t *testing.T) {
	for body, want := range map[string]string{
		"while (N) ;":        "k.c:6:1: while loop: supported are for loops such as for (int i = 0; i < N; i++)",
		"for (;;) A[0] = 1;": "k.c:6:1: a loop without a start, expected for (i = 0; i < N; i++)",
		"for (int i = 0; i < N; i *= 2) A[i] = 1;":                            "k.c:6:24: expected a step such as i++, i--, i += 2 or i -= 2",
		"for (int i = 0; i > N; i++) A[i] = 1;":                               "k.c:6:17: a condition that a step of 1 does not end at, expected a condition such as i < N",
		"for (int i = 0; i < N; i++) A[i + 1] = 1;":                           "k.c:6:31: subscript i+1 of A is out of bounds: it is N at its greatest, expected less than N",
		"for (int i = 0; i < N; i++) A[i - 1] = 1;":                           "k.c:6:31: subscript i-1 of A is out of bounds: it is -1 at its least, expected at least 0",
		"for (int i = 0; i < M; i++) A[i] = 1;":                               "k.c:6:29: cannot tell whether [0,M) of A, which has [0,N), is inside for all sizes: bind sizes with -D NAME=VALUE, or write bounds in terms of the sizes of the array",
		"for (int i = 0; i < N; i++) A[i] = A[i] * 0.5;":                      "k.c:6:43: arithmetic of type double: write 0.5f, or convert to double first",
		"for (int i = 0; i < N; i++) { float x = 1; float x = 2; A[i] = x; }": "k.c:6:50: x is declared twice in one block",
		"for (int i = 0; i < N; i++) A[i] = sin(A[i]);":                       "k.c:6:36: a call of sin: supported are fminf, fmaxf, sqrtf, fabsf, fmaf, expf, abs and functions of the file",
		"for (int i = 0; i < N; i++) A[i] = C[i];":                            "k.c:6:36: 1 subscripts of C, which has 2 dimensions",
		"for (int i = 0; i < N; i++) A[i] = x;":                               "k.c:6:36: x is not declared",
		"for (int i = 0; i < N; i++) i = 2;":                                  "k.c:6:29: i is changed in its loop, expected only the loop to change it",
		"for (int i = 0; i < N; i++) { long double u = 1; }":                  "k.c:6:31: type long double: supported are int8_t to int64_t, uint8_t to uint64_t, int, long, float, double, fp16 and bf16",
		"for (int i = 0; i < N; i++) I[i] = 1 / 0;":                           "k.c:6:36: a division by zero, which C does not define",
		"for (int i = 0; i < N; i++) I[i] = I[i] % 0u;":                       "k.c:6:36: a division by zero, which C does not define",
		"for (int i = 0; i < N; i++) I[i] = 1 << 40;":                         "k.c:6:36: a shift by 40 of int32_t, which C defines for 0 to 31: convert the operand first, as in (int64_t)x << 40",
		"for (int i = 0; i < N; i++) I[i] = I[i] >> -1;":                      "k.c:6:36: a shift by -1 of int32_t, which C defines for 0 to 31: convert the operand first, as in (int64_t)x << -1",
		"for (unsigned i = N - 5; i < N; i++) A[i] = 1;":                      "k.c:6:1: loop variable i is uint32_t and begins with what may be less than 0, expected int or int64_t",
		"for (unsigned i = N - 1; i >= 0; i--) A[i] = 1;":                     "k.c:6:1: loop variable i is uint32_t and counts down: it is never less than 0, expected int or int64_t",
		"for (int i = 0; i < N; i++) I[i] = 18446744073709551615 > 1;":        "k.c:6:36: number 18446744073709551615 is larger than those of int64_t, expected 18446744073709551615U",
		"for (int i = 0; i < N; i++) A[i] = (B[i] = 1);":                      "k.c:6:37: an assignment inside an expression, expected a statement of its own",
		"for (int i = 0; i < N; i++) { if (A[i] > 0) break; }":                "k.c:6:45: break: supported are for loops, if, assignments and declarations",
		"s = 1;": "k.c:6:1: parameter s is changed, expected a local variable or an element of an array",
		"A[0] =": "k.c:7:1: unexpected '}', expected unary expression",
	} {
		_, err := compile(region("", body), nil)
		require.EqualError(t, err, want, body)
	}
	_, err := compile(region("fast", "A[0] = 1;"), nil)
	require.EqualError(t, err, "k.c:5:25: clause fast of a region, expected reassociate or nothing")
	_, err = compile(region("", "A[0] = 1;"), map[string]int64{"Q": 1})
	require.EqualError(t, err, "k.c:2:6: -D Q=1: k has no parameter Q of an integer type")
	for _, name := range []string{"uint8_t", "int16_t"} {
		_, err = compile(region("", "for ("+name+" i = 0; i < N; i++) A[i] = 1;"), nil)
		require.EqualError(t, err, "k.c:6:1: the loop's variable i is "+name+", expected int or int64_t")
	}
	_, err = compile("#include <unistd.h>\n", nil)
	require.EqualError(t, err, "k.c:1:10: include file not found: <unistd.h>, expected bitsched.h, assert.h, float.h, limits.h, math.h, omp.h, stdbool.h, stddef.h, stdint.h, stdio.h, stdlib.h, string.h, time.h or a file beside k.c")
	_, err = compile(strings.Repeat(" ", cfront.MaxSource+1), nil)
	require.EqualError(t, err, "k.c: more than 65536 bytes, expected at most so many")
	_, err = compile("int x;", nil)
	require.EqualError(t, err, "k.c: no region: expected #pragma bitsched region in front of the loops of the kernel")
}

// TestHostile has sources that parsers run for ever on, or run out of stack.
func TestHostile(t *testing.T) {
	for _, source := range []string{
		"#include \"nothere.h\"\n*B = A;\n", "*", "int *", "#include\"0\\", "'\\", "\"\\\n", "/*", "void k(", "{{{{", "\x00", "\xff",
		strings.Repeat("(", 50000), strings.Repeat("!", 60000), strings.Repeat("if(1)", 10000), strings.Repeat(" ", 70000),
		"#define A B B\n#define B A A\nA", "#pragma bitsched region", "_Pragma(\"bitsched region\")",
		region("", "A[0] = "+strings.Repeat("-", 20000)+"1;"),
	} {
		_, err := compile(source, nil)
		var e *cfront.Error
		require.True(t, errors.As(err, &e), "%.20q: %v", source, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := cfront.Compile(ctx, "k.c", region("", "A[0] = 1;"), cfront.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestBrackets says where brackets are wrong, and that macros which expand to too much
// are.
func TestBrackets(t *testing.T) {
	bomb := "#define A0 x x\n"
	for i := range 30 {
		bomb += fmt.Sprintf("#define A%d A%d A%d\n", i+1, i, i)
	}
	for source, want := range map[string]string{
		"int a = " + strings.Repeat("(", 30000) + "1" + strings.Repeat(")", 30000) + ";": "k.c:1:209: (, expected at most 200 brackets within each other",
		"void k(int N)\n{\n  N[3;\n}\n":                "k.c:4:1: }, expected ]",
		"void k(int N) // (\n{ /* [ */ N = (1;\n":      "k.c:2:15: (, expected ) after it",
		"void k(int N)\n}\n":                           "k.c:2:1: }, expected an opening bracket before it",
		"#define P (\n#define Q )\nint a = P 1; int Q": "k.c:3:12: unexpected ';', expected ')'",
		"#define P f(x\nint a = P;\n":                  "k.c:1:12: (, expected ) after it",
		bomb + "int f() { A30; }\n":                    "k.c:32:11: macros expand to more than 262144 tokens, expected at most so many",
	} {
		_, err := compile(source, nil)
		require.EqualError(t, err, want, "%.40s", source)
	}
}

// TestGrowth has kernels that are small and would be large if what a variable stands
// for were written out, or if all places of arrays were tried.
func TestGrowth(t *testing.T) {
	var inline, index, params, arrays strings.Builder
	inline.WriteString("for (int i = 1; i < N; i++) { float t0 = A[i - 1];\n")
	index.WriteString("for (int i = 0; i < 1; i++) { const int j0 = i;\n")
	for i := range 60 {
		fmt.Fprintf(&inline, "float t%d = t%d * t%d;\n", i+1, i, i)
		fmt.Fprintf(&index, "const int j%d = j%d + j%d - i;\n", i+1, i, i)
	}
	inline.WriteString("A[i] = t60; }")
	index.WriteString("A[j60] = 1; }")
	for _, body := range []string{inline.String(), index.String()} {
		p, err := compile(region("", body), nil)
		require.NoError(t, err)
		require.Less(t, len(p.String()), 40000)
	}
	for i := range 40 {
		fmt.Fprintf(&params, ", float A%d[N][N][N]", i)
		fmt.Fprintf(&arrays, "inf_array(A%d, N, N, N);\n", i)
	}
	arrays.WriteString("#pragma bitsched region\n{\n")
	for i := range 39 {
		fmt.Fprintf(&arrays, "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) A%d[0][i][j] = A%d[i][0][j];\n", i, i+1)
	}
	_, err := compile("#include \"bitsched.h\"\nvoid k(int N"+params.String()+")\n{\n"+arrays.String()+"A0[0][0][0] = 0;\n}\n}\n", nil)
	require.NoError(t, err)
}

// TestNames compiles a kernel whose names are words of the text form of streams.
func TestNames(t *testing.T) {
	p, err := compile(`#include "bitsched.h"
void k(int N, const int8_t in[N], int8_t load[N], int32_t index[N])
{
	inf_array(in, N); inf_array(load, N); inf_array(index, N);
#pragma bitsched region
	for (int i = 0; i < N; i++)
		load[index[i]] += in[i];
}
`, nil)
	require.NoError(t, err)
	back, err := tdfg.ParseProgram("k.tdfg", p.String())
	require.NoError(t, err)
	require.Equal(t, p.String(), back.String())
}

// TestValuesFitTypes compiles with values at and past the ends of what each type of
// C holds: of a size that gets one, of one that stays a symbol, of a number that is
// computed with, and of one that nothing uses.
func TestValuesFitTypes(t *testing.T) {
	for _, c := range []struct {
		typ    string
		name   string // in messages
		lo, hi int64
	}{
		{"signed char", "int8_t", -1 << 7, 1<<7 - 1},
		{"int16_t", "int16_t", -1 << 15, 1<<15 - 1},
		{"int", "int32_t", -1 << 31, 1<<31 - 1},
		{"long", "int64_t", -1 << 63, 1<<63 - 1},
	} {
		source := fmt.Sprintf("#include \"bitsched.h\"\nvoid f(int N, %s T, %s d, %s no, int A[N]) {\ninf_array(A, N);\n#pragma bitsched region\nfor (int t = 0; t < T; t++) for (int i = 0; i < N; i++) A[i] += d;\n}", c.typ, c.typ, c.typ)
		try := func(name string, v int64) {
			for _, opt := range []cfront.Options{{Defines: map[string]int64{name: v}}, {Values: map[string]int64{name: v}}} {
				_, err := cfront.Compile(context.Background(), "k.c", source, opt)
				if v >= c.lo && v <= c.hi {
					require.NoError(t, err, "%s %s=%d", c.typ, name, v)
				} else {
					require.ErrorContains(t, err, fmt.Sprintf("-D %s=%d: %s does not hold that number", name, v, c.name))
				}
			}
		}
		for _, name := range []string{"d", "no"} {
			try(name, c.lo)
			try(name, c.hi)
			if c.hi < 1<<62 {
				try(name, c.lo-1)
				try(name, c.hi+1)
			}
		}
		try("T", 5)
		if c.hi < 1<<62 {
			try("T", c.hi+1)
		}
	}
}
