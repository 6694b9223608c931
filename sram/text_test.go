package sram

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func textOf(t testing.TB, p *Program) string {
	t.Helper()
	var b bytes.Buffer
	n, err := p.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes of %d, error %v", n, b.Len(), err)
	}
	return b.String()
}

// canon is the specification's example without comments, and its program.
const canon = `.program bitsched 1
.geometry arrays=2 rows=256
.input x0 0 0
.input x1 0 1
maj 0 24  0 1 ~1
xor 0 25  24 ~0 #0
copy 1 12  0 24
.output y0 0 25
.output y1 1 ~12
.output y2 0 #1
.end
`

func canonProgram() *Program {
	return &Program{
		Geometry: Geometry{Arrays: 2, Rows: 256, Cols: 256},
		Inputs:   []Input{{"x0", Place{0, 0}}, {"x1", Place{0, 1}}},
		Instrs: []Instr{
			{Op: Maj, Dst: 24, Src: [3]Operand{Row(0, false), Row(1, false), Row(1, true)}},
			{Op: Xor, Dst: 25, Src: [3]Operand{Row(24, false), Row(0, true), Zero}},
			{Op: Copy, Array: 1, Dst: 12, From: 0, Src: [3]Operand{Row(24, false)}},
		},
		Outputs: []Output{{"y0", 0, Row(25, false)}, {"y1", 1, Row(12, true)}, {"y2", 0, One}},
	}
}

