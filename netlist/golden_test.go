package netlist

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The text that each writer gives for a network with every kind of gate, names
// of complements, names that need care, and outputs of every sort.
func TestGoldenText(t *testing.T) {
	n := New("every kind")
	a, b, c, d := n.AddInput("a"), n.AddInput("b[0]"), n.AddInput(""), n.AddInput("d")
	and := n.And(a, b^1)
	or := n.Or(and, c)
	n.SetLitName(or, "or")
	nor := n.And(a^1, b^1)
	xor := n.Xor(nor, d^1)
	n.SetNodeName(xor.Node(), "wire")
	xor3 := n.Xor3(xor, or, False)
	maj := n.Maj(a, or^1, xor3)
	n.SetLitName(maj^1, "minor")
	mux := n.Mux(d, maj, nor^1)
	lut := n.LUT([]Lit{a, b, c ^ 1, mux}, 0x8001)
	n.SetNodeName(lut.Node(), "y")
	n.AddOutput("y", lut)
	n.AddOutput("", maj)
	n.AddOutput("d", d)
	n.AddOutput("zero", False)
	n.AddOutput("one", True)
	n.AddOutput("not lut", lut^1)

	golden := map[Format]string{
		Verilog: `module every_kind ( a , \b[0] , i2 , d , y , o1 , d_2 , zero , one , not_lut );
  input a , \b[0] , i2 , d ;
  output y , o1 , d_2 , zero , one , not_lut ;
  wire n5 , \or , n7 , \wire , n9 , minor , n11 ;
  assign n5 = a & ~\b[0] ;
  assign \or = n5 | i2 ;
  assign n7 = ~a & ~\b[0] ;
  assign \wire = n7 ^ ~d ;
  assign n9 = \wire ^ \or ^ 1'b0 ;
  assign minor = ( ~a & \or ) | ( ~a & ~n9 ) | ( \or & ~n9 ) ;
  assign n11 = d ? ~minor : ~n7 ;
  assign y = ( ~a & ~\b[0] & i2 & ~n11 ) | ( a & \b[0] & ~i2 & n11 ) ;
  assign o1 = ~minor ;
  assign d_2 = d ;
  assign zero = 1'b0 ;
  assign one = 1'b1 ;
  assign not_lut = ~y ;
endmodule
`,
		BLIF: `.model every_kind
.inputs a b[0] i2 d
.outputs y o1 d zero one not_lut
.names a b[0] n5
10 1
.names n5 i2 or
00 0
.names a b[0] n7
00 1
.names n7 d wire
00 1
11 1
.names wire or n9
10 1
01 1
.names a or n9 minor
-10 1
0-0 1
01- 1
.names d minor n7 n11
0-0 1
10- 1
.names a b[0] i2 n11 y
0010 1
1101 1
.names minor o1
0 1
.names zero
0
.names one
1
.names y not_lut
0 1
.end
`,
		Bench: `# every_kind
INPUT(a)
INPUT(b[0])
INPUT(i2)
INPUT(d)
OUTPUT(y)
OUTPUT(o1)
OUTPUT(d)
OUTPUT(zero)
OUTPUT(one)
OUTPUT(not_lut)
b[0]_not = NOT(b[0])
n5 = AND(a, b[0]_not)
or = OR(n5, i2)
n7 = NOR(a, b[0])
wire = XNOR(n7, d)
n9 = XOR(wire, or)
minor = LUT 0x4d (a, or, n9)
n11 = LUT 0x27 (d, minor, n7)
y = LUT 0x810 (a, b[0], i2, n11)
o1 = NOT(minor)
zero = gnd
one = vdd
not_lut = NOT(y)
`,
	}
	for f, want := range golden {
		got := write(t, n, f)
		require.Equal(t, want, got, "%v", f)
		requireSameFunction(t, n, read(t, got, "x"))
	}

	// Two gates that share an XOR: the ASCII AIGER shows sharing and numbering.
	small := New("")
	p, q := small.AddInput("p"), small.AddInput("")
	small.AddOutput("s", small.Xor(p, q))
	small.AddOutput("t", small.Mux(p, q, q^1))
	require.Equal(t, `aag 5 2 0 2 3
2
4
10
11
6 4 2
8 5 3
10 9 7
i0 p
o0 s
o1 t
`, write(t, small, AIGERASCII))
	require.Equal(t, "aig 5 2 0 2 3\n10\n11\n\x02\x02\x03\x02\x01\x02i0 p\no0 s\no1 t\n", write(t, small, AIGER))
}
