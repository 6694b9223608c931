package micro_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/lowering/micro"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

const stepper = `
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <signal.h>
#include <unistd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <sys/user.h>
void run_kernel(void);
__attribute__((noinline)) void marker_end(void) { __asm__ volatile("nop"); }
int main(void) {
	static uint32_t hist[1 << 22];
	int p = fork();
	if (p == 0) { ptrace(PTRACE_TRACEME, 0, 0, 0); run_kernel(); _exit(0); }
	int st; waitpid(p, &st, 0);
	for (;;) {
		struct user_regs_struct r;
		ptrace(PTRACE_GETREGS, p, 0, &r);
		if (r.rip == (uintptr_t)marker_end) break;
		if (r.rip >= 0x400000 && r.rip - 0x400000 < (1 << 22)) hist[r.rip - 0x400000]++;
		ptrace(PTRACE_SINGLESTEP, p, 0, 0);
		waitpid(p, &st, 0);
		if (WIFEXITED(st)) return 1;
	}
	kill(p, 9);
	for (long i = 0; i < 1 << 22; i++) if (hist[i]) printf("%lx %u\n", i + 0x400000, hist[i]);
	return 0;
}
`

var params = regexp.MustCompile(`(?s)void (\w+)\(([^)]*)\)\s*\{`)

// pointers are the members that point to structures.
var pointers = map[string]string{"nodes.left": "nodes", "nodes.right": "nodes", "entries.next": "entries", "heads.first": "entries"}

