package cost

import (
	"slices"

	"github.com/bitsched/bitsched/sram"
)

// Kinds counts the instructions of a kernel by what they do to rows. All take
// one cycle.
type Kinds struct {
	Computes   int `json:"computes" stat:"instructions::computes" desc:"instructions of arrays that activate several rows and write one"` // activate several rows and write one
	Moves      int `json:"moves" stat:"instructions::moves" desc:"instructions of arrays that read one row and write one"`                // read one row and write one
	Writes     int `json:"writes" stat:"instructions::writes" desc:"instructions of arrays that write one row"`                           // read no row and write one
	LatchReads int `json:"latch_reads" stat:"instructions::latchReads" desc:"instructions of arrays that read one row"`                   // read one row, set a latch
	Latches    int `json:"latches" stat:"instructions::latches" desc:"instructions of arrays that activate several rows and write none"`  // activate several rows, set a latch
	LatchOnly  int `json:"latches_only" stat:"instructions::latchOnly" desc:"instructions of arrays that touch no row"`                   // touch no row
}

// kindsOf counts a kernel. Rows are those that are different, and a constant is a
// row where the technology reserves rows for constants.
func kindsOf(k *sram.Kernel) *Kinds {
	n := &Kinds{}
	for i := range k.Instrs {
		writes := k.Tech.Ops[k.Instrs[i].Op].Writes
		switch rows := k.Activated(i); {
		case writes && rows > 1:
			n.Computes++
		case writes && rows == 1:
			n.Moves++
		case writes:
			n.Writes++
		case rows > 1:
			n.Latches++
		case rows == 1:
			n.LatchReads++
		default:
			n.LatchOnly++
		}
	}
	return n
}

// OfKernel counts a valid kernel on one array of cols bitlines. Its instructions
// are of kinds where the technology has such.
func OfKernel(k *sram.Kernel, cols int) Counts {
	c := Counts{Computes: k.Cycles(), Arrays: 1, Rows: k.Rows, Cols: cols}
	if slices.ContainsFunc(k.Tech.Ops, func(op sram.MicroInfo) bool { return op.Class != sram.ClassCompute }) {
		c.Kinds = kindsOf(k)
	}
	for _, p := range k.Inputs {
		c.InputRows += p.Width
	}
	for _, p := range k.Outputs {
		c.OutputRows += p.Width
	}
	return c
}

// KindsNote says how the energies of kinds of instructions are found.
const KindsNote = "an instruction that reads one row or writes one, and not both, is an access where the table has that; " +
	"one that reads a row and writes one in a cycle, or activates rows and writes none, has no figure in any source at hand " +
	"and counts as a compute, which is the most it can be (reading and writing a row: as a read and a write where the table has no compute)"

// kindLines are the lines of the instructions of a kernel, as [KindsNote] says it.
// Every instruction takes the time of a compute, which is the cycle.
func (u *user) kindLines(n *Kinds) []Line {
	var lines []Line
	add := func(name string, count int, of string, ops ...string) {
		if count == 0 && name != "compute" {
			return
		}
		if count == 0 {
			lines = append(lines, u.line(name, 0, of, "compute"))
			return
		}
		op, most := "compute", name != "compute"
		for _, o := range ops {
			if v := u.table.Get(o + ".energy"); v != nil && v.Value != nil {
				op, most = o, false
				break
			}
		}
		if name == "move" && u.table.Get("compute.energy") == nil {
			op, most = "move", false
		}
		l := Line{Name: name, Count: float64(count), Of: of}
		energy, how, ok := u.each(op, ".energy")
		if ok {
			energy *= float64(count)
			l.Energy = &energy
			if most {
				how = "at most " + how
			}
		}
		time, cycle, ok := u.each("compute", ".time")
		if ok {
			time *= float64(count)
			l.Time = &time
		}
		l.How = how + ", " + cycle
		lines = append(lines, l)
	}
	add("compute", n.Computes, "row operations")
	add("move", n.Moves, "rows read and written")
	add("write", n.Writes, "rows written from a latch", "write", "access")
	add("load latch", n.LatchReads, "rows read into a latch", "read", "access")
	add("set latch", n.Latches, "row operations, none written")
	add("latch", n.LatchOnly, "cycles of a latch")
	return lines
}
