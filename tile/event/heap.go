package event

// push puts an event into the heap.
func (e *Engine) push(f far) {
	e.overflow = append(e.overflow, f)
	e.up(len(e.overflow) - 1)
}

// removeFar takes the event at a place out of the heap.
func (e *Engine) removeFar(at int) {
	last := len(e.overflow) - 1
	f := e.overflow[last]
	e.overflow = e.overflow[:last]
	if at == last {
		return
	}
	e.place(at, f)
	e.down(at)
	e.up(at)
}

func (e *Engine) place(at int, f far) {
	e.overflow[at] = f
	e.nodes[f.node].heap = int32(at)
}

func (e *Engine) up(at int) {
	f := e.overflow[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !f.before(e.overflow[parent]) {
			break
		}
		e.place(at, e.overflow[parent])
		at = parent
	}
	e.place(at, f)
}

func (e *Engine) down(at int) {
	f := e.overflow[at]
	for {
		child := 2*at + 1
		if child >= len(e.overflow) {
			break
		}
		if child+1 < len(e.overflow) && e.overflow[child+1].before(e.overflow[child]) {
			child++
		}
		if !e.overflow[child].before(f) {
			break
		}
		e.place(at, e.overflow[child])
		at = child
	}
	e.place(at, f)
}
