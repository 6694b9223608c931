package lowering

import (
	"maps"
	"slices"
)

// Template is the commands of a region that a loop of the host executes again and again
// with other values of the symbols, which change by the same from one time to the next.
// Then most commands stay as they are, and of the others a few numbers change, each by
// the same: where the bitlines or tiles begin, how many they are, or how far they go.
// So the commands of the next time are those of this time with these numbers patched,
// which takes much less than [Plan.Lower] does.
//
// That holds as long as lowering would decide the same everywhere: which tiles a tensor
// begins and ends in, which parts of it are empty, which levels of a pattern are one. A
// template knows for each step of the plan how long it does, and makes the commands of a
// step anew where it does not. Which banks a command goes to it knows too.
type Template struct {
	// Commands are those of the values that the template is at. Patch changes them.
	Commands []Command

	lower   *lowerer
	course  course // of all segments
	made    []segment
	spare   []Command // those before the last time that steps were lowered anew
	numbers []number  // of all segments
	banks   course    // of all commands that move
	symbols []symbol
	at      int64 // steps of the symbols from where it was made
	perBank int64
}

// segment is what a step of the plan gives.
type segment struct {
	start, end    int // in Commands
	patches       []patch
	moving        []moving
	course        course
	before, after []Register // that shifts are under way to
}

// symbol is one that commands depend on, with its value where the template was made and
// its change in a step.
type symbol struct {
	name       string
	base, step int64
}

// patch is a number of a command that changes.
type patch struct {
	command int32 // of its segment
	field   field
	slope   int32
}

// number is one that changes, in its command.
type number struct {
	at    *int32
	slope int32
}

// moving is a command whose tiles change, and for how long its banks stay.
type moving struct {
	command int32
	tiles   linearPattern // at the step at which it was made
	base    int64
	course  course
}

// field is a number of a command.
type field uint8

const (
	bitlineStart field = iota
	bitlineCount0
	bitlineCount1
	bitlineCount2
	tileStart
	tileCount0
	tileCount1
	tileCount2
	bitlineDist
	tileDist
	copies
)

func (c *Command) field(f field) *int32 {
	switch {
	case f == bitlineStart:
		return &c.Bitlines.start
	case f == tileStart:
		return &c.Tiles.start
	case f <= bitlineCount2:
		return &c.Bitlines.level[f-bitlineCount0].count
	case f <= tileCount2:
		return &c.Tiles.level[f-tileCount0].count
	case f == bitlineDist:
		return &c.BitlineDist
	case f == tileDist:
		return &c.TileDist
	}
	return &c.Copies
}

// Template lowers the plan for a grid and values of the symbols, as Lower does, and
// keeps how the commands change if the values of symbols change by step, and those of
// others stay. perBank is how many tiles a bank holds.
func (p *Plan) Template(grid *Grid, values, step map[string]int64, perBank int) (*Template, error) {
	t := &Template{perBank: int64(perBank), made: make([]segment, len(p.Steps)+1), lower: newLowerer(p, grid, nil)}
	t.lower.next = maps.Clone(values)
	for _, sym := range p.Symbols() {
		t.symbols = append(t.symbols, symbol{sym, values[sym], step[sym]})
	}
	var done Patched
	if err := t.make(values, &done); err != nil {
		return nil, err
	}
	return t, nil
}

// make makes the segments that do not hold at the step at hand: all of them, the first
// time.
func (t *Template) make(values map[string]int64, done *Patched) error {
	l, old := t.lower, t.Commands
	l.values = values
	for i := range t.symbols {
		l.next[t.symbols[i].name] = values[t.symbols[i].name] + t.symbols[i].step
	}
	l.out, l.pending = t.spare[:0], l.pending[:0]
	t.spare = old
	t.course, t.banks, t.numbers = *newCourse(), *newCourse(), t.numbers[:0]
	for i := range t.made {
		s := &t.made[i]
		start := len(l.out)
		if old != nil && s.course.has(t.at) && slices.Equal(s.before, l.pending) {
			l.out = append(l.out, old[s.start:s.end]...)
			l.pending = append(l.pending[:0], s.after...)
		} else {
			s.before = append(s.before[:0], l.pending...)
			*l.course, l.patches, l.moving, l.first = *newCourse(), s.patches[:0], s.moving[:0], start
			if err := l.step(i); err != nil {
				return err
			}
			s.after = append(s.after[:0], l.pending...)
			s.patches, s.moving, s.course = l.patches, l.moving, course{l.course.lo + t.at, l.course.hi + t.at}
			for k := range s.moving {
				s.moving[k].base = t.at
				done.Banks += s.moving[k].match(t.at, t.perBank)
			}
			done.Steps++
			done.Commands += len(l.out) - start
		}
		s.start, s.end = start, len(l.out)
		t.course.restrict(s.course)
	}
	t.Commands = l.out
	for i := range t.made {
		s := &t.made[i]
		for _, p := range s.patches {
			t.numbers = append(t.numbers, number{t.Commands[s.start:][p.command].field(p.field), p.slope})
		}
		for k := range s.moving {
			t.banks.restrict(s.moving[k].course)
		}
	}
	return nil
}

