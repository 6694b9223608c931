package netlist

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatched shuffles the ports of random networks and puts them back.
func TestMatched(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for range 50 {
		n := randomNetwork(rng, 1+rng.IntN(8), 20, 1+rng.IntN(5))
		for i := range n.inputs {
			n.SetNodeName(n.Input(i), "in"+decimal(uint32(i)))
		}
		for i := range n.outputs {
			n.SetOutputName(i, "out"+decimal(uint32(i)))
		}
		order := New("order")
		for _, i := range rng.Perm(n.NumInputs()) {
			order.AddInput(n.InputName(i))
		}
		for _, i := range rng.Perm(n.NumOutputs()) {
			order.AddOutput(n.Output(i).Name, False)
		}
		m, err := n.Matched(order)
		require.NoError(t, err)
		require.NoError(t, m.Check())
		for i := range order.inputs {
			require.Equal(t, order.InputName(i), m.InputName(i))
		}
		for i, o := range order.outputs {
			require.Equal(t, o.Name, m.Output(i).Name)
		}
		back, err := m.Matched(n)
		require.NoError(t, err)
		requireSameFunction(t, n, back)
	}
}

func TestMatchedErrors(t *testing.T) {
	ports := func(inputs, outputs []string) *Network {
		n := New("")
		for _, name := range inputs {
			n.AddInput(name)
		}
		for _, name := range outputs {
			n.AddOutput(name, True)
		}
		return n
	}
	for _, c := range []struct {
		a, b *Network
		want string
	}{
		{ports([]string{"a", ""}, nil), ports([]string{"a", "b"}, nil), "netlist: input 1 has no name, expected names to match by"},
		{ports([]string{"a", "b"}, nil), ports([]string{"a", ""}, nil), "netlist: input 1 has no name, expected names to match by"},
		{ports([]string{"a", "a"}, nil), ports([]string{"a", "b"}, nil), "netlist: two inputs of the name a, expected each name once to match by"},
		{ports([]string{"a", "b"}, nil), ports([]string{"a", "a"}, nil), "netlist: input a is in one circuit only, or twice in one, expected the names of both to be the same"},
		{ports([]string{"a"}, nil), ports([]string{"b"}, nil), "netlist: input b is in one circuit only, or twice in one, expected the names of both to be the same"},
		{ports([]string{"a"}, []string{"y", "z"}), ports([]string{"a"}, []string{"y"}), "netlist: output z is in one circuit only, expected the names of both to be the same"},
	} {
		_, err := c.a.Matched(c.b)
		require.EqualError(t, err, c.want)
	}
}
