package kernels

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
)

// PointNet returns the classifiers of PointNet++ that Infinity Stream runs (section 8, table
// 4): with single-scale and with multi-scale grouping, of P random points in the unit cube.
// They are whole functions, in which the layers of perceptrons are regions, but for those of
// the last abstraction. What the paper
// leaves open is as in its authors' program, or chosen: points have D = 64 random features,
// since the program has as many features before a layer as behind and the paper says that
// the first one has 1/4 of 4M elements; coordinates are not among them; there are no biases;
// sampling is one thread; the last layer has no ReLU; SA6, whose layers have more elements than
// arrays have bitlines, has half of its centroids (H6) at a time. Weights are as He et al. draw them, so
// that values keep their magnitude.
func PointNet() []*Kernel {
	ssg := sizes{"P": 4096, "D": 64, "K1": 512, "N1": 32, "A1": 64, "B1": 64, "C1": 128, "K2": 128, "N2": 64, "A2": 128, "B2": 128, "C2": 256, "N3": 128, "A3": 256, "B3": 512, "C3": 1024, "F1": 512, "F2": 256, "F3": 10}
	msg := sizes{
		"P": 4096, "D": 64, "K1": 512, "N4": 16, "A4": 32, "B4": 32, "C4": 64, "N5": 32, "A5": 64, "B5": 64, "C5": 128, "N6": 128, "H6": 256, "A6": 64, "B6": 96, "C6": 128,
		"K2": 128, "N7": 16, "A7": 64, "B7": 64, "C7": 128, "N8": 32, "A8": 128, "B8": 128, "C8": 256, "N9": 128, "A9": 128, "B9": 128, "C9": 256,
		"N3": 128, "A3": 256, "B3": 512, "C3": 1024, "F1": 512, "F2": 256, "F3": 10,
	}
	list := []*Kernel{
		{
			Name: "pointnet_ssg", Paper: ssg,
			Small: sizes{"P": 256, "D": 16, "K1": 32, "N1": 8, "A1": 16, "B1": 16, "C1": 32, "K2": 16, "N2": 8, "A2": 32, "B2": 32, "C2": 48, "N3": 16, "A3": 48, "B3": 64, "C3": 64, "F1": 32, "F2": 16, "F3": 10},
		},
		{
			Name: "pointnet_msg", Paper: msg,
			Small: sizes{
				"P": 256, "D": 16, "K1": 32, "N4": 4, "A4": 16, "B4": 16, "C4": 16, "N5": 8, "A5": 16, "B5": 16, "C5": 32, "N6": 16, "H6": 16, "A6": 16, "B6": 16, "C6": 32,
				"K2": 16, "N7": 4, "A7": 16, "B7": 16, "C7": 32, "N8": 8, "A8": 32, "B8": 16, "C8": 32, "N9": 8, "A9": 16, "B9": 32, "C9": 48,
				"N3": 16, "A3": 48, "B3": 48, "C3": 64, "F1": 32, "F2": 16, "F3": 10,
			},
		},
	}
	for _, k := range list {
		levels := levelsOf(k.Name)
		k.Whole, k.Parts, k.Reassociate = true, true, true
		k.generator = func(w *workspace) error { return makePointNet(w, levels) }
		k.check = func(before, after *workspace) error { return checkPointNet(before, after, levels) }
		files, err := fs.Sub(sources, "c")
		if err != nil {
			panic("kernels: " + err.Error())
		}
		k.Files = files
		k.read()
	}
	return list
}

// level is a set of abstractions that share their centroids.
type level struct {
	centroids string // the size that says how many, "" for one
	sets      []string
	radius    []float32
	apart     bool   // features of its sets are arrays of their own
	batch     string // the size that says how many centroids the last set has at a time, "" for all
}

// levelsOf returns the levels of a classifier, as in table 4.
func levelsOf(name string) []level {
	last := level{sets: []string{"3"}, radius: []float32{float32(math.Inf(1))}}
	if name == "pointnet_ssg" {
		return []level{{centroids: "K1", sets: []string{"1"}, radius: []float32{0.2}}, {centroids: "K2", sets: []string{"2"}, radius: []float32{0.4}}, last}
	}
	return []level{
		{centroids: "K1", sets: []string{"4", "5", "6"}, radius: []float32{0.1, 0.2, 0.4}, apart: true, batch: "H6"},
		{centroids: "K2", sets: []string{"7", "8", "9"}, radius: []float32{0.2, 0.4, 0.8}}, last,
	}
}

