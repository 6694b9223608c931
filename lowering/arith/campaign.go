package arith

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/bitsched/bitsched/internal/bitmatrix"
	"github.com/bitsched/bitsched/sram"
)

// Operands says how the operands of a campaign are drawn.
type Operands int

// The ways to draw operands.
const (
	// UniformBits makes every pattern of bits as likely as any other. As
	// floating-point numbers these are mostly huge or tiny.
	UniformBits Operands = iota

	// Normal rounds numbers of the standard normal distribution to the format of
	// an operand. Operands that are integers have uniform bits.
	Normal
)

func (o Operands) String() string {
	if o == Normal {
		return "normal"
	}
	return "bits"
}

// ParseOperands returns the way of that name: bits or normal.
func ParseOperands(s string) (Operands, error) {
	for _, o := range []Operands{UniformBits, Normal} {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, fmt.Errorf("arith: operands %q, expected bits or normal", s)
}

// FaultCampaign runs an operation many times under faults and counts the words
// that go wrong, and by how much. What is right is what the processor computes.
type FaultCampaign struct {
	Program  *Program
	Faults   sram.Faults
	Operands Operands
	Trials   int // loads of an array, each with a word on each bitline
	Cols     int // bitlines of the array; 0 means sram.DefaultCols
	Seed     uint64
	Threads  int // workers; 0 means 1. The result does not depend on it.
	Progress func(done, total int)
}

// FaultReport is what a [FaultCampaign] found. A pattern is a word, and the
// outputs are the bits of the result, the lowest first.
type FaultReport struct {
	*sram.CampaignReport
	Float *FloatErrors `json:"float_errors,omitempty"` // of an operation whose result is a floating-point number
}

// Run executes the campaign, as [sram.Campaign.Run] does.
func (c *FaultCampaign) Run(ctx context.Context) (*FaultReport, error) {
	p := c.Program
	s := sram.Campaign{
		Kernel: p.Kernel, Cols: c.Cols, Faults: c.Faults, Trials: c.Trials, Seed: c.Seed, Threads: c.Threads, Progress: c.Progress,
		Patterns: c.patterns, Reference: func(inputs []uint64, w int) []uint64 { return p.reference(inputs, w) },
	}
	var errors *floatErrors
	if f := p.Op.ResultFormat(p.Type); f != nil {
		errors = newFloatErrors(f)
		s.Observe = errors.observe
	}
	r, err := s.Run(ctx)
	if r == nil {
		return nil, fmt.Errorf("arith: %s: %w", p.Spec.Op, err)
	}
	report := &FaultReport{CampaignReport: r}
	if errors != nil {
		report.Float = errors.report(r.Patterns)
	}
	if err != nil {
		err = fmt.Errorf("arith: %s: %w", p.Spec.Op, err)
	}
	return report, err
}

// patterns draws operands.
func (c *FaultCampaign) patterns(inputs []uint64, w int, seed uint64) {
	pcg := rand.NewPCG(seed, 0)
	rng := rand.New(pcg)
	at := 0
	words := make([]uint64, 64*w)
	for i, in := range c.Program.Kernel.Inputs {
		f := c.Program.Op.ArgFormat(c.Program.Type, c.Program.Args[i])
		for j := range words {
			if f != nil && c.Operands == Normal {
				words[j] = f.Round(rng.NormFloat64())
			} else {
				words[j] = pcg.Uint64()
			}
		}
		sliceBits(inputs[at*w:(at+in.Width)*w], w, words)
		at += in.Width
	}
}

// reference computes on the processor what the program should: inputs and result
// are bit-sliced, as in sram.Campaign.
func (p *Program) reference(inputs []uint64, w int) []uint64 {
	args := make([][]uint64, len(p.Kernel.Inputs))
	at := 0
	for i, in := range p.Kernel.Inputs {
		args[i] = make([]uint64, 64*w)
		joinBits(args[i], inputs[at*w:(at+in.Width)*w], w)
		at += in.Width
	}
	lo, hi := make([]uint64, 64*w), make([]uint64, 64*w)
	x := make([]uint64, len(args))
	for j := range lo {
		for i := range args {
			x[i] = args[i][j]
		}
		v := p.Eval(x...)
		lo[j], hi[j] = v.Lo, v.Hi
	}
	width := p.ResultWidth()
	out := make([]uint64, width*w)
	sliceBits(out[:min(width, 64)*w], w, lo)
	if width > 64 {
		sliceBits(out[64*w:], w, hi)
	}
	return out
}

// sliceBits sets bit i of word j as bit j%64 of dst[i*w+j/64], for as many bits
// as dst has.
func sliceBits(dst []uint64, w int, words []uint64) {
	var m [64]uint64
	for k := range w {
		copy(m[:], words[64*k:])
		bitmatrix.Transpose64(&m)
		for i := range len(dst) / w {
			dst[i*w+k] = m[i]
		}
	}
}

// joinBits is the reverse; bits that src does not have are zero.
func joinBits(words, src []uint64, w int) {
	var m [64]uint64
	for k := range w {
		clear(m[:])
		for i := range len(src) / w {
			m[i] = src[i*w+k]
		}
		bitmatrix.Transpose64(&m)
		copy(words[64*k:64*k+64], m[:])
	}
}
