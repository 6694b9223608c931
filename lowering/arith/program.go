package arith

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bitsched/bitsched/sram"
)

// ErrRows is wrapped by the errors of what does not fit the rows of an array.
var ErrRows = errors.New("not enough rows")

// DefaultRows is the number of rows of an array that a Spec takes if it does not
// say.
const DefaultRows = 256

// Spec says which program to build. The zero value of all but Op is a default.
type Spec struct {
	Op    string // as Resolve takes it
	Width int    // of integers that Op says no width of; default 32
	Tech  string // array technology; default neural-cache
	Rows  int    // of the array, those that the technology reserves included

	// FewRows searches the order of a circuit's gates that needs the fewest rows,
	// which takes seconds, and is kept on disk. Microcode does not change.
	FewRows bool

	// Const gives operands, by their number, that are the same on all bitlines:
	// they take no rows and the program is made for them.
	Const map[int]uint64
}

// Program is an operation as a program of one array. It is not changed once
// built and may be used concurrently.
//
// Its kernel is in canonical layout: the operands that are not constants from
// row 0 on, then the result, then the scratch rows. [Program.Place] moves them.
type Program struct {
	Spec    Spec // with the defaults filled in
	Op      *Operation
	Type    Type
	Kernel  *sram.Kernel
	Args    []int  // which operands the inputs of the kernel are
	Scratch int    // rows beyond operands and result
	InPlace []bool // whether the result may replace input i of the kernel

	code *sram.KernelCode
}

// Latency returns the cycles that the program takes.
func (p *Program) Latency() int { return p.Kernel.Cycles() }

// Copies returns the copies between arrays: none, since the program is of one.
func (p *Program) Copies() int { return 0 }

// ResultWidth returns the width of the result in bits.
func (p *Program) ResultWidth() int { return p.Op.ResultWidth(p.Type) }

// Eval computes the operation on the processor, with the constants of the
// program: args are the other operands.
func (p *Program) Eval(args ...uint64) Value {
	var buf [4]uint64
	for i, v := range p.Spec.Const {
		buf[i] = v
	}
	for i, x := range args {
		buf[p.Args[i]] = x
	}
	return p.Op.Eval(p.Type, buf[:len(p.Op.Args)]...)
}

// resolve fills in the defaults and returns a key of what they amount to.
func (s *Spec) resolve() (string, error) {
	if s.Width == 0 {
		s.Width = 32
	}
	if s.Tech == "" {
		s.Tech = sram.NeuralCache.Name
	}
	if s.Rows == 0 {
		s.Rows = DefaultRows
	}
	o, t, err := Resolve(s.Op, s.Width)
	if err != nil {
		return "", err
	}
	s.Op, s.Width = o.FullName(t), t.Width
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d %v", s.Op, s.Tech, s.Rows, s.FewRows)
	for _, i := range slices.Sorted(maps.Keys(s.Const)) {
		fmt.Fprintf(&b, " %d=%x", i, s.Const[i])
	}
	return b.String(), nil
}

// Build returns the program of a spec, made and verified, without a [Store]. An
// error wraps ErrRows where the program does not fit, or the context's error.
//
// Building microcode takes milliseconds, scheduling a circuit for few rows up to
// seconds.
func Build(ctx context.Context, s Spec) (*Program, error) { return (*Store)(nil).Build(ctx, s) }

func (st *Store) build(ctx context.Context, s Spec) (*Program, error) {
	o, t, err := Resolve(s.Op, s.Width)
	if err != nil {
		return nil, err
	}
	tech, err := sram.LookupTechnology(s.Tech)
	if err != nil {
		return nil, err
	}
	if !o.Supports(tech) {
		return nil, noProgram{fmt.Errorf("arith: %s has no program for %s", s.Op, s.Tech)}
	}
	if o.check != nil {
		if err := o.check(t); err != nil {
			return nil, noProgram{fmt.Errorf("arith: %s: %w", s.Op, err)}
		}
	}
	if s.Rows < 1 || s.Rows > sram.MaxRows {
		return nil, fmt.Errorf("arith: %d rows, expected 1 to %d", s.Rows, sram.MaxRows)
	}
	p := &Program{Spec: s, Op: o, Type: t}
	for i := range s.Const {
		if i < 0 || i >= len(o.Args) {
			return nil, fmt.Errorf("arith: %s has no operand %d, expected 0 to %d", s.Op, i, len(o.Args)-1)
		}
	}
	k := &sram.Kernel{Tech: tech, Rows: s.Rows}
	at := 0
	for i, name := range o.Args {
		if _, ok := s.Const[i]; !ok {
			w := o.ArgWidth(t, i)
			k.Inputs = append(k.Inputs, sram.Port{Name: name, Base: at, Width: w})
			p.Args = append(p.Args, i)
			at += w
		}
	}
	k.Outputs = []sram.Port{{Name: "y", Base: at, Width: o.ResultWidth(t)}}
	at += o.ResultWidth(t)
	p.Kernel = k
	if at > k.Usable() {
		return nil, p.tooLarge(at)
	}
	if err := backends[tech].build(ctx, p, st); err != nil {
		return nil, err
	}
	p.Scratch = p.rows() - at
	if at+p.Scratch > k.Usable() {
		return nil, p.tooLarge(at + p.Scratch)
	}
	if p.code, err = k.Compile(); err != nil {
		return nil, fmt.Errorf("arith: %s for %s: %w", s.Op, s.Tech, err)
	}
	for _, in := range k.Inputs {
		p.InPlace = append(p.InPlace, p.inPlace(in))
	}
	if err := p.Verify(ctx, buildPatterns, 1); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Program) tooLarge(rows int) error {
	reserved := ""
	if n := p.Kernel.Tech.Reserved; n > 0 {
		reserved = fmt.Sprintf(", %d for constants included", n)
		rows += n
	}
	return fmt.Errorf("arith: %s for %s: %w: it takes %d%s, of %d", p.Spec.Op, p.Spec.Tech, ErrRows, rows, reserved, p.Kernel.Rows)
}

