package lowering

import (
	"github.com/bitsched/bitsched/tdfg"
)

// next returns the position of the next use of a value.
func (p *planner) next(v *value) int {
	first := len(p.order) + 1
	for _, id := range v.nodes {
		for _, u := range p.uses[id] {
			if u >= p.at {
				first = min(first, u)
				break
			}
		}
	}
	return first
}

// spill moves the value whose next use is furthest to memory, and reports whether
// there was one. What the step at hand uses stays.
func (p *planner) spill() bool {
	var pick *value
	for _, v := range p.values {
		if !v.held && !v.spilled && (pick == nil || p.next(v) > p.next(pick)) {
			pick = v
		}
	}
	if pick == nil {
		return false
	}
	if pick.slot < 0 {
		pick.slot = p.plan.Slots
		p.plan.Slots++
		p.emit(Step{Kind: SpillStep, Node: pick.nodes[0], Src: pick.reg, Slot: pick.slot})
	}
	p.free(pick.reg)
	pick.spilled = true
	return true
}

// fetch returns the register of a node's value, reloaded if it was spilled, and
// holds it until the step is done.
func (p *planner) fetch(id tdfg.NodeID) (Register, error) {
	l := p.loc[id]
	v := l.val
	if v.spilled {
		r, err := p.take(v.reg.Bits)
		if err != nil {
			return r, err
		}
		v.reg, v.spilled = r, false
		p.emit(Step{Kind: ReloadStep, Node: v.nodes[0], Dst: r, Slot: v.slot})
	}
	v.held = true
	return Register{v.reg.Row, l.bits}, nil
}

// letGo ends the holding of all values.
func (p *planner) letGo() {
	for _, v := range p.values {
		v.held = false
	}
}

// make gives a node a new value in rows of its own.
func (p *planner) make(bits int) (*value, error) {
	r, err := p.take(bits)
	if err != nil {
		return nil, err
	}
	v := &value{reg: r, array: -1, slot: -1, held: true}
	p.values = append(p.values, v)
	return v, nil
}
