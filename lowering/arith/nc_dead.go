package arith

import "github.com/bitsched/bitsched/sram"

// removeDead removes the instructions of a kernel that nothing depends on: what
// they write or latch is not read before it is written or latched again, and is
// not in a result. Microcode is assembled of parts, the last of which may leave a
// carry or a remainder that nobody asks for. One pass backwards takes time linear
// in the kernel.
func removeDead(k *sram.Kernel) {
	live := make([]bool, k.Rows)
	for _, o := range k.Outputs {
		for i := range o.Width {
			live[o.Base+i] = true
		}
	}
	var latches sram.Latch // that are live
	at := len(k.Instrs)    // the instructions from here on are kept
	for i := len(k.Instrs) - 1; i >= 0; i-- {
		m := k.Instrs[i]
		info := &k.Tech.Ops[m.Op]
		if !(info.Writes && live[m.Dst]) && info.Sets&latches == 0 {
			continue
		}
		at--
		k.Instrs[at] = m
		if info.Writes && !m.Masked {
			live[m.Dst] = false
		}
		latches &^= info.Sets
		if !info.Resets || m.Src[0] != m.Src[1] {
			latches |= info.Reads
		}
		if m.Masked {
			latches |= sram.Tag
		}
		for _, s := range m.Src[:info.Operands] {
			if !s.IsConst() {
				live[s.Row()] = true
			}
		}
	}
	k.Instrs = append(k.Instrs[:0], k.Instrs[at:]...)
}