// match looks for the banks of commands that go to others now.
func (t *Template) match() (banks int) {
	t.banks = *newCourse()
	for i := range t.made {
		list := t.made[i].moving
		for k := range list {
			m := &list[k]
			if !m.course.has(t.at) {
				banks += m.match(t.at, t.perBank)
			}
			t.banks.restrict(m.course)
		}
	}
	return banks
}

// Patched is what Patch has done.
type Patched struct {
	Numbers         int // of commands that were changed
	Banks           int // of commands whose banks were looked for anew, summed up
	Steps, Commands int // of the plan that were lowered anew, and what they gave
}

// Patch brings the commands to other values of the symbols. ok is false, and nothing has
// changed, if these are no number of steps away.
//
// It takes time proportional to what it counts, and the symbols.
func (t *Template) Patch(values map[string]int64) (done Patched, ok bool, err error) {
	at, known := int64(0), false
	for i := range t.symbols {
		s := &t.symbols[i]
		d := values[s.name] - s.base
		switch {
		case s.step == 0:
			if d != 0 {
				return done, false, nil
			}
		case !known:
			if at, known = d/s.step, true; at*s.step != d {
				return done, false, nil
			}
		case at*s.step != d:
			return done, false, nil
		}
	}
	n := int32(at - t.at)
	t.at = at
	if n == 0 {
		return done, true, nil
	}
	if !t.course.has(at) {
		// Those of segments that do not hold are made anew.
		for i := range t.made {
			if s := &t.made[i]; s.course.has(at) {
				for _, p := range s.patches {
					*t.Commands[s.start:][p.command].field(p.field) += n * p.slope
				}
				done.Numbers += len(s.patches)
			}
		}
		if err := t.make(values, &done); err != nil {
			return done, true, err
		}
	} else {
		for _, p := range t.numbers {
			*p.at += n * p.slope
		}
		done.Numbers = len(t.numbers)
	}
	if !t.banks.has(at) {
		done.Banks += t.match()
	}
	return done, true, nil
}

// patch notes which numbers of the command that was emitted last change.
func (l *lowerer) patch(o *order) {
	note := func(f field, s int64) {
		if s != 0 {
			l.patches = append(l.patches, patch{int32(len(l.out) - 1 - l.first), f, int32(s)})
		}
	}
	pattern := func(start, count field, p *linearPattern) {
		note(start, p.start.s)
		for i, v := range p.level[:p.levels] {
			note(count+field(i), v.count.s)
		}
	}
	if !o.Whole {
		pattern(bitlineStart, bitlineCount0, &o.bitlines)
	}
	pattern(tileStart, tileCount0, &o.tiles)
	note(bitlineDist, o.bitlineDist.s)
	note(tileDist, o.tileDist.s)
	note(copies, o.copies.s)
	if o.tiles.moves() {
		l.moving = append(l.moving, moving{command: int32(len(l.out) - 1 - l.first), tiles: o.tiles})
	}
}

func (p *linearPattern) moves() bool {
	for _, l := range p.level[:p.levels] {
		if l.count.s != 0 {
			return true
		}
	}
	return p.start.s != 0
}

// after returns the pattern n steps later.
func (p linearPattern) after(n int64) linearPattern {
	p.start.v += n * p.start.s
	for i := range p.level[:p.levels] {
		c := &p.level[i].count
		c.v += n * c.s
	}
	return p
}

// match finds how many banks a command goes to, and for how long these stay the same. The inner levels of its tiles, as far as no bank lies between
// two neighbours, are runs, and stay that: each meets all banks from that of its first
// tile to that of its last one.
func (m *moving) match(at, perBank int64) (banks int) {
	c := newCourse()
	p := m.tiles.after(at - m.base)
	n, length := int32(0), linear{} // of a run, to its last tile
	for ; n < p.levels && p.level[n].stride-length.v <= perBank; n++ {
		l := &p.level[n]
		c.above(length.add(perBank - l.stride + 1))
		length = length.plus(l.count.add(-1).times(l.stride))
	}
	runs := int64(1)
	for _, l := range p.level[n:p.levels] {
		if runs *= l.count.v; l.count.s != 0 {
			c.here()
		}
	}
	var i [MaxLevels]int64
	next, first := int64(0), p.start
	for range runs {
		lo, hi := c.stay(first, perBank), c.stay(first.plus(length), perBank)
		banks += int(hi + 1 - max(lo, next))
		next = hi + 1
		for k := n; k < p.levels; k++ {
			l := &p.level[k]
			first = first.add(l.stride)
			if i[k]++; i[k] < l.count.v {
				break
			}
			first = first.add(-l.stride * l.count.v)
			i[k] = 0
		}
	}
	m.course = course{c.lo + at, c.hi + at}
	return banks
}
