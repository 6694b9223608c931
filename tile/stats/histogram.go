package stats

import (
	"math"
	"math/bits"
)

// subBits is the logarithm of the buckets of an octave: values in one bucket differ
// by at most an eighth.
const subBits = 3

// Histogram counts values by buckets: one for each value up to 15, then eight an
// octave. The zero value is empty.
type Histogram struct {
	Distribution
	buckets []uint64
}

// Sample counts a value.
func (h *Histogram) Sample(v uint64) {
	h.Distribution.Sample(v)
	i := bucketOf(v)
	for i >= len(h.buckets) {
		h.buckets = append(h.buckets, 0)
	}
	h.buckets[i]++
}

// bucketOf returns the number of the bucket of a value.
func bucketOf(v uint64) int {
	if v < 1<<subBits {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return shift<<subBits + int(v>>shift)
}

// bucketRange returns the least and the greatest value of a bucket.
func bucketRange(i int) (least, most uint64) {
	if i < 1<<subBits {
		return uint64(i), uint64(i)
	}
	shift := i>>subBits - 1
	least = uint64(i-shift<<subBits) << shift
	return least, least + 1<<shift - 1
}

// Bucket is a range of values, and how many of those counted are in it.
type Bucket struct {
	Least uint64 `json:"least"`
	Most  uint64 `json:"most"`
	Count uint64 `json:"count"`
}

// Buckets returns the buckets that are not empty, in order.
func (h *Histogram) Buckets() []Bucket {
	var list []Bucket
	for i, n := range h.buckets {
		if n > 0 {
			least, most := bucketRange(i)
			list = append(list, Bucket{least, most, n})
		}
	}
	return list
}

// Quantile returns the greatest value of the bucket with the value that a share q of
// the values do not exceed; 0 if there is none.
func (h *Histogram) Quantile(q float64) uint64 {
	rank := uint64(math.Ceil(q * float64(h.count)))
	rank = min(max(rank, 1), h.count)
	for i, n := range h.buckets {
		if n >= rank {
			_, most := bucketRange(i)
			return min(most, h.most)
		}
		rank -= n
	}
	return 0
}

// Add counts the values of another histogram.
func (h *Histogram) Add(g *Histogram) {
	h.Distribution.Add(&g.Distribution)
	for i, n := range g.buckets {
		for i >= len(h.buckets) {
			h.buckets = append(h.buckets, 0)
		}
		h.buckets[i] += n
	}
}

// sub returns the values counted since h was g. Their least and greatest are known to
// the bucket.
func (h Histogram) sub(g *Histogram) Histogram {
	d := Histogram{Distribution: h.Distribution.sub(&g.Distribution), buckets: append([]uint64(nil), h.buckets...)}
	for i, n := range g.buckets {
		d.buckets[i] -= n
	}
	if g.count == 0 {
		return d
	}
	first := true
	for i, n := range d.buckets {
		if n == 0 {
			continue
		}
		least, most := bucketRange(i)
		if first {
			d.least, first = max(least, h.least), false
		}
		d.most = min(most, h.most)
	}
	return d
}

func (h Histogram) clone() Histogram {
	h.buckets = append([]uint64(nil), h.buckets...)
	return h
}

// Distribution has the number, mean, deviation and extremes of values. The zero value
// is empty.
type Distribution struct {
	count, sum  uint64
	squares     float64
	least, most uint64
}

// Sample counts a value.
func (d *Distribution) Sample(v uint64) {
	if d.count == 0 || v < d.least {
		d.least = v
	}
	if v > d.most {
		d.most = v
	}
	d.count++
	d.sum += v
	d.squares += float64(v) * float64(v)
}

// Count returns the number of values, and Sum their sum.
func (d *Distribution) Count() uint64 { return d.count }

// Sum returns the sum of the values.
func (d *Distribution) Sum() uint64 { return d.sum }

// Min returns the least value, 0 if there is none. Of a difference of two
// distributions that are no histograms it is that of all values until then.
func (d *Distribution) Min() uint64 { return d.least }

// Max returns the greatest value, as Min does the least.
func (d *Distribution) Max() uint64 { return d.most }

// Mean returns the mean, 0 if there is no value.
func (d *Distribution) Mean() float64 {
	if d.count == 0 {
		return 0
	}
	return float64(d.sum) / float64(d.count)
}

// Deviation returns the standard deviation of the values, 0 for less than two.
func (d *Distribution) Deviation() float64 {
	if d.count < 2 {
		return 0
	}
	n := float64(d.count)
	return math.Sqrt(max(0, (d.squares-float64(d.sum)*(float64(d.sum)/n))/(n-1)))
}

// Add counts the values of another distribution.
func (d *Distribution) Add(g *Distribution) {
	if g.count == 0 {
		return
	}
	if d.count == 0 || g.least < d.least {
		d.least = g.least
	}
	d.most = max(d.most, g.most)
	d.count += g.count
	d.sum += g.sum
	d.squares += g.squares
}

func (d Distribution) sub(g *Distribution) Distribution {
	d.count -= g.count
	d.sum -= g.sum
	d.squares -= g.squares
	if d.count == 0 {
		d = Distribution{}
	}
	return d
}

// Level is a number that changes over time, such as the places of a queue in use:
// its mean over time, and its greatest value. The zero value is 0 from cycle 0 on.
type Level struct {
	value uint64
	since int64
	area  uint64 // value by cycles, until since
	most  uint64
}

// Set notes that the level is v from a cycle on, which is not before that of the last
// call.
func (l *Level) Set(now int64, v uint64) {
	l.area += l.value * uint64(now-l.since)
	l.value, l.since = v, now
	l.most = max(l.most, v)
}

// Value returns the level.
func (l *Level) Value() uint64 { return l.value }

// Max returns the greatest level there was.
func (l *Level) Max() uint64 { return l.most }

// Mean returns the mean over the cycles until now.
func (l *Level) Mean(now int64) float64 {
	if now <= 0 {
		return 0
	}
	return float64(l.Area(now)) / float64(now)
}

// Area returns the sum of the level over the cycles until now.
func (l *Level) Area(now int64) uint64 { return l.area + l.value*uint64(max(now-l.since, 0)) }
