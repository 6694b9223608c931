package sram

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// latchBits are the latches of one bitline by name.
type latchBits map[string]int

// bitFunc is what a micro-instruction does on one bitline: it returns the value
// that it writes, if it writes one, and changes latches.
type bitFunc func(a, b, c int, l latchBits) int

// bitModel says what every micro-instruction does, in words of its definition.
var bitModel = map[string]map[string]bitFunc{
	"xmg": {
		"maj": func(a, b, c int, _ latchBits) int { return most(a, b, c) },
		"xor": func(a, b, c int, _ latchBits) int { return (a + b + c) % 2 },
	},
	"ambit": ambitModel(),
	"neural-cache": {
		"and":  writes(func(a, b int) int { return a * b }),
		"nand": writes(func(a, b int) int { return 1 - a*b }),
		"or":   writes(func(a, b int) int { return max(a, b) }),
		"nor":  writes(func(a, b int) int { return 1 - max(a, b) }),
		"xor":  writes(func(a, b int) int { return (a + b) % 2 }),
		"xnor": writes(func(a, b int) int { return (a + b + 1) % 2 }),
		"copy": writes(func(a, _ int) int { return a }),
		"not":  writes(func(a, _ int) int { return 1 - a }),
		"add": func(a, b, _ int, l latchBits) int {
			n := a + b + l["carry"]
			l["carry"] = n / 2
			return n % 2
		},
		"wtag":       func(_, _, _ int, l latchBits) int { return l["tag"] },
		"wcarry":     func(_, _, _ int, l latchBits) int { return l["carry"] },
		"carry":      func(a, b, _ int, l latchBits) int { l["carry"] = most(a, b, l["carry"]); return 0 },
		"tag.and":    tags(func(a, b int) int { return a * b }),
		"tag.nand":   tags(func(a, b int) int { return 1 - a*b }),
		"tag.or":     tags(func(a, b int) int { return max(a, b) }),
		"tag.nor":    tags(func(a, b int) int { return 1 - max(a, b) }),
		"tag.xor":    tags(func(a, b int) int { return (a + b) % 2 }),
		"tag.xnor":   tags(func(a, b int) int { return (a + b + 1) % 2 }),
		"tag.copy":   tags(func(a, _ int) int { return a }),
		"tag.not":    tags(func(a, _ int) int { return 1 - a }),
		"tag.carry":  func(_, _, _ int, l latchBits) int { l["tag"] = l["carry"]; return 0 },
		"tag.ncarry": func(_, _, _ int, l latchBits) int { l["tag"] = 1 - l["carry"]; return 0 },
	},
}

func most(a, b, c int) int { return (a + b + c) / 2 }

func writes(f func(a, b int) int) bitFunc {
	return func(a, b, _ int, _ latchBits) int { return f(a, b) }
}

func tags(f func(a, b int) int) bitFunc {
	return func(a, b, _ int, l latchBits) int { l["tag"] = f(a, b); return 0 }
}

// ambitModel is table 1 of the Ambit paper and what sections 3 and 4 say of
// activation: the first address drives the bitline, a triple by its majority, and
// every wordline that is up then restores its cell from the bitline, or from the
// complementary one.
func ambitModel() map[string]bitFunc {
	wordlines := strings.Fields("t0 t1 t2 t3 dcc0 ~dcc0 dcc1 ~dcc1 ~dcc0,t0 ~dcc1,t1 t2,t3 t0,t3 t0,t1,t2 t1,t2,t3 dcc0,t1,t2 dcc1,t0,t3")
	up := func(address string) []string {
		if address == "d" || address == "" {
			return nil
		}
		var n int
		fmt.Sscanf(address, "b%d", &n)
		return strings.Split(wordlines[n], ",")
	}
	run := func(first, second string) bitFunc {
		return func(a, _, _ int, l latchBits) int {
			sum, lines := 0, up(first)
			for _, w := range lines {
				if cell, inverted := strings.CutPrefix(w, "~"); inverted {
					sum += 1 - l[cell]
				} else {
					sum += l[cell]
				}
			}
			bitline := a
			if len(lines) > 0 {
				bitline = (2*sum - 1 + len(lines)) / (2 * len(lines)) // 1 of more than half
			}
			for _, w := range append(slices.Clone(lines), up(second)...) {
				if cell, inverted := strings.CutPrefix(w, "~"); inverted {
					l[cell] = 1 - bitline
				} else {
					l[cell] = bitline
				}
			}
			return bitline
		}
	}
	model := map[string]bitFunc{}
	places := []string{"d"}
	for i := range 16 {
		places = append(places, fmt.Sprintf("b%d", i))
	}
	for _, first := range places {
		n := len(up(first))
		if n == 2 {
			continue
		}
		if n == 3 {
			model["ap."+first] = run(first, "")
		}
		for _, second := range places {
			// A cell must not be on both bitlines, and a row needs no copy to itself.
			short := first == second && first != "d"
			for _, v := range up(first) {
				for _, w := range up(second) {
					short = short || v == "~"+w || "~"+v == w
				}
			}
			if !short {
				model["aap."+first+"."+second] = run(first, second)
			}
		}
	}
	return model
}

