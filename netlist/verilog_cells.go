package netlist

import "strings"

// The gate cells of Yosys, as its manual defines them (chapter "Internal cell
// library", gates): what write_verilog -noexpr writes. By default it writes them as
// assignments.

// gateCell is a gate cell: a function of its inputs, by which a tree of nodes is made.
type gateCell struct {
	pins  string // inputs, a letter each; the output is Y
	build func(c *cellBuilder, in []int32) int32
}

var gateCells = map[string]gateCell{
	"$_BUF_":    {"A", func(c *cellBuilder, in []int32) int32 { return in[0] }},
	"$_NOT_":    {"A", func(c *cellBuilder, in []int32) int32 { return c.not(in[0]) }},
	"$_AND_":    {"AB", func(c *cellBuilder, in []int32) int32 { return c.gate(exprAnd, in...) }},
	"$_NAND_":   {"AB", func(c *cellBuilder, in []int32) int32 { return c.not(c.gate(exprAnd, in...)) }},
	"$_OR_":     {"AB", func(c *cellBuilder, in []int32) int32 { return c.gate(exprOr, in...) }},
	"$_NOR_":    {"AB", func(c *cellBuilder, in []int32) int32 { return c.not(c.gate(exprOr, in...)) }},
	"$_XOR_":    {"AB", func(c *cellBuilder, in []int32) int32 { return c.gate(exprXor, in...) }},
	"$_XNOR_":   {"AB", func(c *cellBuilder, in []int32) int32 { return c.not(c.gate(exprXor, in...)) }},
	"$_ANDNOT_": {"AB", func(c *cellBuilder, in []int32) int32 { return c.gate(exprAnd, in[0], c.not(in[1])) }},
	"$_ORNOT_":  {"AB", func(c *cellBuilder, in []int32) int32 { return c.gate(exprOr, in[0], c.not(in[1])) }},
	"$_MUX_":    {"ABS", func(c *cellBuilder, in []int32) int32 { return c.gate(exprMux, in[2], in[1], in[0]) }},
	"$_NMUX_":   {"ABS", func(c *cellBuilder, in []int32) int32 { return c.not(c.gate(exprMux, in[2], in[1], in[0])) }},
	"$_AOI3_": {"ABC", func(c *cellBuilder, in []int32) int32 {
		return c.not(c.gate(exprOr, c.gate(exprAnd, in[0], in[1]), in[2]))
	}},
	"$_OAI3_": {"ABC", func(c *cellBuilder, in []int32) int32 {
		return c.not(c.gate(exprAnd, c.gate(exprOr, in[0], in[1]), in[2]))
	}},
	"$_AOI4_": {"ABCD", func(c *cellBuilder, in []int32) int32 {
		return c.not(c.gate(exprOr, c.gate(exprAnd, in[0], in[1]), c.gate(exprAnd, in[2], in[3])))
	}},
	"$_OAI4_": {"ABCD", func(c *cellBuilder, in []int32) int32 {
		return c.not(c.gate(exprAnd, c.gate(exprOr, in[0], in[1]), c.gate(exprOr, in[2], in[3])))
	}},
	"$_MUX4_":  {"ABCDST", selector(4)},
	"$_MUX8_":  {"ABCDEFGHSTU", selector(8)},
	"$_MUX16_": {"ABCDEFGHIJKLMNOPSTUV", selector(16)},
}

// selector is a tree of multiplexers over so many words of one bit; the inputs behind
// them select, the lowest first.
func selector(words int) func(c *cellBuilder, in []int32) int32 {
	return func(c *cellBuilder, in []int32) int32 {
		level := in[:words]
		for _, s := range in[words:] {
			var next []int32
			for k := 0; k < len(level); k += 2 {
				next = append(next, c.gate(exprMux, c.again(s), level[k+1], level[k]))
			}
			level = next
		}
		return level[0]
	}
}

// cellBuilder makes the nodes of a cell. The first error stays.
type cellBuilder struct {
	r    *verilogReader
	used map[int32]bool
	err  error
}

func (c *cellBuilder) gate(op exprOp, in ...int32) int32 {
	for k := range in[1:] {
		c.r.exprs[in[k]].next = in[k+1]
	}
	i, err := c.r.node(expr{op: op, a: in[0], own: 1})
	if err != nil && c.err == nil {
		c.err = err
	}
	return i
}

func (c *cellBuilder) not(i int32) int32 {
	i, err := c.r.sign('~', i)
	if err != nil && c.err == nil {
		c.err = err
	}
	return i
}

// again returns a node for a further use of a signal or constant.
func (c *cellBuilder) again(i int32) int32 {
	if !c.used[i] {
		c.used[i] = true
		return i
	}
	c.r.exprs = append(c.r.exprs, c.r.exprs[i])
	return int32(len(c.r.exprs) - 1)
}

