package netlist

// signals are the named signals of a text file while it is read: what drives
// each of them, or where it was first mentioned if nothing does yet.
//
// A definition (a gate or an assignment) whose fanins are all known becomes
// nodes at once; the others wait in the reader until the file has ended.
type signals struct {
	*scanner
	net  *Network
	name []string
	lit  []Lit   // unset until the signal is known
	def  []int32 // what drives the signal: see below
	at   []pos   // where it is driven, or where it was first mentioned
}

// What drives a signal, in signals.def. Values from 0 are definitions that wait.
const (
	defNone  = -1
	defInput = -2
	defBuilt = -3
)

// add makes a signal that is first mentioned at a place.
func (w *signals) add(name string, at pos) int32 {
	w.name = append(w.name, name)
	w.lit = append(w.lit, unset)
	w.def = append(w.def, defNone)
	w.at = append(w.at, at)
	return int32(len(w.name) - 1)
}

// input makes a signal an input of the network.
func (w *signals) input(sig int32, at pos) error {
	if err := w.declareInput(sig, at); err != nil {
		return err
	}
	w.makeInput(sig)
	return nil
}

// declareInput notes that a signal is an input, which makeInput makes later.
func (w *signals) declareInput(sig int32, at pos) error {
	switch w.def[sig] {
	case defNone:
	case defInput:
		return w.errAt(at, "%s is already an input (line %d), expected it once", clip(w.name[sig]), w.at[sig].line)
	default:
		return w.errAt(at, "%s is already driven (line %d), expected an input without a driver", clip(w.name[sig]), w.at[sig].line)
	}
	w.def[sig] = defInput
	w.at[sig] = at
	return nil
}

func (w *signals) makeInput(sig int32) { w.lit[sig] = w.net.AddInput(w.name[sig]) }

// drive notes that a definition drives a signal.
func (w *signals) drive(sig, def int32, at pos) error {
	switch w.def[sig] {
	case defNone:
	case defInput:
		return w.errAt(at, "%s is an input (line %d), expected a signal without a driver", clip(w.name[sig]), w.at[sig].line)
	default:
		return w.errAt(at, "%s is already driven (line %d), expected one driver", clip(w.name[sig]), w.at[sig].line)
	}
	w.def[sig] = def
	w.at[sig] = at
	return nil
}

// built notes what a signal is. The gate that was made for it, the last of the
// network, takes its name; a buffer or an inverter makes no gate.
func (w *signals) built(sig int32, l Lit, nodesBefore int) {
	w.def[sig] = defBuilt
	w.lit[sig] = l
	if l.Node() >= nodesBefore && w.name[sig] != "" {
		w.net.SetLitName(l, w.name[sig])
	}
}

// undriven returns the error of a signal that is used but not driven.
func (w *signals) undriven(sig int32) error {
	return w.errAt(w.at[sig], "%s is not driven, expected an input or a definition of it", clip(w.name[sig]))
}

// resolve builds the definitions that wait, in an order in which each comes
// after those that it needs. fanins appends to buf the signals that a
// definition reads, out is the signal that it drives.
func (w *signals) resolve(defs int, out func(def int32) int32, fanins func(def int32, buf []int32) []int32, build func(def int32)) error {
	var missing []int32
	cycle := topological(defs, func(d int32, buf []int32) []int32 {
		from := len(buf)
		buf = fanins(d, buf)
		to := from
		for _, sig := range buf[from:] {
			switch def := w.def[sig]; {
			case def == defNone:
				missing = append(missing, sig)
			case def >= 0:
				buf[to] = def
				to++
			}
		}
		return buf[:to]
	}, func(d int32) {
		if len(missing) == 0 {
			build(d)
		}
	})
	if cycle != nil {
		sig := out(cycle[0])
		return w.errAt(w.at[sig], "%s", cycleMessage(len(cycle), func(i int) string { return w.name[out(cycle[i])] }))
	}
	if len(missing) > 0 {
		first := missing[0]
		for _, sig := range missing {
			if a, b := w.at[sig], w.at[first]; a.line < b.line || a.line == b.line && a.col < b.col {
				first = sig
			}
		}
		return w.undriven(first)
	}
	return nil
}

// outputs adds the primary outputs.
func (w *signals) outputs(sigs []int32) error {
	for _, sig := range sigs {
		if w.lit[sig] == unset {
			return w.undriven(sig)
		}
		w.net.AddOutput(w.name[sig], w.lit[sig])
	}
	return nil
}
