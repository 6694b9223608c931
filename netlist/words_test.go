package netlist_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/netlist/gen"
)

var withWords = netlist.ReadOptions{Words: gen.Words{}}

func readVerilog(text string) (*netlist.Network, error) {
	return netlist.Read(strings.NewReader(text), "x.v", withWords)
}

// apply evaluates a network on one pattern: bit i of in is input i.
func apply(n *netlist.Network, in uint64) uint64 {
	words := make([]uint64, n.NumInputs())
	for i := range words {
		words[i] = in >> i & 1
	}
	var out uint64
	for i, w := range n.Simulate(words, 1) {
		out |= w & 1 << i
	}
	return out
}

// signed is the value of the low bits of x in two's complement.
func signed(x uint64, bits int) int64 { return int64(x<<(64-bits)) >> (64 - bits) }

// TestOperators compares expressions on a and b of four bits and s of one with what Go
// makes of them, for all values. IEEE 1364-2005 says what widths and signs are.
func TestOperators(t *testing.T) {
	for _, c := range []struct {
		expr string
		want func(a, b, s uint64) uint64 // to the eight bits of y
	}{
		{"a + b", func(a, b, s uint64) uint64 { return a + b }},
		{"a - b", func(a, b, s uint64) uint64 { return a - b }},
		{"a - b - s + 2", func(a, b, s uint64) uint64 { return a - b - s + 2 }},
		{"{a + b}", func(a, b, s uint64) uint64 { return (a + b) & 15 }},
		{"a * b", func(a, b, s uint64) uint64 { return a * b }},
		{"{a * b}", func(a, b, s uint64) uint64 { return a * b & 15 }},
		{"-a", func(a, b, s uint64) uint64 { return -a }},
		{"- - a", func(a, b, s uint64) uint64 { return a }},
		{"-(a + b)", func(a, b, s uint64) uint64 { return -(a + b) }},
		{"~a", func(a, b, s uint64) uint64 { return ^a }},
		{"{~a}", func(a, b, s uint64) uint64 { return ^a & 15 }},
		{"~(a == b)", func(a, b, s uint64) uint64 { return ^b2u(a == b) }},
		{"!a", func(a, b, s uint64) uint64 { return b2u(a == 0) }},
		{"!s", func(a, b, s uint64) uint64 { return s ^ 1 }},
		{"~s", func(a, b, s uint64) uint64 { return ^s }},
		{"!(~s)", func(a, b, s uint64) uint64 { return b2u(^s&1 == 0) }},
		{"~!s", func(a, b, s uint64) uint64 { return ^(s ^ 1) }},
		{"a & b | s", func(a, b, s uint64) uint64 { return a&b | s }},
		{"a ~^ b", func(a, b, s uint64) uint64 { return ^(a ^ b) }},
		{"a ^ ~b", func(a, b, s uint64) uint64 { return a ^ ^b }},
		{"&a", func(a, b, s uint64) uint64 { return b2u(a == 15) }},
		{"~&a", func(a, b, s uint64) uint64 { return b2u(a != 15) }},
		{"|a", func(a, b, s uint64) uint64 { return b2u(a != 0) }},
		{"~|a", func(a, b, s uint64) uint64 { return b2u(a == 0) }},
		{"^a", func(a, b, s uint64) uint64 { return parity(a) }},
		{"~^a", func(a, b, s uint64) uint64 { return parity(a) ^ 1 }},
		{"a & &b", func(a, b, s uint64) uint64 { return a & b2u(b == 15) }},
		{"a && b", func(a, b, s uint64) uint64 { return b2u(a != 0 && b != 0) }},
		{"a || b && s", func(a, b, s uint64) uint64 { return b2u(a != 0 || b != 0 && s != 0) }},
		{"a == b", func(a, b, s uint64) uint64 { return b2u(a == b) }},
		{"a === b", func(a, b, s uint64) uint64 { return b2u(a == b) }},
		{"a != {3'd0, s}", func(a, b, s uint64) uint64 { return b2u(a != s) }},
		{"a !== s", func(a, b, s uint64) uint64 { return b2u(a != s) }},
		{"a == 3", func(a, b, s uint64) uint64 { return b2u(a == 3) }},
		{"a == -1", func(a, b, s uint64) uint64 { return 0 }}, // 32 bits
		{"a < b", func(a, b, s uint64) uint64 { return b2u(a < b) }},
		{"a <= b", func(a, b, s uint64) uint64 { return b2u(a <= b) }},
		{"a > b", func(a, b, s uint64) uint64 { return b2u(a > b) }},
		{"a >= b", func(a, b, s uint64) uint64 { return b2u(a >= b) }},
		{"$signed(a) < $signed(b)", func(a, b, s uint64) uint64 { return b2u(signed(a, 4) < signed(b, 4)) }},
		{"$signed(a) < b", func(a, b, s uint64) uint64 { return b2u(a < b) }}, // one is unsigned: both are
		{"$signed(a) >= -2", func(a, b, s uint64) uint64 { return b2u(signed(a, 4) >= -2) }},
		{"$signed(a) + $signed(b)", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) + signed(b, 4)) }},
		{"$signed(a) * $signed(b)", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) * signed(b, 4)) }},
		{"$signed(a) + b", func(a, b, s uint64) uint64 { return a + b }},
		{"$signed(a & b)", func(a, b, s uint64) uint64 { return uint64(signed(a&b, 4)) }},
		{"$unsigned($signed(a))", func(a, b, s uint64) uint64 { return a }},
		{"$signed({s, a[1:0]})", func(a, b, s uint64) uint64 { return uint64(signed(s<<2|a&3, 3)) }},
		{"4'sb1000 + $signed(a)", func(a, b, s uint64) uint64 { return uint64(-8 + signed(a, 4)) }},
		{"4'b1000 + $signed(a)", func(a, b, s uint64) uint64 { return 8 + a }},
		{"s ? a : b", func(a, b, s uint64) uint64 { return sel(s, a, b) }},
		{"a ? b : s", func(a, b, s uint64) uint64 { return sel(b2u(a != 0), b, s) }},
		{"s ? $signed(a) : $signed(b)", func(a, b, s uint64) uint64 { return uint64(signed(sel(s, a, b), 4)) }},
		{"s ? $signed(a) : b", func(a, b, s uint64) uint64 { return sel(s, a, b) }},
		{"a < b ? a : s ? b : 8'hff", func(a, b, s uint64) uint64 { return sel(b2u(a < b), a, sel(s, b, 255)) }},
		{"{a, b}", func(a, b, s uint64) uint64 { return a<<4 | b }},
		{"{s, a[2:1], b[3]}", func(a, b, s uint64) uint64 { return s<<3 | a>>1&3<<1 | b>>3 }},
		{"{2{a}}", func(a, b, s uint64) uint64 { return a * 17 }},
		{"{4{a[1:0] ^ b[1:0]}}", func(a, b, s uint64) uint64 { return (a ^ b) & 3 * 0x55 }},
		{"{3{s}} + {a, {2{s}}}", func(a, b, s uint64) uint64 { return s*7 + a<<2 + s*3 }},
		{"a << 2", func(a, b, s uint64) uint64 { return a << 2 }},
		{"{a << 2}", func(a, b, s uint64) uint64 { return a << 2 & 15 }},
		{"a >> 1", func(a, b, s uint64) uint64 { return a >> 1 }},
		{"a >> 4000000000", func(a, b, s uint64) uint64 { return 0 }},
		{"~a >> 1", func(a, b, s uint64) uint64 { return ^a & 255 >> 1 }},
		{"a << b", func(a, b, s uint64) uint64 { return a << b }},
		{"a >> b", func(a, b, s uint64) uint64 { return a >> b }},
		{"$signed(a) >>> b", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) >> b) }},
		{"$signed(a) >>> 2", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) >> 2) }},
		{"$signed(a) >> 2", func(a, b, s uint64) uint64 { return uint64(signed(a, 4)) & 255 >> 2 }},
		{"a >>> b", func(a, b, s uint64) uint64 { return a >> b }},
		{"16'hbeef >> a", func(a, b, s uint64) uint64 { return 0xbeef >> a }},
		{"a / (b | 1)", func(a, b, s uint64) uint64 { return a / (b | 1) }},
		{"a % (b | 1)", func(a, b, s uint64) uint64 { return a % (b | 1) }},
		{"a / {4'd0, b}", func(a, b, s uint64) uint64 {
			if b == 0 {
				return 255
			}
			return a / b
		}},
		{"$signed(a) / 3", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) / 3) }},
		{"$signed(a) % -3", func(a, b, s uint64) uint64 { return uint64(signed(a, 4) % -3) }},
		{"a[b[1:0]]", func(a, b, s uint64) uint64 { return a >> (b & 3) & 1 }},
		{"a[b]", func(a, b, s uint64) uint64 { return a >> b & 1 }},
		{"a[s +: 2]", func(a, b, s uint64) uint64 { return a >> s & 3 }},
		{"a[b[1:0] -: 2]", func(a, b, s uint64) uint64 { return a << 1 >> (b & 3) & 3 }},
		{"a[3 -: 2]", func(a, b, s uint64) uint64 { return a >> 2 }},
		{"a[1 +: 2]", func(a, b, s uint64) uint64 { return a >> 1 & 3 }},
		{"d[b[1:0]]", func(a, b, s uint64) uint64 { return a >> (3 - b&3) & 1 }},
		{"d[b[1:0] +: 2]", func(a, b, s uint64) uint64 { return a << 1 >> (3 - b&3) & 3 }},
		{"e[{3'b001, s} + b[1]]", func(a, b, s uint64) uint64 { return a >> (s + b>>1&1) & 1 }},
		{"a + 8'bxx01_0000 - 1'bx", func(a, b, s uint64) uint64 { return a + 16 }},
		{"{32'd0, a} + 80'hfffffffffffffffffff0", func(a, b, s uint64) uint64 { return a - 16 }},
		{"~& {a, s} ^ ~|b", func(a, b, s uint64) uint64 { return b2u(a != 15 || s != 1) ^ b2u(b == 0) }},
		{"a == b == s", func(a, b, s uint64) uint64 { return b2u(b2u(a == b) == s) }},
		{"a + b * 3 << 1 & 8'h7e", func(a, b, s uint64) uint64 { return (a + b*3) << 1 & 0x7e }},
	} {
		n, err := readVerilog("module m(input [3:0] a, input [3:0] b, input s, output [7:0] y);\n  wire [0:3] d = a;\n  wire [5:2] e = a;\n  assign y = " + c.expr + ";\nendmodule\n")
		require.NoError(t, err, c.expr)
		require.NoError(t, n.Check())
		for in := range uint64(512) {
			a, b, s := in&15, in>>4&15, in>>8
			require.Equal(t, c.want(a, b, s)&255, apply(n, in), "%s with a = %d, b = %d, s = %d", c.expr, a, b, s)
		}
	}
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func parity(x uint64) (p uint64) {
	for ; x != 0; x >>= 1 {
		p ^= x & 1
	}
	return p
}