// naiveKernel executes k for one bitline; row holds the inputs and then all.
func naiveKernel(k *Kernel, row []int) {
	latches := latchBits{}
	for i := range k.Instrs {
		m := &k.Instrs[i]
		info := &k.Tech.Ops[m.Op]
		var x [3]int
		for j := range info.Operands {
			switch s := m.Src[j]; {
			case s == Zero:
			case s == One:
				x[j] = 1
			case s.Negated():
				x[j] = 1 - row[s.Row()]
			default:
				x[j] = row[s.Row()]
			}
		}
		enabled := !m.Masked || latches["tag"] == 1
		v := bitModel[k.Tech.Name][info.Name](x[0], x[1], x[2], latches)
		if info.Writes && enabled {
			row[m.Dst] = v
		}
	}
}

// randomKernel makes a kernel that passes Check, on rows with inputs in the
// first ones.
func randomKernel(rng *rand.Rand, tech *Technology, inputs, rows, instrs int) *Kernel {
	k := &Kernel{Tech: tech, Rows: rows + tech.Reserved, Inputs: []Port{{"a", 0, inputs}}}
	held := make([]bool, rows)
	for i := range inputs {
		held[i] = true
	}
	var set Latch
	for len(k.Instrs) < instrs {
		m := Micro{Op: Opcode(rng.IntN(len(tech.Ops)))}
		info := &tech.Ops[m.Op]
		m.Masked = info.Masked && rng.IntN(2) == 0
		if info.Writes {
			m.Dst = uint16(rng.IntN(rows))
		}
		for j := range info.Operands {
			m.Src[j] = Row(rng.IntN(rows), tech.Negate && rng.IntN(2) == 0)
			if rng.IntN(6) == 0 {
				m.Src[j] = Zero + Operand(rng.IntN(2))
			}
		}
		if k.check(&m, held, set) != "" {
			continue
		}
		set |= info.Sets
		if info.Writes {
			held[m.Dst] = true
		}
		k.Instrs = append(k.Instrs, m)
	}
	for r := range rows {
		if held[r] {
			k.Outputs = append(k.Outputs, Port{fmt.Sprintf("y%d", r), r, 1})
		}
	}
	return k
}

// runKernel executes k on words of inputs, one a row, and compares every row
// that is an output with the naive model on every bitline.
func runKernel(t *testing.T, k *Kernel, rng *rand.Rand) {
	t.Helper()
	code, err := k.Compile()
	require.NoError(t, err)
	s := code.NewState()
	in := k.Inputs[0].Width
	for r := range in {
		for w := range s.Row(r) {
			s.Row(r)[w] = rng.Uint64()
		}
	}
	var before [][groupWords]uint64
	for r := range in {
		before = append(before, *s.Row(r))
	}
	split := rng.IntN(len(k.Instrs) + 1)
	s.RunRange(0, split)
	s.RunRange(split, len(k.Instrs))
	for _, bit := range []int{0, 63, 64, 1000, GroupCols - 1} {
		row := make([]int, k.Rows)
		for r := range before {
			row[r] = int(before[r][bit/64] >> (bit % 64) & 1)
		}
		naiveKernel(k, row)
		for _, o := range k.Outputs {
			require.Equal(t, row[o.Base], int(s.Row(o.Base)[bit/64]>>(bit%64)&1), "bitline %d, row %d", bit, o.Base)
		}
	}
}

