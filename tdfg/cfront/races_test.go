package cfront_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// racesOf reports the races of a function of n and arrays of n elements.
func racesOf(t *testing.T, body string) string {
	t.Helper()
	g, err := cfront.CompileWhole(context.Background(), "f.c", "#include \"bitsched.h\"\nvoid f(int n, int A[n], int B[n], double D[n])\n{\n	inf_array(A, n); inf_array(B, n); inf_array(D, n);\n"+body+"}\n", cfront.Options{})
	require.NoError(t, err)
	p, err := stream.Compile(g)
	require.NoError(t, err)
	mem := stream.Memory{}
	for _, a := range g.Arrays {
		if a.Scope == stream.Argument {
			for i := range 20 {
				mem[a.Name] = append(mem[a.Name], scalar.FromFloat(scalar.FP64, float64(i)))
				if a.Type.Int() {
					mem[a.Name][i] = scalar.Value(i)
				}
			}
		}
	}
	list, err := p.Races(context.Background(), mem, stream.Args{Symbols: map[string]int64{"n": 20}}, stream.RaceLimit{})
	require.NoError(t, err)
	var text []string
	for i := range list {
		text = append(text, list[i].String())
	}
	return strings.Join(text, "\n")
}

// TestRaceLimit ends a search in a program that does not end, with the races until then.
func TestRaceLimit(t *testing.T) {
	for _, c := range []struct {
		limit stream.RaceLimit
		want  string
	}{
		{stream.RaceLimit{Open: 1000}, "after 1000 iterations of loops whose number of iterations is not known before"},
		{stream.RaceLimit{All: 2000}, "after 2000 iterations of loops"},
		{stream.RaceLimit{All: 1 << 40, Open: 3000}, "after 3000 iterations"},
	} {
		g, err := cfront.CompileWhole(context.Background(), "f.c", "void f(int n, int A[n])\n{\n#pragma omp parallel for\n	for (int k = 0; k < n; k++)\n		A[0] = k;\n	while (A[0] != A[1])\n		A[2]++;\n}\n", cfront.Options{})
		require.NoError(t, err)
		p, err := stream.Compile(g)
		require.NoError(t, err)
		list, err := p.Races(context.Background(), stream.Memory{"A": make([]scalar.Value, 20)}, stream.Args{Symbols: map[string]int64{"n": 20}}, c.limit)
		require.ErrorIs(t, err, stream.ErrRaceLimit)
		require.ErrorContains(t, err, c.want)
		require.Len(t, list, 1)
	}
}

// TestRaces finds races that change results, names both statements, and finds none where
// there are none.
func TestRaces(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"shift", `#pragma omp parallel for
	for (int i = 0; i < n - 1; i++)
		A[i] = A[i + 1] + 1;
`, "iterations 0 and 1 of parallel loop i race for element 1 of array A: f.c:7:10 reads A[i+1], and f.c:7:3 writes A[i]"},
		{"flow", `#pragma omp parallel for
	for (int i = 1; i < n; i++)
		A[i] = A[i - 1] + 3;
`, "iterations 0 and 1 of parallel loop i race for element 1 of array A: f.c:7:3 writes A[i], and f.c:7:10 reads A[i-1]"},
		{"output", `#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i / 2] = i;
`, "iterations 0 and 1 of parallel loop i race for element 0 of array B: f.c:7:3 writes B[index], and f.c:7:3 writes B[index]"},
		{"the same value", `#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i / 2] = 1;
`, ""},
		{"update", `#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i & 3] += i;
`, "iterations 0 and 4 of parallel loop i race for element 0 of array B: f.c:7:3 changes B[index], and f.c:7:3 changes B[index]"},
		{"atomic", `#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		#pragma omp atomic
		B[i & 3] += i;
		int x = __atomic_load_n(&B[1], __ATOMIC_RELAXED);
		__atomic_store_n(&A[0], x, __ATOMIC_RELAXED);
	}
`, ""},
		{"critical", `	double most = 0;
	int count = 0;
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		#pragma omp critical
		{
			if (D[i] > most)
				most = D[i];
			B[0]++;
		}
		#pragma omp critical(two)
		count += 1;
	}
	D[0] = most;
	A[0] = count;
`, ""},
		{"two locks", `#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		if (i & 1) {
			#pragma omp critical(one)
			B[0] += i;
		} else {
			#pragma omp critical(two)
			B[0] += i;
		}
	}
`, "iterations 0 and 1 of parallel loop i race for element 0 of array B: f.c:12:4 changes B[0], and f.c:9:4 changes B[0]\n" +
			"iterations 1 and 2 of parallel loop i race for element 0 of array B: f.c:9:4 changes B[0], and f.c:12:4 changes B[0]"},
		{"private", `	int tmp[4];
#pragma omp parallel for private(tmp)
	for (int i = 0; i < n; i++) {
		int own[2] = {i, 1};
		for (int k = 0; k < 4; k++)
			tmp[k] = own[k & 1] + k;
		A[i] = tmp[3];
	}
`, ""},
		{"shared scratch", `	int tmp[4];
#pragma omp parallel for
	for (int i = 0; i < n; i++) {
		tmp[0] = i;
		A[i] = tmp[0];
	}
`, "iterations 0 and 1 of parallel loop i race for element 0 of array tmp: f.c:8:3 writes tmp[0], and f.c:8:3 writes tmp[0]\n" +
			"iterations 0 and 1 of parallel loop i race for element 0 of array tmp: f.c:9:10 reads tmp[0], and f.c:8:3 writes tmp[0]"},
		{"no loop between", `#pragma omp parallel for
	for (int i = 0; i < n; i++)
		A[i] = i;
#pragma omp parallel for
	for (int i = 0; i < n; i++)
		B[i] = A[n - 1 - i];
	for (int i = 1; i < n; i++)
		A[i] += A[i - 1];
`, ""},
	} {
		require.Equal(t, c.want, racesOf(t, c.body), c.name)
	}
}

// TestRacesOfWorkloads finds none in the workloads.
func TestRacesOfWorkloads(t *testing.T) {
	for _, k := range kernels.NearStream() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		p, err := stream.Compile(g)
		require.NoError(t, err)
		m, err := k.Arguments(context.Background(), k.Small, 2)
		require.NoError(t, err)
		mem := stream.Memory{}
		for name, a := range m.Arrays {
			mem[name] = a.Elems
		}
		list, err := p.Races(context.Background(), mem, stream.Args{Symbols: k.Small, Params: m.Scalars}, stream.RaceLimit{})
		require.NoError(t, err)
		text := ""
		for i := range list {
			text += fmt.Sprintln(&list[i])
		}
		require.Empty(t, text, k.Name)
	}
}

// TestBounds names the statement, the subscript and its value.
func TestBounds(t *testing.T) {
	g, err := cfront.CompileWhole(context.Background(), "f.c", "#include \"bitsched.h\"\nvoid f(int n, int A[n])\n{\n	inf_array(A, n);\n	for (int i = 0; i < n; i++)\n		A[2 * i] = 1;\n}\n", cfront.Options{})
	require.NoError(t, err)
	_, err = g.Run(context.Background(), stream.Memory{"A": make([]scalar.Value, 10)}, stream.Args{Symbols: map[string]int64{"n": 10}})
	require.EqualError(t, err, "f.c:6:3: subscript 2*i of array A is 10, expected 0 to 9 in iteration i=5")
}
