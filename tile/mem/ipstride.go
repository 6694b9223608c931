package mem

// ipStride fetches the next lines of an instruction whose last two accesses were as
// far apart as the two before: that of the reference (data/timing/README.md, section
// 2, and prefetcher/ip_stride of ChampSim), 1024 instructions, three lines, not across
// pages of 4 kB. One line a cycle; the next such access takes the place of what is left
// of the last one.
type ipStride struct {
	from   Line // the last line that was handed out, or the access
	stride int64
	left   int // lines
	pc     uint32

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
		s.from, s.stride, s.left, s.pc = line, stride, ipStrideDegree, pc
	}
	e.stride, e.last = stride, line
	return lines
}

// Next implements Paced.
func (s *ipStride) Next() (line Line, pc uint32, ok bool) {
	next := s.from + Line(s.stride)
	if s.left == 0 || next/smallPageLines != s.from/smallPageLines {
		s.left = 0
		return 0, 0, false
	}
	s.from = next
	s.left--
	return next, s.pc, true
}
