package memory

// Place gives arrays other addresses; those that none is given for stay where they are.
func (m *Memory) Place(bases map[string]uint64) {
	for name, base := range bases {
		if a := m.Arrays[name]; a != nil {
			a.Base = base
			m.end = max(m.end, (a.End()+pageBytes-1)/pageBytes*pageBytes)
		}
	}
}
