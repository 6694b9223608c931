package arith

import (
	"context"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bitsched/bitsched/sram"
)

// StuckEffect is what a stuck row or latch does to a program: all cells of the
// row, or all latches, each with a word on its bitline.
type StuckEffect struct {
	Row   int        // of the array, -1 for a latch
	Latch sram.Latch // 0 for a row
	Value bool
	Role  string // what it holds: "a[3]", "y[0]", "scratch", "constant 1" or "carry latch"; "" = the program does not use it

	SelfTest bool // the self-test finds one cell or latch that is stuck so, and nothing else
	Wrong    int  // words whose result is wrong
	Words    int  // that were run

	// Exhaustive says that all operands that there are were run: if Wrong is 0 then
	// no result can show the fault.
	Exhaustive bool

	// Only says that the row never held another value on any word that was run; a
	// row that holds a constant never does.
	Only bool
}

// Detected reports whether the fault is found.
func (s *StuckEffect) Detected() bool { return s.SelfTest || s.Wrong > 0 }

// StuckRows sticks the cells of every row that the program uses at 0 and at 1,
// one row after another, then every latch that it sets, and says what finds each:
// the self-test of [sram.SelfTestKernel], and the results on n patterns of
// [Program.Verify]. What holds of a cell of one bitline holds of those of all,
// since bitlines do not influence each other.
func (p *Program) StuckRows(ctx context.Context, n int, seed uint64, progress func(done, total int)) ([]StuckEffect, error) {
	var faults []sram.Faults
	for _, r := range p.Kernel.UsedRows() {
		for _, v := range []bool{false, true} {
			faults = append(faults, sram.Faults{Stuck: []sram.StuckAt{{Place: sram.Place{Row: r}, Value: v}}})
		}
	}
	for l := range p.Kernel.Sets().Each() {
		for _, v := range []bool{false, true} {
			faults = append(faults, sram.Faults{StuckLatches: []sram.StuckLatch{{Latch: l, Value: v}}})
		}
	}
	x := p.stuckPatterns(n, seed)
	var effects []StuckEffect
	for i, f := range faults {
		e, err := p.stuck(ctx, f, sram.DefaultCols, x)
		if err != nil {
			return nil, fmt.Errorf("arith: %s: %w", p.Spec.Op, err)
		}
		effects = append(effects, *e)
		if progress != nil {
			progress(i+1, len(faults))
		}
	}
	return effects, nil
}

// Stuck is [Program.StuckRows] for one cell: the self-test looks for it where it
// is, and every word of the patterns takes its bitline. The Array must be 0.
func (p *Program) Stuck(ctx context.Context, cell sram.StuckAt, cols, n int, seed uint64) (*StuckEffect, error) {
	e, err := p.stuck(ctx, sram.Faults{Stuck: []sram.StuckAt{cell}}, cols, p.stuckPatterns(n, seed))
	if err != nil {
		return nil, fmt.Errorf("arith: %s: %w", p.Spec.Op, err)
	}
	return e, nil
}

// stuckPatterns are operands and right results, bit-sliced in w words a bit.
type stuckPatterns struct {
	in, want   []uint64
	w, n       int
	exhaustive bool
}

func (p *Program) stuckPatterns(n int, seed uint64) *stuckPatterns {
	x := &stuckPatterns{n: p.Patterns(n), exhaustive: p.exhaustive(n)}
	x.w = (x.n + 63) / 64
	g := newPatterns(p, seed, x.n)
	lanes := make([][]uint64, len(p.Kernel.Inputs))
	for i := range lanes {
		lanes[i] = make([]uint64, 64*x.w)
	}
	args := make([]uint64, len(lanes))
	for j := range 64 * x.w {
		if x.exhaustive {
			bits := uint64(j)
			for i, port := range p.Kernel.Inputs {
				args[i] = bits & mask(port.Width)
				bits >>= port.Width
			}
		} else {
			g.next(args)
		}
		for i := range lanes {
			lanes[i][j] = args[i]
		}
	}
	x.in = make([]uint64, p.argBits()*x.w)
	at := 0
	for i, port := range p.Kernel.Inputs {
		sliceBits(x.in[at*x.w:(at+port.Width)*x.w], x.w, lanes[i])
		at += port.Width
	}
	x.want = p.reference(x.in, x.w)
	return x
}

