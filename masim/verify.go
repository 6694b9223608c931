package masim

import (
	"context"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bitsched/bitsched/netlist"
	"github.com/bitsched/bitsched/sram"
)

// MaxExhaustive is the largest number of inputs for which [Verify] runs all
// patterns: 2^30 of them.
const MaxExhaustive = 30

// DefaultPatterns is the number of patterns of [Verify] when none is given.
const DefaultPatterns = 4096

const (
	// verifyWords is the words of 64 patterns of a block: what machine and reference
	// execute at once.
	verifyWords = 32
	// verifyTotal bounds the memory of the references of all workers: beyond it there
	// are fewer.
	verifyTotal = 512 << 20
)

// VerifyOptions say how [Verify] runs a program.
type VerifyOptions struct {
	// Patterns is the number of input patterns; 0 means DefaultPatterns. The
	// first ones are directed: all 0, all 1, then a walking 1 and a walking 0,
	// in turn, over the inputs. They are at most half of all; where that is not
	// enough for all inputs, some evenly spaced ones get theirs. The rest is
	// random: uniform, with few ones, with few zeros, and constant over a run of
	// inputs. Where Patterns is at least the number of all patterns that there
	// are, these are run instead.
	Patterns int

	// Exhaustive runs all patterns of a circuit of at most MaxExhaustive
	// inputs, whatever Patterns is: pattern k has bit i of k at input i.
	Exhaustive bool

	// Least is how many patterns are run even if ctx has ended, rounded up to blocks.
	Least int

	Seed    uint64 // of the random patterns
	Threads int    // workers; 0 means 1. The result does not depend on it.

	// Stuck are faulty cells that the program runs with. Bitlines do not
	// influence each other; every pattern is run on the bitline of the faults, as
	// if the arrays were loaded anew for each.
	Stuck []sram.StuckAt

	// Progress is called now and then with the number of patterns done, from
	// one goroutine at a time; may be nil.
	Progress func(done, total int)
}

// VerifyReport is what [Verify] found.
type VerifyReport struct {
	Patterns   int  // input patterns that were run
	Exhaustive bool // these are all that there are: the program is proved right or wrong

	Mismatches    int       // output bits that differ from the circuit
	WrongPatterns int       // patterns with such a bit
	WrongOutputs  int       // outputs with such a bit
	First         *Mismatch // of the lowest pattern, and there of the lowest output; nil = none

	// Names says how the names of inputs and outputs differ between circuit and
	// program, which are then matched by position; "" if they agree.
	Names string
}

// Equal reports whether no mismatch was found.
func (r *VerifyReport) Equal() bool { return r.Mismatches == 0 }

// Mismatch is an output bit of a program that differs from the circuit.
type Mismatch struct {
	Output  int    // number of the output, from 0
	Name    string // its name in the circuit
	Pattern int    // number of the pattern, from 0
	Block   int    // Pattern / columns: the arrays are loaded for each block anew
	Bitline int    // Pattern % columns
	Inputs  string // the pattern: a 0 or 1 for each input, input 0 first
	Got     bool   // value that the program computes
	Want    bool   // value that the circuit has
}

func (m *Mismatch) String() string {
	values := "0, expected 1"
	if m.Got {
		values = "1, expected 0"
	}
	name := ""
	if m.Name != "" {
		name = " (" + m.Name + ")"
	}
	return fmt.Sprintf("output %d%s is %s, in pattern %d (block %d, bitline %d): inputs %s",
		m.Output, name, values, m.Pattern, m.Block, m.Bitline, m.Inputs)
}

