package kernels_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/ctest"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/interp"
)

var (
	signature = regexp.MustCompile(`(?s)void \w+\((.*?)\)\s*\{`)
	parameter = regexp.MustCompile(`(\w+)((?:\[[^]]*\])*)$`)
)

// TestCompiled compiles the kernels as they are with a C compiler and compares the
// results with those of the plain Go programs, and with what the interpreter makes
// of the tensor graphs.
func TestCompiled(t *testing.T) {
	for _, k := range kernels.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			d := k.DataExact(k.Small, 5)
			if !k.Reassociate {
				d = k.Data(k.Small, 5)
			}
			var head, call, tail strings.Builder
			var input bytes.Buffer
			var order []string
			list := signature.FindStringSubmatch(k.Source)
			require.NotNil(t, list)
			for i, p := range strings.Split(list[1], ",") {
				m := parameter.FindStringSubmatch(strings.TrimSpace(p))
				name := m[1]
				if i > 0 {
					call.WriteString(", ")
				}
				switch {
				case d.Floats[name] != nil || d.Ints[name] != nil:
					n := 4 * (len(d.Floats[name]) + len(d.Ints[name]))
					fmt.Fprintf(&head, "\tvoid *%s = malloc(%d);\n\tif (fread(%[1]s, 1, %[2]d, stdin) != %[2]d) return 1;\n", name, n)
					fmt.Fprintf(&tail, "\tfwrite(%s, 1, %d, stdout);\n", name, n)
					call.WriteString(name)
					order = append(order, name)
					if d.Floats[name] != nil {
						require.NoError(t, binary.Write(&input, binary.NativeEndian, d.Floats[name]))
					} else {
						require.NoError(t, binary.Write(&input, binary.NativeEndian, d.Ints[name]))
					}
				case k.Small[name] != 0:
					fmt.Fprint(&call, k.Small[name])
				default:
					call.WriteString(strconv.FormatFloat(float64(d.Scalars[name]), 'x', -1, 32) + "f")
				}
			}
			out := ctest.Run(t, map[string]string{
				"bitsched.h": cfront.Header, k.File: k.Source,
				"main.c": fmt.Sprintf("#include <stdio.h>\n#include <stdlib.h>\n#include \"%s\"\nint main(void)\n{\n%s\t%s(%s);\n%s\treturn 0;\n}\n", k.File, head.String(), k.Name, call.String(), tail.String()),
			}, input.Bytes())

			m := d.Memory()
			require.NoError(t, interp.Run(context.Background(), compile(t, k, nil), k.Small, m, interp.Options{}))
			r := bytes.NewReader(out)
			for _, name := range order {
				if f := d.Floats[name]; f != nil {
					require.NoError(t, binary.Read(r, binary.NativeEndian, f))
				} else {
					require.NoError(t, binary.Read(r, binary.NativeEndian, d.Ints[name]))
				}
			}
			require.Empty(t, d.Diff(m), "the interpreter's, and the compiler's")
			ref := k.DataExact(k.Small, 5)
			if !k.Reassociate {
				ref = k.Data(k.Small, 5)
			}
			k.Reference(ref)
			require.Empty(t, d.Diff(ref.Memory()), "the plain program's, and the compiler's")
		})
	}
}
