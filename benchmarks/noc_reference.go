package benchmarks

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NoCReference is a latency that another simulator of a mesh measured.
type NoCReference struct {
	Traffic string
	Flits   int     // of a packet
	Load    float64 // flits per node and cycle
	Latency float64 // cycles, mean
	Hops    float64 // routers passed, mean
}

// nocColumns are the columns that such a file has, in any order and among others.
var nocColumns = []string{"traffic", "packet_flits", "injected_flits_per_node_per_cycle", "avg_packet_latency_cycles", "avg_hops"}

// maxReference is the most bytes that such a file may have.
const maxReference = 1 << 18

// ReadNoCReference reads measurements from a CSV file with a line of column names.
// What is wrong with the text is a [*SyntaxError].
func ReadNoCReference(name string, r io.Reader) ([]NoCReference, error) {
	fail := func(line, col int, format string, args ...any) error {
		return &SyntaxError{File: name, Line: line, Col: col, Msg: fmt.Sprintf(format, args...)}
	}
	text, err := io.ReadAll(io.LimitReader(r, maxReference+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > maxReference:
		return nil, fail(1, 1, "more than %d bytes, expected at most so many", maxReference)
	}
	c := csv.NewReader(bytes.NewReader(text))
	c.FieldsPerRecord = -1
	c.ReuseRecord = true
	header, err := c.Read()
	switch {
	case err == io.EOF:
		return nil, fail(1, 1, "empty file, expected the columns %s", strings.Join(nocColumns, ","))
	case err != nil:
		return nil, csvError(name, err)
	}
	header = slices.Clone(header)
	at := make([]int, len(nocColumns))
	for i, name := range nocColumns {
		at[i] = slices.Index(header, name)
		if at[i] < 0 {
			return nil, fail(1, 1, "columns %.80q without %s, expected %s", strings.Join(header, ","), name, strings.Join(nocColumns, ","))
		}
		if slices.Contains(header[at[i]+1:], name) {
			return nil, fail(1, 1, "column %s twice, expected it once", name)
		}
	}
	var points []NoCReference
	for {
		row, err := c.Read()
		if err == io.EOF {
			return points, nil
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		line, _ := c.FieldPos(0)
		if len(row) != len(header) {
			return nil, fail(line, 1, "%d fields, expected %d", len(row), len(header))
		}
		var v [5]float64
		for i := 1; i < len(nocColumns); i++ {
			v[i], err = strconv.ParseFloat(row[at[i]], 64)
			if err != nil || !(v[i] > 0) || math.IsInf(v[i], 0) || i == 1 && (v[i] != math.Trunc(v[i]) || v[i] > math.MaxInt32) {
				line, column := c.FieldPos(at[i])
				return nil, fail(line, column, "%s %q, expected a positive number", nocColumns[i], row[at[i]])
			}
		}
		p := NoCReference{strings.Clone(row[at[0]]), int(v[1]), v[2], v[3], v[4]}
		if i := slices.IndexFunc(points, func(o NoCReference) bool { return o.Traffic == p.Traffic && o.Flits == p.Flits && o.Load == p.Load }); i >= 0 {
			return nil, fail(line, 1, "%s traffic of %d flits at load %g a second time, expected it once", p.Traffic, p.Flits, p.Load)
		}
		points = append(points, p)
	}
}

func csvError(name string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return &SyntaxError{File: name, Line: p.Line, Col: p.Column, Msg: fmt.Sprintf("%v, expected CSV", p.Err)}
	}
	return fmt.Errorf("%s: %w", name, err)
}
