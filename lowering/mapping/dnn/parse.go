package dnn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads one operator: conv:N=4,K=64,H=56,W=56,C=64,R=3,S=3,stride=1 with, in
// any order, groups, dilation, pad (or pad.h, pad.w before), transposed=1, D and Q for a third
// dimension; gemm:M=,K=,N= with batch and dynamic=1; or table4/NAME.
func Parse(s string, bits Bits) (*Operator, error) {
	if name, ok := strings.CutPrefix(s, "table4/"); ok {
		o, err := table4(name, bits)
		if err == nil {
			o.Name = s
		}
		return o, err
	}
	kind, rest, ok := strings.Cut(s, ":")
	if !ok || kind != "conv" && kind != "gemm" {
		return nil, fmt.Errorf("%w: operator %q, expected conv:N=,K=,H=,W=,C=,R=,S= or gemm:M=,K=,N=", ErrOperator, s)
	}
	known := []string{"N", "K", "D", "H", "W", "C", "Q", "R", "S", "stride", "groups", "dilation", "pad", "transposed"}
	if kind == "gemm" {
		known = []string{"M", "K", "N", "batch", "dynamic"}
	}
	v := map[string]int{}
	for _, f := range strings.Split(rest, ",") {
		key, text, ok := strings.Cut(strings.TrimSpace(f), "=")
		if !ok || !slices.Contains(known, key) {
			return nil, fmt.Errorf("%w: operator %q: field %q, expected NAME=NUMBER with one of %s", ErrOperator, s, f, strings.Join(known, ", "))
		}
		if _, twice := v[key]; twice {
			return nil, fmt.Errorf("%w: operator %q: %s twice", ErrOperator, s, key)
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 1<<30 || n == 0 && key != "pad" && key != "transposed" && key != "dynamic" {
			return nil, fmt.Errorf("%w: operator %q: %s is %q, expected a number from 1 to %d", ErrOperator, s, key, text, 1<<30)
		}
		v[key] = n
	}
	get := func(key string, otherwise int) int {
		if n, ok := v[key]; ok {
			return n
		}
		return otherwise
	}
	need := func(keys ...string) error {
		for _, k := range keys {
			if _, ok := v[k]; !ok {
				return fmt.Errorf("%w: operator %q: no %s", ErrOperator, s, k)
			}
		}
		return nil
	}
	if kind == "gemm" {
		if err := need("M", "K", "N"); err != nil {
			return nil, err
		}
		return NewGEMM(s, get("batch", 1), v["M"], v["N"], v["K"], get("dynamic", 0) == 0, bits)
	}
	if err := need("K", "W", "C"); err != nil {
		return nil, err
	}
	c := Conv{N: get("N", 1), K: v["K"], C: v["C"], G: get("groups", 1), Transposed: get("transposed", 0) != 0}
	outs, kernels := []string{"D", "H", "W"}, []string{"Q", "R", "S"}
	first := 2
	for d := range outs {
		_, a := v[outs[d]]
		_, b := v[kernels[d]]
		if a || b {
			first = d
			break
		}
	}
	for d := first; d < 3; d++ {
		c.Out = append(c.Out, get(outs[d], 1))
		c.Kernel = append(c.Kernel, get(kernels[d], 1))
		c.Stride = append(c.Stride, get("stride", 1))
		c.Dilation = append(c.Dilation, get("dilation", 1))
		if p, ok := v["pad"]; ok {
			c.PadBefore = append(c.PadBefore, p)
		}
	}
	return NewConv(s, c, bits)
}

// Lookup returns a network of the zoo, one layer of it as in resnet50/conv3_1b, or
// one operator as in [Parse].
func Lookup(work string, batch int, bits Bits) (*Network, error) {
	name, layer, _ := strings.Cut(work, "/")
	if !slices.Contains(ZooNames(), name) || strings.Contains(work, ":") {
		if !strings.Contains(work, ":") && name != "table4" {
			return nil, fmt.Errorf("%w: no network %q, expected one of %s, one of their layers as in resnet50/conv3_1b, table4/C5, conv:..., gemm:..., or a file", ErrOperator, work, strings.Join(ZooNames(), ", "))
		}
		o, err := Parse(work, bits)
		if err != nil {
			return nil, err
		}
		return Single(o), nil
	}
	n, err := Build(name, batch, bits)
	if err != nil || layer == "" {
		return n, err
	}
	return n.Layer(layer)
}

// Layer returns a network of one operator of n.
func (n *Network) Layer(name string) (*Network, error) {
	i := n.Find(name)
	if i < 0 || n.Nodes[i].Kind != MAC {
		var names []string
		for _, m := range n.MACs() {
			names = append(names, n.Nodes[m].Name)
		}
		near := names[:min(len(names), 6)]
		return nil, fmt.Errorf("%w: network %s has no layer %q, expected one of %s, ... (see bitsched layers %s)", ErrOperator, n.Name, name, strings.Join(near, ", "), n.Name)
	}
	o := *n.Nodes[i].Op
	o.Name = n.Name + "/" + name
	return Single(&o), nil
}
