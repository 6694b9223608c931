package cfront_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/ctest"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// wholeCase is a function whose stream graph is compared with what gcc makes of it.
type wholeCase struct {
	name     string
	source   string
	sizes    []int64 // of the parameters in front, in order
	fill     func(r *rand.Rand, array string, i int) (scalar.Value, bool)
	pointers map[string]string // members that are pointers, to the array that they point into
	floats   string            // arguments behind the sizes, as C writes them
	params   map[string]scalar.Value
}

// runWhole executes functions both ways on the same arguments and compares all bits.
func runWhole(t *testing.T, list []wholeCase) {
	t.Helper()
	files := map[string]string{"bitsched.h": cfront.Header}
	var include, main strings.Builder
	var input bytes.Buffer
	type result struct {
		g   *stream.Graph
		mem stream.Memory
	}
	var results []result
	for n, c := range list {
		g, err := cfront.CompileWhole(context.Background(), c.name+".c", c.source, cfront.Options{})
		require.NoError(t, err, c.name)
		back, err := stream.Parse(g.String(), "g")
		require.NoError(t, err, g.String())
		require.Equal(t, g.String(), back.String())
		args := stream.Args{Symbols: map[string]int64{}, Params: c.params}
		i := 0
		for _, s := range g.Symbols.Symbols() {
			args.Symbols[s.Name] = c.sizes[i]
			i++
		}
		r := rand.New(rand.NewPCG(uint64(n), 41))
		mem := stream.Memory{}
		name := strings.TrimSuffix(g.Name, ".")
		files[c.name+".c"] = c.source
		fmt.Fprintf(&include, "#define %s %s_%d\n#include \"%s.c\"\n#undef %[1]s\n", name, name, n, c.name)
		call, write := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.sizes)), ", "), "[]")+c.floats, ""
		main.WriteString("\t{\n")
		bases := map[string]bool{}
		for _, a := range g.Arrays {
			if a.Scope != stream.Argument {
				continue
			}
			total := int64(1)
			for _, x := range a.Size {
				k, err := x.Eval(args.Symbols)
				require.NoError(t, err)
				total *= k
			}
			data := make([]scalar.Value, total)
			for j := range data {
				v, ok := scalar.Value(0), false
				if c.fill != nil {
					v, ok = c.fill(r, a.Name, j)
				}
				if !ok {
					v = r.Uint64() >> r.IntN(a.Type.Bits()) & a.Type.Mask()
					if a.Type.Float() {
						v = scalar.FromFloat(a.Type, float64(r.IntN(64)-32)/8)
					}
				}
				data[j] = v
				var word [8]byte
				binary.NativeEndian.PutUint64(word[:], v)
				input.Write(word[:a.Type.Bytes()])
			}
			mem[a.Name] = data
			if a.Field == nil {
				fmt.Fprintf(&main, "\t\tvoid *%s = malloc(%d);\n\t\tif (fread(%[1]s, 1, %[2]d, stdin) != %[2]d) return 1;\n", a.Name, int(total)*a.Type.Bytes())
				write += fmt.Sprintf("\t\tfwrite(%s, 1, %d, stdout);\n", a.Name, int(total)*a.Type.Bytes())
				call += ", " + a.Name
				continue
			}
			count, err := a.Size[len(a.Size)-1].Eval(args.Symbols)
			require.NoError(t, err)
			of, bytes := a.Field.Of, int(total/count)*a.Type.Bytes()
			if !bases[of] {
				bases[of] = true
				fmt.Fprintf(&main, "\t\tchar *%s = calloc(%d, %d);\n", of, count, a.Field.Stride)
				call += ", (void *)" + of
			}
			at := fmt.Sprintf("%s + i * %d + %d", of, a.Field.Stride, a.Field.Offset)
			if to := c.pointers[a.Name]; to != "" {
				stride := a.Field.Stride
				fmt.Fprintf(&main, "\t\tfor (long i = 0; i < %d; i++) { long x; if (fread(&x, 8, 1, stdin) != 1) return 1; *(void **)(%s) = x < 0 ? NULL : %s + x * %d; }\n", count, at, to, stride)
				write += fmt.Sprintf("\t\tfor (long i = 0; i < %d; i++) { char *p = *(void **)(%s); long x = p ? (p - %s) / %d : -1; fwrite(&x, 8, 1, stdout); }\n", count, at, to, stride)
				continue
			}
			fmt.Fprintf(&main, "\t\tfor (long i = 0; i < %d; i++) if (fread(%s, 1, %d, stdin) != %[3]d) return 1;\n", count, at, bytes)
			write += fmt.Sprintf("\t\tfor (long i = 0; i < %d; i++) fwrite(%s, 1, %d, stdout);\n", count, at, bytes)
		}
		fmt.Fprintf(&main, "\t\t%s_%d(%s);\n%s\t}\n", name, n, call, write)
		_, err = g.Run(context.Background(), mem, args)
		require.NoError(t, err, "%s\n%s", c.name, g)
		results = append(results, result{g, mem})
	}
	files["main.c"] = "#include <stdio.h>\n#include <stdlib.h>\n" + include.String() + "int main(void)\n{\n" + main.String() + "\treturn 0;\n}\n"
	out := ctest.Run(t, files, input.Bytes(), "-w")
	for n, r := range results {
		for _, a := range r.g.Arrays {
			for j, v := range r.mem[a.Name] {
				var word [8]byte
				copy(word[:], out[:a.Type.Bytes()])
				out = out[a.Type.Bytes():]
				got := binary.NativeEndian.Uint64(word[:])
				if a.Type.Float() {
					got = scalar.FromFloat(a.Type, scalar.ToFloat(a.Type, got))
				}
				require.Equal(t, scalar.Format(a.Type, got), scalar.Format(a.Type, v), "%s: %s, element %d\n%s\n%s", list[n].name, a.Name, j, list[n].source, r.g)
			}
		}
	}
	require.Empty(t, out)
}

