// Package bitrow computes functions of rows of 2048 bits: the gates of circuits on
// many patterns at once.
//
// [Run] is for the processor that the program runs on. The plain Go functions
// are there everywhere, are what the others are compared with, and are all that
// the build tag purego leaves.
package bitrow

// Words is the number of words of a row.
const Words = 32

// Row is 2048 bits.
type Row [Words]uint64

// Op is what a step computes of its operands a, b and c.
type Op uint32

// The operations. And and Xor do not read c.
const (
	And Op = iota
	Xor
	Xor3
	Maj
	Mux    // b where a is 1, else c
	And3   // a & b & c
	AndNot // ^(a & b) & c
)

// Step is a gate. Its destination, a row, may be one of the operands.
type Step struct {
	Op  Op
	Dst uint32
	In  [3]uint32 // row<<1 | complement; those that are not read name a row, too
}

// Set is a way to execute steps. All rows that they name must be there.
type Set struct {
	Name string
	Run  func(rows []Row, steps []Step)
}

// Sets are the ways for this processor, the fastest first, plain Go last.
var Sets = append(twins(), Set{"go", run})

// Run executes steps the fastest way.
func Run(rows []Row, steps []Step) { Sets[0].Run(rows, steps) }

func run(rows []Row, steps []Step) {
	for i := range steps {
		st := &steps[i]
		a, b, c, d := &rows[st.In[0]>>1], &rows[st.In[1]>>1], &rows[st.In[2]>>1], &rows[st.Dst]
		na, nb, nc := -uint64(st.In[0]&1), -uint64(st.In[1]&1), -uint64(st.In[2]&1)
		switch st.Op {
		case And:
			for k := range d {
				d[k] = (a[k] ^ na) & (b[k] ^ nb)
			}
		case Xor:
			n := na ^ nb
			for k := range d {
				d[k] = a[k] ^ b[k] ^ n
			}
		case Xor3:
			n := na ^ nb ^ nc
			for k := range d {
				d[k] = a[k] ^ b[k] ^ c[k] ^ n
			}
		case Maj:
			for k := range d {
				x, y, z := a[k]^na, b[k]^nb, c[k]^nc
				d[k] = x&y | (x|y)&z
			}
		case Mux:
			for k := range d {
				x := a[k] ^ na
				d[k] = x&(b[k]^nb) | ^x&(c[k]^nc)
			}
		case And3:
			for k := range d {
				d[k] = (a[k] ^ na) & (b[k] ^ nb) & (c[k] ^ nc)
			}
		case AndNot:
			for k := range d {
				d[k] = (c[k] ^ nc) &^ ((a[k] ^ na) & (b[k] ^ nb))
			}
		}
	}
}
