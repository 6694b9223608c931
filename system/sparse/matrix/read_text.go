package matrix

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// header is what the first lines of a MatrixMarket file say.
type header struct {
	kind      Kind
	symmetric bool
	skew      bool
	rows      int64
	cols      int64
	entries   int64
}

func readHeader(l *lines) (h header, err error) {
	line, ok := l.next()
	if !ok {
		return h, l.err
	}
	words := strings.Fields(strings.ToLower(string(line)))
	if len(words) != 5 {
		return h, l.fail("%d words, expected %%%%MatrixMarket matrix coordinate FIELD SYMMETRY", len(words))
	}
	if words[1] != "matrix" {
		return h, l.fail("object %q, expected matrix", words[1])
	}
	if words[2] != "coordinate" {
		return h, l.fail("format %q, expected coordinate", words[2])
	}
	switch words[3] {
	case "real", "double":
		h.kind = Real
	case "integer":
		h.kind = Integer
	case "pattern":
		h.kind = Pattern
	default:
		return h, l.fail("field %q, expected real, integer or pattern", words[3])
	}
	switch words[4] {
	case "general":
	case "symmetric":
		h.symmetric = true
	case "skew-symmetric":
		h.symmetric, h.skew = true, true
	default:
		return h, l.fail("symmetry %q, expected general, symmetric or skew-symmetric", words[4])
	}
	for {
		line, ok = l.next()
		if !ok {
			if l.err != nil {
				return h, l.err
			}
			return h, l.fail("no sizes, expected rows, columns and entries")
		}
		if word, _ := field(line); len(word) > 0 && word[0] != '%' {
			break
		}
	}
	sizes := [3]int64{}
	rest := line
	for i, what := range []string{"rows", "columns", "entries"} {
		var word []byte
		word, rest = field(rest)
		v, ok := integer(word)
		if !ok || v < 0 {
			return h, l.fail("%s %s, expected a number of %s", what, shown(word), what)
		}
		sizes[i] = v
	}
	if word, _ := field(rest); len(word) > 0 {
		return h, l.fail("more than three sizes, expected rows, columns and entries")
	}
	h.rows, h.cols, h.entries = sizes[0], sizes[1], sizes[2]
	for i, what := range []string{"rows", "columns"} {
		if sizes[i] > MaxSize {
			return h, l.fail("%d %s, expected at most %d", sizes[i], what, int64(MaxSize))
		}
	}
	switch {
	case h.entries > MaxEntries:
		return h, l.fail("%d entries, expected at most %d", h.entries, int64(MaxEntries))
	case h.entries == 0 || h.rows == 0 || h.cols == 0:
		return h, l.fail("no entries")
	case max(h.rows, h.cols) > sparsest(h.entries):
		// A few entries must not take all memory for rows without any.
		return h, l.fail("%d x %d with %d entries, expected fewer rows and columns without entries", h.rows, h.cols, h.entries)
	case h.symmetric && h.rows != h.cols:
		return h, l.fail("symmetric with %d x %d, expected a square matrix", h.rows, h.cols)
	}
	return h, nil
}

// sparsest is the most rows that a matrix of some entries may have.
func sparsest(entries int64) int64 { return 64*entries + 1<<20 }

// value reads a value of 32 bits.
func (l *lines) value(word []byte, kind Kind) (uint32, error) {
	if kind == Integer {
		v, ok := integer(word)
		if !ok || v < math.MinInt32 || v > math.MaxUint32 {
			return 0, l.fail("value %s, expected a whole number of 32 bits", shown(word))
		}
		return uint32(v), nil
	}
	if v, ok := integer(word); ok && v > -1<<24 && v < 1<<24 {
		return math.Float32bits(float32(v)), nil
	}
	v, err := strconv.ParseFloat(string(word), 32)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || bytes.ContainsAny(word, "xX_") {
		return 0, l.fail("value %s, expected a finite number", shown(word))
	}
	return math.Float32bits(float32(v)), nil
}

// weight refuses what is no weight of an edge, which is named as the line has it.
func (l *lines) weight(word []byte, v uint32, kind Kind, from, to int64) error {
	w := float64(math.Float32frombits(v))
	if kind == Integer {
		w = float64(int32(v))
	}
	switch {
	case w < 0 && kind == Integer && bytes.IndexByte(word, '-') < 0:
		return l.fail("weight %s on edge (%d, %d), expected 0 to %d", word, from, to, math.MaxInt32)
	case w < 0:
		return l.fail("weight %v on edge (%d, %d), expected 0 or more", w, from, to)
	}
	return nil
}

