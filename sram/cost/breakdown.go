package cost

import (
	"fmt"
	"math"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// Counts is what a program does in one load of the arrays, whatever technology
// it is for.
type Counts struct {
	Computes   int `json:"computes"`    // row operations that compute
	Copies     int `json:"copies"`      // rows copied to another array
	InputRows  int `json:"input_rows"`  // rows that the host writes before
	OutputRows int `json:"output_rows"` // rows that the host reads afterwards
	Arrays     int `json:"arrays"`      // in use
	Rows       int `json:"rows"`        // of an array
	Cols       int `json:"cols"`        // bitlines of an array

	Kinds *Kinds `json:"kinds,omitempty"` // of the computes of a kernel; nil = all are alike
}

// Of counts a valid program. Outputs that are constants are no row, and a row
// that several outputs share is read once.
func Of(p *sram.Program) Counts {
	c := Counts{
		Copies: p.Copies(), InputRows: len(p.Inputs), Arrays: p.ArraysUsed(),
		Rows: p.Geometry.Rows, Cols: p.Geometry.Cols,
	}
	c.Computes = len(p.Instrs) - c.Copies
	seen := sram.NewRowTable(p.Geometry)
	for _, o := range p.Outputs {
		if o.Operand.IsConst() || seen.Get(o.Array, o.Operand.Row()) != 0 {
			continue
		}
		seen.Set(o.Array, o.Operand.Row(), 1)
		c.OutputRows++
	}
	return c
}

// Breakdown is what one load of the arrays costs by one table.
type Breakdown struct {
	Table  string `json:"table"`
	Counts Counts `json:"counts"`
	Lines  []Line `json:"lines"`
	Total  Line   `json:"total"`

	Area     *float64 `json:"area_um2"` // of the arrays in use, um2; nil = unknown
	AreaNote string   `json:"area_note,omitempty"`

	EnergyUnit  string   `json:"energy_unit"` // pJ, or that an energy is in units of: compute, access; "" = the table has none
	TimeUnit    string   `json:"time_unit"`   // ns or cycle; "" = the table has none
	LeftOut     []string `json:"left_out"`    // lines whose energy is not in the total
	TimeLeftOut []string `json:"time_left_out"`
	Unconfirmed []string `json:"unconfirmed"` // quantities used whose values were not confirmed
	Note        string   `json:"note,omitempty"`

	instructions int // how many of the lines are of instructions, the first ones
}

// Instructions returns the energy of the instructions of a program, copies and
// all else apart; nil if one of them is unknown.
func (b *Breakdown) Instructions() *float64 {
	sum := 0.0
	for _, l := range b.Lines[:b.instructions] {
		if l.Energy == nil {
			return nil
		}
		sum += *l.Energy
	}
	return &sum
}

// Line is one line of a breakdown; a nil energy or time is unknown.
type Line struct {
	Name   string   `json:"name"`
	Count  float64  `json:"count"`
	Of     string   `json:"of"` // what is counted
	Energy *float64 `json:"energy"`
	Time   *float64 `json:"time"`
	How    string   `json:"how"` // the values it was made of, or what is missing
}

// Breakdown applies the table to counts. Copies, transposition, movement on the
// H-tree and host copies add up; leakage is that of the arrays in use over the
// time of computes and copies and of what else has a known time.
func (t *Table) Breakdown(c Counts) *Breakdown {
	b := &Breakdown{
		Table: t.Name, Counts: c, EnergyUnit: t.unit(".energy"), TimeUnit: t.unit(".time"),
		LeftOut: []string{}, TimeLeftOut: []string{}, Unconfirmed: []string{},
	}
	rows := float64(c.InputRows + c.OutputRows)
	hostLines := math.Ceil(rows * float64(c.Cols) / (8 * LineBytes))
	u := &user{table: t, b: b}
	if c.Kinds != nil {
		b.Lines = u.kindLines(c.Kinds)
	} else {
		b.Lines = []Line{u.line("compute", float64(c.Computes), "row operations", "compute")}
	}
	b.instructions = len(b.Lines)
	b.Lines = append(b.Lines,
		u.line("copy", float64(c.Copies), "rows", "copy"),
		Line{}, // leakage, which needs the times of all others
		u.line("transposition", rows, "rows in and out", "transpose"),
		u.line("H-tree", float64(c.Copies), "rows between arrays", "htree"),
		u.line("host copies", hostLines, ofLines, "host"),
	)
	b.Lines[b.instructions+1] = u.leakage()
	b.total()
	b.area(u)
	if t.Array != nil && (t.Array.Rows != c.Rows || t.Array.Cols != c.Cols) {
		b.Note = fmt.Sprintf("the values are for arrays of %d x %d, these have %d x %d: not scaled", t.Array.Rows, t.Array.Cols, c.Rows, c.Cols)
	}
	return b
}

// user looks values up and notes those used that are not confirmed.
type user struct {
	table *Table
	b     *Breakdown
}

func (u *user) get(what string) *Value {
	v := u.table.Get(what)
	if v != nil && !*v.Confirmed {
		for _, w := range u.b.Unconfirmed {
			if w == what {
				return v
			}
		}
		u.b.Unconfirmed = append(u.b.Unconfirmed, what)
	}
	return v
}

// each returns the cost of one of an operation and how it is made up. A copy, and
// a move within an array, is a read and a write where the table has no value of
// its own; no table has one of a move.
func (u *user) each(op, kind string) (x float64, how string, ok bool) {
	if v := u.get(op + kind); v != nil {
		if v.Included != "" {
			return 0, v.What + " " + v.Figure(), true
		}
		return *v.Value, v.What, true
	}
	if op != "copy" && op != "move" {
		return 0, "no " + op + kind, false
	}
	var parts []string
	for _, half := range []string{"read", "write"} {
		v := u.get(half + kind)
		if v == nil {
			v = u.get("access" + kind)
		}
		if v == nil || v.Value == nil {
			return 0, fmt.Sprintf("no %s%s, and no %s%s", op, kind, half, kind), false
		}
		x += *v.Value
		parts = append(parts, v.What)
	}
	return x, strings.Join(parts, " + "), true
}

func (u *user) line(name string, count float64, of, op string) Line {
	l := Line{Name: name, Count: count, Of: of}
	if count == 0 {
		l.Energy, l.Time, l.How = new(float64), new(float64), "none"
		return l
	}
	var how []string
	add := func(kind string) *float64 {
		x, h, ok := u.each(op, kind)
		how = append(how, h)
		if !ok {
			return nil
		}
		x *= count
		return &x
	}
	l.Energy, l.Time = add(".energy"), add(".time")
	l.How = strings.Join(how, ", ")
	return l
}

func (u *user) leakage() Line {
	l := Line{Name: "leakage", Count: float64(u.b.Counts.Arrays), Of: "arrays", Time: new(float64)}
	time := 0.0
	for i, x := range u.b.Lines {
		switch {
		case x.Name == "":
		case x.Time != nil:
			time += *x.Time
		case i <= u.b.instructions: // of the program, not of the host
			l.How = "no time of " + x.Name
			return l
		}
	}
	v := u.get("leakage.power")
	switch {
	case v == nil || v.Value == nil:
		l.How = "no leakage.power"
	case time == 0:
		l.Energy, l.How = new(float64), "no time passes"
	case u.b.TimeUnit != "ns" || u.b.EnergyUnit != "pJ":
		l.How = "no time in ns and energy in pJ"
	default:
		e := *v.Value * l.Count * time // mW x ns = pJ
		l.Energy, l.How = &e, "leakage.power x time"
	}
	return l
}

func (b *Breakdown) total() {
	energy, time := 0.0, 0.0
	knownEnergy, knownTime := false, false
	for _, l := range b.Lines {
		if l.Energy == nil {
			b.LeftOut = append(b.LeftOut, l.Name)
		} else {
			energy += *l.Energy
			knownEnergy = knownEnergy || l.Count > 0
		}
		if l.Time == nil {
			b.TimeLeftOut = append(b.TimeLeftOut, l.Name)
		} else {
			time += *l.Time
			knownTime = knownTime || l.Name != "leakage" && l.Count > 0
		}
	}
	b.Total = Line{Name: "total", Of: "loads of the arrays", Count: 1}
	// A total of nothing that is known is itself unknown.
	if knownEnergy || len(b.LeftOut) == 0 {
		b.Total.Energy = &energy
	}
	if knownTime || len(b.TimeLeftOut) == 0 {
		b.Total.Time = &time
	}
	if len(b.LeftOut) > 0 {
		b.Total.How = "without " + strings.Join(b.LeftOut, ", ")
	}
}

func (b *Breakdown) area(u *user) {
	v := u.get("array.area")
	if v == nil || v.Value == nil {
		b.AreaNote = "no array.area"
		return
	}
	area := *v.Value * float64(b.Counts.Arrays)
	if v.Unit == "mm2" {
		area *= 1e6
	}
	b.AreaNote = "array.area x arrays"
	if o := u.get("array.overhead"); o != nil && o.Value != nil {
		area *= 1 + *o.Value/100
		b.AreaNote += " + array.overhead"
	} else {
		b.AreaNote += ", without compute logic (no array.overhead)"
	}
	b.Area = &area
}
