package se

import "maps"

// recent maps streams that may be under way. It forgets those of a core's groups that ended long
// ago when it has twice as many as it was left with the last time, so that forgetting takes a
// constant time for each that is put into it.
type recent[V any] []struct { // by core
	of   map[key]V
	most int
}

func (r recent[V]) get(k key) (v V, ok bool) {
	if int(k.core) < len(r) {
		v, ok = r[k.core].of[k]
	}
	return v, ok
}

func (r *recent[V]) set(k key, v V) {
	if more := int(k.core) + 1 - len(*r); more > 0 {
		*r = append(*r, make(recent[V], more)...)
	}
	c := &(*r)[k.core]
	if c.of == nil {
		c.of = map[key]V{}
	}
	if len(c.of) >= c.most {
		maps.DeleteFunc(c.of, func(old key, _ V) bool { return int32(k.group-old.group) >= windowGroups })
		c.most = 2*len(c.of) + windowGroups
	}
	c.of[k] = v
}

func (r recent[V]) remove(k key) {
	if int(k.core) < len(r) {
		delete(r[k.core].of, k)
	}
}

// forget removes the streams of a group.
func (r recent[V]) forget(core int, group uint32) {
	if core < len(r) {
		maps.DeleteFunc(r[core].of, func(k key, _ V) bool { return k.group == group })
	}
}