func TestTechnologyIsComplete(t *testing.T) {
	for _, tech := range Technologies() {
		require.Len(t, bitModel[tech.Name], len(tech.Ops), tech.Name)
		require.NotEmpty(t, tech.Doc)
		require.NotEmpty(t, tech.Source)
		for _, op := range tech.Ops {
			require.Contains(t, bitModel[tech.Name], op.Name)
			require.NotEmpty(t, op.Doc, op.Name)
			require.True(t, op.Writes || op.Sets != 0, op.Name)
			require.False(t, op.Masked && !op.Writes, op.Name)
			require.LessOrEqual(t, op.Operands, 3)
		}
		got, err := LookupTechnology(tech.Name)
		require.NoError(t, err)
		require.Same(t, tech, got)
	}
	_, err := LookupTechnology("dram")
	require.ErrorContains(t, err, "expected one of ambit, neural-cache, xmg")
}

// TestEveryInstruction runs each instruction on all its operands, latches and
// old destinations.
func TestEveryInstruction(t *testing.T) {
	for _, tech := range Technologies() {
		for op, info := range tech.Ops {
			for _, masked := range []bool{false, true} {
				if masked && !info.Masked {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%v", tech.Name, info.Name, masked), func(t *testing.T) {
					k := &Kernel{Tech: tech, Rows: 16 + tech.Reserved, Inputs: []Port{{"a", 0, 10}}}
					add := func(m Micro) { k.Instrs = append(k.Instrs, m) }
					// Rows 4 and up are the latches before, and 10 and up those after.
					var load, store []Micro
					for l := range tech.Latches().Each() {
						through := &Kernel{Tech: tech, Rows: k.Rows}
						require.True(t, through.passLatch(l, 4+len(load)))
						load = append(load, through.Instrs[0])
						through.Instrs[1].Dst = uint16(10 + len(store))
						store = append(store, through.Instrs[1])
						k.Outputs = append(k.Outputs, Port{l.String(), 9 + len(store), 1})
					}
					for _, m := range load {
						add(m)
					}
					m := Micro{Op: Opcode(op), Masked: masked}
					if info.Writes {
						m.Dst = 3
					}
					for j := range info.Operands {
						m.Src[j] = Row(j, false)
					}
					add(m)
					for _, m := range store {
						add(m)
					}
					k.Outputs = append(k.Outputs, Port{"y", 3, 1})
					code, err := k.Compile()
					require.NoError(t, err)
					s := code.NewState()
					for bit := range 1 << 10 {
						for r := range 10 {
							s.Row(r)[bit/64] |= uint64(bit>>r&1) << (bit % 64)
						}
					}
					s.Run()
					for bit := range 1 << 10 {
						row := make([]int, 16)
						for r := range 10 {
							row[r] = bit >> r & 1
						}
						naiveKernel(k, row)
						for _, o := range k.Outputs {
							if got := int(s.Row(o.Base)[bit/64] >> (bit % 64) & 1); got != row[o.Base] {
								t.Fatalf("rows %010b: %s is %d, expected %d", bit, o.Name, got, row[o.Base])
							}
						}
					}
				})
			}
		}
	}
}

func TestKernelsMatchTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tech := range Technologies() {
		for range 40 {
			runKernel(t, randomKernel(rng, tech, 1+rng.IntN(5), 8, 1+rng.IntN(60)), rng)
		}
	}
}

// TestKernelMatchesProgram says that xmg kernels and programs of one array are the
// same machine.
func TestKernelMatchesProgram(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		p := randomProgram(rng, Geometry{Arrays: 1, Rows: 12, Cols: 256}, 6, 40, 5)
		k := &Kernel{Tech: &XMG, Rows: 12}
		for _, in := range p.Inputs {
			k.Inputs = append(k.Inputs, Port{in.Name, in.Row, 1})
		}
		for _, ins := range p.Instrs {
			if ins.Op != Copy {
				k.Instrs = append(k.Instrs, Micro{Op: Opcode(ins.Op), Dst: ins.Dst, Src: ins.Src})
			}
		}
		k.Instrs = append(k.Instrs, Micro{Dst: 11, Src: [3]Operand{Zero, Zero, One}})
		code, err := k.Compile()
		require.NoError(t, err)
		c, err := Compile(p)
		require.NoError(t, err)
		w := groupWords
		in := randomWords(rng, len(p.Inputs)*w)
		want := c.NewMachine().Run(in, w)
		s := code.NewState()
		for i, x := range p.Inputs {
			copy(s.Row(x.Row)[:], in[i*w:])
		}
		s.RunRange(0, len(k.Instrs)-1)
		for i, o := range p.Outputs {
			if !o.Operand.IsConst() {
				for j := range w {
					require.Equal(t, want[i*w+j], s.Row(o.Operand.Row())[j]^neg(uint32(o.Operand)))
				}
			}
		}
	}
}

