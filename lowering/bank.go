package lowering

// Banks appends to dst the banks that hold a tile of the pattern, in ascending
// order: those that must execute a command on it (Infinity Stream, section 4.2,
// step 3). Tiles lie contiguously, perBank of them in each bank. A bank expands
// the pattern for its own tiles, so that the command itself stays as it is.
//
// It takes time proportional to the banks found.
func Banks(dst []int, tiles Pattern, perBank int) []int {
	x, ok := tiles.Next(0)
	for ok {
		bank := x / perBank
		dst = append(dst, bank)
		x, ok = tiles.Next((bank + 1) * perBank)
	}
	return dst
}

// CrossesBanks reports whether a shift moves bits from one bank to another, which
// takes the network between them, and not just the H-tree of each bank.
func (s *Shift) CrossesBanks(perBank int) bool {
	if s.TileDist == 0 {
		return false
	}
	for t := range s.Tiles.All() {
		if t/perBank != (t+s.TileDist)/perBank {
			return true
		}
	}
	return false
}