// Verify executes a program on the machine of package sram and compares every
// output bit with the circuit as it was read: no graph is between the two.
//
// An error means that nothing could be compared: the numbers of inputs or
// outputs differ, there are too many inputs for all patterns, or the program is
// one that the machine refuses (a wrapped [*sram.InstrError] names the
// instruction). A mismatch is not an error but in the report. When ctx ends,
// Verify returns its error and the report of the patterns that were run, which
// then need not be the lowest ones.
//
// It takes time proportional to (instructions + nodes) x patterns and, for each
// worker, 256 bytes for each value of the circuit that is live at once and for each
// row that the program uses.
func Verify(ctx context.Context, n *netlist.Network, p *sram.Program, o VerifyOptions) (*VerifyReport, error) {
	if len(p.Inputs) != n.NumInputs() {
		return nil, fmt.Errorf("masim: verify: the program has %d inputs, the circuit %d", len(p.Inputs), n.NumInputs())
	}
	if len(p.Outputs) != n.NumOutputs() {
		return nil, fmt.Errorf("masim: verify: the program has %d outputs, the circuit %d", len(p.Outputs), n.NumOutputs())
	}
	ps, err := newPatternSet(n.NumInputs(), o)
	if err != nil {
		return nil, err
	}
	code, err := sram.Compile(p)
	if err != nil {
		return nil, fmt.Errorf("masim: verify: %w", err)
	}
	v := &verifier{ctx: ctx, n: n, reference: netlist.NewSimulator(n), code: code, ps: ps, progress: o.Progress, least: (o.Least + 63) / 64}
	if len(o.Stuck) > 0 {
		if v.faulty, err = code.WithFaults(sram.Faults{Stuck: o.Stuck, EveryBitline: true}); err != nil {
			return nil, fmt.Errorf("masim: verify: %w", err)
		}
	}
	v.report.Names = differentNames(n, p)
	v.wrong = make([]bool, n.NumOutputs())
	v.words = verifyWords
	v.total = (ps.total + 63) / 64
	workers := max(1, min(o.Threads, verifyTotal/(v.reference.Bytes()+8*v.words*(n.NumInputs()+2*n.NumOutputs())+1), (v.total+v.words-1)/v.words))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(v.work)
	}
	wg.Wait()

	r := &v.report
	for _, w := range v.wrong {
		if w {
			r.WrongOutputs++
		}
	}
	if m := r.First; m != nil {
		m.Name = n.Output(m.Output).Name
		m.Block, m.Bitline = m.Pattern/p.Geometry.Cols, m.Pattern%p.Geometry.Cols
		m.Inputs = ps.pattern(m.Pattern)
	}
	r.Exhaustive = ps.exhaustive && r.Patterns == ps.total
	if r.Patterns != ps.total {
		return r, fmt.Errorf("masim: verify: %d of %d patterns run: %w", r.Patterns, ps.total, context.Cause(ctx))
	}
	return r, nil
}

// differentNames says how names differ, "" if they agree.
func differentNames(n *netlist.Network, p *sram.Program) string {
	var parts []string
	add := func(what string, count int, circuit, program func(i int) string) {
		different, first := 0, 0
		for i := range count {
			if circuit(i) == program(i) {
				continue
			}
			if different == 0 {
				first = i
			}
			different++
		}
		if different > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %ss, the first is %s %d: %q in the circuit, %q in the program",
				different, count, what, what, first, circuit(first), program(first)))
		}
	}
	add("input", n.NumInputs(), n.InputName, func(i int) string { return p.Inputs[i].Name })
	add("output", n.NumOutputs(), func(i int) string { return n.Output(i).Name }, func(i int) string { return p.Outputs[i].Name })
	if parts == nil {
		return ""
	}
	return "matched by position, since names differ: " + strings.Join(parts, "; ")
}

// verifier is the work that the workers share.
type verifier struct {
	ctx       context.Context
	n         *netlist.Network
	reference *netlist.Simulator // of which each worker has a clone
	code      *sram.Code
	faulty    *sram.FaultyCode // nil = no faults
	ps        *patternSet
	progress  func(done, total int)
	words     int // words of a block
	least     int // words that are run even if ctx has ended
	total     int // words of all patterns
	next      atomic.Int64

	mu       sync.Mutex
	report   VerifyReport
	wrong    []bool // by output
	reported int    // patterns at the last call of progress
}