// graphRows makes rows of a graph in the form of sparse rows.
func graphRows(r *rand.Rand, row, col string, vertices, edges int64) func(*rand.Rand, string, int) (scalar.Value, bool) {
	starts := make([]int64, vertices+1)
	for i := range starts {
		starts[i] = r.Int64N(edges + 1)
	}
	starts[0], starts[vertices] = 0, edges
	for i := range starts { // sort
		for j := i; j > 0 && starts[j-1] > starts[j]; j-- {
			starts[j-1], starts[j] = starts[j], starts[j-1]
		}
	}
	return func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
		switch array {
		case row:
			return scalar.Value(starts[i]), true
		case col:
			return scalar.Value(r.Int64N(vertices)), true
		}
		return 0, false
	}
}

// TestWholeCompiled compares whole functions: loops of all kinds, structures, pointers,
// atomics, calls, double, OpenMP.
func TestWholeCompiled(t *testing.T) {
	graph := rand.New(rand.NewPCG(1, 2))
	runWhole(t, []wholeCase{
		{name: "loops", sizes: []int64{20}, source: `#include "bitsched.h"
void loops(int n, int A[n], int B[n], double D[n])
{
	inf_array(A, n); inf_array(B, n); inf_array(D, n);
	int i = 0, s = 0;
	while (i < n && A[i] % 7 != 3) {
		s += A[i];
		i++;
	}
	B[0] = s + i;
	for (i = 1; i < n; i++) {
		if (A[i] < 0)
			continue;
		if (A[i] % 5 == 4)
			break;
		B[i] = A[i] / 3;
	}
	B[1] += i;
	do {
		D[i % n] = D[i % n] * 0.1 + i;
		i -= 3;
	} while (i > 2);
	for (int j = n - 1; j >= 0; j -= 2)
		for (int k = j; k < n; k++)
			if (B[k] > B[j]) { int x = B[k]; B[k] = B[j]; B[j] = x; }
	for (unsigned x = A[0] & 1023; x > 1; x = x & 1 ? 3 * x + 1 : x / 2)
		if (++B[2] > 50)
			return;
	B[3] = n;
	n = n / 2;
	B[4] = n;
}
`},
		{name: "bfs", sizes: []int64{40, 160, 3}, fill: graphRows(graph, "row", "col", 40, 160), source: `#include "bitsched.h"
static int visit(int u, int d, const int *row, const int *col, int *depth, int *next, int *tail)
{
	int found = 0;
	for (int e = row[u]; e < row[u + 1]; e++) {
		int v = col[e];
		if (__sync_bool_compare_and_swap(&depth[v], -1, d)) {
			int at = __atomic_fetch_add(&tail[0], 1, __ATOMIC_RELAXED);
			next[at] = v;
			found++;
		}
	}
	return found;
}
void bfs(int V, int E, int source, const int row[V + 1], const int col[E], int depth[V], int queue[V], int next[V], int tail[2])
{
	inf_array(row, V + 1); inf_array(col, E); inf_array(depth, V); inf_array(queue, V); inf_array(next, V); inf_array(tail, 2);
#pragma omp parallel for
	for (int v = 0; v < V; v++)
		depth[v] = -1;
	depth[source] = 0;
	queue[0] = source;
	int size = 1, d = 0;
	tail[1] = 0;
	while (size > 0) {
		d++;
		tail[0] = 0;
		int found = 0;
		#pragma omp parallel for schedule(dynamic, 4) \
			reduction(+: found)
		for (int i = 0; i < size; i++)
			found += visit(queue[i], d, row, col, depth, next, tail);
		size = tail[0];
		tail[1] += found;
		for (int i = 0; i < size; i++)
			queue[i] = next[i];
	}
}
`},
		{name: "list", sizes: []int64{30, 5}, pointers: map[string]string{"nodes.next": "nodes"},
			fill: func(r *rand.Rand, array string, i int) (scalar.Value, bool) {
				switch array {
				case "nodes.next":
					if i+5 >= 30 {
						return scalar.FromInt(scalar.Int64, -1), true
					}
					return scalar.Value(i + 1 + r.IntN(4)), true
				case "heads":
					return scalar.Value(r.IntN(30)), true
				}
				return 0, false
			}, source: `#include "bitsched.h"
typedef struct node {
	int8_t tag;
	double weight;
	struct node *next;
	float pos[3];
} node;
void list(int n, int m, node *nodes, const int heads[m], double sums[m], int count[m])
{
	inf_array(nodes, n); inf_array(heads, m); inf_array(sums, m); inf_array(count, m);
	for (int i = 0; i < m; i++) {
		double s = 0;
		int c = 0;
		node *last = NULL;
		for (node *p = &nodes[heads[i]]; p != NULL; p = p->next) {
			s += p->weight * 0.5;
			p->pos[1] += p->tag;
			if (p->tag > 0)
				c++;
			last = p;
		}
		sums[i] = s;
		count[i] = c;
		if (last)
			last->tag = 1;
		if (i == 2)
			nodes[0].next = last;
	}
}
`},
		{name: "histogram", sizes: []int64{100}, source: `#include "bitsched.h"
void histogram(int n, const uint32_t A[n], uint64_t H[256], float total[1], int64_t low[1])
{
	inf_array(A, n); inf_array(H, 256); inf_array(total, 1); inf_array(low, 1);
	float t = 0;
	#pragma omp parallel for schedule(static) reduction(+:t)
	for (int i = 0; i < n; i++) {
		const uint32_t *p = A + i;
		#pragma omp atomic
		H[*p & 255] += 1;
		#pragma omp atomic update
		H[p[0] >> 24]++;
		t += A[i] > 1000 ? 1.0f : 0.5f;
		inf_fetch_min(&low[0], (int64_t)A[i] - 500);
	}
	total[0] = t;
}
`},
		{name: "srad", sizes: []int64{12, 9}, floats: ", 0.5f", params: map[string]scalar.Value{"lambda": scalar.FromFloat(scalar.FP32, 0.5)}, source: `#include "bitsched.h"
static inline float clamp01(float x) { if (x < 0) return 0; else if (x > 1) return 1; return x; }
void srad(int rows, int cols, float lambda, const float J[rows][cols], float C[rows][cols], float O[rows][cols])
{
	inf_array(J, rows, cols); inf_array(C, rows, cols); inf_array(O, rows, cols);
	float sum = 0, sum2 = 0;
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++) {
			float x = J[i][j];
			sum += x;
			sum2 += x * x;
		}
	float mean = sum / (rows * cols), var = sum2 / (rows * cols) - mean * mean, q0 = var / (mean * mean);
#pragma omp parallel for
	for (int i = 0; i < rows; i++) {
		int up = i == 0 ? 0 : i - 1, down = i == rows - 1 ? i : i + 1;
		for (int j = 0; j < cols; j++) {
			int left = j ? j - 1 : 0, right = j < cols - 1 ? j + 1 : j;
			float dN = J[up][j] - J[i][j], dS = J[down][j] - J[i][j], dW = J[i][left] - J[i][j], dE = J[i][right] - J[i][j];
			float g2 = (dN * dN + dS * dS + dW * dW + dE * dE) / (J[i][j] * J[i][j] + 1);
			float den = 1 + 0.25f * g2;
			C[i][j] = clamp01(1 / (1 + (g2 / (den * den) - q0) / (q0 * (1 + q0))));
		}
	}
#pragma omp parallel for
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < cols; j++) {
			float cS = C[i < rows - 1 ? i + 1 : i][j];
			O[i][j] = J[i][j] + 0.25f * lambda * (cS + C[i][j]);
		}
}
`},
	})
}

