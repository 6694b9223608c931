package mem

// Reserve leaves a bank so many of its ways for lines, and takes the others from it: those of
// their lines that were written go to memory, as Pending says, the others vanish. It
// returns how many lines that were. With all of its ways the bank has them back, empty.
func (h *Home) Reserve(ways int) (flushed int) {
	a := h.l3
	from := min(ways, a.limit)
	a.limit = ways
	// Way by way: the lines of one way that follow each other were filled so, and lie in one row of a
	// DRAM bank, where those of one set lie in as many rows as it has ways.
	for way := from; way < a.assoc; way++ {
		for j := way; j < len(a.ways); j += a.assoc {
			w := a.ways[j]
			if w == empty {
				continue
			}
			flushed++
			if w.dirty() {
				h.leave(j)
			}
			a.drop(j)
		}
	}
	return flushed
}

// leave sends a written line of the bank to memory.
func (h *Home) leave(j int) {
	w := h.l3.ways[j]
	h.Counters.WrittenBack++
	// A write that has not arrived yet could be overtaken: the next one waits.
	if l := h.leaving[w.line()]; l != nil {
		l.data, l.again = h.l3.data[j], true
		return
	}
	h.leaving[w.line()] = &leaving{data: h.l3.data[j]}
	h.write(w.line())
}

// Sets is how many sets a bank has.
func (h *Home) Sets() int { return int(h.l3.sets) }