// gccCount counts the micro-ops that gcc's code executes: instructions of the functions of
// the file, and one more for each that computes with a memory operand.
func gccCount(t *testing.T, k *kernels.Kernel, g *stream.Graph, sizes map[string]int64, mem *memory.Memory) int {
	dir := t.TempDir()
	from := strings.LastIndex(k.Source, "\nvoid "+k.Name+"(")
	m := params.FindStringSubmatch(k.Source[from:])
	var decl, call, fill, links strings.Builder
	bases, strides := map[string]bool{}, map[string]int64{}
	for i := range g.Arrays {
		if f := g.Arrays[i].Field; f != nil {
			strides[f.Of] = f.Stride
		}
	}
	for i := range g.Arrays {
		a := &g.Arrays[i]
		if a.Scope != stream.Argument {
			continue
		}
		elems := mem.Arrays[a.Name].Elems
		init := "init_" + strings.ReplaceAll(a.Name, ".", "_")
		var raw []byte
		for _, v := range elems {
			var word [8]byte
			binary.NativeEndian.PutUint64(word[:], v)
			raw = append(raw, word[:a.Type.Bytes()]...)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, init), raw, 0o600))
		fmt.Fprintf(&decl, "__asm__(\".section .rodata\\n.balign 64\\n%s: .incbin \\\"%[1]s\\\"\\n.text\");\nextern const char %[1]s[];\n", init)
		if f := a.Field; f != nil {
			if !bases[f.Of] {
				bases[f.Of] = true
				fmt.Fprintf(&decl, "static char %s_[%d] __attribute__((aligned(64)));\n", f.Of, int64(len(elems))*f.Stride)
			}
			n := a.Type.Bytes()
			to := fmt.Sprintf("%s_ + i * %d + %d", f.Of, f.Stride, f.Offset)
			if p := pointers[a.Name]; p != "" {
				fmt.Fprintf(&links, "\tfor (long i = 0; i < %d; i++) { long x; __builtin_memcpy(&x, %s + 8 * i, 8); *(void **)(%s) = x < 0 ? 0 : %s_ + x * %d; }\n", len(elems), init, to, p, strides[p])
				continue
			}
			fmt.Fprintf(&fill, "\tfor (long i = 0; i < %d; i++) __builtin_memcpy(%s, %s + %d * i, %[4]d);\n", len(elems), to, init, n)
			continue
		}
		fmt.Fprintf(&decl, "static char %s_[%d] __attribute__((aligned(64)));\n", a.Name, len(raw))
		fmt.Fprintf(&fill, "\t__builtin_memcpy(%s_, %s, sizeof %[1]s_);\n", a.Name, init)
	}
	for i, p := range strings.Split(m[2], ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(p), "[")
		f := strings.Fields(strings.ReplaceAll(name, "*", " "))
		id := f[len(f)-1]
		if i > 0 {
			call.WriteString(", ")
		}
		if v, ok := sizes[id]; ok {
			fmt.Fprintf(&call, "%d", v)
		} else if v, ok := mem.Scalars[id]; ok {
			call.WriteString(strconv.FormatFloat(scalar.ToFloat(scalar.FP32, v), 'x', -1, 32) + "f")
		} else {
			fmt.Fprintf(&call, "(void *)%s_", id)
		}
	}
	head := strings.TrimSuffix(strings.TrimSpace(m[0]), "{")
	run := "#include <signal.h>\n" + decl.String() + fmt.Sprintf("void marker_end(void);\nvoid %s();\nvoid run_kernel(void) {\n%s%s\traise(SIGSTOP);\n\t((void (*)(%s))%[1]s)(%[5]s);\n\tmarker_end();\n}\n", m[1], fill.String(), links.String(), types(head), call.String())
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("k.c", k.Source)
	write("bitsched.h", cfront.Header)
	write("run.c", run)
	write("step.c", stepper)
	cc := func(args ...string) {
		c := exec.Command("gcc", args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	flags := []string{"-c", "-O3", "-march=skylake-avx512", "-mprefer-vector-width=512", "-ffp-contract=off", "-w", "k.c"}
	if k.Whole { // with it, gcc does not take a pragma for the body of a for loop
		flags = append(flags, "-fopenmp-simd")
	}
	if k.Reassociate && !k.Whole {
		flags = append(flags, "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")
	}
	cc(flags...)
	cc("-O1", "-w", "-static", "-no-pie", "-o", "prog", "k.o", "run.c", "step.c", "-lm")
	out, err := exec.Command(filepath.Join(dir, "prog")).Output()
	require.NoError(t, err)
	dis, err := exec.Command("objdump", "-d", "--no-show-raw-insn", filepath.Join(dir, "prog")).Output()
	require.NoError(t, err)
	symbols, err := exec.Command("nm", filepath.Join(dir, "k.o")).Output()
	require.NoError(t, err)
	own := map[string]bool{}
	for line := range strings.Lines(string(symbols)) {
		if f := strings.Fields(line); len(f) == 3 && strings.ContainsAny(f[1], "tT") {
			own["<"+f[2]+">:"] = true
		}
	}
	inside, text := false, map[string]string{}
	for line := range strings.Lines(string(dis)) {
		if strings.HasSuffix(strings.TrimSpace(line), ">:") {
			f := strings.Fields(line)
			inside = own[f[len(f)-1]]
			continue
		}
		if a, rest, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && inside {
			text[a] = strings.TrimSpace(rest)
		}
	}
	total := 0
	var lines []string
	sc := bufio.NewScanner(strings.NewReader(string(out)))
	for sc.Scan() {
		a, c, _ := strings.Cut(sc.Text(), " ")
		n, _ := strconv.Atoi(c)
		ins, ok := text[a]
		if !ok {
			continue
		}
		total += n
		lines = append(lines, fmt.Sprintf("%6d %s %s", n, a, ins))
		op, _, _ := strings.Cut(ins, " ")
		if strings.Contains(ins, "(") && !strings.HasPrefix(op, "mov") && !strings.HasPrefix(op, "vmov") && !strings.HasPrefix(op, "lea") && !strings.HasPrefix(op, "nop") && !strings.HasPrefix(op, "vbroadcast") && op != "push" && op != "pop" && !strings.HasPrefix(op, "vgather") {
			total += n
		}
	}
	if os.Getenv("BITSCHED_GCC_COUNTS") == k.Name {
		t.Log(strings.Join(lines, "\n"))
	}
	return total
}

// types returns the types of the parameters of a function, with pointers for arrays.
func types(head string) string {
	list := params.FindStringSubmatch(head + "{")
	var out []string
	for _, p := range strings.Split(list[2], ",") {
		p = strings.TrimSpace(p)
		switch {
		case strings.ContainsAny(p, "[*"):
			out = append(out, "void *")
		case strings.HasPrefix(p, "float"):
			out = append(out, "float")
		default:
			out = append(out, "int")
		}
	}
	return strings.Join(out, ", ")
}

// gccCounts are the micro-ops that gcc 12 -O3 makes of the workloads: instructions, and
// one more for each that computes with an operand in memory, counted one by one by
// TestGccCounts with BITSCHED_GCC_COUNTS=all or the name of one, whose instructions are
// listed then.
var gccCounts = []struct {
	kernel string
	sizes  map[string]int64
	count  int
}{
	{"vec_add", map[string]int64{"N": 4096}, 1824},
	{"array_sum", map[string]int64{"N": 4096}, 1311},
	{"stencil1d", map[string]int64{"N": 2048, "T": 3}, 7475},
	{"stencil2d", map[string]int64{"N": 10, "M": 514, "T": 2}, 20115},
	{"stencil3d", map[string]int64{"L": 4, "N": 6, "M": 514, "T": 2}, 27748},
	{"dwt2d", map[string]int64{"N": 16, "M": 32}, 25530},
	{"gauss_elim", map[string]int64{"N": 64}, 207399},
	{"conv2d", map[string]int64{"N": 8, "M": 514}, 6162},
	{"conv3d", map[string]int64{"I": 2, "O": 2, "H": 5, "W": 258}, 17794},
	{"mm_inner", map[string]int64{"M": 8, "N": 8, "K": 256}, 9139},
	{"mm_outer", map[string]int64{"M": 8, "N": 256, "K": 8}, 10599},
	{"kmeans_inner", map[string]int64{"N": 16, "K": 16, "D": 128}, 27102},
	{"kmeans_outer", map[string]int64{"N": 64, "K": 16, "D": 16}, 82906},
	{"gather_mlp_inner", map[string]int64{"M": 16, "N": 16, "K": 128, "R": 10}, 24605},
	{"gather_mlp_outer", map[string]int64{"M": 16, "N": 128, "K": 32, "R": 10}, 58957},
	{"pathfinder", map[string]int64{"N": 4096, "T": 4}, 11916},
	{"srad", map[string]int64{"N": 8, "M": 514, "T": 1}, 23834},
	{"hotspot", map[string]int64{"N": 8, "M": 514, "T": 2}, 14514},
	{"hotspot3D", map[string]int64{"L": 4, "N": 6, "M": 258, "T": 2}, 32583},
	{"histogram", map[string]int64{"N": 16384, "Q": 4}, 155529},
	{"scluster", map[string]int64{"N": 1024, "T": 2}, 97991},
	{"svm", map[string]int64{"N": 1024, "T": 2}, 168043},
	{"bfs_push", map[string]int64{"V": 1024, "E": 14000, "source": 1}, 146741},
	{"bfs_pull", map[string]int64{"V": 1024, "E": 14000, "source": 1}, 96993},
	{"pr_push", map[string]int64{"V": 1024, "E": 14000, "T": 1}, 129360},
	{"pr_pull", map[string]int64{"V": 1024, "E": 14000, "T": 1}, 70722},
	{"sssp", map[string]int64{"V": 512, "E": 5000, "D": 64, "source": 1}, 122989},
	{"bin_tree", map[string]int64{"N": 1024, "Q": 1000}, 105022},
	{"hash_join", map[string]int64{"N": 1024, "B": 1024, "Q": 4000}, 65502},
}

// TestGccCounts compares the numbers of micro-ops with those of gcc's code for the same
// files, and with BITSCHED_GCC_COUNTS=all counts those anew.
func TestGccCounts(t *testing.T) {
	for _, c := range gccCounts {
		k, err := kernels.Get(c.kernel)
		require.NoError(t, err)
		g, err := cfront.CompileWhole(context.Background(), k.File, k.Source, cfront.Options{})
		require.NoError(t, err)
		var mem *memory.Memory
		if k.Whole {
			mem, err = k.Arguments(context.Background(), c.sizes, 3)
			require.NoError(t, err)
		} else {
			mem = k.DataExact(c.sizes, 3).Memory()
		}
		before := mem.Clone()
		p, err := micro.New(g, arraysOf(mem), stream.Args{Symbols: c.sizes, Params: mem.Scalars}, micro.Options{Threads: 1, Vector: 64, Reassociate: k.Reassociate && !k.Whole})
		require.NoError(t, err)
		m := newMachine(p)
		m.run(t, p, 1)
		ops := m.ops
		if only := os.Getenv("BITSCHED_GCC_COUNTS"); only == "all" || only == c.kernel {
			if n := gccCount(t, k, g, c.sizes, before); n != c.count {
				t.Errorf("%s: gcc executes %d micro-ops now", c.kernel, n)
				c.count = n
			}
		}
		far := float64(ops)/float64(c.count) - 1
		t.Logf("%-18s %7d micro-ops, gcc %7d: %+.0f %% %q", c.kernel, ops, c.count, 100*far, p.Why())
		if math.Abs(far) > 0.2 {
			t.Errorf("%s: %.0f %% from gcc, expected at most 20", c.kernel, 100*far)
		}
	}
}
