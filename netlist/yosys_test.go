package netlist_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
)

// tool finds a program that is an oracle, or skips the test.
func tool(t testing.TB, names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no %s: install it for this test (Debian: apt-get install yosys berkeley-abc)", names[0])
	return ""
}

// forms are the ways in which Yosys writes a design, as commands behind
// "read_verilog", each with the file that it writes.
var forms = []struct{ name, commands string }{
	{"rtl", "proc; flatten; opt; pmuxtree; write_verilog -noattr"},
	{"synth", "synth -flatten; write_verilog"},
	{"noattr", "synth -flatten; write_verilog -noattr"},
	{"cells", "synth -flatten; write_verilog -noattr -noexpr"},
	{"simple", "synth -flatten; abc -g AND,OR,XOR,MUX; opt_clean; write_verilog"},
	{"gates", "synth -flatten; abc -g gates; opt_clean; write_verilog -noattr"},
	{"complex", "synth -flatten; abc -g all; opt_clean; write_verilog -noattr -noexpr"},
	{"luts", "synth -flatten -lut 4; write_verilog -noattr"},
	{"lutcells", "synth -flatten -lut 5; write_verilog -noattr -noexpr"},
}

// throughYosys has Yosys write a design in all forms and as the BLIF of its own
// synthesis, and ABC compare what is read of each with that. The design itself is read
// too if asked for.
func throughYosys(t *testing.T, name, source string, direct bool, only ...string) {
	yosys, abc := tool(t, "yosys"), tool(t, "berkeley-abc", "abc", "yosys-abc")
	dir := t.TempDir()
	file := filepath.Join(dir, name+".v")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o644))
	script := "read_verilog " + file + "; hierarchy -auto-top; design -save read; synth -flatten; abc -g AND,XOR; write_blif " + filepath.Join(dir, "want.blif")
	var files []string
	if direct {
		files = append(files, file)
	}
	for _, f := range forms {
		if len(only) > 0 && !strings.Contains(strings.Join(only, " "), f.name) {
			continue
		}
		out := filepath.Join(dir, f.name+".v")
		script += "; design -load read; " + f.commands + " " + out
		files = append(files, out)
	}
	log, err := exec.Command(yosys, "-q", "-p", script).CombinedOutput()
	require.NoError(t, err, "%s\n%s", source, log)
	for _, f := range files {
		n, err := netlist.ReadFileWith(f, netlist.ReadOptions{Words: gen.Words{}})
		text, _ := os.ReadFile(f)
		require.NoError(t, err, "%s\n%s", source, text)
		require.NoError(t, n.Check())
		got := f + ".blif"
		w, err := os.Create(got)
		require.NoError(t, err)
		require.NoError(t, netlist.Write(w, n, netlist.BLIF))
		require.NoError(t, w.Close())
		log, err := exec.Command(abc, "-q", "cec "+got+" "+filepath.Join(dir, "want.blif")).CombinedOutput()
		require.NoError(t, err, "%s: %s", f, log)
		if !strings.Contains(string(log), "Networks are equivalent") {
			t.Fatalf("%s: ABC says %s\n%s\n%s", f, log, source, text)
		}
	}
}

// TestYosysWrites reads what Yosys writes of designs with hierarchy, parameters, always
// blocks and operators on vectors. With BITSCHED_YOSYS all designs go through all forms.
func TestYosysWrites(t *testing.T) {
	all := os.Getenv("BITSCHED_YOSYS") != ""
	for name, source := range designs {
		t.Run(name, func(t *testing.T) {
			switch {
			case all:
				throughYosys(t, name, source, false)
			case name == "tree":
				throughYosys(t, name, source, false, "synth", "gates")
			case name == "mac":
				throughYosys(t, name, source, false, "rtl", "lutcells")
			}
		})
	}
}

