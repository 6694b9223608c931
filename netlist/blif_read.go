package netlist

// The BLIF subset: "Berkeley Logic Interchange Format (BLIF)", University of
// California, Berkeley, 1992: one flat combinational model of .names tables.
// What follows a further .model is ignored: the first model is the circuit, and
// it cannot use another without .subckt.

// blifGate is a .names table: of up to MaxLUT inputs as a truth table, of more
// as its cubes.
type blifGate struct {
	out    int32
	start  int32 // of its inputs in blifReader.fanins
	inputs int32
	table  uint64
	cubes  []byte // inputs characters a cube
	on     bool   // the cubes say where the output is 1; else where it is 0
}

type blifReader struct {
	signals
	matcher *matcher
	byName  map[string]int32
	outs    []int32
	waiting []blifGate
	fanins  []int32
	token   []byte
	lits    []Lit
}

func readBLIF(s *scanner) (*Network, error) {
	r := &blifReader{signals: signals{scanner: s, net: New("")}, matcher: newMatcher(), byName: make(map[string]int32)}
	if err := r.model(); err != nil {
		return nil, err
	}
	err := r.resolve(len(r.waiting),
		func(d int32) int32 { return r.waiting[d].out },
		func(d int32, buf []int32) []int32 {
			g := &r.waiting[d]
			return append(buf, r.fanins[g.start:g.start+g.inputs]...)
		},
		func(d int32) { r.build(&r.waiting[d]) })
	if err != nil {
		return nil, err
	}
	if err := r.outputs(r.outs); err != nil {
		return nil, err
	}
	return r.net, nil
}

// word reads the next word of a logical line into r.token. It reports false at
// the end of the line, which it leaves.
func (r *blifReader) word() (pos, bool) {
	r.token = r.token[:0]
	for {
		switch c := r.peek(); {
		case c == '#':
			r.skipLine()
			return r.here(), false
		case c < 0 || c == '\n':
			return r.here(), false
		case c == '\\' && r.lineGoesOn():
		case isBlank(c):
			r.skip(1)
		default:
			at := r.here()
			for {
				c := r.peek()
				if r.tooLong(r.token, at, "word") {
					return at, true
				}
				if c < 0 || c == '\n' || isBlank(c) || c == '#' || c == '\\' && (r.second() == '\n' || r.second() == '\r') {
					return at, true
				}
				r.token = append(r.token, byte(c))
				r.skip(1)
			}
		}
	}
}

func isBlank(c int) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }

// lineGoesOn consumes a backslash at the end of a line together with that end.
func (r *blifReader) lineGoesOn() bool {
	switch r.second() {
	case '\r':
		r.skip(2)
		if r.peek() == '\n' {
			r.next()
		}
		return true
	case '\n':
		r.skip(1)
		r.next()
		return true
	}
	return false
}

// endLine checks that the logical line has no further word, and consumes its end.
func (r *blifReader) endLine() error {
	if at, ok := r.word(); ok {
		return r.errAt(at, "%s, expected the end of the line", clip(r.token))
	}
	r.next()
	return nil
}

// signal returns the signal that r.token names.
func (r *blifReader) signal(at pos) int32 {
	sig, ok := r.byName[string(r.token)]
	if !ok {
		name := string(r.token)
		sig = r.add(name, at)
		r.byName[name] = sig
	}
	return sig
}

// model reads the file up to the end of its first model.
func (r *blifReader) model() error {
	const (
		before = iota
		inside
		after
	)
	state := before
	begun := false // .model was seen
	for {
		at, ok := r.word()
		if !ok {
			if r.peek() < 0 {
				if state == before {
					return r.errAt(at, "end of file, expected .model")
				}
				return nil
			}
			r.next()
			continue
		}
		if r.token[0] != '.' {
			return r.errAt(at, "%s, expected a line that begins with .model, .inputs, .outputs, .names or .end", clip(r.token))
		}
		keyword := string(r.token)
		if keyword == ".model" && (begun || state == after) {
			r.drain()
			return nil
		}
		if state == after && keyword != ".exdc" {
			return r.errAt(at, "%s after .end, expected .model or the end of the file", clip(keyword))
		}
		state = inside
		switch keyword {
		case ".model":
			begun = true
			if _, ok := r.word(); ok {
				r.net.Name = string(r.token)
			}
			if err := r.endLine(); err != nil {
				return err
			}
		case ".inputs":
			for {
				at, ok := r.word()
				if !ok {
					break
				}
				if err := r.input(r.signal(at), at); err != nil {
					return err
				}
			}
		case ".outputs":
			for {
				at, ok := r.word()
				if !ok {
					break
				}
				r.outs = append(r.outs, r.signal(at))
			}
		case ".names":
			if err := r.names(at); err != nil {
				return err
			}
		case ".end":
			state = after
			if err := r.endLine(); err != nil {
				return err
			}
		case ".latch", ".mlatch", ".clock":
			return unsupported(r.errAt(at, "%s: sequential circuits are not supported, expected .names only", keyword))
		case ".subckt", ".gate", ".search", ".blackbox":
			return unsupported(r.errAt(at, "%s: hierarchy and libraries are not supported, expected a flat model of .names", keyword))
		case ".exdc":
			return unsupported(r.errAt(at, "%s: external don't-cares are not supported, expected .names only", keyword))
		default:
			return unsupported(r.errAt(at, "%s is not supported, expected .model, .inputs, .outputs, .names or .end", clip(keyword)))
		}
	}
}

