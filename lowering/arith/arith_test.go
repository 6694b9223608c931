package arith

import (
	"context"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/invariants"
	"github.com/bitsched/bitsched/sram"
)

// programs are built once for all tests.
var programs = NewStore("")

func mustBuild(t testing.TB, s Spec) *Program {
	t.Helper()
	p, err := programs.Build(context.Background(), s)
	require.NoError(t, err, "%+v", s)
	return p
}

// TestIntegers builds every integer operation, which compares it with the
// reference on all operands where these are few.
func TestIntegers(t *testing.T) {
	for i := range Operations {
		o := &Operations[i]
		if o.IsFloat() {
			continue
		}
		t.Run(string(o.ID), func(t *testing.T) {
			for _, tech := range sram.Technologies() {
				widths := []int{1, 2, 3, 5, 8, 13, 32, 33, 64}
				if invariants.Enabled {
					widths = []int{1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 31, 32, 33, 63, 64}
				}
				for _, w := range widths {
					mustBuild(t, Spec{Op: string(o.ID), Width: w, Tech: tech.Name, Rows: 1024})
				}
			}
		})
	}
}

// TestReferences compares the references with Go's operators on int8 and uint8,
// by whatever is plainest there.
func TestReferences(t *testing.T) {
	b := func(x bool) int {
		if x {
			return 1
		}
		return 0
	}
	root := func(x int) int { return int(new(big.Int).Sqrt(big.NewInt(int64(x))).Int64()) }
	want := map[string]func(a, c int, x, y int) int{ // a, c signed, x, y unsigned
		"int.add": func(a, c, _, _ int) int { return a + c }, "int.sub": func(a, c, _, _ int) int { return a - c },
		"int.neg": func(a, _, _, _ int) int { return -a }, "int.abs": func(a, _, _, _ int) int { return max(a, -a) },
		"int.eq": func(a, c, _, _ int) int { return b(a == c) }, "int.ne": func(a, c, _, _ int) int { return b(a != c) },
		"int.lt": func(a, c, _, _ int) int { return b(a < c) }, "int.le": func(a, c, _, _ int) int { return b(a <= c) },
		"int.gt": func(a, c, _, _ int) int { return b(a > c) }, "int.ge": func(a, c, _, _ int) int { return b(a >= c) },
		"uint.lt": func(_, _, x, y int) int { return b(x < y) }, "uint.le": func(_, _, x, y int) int { return b(x <= y) },
		"uint.gt": func(_, _, x, y int) int { return b(x > y) }, "uint.ge": func(_, _, x, y int) int { return b(x >= y) },
		"int.min": func(a, c, _, _ int) int { return min(a, c) }, "int.max": func(a, c, _, _ int) int { return max(a, c) },
		"uint.min": func(_, _, x, y int) int { return min(x, y) }, "uint.max": func(_, _, x, y int) int { return max(x, y) },
		"int.and": func(a, c, _, _ int) int { return a & c }, "int.or": func(a, c, _, _ int) int { return a | c }, "int.xor": func(a, c, _, _ int) int { return a ^ c },
		"int.not": func(a, _, _, _ int) int { return -1 - a },
		"int.shl": func(_, _, x, y int) int { return x << (y % 8) }, "uint.shr": func(_, _, x, y int) int { return x >> (y % 8) }, "int.shr": func(a, _, _, y int) int { return a >> (y % 8) },
		"int.rotl": func(_, _, x, y int) int { return x<<(y%8) | x>>(8-y%8) }, "int.rotr": func(_, _, x, y int) int { return x>>(y%8) | x<<(8-y%8) },
		"int.mul": func(a, c, _, _ int) int { return a * c }, "int.mulw": func(a, c, _, _ int) int { return a * c }, "uint.mulw": func(_, _, x, y int) int { return x * y },
		"int.mulh": func(a, c, _, _ int) int { return a * c >> 8 }, "uint.mulh": func(_, _, x, y int) int { return x * y >> 8 },
		"int.widen": func(a, _, _, _ int) int { return a }, "uint.widen": func(_, _, x, _ int) int { return x }, "int.narrow": func(a, _, _, _ int) int { return a },
		"int.relu": func(a, _, _, _ int) int { return max(a, 0) }, "uint.sqrt": func(_, _, x, _ int) int { return root(x) },
		"int.popcount": func(_, _, x, _ int) int { return strings.Count(big.NewInt(int64(x)).Text(2), "1") },
		"int.lzc":      func(_, _, x, _ int) int { return 8 - big.NewInt(int64(x)).BitLen() },
		"int.div": func(a, c, _, _ int) int {
			if c == 0 {
				return -1
			}
			return a / c
		},
		"int.rem": func(a, c, _, _ int) int {
			if c == 0 {
				return a
			}
			return a % c
		},
		"uint.div": func(_, _, x, y int) int {
			if y == 0 {
				return 255
			}
			return x / y
		},
		"uint.rem": func(_, _, x, y int) int {
			if y == 0 {
				return x
			}
			return x % y
		},
	}
	typ := Type{Width: 8}
	for i := range Operations {
		o := &Operations[i]
		f := want[string(o.ID)]
		if f == nil {
			require.True(t, o.IsFloat() || string(o.ID) == "int.select" || string(o.ID) == "int.mac", string(o.ID))
			continue
		}
		for x := range 256 {
			for y := range 256 {
				args := []uint64{uint64(x), uint64(y)}[:len(o.Args)]
				if want, got := uint64(f(int(int8(x)), int(int8(y)), x, y))&mask(o.ResultWidth(typ)), o.Eval(typ, args...).Lo; got != want {
					t.Fatalf("%s of %d and %d is %d, expected %d", o.ID, x, y, got, want)
				}
			}
		}
	}
	for range 1000 {
		r := []uint64{rand.Uint64(), rand.Uint64(), rand.Uint64()}
		o, typ, err := Resolve("int64.mac", 0)
		require.NoError(t, err)
		require.Equal(t, r[0]*r[1]+r[2], o.Eval(typ, r...).Lo)
		o, typ, err = Resolve("int64.mulw", 0)
		require.NoError(t, err)
		p := new(big.Int).Mul(big.NewInt(int64(r[0])), big.NewInt(int64(r[1])))
		p.And(p, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)))
		v := o.Eval(typ, r[:2]...)
		require.Equal(t, p, new(big.Int).Or(new(big.Int).Lsh(new(big.Int).SetUint64(v.Hi), 64), new(big.Int).SetUint64(v.Lo)))
	}
}

