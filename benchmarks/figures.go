package benchmarks

// Figure is a drawing of a comparison.
type Figure struct {
	File string // name for it
	SVG  []byte
}

// Figures draws.
func (c *Comparison) Figures() []Figure { return nil }
