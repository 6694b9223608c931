package main

// truth is a function of four inputs: bit i is its value for the pattern i,
// whose bit j is the value of input j.
type truth uint16

var inputTruth = [4]truth{0xaaaa, 0xcccc, 0xf0f0, 0xff00}

// normal returns the function or its complement: the one that is 0 for the
// pattern 0.
func (t truth) normal() truth { return t ^ -(t & 1) }

func majority(a, b, c truth) truth { return a&b | (a|b)&c }

// transform puts input order[j], negated if bit order[j] of neg is set, in the
// place of input j.
type transform struct {
	order [4]uint8
	neg   uint8
}

// transforms are all orders and negations of four inputs.
var transforms = func() (ts []transform) {
	for a := range uint8(4) {
		for b := range uint8(4) {
			for c := range uint8(4) {
				if d := 6 - a - b - c; a != b && b != c && a != c {
					for neg := range uint8(16) {
						ts = append(ts, transform{[4]uint8{a, b, c, d}, neg})
					}
				}
			}
		}
	}
	return ts
}()

// of returns the transformed function.
func (x *transform) of(t truth) truth {
	var r truth
	for i := range 16 {
		pattern := 0
		for j, k := range x.order {
			pattern |= (i>>k ^ int(x.neg)>>k) & 1 << j
		}
		r |= t >> pattern & 1 << i
	}
	return r
}

// classes returns the representative of each function's NPN class: its smallest
// normal function.
func classes() []truth {
	of := make([]truth, 1<<16)
	for i := range of {
		t := truth(i)
		if t == 0 || of[i] != 0 || t != t.normal() {
			continue
		}
		// The first function met of a class is its smallest.
		for k := range transforms {
			u := transforms[k].of(t)
			of[u], of[^u] = t, t
		}
	}
	return of
}
