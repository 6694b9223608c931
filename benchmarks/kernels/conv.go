package kernels

func conv2D(d *Data) {
	a, b := d.Floats["A"], d.Floats["B"]
	n, m := d.n("N"), d.n("M")
	c0, c1, c2 := d.Scalars["C0"], d.Scalars["C1"], d.Scalars["C2"]
	weights := [9]float32{c2, c1, c2, c1, c0, c1, c2, c1, c2}
	for i := 1; i < n-1; i++ {
		for j := 1; j < m-1; j++ {
			var s float32
			for t, w := range weights {
				p := float32(w * a[(i+t/3-1)*m+j+t%3-1])
				if t == 0 {
					s = p
				} else {
					s += p
				}
			}
			b[i*m+j] = s
		}
	}
}

func conv3D(d *Data) {
	a, k, b := d.Floats["A"], d.Floats["K"], d.Floats["B"]
	in, out, h, w := d.n("I"), d.n("O"), d.n("H"), d.n("W")
	for o := range out {
		for y := 1; y < h-1; y++ {
			for x := 1; x < w-1; x++ {
				var s float32
				for i := range in {
					for t := range 9 {
						s += float32(a[(i*h+y+t/3-1)*w+x+t%3-1] * k[(i*9+t)*out+o])
					}
				}
				b[(o*h+y)*w+x] = s
			}
		}
	}
}
