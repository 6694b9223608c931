package sat

// heap is a priority queue of the variables of a query, the most active first
// and of equals the one that the query named first.
type heap struct {
	activity []float64 // by variable
	place    []int32   // by variable: index in items, or -1
	rank     []int32   // by variable: where the query named it
	query    []int32   // by variable: the last query that named it
	now      int32
	items    []int32
}

func (h *heap) add() {
	h.activity = append(h.activity, 0)
	h.place = append(h.place, -1)
	h.rank = append(h.rank, 0)
	h.query = append(h.query, 0)
}

// empty takes all variables away.
func (h *heap) empty() {
	h.activity, h.place, h.rank, h.query, h.items = h.activity[:0], h.place[:0], h.rank[:0], h.query[:0], h.items[:0]
}

// reset makes the queue that of the given variables.
func (h *heap) reset(vars []int32) {
	for _, v := range h.items {
		h.place[v] = -1
	}
	h.items = h.items[:0]
	h.now++
	for i, v := range vars {
		h.query[v] = h.now
		h.rank[v] = int32(i)
		h.place[v] = int32(i)
		h.items = append(h.items, v)
	}
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// before tells whether variable a comes before b.
func (h *heap) before(a, b int32) bool {
	if h.activity[a] != h.activity[b] {
		return h.activity[a] > h.activity[b]
	}
	return h.rank[a] < h.rank[b]
}

// push puts a variable back, if the query named it.
func (h *heap) push(v int32) {
	if h.query[v] != h.now || h.place[v] >= 0 {
		return
	}
	h.place[v] = int32(len(h.items))
	h.items = append(h.items, v)
	h.up(v)
}

// pop takes the first variable out.
func (h *heap) pop() (int32, bool) {
	n := len(h.items) - 1
	if n < 0 {
		return 0, false
	}
	v := h.items[0]
	h.place[v] = -1
	last := h.items[n]
	h.items = h.items[:n]
	if n > 0 {
		h.items[0] = last
		h.place[last] = 0
		h.down(0)
	}
	return v, true
}

// up restores the order after v has become more active.
func (h *heap) up(v int32) {
	i := int(h.place[v])
	if i < 0 {
		return
	}
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(v, h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		h.place[h.items[i]] = int32(i)
		i = parent
	}
	h.items[i] = v
	h.place[v] = int32(i)
}

func (h *heap) down(i int) {
	v := h.items[i]
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if child+1 < len(h.items) && h.before(h.items[child+1], h.items[child]) {
			child++
		}
		if !h.before(h.items[child], v) {
			break
		}
		h.items[i] = h.items[child]
		h.place[h.items[i]] = int32(i)
		i = child
	}
	h.items[i] = v
	h.place[v] = int32(i)
}