// TestWholeKernels executes the stream graphs of all workloads and compares with their
// plain programs.
func TestWholeKernels(t *testing.T) {
	for _, k := range kernels.All() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err, k.Name)
		d := k.Data(k.Small, 3)
		m := d.Memory()
		mem := stream.Memory{}
		for _, a := range g.Arrays {
			mem[a.Name] = m.Arrays[a.Name].Elems
		}
		_, err = g.Run(context.Background(), mem, stream.Args{Symbols: k.Small, Params: m.Scalars})
		require.NoError(t, err, "%s\n%s", k.Name, g)
		k.Reference(d)
		require.Empty(t, d.Diff(m), k.Name)
	}
}

// TestWholeSizes: sizes of parameters are those of arrays; pointers have none.
func TestWholeSizes(t *testing.T) {
	ctx := context.Background()
	g, err := cfront.CompileWhole(ctx, "a.c", "void f(int n, float x[n][4], float y[n]) { for (int i = 0; i < n; i++) y[i] += x[i][2]; }", cfront.Options{})
	require.NoError(t, err)
	require.Len(t, g.Arrays, 2)
	require.Equal(t, "4", g.Arrays[0].Size[0].String())
	require.Equal(t, "n", g.Arrays[0].Size[1].String())
	_, err = cfront.CompileWhole(ctx, "a.c", "void f(int n, float *y) { for (int i = 0; i < n; i++) y[i] += 1; }", cfront.Options{})
	require.EqualError(t, err, "a.c:1:55: y is a pointer without a size: expected a parameter such as y[N], or inf_array(y, N) at the beginning of the function")
	_, err = cfront.CompileWhole(ctx, "a.c", "struct p { int k; }; void f(int n, struct p *y) { for (int i = 0; i < n; i++) y[i].k += 1; }", cfront.Options{})
	require.EqualError(t, err, "a.c:1:79: y is a pointer without a size: expected a parameter such as y[N], or inf_array(y, N) at the beginning of the function")

	// Structures have the size of the parameter, and pointers to one element one.
	g, err = cfront.CompileWhole(ctx, "a.c", "struct p { int k; struct p *next; }; struct q { long s; }; void f(int n, struct p y[n], int *a, int *b, struct q *c) { struct p *p = &y[0]; for (int i = 0; i < n; i++) { *a += p->k; p = p->next; } b[0] = 1; c->s = *a; }", cfront.Options{})
	require.NoError(t, err)
	var sizes []string
	for _, a := range g.Arrays {
		sizes = append(sizes, a.Name+" "+a.Size[0].String())
	}
	require.Equal(t, []string{"y.k n", "y.next n", "a 1", "b 1", "c.s 1"}, sizes)
	for _, body := range []string{"*a++ = 1;", "*(a + n) = 1;", "a[n] = 1;", "if (n > 3) a[0] = 1; else a[1] = 2;"} {
		_, err = cfront.CompileWhole(ctx, "a.c", "void f(int n, int *a) { "+body+" }", cfront.Options{})
		require.Error(t, err, body)
	}
}

