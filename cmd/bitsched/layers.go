package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bitsched/bitsched/benchmarks"
	"github.com/bitsched/bitsched/lowering/mapping/dnn"
)

const layersLong = `Layers lists the operators of a network that can be mapped: their loops, sums of
products, and bytes of their tensors; and what is executed near memory instead.

` + workHelp

func (a *app) layersCommand() *cobra.Command {
	var f workFlags
	var list, asJSON bool
	var output string
	cmd := &cobra.Command{
		Use:   "layers WORK",
		Short: "List the operators of a neural network",
		Long:  layersLong,
		Example: `  bitsched layers --list
  bitsched layers resnet50
  bitsched layers net.onnx -o net.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list && len(args) == 0 {
				return nil
			}
			return exactArgs("WORK")(cmd, args)
		},
		ValidArgsFunction: completeWork,
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return a.zoo(asJSON)
			}
			n, err := f.network(cmd, args[0])
			if err != nil {
				return err
			}
			if output != "" {
				if output == "-" && asJSON {
					return usageError(cmd, "--json and -o - both want stdout")
				}
				if err := a.checkWritable(output, args[0]); err != nil {
					return err
				}
				if err := a.writeFile(output, func(w io.Writer) error { return n.WriteYAML(w) }); err != nil || output == "-" {
					return err
				}
			}
			return a.layers(n, asJSON)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.add(fl)
	fl.BoolVar(&list, "list", false, "list the networks that come with the program")
	fl.StringVarP(&output, "output", "o", "", "write the network as YAML to this `file` (- for stdout)")
	fl.BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (a *app) zoo(asJSON bool) error {
	type entry struct {
		Name  string `json:"name"`
		Title string `json:"title"`
		dnn.Totals
	}
	var list []entry
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "network", Left: true}, {Name: "operators"}, {Name: "different"}, {Name: "MACs"}, {Name: "weights"}, {Name: "title", Left: true}}}
	for _, e := range dnn.Zoo {
		n, err := dnn.Build(e.Name, 1, dnn.DefaultBits)
		if err != nil {
			return err
		}
		x := entry{e.Name, e.Title, n.Totals()}
		list = append(list, x)
		t.Rows = append(t.Rows, []string{x.Name, fmt.Sprint(x.Operators), fmt.Sprint(x.Distinct), fmt.Sprint(x.MACs), fmt.Sprint(x.Weights), x.Title})
	}
	if asJSON {
		return a.printJSON(map[string]any{"networks": list})
	}
	return a.printText(renderTable(t) + "\n")
}

func (a *app) layers(n *dnn.Network, asJSON bool) error {
	type loop struct {
		Name      string `json:"name"`
		Extent    int    `json:"extent"`
		Reduction bool   `json:"reduction"`
	}
	type operator struct {
		Name   string           `json:"name"`
		Kind   string           `json:"kind"`
		Loops  []loop           `json:"loops"`
		MACs   int64            `json:"macs"`
		Bytes  map[string]int64 `json:"bytes"`
		Weight int64            `json:"weights"`
	}
	var ops []operator
	near := map[dnn.Kind]int{}
	t := benchmarks.Table{Columns: []benchmarks.Column{{Name: "layer", Left: true}, {Name: "operator", Left: true}, {Name: "MACs"}, {Name: "operands, bytes"}, {Name: "", Left: false}, {Name: "output"}}}
	for i := range n.Nodes {
		x := &n.Nodes[i]
		if x.Kind != dnn.MAC {
			near[x.Kind]++
			continue
		}
		o := operator{Name: x.Name, Kind: x.Op.Kind, MACs: x.Op.MACs(), Bytes: map[string]int64{}, Weight: x.Op.Weights()}
		for l := range x.Op.Loops {
			o.Loops = append(o.Loops, loop{x.Op.Loops[l].Name, x.Op.Loops[l].Extent, x.Op.Reduction(l)})
		}
		row := []string{x.Name, x.Op.String(), fmt.Sprint(o.MACs)}
		for k := range x.Op.Tensors {
			y := &x.Op.Tensors[k]
			bits := y.Type.Bits
			if y.Role == dnn.Output {
				bits = n.Bits.Activation.Bits
			}
			b := (y.Elements()*int64(bits) + 7) / 8
			o.Bytes[y.Name] = b
			row = append(row, fmt.Sprintf("%s %d", y.Name, b))
		}
		ops = append(ops, o)
		t.Rows = append(t.Rows, row)
	}
	total := n.Totals()
	if asJSON {
		counts := map[string]int{}
		for k, c := range near {
			counts[string(k)] = c
		}
		return a.printJSON(map[string]any{"network": n.Name, "title": n.Title, "operators": ops, "totals": total, "near_memory": counts, "unmapped": append([]string{}, n.Unmapped...), "notes": append([]string{}, n.Notes...)})
	}
	var s summary
	s.add("network", "%s: %s", n.Name, n.Title)
	s.add("operators", "%d, %d different", total.Operators, total.Distinct)
	s.add("MACs", "%d", total.MACs)
	s.add("weights", "%d", total.Weights)
	text := ""
	counts := map[dnn.Kind]int64{}
	for k, c := range near {
		counts[k] = int64(c)
	}
	for i, k := range sortedKinds(counts) {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d %s", counts[k], k)
	}
	s.add("near memory", "%s", text)
	for _, u := range n.Unmapped {
		s.add("skipped", "%s", u)
	}
	for _, u := range n.Notes {
		s.add("note", "%s", u)
	}
	return a.printText(s.String() + "\n" + renderTable(t) + "\n")
}