func TestText(t *testing.T) {
	if got := textOf(t, canonProgram()); got != canon {
		t.Errorf("written:\n%s\nwant:\n%s", got, canon)
	}
	for name, text := range map[string]string{
		"canonical":       canon,
		"no last newline": strings.TrimSuffix(canon, "\n"),
		"CR LF":           strings.ReplaceAll(canon, "\n", "\r\n"),
		"tabs":            strings.ReplaceAll(canon, " ", "\t "),
		"blank lines":     "\n \n" + strings.ReplaceAll(canon, "\n", "\n\n"),
		"comments":        "# head\n" + strings.ReplaceAll(canon, "\n", " # tail #0\n#0\n") + "# foot",
		"close comments":  strings.ReplaceAll(canon, "\n", "#1\n"),
		"cols":            strings.Replace(canon, "rows=256", "rows=256 cols=256", 1),
		"short constant":  strings.Replace(canon, "y2 0 #1", "y2 #1", 1),
		"quoted":          strings.Replace(canon, "x0", `"\x780"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(strings.NewReader(text), "f")
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(p, canonProgram()) {
				t.Errorf("parsed %+v", p)
			}
		})
	}
}

func TestNamesQuoted(t *testing.T) {
	for name, want := range map[string]string{"x[3]": "x[3]", "é": "é", "": `""`, "a b": `"a b"`, "a#": `"a#"`, `"`: `"\""`, "\xff": `"\xff"`, "\n": `"\n"`} {
		p := &Program{Geometry: Geometry{1, 1, 256}, Outputs: []Output{{Name: name, Operand: Zero}}}
		text := ".program bitsched 1\n.geometry arrays=1 rows=1\n.output " + want + " 0 #0\n.end\n"
		if got := textOf(t, p); got != text {
			t.Errorf("%q: written %s", name, got)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	names := []string{"", " ", "a b", `"`, `\`, "#", "#0", "~1", ".end", "x[3]", "\\esc ", "é", "\xff", "\u2028", "\ufffd", "\n", "a\tb", "'", "`", "\x00", strings.Repeat("n", 100000)}
	for i := range 300 {
		g := randomGeometry(rng, 1+rng.IntN(400))
		p := randomProgram(rng, g, rng.IntN(10), rng.IntN(60), rng.IntN(10))
		for j := range p.Inputs {
			p.Inputs[j].Name = names[(i+j)%len(names)]
		}
		for j := range p.Outputs {
			p.Outputs[j].Name = names[rng.IntN(len(names))]
		}
		text := textOf(t, p)
		q, err := Parse(iotest.HalfReader(strings.NewReader(text)), "f")
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read back differently:\n%.2000s", text)
		}
		if again := textOf(t, q); again != text {
			t.Fatal("written differently the second time")
		}
	}
}

func TestMalformed(t *testing.T) {
	const head = ".program bitsched 1\n.geometry arrays=2 rows=8\n"
	for _, c := range []struct{ text, want string }{
		{"", "f:1: end of the text, expected .program bitsched 1"},
		{"\n# nothing\n", "f:3: end of the text, expected .program bitsched 1"},
		{"module top;", `f:1: "module", expected .program bitsched 1`},
		{"Init:\n", "f:1: a program in the form that MASIM's checker reads, which is only written, expected .program bitsched 1"},
		{".program", `f:1: format "", expected .program bitsched 1`},
		{".program other 1", `f:1: format "other", expected .program bitsched 1`},
		{".program bitsched 2", `f:1: version "2", expected .program bitsched 1`},
		{".program bitsched 1 2", `f:1: "2", expected the end of the line`},
		{".program bitsched 1\n", "f:2: end of the text, expected .geometry arrays=A rows=R"},
		{".program bitsched 1\n.input", `f:2: ".input", expected .geometry arrays=A rows=R`},
		{".program bitsched 1\n.geometry", "f:2: arrays missing, expected arrays=N"},
		{".program bitsched 1\n.geometry rows=8", `f:2: "rows=8", expected arrays=N`},
		{".program bitsched 1\n.geometry arrays=2", "f:2: rows missing, expected rows=N"},
		{".program bitsched 1\n.geometry arrays=0 rows=8", `f:2: "arrays=0", expected arrays from 1 to 65536`},
		{".program bitsched 1\n.geometry arrays=65537 rows=8", `f:2: "arrays=65537", expected arrays from 1 to 65536`},
		{".program bitsched 1\n.geometry arrays=2 rows=32767", `f:2: "rows=32767", expected rows from 1 to 32766`},
		{".program bitsched 1\n.geometry arrays=2 rows=-1", `f:2: "rows=-1", expected rows from 1 to 32766`},
		{".program bitsched 1\n.geometry arrays=2 rows=99999999999999999999", `f:2: "rows=99999999999999999999", expected rows from 1 to 32766`},
		{".program bitsched 1\n.geometry arrays=2 rows=", `f:2: "rows=", expected rows from 1 to 32766`},
		{".program bitsched 1\n.geometry arrays=2 rows=8 depth=1", `f:2: "depth=1", expected cols=N`},
		{".program bitsched 1\n.geometry arrays=2 rows=8 cols=0", `f:2: "cols=0", expected cols from 1 to 1073741824`},
		{".program bitsched 1\n.geometry arrays=2 rows=8 cols=1 cols=1", `f:2: "cols=1", expected the end of the line`},
		{head, "f:3: end of the text, expected .end"},
		{head + ".inputs x 0 0", `f:3: ".inputs", expected maj, xor, copy, .input, .output or .end`},
		{head + ".input", "f:3: name of the input missing, expected .input name array row"},
		{head + ".input x", "f:3: array missing, expected a number from 0 to 1"},
		{head + ".input x 2 0", `f:3: array "2", expected a number from 0 to 1`},
		{head + ".input x 0 8", `f:3: row "8", expected a number from 0 to 7`},
		{head + ".input x 0 -1", `f:3: row "-1", expected a number from 0 to 7`},
		{head + ".input x 0 0x1", `f:3: row "0x1", expected a number from 0 to 7`},
		{head + ".input x 0 0 0", `f:3: "0", expected the end of the line`},
		{head + ".input x 0 0\n.input y 0 0", `f:4: input "y" in row 0 of array 0, which holds input "x", expected another row`},
		{head + ".input \"x 0 0", `f:3: name "\"x 0 0", expected a string in double quotes`},
		{head + ".input \"x\"y 0 0", `f:3: "y" directly after a quoted name, expected a blank`},
		{head + ".input a\"b 0 0", `f:3: name "a\"b", expected printable characters, or a name in double quotes`},
		{head + ".input a\x01b 0 0", `f:3: name "a\x01b", expected printable characters, or a name in double quotes`},
		{head + "and 0 1 2 3", `f:3: "and", expected maj, xor, copy, .input, .output or .end`},
		{head + "maj", "f:3: array missing, expected a number from 0 to 1"},
		{head + "maj 0 1 2", "f:3: operand missing, expected a row, ~row, #0 or #1"},
		{head + "maj 0 1 2 3", "f:3: operand missing, expected a row, ~row, #0 or #1"},
		{head + "maj 0 1 2 3#0", "f:3: operand missing, expected a row, ~row, #0 or #1"},
		{head + "maj 0 1 2 3 #2", "f:3: operand missing, expected a row, ~row, #0 or #1"},
		{head + "maj 0 1 2 3 ~8", `f:3: row "8", expected a number from 0 to 7`},
		{head + "maj 0 1 2 3 ~", "f:3: ~ without a row, expected a number from 0 to 7"},
		{head + "maj 0 1 2 3 ~~4", "f:3: ~ without a row, expected a number from 0 to 7"},
		{head + "maj 0 1 2 3 ~ 4", "f:3: ~ without a row, expected a number from 0 to 7"},
		{head + "maj 0 1 2 3 4 5", `f:3: "5", expected the end of the line`},
		{head + "xor 0 8 2 3 4", `f:3: row "8", expected a number from 0 to 7`},
		{head + "xor 0 99999999999999999999999999 2 3 4", `f:3: row "99999999999999999999999999", expected a number from 0 to 7`},
		{head + "xor 0 1 2 3 y", `f:3: row "y", expected a number from 0 to 7`},
		{head + "copy 0 1 0 2", "f:3: copy from array 0 to itself, expected another array"},
		{head + "copy 0 1 2 2", `f:3: source array "2", expected a number from 0 to 1`},
		{head + "copy 0 1 1 ~2", `f:3: source row "~2", expected a number from 0 to 7`},
		{head + "copy 0 1 1 #0", "f:3: source row missing, expected a number from 0 to 7"},
		{head + "copy 0 1 1 2 3", `f:3: "3", expected the end of the line`},
		{head + "xor 0 1 #0 #0 #1\n.input x 0 0", "f:4: .input after an instruction or output, expected all inputs first"},
		{head + ".output y 0 1\nxor 0 1 #0 #0 #1", "f:4: instruction after .output, expected .output or .end"},
		{head + ".output y 0 1\n.input x 0 0", "f:4: .input after an instruction or output, expected all inputs first"},
		{head + ".output", "f:3: name of the output missing, expected .output name array row"},
		{head + ".output y 0", "f:3: operand missing, expected a row, ~row, #0 or #1"},
		{head + ".output y#0", "f:3: array missing, expected a number from 0 to 1"},
		{head + ".output y 1 #0", "f:3: constant output in array 1, expected array 0"},
		{head + ".output y 0 8", `f:3: row "8", expected a number from 0 to 7`},
		{head + ".end 1", `f:3: "1", expected the end of the line`},
		{head + ".end\n.end", `f:4: ".end" after .end, expected nothing`},
		{head + ".end\nmaj 0 0 0 0 0", `f:4: "maj" after .end, expected nothing`},
		{head + strings.Repeat("x", 40), `f:3: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"..., expected maj, xor, copy, .input, .output or .end`},
		{strings.Repeat("x", 2<<20), "f:1: line of more than 1048576 bytes, expected one instruction a line"},
	} {
		p, err := Parse(strings.NewReader(c.text), "f")
		var se *SyntaxError
		if p != nil || !errors.As(err, &se) || err.Error() != c.want {
			t.Errorf("%.200q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// failing is an io.Writer that takes n bytes.
type failing struct{ n int }

func (f *failing) Write(b []byte) (int, error) {
	if len(b) > f.n {
		n := f.n
		f.n = 0
		return n, io.ErrShortWrite
	}
	f.n -= len(b)
	return len(b), nil
}

func TestReadAndWriteErrors(t *testing.T) {
	broken := errors.New("broken")
	_, err := Parse(io.MultiReader(strings.NewReader(canon[:60]), iotest.ErrReader(broken)), "f")
	var se *SyntaxError
	if !errors.Is(err, broken) || errors.As(err, &se) {
		t.Errorf("error %v, want the reader's", err)
	}
	p := mixProgram(20000)
	for _, n := range []int{0, 1, 100000, 200000} {
		if got, err := p.WriteTo(&failing{n}); got != int64(n) || !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d bytes written, error %v; want %d bytes and an error", got, err, n)
		}
	}
}

func TestOperandString(t *testing.T) {
	for o, want := range map[Operand]string{Zero: "#0", One: "#1", Row(7, false): "7", Row(7, true): "~7", Row(MaxRows-1, true): "~32765"} {
		if o.String() != want || string(o.append(nil)) != want {
			t.Errorf("%d: %s and %s, want %s", uint16(o), o, o.append(nil), want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(canon)
	f.Add(strings.Replace(canon, "rows=256", "rows=9 cols=1 # c", 1))
	f.Add(strings.Replace(canon, "x0", `"a \x00 b"`, 1))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(strings.NewReader(text), "f")
		if err != nil {
			var se *SyntaxError
			if !errors.As(err, &se) || se.Line < 1 || se.Line > strings.Count(text, "\n")+2 || !strings.HasPrefix(err.Error(), fmt.Sprintf("f:%d: ", se.Line)) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("parsed, but %v", err)
		}
		out := textOf(t, p)
		q, err := Parse(strings.NewReader(out), "f")
		if err != nil {
			t.Fatalf("written, but %v", err)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read back differently:\n%s", out)
		}
		if p.Geometry.Cols > 1<<12 {
			return
		}
		code, err := Compile(p)
		if err != nil {
			var ie *InstrError
			if errors.As(err, &ie) && (ie.Index < 0 || ie.Index >= len(p.Instrs) || ie.Instr != p.Instrs[ie.Index]) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		got := code.NewMachine().Run(make([]uint64, len(p.Inputs)), 1)
		for i, want := range naiveOutputs(p, make([]bool, len(p.Inputs))) {
			if got[i]&1 != 0 != want {
				t.Fatalf("output %d is %v", i, !want)
			}
		}
	})
}