// TestWholeNested compiles subscripts in subscripts, whose text is short and whose conversion must not take twice as long for each.
func TestWholeNested(t *testing.T) {
	const levels = 60
	nested := strings.Repeat("A[", levels) + "0" + strings.Repeat("]", levels)
	g, err := cfront.CompileWhole(context.Background(), "nested.c", "void nested(int n, int A[n]) { "+nested+" = 1; A[1] = "+nested+"; *(A + "+nested+") += 2; }", cfront.Options{})
	require.NoError(t, err)
	require.Less(t, len(g.String()), 300*levels)
}

// TestWholeMain: main and standard headers may be in the file; the function is another.
func TestWholeMain(t *testing.T) {
	const text = `#include <stdio.h>
#include <stdlib.h>
#include <stdbool.h>
#include <limits.h>
#include <float.h>
#include <string.h>
#include <omp.h>
#include <time.h>
#include <assert.h>
void least(int n, const float x[n], float *min, int *at)
{
	float m = FLT_MAX;
	int k = INT_MAX;
	bool any = false;
	for (int i = 0; i < n; i++)
		if (x[i] < m) { m = x[i]; k = i; any = true; }
	*min = m;
	*at = any ? k : -1;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	float *x = malloc(n * sizeof *x), min; int at;
	FILE *log = stdout;
	memset(x, 0, n * sizeof *x);
	double start = omp_get_wtime();
	least(n, x, &min, &at);
	fprintf(log, "%d %f %g s\n", at, min, omp_get_wtime() - start);
	assert(at == 0);
	free(x);
	return 0;
}
`
	g, err := cfront.CompileWhole(context.Background(), "a.c", text, cfront.Options{})
	require.NoError(t, err)
	require.Equal(t, "least", g.Name)
	_, err = cfront.CompileWhole(context.Background(), "a.c", "int main(void) { return 0; }", cfront.Options{})
	require.EqualError(t, err, "a.c: no function that is neither static nor main, expected one with sizes and arrays for parameters")
}

// after is a context that is cancelled when it has been asked so often.
type after struct {
	context.Context
	left int
}

func (c *after) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestWholeStops cancels the compilation of a function of many statements while it is made.
func TestWholeStops(t *testing.T) {
	text := "#include <stdint.h>\nvoid k(int n, const int32_t A[n], int32_t B[n])\n{\n\tfor (int i = 0; i < n; i++) {\n"
	for j := range 100 {
		text += fmt.Sprintf("\t\tif (A[i] == %d)\n\t\t\tB[i] = %d;\n", j, 7*j)
	}
	text += "\t}\n}\n"
	all := &after{context.Background(), 1 << 20}
	_, err := cfront.CompileWhole(all, "k.c", text, cfront.Options{})
	require.NoError(t, err)
	asked := 1<<20 - all.left
	require.Greater(t, asked, 100)
	for _, n := range []int{0, 1, asked / 2, asked - 1} {
		_, err := cfront.CompileWhole(&after{context.Background(), n}, "k.c", text, cfront.Options{})
		require.ErrorIs(t, err, context.Canceled, "%d of %d", n, asked)
	}
}