// work takes one block after another.
func (v *verifier) work() {
	run := v.code.NewMachine().RunInto
	if v.faulty != nil {
		m := v.faulty.NewMachine()
		run = func(out, in []uint64, w int) {
			if err := m.RunContext(context.Background(), out, in, w, 0); err != nil {
				panic(err)
			}
		}
	}
	ins, outs := v.n.NumInputs(), v.n.NumOutputs()
	in, got, want := make([]uint64, ins*v.words), make([]uint64, outs*v.words), make([]uint64, outs*v.words)
	reference, ps := v.reference.Clone(), v.ps.clone()
	bad := make([]uint64, v.words) // patterns of the block with a mismatch
	for {
		first := (int(v.next.Add(1)) - 1) * v.words
		if first >= v.total || v.ctx.Err() != nil && first >= v.least {
			return
		}
		w := min(v.words, v.total-first)
		in, got, want, bad := in[:ins*w], got[:outs*w], want[:outs*w], bad[:w]
		ps.fill(in, first, w)
		run(got, in, w)
		reference.Run(want, in, w)
		v.compare(want, got, bad, first)
	}
}

// compare counts what differs in the block of patterns from word first on.
func (v *verifier) compare(want, got, bad []uint64, first int) {
	w := len(bad)
	clear(bad)
	last := ^uint64(0) // patterns that the last word holds
	done := 64 * w
	if rest := v.ps.total - 64*first; rest < done {
		last >>= done - rest
		done = rest
	}
	var wrong []int
	mismatches := 0
	var at *Mismatch
	for i := range v.n.NumOutputs() {
		a, b := want[i*w:][:w], got[i*w:][:w]
		all := uint64(0)
		for k, x := range a {
			all |= x ^ b[k]
		}
		if all == 0 {
			continue
		}
		before := mismatches
		for k := range w {
			d := a[k] ^ b[k]
			if k == w-1 {
				d &= last
			}
			if d == 0 {
				continue
			}
			mismatches += bits.OnesCount64(d)
			bad[k] |= d
			bit := bits.TrailingZeros64(d)
			if p := 64*(first+k) + bit; at == nil || p < at.Pattern {
				at = &Mismatch{Output: i, Pattern: p, Got: b[k]>>bit&1 != 0, Want: a[k]>>bit&1 != 0}
			}
		}
		if mismatches > before {
			wrong = append(wrong, i)
		}
	}

	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.report
	r.Mismatches += mismatches
	for _, d := range bad {
		r.WrongPatterns += bits.OnesCount64(d)
	}
	for _, i := range wrong {
		v.wrong[i] = true
	}
	if at != nil && (r.First == nil || at.Pattern < r.First.Pattern) {
		r.First = at
	}
	r.Patterns += done
	if v.progress != nil && (r.Patterns == v.ps.total || r.Patterns-v.reported >= min(v.ps.total/1000, maxUnreported)) {
		v.reported = r.Patterns
		v.progress(r.Patterns, v.ps.total)
	}
}

// maxUnreported is the most patterns between two reports of progress.
const maxUnreported = 1 << 20

// patternSet numbers input patterns. A pattern depends on its number, the
// options and the number of inputs only.
type patternSet struct {
	inputs     int
	total      int
	exhaustive bool
	directed   int // patterns 0 to directed-1: all 0, all 1, walking
	walked     int // inputs that the walking ones go over
	seed       uint64
	turns      []uint64 // of random, kept to be used again
}

// clone returns a set of the same patterns for another goroutine.
func (s *patternSet) clone() *patternSet {
	c := *s
	c.turns = make([]uint64, s.inputs)
	return &c
}

