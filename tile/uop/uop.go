package uop

import "fmt"

// Kind says which unit executes a micro-op.
type Kind uint8

// The kinds. A micro-op of more than one lane is a SIMD one, of the same kind.
const (
	IntALU  Kind = iota // addition, logic, shift, comparison, selection, move
	IntMul              //
	IntDiv              // and remainder
	FPAdd               // addition, subtraction, comparison, minimum, conversion
	FPMul               //
	FPFMA               // a*b+c, rounded once
	FPDiv               // and square root
	Shuffle             // moves between the lanes of a SIMD register
	Load                //
	Store               // both the address and the data
	Gather              // loads of lanes with addresses of their own
	Scatter             // stores likewise
	Atomic              // reads and writes in one, by RMW
	Branch              // conditional if it has a source, else always taken
	Fence               // nothing after it is performed before what is before it
	NumKinds
)

var kindNames = [NumKinds]string{"alu", "mul", "div", "fpadd", "fpmul", "fma", "fpdiv", "shuffle", "load", "store", "gather", "scatter", "atomic", "branch", "fence"}

func (k Kind) String() string {
	if k < NumKinds {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Memory reports whether micro-ops of the kind access memory.
func (k Kind) Memory() bool { return k >= Load && k <= Atomic }

// Lanes reports whether each lane of the kind has an address of its own.
func (k Kind) Lanes() bool { return k == Gather || k == Scatter }

// Flags say more about a micro-op.
type Flags uint8

// The flags.
const (
	Taken    Flags = 1 << iota // a branch that is taken
	Blocking                   // the thread waits for Resolve
	Racy                       // a load that the program declares to race: its value is not compared
	Backward                   // a branch to an earlier PC: that of a loop
)

// RMW is the operation of an Atomic. Its operands are integers of Size bytes, little
// endian, or floating-point numbers.
type RMW uint8

// The atomic operations. Memory has m, the operand is a, and CompareSwap has e too.
const (
	NoRMW       RMW = iota
	Exchange        // a
	Add             // m + a
	And             // m & a
	Or              // m | a
	Xor             // m ^ a
	Min             // of signed integers
	Max             //
	UMin            // of unsigned integers
	UMax            //
	CompareSwap     // a if m == e, else m
	FAdd            // of floating-point numbers of 4 or 8 bytes
	NumRMW
)

var rmwNames = [NumRMW]string{"none", "xchg", "add", "and", "or", "xor", "min", "max", "umin", "umax", "cas", "fadd"}

func (r RMW) String() string {
	if r < NumRMW {
		return rmwNames[r]
	}
	return fmt.Sprintf("RMW(%d)", uint8(r))
}

// Reg names a value of a thread; 0 is none.
type Reg uint16

// NumRegs is more than the greatest register of any program.
const NumRegs = 1 << 14

// Op is a micro-op.
type Op struct {
	// PC is where in the program the micro-op stands: one number for each static
	// micro-op, in the order of the program, for predictors and prefetchers.
	PC    uint32
	Kind  Kind
	Flags Flags
	RMW   RMW
	Lanes uint8 // elements that it computes or moves, 1 for scalar ones
	Dst   Reg
	Src   [3]Reg // of a Store, the data is Src[0]
	Size  uint16 // bytes that it accesses, in all lanes; 0 without memory
	// Addr is that of the first byte. Those of lanes are in the data, 8 bytes each,
	// in front of the values.
	Addr uint64
	// Data is where in the batch's Data the bytes begin that a load is expected to
	// return, a store writes, or an Atomic has as operands: a, or a and then e, each
	// of Size bytes.
	Data uint32
}

// DataBytes is how many bytes of the batch's Data belong to the micro-op.
func (o *Op) DataBytes() int {
	if !o.Kind.Memory() {
		return 0
	}
	n := int(o.Size)
	if o.Kind.Lanes() {
		n += 8 * int(o.Lanes)
	}
	if o.RMW == CompareSwap {
		n *= 2
	}
	return n
}

// Batch is a run of micro-ops of one thread, in its order.
type Batch struct {
	Ops  []Op
	Data []byte
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Ops, b.Data = b.Ops[:0], b.Data[:0] }

// Append adds a micro-op of another batch, with its data.
func (b *Batch) Append(from *Batch, o *Op) {
	x := *o
	x.Data = 0
	if n := uint32(o.DataBytes()); n > 0 {
		x.Data = uint32(len(b.Data))
		b.Data = append(b.Data, from.Data[o.Data:o.Data+n]...)
	}
	b.Ops = append(b.Ops, x)
}

// Skip drops the first n micro-ops, with their data. All must have come by Append.
func (b *Batch) Skip(n int) {
	bytes := uint32(0)
	for i := range b.Ops[:n] {
		bytes += uint32(b.Ops[i].DataBytes())
	}
	b.Ops = b.Ops[:copy(b.Ops, b.Ops[n:])]
	b.Data = b.Data[:copy(b.Data, b.Data[bytes:])]
	for i := range b.Ops {
		if o := &b.Ops[i]; o.DataBytes() > 0 {
			o.Data -= bytes
		}
	}
}

// Bytes returns the bytes that a micro-op of the batch reads or writes, without the
// addresses of lanes.
func (b *Batch) Bytes(o *Op) []byte {
	at := int(o.Data)
	if o.Kind.Lanes() {
		at += 8 * int(o.Lanes)
	}
	return b.Data[at : at+int(o.Size)]
}

// Status says how a thread goes on after a batch.
type Status uint8

// The states of a thread.
const (
	More Status = iota // there is more: call Next
	Wait               // the last micro-op is Blocking: call Resolve
	Done               // there was nothing more
)

// Thread hands out the micro-ops of one thread of a program in its order. It is used
// by one goroutine at a time; threads of a program may be used by several.
type Thread interface {
	// Next appends at most n micro-ops to the batch, and fewer only where the thread
	// waits or is done. The error is one of the program, such as a subscript that is
	// out of bounds.
	Next(b *Batch, n int) (Status, error)

	// Resolve goes on after Wait. old has the Size bytes that the last micro-op found
	// in memory, before it changed them.
	Resolve(old []byte) error
}

// Performer is a thread that wants to know at once what an atomic operation found that it waits
// for: Resolve comes some cycles after that.
type Performer interface {
	Performed(old []byte)
}

// Repeater is a thread that may wait in a loop for other threads.
type Repeater interface {
	// Again is Resolve, and Next for as many micro-ops as the last batch, if they are the
	// same; else it does nothing and is false.
	Again(old []byte) bool
}

// Skipper is a thread that can execute micro-ops without making them.
type Skipper interface {
	Thread
	// Skip executes about n micro-ops and returns how many, nothing where the next ones have to be
	// made by Next, which then makes few, until read is nil. It is told of the bytes that they
	// read, and write of those that they write, with what they are then.
	Skip(n uint64, read func(addr, bytes uint64), write func(addr uint64, data []byte)) Skipped
	// Within tells that more is to be skipped before time may go on.
	Within() bool
}

// Skipped is what a thread has executed without making it.
type Skipped struct {
	MicroOps  uint64
	Elsewhere int64 // iterations, of each stream that computes, of loops that would have left the core whole
}

// Program is a parallel program in memory.
type Program interface {
	// Threads are those that run at once; thread 0 is there from the beginning.
	Threads() []Thread
	// Segments are the parts of memory that the program uses.
	Segments() []Segment
}

// Segment is a part of memory: an array, or what the program keeps for barriers.
type Segment struct {
	Name string
	Addr uint64
	Data []byte // its contents before the run; len(Data) is its size
}
