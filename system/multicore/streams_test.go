package multicore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/benchmarks/kernels"
	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/system/multicore"
	"github.com/bitsched/bitsched/tdfg/cfront"
	"github.com/bitsched/bitsched/tdfg/memory"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"github.com/bitsched/bitsched/tile"
	"github.com/bitsched/bitsched/tile/se"
)

// streamSizes are sizes at which 4 threads have loops that are long enough for streams.
var streamSizes = map[string]map[string]int64{
	"pathfinder": {"N": 2200, "T": 2}, "srad": {"N": 8, "M": 300, "T": 1}, "hotspot": {"N": 6, "M": 300, "T": 2}, "hotspot3D": {"L": 2, "N": 5, "M": 300, "T": 2},
	"histogram": {"N": 3000, "Q": 4}, "scluster": {"N": 1100, "T": 2}, "svm": {"N": 1100, "T": 1}, "bfs_push": {"V": 1100, "E": 3000, "source": 1},
	"bfs_pull": {"V": 1100, "E": 3000, "source": 1}, "pr_push": {"V": 1100, "E": 3000, "T": 1}, "pr_pull": {"V": 1100, "E": 3000, "T": 1},
	"sssp": {"V": 1100, "E": 3000, "D": 64, "source": 1}, "bin_tree": {"N": 100, "Q": 200}, "hash_join": {"N": 100, "B": 64, "Q": 200},
}

// graphs are those of sources that were compiled: runs of many configurations have the same.
var graphs = map[string]*stream.Graph{}

func graphOf(t testing.TB, file, source string) *stream.Graph {
	g := graphs[source]
	if g == nil {
		var err error
		g, err = cfront.CompileWhole(context.Background(), file, source, cfront.Options{})
		require.NoError(t, err, source)
		graphs[source] = g
	}
	return g
}

// nearProgram is a workload of Near-Stream Computing with its arguments.
func nearProgram(t testing.TB, name string) (*multicore.Program, *kernels.Kernel, *memory.Memory, *memory.Memory) {
	k, err := kernels.Get(name)
	require.NoError(t, err)
	g := graphOf(t, k.File, k.Source)
	before, err := k.Arguments(context.Background(), streamSizes[name], 5)
	require.NoError(t, err)
	m := before.Clone()
	mem := stream.Memory{}
	for _, a := range g.Arrays {
		if x := m.Arrays[a.Name]; x != nil {
			mem[a.Name] = x.Elems
		}
	}
	return &multicore.Program{Graph: g, Memory: mem, Args: stream.Args{Symbols: streamSizes[name], Params: before.Scalars}, Reassociate: k.Reassociate}, k, before, m
}

// TestStreamConfigurations runs the 14 workloads in all configurations, or where invariants are not
// checked in ns and two of the others in turn, and compares with their definitions; cores compare
// every load with what the program expects.
func TestStreamConfigurations(t *testing.T) {
	offloaded := map[string]uint64{}
	for i, k := range kernels.NearStream() {
		for j, c := range multicore.Configurations[1:] {
			if !invariants.Enabled && c.Name != "ns" && (i+j)%3 != 0 {
				continue
			}
			p, k, before, after := nearProgram(t, k.Name)
			r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: small(t, "ooo8"), Threads: 4, Config: c.Name, Warm: true})
			require.NoError(t, err, "%s in %s", k.Name, c.Name)
			require.NoError(t, k.Check(streamSizes[k.Name], before, after), "%s in %s", k.Name, c.Name)
			s := r.Streams
			if c.Name == "ns" {
				offloaded[k.Name] = s.Bank.Operations + s.Bank.Writes
			}
			if c.Name != "ns-core" {
				done := r.Streams.Messages[se.MsgDone].Messages + r.Streams.Messages[se.MsgFinal].Messages
				require.Equal(t, s.Bank.Writes > 0 || s.Bank.Operations > 0, done > 0, k.Name)
			}
		}
	}
	for _, name := range []string{"pathfinder", "srad", "hotspot", "hotspot3D", "bfs_push", "pr_push", "pr_pull", "sssp"} {
		require.Positive(t, offloaded[name], name)
	}
}

