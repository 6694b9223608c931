package kernels

func vecAdd(d *Data) {
	a, b, c := d.Floats["A"], d.Floats["B"], d.Floats["C"]
	for i := range c {
		c[i] = a[i] + b[i]
	}
}

func arraySum(d *Data) {
	var s float32
	for _, x := range d.Floats["A"] {
		s += x
	}
	d.Floats["S"][0] = s
}