// count is how many centroids a level has.
func (l *level) count(w *workspace) int {
	if l.centroids == "" {
		return 1
	}
	return w.n(l.centroids)
}

// weights adds a matrix of a layer.
func weights(w *workspace, name string, rows, cols, inputs int) {
	scale := float32(math.Sqrt(6 / float64(inputs)))
	add(w, name, random(w, rows*cols, func(r *rand.Rand) float32 { return scale * (2*r.Float32() - 1) }), rows, cols)
}

func makePointNet(w *workspace, levels []level) error {
	points, features := w.n("P"), w.n("D")
	unit := func(r *rand.Rand) float32 { return r.Float32() }
	for _, name := range []string{"x", "y", "z"} {
		add(w, name, random(w, points, unit))
	}
	add(w, "F", random(w, points*features, unit), points, features)
	for i := range levels {
		l, n := &levels[i], levels[i].count(w)
		if n > points {
			return fmt.Errorf("kernels: %d centroids of %d points, expected at most as many", n, points)
		}
		number := fmt.Sprint(i + 1)
		add(w, "dist"+number, make([]float32, points))
		for _, name := range []string{"x", "y", "z"} {
			add(w, name+number, make([]float32, n))
		}
		all := 0
		for j, s := range l.sets {
			rows, cols := n*w.n("N"+s), features
			lie := rows // at a time
			if j == len(l.sets)-1 && l.batch != "" {
				if lie = w.n(l.batch) * w.n("N"+s); 2*lie != rows {
					return fmt.Errorf("kernels: %d of %d centroids at a time, expected half of them", w.n(l.batch), n)
				}
			}
			if i == 1 && rows%8 != 0 {
				return fmt.Errorf("kernels: %d rows of layers %s, expected a multiple of 8", rows, s)
			}
			add(w, "near"+s, make([]int32, rows))
			if i > 0 && levels[i-1].apart {
				for _, of := range levels[i-1].sets {
					c := w.n("C" + of)
					add(w, "G"+s+"_"+of, make([]float32, rows*c), rows, c)
				}
			} else {
				add(w, "G"+s, make([]float32, lie*cols), lie, cols)
			}
			for _, layer := range []string{"a", "b", "c"} {
				next := w.n(string(layer[0]-'a'+'A') + s)
				switch {
				case l.centroids != "":
					weights(w, "W"+s+layer, cols, next, cols)
				case next%8 != 0 || layer == "c" && next%16 != 0:
					return fmt.Errorf("kernels: %d columns of layer %s%s, expected a multiple of 8, and of 16 in the last one", next, s, layer)
				default: // a row for each result
					weights(w, "W"+s+layer, next, cols, cols)
				}
				add(w, "Y"+s+layer, make([]float32, lie*next), lie, next)
				cols = next
			}
			all += cols
			if l.apart {
				add(w, "out"+s, make([]float32, n*cols), n, cols)
			}
		}
		if !l.apart {
			add(w, "out"+number, make([]float32, n*all), n, all)
		}
		points, features = n, all
	}
	for i, name := range []string{"fc1", "fc2", "score"} {
		n := w.n(fmt.Sprint("F", i+1))
		weights(w, fmt.Sprint("V", i+1), n, features, features)
		add(w, name, make([]float32, n), 1, n)
		features = n
	}
	return nil
}