// stuck looks at one fault, of a cell or of a latch.
func (p *Program) stuck(ctx context.Context, f sram.Faults, cols int, x *stuckPatterns) (*StuckEffect, error) {
	e := &StuckEffect{Words: x.n, Exhaustive: x.exhaustive}
	cells, latches, err := sram.SelfTestKernel(ctx, p.Kernel, f, cols, 1)
	if err != nil {
		return nil, err
	}
	e.SelfTest = slices.Equal(cells, f.Stuck) && slices.Equal(latches, f.StuckLatches)
	if len(f.Stuck) > 0 {
		e.Row, e.Value = f.Stuck[0].Row, f.Stuck[0].Value
		e.Role = p.role(e.Row)
	} else {
		e.Row, e.Latch, e.Value = -1, f.StuckLatches[0].Latch, f.StuckLatches[0].Value
		e.Role = e.Latch.String() + " latch"
	}
	f.EveryBitline = true
	fk, err := p.code.WithFaults(f, cols)
	if err != nil {
		return nil, err
	}
	got := make([]uint64, len(x.want))
	if err := fk.NewMachine().RunContext(ctx, got, x.in, x.w, 1); err != nil {
		return nil, err
	}
	for k := range x.w {
		var wrong uint64
		for i := k; i < len(got); i += x.w {
			wrong |= got[i] ^ x.want[i]
		}
		if rest := x.n - 64*k; rest < 64 {
			wrong &= mask(rest)
		}
		e.Wrong += bits.OnesCount64(wrong)
	}
	if e.Wrong == 0 && e.Role != "" && e.Row >= 0 {
		e.Only = p.holdsOnly(e.Row, e.Value, x)
	}
	return e, nil
}

// holdsOnly reports whether a row holds nothing but a value, on all bitlines of
// the patterns and from the time it is first written.
func (p *Program) holdsOnly(row int, value bool, x *stuckPatterns) bool {
	k := p.Kernel
	if row >= k.Usable() {
		return value == (row > k.Usable()) // the row of zeros, then that of ones
	}
	s := p.code.NewState()
	for first := 0; first < x.w; first += sram.GroupCols / 64 {
		only := func() bool {
			for i, r := range s.Row(row) {
				if value {
					r = ^r
				}
				if rest := x.n - 64*(first+i); rest < 64 {
					r &= mask(max(rest, 0))
				}
				if r != 0 {
					return false
				}
			}
			return true
		}
		at := first
		for _, in := range k.Inputs {
			for b := range in.Width {
				copy(s.Row(in.Base + b)[:], x.in[at:at+min(sram.GroupCols/64, x.w-first)])
				at += x.w
				if in.Base+b == row && !only() {
					return false
				}
			}
		}
		from := 0
		for i := range k.Instrs {
			m := &k.Instrs[i]
			if k.Tech.Ops[m.Op].Writes && int(m.Dst) == row {
				s.RunRange(from, i+1)
				from = i + 1
				if !only() {
					return false
				}
			}
		}
		s.RunRange(from, len(k.Instrs))
	}
	return true
}

// role says what a row holds, "" for one that is not used.
func (p *Program) role(row int) string {
	k := p.Kernel
	for _, ports := range [][]sram.Port{k.Inputs, k.Outputs} {
		for _, port := range ports {
			if row >= port.Base && row < port.Base+port.Width {
				return fmt.Sprintf("%s[%d]", port.Name, row-port.Base)
			}
		}
	}
	for _, r := range k.UsedRows() {
		if r != row {
			continue
		}
		if r >= k.Usable() {
			return fmt.Sprintf("constant %d", r-k.Usable())
		}
		return "scratch"
	}
	return ""
}