// loopC is a loop of each kind of stream: stores, an update, copies, reductions in order,
// and loads that only the core takes, with elements of three sizes.
const loopC = `#include "bitsched.h"
void f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N], int64_t D[N], const uint8_t E[N], int64_t S[2])
{
	inf_array(A, N); inf_array(B, N); inf_array(C, N); inf_array(D, N); inf_array(E, N); inf_array(S, 2);
	int64_t sum = 3;
	uint32_t hash = 7;
	for (int i = 1; i < N - 1; i++) {
		C[i] = A[i - 1] * B[i + 1] + i;
		D[i] += A[i] ^ E[i];
		sum += A[i] * (int64_t)E[i + 1];
	}
	for (int i = 0; i < N; i++)
		hash = hash * 31 + (uint32_t)C[i];
	S[0] = sum;
	S[1] = hash;
}
`

// compiled is a function in C on random arguments of n elements, and what it computes
// sequentially.
func compiled(t testing.TB, text string, n int64, seed uint64) (p *multicore.Program, want stream.Memory) {
	p, want, err := arguments(graphOf(t, "f.c", text), n, seed)
	require.NoError(t, err)
	return p, want
}

func arguments(g *stream.Graph, n int64, seed uint64) (p *multicore.Program, want stream.Memory, err error) {
	args := stream.Args{Symbols: map[string]int64{"N": n}}
	r := rand.New(rand.NewPCG(seed, 9))
	mem := stream.Memory{}
	want = stream.Memory{}
	for _, a := range g.Arrays {
		size := int64(1)
		for _, x := range a.Size {
			k, err := x.Eval(args.Symbols)
			if err != nil {
				return nil, nil, err
			}
			size *= k
		}
		list := make([]scalar.Value, size)
		for i := range list {
			list[i] = r.Uint64() & a.Type.Mask()
			if a.Type.Float() {
				list[i] = scalar.FromFloat(a.Type, float64(r.IntN(1000))/8)
			}
		}
		mem[a.Name], want[a.Name] = list, append([]scalar.Value(nil), list...)
	}
	if _, err := g.Run(context.Background(), want, args); err != nil {
		return nil, nil, err
	}
	return &multicore.Program{Graph: g, Memory: mem, Args: args}, want, nil
}

func sameMemory(p *multicore.Program, want stream.Memory) error {
	for _, a := range p.Graph.Arrays {
		for i, w := range want[a.Name] {
			if p.Memory[a.Name][i] != w {
				return fmt.Errorf("%s[%d] is %x, not %x", a.Name, i, p.Memory[a.Name][i], w)
			}
		}
	}
	return nil
}

// TestProtocolMutants loses, repeats, changes and misdirects messages of each kind: each
// must end in a wrong value that a check sees, in a deadlock that is found, or in streams that
// are ended since they do nothing any more.
func TestProtocolMutants(t *testing.T) {
	run := func(f func(m *se.Message) bool) error {
		p, want := compiled(t, loopC, 700, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: "ns", Warm: true, Intercept: f, MaxCycles: 1 << 20})
		if err == nil {
			err = sameMemory(p, want)
		}
		return orEnded(r, err)
	}
	count := breakMessages(t, run, []mutant{
		{"lost", []se.MessageKind{se.MsgConfigure, se.MsgMigrate, se.MsgCredit, se.MsgForward, se.MsgCommit, se.MsgDone, se.MsgFinal}, func(*se.Message) bool { return false }},
		{"one element wrong", []se.MessageKind{se.MsgForward, se.MsgFinal}, wrongElement},
		{"to another bank", []se.MessageKind{se.MsgConfigure, se.MsgMigrate, se.MsgCredit, se.MsgForward, se.MsgCommit}, func(m *se.Message) bool { m.To ^= 5; return true }},
		{"of another stream", []se.MessageKind{se.MsgCredit, se.MsgCommit, se.MsgDone, se.MsgFinal}, func(m *se.Message) bool { m.Stream ^= 1; return true }},
		{"one iteration short", []se.MessageKind{se.MsgCredit, se.MsgCommit, se.MsgDone}, func(m *se.Message) bool { m.End--; return true }},
		{"of another group", []se.MessageKind{se.MsgForward, se.MsgCredit, se.MsgDone, se.MsgFinal}, func(m *se.Message) bool { m.Group++; return true }},
	})
	require.GreaterOrEqual(t, count, 60)
}