func TestKernelText(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, tech := range Technologies() {
		for range 20 {
			k := randomKernel(rng, tech, 3, 9, 30)
			var b strings.Builder
			_, err := k.WriteTo(&b)
			require.NoError(t, err)
			got, err := ParseKernel(strings.NewReader(b.String()), "k")
			require.NoError(t, err, b.String())
			require.Equal(t, k, got)
		}
	}
}

func TestKernelTextErrors(t *testing.T) {
	head := ".kernel neural-cache 1\n.array rows=16\n"
	for _, c := range []struct{ text, msg string }{
		{"", "k:1: end of the text, expected .kernel"},
		{".program bitsched 1", "expected .kernel"},
		{".kernel dram 1", "no technology"},
		{".kernel xmg 2", "version"},
		{".kernel xmg 1\n.array rows=0", "expected rows"},
		{head + "maj 1 2 3 4\n.end", "expected an instruction of neural-cache"},
		{head + "add 16 0 1\n.end", "expected a number from 0 to 15"},
		{head + "add 3 0\n.end", "operand missing"},
		{head + "copy 3 0 1\n.end", "expected the end of the line"},
		{head + ".output y 0 1\ncopy 1 0\n.end", "instruction after .output"},
		{head + "copy 1 0\n.input y 0 1\n.end", ".input after"},
		{head, "expected .end"},
		{head + ".end\ncopy 1 0", "after .end"},
	} {
		_, err := ParseKernel(strings.NewReader(c.text), "k")
		require.ErrorContains(t, err, c.msg, c.text)
		var syntax *SyntaxError
		require.ErrorAs(t, err, &syntax)
	}
}

func TestKernelCheck(t *testing.T) {
	for _, c := range []struct{ body, msg string }{
		{"and 5 0 6", "reads row 6, which was never written"},
		{"wcarry 5", "reads the carry latch"},
		{"add 5 0 1", "reads the carry latch"},
		{"carry #0 #1", "reads the carry latch"},
		{"copy? 1 0", "reads the tag latch"},
		{"tag.copy 0\ncopy? 5 0", "writes some bitlines of row 5"},
		{"tag.copy 0\nwtag? 1", "cannot write where the tag is set only"},
		{"copy 14 0", "writes row 14, expected 0 to 13"},
		{"copy 5 15", "reads row 15, expected 0 to 13"},
		{"copy 5 ~0", "cannot negate"},
		{".output y 5 1", "output y in row 5, which was never written"},
		{".output y 13 2", "expected rows below 14"},
		{"carry #0 #0\nadd 5 0 1\ntag.carry\nnot? 5 5\n.output y 5 1", ""},
	} {
		k, err := ParseKernel(strings.NewReader(".kernel neural-cache 1\n.array rows=16\n.input a 0 2\n"+c.body+"\n.end"), "k")
		require.NoError(t, err, c.body)
		err = k.Check()
		if c.msg == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.msg, c.body)
		_, err = k.Compile()
		require.ErrorContains(t, err, c.msg)
	}
	k := &Kernel{Tech: &NeuralCache, Rows: 16, Inputs: []Port{{"a", 0, 4}, {"b", 3, 2}}}
	require.ErrorContains(t, k.Check(), "holds another input")
	require.ErrorContains(t, (&Kernel{Tech: &XMG, Rows: 4, Inputs: []Port{{"a", 0, 5}}}).Check(), "expected rows below 4")
	require.ErrorContains(t, (&Kernel{Tech: &XMG}).Check(), "0 rows")
	require.ErrorContains(t, (&Kernel{Rows: 4}).Check(), "without a technology")
	require.ErrorContains(t, (&Kernel{Tech: &XMG, Rows: 4, Instrs: []Micro{{Op: 7}}}).Check(), "operation 7")
}

