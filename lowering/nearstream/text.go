package nearstream

import (
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
)

// Pattern is the address pattern of table II, with that of several operands.
func (s *Stream) Pattern() string {
	if s.Address == Affine && s.MultiOperand() {
		return stream.MultiOperand.String()
	}
	return s.Address.String()
}

// Computes says what is computed with the stream, and from what.
func (s *Stream) Computes() string {
	var parts []string
	if n := len(s.Ops); n > 0 {
		where := "a function"
		if s.OnPE() {
			where = "the scalar PE"
		}
		parts = append(parts, fmt.Sprintf("%d op (%s)", n, where))
		if n > 1 {
			parts[0] = fmt.Sprintf("%d ops (%s)", n, where)
		}
	}
	var names []string
	for _, in := range s.Inputs {
		names = append(names, in.Name)
	}
	if len(names) > 0 {
		parts = append(parts, "takes "+strings.Join(names, " "))
	}
	return strings.Join(parts, ", ")
}

// Sends says what goes to the core.
func (s *Stream) Sends() string {
	switch {
	case s.Place == InCore:
		return ""
	case s.Place == AddressNear:
		return "elements, " + s.Element.String()
	case s.Result != scalar.Invalid:
		return s.Result.String()
	case s.Final:
		return "the last value"
	}
	return "nothing"
}

// Verdict is a sentence on the whole function.
func (p *Plan) Verdict() string {
	near, address, core, atomic := 0, 0, 0, 0
	decoupled := 0
	for _, s := range p.Streams {
		switch s.Place {
		case Near:
			near++
			if s.Atomic {
				atomic++
			}
		case AddressNear:
			address++
		default:
			core++
		}
	}
	for _, l := range p.Loops {
		if l.Decoupled {
			decoupled++
		}
	}
	text := fmt.Sprintf("%d of %d accesses and reductions in loops can compute, store or feed others near the L3", near, len(p.Streams))
	if atomic > 0 {
		text += fmt.Sprintf(" (%d atomic)", atomic)
	}
	if address > 0 {
		text += fmt.Sprintf(", %d can be fetched from there", address)
	}
	if core > 0 {
		text += fmt.Sprintf(", %d stay in the core", core)
	}
	if decoupled > 0 {
		text += fmt.Sprintf("; %d loops could vanish with s_sync_free", decoupled)
	}
	return text
}