// mutant breaks a message of some kinds, or loses it.
type mutant struct {
	name   string
	kinds  []se.MessageKind
	break_ func(m *se.Message) bool
}

// orEnded makes an error of streams that were ended after a timeout: then a message that is
// missing was noticed, too.
func orEnded(r *multicore.Report, err error) error {
	if err == nil && r.Streams.Core.Ended[se.Timeout] > 0 {
		err = errors.New("streams were ended after a timeout")
	}
	return err
}

func wrongElement(m *se.Message) bool {
	m.Values = append([]uint64(nil), m.Values...)
	m.Values[len(m.Values)/2] ^= 4
	return true
}

// breakMessages runs a program with the first, the middle and the last message of each kind
// broken, which must be an error, and returns how many runs that were.
func breakMessages(t *testing.T, run func(func(m *se.Message) bool) error, mutants []mutant) (count int) {
	require.NoError(t, run(nil))
	seen := map[se.MessageKind]int{}
	require.NoError(t, run(func(m *se.Message) bool { seen[m.Kind]++; return true }))
	for _, x := range mutants {
		for _, kind := range x.kinds {
			require.Positive(t, seen[kind], kind)
			for _, at := range []int{0, seen[kind] / 2, seen[kind] - 1} {
				n := 0
				err := run(func(m *se.Message) bool {
					if m.Kind != kind {
						return true
					}
					n++
					if n-1 == at {
						return x.break_(m)
					}
					return true
				})
				count++
				assert.Error(t, err, "%s %s, number %d of %d", kind, x.name, at, seen[kind])
			}
		}
	}
	return count
}

