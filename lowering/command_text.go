package lowering

import (
	"fmt"
	"strings"
)

// CommandText is a command with the operation and the rows of its step.
func (p *Plan) CommandText(c *Command) string {
	s := &p.Steps[c.Step]
	switch c.Kind {
	case Compute:
		operands := s.Args
		if s.Kind != ComputeStep {
			operands = operands[:2] // the third is the result
		}
		var args []string
		for _, a := range operands {
			if a.Const {
				args = append(args, fmt.Sprintf("#%d", a.Value))
			} else {
				args = append(args, fmt.Sprintf("%d+%d", a.Row, a.Bits))
			}
		}
		return fmt.Sprintf("%s %s rows %s to %d+%d", c, s.Program.Spec.Op, strings.Join(args, " "), c.Dst, c.Rows)
	case Near:
		return fmt.Sprintf("%s %s node %d", c, s.Kind, s.Node)
	}
	return c.String()
}
