package system

import "github.com/emirpasic/gods/maps/linkedhashmap"

// lru keeps values by keys, a number of them at most: those that were used lately. A
// value that was used since it came to the front of the queue gets a second chance at
// its end (Corbató, 1968), so that a use takes no search of the queue.
type lru[V any] struct {
	limit int
	queue *linkedhashmap.Map // of *kept[V]
}

type kept[V any] struct {
	v    V
	used bool
}

func newLRU[V any](limit int) *lru[V] { return &lru[V]{limit, linkedhashmap.New()} }

// get returns the value of a key, which counts as a use.
func (l *lru[V]) get(key any) (v V, ok bool) {
	x, ok := l.queue.Get(key)
	if !ok {
		return v, false
	}
	k := x.(*kept[V])
	k.used = true
	return k.v, true
}

// put adds a value, in place of another if there are as many as are kept.
func (l *lru[V]) put(key any, v V) {
	for l.queue.Size() >= l.limit {
		it := l.queue.Iterator()
		it.First()
		oldest, k := it.Key(), it.Value().(*kept[V])
		l.queue.Remove(oldest)
		if k.used {
			k.used = false
			l.queue.Put(oldest, k)
		}
	}
	l.queue.Put(key, &kept[V]{v: v})
}
