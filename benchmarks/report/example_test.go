package report_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bitsched/bitsched/benchmarks/report"
	"github.com/bitsched/bitsched/xmg"
)

// A page of a full adder. What looks like markup in its name stays text.
func ExamplePage_Write() {
	g := xmg.New("adder")
	a, b, c := g.AddInput("a"), g.AddInput("b"), g.AddInput("c")
	g.AddOutput("sum", g.Xor(a, b, c))
	g.AddOutput("carry", g.Maj(a, b, c))

	var file bytes.Buffer
	p := &report.Page{Title: "A <b>full</b> adder", Sections: report.Circuit("adder", g)}
	if err := p.Write(&file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(file.String(), "<title>A &lt;b&gt;full&lt;/b&gt; adder"))
	fmt.Println("links to elsewhere:", strings.Count(file.String(), `href="http`))
	// Output:
	// true
	// links to elsewhere: 0
}