// randomC is a random function of loops with streams: stores, updates and sums of random
// expressions of random arrays at random distances, some of which the core has to keep.
func randomC(r *rand.Rand) string {
	types := []string{"int32_t", "int64_t", "uint8_t", "float", "uint16_t"}
	const arrays = 5
	var b strings.Builder
	b.WriteString("#include \"bitsched.h\"\nvoid f(int N")
	typ := make([]string, arrays)
	for i := range typ {
		typ[i] = types[r.IntN(len(types))]
		fmt.Fprintf(&b, ", %s A%d[N]", typ[i], i)
	}
	b.WriteString(", int64_t S[4])\n{\n")
	for i := range typ {
		fmt.Fprintf(&b, "inf_array(A%d, N); ", i)
	}
	b.WriteString("inf_array(S, 4);\n")
	var whole []int // arrays whose elements can be indices
	for i, x := range typ {
		if x != "float" {
			whole = append(whole, i)
		}
	}
	element := func() string {
		if r.IntN(5) == 0 && len(whole) > 0 {
			return fmt.Sprintf("A%d[(uint32_t)A%d[i] %% (uint32_t)N]", r.IntN(arrays), whole[r.IntN(len(whole))])
		}
		return fmt.Sprintf("A%d[i%+d]", r.IntN(arrays), r.IntN(7)-3)
	}
	var value func(depth int) string
	value = func(depth int) string {
		switch k := r.IntN(7); {
		case depth == 0 || k < 2:
			return "(int32_t)" + element()
		case k == 2:
			return strconv.Itoa(r.IntN(100))
		case k == 3:
			return "i"
		case k == 4:
			return fmt.Sprintf("(%s > %s ? %s : 9)", value(depth-1), value(depth-1), value(depth-1))
		default:
			return fmt.Sprintf("(%s %s %s)", value(depth-1), []string{"+", "-", "*", "^", "&"}[r.IntN(5)], value(depth-1))
		}
	}
	for n := range 1 + r.IntN(3) {
		step := 1 + r.IntN(3)*r.IntN(2)
		fmt.Fprintf(&b, "int32_t s%d = %d;\nfor (int i = 3; i < N - 3; i += %d) {\n", n, r.IntN(9), step)
		chase := ""
		if len(whole) > 0 && r.IntN(3) == 0 { // a loop that goes where an array says
			at, to := whole[r.IntN(len(whole))], r.IntN(arrays)
			chase = fmt.Sprintf("uint32_t p = %d; int left = %d; int32_t sum = s%d;\nwhile (left > 0 && A%d[p] != 77) { if (A%d[p] > 3) sum += A%d[p]; p = (uint32_t)A%d[p] %% (uint32_t)N; left--; }\nS[3] = S[3] * 5 + sum + (int64_t)p + left;\n",
				r.IntN(9), r.IntN(60), n, at, to, at, at)
		}
		for k := range 1 + r.IntN(3) {
			switch r.IntN(9) {
			case 8: // over banks, where nothing else is taken
				if len(whole) == 0 {
					continue
				}
				from := whole[r.IntN(len(whole))]
				x := fmt.Sprintf("A%d[((uint32_t)A%d[i] >> %d) %% (uint32_t)N]", r.IntN(arrays), from, r.IntN(3))
				if r.IntN(2) == 0 {
					x = fmt.Sprintf("((int32_t)%s * (int32_t)A%d[i] + i)", x, from)
				}
				switch r.IntN(3) {
				case 0:
					fmt.Fprintf(&b, "s%d = s%d %s (int32_t)%s;\n", n, n, []string{"+", "^", "*", "|"}[r.IntN(4)], x)
				case 1:
					fmt.Fprintf(&b, "int32_t m%d%d = %s; s%d = m%d%d %s s%d ? m%d%d : s%d;\n", n, k, x, n, n, k, []string{"<", ">", "<="}[r.IntN(3)], n, n, k, n)
				case 2:
					fmt.Fprintf(&b, "if (A%d[i] & 1) s%d += (int32_t)%s;\n", from, n, x)
				}
			case 5, 6:
				if len(whole) == 0 {
					continue
				}
				from := whole[r.IntN(len(whole))]
				to := fmt.Sprintf("A%d[((uint32_t)A%d[i] >> %d) %% (uint32_t)N]", r.IntN(arrays), from, r.IntN(3))
				switch r.IntN(4) {
				case 0:
					fmt.Fprintf(&b, "%s = i;\n", to)
				case 1:
					fmt.Fprintf(&b, "%s += (int32_t)A%d[i];\n", to, from)
				case 2:
					fmt.Fprintf(&b, "if (A%d[i] & 2) %s += 3;\n", from, to)
				case 3:
					fmt.Fprintf(&b, "\n#pragma omp atomic\n%s += i;\n", to)
				}
			case 0, 1:
				fmt.Fprintf(&b, "%s = %s;\n", element(), value(2))
			case 2:
				fmt.Fprintf(&b, "A%d[i] += %s;\n", r.IntN(arrays), value(1))
			case 3:
				fmt.Fprintf(&b, "s%d = s%d %s %s;\n", n, n, []string{"+", "^", "*"}[r.IntN(3)], value(1))
			case 4:
				fmt.Fprintf(&b, "if (%s > 50) %s = %s;\n", value(1), element(), value(1))
			case 7: // what is smaller than the element
				fmt.Fprintf(&b, "uint8_t k%d%d = (%s >> %d) & 31; s%d = s%d * 3 + k%d%d;\n", n, k, value(0), r.IntN(9), n, n, n, k)
			}
		}
		fmt.Fprintf(&b, "}\nS[%d] = s%d;\n{\n%s}\n", n, n, chase)
	}
	b.WriteString("}\n")
	return b.String()
}

