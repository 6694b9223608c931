package netlist

import (
	"bufio"
	"errors"
)

func readBLIF(*scanner) (*Network, error)        { return nil, errors.New("x") }
func readBench(*scanner) (*Network, error)       { return nil, errors.New("x") }
func writeBLIF(*bufio.Writer, *Network) error    { return nil }
func writeVerilog(*bufio.Writer, *Network) error { return nil }
func writeBench(*bufio.Writer, *Network) error   { return nil }
