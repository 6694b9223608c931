package arith

import (
	"context"
	"errors"
	"fmt"

	"github.com/bitsched/bitsched/sram"
)

// Routine composes operations into one kernel on one array: the result of one is
// an operand of the next. It gives rows to words as they come and takes them back
// when they are freed; an operation that does not find the rows of its result and
// its scratch is an error that wraps ErrRows, and the routine stays as it was.
//
// A word needs adjacent rows and gets the lowest that are free; scratch rows may
// be anywhere and are taken from the top, so that words stay together.
type Routine struct {
	Store   *Store // of programs; nil builds each anew
	FewRows bool   // of the operations from now on, see [Spec]

	kernel *sram.Kernel
	used   []bool
	words  []routineWord
	peak   int
}

type routineWord struct {
	base, width int
	live        bool
}

// Arg is an operand: a word of a [Routine] or a constant.
type Arg struct {
	word     int // number of the word, from 1; 0 = a constant
	constant uint64
}

// Const is an operand that is the same on all bitlines. It takes no rows.
func Const(v uint64) Arg { return Arg{constant: v} }

// errRoutine is what is wrong with the use of a routine.
var errRoutine = errors.New("no such word")

// NewRoutine returns an empty routine for an array of so many rows.
func NewRoutine(tech *sram.Technology, rows int) (*Routine, error) {
	if rows <= tech.Reserved || rows > sram.MaxRows {
		return nil, fmt.Errorf("arith: %d rows, expected %d to %d", rows, tech.Reserved+1, sram.MaxRows)
	}
	k := &sram.Kernel{Tech: tech, Rows: rows}
	return &Routine{kernel: k, used: make([]bool, k.Usable())}, nil
}

// Input adds a word that the routine is given. It must come before the first
// operation.
func (r *Routine) Input(name string, width int) (Arg, error) {
	if len(r.kernel.Instrs) > 0 {
		return Arg{}, fmt.Errorf("arith: input %s after an operation", name)
	}
	base, err := r.find(width)
	if err != nil {
		return Arg{}, fmt.Errorf("arith: input %s: %w", name, err)
	}
	r.kernel.Inputs = append(r.kernel.Inputs, sram.Port{Name: name, Base: base, Width: width})
	return r.take(base, width), nil
}

// find returns the lowest adjacent free rows.
func (r *Routine) find(width int) (int, error) {
	free := 0
	for i, u := range r.used {
		if free++; u {
			free = 0
		}
		if free == width {
			return i + 1 - width, nil
		}
	}
	return 0, fmt.Errorf("%w: none of %d adjacent ones is free", ErrRows, width)
}

func (r *Routine) take(base, width int) Arg {
	for i := range width {
		r.used[base+i] = true
	}
	r.words = append(r.words, routineWord{base: base, width: width, live: true})
	r.count()
	return Arg{word: len(r.words)}
}

// count keeps the most rows in use.
func (r *Routine) count() {
	n := 0
	for _, u := range r.used {
		if u {
			n++
		}
	}
	r.peak = max(r.peak, n)
}

// get returns a word that is live.
func (r *Routine) get(a Arg) (*routineWord, error) {
	if a.word < 1 || a.word > len(r.words) || !r.words[a.word-1].live {
		return nil, fmt.Errorf("arith: operand %d: %w: never made, or freed", a.word, errRoutine)
	}
	return &r.words[a.word-1], nil
}

// Free gives the rows of a word back.
func (r *Routine) Free(a Arg) error {
	w, err := r.get(a)
	if err != nil {
		return err
	}
	w.live = false
	for i := range w.width {
		r.used[w.base+i] = false
	}
	return nil
}

// Do appends an operation and returns its result, in rows of its own. Integer
// operations are of the width given. Constants are folded into its program.
func (r *Routine) Do(ctx context.Context, op string, width int, args ...Arg) (Arg, error) {
	return r.do(ctx, op, width, -1, args)
}

// DoOver is Do for an operand that is not needed any more: the result takes its
// rows where the program can work in place, else other rows, and the operand is
// freed.
func (r *Routine) DoOver(ctx context.Context, over int, op string, width int, args ...Arg) (Arg, error) {
	if over < 0 || over >= len(args) || args[over].word == 0 {
		return Arg{}, fmt.Errorf("arith: %s over operand %d, expected one that is a word", op, over)
	}
	return r.do(ctx, op, width, over, args)
}

func (r *Routine) do(ctx context.Context, op string, width, over int, args []Arg) (Arg, error) {
	k := r.kernel
	spec := Spec{Op: op, Width: width, Tech: k.Tech.Name, Rows: k.Rows, FewRows: r.FewRows, Const: map[int]uint64{}}
	o, t, err := Resolve(op, width)
	if err != nil {
		return Arg{}, err
	}
	if len(args) != len(o.Args) {
		return Arg{}, fmt.Errorf("arith: %s: %d operands, expected %d", op, len(args), len(o.Args))
	}
	var bases []int
	overInput := -1
	for i, a := range args {
		if a.word == 0 {
			spec.Const[i] = a.constant
			continue
		}
		w, err := r.get(a)
		if err != nil {
			return Arg{}, fmt.Errorf("arith: %s: %w", op, err)
		}
		if want := o.ArgWidth(t, i); w.width != want {
			return Arg{}, fmt.Errorf("arith: %s: operand %s of %d bits, expected %d", op, o.Args[i], w.width, want)
		}
		if i == over {
			overInput = len(bases)
		}
		bases = append(bases, w.base)
	}
	p, err := r.Store.Build(ctx, spec)
	if err != nil {
		return Arg{}, err
	}
	// In place only where no other operand is the same word.
	place := overInput >= 0 && p.InPlace[overInput]
	for i, b := range bases {
		place = place && (i == overInput || b != bases[overInput])
	}
	before := append([]bool(nil), r.used...)
	restore := func(err error) (Arg, error) {
		copy(r.used, before)
		return Arg{}, fmt.Errorf("arith: %s: %w", op, err)
	}
	res := 0
	if place {
		res = bases[overInput]
	} else if res, err = r.find(p.ResultWidth()); err != nil {
		return restore(err)
	}
	for i := range p.ResultWidth() {
		r.used[res+i] = true
	}
	var scratch []int
	for i := len(r.used) - 1; i >= 0 && len(scratch) < p.Scratch; i-- {
		if !r.used[i] {
			scratch = append(scratch, i)
			r.used[i] = true
		}
	}
	ins, err := p.Place(bases, res, scratch)
	if err != nil {
		return restore(err)
	}
	r.count()
	for _, s := range scratch {
		r.used[s] = false
	}
	k.Instrs = append(k.Instrs, ins...)
	if over >= 0 {
		if err := r.Free(args[over]); err != nil {
			return restore(err)
		}
	}
	return r.take(res, p.ResultWidth()), nil
}

// Output names a word as a result of the routine. It must stay live to the end.
func (r *Routine) Output(name string, a Arg) error {
	w, err := r.get(a)
	if err != nil {
		return err
	}
	r.kernel.Outputs = append(r.kernel.Outputs, sram.Port{Name: name, Base: w.base, Width: w.width})
	return nil
}

// Peak returns the most rows in use at a time, scratch included.
func (r *Routine) Peak() int { return r.peak }

// Compile checks the kernel so far and returns it for execution, see [RunCode].
func (r *Routine) Compile() (*sram.KernelCode, error) { return r.kernel.Compile() }