// word returns the rows of a port.
func portWord(p sram.Port) word {
	w := make(word, p.Width)
	for i := range w {
		w[i] = sram.Row(p.Base+i, false)
	}
	return w
}

// rows returns the number of rows up to the last one that the kernel touches.
func (p *Program) rows() int {
	out := p.Kernel.Outputs[0]
	n := out.Base + out.Width
	for i := range p.Kernel.Instrs {
		if m := &p.Kernel.Instrs[i]; p.Kernel.Tech.Ops[m.Op].Writes {
			n = max(n, int(m.Dst)+1)
		}
	}
	return n
}

// inPlace reports whether the result may lie in the rows of an input: no bit of
// the input is read after the bit of the result that takes its row is first
// written.
func (p *Program) inPlace(in sram.Port) bool {
	out := p.Kernel.Outputs[0]
	if in.Width != out.Width {
		return false
	}
	written := make([]bool, out.Width)
	for i := range p.Kernel.Instrs {
		m := &p.Kernel.Instrs[i]
		info := &p.Kernel.Tech.Ops[m.Op]
		for _, s := range m.Src[:info.Operands] {
			if !s.IsConst() && s.Row() >= in.Base && s.Row() < in.Base+in.Width && written[s.Row()-in.Base] {
				return false
			}
		}
		if d := int(m.Dst) - out.Base; info.Writes && d >= 0 && d < out.Width {
			written[d] = true
		}
	}
	return true
}

// Place returns the instructions of the program with input i of its kernel from
// row args[i] on, the result from row res on, and the scratch rows as given, of
// which there must be at least p.Scratch. Where the result takes the rows of an
// input, InPlace must allow it; copies of a row to itself are left out. The rows
// must not overlap otherwise: what is placed is not checked here, but by
// sram.Kernel.Check and by the results.
func (p *Program) Place(args []int, res int, scratch []int) ([]sram.Micro, error) {
	k, out := p.Kernel, p.Kernel.Outputs[0]
	if len(args) != len(k.Inputs) {
		return nil, fmt.Errorf("arith: %s: places of %d operands, expected %d", p.Spec.Op, len(args), len(k.Inputs))
	}
	if len(scratch) < p.Scratch {
		return nil, fmt.Errorf("arith: %s: %w: %d scratch rows, expected %d", p.Spec.Op, ErrRows, len(scratch), p.Scratch)
	}
	to := make([]int, p.rows())
	for i, in := range k.Inputs {
		if args[i] == res && !p.InPlace[i] {
			return nil, fmt.Errorf("arith: %s: the result cannot replace operand %s", p.Spec.Op, in.Name)
		}
		for j := range in.Width {
			to[in.Base+j] = args[i] + j
		}
	}
	for j := range out.Width {
		to[out.Base+j] = res + j
	}
	copy(to[out.Base+out.Width:], scratch)
	var ins []sram.Micro
	for _, m := range k.Instrs {
		info := &k.Tech.Ops[m.Op]
		if info.Writes {
			m.Dst = uint16(to[m.Dst])
		}
		for i, s := range m.Src[:info.Operands] {
			if !s.IsConst() {
				m.Src[i] = sram.Row(to[s.Row()], s.Negated())
			}
		}
		if info.Copies && !m.Masked && m.Src[0] == sram.Row(int(m.Dst), false) {
			continue
		}
		ins = append(ins, m)
	}
	return ins, nil
}