// TestRandomStreams compares random functions in all configurations with their sequential
// meaning, some with room for one range at a time; BITSCHED_STREAMS=10000 runs more.
func TestRandomStreams(t *testing.T) {
	programs := 12
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	offloaded := uint64(0)
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 4))
		text := randomC(r)
		n := 200 + int64(r.IntN(900))
		for _, c := range multicore.Configurations[1:] {
			p, want := compiled(t, text, n, seed)
			m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
			if r.IntN(2) == 0 {
				m.Streams.L2.Slices = 1 // one range at a time
			}
			report, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: c.Name, Warm: r.IntN(2) == 0})
			require.NoError(t, err, "seed %d, %s\n%s", seed, c.Name, text)
			require.NoError(t, sameMemory(p, want), "seed %d, %s\n%s", seed, c.Name, text)
			offloaded += report.Streams.Core.Offloaded
		}
	}
	require.Positive(t, offloaded)
}

// first is the seed of the first random program, BITSCHED_STREAMS_FROM.
func first() int {
	n, _ := strconv.Atoi(os.Getenv("BITSCHED_STREAMS_FROM"))
	return n
}

// TestMessageCounts: a sum of two arrays on one thread sends what follows from its sizes:
// lines of 16 elements, ranges of 8 lines, of which the first four come by one credit for all three streams, and banks of 16 lines.
func TestMessageCounts(t *testing.T) {
	const n, line, rng, bank = 2048, 16, 8 * 16, 16 * 16
	p, want := compiled(t, "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N])\n{\n"+
		"inf_array(A, N); inf_array(B, N); inf_array(C, N);\nfor (int i = 0; i < N; i++) C[i] = A[i] + B[i];\n}\n", n, 1)
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc", "ooo8"), Threads: 1, Config: "ns", Warm: true})
	require.NoError(t, err)
	require.NoError(t, sameMemory(p, want))
	count := map[string]uint64{}
	for _, m := range r.Streams.Messages {
		count[m.Name] = m.Messages
	}
	assert.Equal(t, map[string]uint64{
		"configure": 3, "migrate": 3 * (n/bank - 1), "credit": n/rng - 3, "forward": 2 * n / line, "data": 0, "commit": n / rng, "done": n / rng, "final": 0, "range": 0, "request": 0, "end": 0, "ended": 0, "offload": 0, "fetch": 0, "write": 0, "visited": 0, "collect": 0, "broadcast": 0, "ask": 0, "grant": 0, "recall": 0, "return": 0,
	}, count)
	b := r.Streams.Bank
	assert.Equal(t, []uint64{2 * n / line, n / line, n, n}, []uint64{b.Reads, b.Writes, b.Computed, b.Operations})
	assert.EqualValues(t, n, r.Streams.Core.Iterations)
}

// TestInstant: messages that take no network are sent as often as those that do, have no traffic, and
// what waits for them takes no longer.
func TestInstant(t *testing.T) {
	const text = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], const int32_t B[N], int32_t C[N])\n{\n" +
		"inf_array(A, N); inf_array(B, N); inf_array(C, N);\nfor (int i = 0; i < N; i++) C[i] = A[i] + B[i];\n}\n"
	run := func(config, instant, value string) *multicore.Report {
		m := machine(t, "nsc", "ooo8")
		require.NoError(t, m.Set("streams.l3.instant_"+instant, value))
		p, want := compiled(t, text, 4096, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: config, Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		return r
	}
	plain := map[string]*multicore.Report{}
	for _, x := range []struct {
		config, name string
		free         []string // kinds that have no traffic then
	}{
		{"ns", "flow", []string{"credit"}}, {"near-l3", "flow", []string{"credit"}}, {"near-l3", "ack", []string{"done"}}, {"ns", "ack", nil}, {"ns", "end", nil},
	} {
		if plain[x.config] == nil {
			plain[x.config] = run(x.config, x.name, "false")
		}
		before, after := plain[x.config], run(x.config, x.name, "true")
		require.LessOrEqual(t, after.Cycles, before.Cycles, "%s, %s", x.config, x.name)
		require.Equal(t, len(x.free) == 0, after.Cycles == before.Cycles, "%s, %s: nothing else waits", x.config, x.name)
		for i, m := range after.Streams.Messages {
			want := before.Streams.Messages[i]
			if slices.Contains(x.free, m.Name) {
				require.Positive(t, want.ByteHops)
				want.ByteHops = 0
			}
			require.Equal(t, want, m, "%s, %s: %s", x.config, x.name, m.Name)
		}
	}
	const short = "#include \"bitsched.h\"\nvoid f(int N, const uint8_t X[N][32], uint8_t B[N])\n{\ninf_array(X, N, 32); inf_array(B, N);\n" +
		"for (int i = 0; i < N; i++) {\nuint8_t d = 2;\nfor (int k = 0; k < 32; k++)\nd += X[i][k];\nB[i] = d;\n}\n}\n"
	for _, name := range []string{"flow", "end"} { // of streams that end before their time
		m := small(t, "ooo8")
		require.NoError(t, m.Set("streams.l3.instant_"+name, "true"))
		p, want := compiled(t, short, 100, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true, Inject: &se.Inject{Switch: 0.02}})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		end := r.Streams.Messages[slices.IndexFunc(r.Streams.Messages, func(m multicore.Class) bool { return m.Name == "end" })]
		require.Positive(t, end.Messages)
		require.Equal(t, name == "end", end.ByteHops == 0)
	}
}