// TestLatencies pins what the issue of each formula promises.
func TestLatencies(t *testing.T) {
	for _, n := range []int{4, 8, 16, 32, 64} {
		nc := func(op string) int { return mustBuild(t, Spec{Op: op, Width: n, Rows: 1024}).Latency() }
		require.Equal(t, n+1, nc("int.add"))
		require.LessOrEqual(t, nc("int.sub"), 2*n+1)
		for _, op := range []string{"int.mulw", "uint.mulw", "int.mulh", "uint.mulh"} {
			require.LessOrEqual(t, nc(op), n*n+5*n, op)
		}
		require.LessOrEqual(t, nc("int.mul"), n*n/2+5*n/2)
		require.LessOrEqual(t, nc("uint.div"), n*n+7*n)
		require.LessOrEqual(t, mustBuild(t, Spec{Op: "int.add", Width: n, Rows: 1024, Tech: "xmg"}).Latency(), 2*n)
	}
}

// TestVerifyFindsMutations changes programs and expects Verify to see it.
func TestVerifyFindsMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, op := range []string{"int32.add", "int32.mul", "int16.div", "int32.max"} {
		for _, tech := range []string{"xmg", "neural-cache"} {
			p := *mustBuild(t, Spec{Op: op, Tech: tech})
			missed := 0
			const tries = 40
			for range tries {
				k := *p.Kernel
				k.Instrs = append([]sram.Micro(nil), k.Instrs...)
				m := &k.Instrs[rng.IntN(len(k.Instrs))]
				if tech == "xmg" {
					m.Op ^= 1
				} else {
					m.Src[0] = sram.Zero
					if k.Tech.Ops[m.Op].Operands == 0 || k.Check() != nil {
						continue
					}
				}
				q := p
				q.Kernel = &k
				var err error
				q.code, err = k.Compile()
				require.NoError(t, err)
				if q.Verify(context.Background(), buildPatterns, 1) == nil {
					missed++
				}
			}
			require.Less(t, missed, tries/4, "%s %s", op, tech) // a few changes change nothing
		}
	}
}

func TestConstants(t *testing.T) {
	for _, tech := range sram.Technologies() {
		for _, op := range []string{"int.add", "int.sub", "int.mul", "uint.mulw", "int.mulw", "uint.mulh", "int.mac", "uint.lt", "int.ge", "int.eq", "int.max", "int.div", "int.rotl", "int.shl", "int.shr", "int.xor", "int.select"} {
			for _, c := range []uint64{0, 1, 2, 5, 7, 0x55, 0xff} {
				for arg := range 2 {
					for _, w := range []int{6, 8} {
						mustBuild(t, Spec{Op: op, Width: w, Tech: tech.Name, Const: map[int]uint64{arg: c}})
					}
				}
			}
		}
	}
	require.Equal(t, 33, mustBuild(t, Spec{Op: "int32.sub", Const: map[int]uint64{1: 1000}}).Latency())
	require.Equal(t, 32, mustBuild(t, Spec{Op: "int32.shl", Const: map[int]uint64{1: 5}}).Latency())
	require.Less(t, mustBuild(t, Spec{Op: "int32.mul", Const: map[int]uint64{0: 10}}).Latency(), 32*4)
	_, err := Build(context.Background(), Spec{Op: "int32.add", Const: map[int]uint64{2: 1}})
	require.ErrorContains(t, err, "no operand 2")
}