// readMarket reads a file in MatrixMarket's form.
func readMarket(l *lines, o Options) (*Matrix, Info, error) {
	info := Info{Format: "matrixmarket"}
	h, err := readHeader(l)
	if err != nil {
		return nil, info, err
	}
	if o.Undirected && h.rows != h.cols {
		return nil, info, l.fail("%d x %d, --undirected expects a square matrix", h.rows, h.cols)
	}
	columns := 2
	if h.kind != Pattern {
		columns = 3
	}
	e := entries{valued: h.kind != Pattern}
	var seen int64
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		first, rest := field(line)
		if len(first) == 0 || first[0] == '%' {
			continue
		}
		second, rest := field(rest)
		third, rest := field(rest)
		if got := words(second, third, rest); got != columns {
			return nil, info, l.fail("%d values, expected %d (%s)", got, columns, h.kind)
		}
		r, ok1 := integer(first)
		c, ok2 := integer(second)
		switch {
		case !ok1:
			return nil, info, l.fail("row %s, expected 1 to %d", shown(first), h.rows)
		case !ok2:
			return nil, info, l.fail("column %s, expected 1 to %d", shown(second), h.cols)
		case r < 1 || r > h.rows:
			return nil, info, l.fail("row %d, expected 1 to %d", r, h.rows)
		case c < 1 || c > h.cols:
			return nil, info, l.fail("column %d, expected 1 to %d", c, h.cols)
		case h.symmetric && c > r:
			return nil, info, l.fail("entry (%d, %d) above the diagonal of a symmetric matrix", r, c)
		case h.skew && c == r:
			return nil, info, l.fail("entry (%d, %d) on the diagonal of a skew-symmetric matrix", r, c)
		}
		if seen++; seen > h.entries {
			return nil, info, l.fail("more than the %d entries of the header", h.entries)
		}
		var v uint32
		if h.kind != Pattern {
			if v, err = l.value(third, h.kind); err != nil {
				return nil, info, err
			}
		}
		if o.Progress != nil && seen%chunk == 0 {
			o.Progress(seen)
		}
		if o.Weights && h.kind != Pattern {
			if err = l.weight(third, v, h.kind, r, c); err != nil {
				return nil, info, err
			}
		}
		if r == c && o.DropLoops {
			info.Loops++
			continue
		}
		e.add(uint32(r-1), uint32(c-1), v)
		if r != c && (h.symmetric || o.Undirected) {
			if h.skew {
				v = negate(v, h.kind)
				if o.Weights && h.kind != Pattern {
					if err = l.weight([]byte("-"), v, h.kind, c, r); err != nil {
						return nil, info, err
					}
				}
			}
			e.add(uint32(c-1), uint32(r-1), v)
			info.Mirrored++
		}
	}
	if l.err != nil {
		return nil, info, l.err
	}
	if seen < h.entries {
		return nil, info, l.fail("%d entries, the header says %d", seen, h.entries)
	}
	if e.n == 0 {
		return nil, info, l.fail("no entries")
	}
	info.Entries = seen
	how := o.Duplicates
	if how == DuplicatesDefault {
		how = DuplicatesError
		if o.Undirected && !h.symmetric {
			how = DuplicatesFirst // (1, 2) and (2, 1) are one edge
		}
	}
	m := e.matrix(int(h.rows), int(h.cols), h.kind)
	return m, info, finish(m, how, l.file, 1, &info)
}

func negate(v uint32, k Kind) uint32 {
	if k == Real {
		return v ^ 1<<31
	}
	return -v
}

// words counts the values of a line, of which the first is there.
func words(second, third, rest []byte) int {
	n := 1
	if len(second) > 0 {
		n++
	}
	if len(third) > 0 {
		n++
	}
	for {
		var w []byte
		if w, rest = field(rest); len(w) == 0 {
			return n
		}
		n++
	}
}

// finish combines duplicates.
func finish(m *Matrix, how Duplicates, file string, base int, info *Info) error {
	gone, row, col, twice := m.combine(how)
	if twice {
		return &duplicateError{file: file, row: row + base, col: col + base, edges: info.Format == "edges"}
	}
	info.Duplicates = gone
	return nil
}