// TestSyncFree: the pragma spares commits, in the configuration without promises of its own,
// and decoupling spares the iterations of the core.
func TestSyncFree(t *testing.T) {
	text := func(pragma string) string {
		return "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N])\n{\n" +
			"inf_array(A, N); inf_array(B, N);\n" + pragma + "#pragma omp parallel for\nfor (int i = 0; i < N; i++) B[i] = A[i] * 3 + i;\n}\n"
	}
	run := func(pragma, config string) *multicore.Report {
		p, want := compiled(t, text(pragma), 4096, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 2, Config: config, Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		require.EqualValues(t, 4096, r.Streams.Bank.Computed)
		return r
	}
	commits := func(r *multicore.Report) uint64 { return r.Streams.Messages[se.MsgCommit].Messages }
	plain := run("", "ns")
	assert.Positive(t, commits(plain))
	assert.Zero(t, commits(run("#pragma s_sync_free\n", "ns")))
	assert.Zero(t, commits(run("", "ns-no-sync")))
	gone := run("", "ns-decouple")
	assert.Zero(t, commits(gone))
	assert.True(t, gone.Streams.Loops[0].Vanishes)
	assert.Less(t, gone.Kinds[0].Count, plain.Kinds[0].Count)
	_, err := multicore.FindConfiguration("near-l4")
	assert.ErrorContains(t, err, `multicore: configuration "near-l4", expected base, ns-core, ns-no-comp, inst, single, ns, ns-no-sync, ns-decouple`)
}

// TestStreamParameters changes each parameter that only streams depend on: then cycles of a
// program in a configuration change, or what the engines of banks did.
func TestStreamParameters(t *testing.T) {
	const orderedC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t S[1])\n{\n" +
		"\tinf_array(A, N); inf_array(S, 1);\n\tint32_t last = 0;\n\tfor (int i = 0; i < N; i++)\n\t\tlast = A[i] - last;\n\tS[0] = last;\n}\n"
	programs := []func() *multicore.Program{
		func() *multicore.Program { p, _, _, _ := nearProgram(t, "hotspot"); return p },
		func() *multicore.Program { p, _, _, _ := nearProgram(t, "svm"); return p },
		func() *multicore.Program { p, _ := compiled(t, orderedC, 3000, 1); return p }, // an operation at a time
	}
	const againC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N])\n{\n" +
		"\tinf_array(A, N); inf_array(B, N);\n\tfor (int t = 0; t < 3; t++)\n\t\tfor (int i = 0; i < N; i++)\n\t\t\tB[i] = A[i] + t;\n}\n"
	programs = append(programs, func() *multicore.Program { p, _ := compiled(t, againC, 3000, 1); return p })
	programs = append(programs, func() *multicore.Program { p, _ := compiled(t, fmt.Sprintf(lockC, "N"), 6000, 1); return p })
	figures := func(m *tile.Machine, p *multicore.Program, config string) string {
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 4, Config: config, Warm: true})
		require.NoError(t, err)
		return fmt.Sprint(r.Cycles, r.Streams.Bank)
	}
	type run struct {
		program int
		config  string
	}
	before := map[run]string{}
	of := map[string][]string{} // values by parameter
	for path, values := range map[string]string{
		"stream_fifo_bytes": "256", "stream_load_ports": "1", "stream_store_ports": "1", "scc_rob": "8 0", "computations": "1", "slices": "8", "indirect_slices": "8", "segments": "1 64", "compute_init_cycles": "16", "latency_cycles": "0 64", "scalar_pe": "true false", "vectorize": "false", "issue_width": "1 4", "requests": "1 2", "instant_flow": "true", "range_iterations": "2 32", "affine_ranges": "l3", "range_policy": "adaptive", "sharing": "static dynamic",
	} {
		of[path] = strings.Fields(values)
	}
	for _, p := range machine(t, "nsc-small", "ooo8").Parameters() {
		if !p.Streams || strings.HasPrefix(p.Path, "cores.") && !strings.HasPrefix(p.Path, "cores.ooo8.") {
			continue
		}
		name := p.Path[strings.LastIndex(p.Path, ".")+1:]
		if name == "locks" || name == "migrate" || p.Path == "tlb.streams.entries" || p.Path == "tlb.streams.ways" || name == "sccs" || name == "instant_end" || name == "instant_ack" || name == "offload" || name == "strands" || name == "buffer_bytes" || name == "multicast" || name == "order" || name == "patience_cycles" || name == "queue_flits" || strings.HasPrefix(name, "broadcast") || strings.HasPrefix(name, "keep") || strings.HasSuffix(name, "timeout_cycles") { // TestLocks, TestMigrateBytes, TestContextsOfIO4, TestHistoryDecides, TestTimeouts, TestStrands, TestRoomAlone, TestInstant, TestOperands, TestKept, TestConvoys
			continue
		}
		require.NotEmpty(t, of[name], p.Path)
		changed := false
		for i, program := range programs {
			for _, c := range []string{"ns", "ns-core"} {
				for _, v := range of[name] {
					if changed {
						break
					}
					if before[run{i, c}] == "" {
						before[run{i, c}] = figures(machine(t, "nsc-small", "ooo8"), program(), c)
					}
					m := machine(t, "nsc-small", "ooo8")
					require.NoError(t, m.Set(p.Path, v))
					changed = figures(m, program(), c) != before[run{i, c}]
				}
			}
		}
		require.True(t, changed, p.Path)
	}
}

