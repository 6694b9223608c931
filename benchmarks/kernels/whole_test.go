package kernels_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/ctest"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// whole compiles a kernel and executes it, one statement after the other.
func whole(t testing.TB, k *kernels.Kernel, sizes map[string]int64, m *memory.Memory) *stream.Graph {
	t.Helper()
	opt := cfront.Options{Files: k.Files}
	if k.Parts {
		opt.Defines, sizes = sizes, nil
	}
	g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, opt)
	require.NoError(t, err)
	mem := stream.Memory{}
	for name, a := range m.Arrays {
		mem[name] = a.Elems
	}
	_, err = g.Run(context.Background(), mem, stream.Args{Symbols: sizes, Params: m.Scalars})
	require.NoError(t, err, "%s\n%s", k.Name, g)
	return g
}

// TestNearStream executes the workloads of Near-Stream Computing, and PointNet++, and compares
// them with their definitions, and all bits with what a C compiler makes of the same file.
func TestNearStream(t *testing.T) {
	require.Len(t, kernels.NearStream(), 14)
	for _, k := range append(kernels.NearStream(), kernels.PointNet()...) {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				before, err := k.Arguments(context.Background(), k.Small, seed)
				require.NoError(t, err)
				require.Error(t, k.Check(k.Small, before, before), "the kernel has nothing to do")
				after := before.Clone()
				g := whole(t, k, k.Small, after)
				require.NoError(t, k.Check(k.Small, before, after))
				if seed == 0 {
					compiled(t, k, g, before.Clone(), after)
				}
			}
		})
	}
}

// pointers are the members that point to structures.
var pointers = map[string]string{"nodes.left": "nodes", "nodes.right": "nodes", "entries.next": "entries", "heads.first": "entries"}

// compiled runs a kernel as a C compiler has it and compares memory.
func compiled(t *testing.T, k *kernels.Kernel, g *stream.Graph, before, after *memory.Memory) {
	var head, links, tail, call strings.Builder
	var input bytes.Buffer
	strides, done := map[string]int64{}, map[string]bool{}
	type part struct {
		a     *stream.Array
		elems []scalar.Value
	}
	var order []part
	for i := range g.Arrays {
		a := &g.Arrays[i]
		if a.Field != nil {
			strides[a.Field.Of] = a.Field.Stride
		}
	}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		if a.Scope != stream.Argument {
			continue
		}
		m := before.Arrays[a.Name]
		order = append(order, part{a, after.Arrays[a.Name].Elems})
		for _, v := range m.Elems {
			var word [8]byte
			binary.NativeEndian.PutUint64(word[:], v)
			input.Write(word[:a.Type.Bytes()])
		}
		n := len(m.Elems)
		if a.Field == nil {
			fmt.Fprintf(&head, "\tvoid *%s = malloc(%d);\n\tif (fread(%[1]s, 1, %[2]d, stdin) != %[2]d) return 1;\n", a.Name, n*a.Type.Bytes())
			fmt.Fprintf(&tail, "\tfwrite(%s, 1, %d, stdout);\n", a.Name, n*a.Type.Bytes())
			continue
		}
		of := a.Field.Of
		if !done[of] {
			done[of] = true
			fmt.Fprintf(&head, "\tchar *%s = calloc(%d, %d);\n", of, n, a.Field.Stride)
		}
		at := fmt.Sprintf("(%s + i * %d + %d)", of, a.Field.Stride, a.Field.Offset)
		fmt.Fprintf(&head, "\tfor (long i = 0; i < %d; i++) if (fread(%s, 1, %d, stdin) != %[3]d) return 1;\n", n, at, a.Type.Bytes())
		if to := pointers[a.Name]; to != "" {
			fmt.Fprintf(&links, "\tfor (long i = 0; i < %d; i++) { long x = *(long *)%s; *(void **)%[2]s = x < 0 ? NULL : %s + x * %d; }\n", n, at, to, strides[to])
			fmt.Fprintf(&tail, "\tfor (long i = 0; i < %d; i++) { char *p = *(void **)%s; long x = p ? (p - %s) / %d : -1; fwrite(&x, 8, 1, stdout); }\n", n, at, to, strides[to])
			continue
		}
		fmt.Fprintf(&tail, "\tfor (long i = 0; i < %d; i++) fwrite(%s, 1, %d, stdout);\n", n, at, a.Type.Bytes())
	}
	from := strings.LastIndex(k.Source, "\nvoid "+k.Name+"(")
	list := signature.FindStringSubmatch(k.Source[from:])
	for i, p := range strings.Split(list[1], ",") {
		name := parameter.FindStringSubmatch(strings.TrimSpace(p))[1]
		if i > 0 {
			call.WriteString(", ")
		}
		if v, ok := k.Small[name]; ok {
			fmt.Fprint(&call, v)
		} else if v, ok := before.Scalars[name]; ok {
			call.WriteString(strconv.FormatFloat(scalar.ToFloat(scalar.FP32, v), 'x', -1, 32) + "f")
		} else {
			call.WriteString("(void *)" + name)
		}
	}
	files := map[string]string{
		"bitsched.h": cfront.Header, k.File: k.Source,
		"main.c": fmt.Sprintf("#include <stdio.h>\n#include <stdlib.h>\n#include \"%s\"\nint main(void)\n{\n%s%s\t%s(%s);\n%s\treturn 0;\n}\n", k.File, head.String(), links.String(), k.Name, call.String(), tail.String()),
	}
	if k.Files != nil {
		list, err := fs.Glob(k.Files, "*.h")
		require.NoError(t, err)
		for _, name := range list {
			text, err := fs.ReadFile(k.Files, name)
			require.NoError(t, err)
			files[name] = string(text)
		}
	}
	out := ctest.Run(t, files, input.Bytes())
	for _, p := range order {
		for i, v := range p.elems {
			var word [8]byte
			copy(word[:], out[:p.a.Type.Bytes()])
			out = out[p.a.Type.Bytes():]
			require.Equal(t, scalar.Format(p.a.Type, v), scalar.Format(p.a.Type, binary.NativeEndian.Uint64(word[:])), "%s[%d]: ours, and the compiler's", p.a.Name, i)
		}
	}
	require.Empty(t, out)
}

