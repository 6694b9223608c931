package cfront_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// wgen makes whole functions at random: loops of all kinds with break and continue, local
// arrays and structures, pointers, atomic updates and calls. They end, and subscripts are
// inside of arrays, whatever values have.
type wgen struct {
	r      *rand.Rand
	b      strings.Builder
	fresh  int
	depth  int
	loops  int
	budget int
	ints   []string // variables that may be assigned
	reads  []string // and those that may only be read
	point  bool     // there is a structure p
}

func (g *wgen) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *wgen) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.depth) + fmt.Sprintf(format, args...) + "\n")
}

// index returns a subscript of an array of 16 elements.
func (g *wgen) index() string { return "(" + g.expr(1) + ") & 15" }

// lvalue returns something to assign to.
func (g *wgen) lvalue() string {
	switch k := g.r.IntN(6); {
	case k < 3 && len(g.ints) > 0:
		return g.pick(g.ints...)
	case k == 3:
		return "T[" + g.index() + "]"
	case k == 4 && g.point:
		return g.pick("p.x", "p.y", "p.z[1]", "q->x", "q->y")
	}
	return g.pick("A", "B", "C") + "[" + g.index() + "]"
}

func (g *wgen) expr(depth int) string {
	if depth == 0 || g.r.IntN(4) == 0 {
		switch g.r.IntN(5) {
		case 0:
			return fmt.Sprint(g.r.IntN(100) - 20)
		case 1:
			return g.pick("A", "B", "C", "T") + fmt.Sprintf("[%d]", g.r.IntN(16))
		case 2:
			if g.point {
				return g.pick("p.x", "p.y", "p.z[0]", "q->y", "S[3].x")
			}
		}
		if all := append(append([]string{}, g.ints...), g.reads...); len(all) > 0 {
			return g.pick(all...)
		}
		return fmt.Sprint(g.r.IntN(9))
	}
	x, y := g.expr(depth-1), g.expr(depth-1)
	switch g.r.IntN(12) {
	case 0:
		return fmt.Sprintf("(%s ? %s : %s)", g.cond(), x, y)
	case 1:
		return fmt.Sprintf("(%s / ((%s & 7) + 1))", x, y)
	case 2:
		return fmt.Sprintf("(%s %% ((%s & 7) + 2))", x, y)
	case 3:
		return fmt.Sprintf("((%s) %s (%s & 3))", x, g.pick("<<", ">>"), y)
	case 4:
		return fmt.Sprintf("(%s)(%s)", g.pick("int8_t", "uint8_t", "uint16_t", "int64_t", "unsigned"), x)
	case 5:
		return fmt.Sprintf("least(%s, %s)", x, y)
	case 6:
		return fmt.Sprintf("%s[%s]", g.pick("A", "B", "T"), g.index())
	}
	return fmt.Sprintf("(%s %s %s)", x, g.pick("+", "-", "*", "&", "|", "^"), y)
}

func (g *wgen) cond() string {
	x := fmt.Sprintf("%s %s %s", g.expr(1), g.pick("<", "<=", ">", "==", "!="), g.expr(1))
	switch g.r.IntN(5) {
	case 0:
		return x + " && " + g.expr(1)
	case 1:
		return "!(" + x + ") || " + g.expr(0) + " > 3"
	}
	return x
}

func (g *wgen) name(base string) string {
	g.fresh++
	return fmt.Sprintf("%s%d", base, g.fresh)
}

func (g *wgen) block(n int) {
	ints, reads := g.ints, g.reads
	g.depth++
	for range 1 + g.r.IntN(n) {
		g.stmt()
	}
	g.depth--
	g.ints, g.reads = ints, reads
	g.line("}")
}