func newPatternSet(inputs int, o VerifyOptions) (*patternSet, error) {
	s := &patternSet{inputs: inputs, total: o.Patterns, exhaustive: o.Exhaustive, seed: o.Seed, turns: make([]uint64, inputs)}
	if s.total < 0 {
		return nil, fmt.Errorf("masim: verify: %d patterns, expected 1 or more, or 0 for %d", s.total, DefaultPatterns)
	}
	if s.total == 0 {
		s.total = DefaultPatterns
	}
	if inputs <= MaxExhaustive {
		s.exhaustive = s.exhaustive || s.total >= 1<<inputs
	} else if s.exhaustive {
		return nil, fmt.Errorf("masim: verify: all patterns of %d inputs, expected at most %d inputs; use random patterns", inputs, MaxExhaustive)
	}
	if s.exhaustive {
		s.total = 1 << inputs
		return s, nil
	}
	s.walked = min(inputs, max(0, s.total/2-2)/2)
	s.directed = min(s.total, 2+2*s.walked)
	return s, nil
}

// lowInputs holds the first six inputs of all patterns, in any word.
var lowInputs = [6]uint64{
	0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
	0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000,
}

// fill sets w words of patterns for each input, from word first on.
func (s *patternSet) fill(in []uint64, first, w int) {
	for k := range w {
		word := first + k
		if s.exhaustive {
			for i := range s.inputs {
				if i < len(lowInputs) {
					in[i*w+k] = lowInputs[i]
				} else {
					in[i*w+k] = -(uint64(word) >> (i - len(lowInputs)) & 1)
				}
			}
			continue
		}
		s.random(in, word, k, w)
		// Of the directed patterns the odd ones are 1 in all inputs and the even
		// ones 0, but for the input that is walked over.
		n := min(s.directed-64*word, 64)
		if n <= 0 {
			continue
		}
		mask := ^uint64(0) >> (64 - n)
		for i := range s.inputs {
			in[i*w+k] = in[i*w+k]&^mask | lowInputs[0]&mask
		}
		for b := range n {
			if j := (64*word + b) / 2; j > 0 {
				in[(j-1)*s.inputs/s.walked*w+k] ^= 1 << b
			}
		}
	}
}

// random sets word k of each input to 64 random patterns. Uniform bits alone
// hardly ever reach what lies behind a long chain of ANDs or ORs (a priority
// encoder, a comparison of words with a common start), so that of four words one
// is uniform, one has few ones, one few zeros, with densities from 1/4 down to
// about one in all inputs, and in one each pattern is constant in the inputs
// below or above a random one.
func (s *patternSet) random(in []uint64, word, k, w int) {
	base := splitmix(s.seed + splitmix(uint64(word)))
	draw := base // the shape comes from another sequence than the bits
	next := func() uint64 {
		draw = splitmix(draw ^ 0x5851F42D4C957F2D)
		return draw
	}
	thin := 0 // further words to AND or OR
	if word%4 == 1 || word%4 == 2 {
		thin = 1 + int(next()%uint64(max(2, bits.Len(uint(s.inputs)))))
	}
	inputs := uint64(s.inputs)
	switch word % 4 {
	case 1:
		for i := range inputs {
			x := splitmix(base + i)
			for range thin {
				base += inputs
				x &= splitmix(base + i)
			}
			in[int(i)*w+k] = x
		}
	case 2:
		for i := range inputs {
			x := splitmix(base + i)
			for range thin {
				base += inputs
				x |= splitmix(base + i)
			}
			in[int(i)*w+k] = x
		}
	default:
		for i := range inputs {
			in[int(i)*w+k] = splitmix(base + i)
		}
	}
	if word%4 != 3 || inputs == 0 {
		return
	}
	value, constant := next(), next() // constant: patterns whose first inputs are
	clear(s.turns)                    // by input: patterns where constant ends or starts
	for b := range 64 {
		s.turns[next()%inputs] ^= 1 << b
	}
	for i, turn := range s.turns {
		constant ^= turn
		in[i*w+k] = in[i*w+k]&^constant | value&constant
	}
}

// pattern returns a pattern as digits, input 0 first.
func (s *patternSet) pattern(p int) string {
	in := make([]uint64, s.inputs)
	s.fill(in, p/64, 1)
	digits := make([]byte, s.inputs)
	for i, x := range in {
		digits[i] = '0' + byte(x>>(p%64)&1)
	}
	return string(digits)
}

// splitmix is the output function of the SplitMix64 generator, which is good
// enough to make a random word of every number.
func splitmix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
