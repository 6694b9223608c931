package cfront_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/tdfg"
)

// streamsIn counts the nodes of a program that are streams.
func streamsIn(p *tdfg.Program) int {
	n := 0
	for _, r := range p.Regions() {
		for _, x := range r.Graph.Nodes {
			if x.Stream != nil {
				n++
			}
		}
	}
	return n
}

const cutHead = `#include "bitsched.h"
void k(int N, int A[N], int B[N], int C[N][N], int D[N][N], float F[N])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N, N); inf_array(D, N, N); inf_array(F, N);
#pragma bitsched region
`

// TestConditionsOnIndices has kernels whose conditions on indices are parts of the
// lattice: none of them has a stream, and gcc agrees.
func TestConditionsOnIndices(t *testing.T) {
	var list []compiled
	for _, body := range []string{
		"for (int i = 0; i < N; i++) B[i] = i == 0 ? 7 : A[i - 1];",
		"for (int i = 0; i < N; i++) B[i] = (i > 0 ? A[i - 1] : 0) + A[i] + (i < N - 1 ? A[i + 1] : 0);",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) D[i][j] = i == 0 || j == N - 1 ? -1 : C[i][j] * 2;",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) if (i > 0 && i < N - 1 && j > 0 && j < N - 1) D[i][j] = C[i - 1][j] + C[i + 1][j] + C[i][j - 1] + C[i][j + 1]; else D[i][j] = 0;",
		"for (int i = 0; i < N; i++) { int x = i >= 3 ? A[i - 3] : 0; B[i] = x + A[i]; }",
		"for (int i = 0; i < N; i++) { int x = 0; if (i >= 3) x = A[i - 3]; if (i != 5) B[i] = x * A[i]; }",
		"for (int i = 0; i < N; i++) { if (i > 2 && A[i] > 0) B[i] = A[i - 2]; else B[i] -= 1; }",
		"{ int s = 0; for (int i = 0; i < N; i++) if (i >= 4 && i != 7) s += A[i]; B[0] = s; }",
		"for (int t = 0; t < 3; t++) for (int i = 0; i < N; i++) B[i] = t == 1 ? A[i] : i < 6 ? B[i] + t : B[i];",
		"for (unsigned i = 0; i < N; i++) B[i] = i + 2 < N ? A[i + 2] : 5;",
		"for (int i = N - 1; i >= 0; i--) B[i] = 2 * i < 9 ? A[i] : -A[i];",
		"for (int i = 0; i < N; i++) F[i] = i <= 2 ? 0.5f : F[i] * F[i];",
		"for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) C[i][j] = i == 2 ? A[j] : j == 3 ? B[i] : D[i][j];",
		"for (int i = 0; i < N; i++) B[i] = 5 - i > 2 ? A[i] : N - i <= 3 ? 7 : B[i];",
		"for (int i = 0; i < N; i++) B[i] = i > N ? 1 : i < 0 ? 2 : A[i];",
	} {
		list = append(list, compiled{source: cutHead + "\t" + body + "\n}\n", n: 16})
	}
	for i, p := range againstGCC(t, list, "-ffp-contract=off") {
		require.Zero(t, streamsIn(p), "%s\n%s", list[i].source, p)
	}
}

// TestRandomConditions compares random kernels with conditions on indices.
func TestRandomConditions(t *testing.T) {
	var list []compiled
	for seed := range uint64(30) {
		w := &words{Rand: rand.New(rand.NewPCG(seed, 9))}
		two := w.IntN(2) == 0
		vars := []string{"i"}
		if two {
			vars = append(vars, "j")
		}
		var cond func(depth int) string
		cond = func(depth int) string {
			if depth > 0 && w.IntN(2) == 0 {
				return "(" + cond(depth-1) + w.pick(" && ", " || ") + cond(depth-1) + ")"
			}
			if w.IntN(6) == 0 {
				return "A[i] > B[i]"
			}
			return fmt.Sprintf("%s %s %s", w.pick(vars...), w.pick("<", "<=", ">", ">=", "==", "!="), w.pick("0", "1", "N - 1", "N - 2", "5", "N", "-1", "3"))
		}
		value := func() string { return w.pick("A[i]", "B[i] + 1", "3", "-A[i]", "x") }
		if two {
			value = func() string { return w.pick("C[i][j]", "D[i][j] + 1", "3", "A[i]", "B[j]", "x") }
		}
		target := "B[i]"
		if two {
			target = "D[i][j]"
		}
		var body strings.Builder
		fmt.Fprintf(&body, "int x = %s;\n", strings.ReplaceAll(value(), "x", "4"))
		if w.IntN(2) == 0 {
			fmt.Fprintf(&body, "if (%s) x = %s;\n", cond(1), value())
		}
		switch w.IntN(3) {
		case 0:
			fmt.Fprintf(&body, "%s = %s ? %s : %s;\n", target, cond(1), value(), value())
		case 1:
			fmt.Fprintf(&body, "if (%s) %s = %s; else if (%s) %[2]s += %[3]s;\n", cond(2), target, value(), cond(1))
		default:
			fmt.Fprintf(&body, "%s = (%s ? %s : 1) * (%s ? %s : x);\n", target, cond(0), value(), cond(0), value())
		}
		head := "for (int i = 0; i < N; i++) {\n"
		if two {
			head = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) {\n"
		}
		list = append(list, compiled{source: cutHead + head + body.String() + "}\n}\n", n: int64(3 + w.IntN(9))})
	}
	tensors := 0
	for _, p := range againstGCC(t, list, "-ffp-contract=off") {
		if streamsIn(p) == 0 {
			tensors++
		}
	}
	require.Greater(t, tensors, 20)
	t.Logf("%d of %d without streams", tensors, len(list))
}