// names reads a table: ".names in... out" and its cubes.
func (r *blifReader) names(directive pos) error {
	g := blifGate{start: int32(len(r.fanins))}
	var outAt pos
	for {
		at, ok := r.word()
		if !ok {
			break
		}
		r.fanins = append(r.fanins, r.signal(at))
		outAt = at
		if len(r.fanins)-int(g.start) > maxFanins {
			return r.errAt(directive, ".names of more than %d signals, expected fewer", maxFanins)
		}
	}
	if len(r.fanins) == int(g.start) {
		return r.errAt(directive, ".names without a signal, expected at least an output")
	}
	g.out = r.fanins[len(r.fanins)-1]
	r.fanins = r.fanins[:len(r.fanins)-1]
	g.inputs = int32(len(r.fanins)) - g.start
	known := true
	for _, sig := range r.fanins[g.start:] {
		known = known && r.lit[sig] != unset
	}
	def := int32(len(r.waiting))
	if known {
		def = defBuilt
	}
	if err := r.drive(g.out, def, outAt); err != nil {
		return err
	}
	r.next()
	if err := r.cover(&g); err != nil {
		return err
	}
	if !known {
		r.waiting = append(r.waiting, g)
		return nil
	}
	r.build(&g)
	r.fanins = r.fanins[:g.start]
	return nil
}

// cover reads the cubes of a table, up to the next directive.
func (r *blifReader) cover(g *blifGate) error {
	n := int(g.inputs)
	rows := 0
	for {
		// A directive ends the cover; look before a word is consumed.
		for isBlank(r.peek()) {
			r.skip(1)
		}
		if r.peek() == '.' {
			break
		}
		at, ok := r.word()
		if !ok {
			if r.peek() < 0 {
				break
			}
			r.next()
			continue
		}
		var cube uint64
		if n > 0 {
			if len(r.token) != n {
				return r.errAt(at, "cube of %d characters, expected %d: one for each input of .names", len(r.token), n)
			}
			cube = ^uint64(0)
			for j, c := range r.token {
				switch {
				case c != '0' && c != '1' && c != '-':
					return r.errAt(pos{at.line, at.col + uint32(j)}, "%s in a cube, expected 0, 1 or -", describe(int(c)))
				case n > MaxLUT || c == '-':
				case c == '0':
					cube &^= inputTable[j]
				default:
					cube &= inputTable[j]
				}
			}
			if n > MaxLUT {
				g.cubes = append(g.cubes, r.token...)
			}
			if at, ok = r.word(); !ok {
				return r.errAt(at, "cube without an output value, expected 0 or 1")
			}
		} else {
			cube = 1
		}
		if len(r.token) != 1 || r.token[0] != '0' && r.token[0] != '1' {
			return r.errAt(at, "output value %s, expected 0 or 1", clip(r.token))
		}
		on := r.token[0] == '1'
		if rows > 0 && on != g.on {
			return r.errAt(at, "output value %c after rows with %c, expected one value in a table", r.token[0], r.token[0]^1)
		}
		g.on = on
		g.table |= cube
		rows++
		if err := r.endLine(); err != nil {
			return err
		}
	}
	if rows == 0 {
		g.on = true // an empty cover is the constant 0
	}
	if !g.on {
		g.table = ^g.table
	}
	return nil
}

func (r *blifReader) build(g *blifGate) {
	before := r.net.NumNodes()
	r.lits = r.lits[:0]
	for _, sig := range r.fanins[g.start : g.start+g.inputs] {
		r.lits = append(r.lits, r.lit[sig])
	}
	n := len(r.lits)
	var l Lit
	if n <= MaxLUT {
		l = r.matcher.build(r.net, r.lits, g.table)
	} else {
		var products, factors []Lit
		for rows := g.cubes; len(rows) > 0; rows = rows[n:] {
			factors = factors[:0]
			for j, c := range rows[:n] {
				if c != '-' {
					factors = append(factors, r.lits[j].NotIf(c == '0'))
				}
			}
			products = append(products, r.net.AndAll(factors))
		}
		l = r.net.OrAll(products).NotIf(!g.on)
	}
	r.built(g.out, l, before)
}
