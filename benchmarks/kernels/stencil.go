package kernels

func stencil1D(d *Data) {
	a, b := d.Floats["A"], d.Floats["B"]
	for range d.n("T") {
		for _, p := range [2][2][]float32{{a, b}, {b, a}} {
			from, to := p[0], p[1]
			for i := 1; i < len(from)-1; i++ {
				to[i] = from[i-1] + from[i] + from[i+1]
			}
		}
	}
}

func stencil2D(d *Data) {
	a, b := d.Floats["A"], d.Floats["B"]
	n, m := d.n("N"), d.n("M")
	c0, c1 := d.Scalars["C0"], d.Scalars["C1"]
	for range d.n("T") {
		for _, p := range [2][2][]float32{{a, b}, {b, a}} {
			from, to := p[0], p[1]
			for i := 1; i < n-1; i++ {
				for j := 1; j < m-1; j++ {
					at := i*m + j
					// Conversions keep products from being fused with sums.
					s := float32(c0 * from[at])
					s += float32(c1 * from[at-1])
					s += float32(c1 * from[at+1])
					s += float32(c1 * from[at-m])
					s += float32(c1 * from[at+m])
					to[at] = s
				}
			}
		}
	}
}

func stencil3D(d *Data) {
	a, b := d.Floats["A"], d.Floats["B"]
	l, n, m := d.n("L"), d.n("N"), d.n("M")
	c0, c1 := d.Scalars["C0"], d.Scalars["C1"]
	for range d.n("T") {
		for _, p := range [2][2][]float32{{a, b}, {b, a}} {
			from, to := p[0], p[1]
			for k := 1; k < l-1; k++ {
				for i := 1; i < n-1; i++ {
					for j := 1; j < m-1; j++ {
						at := (k*n+i)*m + j
						s := float32(c0 * from[at])
						for _, o := range [6]int{-1, 1, -m, m, -n * m, n * m} {
							s += float32(c1 * from[at+o])
						}
						to[at] = s
					}
				}
			}
		}
	}
}