// TestContextsOfIO4: contexts without a reorder buffer execute one instance each.
func TestContextsOfIO4(t *testing.T) {
	cycles := func(n string) int64 {
		p, _, _, _ := nearProgram(t, "hotspot")
		m := machine(t, "nsc-small", "io4")
		require.NoError(t, m.Set("streams.core.sccs", n))
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 4, Config: "ns", Warm: true})
		require.NoError(t, err)
		return r.Cycles
	}
	require.Greater(t, cycles("1"), cycles("2"))
}

// TestLongStream has a core wait for longer than the patience of the watchdog, for a sum that
// is computed near the memory.
func TestLongStream(t *testing.T) {
	const n = 1 << 20
	p, want := compiled(t, `void f(int N, const float A[restrict N], float s[restrict 1]) { float x = 0; for (int i = 0; i < N; i++) x += A[i]; s[0] = x; }`, n, 1)
	r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: "ns-decouple"})
	require.NoError(t, err)
	require.NoError(t, sameMemory(p, want))
	require.Greater(t, r.Cycles, int64(2_100_000))
}

// TestRandomSamples executes random functions in samples, so that windows begin and end
// anywhere in loops with streams, and with pages of 4 kB anywhere in memory, and compares with
// their sequential meaning; BITSCHED_STREAMS=10000 runs more.
func TestRandomSamples(t *testing.T) {
	programs := 20
	if n, err := strconv.Atoi(os.Getenv("BITSCHED_STREAMS")); err == nil {
		programs = n
	}
	forwarded, ended := uint64(0), uint64(0)
	for seed := uint64(first()); seed < uint64(first()+programs); seed++ {
		r := rand.New(rand.NewPCG(seed, 8))
		text := randomC(r)
		c := multicore.Configurations[1+r.IntN(len(multicore.Configurations)-1)]
		p, want := compiled(t, text, 500+int64(r.IntN(2000)), seed)
		m := small(t, []string{"io4", "ooo4", "ooo8"}[r.IntN(3)])
		if r.IntN(2) == 0 {
			m.Streams.L2.Slices = 1
		}
		if r.IntN(2) == 0 {
			require.NoError(t, m.Set("memory.placement", "random-4k"))
		}
		sample := &multicore.Sampling{Share: []float64{0.02, 0.1, 0.5}[r.IntN(3)], Window: 50 + int64(r.IntN(800))}
		if r.IntN(4) == 0 {
			sample = nil
		}
		report, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: c.Name, Warm: r.IntN(2) == 0, Seed: seed, Sample: sample, MaxCycles: 1 << 22})
		require.NoError(t, err, "seed %d, %s, %+v\n%s", seed, c.Name, sample, text)
		require.NoError(t, sameMemory(p, want), "seed %d, %s, %+v\n%s", seed, c.Name, sample, text)
		if report.Sample != nil {
			forwarded += report.Sample.Forwarded
		}
		ended += report.Streams.Core.Ended[se.Alias]
	}
	t.Log(forwarded, ended)
	require.Positive(t, forwarded)
}