// TestNearStreamPaper makes the arguments of table VI and looks at their sizes. With
// -short it leaves out what takes seconds.
func TestNearStreamPaper(t *testing.T) {
	for _, k := range kernels.NearStream() {
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		total := int64(0)
		for i := range g.Arrays {
			a := &g.Arrays[i]
			if a.Scope == stream.Private {
				continue
			}
			n := int64(a.Type.Bytes())
			for _, x := range a.Size {
				v, err := x.Eval(k.Paper)
				require.NoError(t, err)
				n *= v
			}
			total += n
		}
		t.Logf("%s: %.1f MB", k.Name, float64(total)/1e6)
		require.Less(t, total, int64(64<<20), "in the L3, where the paper begins")
	}
}

// TestNearStreamArguments refuses sizes that make no sense.
func TestNearStreamArguments(t *testing.T) {
	for _, c := range []struct {
		kernel string
		change map[string]int64
		want   string
	}{
		{"hotspot", map[string]int64{"T": 3}, "kernels: T=3 steps, expected an even number"},
		{"srad", map[string]int64{"M": 1}, "kernels: M=1, expected at least 2"},
		{"bfs_push", map[string]int64{"V": 8, "E": 50}, "kernels: a graph of 8 vertices and 50 edges, expected at least 4 vertices and at most V*(V-1)/8 edges"},
		{"hash_join", map[string]int64{"B": 100}, "kernels: a table of 100 entries with B=100 chains, expected at least 1 entry and a power of two"},
	} {
		k, err := kernels.Get(c.kernel)
		require.NoError(t, err)
		sizes := map[string]int64{}
		for name, v := range k.Small {
			sizes[name] = v
		}
		for name, v := range c.change {
			if sizes[name] = v; name == "B" {
				sizes["N"] = v
			}
		}
		_, err = k.Arguments(context.Background(), sizes, 1)
		require.EqualError(t, err, c.want)
	}
}
