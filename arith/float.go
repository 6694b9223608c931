package arith

// floatOperations is the table of the operations on floating-point numbers, IEEE
// 754-2019 rounding to nearest, ties to even. Every NaN that comes out is the
// canonical one.
func floatOperations() []Operation {
	sum := func(name, doc string, subtract bool, op func(a, b float64) float64) Operation {
		return Operation{Name: name, Doc: doc, Args: binary, nc: ncFloatAdd(subtract),
			Published: []Formula{infinityFloat, at32("MVE simulator", 351), at32("BITSIMD_V", 3703), at32("AritPIM", 3997)},
			ref: func(t Type, a []uint64) Value {
				f := t.Float
				return one(f.Round(op(f.Float64(a[0]), f.Float64(a[1]))))
			}}
	}
	return []Operation{
		sum("fp.add", "a + b", false, func(a, b float64) float64 { return a + b }),
		sum("fp.sub", "a - b", true, func(a, b float64) float64 { return a - b }),
		{Name: "fp.mul", Doc: "a * b", Args: binary, nc: ncFloatMul,
			Published: []Formula{infinityFloat, at32("MVE simulator", 346), at32("BITSIMD_V", 5906), at32("AritPIM", 11586)},
			ref: func(t Type, a []uint64) Value {
				f := t.Float
				return one(f.Round(float64(f.Float64(a[0]) * f.Float64(a[1]))))
			}},
	}
}