func sel(s, t, e uint64) uint64 {
	if s != 0 {
		return t
	}
	return e
}

// TestAssignments has what stands on the left, signals that are used before they are
// driven, and vectors of which bits depend on others.
func TestAssignments(t *testing.T) {
	for text, want := range map[string]func(a, b uint64) uint64{
		"assign {y[4], y[3:0]} = a + b; assign y[7:5] = 0;":                                                                     func(a, b uint64) uint64 { return a + b },
		"wire c; wire [3:0] s; assign {c, s} = a + b; assign y = {s, c};":                                                       func(a, b uint64) uint64 { return (a+b)&15<<1 | (a+b)>>4 },
		"wire [7:0] t; assign y = t - 1; assign t = a * b;":                                                                     func(a, b uint64) uint64 { return a*b - 1 },
		"wire [4:0] c; assign c[0] = 0; assign c[4:1] = a & b | (a ^ b) & c[3:0]; assign y = {c[4], a ^ b ^ c[3:0]};":           func(a, b uint64) uint64 { return a + b },
		"wire [99:0] big; assign y = big[99:92]; assign big[99:8] = {a, big[7:4], 84'd0} + big[7:0]; assign big[7:0] = {a, b};": func(a, b uint64) uint64 { return a<<4 | a },
		"wire signed [3:0] p = a, q = b; assign y = p * q;":                                                                     func(a, b uint64) uint64 { return uint64(signed(a, 4) * signed(b, 4)) },
		"wire signed [3:0] p; assign y = p; assign p = a;":                                                                      func(a, b uint64) uint64 { return uint64(signed(a, 4)) },
		"wire signed [3:0] p = a; assign y = p[3:0];":                                                                           func(a, b uint64) uint64 { return a },
		"wire dead, more; assign dead = more & undriven; assign y = a;":                                                         func(a, b uint64) uint64 { return a },
		`\$_MUX_ g1 (.A(a[0]), .B(b[0]), .S(a[1]), .Y(y[0])); \$_ANDNOT_ g2 (.Y(y[1]), .B(b[1]), .A(a[1])); assign y[7:2] = 0;`: func(a, b uint64) uint64 { return sel(a&2, b&1, a&1) | a&^b&2 },
		`\$_AOI3_ g (.A(a[0]), .B(a[1]), .C(b[0]), .Y(y[0])); \$_OAI4_ h (.A(a[0]), .B(a[1]), .C(b[0]), .D(b[1]), .Y(y[1])); assign y[7:2] = 0;`: func(a, b uint64) uint64 {
			return ^(a&(a>>1)|b)&1 | ^((a|a>>1)&(b|b>>1))&1<<1
		},
		`\$_MUX4_ g (.A(a[0]), .B(a[1]), .C(a[2]), .D(a[3]), .S(b[0]), .T(b[1]), .Y(y[0])); assign y[7:1] = 0;`:     func(a, b uint64) uint64 { return a >> (b & 3) & 1 },
		`\$lut #(.LUT(16'hbeef), .WIDTH(32'd4)) g (.A({b[1:0], a[1:0]}), .Y(y[3])); assign y[7:4] = 0, y[2:0] = 0;`: func(a, b uint64) uint64 { return 0xbeef >> (a&3 | b&3<<2) & 1 << 3 },
		"and g(y[0], a[0], b[0]); not (y[1], y[2], a[3]); xnor (y[3], a[0], b[1], a[2]); assign y[7:4] = ~0;": func(a, b uint64) uint64 {
			return a&b&1 | (a>>3^1)*6 | (a^b>>1^a>>2^1)&1<<3 | 0xf0
		},
	} {
		n, err := readVerilog("module m(input [3:0] a, input [3:0] b, output [7:0] y);\n" + text + "\nendmodule\n")
		require.NoError(t, err, text)
		require.NoError(t, n.Check())
		for in := range uint64(256) {
			require.Equal(t, want(in&15, in>>4)&255, apply(n, in), "%s with %#x", text, in)
		}
	}
}

