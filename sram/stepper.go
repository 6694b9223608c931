package sram

import "fmt"

// Stepper executes a program instruction by instruction on one load of the
// arrays, for looking into the rows in between. It executes what a [Machine]
// does, in groups of 256 bitlines. It takes 8 bytes for each row used and 64
// bitlines.
type Stepper struct {
	code   *Code
	inputs []uint64
	words  int                    // of a row
	groups [][][smallWords]uint64 // rows of each group of bitlines
	held   []bool                 // slots that hold something
	next   int
}

// NewStepper returns a stepper before the first instruction. Bit b of
// inputs[i*w+k] is input i on bitline 64*k+b, with w = (Cols+63)/64 words for
// each input; bits beyond Cols do not matter. The inputs must not change.
func (c *Code) NewStepper(inputs []uint64) (*Stepper, error) {
	w := (c.prog.Geometry.Cols + 63) / 64
	if len(inputs) != len(c.inputs)*w {
		return nil, fmt.Errorf("sram: %d words of inputs, expected %d inputs of %d words", len(inputs), len(c.inputs), w)
	}
	s := &Stepper{code: c, inputs: inputs, words: w, held: make([]bool, c.slots)}
	s.groups = make([][][smallWords]uint64, (w+smallWords-1)/smallWords)
	for g := range s.groups {
		s.groups[g] = make([][smallWords]uint64, c.slots)
	}
	s.reset()
	return s, nil
}

func (s *Stepper) reset() {
	s.next = 0
	clear(s.held)
	for i, slot := range s.code.inputs {
		s.held[slot] = true
		for g := range s.groups {
			copy(s.groups[g][slot][:], s.inputs[i*s.words+g*smallWords:(i+1)*s.words])
		}
	}
}

// Next returns the number of the next instruction to be executed, which is also
// how many have been; at the end, the number of instructions.
func (s *Stepper) Next() int { return s.next }

// Step executes one instruction; false means that none is left.
func (s *Stepper) Step() bool {
	if s.next == len(s.code.ops) {
		return false
	}
	s.RunTo(s.next + 1)
	return true
}

// RunTo goes to the state before instruction k, after k instructions: forward
// from here, or from the start again where k lies behind. A k out of range
// stands for the nearest state.
func (s *Stepper) RunTo(k int) {
	k = max(0, min(k, len(s.code.ops)))
	if k < s.next {
		s.reset()
	}
	ops := s.code.ops[s.next:k]
	for _, rows := range s.groups {
		execSmall(ops, rows)
	}
	for i := range ops {
		s.held[ops[i].dst>>dstShift] = true
	}
	s.next = k
}

// Row returns what a row holds now: bit b of word k is bitline 64*k+b, and bits
// beyond Cols are 0. It returns false for a row that holds nothing yet or that
// does not exist. The result is a copy.
func (s *Stepper) Row(array, row int) ([]uint64, bool) {
	g := s.code.prog.Geometry
	if array < 0 || array >= g.Arrays || row < 0 || row >= g.Rows {
		return nil, false
	}
	slot := s.code.slot.Get(array, row)
	if slot == 0 || !s.held[slot] {
		return nil, false
	}
	out := make([]uint64, s.words)
	for i := range s.groups {
		copy(out[i*smallWords:], s.groups[i][slot][:])
	}
	if rest := g.Cols % 64; rest != 0 {
		out[s.words-1] &= 1<<rest - 1
	}
	return out, true
}
