package netlist

import (
	"strconv"
	"strings"
)

// namer gives every input, output and gate of a network one name in a format
// that needs them. [Write] says by which rules.
//
// Unnamed signals take no memory: their names are a prefix that nothing else
// has, and a number.
type namer struct {
	net     *Network
	inputs  []string // "" for one that is unnamed
	outputs []string
	gates   []string // by node id; may be shorter than the nodes
	// implied[i]: output i has the name of the signal that drives it, so that
	// there is nothing to write for it.
	implied                           []bool
	inputPrefix, outputPrefix, prefix string
	used                              map[string]int32
}

// How a name is used, in namer.used. Values from 0 are an output that waits for
// the gate that may share its name.
const (
	nameWanted = -1
	nameTaken  = -2
)

// newNamer names the signals of a network. legal maps a name to one that the
// format can say. share tells whether an output may have the name of the input
// that drives it. reserved names are not given to anything.
func newNamer(n *Network, legal func(string) string, share bool, reserved ...string) *namer {
	w := &namer{net: n, used: make(map[string]int32)}
	w.inputs = make([]string, n.NumInputs())
	w.outputs = make([]string, n.NumOutputs())
	w.implied = make([]bool, n.NumOutputs())
	w.gates = make([]string, len(n.names))
	want := func(name string) string {
		if name != "" {
			name = legal(name)
			w.used[name] = nameWanted
		}
		return name
	}
	for i := range w.inputs {
		w.inputs[i] = want(n.InputName(i))
	}
	for i, o := range n.outputs {
		w.outputs[i] = want(o.Name)
	}
	for id, name := range n.names {
		if k := n.nodes[id].kind; k != Input && k != Const {
			w.gates[id] = want(name)
		}
	}
	for _, name := range reserved {
		w.used[name] = nameTaken
	}
	inputOf := make(map[string]int) // the node of each input name
	for i, name := range w.inputs {
		if name == "" {
			continue
		}
		w.inputs[i] = w.take(name, nameTaken)
		if share {
			inputOf[w.inputs[i]] = n.Input(i)
		}
	}
	for i, name := range w.outputs {
		if name == "" {
			continue
		}
		if id, ok := inputOf[name]; ok && n.outputs[i].Lit == MakeLit(id, false) {
			delete(inputOf, name) // for one output only
			w.implied[i] = true
			continue
		}
		w.outputs[i] = w.take(name, int32(i))
	}
	for id, name := range w.gates {
		if name == "" {
			continue
		}
		switch by := w.used[name]; {
		case by == nameWanted:
			w.used[name] = nameTaken
		case by >= 0 && n.outputs[by].Lit == MakeLit(id, n.nodes[id].flip):
			w.used[name] = nameTaken
			w.implied[by] = true
		default:
			w.gates[id] = ""
		}
	}
	w.inputPrefix, w.outputPrefix, w.prefix = w.free("i"), w.free("o"), w.free("n")
	return w
}

// take returns a name that no other port has: the wanted one, or the first of
// name_2, name_3 and so on that is not used.
func (w *namer) take(name string, by int32) string {
	if w.used[name] == nameWanted {
		w.used[name] = by
		return name
	}
	for k := 2; ; k++ {
		other := name + "_" + strconv.Itoa(k)
		if _, ok := w.used[other]; !ok {
			w.used[other] = by
			return other
		}
	}
}

// free returns a prefix that, with a number behind it, is no name in use.
func (w *namer) free(prefix string) string {
	for {
		clash := false
		for name := range w.used {
			if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && strings.Trim(rest, "0123456789") == "" {
				clash = true
				break
			}
		}
		if !clash {
			return prefix
		}
		prefix += "_"
	}
}

// freeSuffix returns a suffix that no name in use has.
func (w *namer) freeSuffix(suffix string) string {
	for {
		clash := false
		for name := range w.used {
			if strings.HasSuffix(name, suffix) {
				clash = true
				break
			}
		}
		if !clash {
			return suffix
		}
		suffix += "_"
	}
}

// input appends the name of input i.
func (w *namer) input(b []byte, i int) []byte {
	if w.inputs[i] != "" {
		return append(b, w.inputs[i]...)
	}
	return strconv.AppendInt(append(b, w.inputPrefix...), int64(i), 10)
}

// output appends the name of output i.
func (w *namer) output(b []byte, i int) []byte {
	if w.outputs[i] != "" {
		return append(b, w.outputs[i]...)
	}
	return strconv.AppendInt(append(b, w.outputPrefix...), int64(i), 10)
}

// gate appends the name of a gate.
func (w *namer) gate(b []byte, id int) []byte {
	if id < len(w.gates) && w.gates[id] != "" {
		return append(b, w.gates[id]...)
	}
	return strconv.AppendInt(append(b, w.prefix...), int64(id), 10)
}

// flipped reports whether the name of a node is that of its complement.
func (w *namer) flipped(id int) bool {
	return w.net.nodes[id].flip && id < len(w.gates) && w.gates[id] != ""
}

// node appends the name of an input or gate.
func (w *namer) node(b []byte, id int, index []int32) []byte {
	if w.net.nodes[id].kind == Input {
		return w.input(b, int(index[id]))
	}
	return w.gate(b, id)
}

// inputIndex returns the input that each node is, for networks whose inputs are
// anywhere. It is nil beyond the last input.
func inputIndex(n *Network) []int32 {
	if len(n.inputs) == 0 {
		return nil
	}
	index := make([]int32, n.inputs[len(n.inputs)-1]+1)
	for i, id := range n.inputs {
		index[id] = int32(i)
	}
	return index
}

// replaceIn returns a mapping of names that replaces control characters, white
// space and other characters of a set by underscores.
func replaceIn(set string) func(string) string {
	bad := func(c byte) bool { return c <= ' ' || c == 0x7f || strings.IndexByte(set, c) >= 0 }
	return func(name string) string {
		for i := range len(name) {
			if bad(name[i]) {
				b := []byte(name)
				for j := i; j < len(b); j++ {
					if bad(b[j]) {
						b[j] = '_'
					}
				}
				return string(b)
			}
		}
		return name
	}
}