// TestPortOrder has declarations in another order than the header, as Yosys sorts them.
func TestPortOrder(t *testing.T) {
	n, err := readVerilog("module m(z, b, y, a);\n  input [1:0] a;\n  wire t;\n  assign t = b & a[0];\n  output y;\n  input b;\n  output [1:0] z;\n  assign z = {t, a[1]};\n  assign y = b;\nendmodule\n")
	require.NoError(t, err)
	var names []string
	for i := range n.NumInputs() {
		names = append(names, n.InputName(i))
	}
	for _, o := range n.Outputs() {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"b", "a[0]", "a[1]", "z[0]", "z[1]", "y"}, names)
}

// TestYosysLUTs sees that a table which Yosys writes as a shifted constant is a LUT.
func TestYosysLUTs(t *testing.T) {
	n, err := netlist.Read(strings.NewReader("module m(input [4:0] a, output y);\n  assign y = 32'd3735928559 >> a;\nendmodule\n"), "x.v", netlist.ReadOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, n.NumGates())
	require.Equal(t, netlist.LUT, n.Kind(n.Output(0).Lit.Node()))
	for a := range uint64(32) {
		require.Equal(t, uint64(0xdeadbeef)>>a&1, apply(n, a))
	}
}

// TestVectorErrors has mistakes in what is said of vectors, and what Yosys is for.
func TestVectorErrors(t *testing.T) {
	for body, want := range map[string]string{
		"assign y = a ** 2;":                            "x.v:2:14: operator ** is not supported, expected a flat netlist, as by yosys -p 'read_verilog x.v; synth -flatten -auto-top; write_verilog -noattr flat.v'",
		"always_comb y = a;":                            "x.v:2:1: always_comb is not supported, expected a flat netlist, as by yosys -p 'read_verilog -sv x.v; synth -flatten -auto-top; write_verilog -noattr flat.v'",
		`\$add #(.A_WIDTH(4)) g (.A(a));`:               "x.v:2:1: cell $add is not supported, expected a flat netlist, as by yosys -p 'read_verilog x.v; synth -flatten -auto-top; write_verilog -noattr flat.v'",
		`\$_DFF_P_ g (.C(s), .D(s));`:                   "x.v:2:1: cell $_DFF_P_: sequential circuits are not supported, expected no registers: expose -evert-dff of Yosys makes ports of them",
		"/* Generated by Yosys 0.23 */ reg r;":          "x.v:2:31: reg is not supported, expected no registers: expose -evert-dff of Yosys makes ports of them",
		`\$_AND_ g (.A(s), .B(s));`:                     "x.v:2:1: cell $_AND_ without pin Y, expected A, B and Y",
		`\$_AND_ g (.A(s), .Y(y[0]));`:                  "x.v:2:1: cell $_AND_ without pin B, expected A, B and Y",
		`\$_AND_ g (.A(a), .B(s));`:                     "x.v:2:15: pin A of 4 bits, expected one bit",
		`\$_AND_ g (.A(s), .A(s));`:                     "x.v:2:20: pin A a second time, expected it once",
		`\$_AND_ g (.S(s));`:                            "x.v:2:13: pin S of $_AND_, expected one of A, B and Y",
		`\$lut #(.WIDTH(1)) g (.A(s), .Y(y[0]));`:       "x.v:2:18: $lut without LUT, expected its table",
		`\$lut #(.LUT(1)) g (.A({a, b}), .Y(y[0]));`:    "x.v:2:1: look-up table of 8 inputs is not supported, expected at most 6",
		"assign y = {0{a}};":                            "x.v:2:13: number of repetitions, expected a constant from 1 to 65536",
		"assign y = {s{a}};":                            "x.v:2:13: number of repetitions, expected a constant from 1 to 65536",
		"assign y = {65536{a}};":                        "x.v:2:13: replication of 262144 bits, expected at most 65536",
		"assign y = {a, };":                             "x.v:2:16: \"}\", expected a signal, a constant, an operator before them, \"{\" or \"(\"",
		"assign y = {a b};":                             "x.v:2:15: b, expected \",\" or \"}\" in a concatenation",
		"assign {y, 1'b0} = a;":                         "x.v:2:12: a number, expected the name of a signal",
		"assign y[a] = s;":                              "x.v:2:8: index that is no number on the left of an assignment, expected a number",
		"assign y = a[4];":                              "x.v:2:14: index 4 of a, expected one in [3:0]",
		"assign y = a[2 +: 3];":                         "x.v:2:14: part of 3 bits of a, expected bits in [3:0]",
		"assign y = a[s : 0];":                          "x.v:2:14: bound of a part, expected a number",
		"assign y = a[s +: s];":                         "x.v:2:19: width of a part, expected a number from 1 to 65536",
		"assign y = s[0];":                              "x.v:2:13: s is not a vector, expected no index",
		"assign y = $random;":                           "x.v:2:12: function $random is not supported, expected $signed or $unsigned",
		"assign y = 70000'd1;":                          "x.v:2:12: number of 70000 bits, expected 1 to 65536",
		"assign y = 4'd16;":                             "x.v:2:12: number 16 does not fit its 4 bits, expected a smaller one",
		"wire [65535:0] w, v; assign w = v * v, v = w;": "x.v:2:29: operators on vectors make more than 67108864 gates, expected fewer",
		"assign y = a & c[1];":                          "x.v:2:17: c is not a vector, expected no index",
		"wire [1:0] c; assign y = a & c[1];":            "x.v:2:30: c[1] is not driven, expected an input or a definition of it",
		"wire [3:0] c = c + a; assign y = c;":           "x.v:2:12: combinational cycle c[0] <- c[0], expected an acyclic circuit",
	} {
		_, err := readVerilog("module m(input [3:0] a, b, input s, output [7:0] y);\n" + body + "\nendmodule\n")
		require.EqualError(t, err, want, body)
	}
	deep := "module m(input [3:0] a, output [3:0] y);\n  assign y = "
	for _, text := range []string{
		strings.Repeat("{", 20000), strings.Repeat("(", 20000), strings.Repeat("a*", 30000), strings.Repeat("a-(", 15000),
		strings.Repeat("-", 1) + strings.Repeat(" ~ -", 2000), strings.Repeat("a[", 15000), strings.Repeat("s?", 15000), strings.Repeat("&a==", 30000),
	} {
		_, err := readVerilog(deep + text + "a;\nendmodule\n")
		var e *netlist.SyntaxError
		require.ErrorAs(t, err, &e, "%.20s", text)
	}
}

