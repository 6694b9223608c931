package netlist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// functions holds files with the truth tables that they must have, worked out
// by hand: one string an output, whose character i is the output for the
// pattern i; bit j of i is input j.
var functions = []struct {
	name, text string
	in, out    string // port names, separated by spaces
	tables     []string
	kinds      string // of the gates, in order
}{
	{"aag and", "aag 3 2 0 1 1\n2\n4\n6\n6 2 4\n", " ", "", []string{"0001"}, "and"},
	{"aag or with symbols and comment", "aag 3 2 0 2 1\n2\n4\n7\n6\n6 3 5\ni1 b c\ni0 a\no1 nor\nc\nwhat: ever\ni7 x\n", "a|b c", "|nor", []string{"0111", "1000"}, "and"},
	{"aag half adder, gates in reverse", "aag 7 2 0 2 3\n2\n4\n6\n12\n6 13 15\n12 2 4\n14 3 5\n", " ", " ", []string{"0110", "0001"}, "and and and"},
	{"aag with gaps and inputs out of order", "aag 1000000 2 0 2 1\n2000000\n4\n4\n600001\n600000 4 2000001\n", "", "", []string{"0011", "1101"}, "and"},
	{"aag constants", "aag 1 1 0 3 0\n2\n0\n1\n3\n", "", "", []string{"00", "11", "10"}, ""},
	{"aag of nothing", "aag 0 0 0 0 0\n", "", "", nil, ""},
	{"aag with carriage returns", "aag 3 2 0 1 1\r\n2\r\n4\r\n6\r\n6 2 4\r\ni0 a\r\ni1 b\r\no0 y\r\n", "a|b", "y", []string{"0001"}, "and"},
	{"aag 1.9 header", "aag 1 1 0 1 0 0 0 0 0\n2\n2\n", "", "", []string{"01"}, ""},
	{"aig xor", "aig 5 2 0 1 3\n10\n\x02\x02\x03\x02\x01\x02", " ", "", []string{"0110"}, "and and and"},
	{"aig with symbols", "aig 3 2 0 1 1\n7\n\x02\x02i0 a\ni1 b\no0 nand\nc\nx", "a|b", "nand", []string{"1110"}, "and"},

	{"blif on-set", ".model m\n.inputs a b c\n.outputs y\n.names a b c y\n1-1 1\n01- 1\n.end\n", "a|b|c", "y", []string{"00100111"}, "mux"},
	{"blif off-set", ".model m\n.inputs a b\n.outputs y\n.names a b y\n11 0\n.end\n", "a|b", "y", []string{"1110"}, "and"},
	{"blif or", ".model m\n.inputs a b\n.outputs y\n.names a b y\n1- 1\n-1 1\n.end\n", "a|b", "y", []string{"0111"}, "and"},
	{"blif xor and buffers", ".model m\n.inputs a b\n.outputs y z w\n.names a b y\n10 1\n01 1\n.names y z\n1 1\n.names a w\n0 1\n", "a|b", "y|z|w", []string{"0110", "0110", "1010"}, "xor"},
	{"blif constants", ".outputs o z e f\n.inputs a\n.names o\n1\n.names z\n0\n.names e\n.names a f\n- 0\n.end", "a", "o|z|e|f", []string{"11", "00", "00", "00"}, ""},
	{"blif any order, continued lines, comments", "# c\n.model m # x\n.outputs \\\n y # out\n.names t c y # or\n1- 1\n-1 1\n\n.names a b t\n11 1\n.inputs a \\\n  b \\\n  c\n.end\n", "a|b|c", "y", []string{"00011111"}, "and and"},
	{"blif majority", ".model m\n.inputs a b c\n.outputs y\n.names a b c y\n11- 1\n1-1 1\n-11 1\n.end\n", "a|b|c", "y", []string{"00010111"}, "maj"},
	{"blif parity", ".model m\n.inputs a b c\n.outputs y\n.names a b c y\n100 1\n010 1\n001 1\n111 1\n.end\n", "a|b|c", "y", []string{"01101001"}, "xor3"},
	{"blif lut", ".model m\n.inputs a b c d\n.outputs y\n.names a b c d y\n11-- 1\n--11 1\n.end\n", "a|b|c|d", "y", []string{"0001000100011111"}, "lut"},
	{"blif vacuous input stays", ".model m\n.inputs a b\n.outputs y\n.names a b y\n1- 1\n.end\n", "a|b", "y", []string{"0101"}, "lut"},
	{"blif wide off-set", ".model m\n.inputs a b\n.outputs y\n.names a a a a b b b y\n1111111 0\n.end\n", "a|b", "y", []string{"1110"}, "and and and and and and"},
	{"blif wide", ".model m\n.inputs a b\n.outputs y\n.names a a a a b b b y\n1------ 1\n-----01 1\n------1 1\n.end\n", "a|b", "y", []string{"0111"}, "and and and"},
	{"blif repeated signal", ".model m\n.inputs a\n.outputs y\n.names a a y\n10 1\n.end\n", "a", "y", []string{"00"}, "and"},
	{"blif output is an input", ".model m\n.inputs a\n.outputs a a\n.end\n.model sub\nrubbish\n", "a", "a|a", []string{"01", "01"}, ""},
	{"blif indented, tabs, carriage returns", "\t.model m\r\n .inputs\ta\tb \\\r\n c\r\n .outputs y\r\n  .names a b y\r\n  11\t1\r\n .end\r\n", "a|b|c", "y", []string{"00010001"}, "and"},

	{"verilog precedence", "module m(a, b, c, d, y);\ninput a, b, c, d;\noutput y;\nassign y = a | b ^ c & d;\nendmodule", "a|b|c|d", "y", []string{"0111011101111101"}, "and xor and"},
	{"verilog conditional", "module m(input s, t, e, output y, z); assign y = s ? t : e, z = ~s ? t ^ e : s ? 1'b0 : 1; endmodule", "s|t|e", "y|z", []string{"00011011", "00101000"}, "mux xor mux mux"},
	{"verilog majority", "module m(input a, b, c, output y, z); assign y = ( a & b ) | ( a & c ) | ( b & c ); assign z = ~c & ~a | b & ~a | ~c & b; endmodule", "a|b|c", "y|z", []string{"00010111", "10110010"}, "maj maj"},
	{"verilog xor3", "module m(input a, b, c, output y, z, w); assign y = a ^ ~b ^ c; assign z = a ^ b ^ 1'b0; assign w = a ~^ b ^~ c ^ a ^ 1'h1; endmodule", "a|b|c", "y|z|w", []string{"10010110", "01100110", "11000011"}, "xor3 xor3 xor3 xor3"},
	{"verilog not a majority", "module m(input a, b, c, output y); assign y = (a & b) | (a & c) | (b & ~c); endmodule", "a|b|c", "y", []string{"00110101"}, "and and and and and"},
	{"verilog complements", "module m(input a, b, output y); assign y = ~(~~a & !(b)); endmodule", "a|b", "y", []string{"1011"}, "and"},
	{"verilog logical", "module m(input a, b, c, output y); assign y = a || b && !c; endmodule", "a|b|c", "y", []string{"01110101"}, "and and"},
	{"verilog primitives", "module m(a, b, c, p, q, r, s, t, u, v, w, x);\ninput a, b, c; output p, q, r, s, t, u, v, w, x;\nand g1(p, a, b, c); nand (q, a, b);\nor o1(r, a, b), o2(s, a, c);\nnor (t, a, b); xor (u, a, b, c); xnor (v, a, b); not n1 (w, x, a & b);\nendmodule", "a|b|c", "p|q|r|s|t|u|v|w|x",
		[]string{"00000001", "11101110", "01110111", "01011111", "10001000", "01101001", "10011001", "11101110", "11101110"}, "and and and and and and xor3 xor and"},
	{"verilog any order, wires", "`timescale 1ns/1ps\n// c\nmodule \\m[0] ( a , \\b[1] , y ) ; /* * / **/ input a , \\b[1] ;\n(* keep = \"yes\" *) output y ; wire y;\nwire n1 = n2 & a, n2;\nassign y = ~n1;\nassign n2 = \\b[1] | a;\nendmodule // end", "a|b[1]", "y", []string{"1010"}, "and and"},
	{"verilog vectors", "module m(a, y, z);\ninput [1:0] a;\noutput [0:1] y;\noutput [1:0] z;\nwire [2:1] w;\nassign w = ~a;\nassign y[0] = w[2], y[1] = w[1] & a[1];\nassign z = a[0] ? w ^ 2'b01 : 2'h2;\nendmodule", "a[0]|a[1]", "y[1]|y[0]|z[0]|z[1]", []string{"0010", "1100", "0101", "1110"}, "and mux mux"},
	{"verilog parts", "module m(input [3:0] a, output [1:0] y); assign y[1:0] = a[3:2] & a[1:0]; endmodule", "a[0]|a[1]|a[2]|a[3]", "y[0]|y[1]", []string{"0000010100000101", "0000000000110011"}, "and and"},
	{"verilog constants", "module m(output a, b, c, d, e, f); assign a = 1'b0, b = 1'b1, c = 0, d = 1, e = 'h0, f = ~1'd0; endmodule", "", "a|b|c|d|e|f", []string{"0", "1", "0", "1", "0", "1"}, ""},
	{"verilog without ports", "module m; wire a; endmodule", "", "", nil, ""},
	{"verilog without ports, with parentheses", "module m();endmodule\n`default_nettype none", "", "", nil, ""},
	{"verilog implicit wires", "module m(input a, b, output y); and g(t, a, b); assign u = ~t; assign y = u; endmodule", "a|b", "y", []string{"1110"}, "and"},
	{"verilog abc", "// Benchmark \"top\" written by ABC\n\nmodule top ( \n    a, b,\n    y  );\n  input  a, b;\n  output y;\n  wire new_n4_;\n  assign new_n4_ = ~a & ~b;\n  assign y = ~new_n4_;\nendmodule\n\n\n", "a|b", "y", []string{"0111"}, "and"},

	{"bench gates", "# c17-like\nINPUT(a)\ninput( b )\nINPUT(c)\nOUTPUT(p)\nOUTPUT(q)\nOUTPUT(r)\noutput(s)\nOUTPUT(t)\nOUTPUT(u)\nOUTPUT(v)\nOUTPUT(w)\np = AND(a, b, c)\nq = nand(a,b)\nr = OR(a, b)\ns = NOR(a,b)\nt = XOR(a, b, c)\nu = Xnor(a, b)\nv = NOT(a)\nw = BUFF(v)\n", "a|b|c", "p|q|r|s|t|u|v|w",
		[]string{"00000001", "11101110", "01110111", "10001000", "01101001", "10011001", "10101010", "10101010"}, "and and and and and xor3 xor"},
	{"bench mux, maj", "INPUT(s)\nINPUT(t)\nINPUT(e)\nOUTPUT(y)\nOUTPUT(z)\ny = MUX(s, t, e)\nz = MAJ(s, t, e)\n", "s|t|e", "y|z", []string{"00011011", "00010111"}, "mux maj"},
	{"bench luts as mockturtle writes them", "INPUT(n2)\nINPUT(n3)\nINPUT(n4)\nOUTPUT(po0)\nOUTPUT(po1)\nOUTPUT(po2)\nn0 = gnd\nn1 = vdd\nn5 = LUT 0x96 (n2, n3, n4)\nn6 = LUT 0xe8 (n2, n3, n4)\npo0 = LUT 0x2 (n5)\npo1 = LUT 0x1 (n6)\npo2 = gnd\n", "n2|n3|n4", "po0|po1|po2", []string{"01101001", "11101000", "00000000"}, "xor3 maj"},
	{"bench luts as ABC writes them", "INPUT(a)\nINPUT(b)\nOUTPUT(y)\nOUTPUT(z)\ny           = LUT 0x8 ( a, b )\nz           = LUT 0x2 ( y )\n", "a|b", "y|z", []string{"0001", "0001"}, "and"},
	{"bench constants as signals", "INPUT(a)\nOUTPUT(y)\nOUTPUT(z)\nOUTPUT(gnd)\ny = AND(a, vdd)\nz = OR(a, gnd)\n", "a", "y|z|gnd", []string{"01", "01", "00"}, "and and"},
	{"bench with an input vdd", "INPUT(vdd)\nOUTPUT(y)\ny = NOT(vdd)\n", "vdd", "y", []string{"10"}, ""},
	{"bench any order", "OUTPUT(y)\ny = AND(t, a) # and\nt = NOT(b)\nINPUT(b)\nINPUT(a)", "b|a", "y", []string{"0010"}, "and"},
	{"bench lut of nothing", "INPUT(a)\nOUTPUT(y)\nOUTPUT(z)\ny = LUT 0x1 ()\nz = LUT 0x0000 (a, a)\n", "a", "y|z", []string{"11", "00"}, ""},
	{"bench lut of six", "INPUT(a)\nOUTPUT(y)\ny = LUT 0x8000000000000001 (a, a, a, a, a, a)\n", "a", "y", []string{"11"}, "lut"},
}

