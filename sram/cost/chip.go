package cost

import (
	"fmt"
	"math"
	"strings"
)

// ChipCounts is what a run takes on a chip of many arrays. Rows are of one array; those
// that are loaded, stored or go through H-trees are rows' worth of bits.
type ChipCounts struct {
	Programs Kinds   // instructions of programs and constants, of all arrays
	Within   int     // rows read and written by moves within arrays
	Sent     int     // rows read by moves between arrays
	Received int     // rows written by them
	Loaded   int     // rows that come in from memory, transposed
	Stored   int     // rows that go back
	Tree     float64 // rows through H-trees
	ByteHops float64 // bytes between banks times links
	Lines    float64 // of [LineBytes], from and to DRAM
	Near     float64 // operations near the memory

	Arrays      int // that hold data
	Rows, Cols  int // of an array
	Nanoseconds float64
}

// ChipEnergy is the energy of a run by one table.
type ChipEnergy struct {
	Table       string       `json:"table"`
	Unit        string       `json:"unit"` // pJ, or that energies are in units of: compute, access; "" = the table has none
	Lines       []EnergyLine `json:"lines"`
	Total       *float64     `json:"total"`    // of the lines that are known; nil = none is
	Includes    []string     `json:"includes"` // lines in the total
	LeftOut     []string     `json:"left_out"` // lines that happened and are not in it
	Unconfirmed []string     `json:"unconfirmed"`
	Note        string       `json:"note,omitempty"`
}

// EnergyLine is one line; a nil energy is unknown.
type EnergyLine struct {
	Name   string   `json:"name"`
	Count  float64  `json:"count"`
	Of     string   `json:"of"` // what is counted
	Energy *float64 `json:"energy"`
	How    string   `json:"how"` // the values it was made of, or what is missing
}

// Chip applies the table to the counts of a chip. Instructions are as [KindsNote] says
// it, and a move within an array is one. What the table has no value for is unknown,
// unless there is none of it.
func (t *Table) Chip(c ChipCounts) *ChipEnergy {
	e := &ChipEnergy{Table: t.Name, Unit: t.unit(".energy"), Includes: []string{}, LeftOut: []string{}}
	u := &user{table: t, b: &Breakdown{Unconfirmed: []string{}}}
	e.Lines = []EnergyLine{
		u.instructions("programs", "row operations", c.Programs),
		u.instructions("within tiles", "rows read and written", Kinds{Moves: c.Within}),
		u.instructions("between tiles", "rows read or written", Kinds{LatchReads: c.Sent, Writes: c.Received}),
		u.instructions("load and store", "rows written or read", Kinds{LatchReads: c.Stored, Writes: c.Loaded}),
		u.one("transposition", "rows in and out", float64(c.Loaded+c.Stored), "transpose"),
		u.one("H-tree", "rows between tiles", c.Tree, "htree"),
		u.one("network", "bytes x links", c.ByteHops, "noc"),
		u.one("DRAM", ofLines, c.Lines, "dram"),
		u.leaks("leakage", "arrays x ns", float64(c.Arrays)*c.Nanoseconds, "leakage.power", e.Unit),
		u.one("near memory", "operations", c.Near, "near"),
	}
	e.sum(u)
	if t.Array != nil && (t.Array.Rows != c.Rows || t.Array.Cols != c.Cols) {
		e.Note = fmt.Sprintf("the values are for arrays of %d x %d, these have %d x %d: not scaled", t.Array.Rows, t.Array.Cols, c.Rows, c.Cols)
	}
	return e
}

// CoreCounts are what a run on cores takes energy for.
type CoreCounts struct {
	MicroOps float64
	Adds     float64 // of lanes of 32 bits, and other cheap operations
	Products float64 // of the same, and quotients
	L1       float64 // words of 64 bits
	L2       float64 // accesses
	L3       float64 // lines read or written in banks
	RowBytes int     // of a row of an array of the L3
	ByteHops float64
	Lines    float64 // from and to DRAM
	Near     float64 // operations of streams beside the banks

	Cores          int     // that leak, idle ones too
	Private, Banks float64 // arrays that L1 and L2, and the L3, are made of
	Nanoseconds    float64
}

