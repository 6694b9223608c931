package cfront_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const blockHead = `#include "bitsched.h"
void k(int N, int X[5*N], int Y[5*N], int Z[5*N], int P[5*N][5*N], int Q[5*N][5*N])
{
	inf_array(X, 5*N); inf_array(Y, 5*N); inf_array(Z, 5*N); inf_array(P, 5*N, 5*N); inf_array(Q, 5*N, 5*N);
#pragma bitsched region
`

// TestBlocks has loops over blocks: those of the first list become tensors over all blocks, with
// no loop of the host but k, and those of the second one, where elements need each other or the
// block is used, stay. gcc agrees with both.
func TestBlocks(t *testing.T) {
	apart := []string{
		"for (int b = 1; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m]; for (int m = 4*b; m < 4*b+4; m++) Z[m] = X[m]; }",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] += 1; Z[b] = 3; }",
		"for (int b = 0; b < 4; b++) for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m] + 1;",
		"for (int b = 0; b < 32; b += 8) for (int m = b; m < b+8; m++) Y[m] = X[m] + 1;",
		"for (int b = 1; b < 4; b++) for (int m = 8*b-3; m < 8*b+5; m++) Y[m] = X[m] + Z[3];",
		"for (int b = 0; b < 4; b++) for (int k = 0; k < 40; k++) for (int m = 8*b; m < 8*b+8; m++) Y[m] += X[k] * P[k][m];",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = 0; for (int k = 0; k < 40; k++) for (int m = 8*b; m < 8*b+8; m++) Y[m] += X[k] * P[k][m]; for (int m = 8*b; m < 8*b+8; m++) Y[m] = Y[m] < 0 ? 0 : Y[m]; }",
		"for (int b = 0; b < 4; b++) for (int c = 0; c < 2; c++) for (int k = 0; k < 40; k++) for (int m = 8*b; m < 8*b+8; m++) for (int n = 16*c; n < 16*c+16; n++) Q[m][n] += P[m][k] * X[k];",
		"for (int b = 0; b < 4; b++) for (int m = 8*b; m < 8*b+8; m++) { int d = X[m] * 2; Y[m] = d + 1; }",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m]; for (int m = 8*b+1; m < 8*b+9; m++) Z[m] = X[m-1]; }",
	}
	stay := []string{
		"{ int s = 1; for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) s = s * 3 + X[m]; for (int m = 8*b; m < 8*b+8; m++) Y[m] = s; } }",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] += Z[0]; Z[0] = Z[0] * 3 + 1; }",
		"for (int b = 1; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m]; for (int m = 4*b; m < 4*b+4; m++) Z[m] = Y[2*m]; for (int m = 8*b; m < 8*b+8; m++) Y[m] = 0; }",
		"for (int b = 1; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] += Z[m-8]; Z[8*b] = Y[8*b]; }",
		"for (int b = 0; b < 3; b++) for (int k = 0; k < 3; k++) for (int m = 4*b+k; m < 4*b+k+4; m++) Z[m] = X[k];",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m]; for (int m = 8*b; m < 8*b+8; m++) Z[m] = Y[8*b]; }",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b+1; m < 8*b+9; m++) Y[m] += X[m]; for (int m = 8*b+1; m < 8*b+9; m++) X[m-1] = Y[m]; }",
		"for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m+1]; for (int m = 8*b; m < 8*b+8; m++) X[m] = Y[m+1]; }",
		"for (int b = 0; b < 4; b++) for (int m = 8*b; m < 8*b+8; m++) Y[m] = X[m] + b;",
		"for (int b = 0; b < 4; b++) for (int m = 8*b; m < 8*b+9; m++) Y[m] += X[m];",
		"{ int s = 0; for (int b = 0; b < 4; b++) { for (int m = 8*b; m < 8*b+8; m++) s = s * 3 + X[m]; } Y[0] = s; }",
	}
	var list []compiled
	for _, body := range append(apart, stay...) {
		list = append(list, compiled{source: blockHead + "\t" + body + "\n}\n", n: 8, bound: true})
	}
	for i, p := range againstGCC(t, list) {
		host := strings.Contains(p.String(), "for b in") || strings.Contains(p.String(), "for c in")
		if i < len(apart) {
			require.False(t, host, "%s\n%s", list[i].source, p)
			require.Zero(t, streamsIn(p), "%s\n%s", list[i].source, p)
		} else {
			require.True(t, host || streamsIn(p) > 0, "%s\n%s", list[i].source, p)
		}
	}
}

// TestRandomBlocks compares random loops over blocks, some of which need their order.
func TestRandomBlocks(t *testing.T) {
	var list []compiled
	for seed := range uint64(80) {
		w := &words{Rand: rand.New(rand.NewPCG(seed, 21))}
		size := 2 + w.IntN(7)
		near := func(v string) string { // mostly the element itself
			if w.IntN(3) > 0 {
				return v
			}
			return fmt.Sprintf("%s+%d", v, 1+w.IntN(3))
		}
		element := func(k bool) string {
			switch {
			case k && w.IntN(2) == 0:
				return fmt.Sprintf("%s[k][%s]", w.pick("P", "Q"), near("m"))
			case k && w.IntN(3) == 0:
				return fmt.Sprintf("%s[k]", w.pick("X", "Z"))
			}
			return fmt.Sprintf("%s[%s]", w.pick("X", "Y", "Z"), near("m"))
		}
		var body strings.Builder
		fmt.Fprintf(&body, "\tfor (int b = 0; b < %d; b++) {\n", 36/size)
		for range 1 + w.IntN(3) {
			k := w.IntN(2) == 0
			if k {
				body.WriteString("\t\tfor (int k = 0; k < 5; k++)\n")
			}
			fmt.Fprintf(&body, "\t\tfor (int m = %d*b; m < %d*b+%d; m++) {\n", size, size, size)
			for range 1 + w.IntN(2) {
				target := fmt.Sprintf("%s[%s]", w.pick("Y", "Y", "Z"), near("m"))
				if k && w.IntN(3) == 0 {
					target = fmt.Sprintf("Q[k][%s]", near("m"))
				}
				fmt.Fprintf(&body, "\t\t\t%s %s %s %s %s;\n", target, w.pick("=", "+="), element(k), w.pick("+", "-", "^"), element(k))
			}
			body.WriteString("\t\t}\n")
		}
		list = append(list, compiled{n: 8, bound: true, source: blockHead + body.String() + "\t}\n}\n"})
	}
	undone := 0
	for _, p := range againstGCC(t, list) {
		if !strings.Contains(p.String(), "for b in") && streamsIn(p) == 0 {
			undone++
		}
	}
	t.Logf("%d of %d without blocks", undone, len(list))
	require.Greater(t, undone, 10)
	require.Less(t, undone, 70)
}
