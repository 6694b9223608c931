package masim

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/bitsched/bitsched/sram"
	"github.com/bitsched/bitsched/xmg"
)

// WriteMASIM writes a program for a graph in the text form that the checker of
// the MASIM project reads:
//
//	Init:
//	PI 0 in Array 0 Row 0
//	PI 1 in Array 0 Row 1
//
//	Compute node 24 in Array 0 : 0 1 2 -> 24
//	Copy Array 1 Row 4 -> Array 0 Row 176
//
// Nodes are numbered from 0, inputs first, then the gates in the order of the
// graph. The operand rows of a gate are those of its fanins that are inputs,
// then those of its fanins that are gates, each in the order of
// [xmg.Graph.Fanins]; constants are left out. The form says neither what a gate
// computes nor which values are negated: its reader has the graph.
//
// The program is checked first, except that gates may be computed again; a rule
// that it breaks gives the error of [Check] and nothing is written. Other errors
// are those of w.
func WriteMASIM(w io.Writer, g *xmg.Graph, p *sram.Program) error {
	if _, err := Check(g, p, CheckOptions{Rematerialize: true}); err != nil {
		return err
	}
	c := newChecker(g, p)
	if err := c.start(); err != nil {
		return err
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	line := []byte("Init:\n") // one line after another
	num := func(before string, n int) {
		line = strconv.AppendInt(append(line, before...), int64(n), 10)
	}
	for i, in := range p.Inputs {
		num("PI ", i)
		num(" in Array ", in.Array)
		num(" Row ", in.Row)
		line = append(line, '\n')
		if _, err := bw.Write(line); err != nil {
			return fmt.Errorf("masim: %w", err)
		}
		line = line[:0]
	}
	line = append(line, '\n')
	for i := range p.Instrs {
		ins := &p.Instrs[i]
		// What the operands hold, before the result may replace one of them.
		var node [3]int
		if ins.Op != sram.Copy {
			for j, s := range ins.Src {
				if !s.IsConst() {
					node[j] = xmg.Lit(c.held.Get(int(ins.Array), s.Row())).Node()
				}
			}
		}
		if rule, msg := c.step(ins, true); msg != "" {
			return &RuleError{rule, i, *ins, msg}
		}
		if ins.Op == sram.Copy {
			num("Copy Array ", int(ins.From))
			num(" Row ", ins.Src[0].Row())
			num(" -> Array ", int(ins.Array))
			num(" Row ", int(ins.Dst))
		} else {
			id := xmg.Lit(c.held.Get(int(ins.Array), int(ins.Dst))).Node()
			num("Compute node ", id-1)
			num(" in Array ", int(ins.Array))
			line = append(line, " :"...)
			fanins := g.Fanins(id)
			for _, gates := range []bool{false, true} {
				for _, l := range fanins {
					n := l.Node()
					if n == 0 || g.IsGate(n) != gates {
						continue
					}
					for j, s := range ins.Src {
						if node[j] == n {
							num(" ", s.Row())
						}
					}
				}
			}
			num(" -> ", int(ins.Dst))
		}
		line = append(line, '\n')
		if _, err := bw.Write(line); err != nil {
			return fmt.Errorf("masim: %w", err)
		}
		line = line[:0]
	}
	if _, err := bw.Write(line); err != nil { // of a program without instructions
		return fmt.Errorf("masim: %w", err)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("masim: %w", err)
	}
	return nil
}