// checkPointNet executes the definition row by row: all bits of the set abstractions but the last
// one, and layers of inner products within what the order of their sums allows.
func checkPointNet(before, after *workspace, levels []level) error {
	at := [3][]float32{get[float32](before, "x"), get[float32](before, "y"), get[float32](before, "z")}
	rows := rowsOf(get[float32](before, "F"), before.n("D"))
	for i := range levels {
		l, number := &levels[i], fmt.Sprint(i+1)
		chosen := furthest(at, l.count(before))
		var centers [3][]float32
		for axis, name := range []string{"x", "y", "z"} {
			for _, p := range chosen {
				centers[axis] = append(centers[axis], at[axis][p])
			}
			if err := differ(after, name+number, centers[axis]); err != nil {
				return err
			}
		}
		out := make([][]float32, len(chosen))
		for j, s := range l.sets {
			var near []int32
			best := make([][]float32, len(chosen))
			for c, p := range chosen {
				ball := inBall(at, p, l.radius[j], before.n("N"+s))
				near = append(near, ball...)
				last := make([][]float32, len(ball)) // of the last layer
				for n, q := range ball {
					last[n] = rows[q]
				}
				for _, layer := range []string{"a", "b", "c"} {
					name := s + layer
					if l.centroids == "" {
						got := rowsOf(get[float32](after, "Y"+name), before.n(string(layer[0]-'a'+'A')+s))
						for n, row := range last {
							if err := products(fmt.Sprintf("Y%s[%d]", name, n), row, get[float32](before, "W"+name), got[n], true); err != nil {
								return err
							}
						}
						last = got
						continue
					}
					for n, row := range last {
						last[n] = perceptron(row, get[float32](before, "W"+name))
					}
				}
				best[c] = slices.Clone(last[0])
				for _, row := range last {
					for d, v := range row {
						best[c][d] = max(best[c][d], v)
					}
				}
				out[c] = append(out[c], best[c]...)
			}
			if err := differ(after, "near"+s, near); err != nil {
				return err
			}
			if l.apart {
				if err := differ(after, "out"+s, slices.Concat(best...)); err != nil {
					return err
				}
			}
		}
		if !l.apart {
			if err := differ(after, "out"+number, slices.Concat(out...)); err != nil {
				return err
			}
		}
		at, rows = centers, out
	}
	in := rows[0]
	for i, name := range []string{"fc1", "fc2", "score"} {
		got := get[float32](after, name)
		if err := products(name, in, get[float32](before, fmt.Sprint("V", i+1)), got, i < 2); err != nil {
			return err
		}
		in = got
	}
	return nil
}

// products checks a layer of inner products of one row, with a row of weights for each result,
// within what the order of their sums allows. It is of what the layer before has come to, so that
// errors do not add up.
func products(name string, in, weights, got []float32, relu bool) error {
	for n, row := range rowsOf(weights, len(in)) {
		sum, size := 0.0, 0.0
		for k, v := range row {
			sum += float64(v) * float64(in[k])
			size += math.Abs(float64(v) * float64(in[k]))
		}
		if relu {
			sum = max(sum, 0)
		}
		if off := math.Abs(sum - float64(got[n])); !(off <= float64(len(row))*size*0x1p-23) { // nor a NaN
			return fmt.Errorf("kernels: %s[%d] is %g, expected %g within the rounding of %d products", name, n, got[n], sum, len(row))
		}
	}
	return nil
}

func rowsOf(list []float32, n int) (rows [][]float32) {
	for i := 0; i < len(list); i += n {
		rows = append(rows, list[i:i+n])
	}
	return rows
}

// squared is the square of the distance of two points, rounded as C rounds.
func squared(at [3][]float32, p, q int) float32 {
	var sum float32
	for axis := range at {
		d := at[axis][p] - at[axis][q]
		sum += float32(d * d)
	}
	return sum
}

// furthest samples points: each is the one whose nearest chosen point is furthest.
func furthest(at [3][]float32, n int) []int {
	chosen := []int{0}
	for len(chosen) < n {
		most, next := float32(-1), 0
		for p := range at[0] {
			least := float32(math.Inf(1))
			for _, q := range chosen {
				least = min(least, squared(at, p, q))
			}
			if least > most {
				most, next = least, p
			}
		}
		chosen = append(chosen, next)
	}
	return chosen
}

// inBall returns n points that are nearer to one than a radius, the first of them again
// where there are fewer.
func inBall(at [3][]float32, center int, radius float32, n int) (list []int32) {
	for p := range at[0] {
		if len(list) < n && squared(at, p, center) < float32(radius*radius) {
			list = append(list, int32(p))
		}
	}
	for len(list) < n {
		list = append(list, list[0])
	}
	return list
}

// perceptron is a layer, of one row.
func perceptron(row, weights []float32) []float32 {
	n := len(weights) / len(row)
	out := make([]float32, n)
	for k, x := range row {
		for j := range out {
			out[j] += float32(x * weights[k*n+j])
		}
	}
	for j, v := range out {
		out[j] = max(v, 0)
	}
	return out
}
