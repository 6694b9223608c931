package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/bitsched/bitsched/tdfg/scalar"
)

// even refuses an odd number of steps, whose result would be in the other array.
func (w *workspace) even() error {
	if t := w.n("T"); t%2 != 0 {
		return fmt.Errorf("kernels: T=%d steps, expected an even number", t)
	}
	return nil
}

func makePathfinder(w *workspace) error {
	n, t := w.n("N"), w.n("T")
	next := func(r *rand.Rand) int32 { return r.Int32N(10) }
	add(w, "W", random(w, t*n, next), t, n)
	add(w, "A", random(w, n, next))
	add(w, "B", make([]int32, n))
	return w.even()
}

// checkPathfinder goes through all cells from above.
func checkPathfinder(before, after *workspace) error {
	n, wall, sum := before.n("N"), get[int32](before, "W"), get[int32](before, "A")
	for t := range before.n("T") {
		next := make([]int32, n)
		for i := range next {
			next[i] = math.MaxInt32
			for _, j := range []int{i - 1, i, i + 1} {
				if j >= 0 && j < n {
					next[i] = min(next[i], sum[j]+wall[t*n+i])
				}
			}
		}
		sum = next
	}
	return differ(after, "A", sum)
}

// image is a grid whose cells outside repeat those of its border.
type image struct {
	data    []float32
	l, n, m int
}

func (x *image) at(z, i, j int) float32 {
	z, i, j = min(max(z, 0), x.l-1), min(max(i, 0), x.n-1), min(max(j, 0), x.m-1)
	return x.data[(z*x.n+i)*x.m+j]
}

// mapped returns the image of what f says of each cell.
func (x *image) mapped(f func(z, i, j int) float32) *image {
	y := &image{make([]float32, len(x.data)), x.l, x.n, x.m}
	for z := range x.l {
		for i := range x.n {
			for j := range x.m {
				y.data[(z*x.n+i)*x.m+j] = f(z, i, j)
			}
		}
	}
	return y
}

func makeSrad(w *workspace) error {
	n, m := w.n("N"), w.n("M")
	add(w, "J", random(w, n*m, func(r *rand.Rand) float32 { return float32(math.Exp(r.Float64())) }), n, m)
	for _, name := range []string{"C", "dN", "dS", "dW", "dE"} {
		add(w, name, make([]float32, n*m), n, m)
	}
	add(w, "S", make([]float32, n))
	add(w, "S2", make([]float32, n))
	w.m.Scalars["lambda"] = scalar.FromFloat(scalar.FP32, 0.5)
	if m < 2 {
		return fmt.Errorf("kernels: M=%d, expected at least 2", m)
	}
	return nil
}

func checkSrad(before, after *workspace) error {
	x := &image{get[float32](before, "J"), 1, before.n("N"), before.n("M")}
	lambda := before.scalar("lambda")
	size := float32(x.n) * float32(x.m)
	for range before.n("T") {
		var sum, sum2 float32
		for i := range x.n {
			var s, s2 float32
			for _, v := range x.data[i*x.m : (i+1)*x.m] {
				s += v
				s2 += float32(v * v)
			}
			sum += s
			sum2 += s2
		}
		mean := sum / size
		variance := sum2/size - float32(mean*mean)
		q0 := variance / float32(mean*mean)
		d := func(i, j, di, dj int) float32 { return x.at(0, i+di, j+dj) - x.at(0, i, j) }
		c := x.mapped(func(_, i, j int) float32 {
			v := x.at(0, i, j)
			n, s, w, e := d(i, j, -1, 0), d(i, j, 1, 0), d(i, j, 0, -1), d(i, j, 0, 1)
			g2 := (float32(float32(float32(n*n)+float32(s*s))+float32(w*w)) + float32(e*e)) / float32(v*v)
			l := (n + s + w + e) / v
			num := float32(0.5*g2) - float32(0.0625*float32(l*l))
			den := 1 + float32(0.25*l)
			q := num / float32(den*den)
			r := 1 / (1 + (q-q0)/float32(q0*(1+q0)))
			switch {
			case r < 0:
				return 0
			case r > 1:
				return 1
			}
			return r
		})
		x = x.mapped(func(_, i, j int) float32 {
			sum := float32(c.at(0, i, j)*d(i, j, -1, 0)) + float32(c.at(0, i+1, j)*d(i, j, 1, 0))
			sum += float32(c.at(0, i, j) * d(i, j, 0, -1))
			sum += float32(c.at(0, i, j+1) * d(i, j, 0, 1))
			return x.at(0, i, j) + float32(float32(0.25*lambda)*sum)
		})
	}
	return differ(after, "J", x.data)
}