func (g *wgen) stmt() {
	if g.budget--; g.budget < 0 {
		g.line("A[3] += 1;")
		return
	}
	switch k := g.r.IntN(20); {
	case k < 6:
		g.line("%s %s %s;", g.lvalue(), g.pick("=", "=", "+=", "-=", "^=", "|="), g.expr(2))
	case k == 6:
		v := g.name("v")
		g.line("%s %s = %s;", g.pick("int", "unsigned", "int64_t", "int16_t", "uint8_t"), v, g.expr(2))
		g.ints = append(g.ints, v)
	case k == 7:
		g.line("if (%s) {", g.cond())
		g.block(3)
		if g.r.IntN(2) == 0 {
			g.line("else {")
			g.block(2)
		}
	case k < 11 && g.loops < 3:
		g.loop()
	case k == 11:
		g.line("%s%s;", g.lvalue(), g.pick("++", "--"))
	case k == 12:
		g.line("%s = __atomic_fetch_%s(&%s[%s], %s, __ATOMIC_RELAXED);", g.lvalue(), g.pick("add", "sub", "or", "and", "xor"), g.pick("A", "B", "C"), g.index(), g.expr(1))
	case k == 13:
		g.line("#pragma omp atomic capture")
		g.line("%s = A[%d] += %s;", g.pick("B[1]", "C[2]"), g.r.IntN(16), g.expr(1))
	case k == 14:
		v := g.name("t")
		g.line("int %s[4] = {%s, %s};", v, g.expr(1), g.expr(0))
		g.line("%s[(%s) & 3] += %s[1];", v, g.expr(1), v)
		g.line("%s = %s[2] + %s[(%s) & 3];", g.lvalue(), v, v, g.expr(1))
	case k == 15 && g.point:
		g.line("%s;", g.pick("q = &S[(unsigned)"+g.expr(1)+" % 5]", "p = *q", "S[2] = p", "p = S[(unsigned)"+g.expr(1)+" % 5]", "q = q == &S[4] ? S : q + 1"))
	case k == 16:
		g.line("bump(&A[%s], %s);", g.index(), g.expr(1))
	case k == 17:
		g.line("%s = (int)(D[%s] * %s);", g.lvalue(), g.index(), g.pick("0.5", "1.5f", "2"))
		g.line("D[%d] = D[%s] * 0.5 + (%s & 15);", g.r.IntN(16), g.index(), g.expr(1))
	default:
		g.line("B[%s] = %s;", g.index(), g.expr(2))
	}
}

func (g *wgen) loop() {
	g.loops++
	defer func() { g.loops-- }()
	v := g.name("i")
	jump := func() {
		if g.r.IntN(3) == 0 {
			g.line("\tif (%s) %s;", g.cond(), g.pick("break", "continue"))
		}
	}
	switch g.r.IntN(4) {
	case 0:
		g.line("for (int %s = %d; %s < %d; %s += %d) {", v, g.r.IntN(3), v, 3+g.r.IntN(5), v, 1+g.r.IntN(2))
		g.reads = append(g.reads, v)
		jump()
		g.block(4)
		g.reads = g.reads[:len(g.reads)-1]
	case 1:
		g.line("int %s = %d;", v, g.r.IntN(4))
		g.reads = append(g.reads, v)
		g.line("while (%s++ < 6 && (%s)) {", v, g.cond())
		jump()
		g.block(3)
	case 2:
		g.line("int %s = 5;", v)
		g.reads = append(g.reads, v)
		g.line("do {")
		jump()
		ints, reads := g.ints, g.reads
		g.depth++
		for range 1 + g.r.IntN(3) {
			g.stmt()
		}
		g.depth--
		g.ints, g.reads = ints, reads
		g.line("} while (--%s > 0);", v)
	default:
		g.line("for (int %s = %d; %s >= %d; %s--) {", v, 4+g.r.IntN(3), v, g.r.IntN(3), v)
		g.reads = append(g.reads, v)
		jump()
		g.block(3)
		g.reads = g.reads[:len(g.reads)-1]
	}
}

// source returns a function.
func (g *wgen) source(name string) string {
	g.b.WriteString(`#include "bitsched.h"
typedef struct point { int x; short y; int z[2]; } point;
static int least(int a, int b) { if (a < b) return a; return b; }
static void bump(int *at, int by) { if (by & 1) { *at += by; return; } *at ^= 3; }
`)
	g.line("void %s(int n, int A[n], int B[n], unsigned C[n], double D[n])", name)
	g.line("{")
	g.depth = 1
	g.line("inf_array(A, n); inf_array(B, n); inf_array(C, n); inf_array(D, n);")
	g.line("int a = A[0], T[16] = {0};")
	g.ints = []string{"a"}
	if g.point = g.r.IntN(2) == 0; g.point {
		g.line("point S[5], p = {1, 2}, *q = S;")
		g.line("for (int i = 0; i < 5; i++) { S[i].x = A[i]; S[i].y = i; S[i].z[0] = 0; S[i].z[1] = B[i]; }")
		g.line("p = S[1];")
	}
	for range 4 + g.r.IntN(5) {
		g.stmt()
	}
	if g.r.IntN(3) == 0 {
		g.line("if (%s) return;", g.cond())
		g.stmt()
	}
	g.line("A[15] ^= a + T[3];")
	g.depth = 0
	g.line("}")
	return g.b.String()
}

// TestWholeRandom compares functions that are made at random with a C compiler.
func TestWholeRandom(t *testing.T) {
	n := 25
	if testing.Short() {
		n = 12
	}
	var list []wholeCase
	for i := range n {
		g := &wgen{r: rand.New(rand.NewPCG(uint64(i), 77)), budget: 28}
		name := fmt.Sprintf("f%d", i)
		list = append(list, wholeCase{name: name, source: strings.NewReplacer("point", "point"+name, "least", "least"+name, "bump", "bump"+name).Replace(g.source(name)), sizes: []int64{16}, fill: func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
			return scalar.Value(r.IntN(40)), array != "D"
		}})
	}
	runWhole(t, list)
}
