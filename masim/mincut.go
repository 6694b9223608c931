package masim

// noCut is the capacity of an arc that no minimum cut may pass.
const noCut = int32(1 << 29)

// flowNet is a flow network for minimum cuts by Dinic's algorithm. Arcs are
// kept in pairs: arc e^1 is the reverse of e. It is made to be rebuilt often:
// reset keeps the memory.
type flowNet struct {
	head  []int32 // by node: its first arc, -1 = none
	next  []int32 // by arc
	to    []int32
	room  []int32 // residual capacity
	level []int32
	cur   []int32
	queue []int32
	path  []int32
	work  int64 // arcs looked at
	most  int64 // of them in all, when maximise gives up; 0 = no limit
}

const source, sink = 0, 1

func (f *flowNet) reset(nodes int) {
	if cap(f.head) < nodes {
		f.head, f.level, f.cur = make([]int32, 2*nodes), make([]int32, 2*nodes), make([]int32, 2*nodes)
	}
	f.head, f.level, f.cur = f.head[:nodes], f.level[:nodes], f.cur[:nodes]
	for i := range f.head {
		f.head[i] = -1
	}
	f.next, f.to, f.room = f.next[:0], f.to[:0], f.room[:0]
}

func (f *flowNet) arc(u, v, room int32) {
	e := int32(len(f.to))
	f.to = append(f.to, v, u)
	f.room = append(f.room, room, 0)
	f.next = append(f.next, f.head[u], f.head[v])
	f.head[u], f.head[v] = e, e+1
}

// maximise pushes flow from source to sink until no path is left, or until it
// exceeds limit or the work its limit, and returns it: no more than the minimum
// cut in any case.
func (f *flowNet) maximise(limit int32) int32 {
	total := int32(0)
	for total <= limit && f.levels() {
		copy(f.cur, f.head)
		for f.augment() {
			push := noCut
			for _, e := range f.path {
				push = min(push, f.room[e])
			}
			for _, e := range f.path {
				f.room[e] -= push
				f.room[e^1] += push
			}
			total += push
			if total > limit || f.most > 0 && f.work > f.most {
				return total
			}
		}
	}
	return total
}

// maximiseMetered is maximise with the work that a meter has left.
func (f *flowNet) maximiseMetered(limit int32, m *meter) int32 {
	before := f.work
	f.most = before + max(m.left, 1)
	flow := f.maximise(limit)
	f.most = 0
	m.spend(f.work - before)
	return flow
}

// levels labels nodes by their distance from the source; false if the sink is
// out of reach.
func (f *flowNet) levels() bool {
	for i := range f.level {
		f.level[i] = -1
	}
	f.queue = append(f.queue[:0], source)
	f.level[source] = 0
	for i := 0; i < len(f.queue); i++ {
		u := f.queue[i]
		for e := f.head[u]; e >= 0; e = f.next[e] {
			f.work++
			if v := f.to[e]; f.room[e] > 0 && f.level[v] < 0 {
				f.level[v] = f.level[u] + 1
				if v == sink {
					return true
				}
				f.queue = append(f.queue, v)
			}
		}
	}
	return false
}

// augment finds a path of the level graph from source to sink.
func (f *flowNet) augment() bool {
	f.path = f.path[:0]
	for u := int32(source); u != sink; {
		e := f.cur[u]
		for e >= 0 && (f.room[e] <= 0 || f.level[f.to[e]] != f.level[u]+1) {
			e = f.next[e]
			f.work++
		}
		f.cur[u] = e
		if e >= 0 {
			f.path = append(f.path, e)
			u = f.to[e]
			continue
		}
		if len(f.path) == 0 {
			return false
		}
		f.level[u] = -1
		e = f.path[len(f.path)-1]
		f.path = f.path[:len(f.path)-1]
		u = f.to[e^1]
	}
	return true
}

// sourceSide labels with a level >= 0 the nodes on the source's side of the
// minimum cut that has the fewest nodes there.
func (f *flowNet) sourceSide() { f.reach(source, 0) }

// sinkSide labels with a level >= 0 the nodes on the sink's side of the minimum
// cut that has the fewest nodes there.
func (f *flowNet) sinkSide() { f.reach(sink, 1) }

func (f *flowNet) reach(from, reverse int32) {
	for i := range f.level {
		f.level[i] = -1
	}
	f.queue = append(f.queue[:0], from)
	f.level[from] = 0
	for i := 0; i < len(f.queue); i++ {
		for e := f.head[f.queue[i]]; e >= 0; e = f.next[e] {
			f.work++
			if v := f.to[e]; f.room[e^reverse] > 0 && f.level[v] < 0 {
				f.level[v] = 0
				f.queue = append(f.queue, v)
			}
		}
	}
}
