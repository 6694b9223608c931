package lowering

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// MaxLevels is the number of strides that a pattern may have: one for each
// dimension of an array (Infinity Stream, section 5.2: at most three).
const MaxLevels = 3

// MaxPattern bounds the numbers of a pattern: they fit 31 bits.
const MaxPattern = 1<<31 - 1

// Pattern is a set of bitlines of a tile, or of tiles, in the form of the paper,
// start[:stride:count]+ (Infinity Stream, section 4.2): the numbers start + i0 x
// stride0 + i1 x stride1 + ... with each i below its count. A start alone is one
// number.
//
// Each stride is greater than what the levels before it span, so that no number
// occurs twice and they are in order. Patterns that [Grid] or [ParsePattern] make
// are canonical: equal sets of their form are equal patterns. The zero value is
// the pattern of 0; a pattern is never empty.
type Pattern struct {
	start  int32
	levels int32
	level  [MaxLevels]level
}

type level struct{ stride, count int32 }

// push adds a level. Counts of 1 are left out, and a level that continues the one
// before it is merged with it.
func (p *Pattern) push(stride, count int32) {
	if count == 1 {
		return
	}
	if p.levels > 0 {
		if l := &p.level[p.levels-1]; stride == l.stride*l.count {
			l.count *= count
			return
		}
	}
	p.level[p.levels] = level{stride, count}
	p.levels++
}

// Consecutive is the pattern of n numbers from a first one on.
func Consecutive(first, n int) Pattern {
	p := Pattern{start: int32(first)}
	p.push(1, int32(n))
	return p
}

// linearPattern is a pattern whose start and counts are linear.
type linearPattern struct {
	start  linear
	levels int32
	level  [MaxLevels]linearLevel
}

type linearLevel struct {
	stride int64
	count  linear
}

// push adds a level, as that of Pattern.
func (p *linearPattern) push(c *course, stride int64, count linear) {
	if c.equal(count, fixed(1)) {
		return
	}
	if p.levels > 0 {
		if l := &p.level[p.levels-1]; c.equal(fixed(stride), l.count.times(l.stride)) {
			l.count = c.product(l.count, count)
			return
		}
	}
	p.level[p.levels] = linearLevel{stride, count}
	p.levels++
}

// pattern returns what the pattern is now.
func (p *linearPattern) pattern() Pattern {
	q := Pattern{start: int32(p.start.v), levels: p.levels}
	for i, l := range p.level[:p.levels] {
		q.level[i] = level{int32(l.stride), int32(l.count.v)}
	}
	return q
}

// len returns how many numbers there are.
func (p *linearPattern) len(c *course) linear {
	n := fixed(1)
	for _, l := range p.level[:p.levels] {
		n = c.product(n, l.count)
	}
	return n
}

// Len returns how many numbers there are.
func (p Pattern) Len() int {
	n := 1
	for _, l := range p.level[:p.levels] {
		n *= int(l.count)
	}
	return n
}

// Min returns the least number.
func (p Pattern) Min() int { return int(p.start) }

// Max returns the greatest number.
func (p Pattern) Max() int { return int(p.start) + p.span(p.levels) }

// span is the difference of the greatest and the least number of the first levels.
func (p *Pattern) span(levels int32) int {
	n := 0
	for _, l := range p.level[:levels] {
		n += int(l.stride) * int(l.count-1)
	}
	return n
}

// Shift returns the pattern with d added to every number; none may become
// negative.
func (p Pattern) Shift(d int) Pattern {
	p.start += int32(d)
	return p
}

// Next returns the least number that is not below x. ok is false if there is
// none.
func (p Pattern) Next(x int) (next int, ok bool) {
	if x <= int(p.start) {
		return int(p.start), true
	}
	r, ok := p.next(p.levels, x-int(p.start))
	return int(p.start) + r, ok
}

// next is Next for the first levels, from 0, and x above 0.
func (p *Pattern) next(levels int32, x int) (int, bool) {
	if levels == 0 {
		return 0, false
	}
	l := p.level[levels-1]
	i := min(x/int(l.stride), int(l.count-1))
	base := i * int(l.stride)
	switch {
	case x <= base:
		return base, true
	case x-base <= p.span(levels-1):
		r, ok := p.next(levels-1, x-base)
		return base + r, ok
	case i+1 < int(l.count):
		return base + int(l.stride), true
	}
	return 0, false
}

// Has reports whether x is one of the numbers.
func (p Pattern) Has(x int) bool {
	n, ok := p.Next(x)
	return ok && n == x
}

// Meets reports whether a number is in [lo, hi).
func (p Pattern) Meets(lo, hi int) bool {
	n, ok := p.Next(lo)
	return ok && n < hi
}

// All returns the numbers in ascending order.
func (p Pattern) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		var i [MaxLevels]int32
		x := int(p.start)
		for {
			if !yield(x) {
				return
			}
			k := int32(0)
			for ; k < p.levels; k++ {
				x += int(p.level[k].stride)
				if i[k]++; i[k] < p.level[k].count {
					break
				}
				x -= int(p.level[k].stride) * int(p.level[k].count)
				i[k] = 0
			}
			if k == p.levels {
				return
			}
		}
	}
}

// Mask sets the bits of mask whose numbers are in the pattern: bit b of word k
// stands for 64k+b. It is what the tensor controller of a bank makes of a pattern
// (Infinity Stream, section 5.2). Numbers beyond the mask are left out.
func (p Pattern) Mask(mask []uint64) {
	for x := range p.All() {
		if x >= 64*len(mask) {
			return
		}
		mask[x/64] |= 1 << (x % 64)
	}
}

// String returns the pattern as "1:2:2".
func (p Pattern) String() string {
	b := strconv.AppendInt(nil, int64(p.start), 10)
	for _, l := range p.level[:p.levels] {
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(l.stride), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(l.count), 10)
	}
	return string(b)
}

// ParsePattern reads what String writes. Other texts of the same form are
// accepted as well, and made canonical, if no number occurs twice.
func ParsePattern(s string) (Pattern, error) {
	var p Pattern
	fields := strings.Split(s, ":")
	if len(fields)%2 == 0 {
		return p, fmt.Errorf("lowering: pattern %q, expected a start and pairs of :stride:count", s)
	}
	var n [2]int64
	span := int64(0) // of all levels so far
	for i, f := range fields {
		v, err := strconv.ParseInt(f, 10, 32)
		switch {
		case err != nil || v < 0 || f[0] == '+' || f[0] == '-':
			return p, fmt.Errorf("lowering: %q in pattern %q, expected a number from 0 to %d", f, s, MaxPattern)
		case i == 0:
			p.start = int32(v)
			continue
		case v == 0:
			return p, fmt.Errorf("lowering: stride or count 0 in pattern %q, expected at least 1", s)
		}
		n[(i-1)%2] = v
		if i%2 == 1 {
			continue
		}
		stride, count := n[0], n[1]
		if count > 1 && stride <= span {
			return p, fmt.Errorf("lowering: stride %d in pattern %q, expected more than the %d that the levels before it span", stride, s, span)
		}
		if span += stride * (count - 1); int64(p.start)+span > MaxPattern {
			return p, fmt.Errorf("lowering: pattern %q goes beyond %d", s, MaxPattern)
		}
		if p.levels == MaxLevels && count > 1 {
			if l := p.level[MaxLevels-1]; stride != int64(l.stride)*int64(l.count) {
				return p, fmt.Errorf("lowering: pattern %q, expected at most %d levels", s, MaxLevels)
			}
		}
		p.push(int32(stride), int32(count))
	}
	return p, nil
}