// TestStreamTLB goes twice through arrays of small pages: with few entries, or few in a set, the
// banks walk page tables in the second round, too.
func TestStreamTLB(t *testing.T) {
	const twiceC = "#include \"bitsched.h\"\nvoid f(int N, const int32_t A[N], int32_t B[N])\n{\n" +
		"\tinf_array(A, N); inf_array(B, N);\n\tfor (int t = 0; t < 2; t++)\n\t\tfor (int i = 0; i < N; i++)\n\t\t\tB[i] += A[i];\n}\n"
	run := func(set ...string) (cycles int64, translations, walks uint64) {
		m := machine(t, "nsc-small", "ooo8")
		require.NoError(t, m.Set("memory.placement", "random-4k"))
		for i := 0; i < len(set); i += 2 {
			require.NoError(t, m.Set(set[i], set[i+1]))
		}
		p, want := compiled(t, twiceC, 20_000, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: m, Threads: 1, Config: "ns", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want))
		return r.Cycles, r.Streams.Bank.Translations, r.Streams.Bank.Walks
	}
	normal, all, once := run()
	_, _, few := run("tlb.streams.ways", "1", "tlb.streams.entries", "4")
	_, _, sets := run("tlb.streams.ways", "4", "tlb.streams.entries", "4")
	t.Log(all, once, few, sets)
	require.EqualValues(t, 2*once, all) // the second round finds what the first one did not
	require.Greater(t, few, once)
	require.NotEqual(t, few, sets)
	fast, _, _ := run("tlb.streams.latency_cycles", "0")
	require.Less(t, fast, normal)
}

// TestReduceInAnyOrder: sums of floats are computed by SIMD where C lets them be of any order, and
// one after another elsewhere: of 16 elements 2 + 8 operations in 8 units, or 16 times 2.
func TestReduceInAnyOrder(t *testing.T) {
	for pragma, want := range map[string]uint64{"": 4, "#pragma omp simd reduction(+: s)\n": 2} {
		p, want16 := compiled(t, "#include \"bitsched.h\"\nvoid f(int N, const float A[N], const float B[N], float S[1])\n{\n"+
			"inf_array(A, N); inf_array(B, N); inf_array(S, 1);\nfloat s = 0;\n"+pragma+"for (int i = 0; i < N; i++) s += A[i] * B[i];\nS[0] = s;\n}\n", 1600, 1)
		r, err := multicore.Run(context.Background(), p, multicore.Options{Machine: machine(t, "nsc-small", "ooo8"), Threads: 1, Config: "ns", Warm: true})
		require.NoError(t, err)
		require.NoError(t, sameMemory(p, want16))
		require.Equal(t, 100*want, r.Streams.Bank.BusySCM, pragma)
	}
}
