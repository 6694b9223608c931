package kernels

func gaussElim(d *Data) {
	a, b := d.Floats["A"], d.Floats["B"]
	n := d.n("N")
	for k := range n - 1 {
		for i := k + 1; i < n; i++ {
			m := a[i*n+k] / a[k*n+k]
			b[i] -= float32(m * b[k])
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= float32(m * a[k*n+j])
			}
		}
	}
}

// dominant makes the diagonal of A outweigh the rest of its row, so that no pivot is
// near zero.
func dominant(d *Data) {
	n := d.n("N")
	for i := range n {
		d.Floats["A"][i*n+i] += 8 * float32(n)
	}
}