// Cores applies the table to the counts of a run on cores. What the table has no value
// for is unknown, unless there is none of it.
func (t *Table) Cores(c CoreCounts) *ChipEnergy {
	e := &ChipEnergy{Table: t.Name, Unit: t.unit(".energy"), Includes: []string{}, LeftOut: []string{}}
	u := &user{table: t, b: &Breakdown{Unconfirmed: []string{}}}
	rows := math.Ceil(LineBytes / float64(max(1, c.RowBytes)))
	e.Lines = []EnergyLine{
		u.one("cores", "micro-ops", c.MicroOps, "core"),
		u.one("lanes, sums", "operations of 32 bits", c.Adds, "lane-add"),
		u.one("lanes, products", "operations of 32 bits", c.Products, "lane-multiply"),
		u.one("L1", "words of 64 bits", c.L1, "l1"),
		u.one("L2", "accesses", c.L2, "l2"),
		u.instructions("L3", "rows of arrays read", Kinds{LatchReads: int(c.L3 * rows)}),
		u.one("network", "bytes x links", c.ByteHops, "noc"),
		u.one("DRAM", ofLines, c.Lines, "dram"),
		u.one("streams at the L3", "operations", c.Near, "near"),
		u.leaks(LeakageOfCores, "cores x ns", float64(c.Cores)*c.Nanoseconds, "core.power", e.Unit),
		u.leaks("leakage of L1, L2", "arrays x ns", c.Private*c.Nanoseconds, "leakage.power", e.Unit),
		u.leaks("leakage of the L3", "arrays x ns", c.Banks*c.Nanoseconds, "leakage.power", e.Unit),
	}
	e.sum(u)
	return e
}

// LeakageOfCores is the name of its line.
const LeakageOfCores = "leakage of cores"

// sum adds up what is known.
func (e *ChipEnergy) sum(u *user) {
	total := 0.0
	for i := range e.Lines {
		l := &e.Lines[i]
		switch {
		case l.Count == 0:
			l.Energy, l.How = new(float64), "none"
		case l.Energy == nil:
			e.LeftOut = append(e.LeftOut, l.Name)
		default:
			e.Includes = append(e.Includes, l.Name)
			total += *l.Energy
		}
	}
	if len(e.Includes) > 0 || len(e.LeftOut) == 0 {
		e.Total = &total
	}
	e.Unconfirmed = u.b.Unconfirmed
}

// instructions is a line for instructions of several kinds.
func (u *user) instructions(name, of string, n Kinds) EnergyLine {
	l := EnergyLine{Name: name, Of: of}
	total := 0.0
	known := true
	var values []string // in order, and how many instructions have each
	counts := map[string]float64{}
	for _, k := range u.kindLines(&n) {
		if k.Count == 0 {
			continue
		}
		l.Count += k.Count
		value, _, _ := strings.Cut(k.How, ", ")
		if counts[value] == 0 {
			values = append(values, value)
		}
		counts[value] += k.Count
		if k.Energy == nil {
			known = false
		} else {
			total += *k.Energy
		}
	}
	l.How = strings.Join(values, "")
	if len(values) > 1 {
		for i, v := range values {
			values[i] = fmt.Sprintf("%.0f %s", counts[v], v)
		}
		l.How = strings.Join(values, ", ")
	}
	if known {
		l.Energy = &total
	}
	return l
}

// one is a line of one operation. A value that is included in another one is unknown:
// a chip does not copy rows as [Counts] has it.
func (u *user) one(name, of string, count float64, op string) EnergyLine {
	l := EnergyLine{Name: name, Count: count, Of: of}
	if count == 0 {
		return l
	}
	x, how, ok := u.each(op, ".energy")
	if v := u.table.Get(op + ".energy"); v != nil && v.Included != "" {
		ok = false
	}
	l.How = how
	if ok {
		x *= count
		l.Energy = &x
	}
	return l
}

// leaks is a line of a power over a time.
func (u *user) leaks(name, of string, count float64, what, unit string) EnergyLine {
	l := EnergyLine{Name: name, Count: count, Of: of}
	if l.Count == 0 {
		return l
	}
	v := u.get(what)
	switch {
	case v == nil || v.Value == nil:
		l.How = "no " + what
	case unit != "pJ":
		l.How = "no energy in pJ"
	default:
		x := *v.Value * l.Count // mW x ns = pJ
		l.Energy, l.How = &x, v.What
	}
	return l
}
