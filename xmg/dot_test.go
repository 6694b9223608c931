package xmg

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestWriteDOT(t *testing.T) {
	g, a, b, c := abc()
	g.inputNames[1] = `b"1\` // names are free text
	m := g.Maj(a, b^1, c)
	x := g.Xor(m, a, b)
	g.And(a, b) // dead
	g.AddOutput("y", g.Or(m, x))
	g.AddOutput("", x^1)
	g.AddOutput("zero", True)
	var out bytes.Buffer
	if err := g.WriteDOT(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"digraph \"abc\" {\n",
		`n2 [label="b\"1\\"];`,
		`n4 [label="MAJ" tooltip="4" shape=ellipse`,
		`n5 [label="XOR" tooltip="5" shape=box`,
		"\tn2 -> n4 [style=dashed arrowhead=odot arrowsize=0.6];\n",
		"\tn1 -> n4;\n",
		"\tn0 -> o2 [style=dashed",
		"\tn5 -> o1 [style=dashed",
		`o1 [label="y1"];`,
		"}\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Three edges each for MAJ and XOR, two for OR, one an output; the dead
	// gate has none.
	if n := strings.Count(text, "->"); n != 3+3+2+3 {
		t.Errorf("%d edges, expected 11", n)
	}
	// Every node that an edge names is declared.
	for _, e := range regexp.MustCompile(`(n\d+) -> ([no]\d+)`).FindAllStringSubmatch(text, -1) {
		for _, node := range e[1:] {
			if !strings.Contains(text, "\t"+node+" [label=") {
				t.Errorf("%s is not declared", node)
			}
		}
	}
	var again bytes.Buffer
	_ = g.WriteDOT(&again)
	if again.String() != text {
		t.Error("the second text differs")
	}
	if err := g.WriteDOT(failingWriter{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, expected %v", err, errFull)
	}
}

var errFull = errors.New("full")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