// cell reads an instance of a cell of Yosys: a gate, or a look-up table.
func (r *verilogReader) cell() error {
	at := r.at
	kind := string(r.text)
	gate, known := gateCells[kind]
	switch {
	case known, kind == "$lut":
	case strings.Contains(kind, "DFF") || strings.Contains(kind, "LATCH") || strings.HasPrefix(kind, "$_SR_") || strings.HasPrefix(kind, "$_FF_") ||
		strings.Contains(kind, "dff") || strings.Contains(kind, "latch") || kind == "$ff" || strings.HasPrefix(kind, "$mem"):
		return unsupported(r.errAt(at, "cell %s: sequential circuits are not supported, expected no registers: expose -evert-dff of Yosys makes ports of them", clip(kind)))
	default:
		return unsupported(r.errAt(at, "cell %s is not supported, %s", clip(kind), r.remedy("cell")))
	}
	r.begin()
	if err := r.advance(); err != nil {
		return err
	}
	var table *number
	if kind == "$lut" {
		var err error
		if table, err = r.lutParameters(); err != nil {
			return err
		}
	}
	if _, _, err := r.identifier("the name of a cell"); err != nil {
		return err
	}
	if err := r.expect('(', "before the pins of a cell"); err != nil {
		return err
	}
	pins := map[string]int32{}
	var out []int32
	for {
		if err := r.expect('.', "and the name of a pin"); err != nil {
			return err
		}
		pin, pinAt, err := r.identifier("the name of a pin")
		if err != nil {
			return err
		}
		if err := r.expect('(', "after the name of a pin"); err != nil {
			return err
		}
		if _, twice := pins[pin]; twice || pin == "Y" && out != nil {
			return r.errAt(pinAt, "pin %s a second time, expected it once", clip(pin))
		}
		valueAt := r.at
		width := int32(1)
		switch {
		case pin == "Y":
			if out, err = r.driven(nil); err != nil {
				return err
			}
			width = int32(len(out))
		case kind == "$lut" && pin == "A", len(pin) == 1 && strings.Contains(gate.pins, pin):
			if pins[pin], err = r.expression(); err != nil {
				return err
			}
			if kind != "$lut" {
				width = r.exprs[pins[pin]].own
			}
		default:
			return r.errAt(pinAt, "pin %s of %s, expected one of %s", clip(pin), clip(kind), pinNames(kind))
		}
		if width != 1 {
			return r.errAt(valueAt, "pin %s of %d bits, expected one bit", pin, width)
		}
		if err := r.expect(')', "after the value of a pin"); err != nil {
			return err
		}
		if r.kind == ')' {
			break
		}
		if err := r.expect(',', "or \")\" after a pin"); err != nil {
			return err
		}
	}
	if err := r.advance(); err != nil {
		return err
	}
	if err := r.expect(';', "after a cell"); err != nil {
		return err
	}
	names := gate.pins
	if kind == "$lut" {
		names = "A"
	}
	var in []int32
	for _, p := range strings.Split(names, "") {
		i, ok := pins[p]
		if !ok {
			return r.errAt(at, "cell %s without pin %s, expected %s", clip(kind), p, pinNames(kind))
		}
		in = append(in, i)
	}
	if out == nil {
		return r.errAt(at, "cell %s without pin Y, expected %s", clip(kind), pinNames(kind))
	}
	var root int32
	var err error
	if table != nil {
		root, err = r.lookup(*table, in[0], at)
	} else {
		c := &cellBuilder{r: r, used: map[int32]bool{}}
		root, err = gate.build(c, in), c.err
	}
	if err != nil {
		return err
	}
	return r.connect(out, root, at)
}

// pinNames lists the pins of a cell for a message.
func pinNames(kind string) string {
	pins := gateCells[kind].pins
	if kind == "$lut" {
		pins = "A"
	}
	return strings.Join(strings.Split(pins, ""), ", ") + " and Y"
}

// lutParameters reads #(.LUT(table), .WIDTH(inputs)) and returns the table.
func (r *verilogReader) lutParameters() (*number, error) {
	var table *number
	if err := r.expect('#', "and the parameters of $lut"); err != nil {
		return nil, err
	}
	if err := r.expect('(', "before parameters"); err != nil {
		return nil, err
	}
	for {
		if err := r.expect('.', "and the name of a parameter"); err != nil {
			return nil, err
		}
		name, at, err := r.identifier("the name of a parameter")
		if err != nil {
			return nil, err
		}
		if name != "LUT" && name != "WIDTH" {
			return nil, r.errAt(at, "parameter %s of $lut, expected LUT and WIDTH", clip(name))
		}
		if err := r.expect('(', "after the name of a parameter"); err != nil {
			return nil, err
		}
		if r.kind != tokNumber {
			return nil, r.errAt(r.at, "%s, expected a number", r.token())
		}
		if name == "LUT" {
			v := r.value
			table = &v
		}
		if err := r.advance(); err != nil {
			return nil, err
		}
		if err := r.expect(')', "after the value of a parameter"); err != nil {
			return nil, err
		}
		if r.kind == ')' {
			break
		}
		if err := r.expect(',', "or \")\" after a parameter"); err != nil {
			return nil, err
		}
	}
	if table == nil {
		return nil, r.errAt(r.at, "$lut without LUT, expected its table")
	}
	return table, r.advance()
}

// lookup is a table that a word of inputs points into.
func (r *verilogReader) lookup(table number, in int32, at pos) (int32, error) {
	n := r.exprs[in].own
	if n > MaxLUT {
		return 0, unsupported(r.errAt(at, "look-up table of %d inputs is not supported, expected at most %d", n, MaxLUT))
	}
	r.consts = append(r.consts, table)
	word, err := r.node(expr{op: exprConst, a: int32(len(r.consts) - 1), own: 1 << n})
	if err != nil {
		return 0, err
	}
	r.exprs[word].next = in
	return r.node(expr{op: exprRight, a: word, own: 1 << n})
}