// Constants of Rodinia's chip: 16 x 16 mm, half a millimetre thick, at 80 degrees.
func makeHotspot(w *workspace) error {
	const (
		thick, edge, capacity, heat, conduct, most = 0.0005, 0.016, 0.5, 1.75e6, 100, 3.0e6
	)
	n, m := w.n("N"), w.n("M")
	height, width := edge/float64(n), edge/float64(m)
	c := capacity * heat * thick * width * height
	step := 0.001 / (most / (capacity * thick * heat))
	for name, x := range map[string]float64{
		"k": step / c, "rx": 2 * conduct * thick * height / width, "ry": 2 * conduct * thick * width / height, "rz": conduct * height * width / thick, "amb": 80,
	} {
		w.m.Scalars[name] = scalar.FromFloat(scalar.FP32, float64(float32(x)))
	}
	add(w, "A", random(w, n*m, func(r *rand.Rand) float32 { return 320 + 10*r.Float32() }), n, m)
	add(w, "P", random(w, n*m, func(r *rand.Rand) float32 { return r.Float32() * 1e-3 }), n, m)
	add(w, "B", make([]float32, n*m), n, m)
	if m < 2 {
		return fmt.Errorf("kernels: M=%d, expected at least 2", m)
	}
	return w.even()
}

func checkHotspot(before, after *workspace) error {
	x := &image{get[float32](before, "A"), 1, before.n("N"), before.n("M")}
	p := &image{get[float32](before, "P"), 1, x.n, x.m}
	k, rx, ry, rz, amb := before.scalar("k"), before.scalar("rx"), before.scalar("ry"), before.scalar("rz"), before.scalar("amb")
	for range before.n("T") {
		x = x.mapped(func(_, i, j int) float32 {
			v := x.at(0, i, j)
			sum := p.at(0, i, j) + float32((x.at(0, i+1, j)+x.at(0, i-1, j)-2*v)*ry)
			sum += float32((x.at(0, i, j+1) + x.at(0, i, j-1) - 2*v) * rx)
			sum += float32((amb - v) * rz)
			return v + float32(k*sum)
		})
	}
	return differ(after, "A", x.data)
}

func makeHotspot3D(w *workspace) error {
	l, n, m := w.n("L"), w.n("N"), w.n("M")
	for name, x := range map[string]float64{"cc": 0.4, "cx": 0.1, "cy": 0.1, "cz": 0.1, "k": 0.05, "amb": 80} {
		w.m.Scalars[name] = scalar.FromFloat(scalar.FP32, float64(float32(x)))
	}
	add(w, "A", random(w, l*n*m, func(r *rand.Rand) float32 { return 320 + 10*r.Float32() }), l, n, m)
	add(w, "P", random(w, l*n*m, func(r *rand.Rand) float32 { return r.Float32() }), l, n, m)
	add(w, "B", make([]float32, l*n*m), l, n, m)
	if m < 2 {
		return fmt.Errorf("kernels: M=%d, expected at least 2", m)
	}
	return w.even()
}

func checkHotspot3D(before, after *workspace) error {
	x := &image{get[float32](before, "A"), before.n("L"), before.n("N"), before.n("M")}
	p := &image{get[float32](before, "P"), x.l, x.n, x.m}
	cc, cx, cy, cz, k, amb := before.scalar("cc"), before.scalar("cx"), before.scalar("cy"), before.scalar("cz"), before.scalar("k"), before.scalar("amb")
	for range before.n("T") {
		x = x.mapped(func(z, i, j int) float32 {
			sum := float32(cc * x.at(z, i, j))
			for _, t := range []float32{
				cy * x.at(z, i-1, j), cy * x.at(z, i+1, j), cx * x.at(z, i, j+1), cx * x.at(z, i, j-1),
				cz * x.at(z+1, i, j), cz * x.at(z-1, i, j), k * p.at(z, i, j), cz * amb,
			} {
				sum += t
			}
			return sum
		})
	}
	return differ(after, "A", x.data)
}

func makeHistogram(w *workspace) error {
	add(w, "A", random(w, w.n("N"), func(r *rand.Rand) uint32 { return r.Uint32() }))
	add(w, "L", make([]uint32, 256*w.n("Q")), w.n("Q"), 256)
	add(w, "H", make([]uint32, 256))
	return nil
}

func checkHistogram(before, after *workspace) error {
	want := make([]uint32, 256)
	for _, v := range get[uint32](before, "A") {
		want[v>>12&255]++
	}
	return differ(after, "H", want)
}
