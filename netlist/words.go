package netlist

// Words builds operators on words out of gates, for formats that have them
// (Verilog does). Package netlist/gen has one, [gen.Words]; this package only
// knows gates. A word has its least significant bit first. Two operands of one
// operator have the same length, which is at least one.
//
// [gen.Words]: https://pkg.go.dev/github.com/bitsched/bitsched/netlist/gen#Words
type Words interface {
	// Add returns x + y + carry, to the length of x.
	Add(n *Network, x, y []Lit, carry Lit) []Lit
	// Multiply returns the low bits of x * y, as many as x has. Signed says how the
	// words were extended to their length, which may save gates, but not what the
	// product is.
	Multiply(n *Network, x, y []Lit, signed bool) []Lit
	// Divide returns the quotient, rounded towards zero, and the remainder, which
	// has the sign of x. x / 0 is -1, all ones, and its remainder x.
	Divide(n *Network, x, y []Lit, signed bool) (quotient, remainder []Lit)
	// Less returns x < y.
	Less(n *Network, x, y []Lit, signed bool) Lit
	// Equal returns x == y.
	Equal(n *Network, x, y []Lit) Lit
	// Shift returns x moved by the number by, to lower bits, or to higher ones if
	// left is set. fill takes the places that become free.
	Shift(n *Network, x, by []Lit, left bool, fill Lit) []Lit
}
