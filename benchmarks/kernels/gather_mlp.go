package kernels

func gatherMLPInner(d *Data) { gatherMLP(d, true) }

func gatherMLPOuter(d *Data) { gatherMLP(d, false) }

func gatherMLP(d *Data, inner bool) {
	f, index, x, y := d.Floats["F"], d.Ints["index"], d.Floats["X"], d.Floats["Y"]
	m, n, k := d.n("M"), d.n("N"), d.n("K")
	for i := range m {
		copy(x[i*k:(i+1)*k], f[int(index[i])*k:])
	}
	product(x, d.Floats["B"], y, m, n, k, inner)
	for i, v := range y {
		if v < 0 {
			y[i] = 0
		}
	}
}