// TestVerilogLikeYosys compares random modules of operators on vectors with Yosys.
// BITSCHED_YOSYS is the number of modules; each is read as it is and in one of the
// forms that Yosys writes.
func TestVerilogLikeYosys(t *testing.T) {
	tool(t, "yosys")
	count := 2
	if s := os.Getenv("BITSCHED_YOSYS"); s != "" {
		var err error
		count, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	for seed := range uint64(count) {
		source := (&moduleMaker{rng: rand.New(rand.NewPCG(seed, 77))}).module()
		throughYosys(t, fmt.Sprintf("random%d", seed), source, true, forms[seed%uint64(len(forms))].name)
	}
}

// designs are of one's own RTL: what the reader refuses, and Yosys makes flat.
var designs = map[string]string{
	"alu": `module alu #(parameter W = 6) (input [W-1:0] a, b, input [2:0] op, output reg [W-1:0] y, output zero);
  always @* case (op)
    0: y = a + b;
    1: y = a - b;
    2: y = a & b;
    3: y = a ^ ~b;
    4: y = a << b[1:0];
    5: y = $signed(a) >>> b[1:0];
    default: y = a < b ? {a[W-2:0], 1'b1} : {W{^b}};
  endcase
  assign zero = y == 0;
endmodule
`,
	"tree": `module half(input a, b, output s, c); assign {c, s} = a + b; endmodule
module full(input a, b, d, output s, c);
  wire s1, c1, c2;
  half h1(.a(a), .b(b), .s(s1), .c(c1));
  half h2(.a(s1), .b(d), .s(s), .c(c2));
  assign c = c1 | c2;
endmodule
module tree(input [3:0] x, y, input cin, output [3:0] s, output cout);
  wire [4:0] c;
  assign c[0] = cin;
  genvar i;
  generate for (i = 0; i < 4; i = i + 1) begin : bit
    full f(x[i], y[i], c[i], s[i], c[i+1]);
  end endgenerate
  assign cout = c[4];
endmodule
`,
	"mac": `module mac(input signed [3:0] a, b, input signed [7:0] acc, input [0:7] v, input [2:0] i, output signed [8:0] y, output [2:0] n, output vi, output [3:0] part);
  integer k;
  reg [2:0] count;
  always @* begin count = 0; for (k = 0; k < 4; k = k + 1) count = count + a[k]; end
  assign n = count;
  assign y = a * b + acc;
  assign vi = v[i];
  assign part = v[2 +: 4] | v[7 -: 4];
endmodule
`,
}

// moduleMaker writes modules of random expressions.
type moduleMaker struct {
	rng     *rand.Rand
	signals []signal
}

type signal struct {
	name   string
	width  int
	signed bool
	down   bool // [0:w-1]
}

func (m *moduleMaker) module() string {
	var b, decl, ports strings.Builder
	for k := range 2 + m.rng.IntN(3) {
		s := signal{string(rune('a' + k)), 2 + m.rng.IntN(6), m.rng.IntN(2) == 0, m.rng.IntN(5) == 0}
		fmt.Fprintf(&ports, "%s, ", s.name)
		fmt.Fprintf(&decl, "  input %s%s%s;\n", s.sign(), s.span(), s.name)
		m.signals = append(m.signals, s)
	}
	m.signals = append(m.signals, signal{"s", 1, false, false})
	ports.WriteString("s")
	decl.WriteString("  input s;\n")
	for k := range 3 {
		s := signal{fmt.Sprintf("w%d", k), 2 + m.rng.IntN(8), m.rng.IntN(3) == 0, false}
		e := m.expr(3)
		fmt.Fprintf(&b, "  wire %s%s%s = %s;\n", s.sign(), s.span(), s.name, e)
		m.signals = append(m.signals, s)
	}
	for k := range 3 {
		s := signal{fmt.Sprintf("y%d", k), 2 + m.rng.IntN(9), false, false}
		fmt.Fprintf(&ports, ", %s", s.name)
		fmt.Fprintf(&decl, "  output %s%s;\n", s.span(), s.name)
		fmt.Fprintf(&b, "  assign %s = %s;\n", s.name, m.expr(3))
	}
	return "module m(" + ports.String() + ");\n" + decl.String() + b.String() + "endmodule\n"
}

func (s *signal) sign() string {
	if s.signed {
		return "signed "
	}
	return ""
}

func (s *signal) span() string {
	if s.down {
		return fmt.Sprintf("[0:%d] ", s.width-1)
	}
	return fmt.Sprintf("[%d:0] ", s.width-1)
}

// expr writes an expression. Quotients and remainders are of odd numbers, since Verilog
// leaves open what a quotient by zero is.
func (m *moduleMaker) expr(depth int) string {
	n := m.rng.IntN
	if depth == 0 {
		s := m.signals[n(len(m.signals))]
		switch k := n(8); {
		case k == 0:
			return fmt.Sprintf("%d'd%d", 1+n(6), n(2))
		case k == 1:
			return strconv.Itoa(n(12))
		case k == 2:
			return fmt.Sprintf("%d'sh%x", 4+n(4), n(16))
		case k == 3 && s.width > 1:
			return fmt.Sprintf("%s[%d]", s.name, n(s.width))
		case k == 4 && s.width > 2:
			lo, hi := n(s.width-1), s.width-1
			if s.down {
				return fmt.Sprintf("%s[%d:%d]", s.name, lo, hi)
			}
			return fmt.Sprintf("%s[%d:%d]", s.name, hi, lo)
		case k == 5 && s.width > 3:
			return fmt.Sprintf("%s[%d +: 2]", s.name, n(s.width-1))
		}
		return s.name
	}
	a := func() string { return m.expr(depth - 1 - n(2)*(depth-1)) }
	binary := func(ops ...string) string { return fmt.Sprintf("(%s %s %s)", a(), ops[n(len(ops))], a()) }
	switch n(13) {
	case 0, 1:
		return binary("+", "-", "+", "-", "*")
	case 2, 3:
		return binary("&", "|", "^", "~^", "^~")
	case 4:
		return binary("==", "!=", "<", "<=", ">", ">=", "===", "!==")
	case 5:
		return binary("&&", "||")
	case 6:
		return fmt.Sprintf("(%s %s %s)", a(), []string{"<<", ">>", "<<<", ">>>"}[n(4)], m.expr(0))
	case 7:
		return fmt.Sprintf("%s(%s)", []string{"~", "!", "-", "+", "&", "|", "^", "~&", "~|", "~^"}[n(10)], a())
	case 8:
		return fmt.Sprintf("(%s ? %s : %s)", a(), a(), a())
	case 9:
		return fmt.Sprintf("{%s, %s}", m.sized(), m.sized())
	case 10:
		return fmt.Sprintf("{%d{%s}}", 1+n(3), m.sized())
	case 11:
		return fmt.Sprintf("$%s(%s)", []string{"signed", "unsigned"}[n(2)], a())
	}
	return fmt.Sprintf("(%s %s (%s | 1))", m.expr(0), []string{"/", "%"}[n(2)], m.expr(0))
}

// sized writes an expression with a width of its own, as concatenations want.
func (m *moduleMaker) sized() string {
	s := m.signals[m.rng.IntN(len(m.signals))]
	if m.rng.IntN(2) == 0 {
		return fmt.Sprintf("(%s ^ ~%s)", s.name, s.name)
	}
	return s.name
}