func TestFunctions(t *testing.T) {
	for _, tt := range functions {
		t.Run(tt.name, func(t *testing.T) {
			n, err := Read(strings.NewReader(tt.text), "x", ReadOptions{})
			require.NoError(t, err)
			require.NoError(t, n.Check())
			in, out := portNames(n)
			require.Equal(t, tt.in, joinNames(in, tt.in))
			require.Equal(t, tt.out, joinNames(out, tt.out))
			require.Len(t, n.Outputs(), len(tt.tables))
			words, w := patterns(n)
			got := n.Simulate(words, w)
			for i, table := range tt.tables {
				require.Len(t, table, 1<<n.NumInputs())
				for p, c := range table {
					bit := got[i*w+p/64]>>(p%64)&1 != 0
					require.Equal(t, c == '1', bit, "output %d, pattern %d", i, p)
				}
			}
			var kinds []string
			for id := range n.NumNodes() {
				if k := n.Kind(id); k != Const && k != Input {
					kinds = append(kinds, k.String())
				}
			}
			require.Equal(t, tt.kinds, strings.Join(kinds, " "))
			for _, f := range writable {
				requireSameFunction(t, n, read(t, write(t, n, f), "x"+formats[f].ending))
			}
		})
	}
}

// joinNames joins names with |; where none is expected to have one, it joins
// only those that have.
func joinNames(names []string, want string) string {
	if strings.Trim(want, " |") == "" {
		for _, name := range names {
			if name != "" {
				return strings.Join(names, "|")
			}
		}
		return want
	}
	return strings.Join(names, "|")
}
