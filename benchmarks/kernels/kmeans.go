package kernels

import "math"

func kmeansInner(d *Data) { kmeans(d) }

func kmeansOuter(d *Data) {
	k := d.n("K")
	distances(d, func(i, j int) int { return i*k + j })
	kmeans(d)
}

func kmeansTransposed(d *Data) {
	n := d.n("N")
	distances(d, func(i, j int) int { return j*n + i })
	kmeans(d)
}

// distances has those of points i and centres j.
func distances(d *Data, at func(i, j int) int) {
	p, c, dist := d.Floats["P"], d.Floats["C"], d.Floats["dist"]
	dim := d.n("D")
	for i := range d.n("N") {
		for j := range d.n("K") {
			dist[at(i, j)] = distance(p[i*dim:(i+1)*dim], c[j*dim:(j+1)*dim])
		}
	}
}

// transposed makes T the transpose of P.
func transposed(d *Data) {
	p, t := d.Floats["P"], d.Floats["T"]
	n, dim := d.n("N"), d.n("D")
	for i := range n {
		for l := range dim {
			t[l*n+i] = p[i*dim+l]
		}
	}
}

func distance(p, c []float32) float32 {
	var s float32
	for i := range p {
		t := p[i] - c[i]
		s += float32(t * t)
	}
	return s
}

func kmeans(d *Data) {
	p, c, best, nearest := d.Floats["P"], d.Floats["C"], d.Floats["best"], d.Ints["nearest"]
	sum, count := d.Floats["S"], d.Ints["count"]
	n, k, dim := d.n("N"), d.n("K"), d.n("D")
	for i := range n {
		best[i] = float32(math.Inf(1))
		for j := range k {
			if s := distance(p[i*dim:(i+1)*dim], c[j*dim:(j+1)*dim]); s < best[i] {
				best[i], nearest[i] = s, int32(j)
			}
		}
	}
	clear(sum)
	clear(count)
	for i := range n {
		j := int(nearest[i])
		count[j]++
		for l := range dim {
			sum[j*dim+l] += p[i*dim+l]
		}
	}
	for j := range k {
		if count[j] == 0 {
			continue
		}
		for l := range dim {
			c[j*dim+l] = sum[j*dim+l] / float32(count[j])
		}
	}
}