// duplicateError tells that an entry is there twice, not yet where.
type duplicateError struct {
	file     string
	row, col int
	edges    bool // a list of edges, in which the column comes first
}

func (d *duplicateError) Error() string {
	return fmt.Sprintf("%s: entry (%d, %d) again; --duplicates combines", d.file, d.row, d.col)
}

// locate reads the file again up to the second of the entries.
func (d *duplicateError) locate(file string, o Options) error {
	f, err := os.Open(file)
	if err != nil {
		return d
	}
	defer f.Close()
	plain, err := unpack(f, file)
	if err != nil {
		return d
	}
	l := newLines(plain, file)
	if !d.edges {
		if _, err := readHeader(l); err != nil {
			return d
		}
	}
	var first int64
	for {
		line, ok := l.next()
		if !ok {
			return d
		}
		a, rest := field(line)
		b, _ := field(rest)
		r, ok1 := integer(a)
		c, ok2 := integer(b)
		if d.edges {
			r, c = c, r
		}
		same := int(r) == d.row && int(c) == d.col || o.Undirected && int(r) == d.col && int(c) == d.row
		if !ok1 || !ok2 || !same {
			continue
		}
		if first == 0 {
			first = l.line
			continue
		}
		return l.fail("entry (%d, %d) again, first on line %d; --duplicates combines", d.row, d.col, first)
	}
}

// readEdges reads a list of edges: from, to and, for all or none, a weight.
func readEdges(l *lines, o Options) (*Matrix, Info, error) {
	info := Info{Format: "edges"}
	base := int64(0)
	if o.OneBased {
		base = 1
	}
	e := entries{}
	columns := 0
	kind := Pattern
	var most, seen int64

	for {
		line, ok := l.next()
		if !ok {
			break
		}
		first, rest := field(line)
		if len(first) == 0 || first[0] == '#' || first[0] == '%' {
			continue
		}
		second, rest := field(rest)
		third, rest := field(rest)
		got := words(second, third, rest)
		u, ok1 := integer(first)
		v, ok2 := integer(second)
		if columns == 0 {
			if !ok1 || !ok2 && got > 1 || got < 2 || got > 3 || bytes.IndexByte(line, 0) >= 0 {
				return nil, info, l.fail("%s", notMatrix)
			}
			columns = got
			if columns == 3 {
				e.valued = true
				kind = Real
			}
		}
		switch {
		case got != columns:
			return nil, info, l.fail("%d values, expected %d as on the lines before", got, columns)
		case !ok1 || u < base:
			return nil, info, l.fail("vertex %s, expected %d to %d", shown(first), base, int64(MaxSize)-1+base)
		case !ok2 || v < base:
			return nil, info, l.fail("vertex %s, expected %d to %d", shown(second), base, int64(MaxSize)-1+base)
		case max(u, v)-base >= MaxSize:
			return nil, info, l.fail("%d rows, expected at most %d", max(u, v)-base+1, int64(MaxSize))
		}
		var w uint32
		if columns == 3 {
			var err error
			if w, err = l.value(third, Real); err != nil {
				return nil, info, err
			}
			if o.Weights {
				if err = l.weight(third, w, Real, u, v); err != nil {
					return nil, info, err
				}
			}
		}
		seen++
		if o.Progress != nil && seen%chunk == 0 {
			o.Progress(seen)
		}
		u, v = u-base, v-base
		most = max(most, u, v)
		if u == v && !o.KeepLoops {
			info.Loops++
			continue
		}
		e.add(uint32(v), uint32(u), w)
		if o.Undirected && u != v {
			e.add(uint32(u), uint32(v), w)
			info.Mirrored++
		}
	}
	switch {
	case l.err != nil:
		return nil, info, l.err
	case e.n == 0:
		l.line = max(l.line, 1)
		return nil, info, l.fail("no entries")
	}
	info.Entries = seen
	how := o.Duplicates
	if how == DuplicatesDefault {
		how = DuplicatesFirst
	}
	n := int(most + 1)
	if int64(n) > sparsest(e.n) {
		return nil, info, l.fail("%d rows with %d entries, expected vertices that are numbered without great gaps", n, e.n)
	}
	m := e.matrix(n, n, kind)
	return m, info, finish(m, how, l.file, int(base), &info)
}
