package plan

import (
	"fmt"

	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

// buffers are those of platforms while a network that was planned as a whole is executed:
// what stays on a chip is in the bytes of its buffer, in the layout in which its layer left
// it, and is read from there. Room that was given back is given out again, so that what
// is read too late is seen.
type buffers struct {
	net    *dnn.Network
	values []value
	at     map[int]int // value of a node
	places []stateOf
	chips  []chipMemory
	pages  [][]int // of a value
	turned int64
}

type chipMemory struct {
	data []byte
	free []int // pages
}

func newBuffers(net *dnn.Network, j *joint, places []stateOf) *buffers {
	b := &buffers{net: net, values: j.values, at: map[int]int{}, places: places, pages: make([][]int, len(j.values))}
	for v := range j.values {
		b.at[j.values[v].node] = v
	}
	for _, p := range j.chips {
		var m chipMemory
		if p.Buffer != nil {
			n := int(p.Buffer.Bytes / pageBytes)
			m.data = make([]byte, n*pageBytes)
			for i := n - 1; i >= 0; i-- {
				m.free = append(m.free, i)
			}
		}
		b.chips = append(b.chips, m)
	}
	return b
}

// order calls f with the place of each element of a shape, in row-major order, when one
// dimension runs fastest.
func order(shape []int, lead int, f func(element, place int)) {
	inner := 1
	for _, e := range shape[lead+1:] {
		inner *= e
	}
	n := int(dnn.Elements(shape))
	e := shape[lead]
	for i := range n {
		in, at, out := i%inner, i/inner%e, i/inner/e
		f(i, (out*inner+in)*e+at)
	}
}

// width is the bytes of an activation.
func (b *buffers) width() int { return (b.net.Bits.Activation.Bits + 7) / 8 }

// store writes the result of a node into the buffer, if it stays there.
func (b *buffers) store(node int, values [][]int32) error {
	if b == nil {
		return nil
	}
	v, ok := b.at[node]
	if !ok || !b.places[v].inBuffer {
		return nil
	}
	x, w := values[node], b.width()
	m := &b.chips[b.places[v].chip]
	need := (len(x)*w + pageBytes - 1) / pageBytes
	if need > len(m.free) {
		return fmt.Errorf("%w: node %s: %d bytes do not fit a buffer with %d left", ErrCheck, b.net.Nodes[node].Name, len(x)*w, len(m.free)*pageBytes)
	}
	b.pages[v] = append([]int(nil), m.free[len(m.free)-need:]...)
	m.free = m.free[:len(m.free)-need]
	order(b.net.Nodes[node].Shape, b.places[v].layout, func(element, place int) {
		for k := range w {
			at := place*w + k
			m.data[b.pages[v][at/pageBytes]*pageBytes+at%pageBytes] = byte(x[element] >> (8 * k))
		}
	})
	values[node] = nil
	return nil
}

// fetch returns the result of a node: from the buffer, if it is there.
func (b *buffers) fetch(node int, elsewhere []int32) ([]int32, error) {
	if b == nil {
		return elsewhere, nil
	}
	v, ok := b.at[node]
	if !ok || !b.places[v].inBuffer {
		return elsewhere, nil
	}
	if b.pages[v] == nil {
		return nil, fmt.Errorf("%w: node %s is read when it has left the buffer", ErrCheck, b.net.Nodes[node].Name)
	}
	m, w := &b.chips[b.places[v].chip], b.width()
	out := make([]int32, dnn.Elements(b.net.Nodes[node].Shape))
	t := b.net.Bits.Activation
	order(b.net.Nodes[node].Shape, b.places[v].layout, func(element, place int) {
		x := uint32(0)
		for k := range w {
			at := place*w + k
			x |= uint32(m.data[b.pages[v][at/pageBytes]*pageBytes+at%pageBytes]) << (8 * k)
		}
		out[element] = int32(x)
		if t.Signed {
			out[element] = int32(x) << (32 - 8*w) >> (32 - 8*w)
		}
	})
	return out, nil
}

// turn brings what a layer reads into its layout, and reads it there: where no
// transposition was planned, in the layout in which it was left.
func (b *buffers) turn(node int, x []int32, c *Choice, operand int) []int32 {
	v, ok := b.at[node]
	if !ok {
		return x
	}
	shape := b.net.Nodes[node].Shape
	lie := make([]int32, len(x))
	order(shape, b.places[v].layout, func(element, place int) { lie[place] = x[element] })
	if c.Turned[operand] {
		to := make([]int32, len(x))
		from := make([]int, len(x)) // element of a place
		order(shape, b.places[v].layout, func(element, place int) { from[place] = element })
		target := make([]int, len(x))
		order(shape, c.Layouts[operand], func(element, place int) { target[element] = place })
		for place, e := range from {
			to[target[e]] = lie[place]
		}
		lie = to
		b.turned += int64(len(x))
	}
	out := make([]int32, len(x))
	order(shape, c.Layouts[operand], func(element, place int) { out[element] = lie[place] })
	return out
}

// release gives back what neither this layer nor a later one uses.
func (b *buffers) release(layer int) {
	if b == nil {
		return
	}
	for v := range b.values {
		if b.values[v].last < layer && b.pages[v] != nil {
			m := &b.chips[b.places[v].chip]
			for _, p := range b.pages[v] {
				clear(m.data[p*pageBytes : (p+1)*pageBytes])
			}
			m.free = append(m.free, b.pages[v]...)
			b.pages[v] = nil
		}
	}
}
