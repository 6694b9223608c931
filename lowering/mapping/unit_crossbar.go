package mapping

// cells returns the cells that an element takes on a wordline.
func (q *Problem) cells(bits int64) int64 { return ceilDiv(bits, int64(q.Platform.Crossbar.CellBits)) }

// mvmCycles returns the cycles of a product of the matrix with a vector.
func (q *Problem) mvmCycles(bits int64) int64 {
	c := q.Platform.Crossbar
	return int64(c.StageCycles) * (ceilDiv(bits, int64(c.DACBits)) + int64(c.PipelineDepth) - 1)
}

func (q *Problem) priceCrossbar(s *shape, p *price) Violation {
	c := q.Platform.Crossbar
	rows, cols := int64(1), int64(1)
	for d := range s.f.dims {
		if s.f.rowDims[d] {
			rows *= s.size[d]
		}
		if s.f.colDims[d] {
			cols *= s.size[d]
		}
	}
	cols *= q.cells(q.tensors[s.m.Tensor(Src1)].bits)
	if rows > int64(c.Rows) {
		return BadRows
	}
	if cols > int64(c.Cols) {
		return BadColumns
	}
	vector := &q.tensors[s.m.Tensor(Src2)]
	in := bytesOf(vector.elements(&s.tileUnit), vector.bits)
	if s.m.Double {
		in *= 2
	}
	out := q.tensors[Dst].elements(&s.tileUnit)
	if in+bytesOf(out, int64(q.accBits)) > int64(c.RegisterBytes) {
		return BadRows
	}
	p.columns = cols
	p.unit[Compute] = q.mvmCycles(vector.bits)
	p.write[Src1] = int64(c.ProgramCycles)
	q.priceStreamed(s, p, out)
	return Legal
}

// priceStreamed prices sums over units that are added where they arrive, at the head
// of each level's link.
func (q *Problem) priceStreamed(s *shape, p *price, out int64) {
	groups := int64(1)
	for i := range q.levels {
		groups *= s.spatial[i] / s.reduce[i]
		if n := s.reduce[i]; n > 1 {
			b := bytesOf(out, int64(q.accBits)) * groups * (n - 1)
			link := ceilDiv(b*1000, q.milli[i])
			p.summing += link
			p.finish[Reduce] += link + q.latency[i]
		}
	}
}
