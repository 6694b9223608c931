package arith

import (
	"slices"

	"github.com/bitsched/bitsched/sram"
)

// tidy removes commands without effect, joins a store with the load of what it
// stored, and gives scratch rows of the array, from the end of the result on, to
// the rows of the commands. It returns the rows that the kernel needs.
func tidy(k *sram.Kernel, code []command) ([]sram.Micro, int) {
	for {
		n := len(code)
		code = joinStores(k, removeUnread(k, code))
		if len(code) == n {
			break
		}
	}
	out := k.Outputs[0]
	base := out.Base + out.Width
	last := map[int]int{} // command that reads or writes a row last
	for i, c := range code {
		for _, r := range [...]int{c.dst, c.src} {
			if r >= base {
				last[r] = i
			}
		}
	}
	at := map[int]int{}
	var used []bool
	micros := make([]sram.Micro, 0, len(code))
	for i, c := range code {
		m := sram.Micro{Op: c.op}
		switch {
		case c.src == zeroRow:
			m.Src[0] = sram.Zero
		case c.src == oneRow:
			m.Src[0] = sram.One
		case c.src >= base:
			m.Src[0] = sram.Row(base+at[c.src], false)
		case c.src >= 0:
			m.Src[0] = sram.Row(c.src, false)
		}
		if c.src >= base && last[c.src] == i {
			used[at[c.src]] = false
		}
		if c.dst >= base {
			r, ok := at[c.dst]
			if !ok {
				if r = slices.Index(used, false); r < 0 {
					r = len(used)
					used = append(used, false)
				}
				at[c.dst] = r
			}
			used[r] = last[c.dst] > i
			m.Dst = uint16(base + r)
		} else if c.dst >= 0 {
			m.Dst = uint16(c.dst)
		}
		micros = append(micros, m)
	}
	return micros, base + len(used)
}

// removeUnread removes what sets rows and cells that nobody reads, and makes an
// AAP of a triple that stores for nobody an AP.
func removeUnread(k *sram.Kernel, code []command) []command {
	out := k.Outputs[0]
	live := map[int]bool{}
	for r := range out.Width {
		live[out.Base+r] = true
	}
	var cells sram.Latch // that are read later
	var kept []command
	for _, c := range slices.Backward(code) {
		info := &k.Tech.Ops[c.op]
		stores := c.dst >= 0 && live[c.dst]
		if c.dst >= 0 && !stores {
			if op, ok := sram.APOf(c.op); ok {
				c, info = command{op, noRow, noRow}, &k.Tech.Ops[op]
			}
		}
		if !stores && info.Sets&cells == 0 {
			continue
		}
		if c.dst >= 0 {
			live[c.dst] = false
		}
		cells = cells&^info.Sets | info.Reads
		if c.src >= 0 {
			live[c.src] = true
		}
		kept = append(kept, c)
	}
	slices.Reverse(kept)
	return kept
}

// joinStores makes one command of one that stores a row and the next, which loads
// that row, where nobody else reads the row.
func joinStores(k *sram.Kernel, code []command) []command {
	out := k.Outputs[0]
	reads := map[int]int{}
	for _, c := range code {
		if c.src >= 0 {
			reads[c.src]++
		}
	}
	var kept []command
	for i := 0; i < len(code); i++ {
		c := code[i]
		if i+1 < len(code) && c.dst >= 0 && code[i+1].src == c.dst && reads[c.dst] == 1 && (c.dst < out.Base || c.dst >= out.Base+out.Width) {
			if op, ok := sram.JoinAAP(c.op, code[i+1].op); ok {
				c = command{op, code[i+1].dst, c.src}
				i++
			}
		}
		kept = append(kept, c)
	}
	return kept
}