// TestRun runs lengths around the sizes of groups, with words of both sizes.
func TestRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	ctx := context.Background()
	for _, tech := range sram.Technologies() {
		for _, n := range []int{0, 1, 31, 63, 64, 65, 2047, 2048, 2049, 7000} {
			a, b, y := make([]uint32, n), make([]uint32, n), make([]uint32, n)
			c, d, z := make([]uint64, n), make([]uint64, n), make([]uint64, n)
			lo, hi := make([]uint32, n), make([]uint32, n)
			for i := range n {
				a[i], b[i], c[i], d[i] = rng.Uint32(), rng.Uint32(), rng.Uint64(), rng.Uint64()
			}
			require.NoError(t, Run(ctx, mustBuild(t, Spec{Op: "int32.sub", Tech: tech.Name}), 2, y, a, b))
			require.NoError(t, Run(ctx, mustBuild(t, Spec{Op: "int64.xor", Tech: tech.Name}), 2, z, c, d))
			require.NoError(t, RunWide(ctx, mustBuild(t, Spec{Op: "uint32.mulw", Tech: tech.Name}), 1, [][]uint32{lo, hi}, a, b))
			for i := range n {
				require.Equal(t, a[i]-b[i], y[i])
				require.Equal(t, c[i]^d[i], z[i])
				require.Equal(t, uint64(a[i])*uint64(b[i]), uint64(lo[i])|uint64(hi[i])<<32)
			}
			require.NoError(t, Run(ctx, mustBuild(t, Spec{Op: "int7.add", Tech: tech.Name}), 2, z, c, d))
			for i := range n {
				require.Equal(t, (c[i]+d[i])&127, z[i])
			}
		}
	}
	p := mustBuild(t, Spec{Op: "int64.add"})
	require.ErrorContains(t, Run(ctx, p, 1, make([]uint32, 1), make([]uint32, 1), make([]uint32, 1)), "expected 2")
	require.ErrorContains(t, Run(ctx, p, 1, make([]uint64, 1), make([]uint64, 2), make([]uint64, 1)), "2 words, expected 1")
	require.ErrorContains(t, Run(ctx, p, 1, make([]uint64, 1)), "0 operands, expected 2")
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, Run(stopped, p, 1, make([]uint64, 1), make([]uint64, 1), make([]uint64, 1)), context.Canceled)
}

// TestPlace runs programs anywhere in an array, and in place where they say that
// they can.
func TestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	for _, tech := range sram.Technologies() {
		for i := range Operations {
			o := &Operations[i]
			if o.IsFloat() {
				continue
			}
			p := mustBuild(t, Spec{Op: string(o.ID), Width: 8, Tech: tech.Name})
			for over := -1; over < len(p.Kernel.Inputs); over++ {
				rows := rng.Perm(200)
				// Words take ten adjacent rows of twenty each; scratch is scattered.
				perm := rng.Perm(5)
				var args []int
				k := &sram.Kernel{Tech: tech, Rows: DefaultRows}
				for j, in := range p.Kernel.Inputs {
					args = append(args, 200+10*perm[j])
					k.Inputs = append(k.Inputs, sram.Port{Name: in.Name, Base: args[j], Width: in.Width})
				}
				res := 180
				if over >= 0 {
					res = args[over]
				}
				var scratch []int
				for _, r := range rows {
					if r < 180 {
						scratch = append(scratch, r)
					}
				}
				ins, err := p.Place(args, res, scratch)
				if over >= 0 && !p.InPlace[over] {
					require.ErrorContains(t, err, "cannot replace")
					continue
				}
				require.NoError(t, err)
				k.Instrs = ins
				k.Outputs = []sram.Port{{Name: "y", Base: res, Width: p.ResultWidth()}}
				code, err := k.Compile()
				require.NoError(t, err, "%s %s", string(o.ID), tech.Name)
				q := *p
				q.Kernel, q.code = k, code
				require.NoError(t, q.Verify(context.Background(), 5000, 3), "%s %s over %d", string(o.ID), tech.Name, over)
			}
		}
	}
	p := mustBuild(t, Spec{Op: "int32.sub"})
	_, err := p.Place([]int{0, 32}, 64, nil)
	require.ErrorIs(t, err, ErrRows)
	_, err = p.Place([]int{0}, 64, nil)
	require.ErrorContains(t, err, "expected 2")
}

func TestStoreFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	// Rows that the order of the circuit exceeds and a search finds room in.
	spec := Spec{Op: "int8.rotl", Tech: "xmg", Rows: 24}
	first, err := NewStore(dir).Build(t.Context(), spec)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	second, err := NewStore(dir).Build(t.Context(), spec)
	require.NoError(t, err)
	require.Equal(t, first.Kernel, second.Kernel)
	for _, bad := range []string{"", "garbage", string(data[:len(data)/2]), strings.Replace(string(data), "maj", "xor", 1)} {
		require.NoError(t, os.WriteFile(files[0], []byte(bad), 0o600))
		again, err := NewStore(dir).Build(t.Context(), spec)
		require.NoError(t, err)
		require.Equal(t, first.Kernel, again.Kernel)
		now, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.Equal(t, string(data), string(now))
	}
}

func TestFewRows(t *testing.T) {
	for _, op := range []string{"int8.rotl", "e4m3.mul"} {
		plain, few := mustBuild(t, Spec{Op: op, Tech: "xmg"}), mustBuild(t, Spec{Op: op, Tech: "xmg", FewRows: true})
		require.Equal(t, plain.Latency(), few.Latency(), "the same gates")
		require.Less(t, few.Scratch, plain.Scratch)
	}
}

func TestStoreKeepsPrograms(t *testing.T) {
	st := NewStore("")
	first, err := st.Build(t.Context(), Spec{Op: "int8.add"})
	require.NoError(t, err)
	again, err := st.Build(t.Context(), Spec{Op: "int.add", Width: 8, Tech: "neural-cache", Rows: 256})
	require.NoError(t, err)
	require.Same(t, first, again)
	other, err := NewStore("").Build(t.Context(), Spec{Op: "int8.add"})
	require.NoError(t, err)
	require.NotSame(t, first, other)
	require.Equal(t, first.Kernel, other.Kernel)
	_, err = st.Build(t.Context(), Spec{Op: "int8.add", Rows: 9})
	require.ErrorIs(t, err, ErrRows)
	// What was given up is built for the next one who asks.
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = st.Build(stopped, Spec{Op: "int9.mul", Tech: "xmg"})
	require.ErrorIs(t, err, context.Canceled)
	_, err = st.Build(t.Context(), Spec{Op: "int9.mul", Tech: "xmg"})
	require.NoError(t, err)
}

func TestRowsAreEnforced(t *testing.T) {
	for _, tech := range sram.Technologies() {
		p := mustBuild(t, Spec{Op: "int16.mulw", Tech: tech.Name})
		need := 64 + p.Scratch + tech.Reserved
		mustBuild(t, Spec{Op: "int16.mulw", Tech: tech.Name, Rows: need})
		_, err := Build(context.Background(), Spec{Op: "int16.mulw", Tech: tech.Name, Rows: 63})
		require.ErrorIs(t, err, ErrRows)
	}
	_, err := Build(context.Background(), Spec{Op: "int16.sub", Rows: 50})
	require.ErrorIs(t, err, ErrRows, "48 rows of words, one of scratch and two reserved do not fit")
	mustBuild(t, Spec{Op: "int16.sub", Rows: 51})
}

func TestResolve(t *testing.T) {
	for _, c := range []struct{ name, msg string }{
		{"add", "expected a type, a point"}, {"int.frob", "no operation"}, {"int65.add", "expected 1 to 64"},
		{"int0.add", "expected 1 to 64"}, {"fp.add", "no operation"}, {"intx9y.add", "no type"},
		{"uint8.add", `"uint8.add", expected one such as int32.add, fp32.add, or one of those`}, {"int8.fma", "expected one such as fp32.fma, or"},
		{"int.frob", `"int.frob", expected one of those`},
	} {
		_, _, err := Resolve(c.name, 32)
		require.ErrorContains(t, err, c.msg, c.name)
	}
	_, err := Build(context.Background(), Spec{Op: "int.add", Tech: "dram"})
	require.ErrorContains(t, err, "no technology")
	_, err = Build(context.Background(), Spec{Op: "int.add", Rows: -1})
	require.ErrorContains(t, err, "-1 rows")
	for _, name := range Names(9) {
		o, typ, err := Resolve(name, 0)
		require.NoError(t, err)
		require.Equal(t, name, o.FullName(typ))
	}
}
