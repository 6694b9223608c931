package kernels

// product computes c = a*b, with b as its transpose if inner: both orders add the
// products of an element in the order of k.
func product(a, b, c []float32, m, n, k int, inner bool) {
	for i := range m {
		for j := range n {
			var s float32
			for l := range k {
				at := l*n + j
				if inner {
					at = j*k + l
				}
				s += float32(a[i*k+l] * b[at])
			}
			c[i*n+j] = s
		}
	}
}

func mmInner(d *Data) {
	product(d.Floats["A"], d.Floats["B"], d.Floats["C"], d.n("M"), d.n("N"), d.n("K"), true)
}

func mmOuter(d *Data) {
	product(d.Floats["A"], d.Floats["B"], d.Floats["C"], d.n("M"), d.n("N"), d.n("K"), false)
}
