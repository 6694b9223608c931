package mem

// ipStride fetches the next lines of an instruction whose last two accesses were as
// far apart as the two before: that of the reference (data/timing/README.md, section
// 2), 1024 instructions, three lines, not across pages of 4 kB.
type ipStride struct {
	entries [1024]struct {
		pc     uint32
		valid  bool
		last   Line
		stride int64
	}
}

const (
	ipStrideDegree = 3
	smallPageLines = 4096 / LineBytes
)

// Observe implements Prefetcher.
func (s *ipStride) Observe(pc uint32, line Line, _, write bool, lines []Line) []Line {
	if write {
		return lines // the reference learns from loads only
	}
	e := &s.entries[pc%uint32(len(s.entries))]
	if !e.valid || e.pc != pc {
		e.pc, e.valid, e.last, e.stride = pc, true, line, 0
		return lines
	}
	stride := int64(line - e.last)
	if stride != 0 && stride == e.stride {
		for k := int64(1); k <= ipStrideDegree; k++ {
			next := line + Line(k*stride)
			if next/smallPageLines != line/smallPageLines {
				break
			}
			lines = append(lines, next)
		}
	}
	e.stride, e.last = stride, line
	return lines
}