// FuzzVerilogWords reads modules with operators on words, and writes and reads again
// what they are.
func FuzzVerilogWords(f *testing.F) {
	for _, e := range []string{"a + b", "{2{a}} * $signed(b)", "a[b +: 2] >> s", "s ? a / b : ~|b", "a < b && !s", "16'hbeef >> a", "-a <<< 2", "4'sb1x0 === a"} {
		f.Add("module m(input [3:0] a, input signed [3:0] b, input s, output [7:0] y);\n  assign y = " + e + ";\nendmodule\n")
	}
	f.Add("module m(y, a);\n  output [1:0] y;\n  input [0:2] a;\n  wire c;\n  \\$_NMUX_ g (.A(a[0]), .B(a[1]), .S(c), .Y(y[0]));\n  assign {c, y[1]} = a + 1;\nendmodule\n")
	f.Add("module m(input a, output y);\n  \\$lut #(.LUT(2'h1), .WIDTH(1)) g (.A(a), .Y(y));\nendmodule\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := netlist.Read(strings.NewReader(text), "x.v", netlist.ReadOptions{Words: gen.Words{}, Format: netlist.Verilog})
		if err != nil {
			var e *netlist.SyntaxError
			require.ErrorAs(t, err, &e)
			return
		}
		require.NoError(t, n.Check())
		if n.NumGates() > 20000 {
			return
		}
		var out bytes.Buffer
		require.NoError(t, netlist.Write(&out, n, netlist.Verilog))
		m, err := netlist.Read(&out, "y.v", netlist.ReadOptions{})
		require.NoError(t, err)
		require.Equal(t, n.NumInputs(), m.NumInputs())
		words := make([]uint64, n.NumInputs())
		for i := range words {
			words[i] = uint64(i+1) * 0x9e3779b97f4a7c15
		}
		require.Equal(t, n.Simulate(words, 1), m.Simulate(words, 1))
	})
}
