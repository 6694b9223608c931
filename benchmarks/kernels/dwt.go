package kernels

func dwt2D(d *Data) {
	a, b, l, h, o := d.Floats["A"], d.Floats["B"], d.Floats["L"], d.Floats["H"], d.Floats["O"]
	n, m := d.n("N"), d.n("M")
	w := 2 * m
	for i := range 2 * n {
		for j := range w - 1 {
			at := i*w + j
			l[at], h[at] = (a[at]+a[at+1])*0.5, (a[at]-a[at+1])*0.5
		}
	}
	for i := range 2*n - 1 {
		for j := range w - 1 {
			at := i*w + j
			a[at], b[at] = (l[at]+l[at+w])*0.5, (l[at]-l[at+w])*0.5
		}
	}
	for i := range 2*n - 1 {
		for j := range w - 1 {
			at := i*w + j
			l[at], h[at] = (h[at]+h[at+w])*0.5, (h[at]-h[at+w])*0.5
		}
	}
	for i := range n {
		for j := range m {
			at := 2*i*w + 2*j
			o[i*w+j], o[(n+i)*w+j], o[i*w+m+j], o[(n+i)*w+m+j] = a[at], b[at], l[at], h[at]
		}
	}
}
