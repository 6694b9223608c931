package xmg

import "fmt"

// Effort is how hard an algorithm tries.
type Effort uint8

// The efforts.
const (
	Fast Effort = iota
	Normal
	High
)

func (e Effort) String() string {
	if e <= High {
		return [...]string{"fast", "normal", "high"}[e]
	}
	return fmt.Sprintf("effort(%d)", uint8(e))
}

// ParseEffort reads the name of an effort.
func ParseEffort(s string) (Effort, error) {
	for e := Fast; e <= High; e++ {
		if s == e.String() {
			return e, nil
		}
	}
	return 0, fmt.Errorf("xmg: effort %q, expected fast, normal or high", s)
}
