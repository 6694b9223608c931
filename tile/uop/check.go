package uop

import "fmt"

// Check returns an error that says which micro-op of a batch breaks the invariants
// of the package.
func (b *Batch) Check() error {
	for i := range b.Ops {
		o := &b.Ops[i]
		if err := b.check(o); err != nil {
			return fmt.Errorf("uop: micro-op %d, %s at %d: %w", i, o.Kind, o.PC, err)
		}
		if o.Flags&Blocking != 0 && i != len(b.Ops)-1 {
			return fmt.Errorf("uop: micro-op %d, %s at %d: blocking, and not the last of its batch", i, o.Kind, o.PC)
		}
	}
	return nil
}

func (b *Batch) check(o *Op) error {
	if o.Kind >= NumKinds {
		return fmt.Errorf("no such kind")
	}
	for _, r := range append(o.Src[:], o.Dst) {
		if r >= NumRegs {
			return fmt.Errorf("register %d, expected less than %d", r, NumRegs)
		}
	}
	if o.Lanes < 1 {
		return fmt.Errorf("no lanes, expected at least 1")
	}
	if (o.RMW != NoRMW) != (o.Kind == Atomic) || o.RMW >= NumRMW {
		return fmt.Errorf("operation %s", o.RMW)
	}
	if o.Flags&Taken != 0 && o.Kind != Branch {
		return fmt.Errorf("taken, but no branch")
	}
	if !o.Kind.Memory() {
		if o.Size != 0 {
			return fmt.Errorf("%d bytes, but no access", o.Size)
		}
		return nil
	}
	each := int(o.Size) / int(o.Lanes)
	if o.Size < 1 || o.Size > 64 || each*int(o.Lanes) != int(o.Size) || each&(each-1) != 0 || each > 8 {
		return fmt.Errorf("%d bytes in %d lanes, expected 1, 2, 4 or 8 in each and at most 64", o.Size, o.Lanes)
	}
	if need := o.DataBytes(); int(o.Data)+need > len(b.Data) {
		return fmt.Errorf("data at %d, expected %d bytes inside of %d", o.Data, need, len(b.Data))
	}
	return nil
}