func TestKernelFigures(t *testing.T) {
	k, err := ParseKernel(strings.NewReader(`.kernel neural-cache 1
.array rows=16
.input a 0 2
carry #0 #0
add 5 0 1
copy 6 0
wcarry 7
.end`), "k")
	require.NoError(t, err)
	require.NoError(t, k.Check())
	require.Equal(t, 4, k.Cycles())
	require.Equal(t, 14, k.Usable())
	require.Equal(t, 5, k.RowsUsed())
	n := k.Counts()
	require.Equal(t, []int{1, 1, 1, 1}, []int{n[ClassCompute], n[ClassAccess], n[ClassWrite], n[ClassLatch]})
	require.InDelta(t, 4.0, k.Energy(DefaultEnergy), 0)
}

func TestRunningAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, tech := range Technologies() {
		code, err := randomKernel(rng, tech, 3, 9, 50).Compile()
		require.NoError(t, err)
		s := code.NewState()
		require.Zero(t, testing.AllocsPerRun(10, s.Run), tech.Name)
	}
}

func BenchmarkKernel(b *testing.B) {
	for _, tech := range Technologies() {
		b.Run(tech.Name, func(b *testing.B) {
			code, err := randomKernel(rand.New(rand.NewPCG(9, 9)), tech, 8, 100, 1000).Compile()
			require.NoError(b, err)
			s := code.NewState()
			for b.Loop() {
				s.Run()
			}
			b.ReportMetric(float64(b.N)*1000*GroupCols/b.Elapsed().Seconds(), "rowop-bitlines/s")
		})
	}
}

func TestKernelAsProgram(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	made := 0
	for range 60 {
		k := randomKernel(rng, &XMG, 4, 20, 12)
		p, err := k.Program()
		if err != nil {
			require.ErrorContains(t, err, "holds an input")
			continue
		}
		made++
		c, err := Compile(p)
		require.NoError(t, err)
		code, err := k.Compile()
		require.NoError(t, err)
		in := randomWords(rng, 4*groupWords)
		want := c.NewMachine().Run(in, groupWords)
		s := code.NewState()
		for i := range 4 {
			copy(s.Row(i)[:], in[i*groupWords:])
		}
		s.Run()
		for i, o := range k.Outputs {
			require.Equal(t, want[i*groupWords:(i+1)*groupWords], s.Row(o.Base)[:])
		}
	}
	require.NotZero(t, made)
	_, err := randomKernel(rng, &NeuralCache, 4, 8, 5).Program()
	require.ErrorContains(t, err, "expected one of xmg")
}

// FuzzParseKernel holds what is accepted to reading back, and errors to naming a line.
func FuzzParseKernel(f *testing.F) {
	f.Add(".kernel neural-cache 1\n.array rows=16\n.input a 0 2\nadd 4 0 1 # sum\ntag.copy 3\ncopy? 5 #0\n.output y 4 2\n.end\n")
	f.Add(".kernel xmg 1\n.array rows=9\n.input \"a b\" 0 1\nmaj 3 ~0 #1 2\n.output y 3 1\n.end")
	for _, tech := range Technologies() {
		var b strings.Builder
		_, err := randomKernel(rand.New(rand.NewPCG(5, 7)), tech, 3, 9, 12).WriteTo(&b)
		require.NoError(f, err)
		f.Add(b.String())
	}
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKernel(strings.NewReader(text), "k")
		if err != nil {
			var syntax *SyntaxError
			require.ErrorAs(t, err, &syntax)
			require.GreaterOrEqual(t, syntax.Line, 1)
			require.LessOrEqual(t, syntax.Line, strings.Count(text, "\n")+2)
			return
		}
		_ = k.Check() // must not panic, whatever the ports and rows
		var b strings.Builder
		_, err = k.WriteTo(&b)
		require.NoError(t, err)
		got, err := ParseKernel(strings.NewReader(b.String()), "k")
		require.NoError(t, err, b.String())
		require.Equal(t, k, got)
	})
}
