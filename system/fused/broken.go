package fused

// Broken is a part of what keeps values right between cores and bitlines that a test leaves out, to
// see that it is missed; those of streams are in se.
type Broken string

// The parts.
const (
	NoRefresh   Broken = "lines that cores changed do not come to bitlines again"
	NoNewest    Broken = "a core does not get what bitlines hold"
	NoSettle    Broken = "threads do not see what arrays computed"
	NoPartition Broken = "programs have no arrays of their own"
)
