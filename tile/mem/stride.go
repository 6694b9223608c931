package mem

// StrideSpec is a prefetcher that follows streams of misses, as the authors'
// simulator has it at the L2 (spec of gem-forge: 16 streams, trained by 5 misses, 16
// lines ahead, across pages; papers 000 and 004: "16 streams x 16").
type StrideSpec struct {
	Streams int
	Train   int // misses at one stride until it fetches
	Ahead   int // lines
	Window  int // a miss belongs to the stream whose last one is at most so many lines away
}

// DefaultStride is that of the papers.
func DefaultStride() StrideSpec { return StrideSpec{Streams: 16, Train: 5, Ahead: 16, Window: 64} }

type stride struct {
	spec    StrideSpec
	streams []strideStream
	time    uint64
}

type strideStream struct {
	last   Line
	stride int64
	seen   int
	ahead  Line // the line that was fetched last
	used   uint64
}

func newStride(spec StrideSpec) *stride {
	return &stride{spec: spec, streams: make([]strideStream, 0, spec.Streams)}
}

// Observe implements Prefetcher.
func (s *stride) Observe(_ uint32, line Line, _, _ bool, lines []Line) []Line {
	s.time++
	best := -1
	for i := range s.streams {
		t := &s.streams[i]
		d := int64(line - t.last)
		if d == 0 {
			t.used = s.time
			return lines
		}
		near := d
		if near < 0 {
			near = -near
		}
		if near > int64(s.spec.Window) {
			continue
		}
		// A stream that goes on wins over one that is near.
		if d == t.stride {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		if len(s.streams) < s.spec.Streams {
			s.streams = append(s.streams, strideStream{last: line, used: s.time})
			return lines
		}
		oldest := 0
		for i := range s.streams {
			if s.streams[i].used < s.streams[oldest].used {
				oldest = i
			}
		}
		s.streams[oldest] = strideStream{last: line, used: s.time}
		return lines
	}
	t := &s.streams[best]
	d := int64(line - t.last)
	if d == t.stride {
		t.seen++
	} else {
		t.stride, t.seen, t.ahead = d, 1, line
	}
	t.last, t.used = line, s.time
	if t.seen < s.spec.Train {
		t.ahead = line
		return lines
	}
	// Fetch up to the distance ahead of this access, from where it stopped.
	target := line + Line(int64(s.spec.Ahead)*t.stride)
	next := t.ahead
	if steps := int64(target-next) / t.stride; steps < 0 || steps > int64(s.spec.Ahead) {
		next = line
	}
	for next != target {
		next += Line(t.stride)
		lines = append(lines, next)
	}
	t.ahead = target
	return lines
}
