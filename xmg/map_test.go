package xmg

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/bitsched/bitsched/netlist"
)

// andXor makes a ^ b of three ANDs.
func andXor(n *netlist.Network, a, b netlist.Lit) netlist.Lit {
	return n.And(n.And(a, b)^1, n.Or(a, b))
}

// andAdder makes a full adder of nine ANDs.
func andAdder(n *netlist.Network, a, b, c netlist.Lit) (sum, carry netlist.Lit) {
	x := andXor(n, a, b)
	return andXor(n, x, c), n.Or(n.And(a, b), n.And(x, c))
}

// andMultiplier makes an array multiplier of width x width bits of ANDs.
func andMultiplier(width int) *netlist.Network {
	n := netlist.New("multiplier")
	n.Grow(12 * width * width)
	a, b := make([]netlist.Lit, width), make([]netlist.Lit, width)
	for i := range a {
		a[i] = n.AddInput("")
	}
	for i := range b {
		b[i] = n.AddInput("")
	}
	sum := make([]netlist.Lit, 2*width)
	for i := range b {
		carry := netlist.False
		for j := range a {
			sum[i+j], carry = andAdder(n, n.And(a[j], b[i]), sum[i+j], carry)
		}
		sum[i+width] = carry
	}
	for _, s := range sum {
		n.AddOutput("", s)
	}
	return n
}

func TestBig(t *testing.T) {
	w, _ := strconv.Atoi(os.Getenv("BIG"))
	if w == 0 {
		t.Skip()
	}
	n := andMultiplier(w)
	t0 := time.Now()
	phase := ""
	tp := t0
	g, err := FromNetwork(context.Background(), n, Options{Progress: func(p Progress) {
		if p.Phase != phase {
			t.Logf("%s %v", phase, time.Since(tp))
			phase = p.Phase
			tp = time.Now()
		}
	}})
	t.Log(n.NumGates(), g.NumGates(), err, time.Since(t0))
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	t.Log(ms.Sys>>20, "MiB")
}
