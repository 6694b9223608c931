package strictyaml_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/bitsched/bitsched/internal/position"
	"github.com/bitsched/bitsched/internal/strictyaml"
)

type part struct {
	Name  string   `yaml:"name"`
	Count uint8    `yaml:"count"`
	Scale *float64 `yaml:"scale"`
}

type thing struct {
	Title  string         `yaml:"title"`
	Ways   int            `yaml:"ways"`
	Clock  float64        `yaml:"clock"`
	Small  float32        `yaml:"small"`
	On     bool           `yaml:"on"`
	Part   part           `yaml:"part"`
	Parts  []part         `yaml:"parts"`
	Banks  map[string]int `yaml:"banks"`
	Level  []string       `yaml:"level,omitempty"`
	Hidden int            `yaml:"-"`
	Other  int
}

func read(text string) (*strictyaml.Document, error) {
	return strictyaml.Read(strings.NewReader(text), "f.yaml", "a thing")
}

// decode reads a text over a thing with two values.
func decode(text string) (*thing, error) {
	doc, err := read(text)
	if err != nil {
		return nil, err
	}
	v := &thing{Ways: 7, Part: part{Name: "before"}}
	return v, doc.Decode(v)
}

func TestDecode(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		text string
		want thing
	}{
		{"title: t\n", thing{Title: "t", Ways: 7, Part: part{Name: "before"}}},
		{"# nothing\ntitle: t # said\n", thing{Title: "t", Ways: 7, Part: part{Name: "before"}}},
		{"{title: 'a: b', ways: 0x10, clock: 2, on: true}", thing{Title: "a: b", Ways: 16, Clock: 2, On: true, Part: part{Name: "before"}}},
		{"\"title\": \"tab\\t\"\nways: 1_000\n", thing{Title: "tab\t", Ways: 1000, Part: part{Name: "before"}}},
		{"title: 12\nways: 3.0\nclock: -15e2\nsmall: .5\n", thing{Title: "12", Ways: 3, Clock: -1500, Small: 0.5, Part: part{Name: "before"}}},
		{"title: |\n  one\n  two\nways: -3\n", thing{Title: "one\ntwo\n", Ways: -3, Part: part{Name: "before"}}},
		{"part:\n  count: 255\n  scale: 0.5\n", thing{Ways: 7, Part: part{Name: "before", Count: 255, Scale: &half}}},
		{"part:\n  count: 1\n  scale: null\n", thing{Ways: 7, Part: part{Name: "before", Count: 1}}},
		{"part:\n  # all is as before\ntitle: t\n", thing{Title: "t", Ways: 7, Part: part{Name: "before"}}},
		{"parts:\n  - name: a\n  - {name: b, count: 2}\nbanks: {x: 1, y: 2}\nlevel: [l1, l2]\n", thing{
			Ways: 7, Part: part{Name: "before"}, Parts: []part{{Name: "a"}, {Name: "b", Count: 2}}, Banks: map[string]int{"x": 1, "y": 2}, Level: []string{"l1", "l2"},
		}},
		{"title: t\r\npart:\r\n  count: 1\r\n", thing{Title: "t", Ways: 7, Part: part{Name: "before", Count: 1}}},
		{"---\ntitle: t\n...\n", thing{Title: "t", Ways: 7, Part: part{Name: "before"}}},
	} {
		got, err := decode(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, *got, c.text)
	}
	v, err := decode("clock: .nan\n")
	require.NoError(t, err)
	require.True(t, math.IsNaN(v.Clock))
	v, err = decode("clock: -.inf\n")
	require.NoError(t, err)
	require.True(t, math.IsInf(v.Clock, -1))
}

func TestErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"", "f.yaml:1: empty, expected a thing"},
		{"# only this\n", "f.yaml:1: empty, expected a thing\n    1 | # only this"},
		{"title\n", "f.yaml:1: \"title\", expected a thing\n    1 | title"},
		{"- a\n", "f.yaml:1: a list, expected a thing\n    1 | - a"},
		{"null\n", "f.yaml:1: null, expected a thing\n    1 | null"},
		{"zzz: 1\naaa: 2\nmmm: 3\n", "f.yaml:1: unknown key \"zzz\", expected title, ways, clock, small, on, part, parts, banks or level\n    1 | zzz: 1"},
		{"part: {name: a, count: 1, scale: 2, x: 3}\n", "f.yaml:1: unknown key \"x\", expected no more keys\n    1 | part: {name: a, count: 1, scale: 2, x: 3}"},
		{"-: 1\n", "f.yaml:1: unknown key \"-\", expected title, ways, clock, small, on, part, parts, banks or level\n    1 | -: 1"},
		{"Title: t\n", "f.yaml:1: unknown key \"Title\", expected title, ways, clock, small, on, part, parts, banks or level\n    1 | Title: t"},
		{"parts:\n  - name: a\n    colour: red\n", "f.yaml:3: unknown key \"colour\", expected count or scale\n    3 |     colour: red"},
		{"ways: 1\npart: {}\nways: 2\n", "f.yaml:3: key \"ways\" a second time, first on line 1\n    3 | ways: 2"},
		{"banks: {x: 1, x: 2}\n", "f.yaml:1: key \"x\" a second time, first on line 1\n    1 | banks: {x: 1, x: 2}"},
		{"ways: !!python/object/apply:os.system [ls]\n", "f.yaml:1: tag !!python/object/apply:os.system, expected a value without a tag\n    1 | ways: !!python/object/apply:os.system [ls]"},
		{"ways: !!int 3\n", "f.yaml:1: tag !!int, expected a value without a tag\n    1 | ways: !!int 3"},
		{"!!map {ways: 3}\n", "f.yaml:1: tag !!map, expected a value without a tag\n    1 | !!map {ways: 3}"},
		{"title: a\npart: &p {name: b}\nparts: [*p]\n", "f.yaml:2: \"&\", expected values without anchors and references to them\n    2 | part: &p {name: b}"},
		{"part:\n  <<: {name: b}\n", "f.yaml:2: \"<<\", expected values without anchors and references to them\n    2 |   <<: {name: b}"},
		{"? ways\n: 3\n", "f.yaml:1: \"?\", expected \"key: value\"\n    1 | ? ways"},
		{"title: t\r\nways: 17.5\r\n", "f.yaml:2: ways is 17.5, expected a whole number\n    2 | ways: 17.5"},
		{"ways: 17.5\n", "f.yaml:1: ways is 17.5, expected a whole number\n    1 | ways: 17.5"},
		{"ways: .nan\n", "f.yaml:1: ways is .nan, expected a whole number\n    1 | ways: .nan"},
		{"ways: .inf\n", "f.yaml:1: ways is .inf, expected a whole number in range\n    1 | ways: .inf"},
		{"ways: 1e30\n", "f.yaml:1: ways is 1e30, expected a whole number in range\n    1 | ways: 1e30"},
		{"ways: 18446744073709551615\n", "f.yaml:1: ways is 18446744073709551615, expected a whole number in range\n    1 | ways: 18446744073709551615"},
		{"part:\n  count: 256\n", "f.yaml:2: part.count is 256, expected a whole number in range\n    2 |   count: 256"},
		{"part:\n  count: -1\n", "f.yaml:2: part.count is -1, expected a whole number in range\n    2 |   count: -1"},
		{"clock: 1e999\n", "f.yaml:1: clock is 1e999, expected a number in range\n    1 | clock: 1e999"},
		{"small: 1e39\n", "f.yaml:1: small is 1e39, expected a number in range\n    1 | small: 1e39"},
		{"on: yes\n", "f.yaml:1: on is \"yes\", expected true or false\n    1 | on: yes"},
		{"ways:\ntitle: t\n", "f.yaml:1: ways is empty, expected a whole number\n    1 | ways:"},
		{"title: null\n", "f.yaml:1: title is null, expected a text\n    1 | title: null"},
		{"title: [a]\n", "f.yaml:1: title is a list, expected a text\n    1 | title: [a]"},
		{"clock: {a: b}\n", "f.yaml:1: clock is a mapping, expected a number\n    1 | clock: {a: b}"},
		{"part: 3\n", "f.yaml:1: part is 3, expected keys with values\n    1 | part: 3"},
		{"banks: x\n", "f.yaml:1: banks is \"x\", expected keys with values\n    1 | banks: x"},
		{"parts: {a: b}\n", "f.yaml:1: parts is a mapping, expected a list\n    1 | parts: {a: b}"},
		{"parts:\n  - name: a\n  - name: b\n    count: x\n", "f.yaml:4: parts[1].count is \"x\", expected a whole number\n    4 |     count: x"},
		{"ways: 1\n---\nways: 2\n", "f.yaml:3: a second document, expected one, a thing\n    3 | ways: 2"},
		{"ways: " + strings.Repeat("9", 300) + "x\n", "f.yaml:1: ways is \"" + strings.Repeat("9", 40) + "\", expected a whole number"},
		{"ways: \xff\n", "f.yaml:1: not UTF-8, expected a thing"},
		{"title: |\n" + strings.Repeat("\n", strictyaml.MaxLines), "f.yaml:4096: more than 4096 lines, expected a thing"},
		{strings.Repeat("#", strictyaml.MaxBytes+1), "f.yaml:1: more than 65536 bytes, expected a thing"},
	} {
		_, err := decode(c[0])
		require.EqualError(t, err, c[1])
		var e *position.Error
		require.ErrorAs(t, err, &e)
	}
	_, err := strictyaml.Read(iotest.ErrReader(errors.New("broken")), "f.yaml", "a thing")
	require.EqualError(t, err, "f.yaml: broken")
	for _, text := range []string{"title: [", "title: ]", "title: 'a", "a: b: c", "\tways: 1", "ways: 1\n bad", "{", "}", "title: \"\\q\""} {
		_, err := decode(text)
		var e *position.Error
		require.ErrorAs(t, err, &e, text)
		require.Positive(t, e.Line, text)
	}
}

// TestOrder asks the same question often: Go's maps have another order each time.
func TestOrder(t *testing.T) {
	text := "title: t\n"
	for i := range 20 {
		text += fmt.Sprintf("x%d: 1\n", (i*7)%20)
	}
	for range 100 {
		_, err := decode(text)
		require.ErrorContains(t, err, `f.yaml:2: unknown key "x0"`)
	}
}

// TestNesting sees that depth is bounded before anything recursive begins.
func TestNesting(t *testing.T) {
	for name, text := range map[string]string{
		"lists":     strings.Repeat("[", 30000) + strings.Repeat("]", 30000),
		"open":      strings.Repeat("[", 60000),
		"mappings":  strings.Repeat("{a: ", 15000) + strings.Repeat("}", 4000),
		"sequences": strings.Repeat("- ", 30000) + "a",
		"keys":      strings.Repeat("a: ", 20000),
		"explicit":  strings.Repeat("? ", 30000),
		"mixed":     "[" + strings.Repeat("- ", 30000),
	} {
		_, err := decode(text)
		var e *position.Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, 1, e.Line, name)
	}
	var deep strings.Builder
	for i := range 300 {
		deep.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	_, err := decode(deep.String())
	require.ErrorContains(t, err, "f.yaml:1: unknown key \"a\"")
}

func TestPlaces(t *testing.T) {
	doc, err := read("# about\ntitle: t\npart:\n  name: a\nparts:\n  - name: b\n    count: 1\n  - {name: c}\nbanks: {x: 1}\n")
	require.NoError(t, err)
	for _, c := range []struct {
		path string
		line int
		has  bool
	}{
		{"", 1, true}, {"title", 2, true}, {"part", 3, true}, {"part.name", 4, true}, {"part.scale", 3, false}, {"part.scale.x", 3, false}, {"parts[0]", 6, true},
		{"parts[0].count", 7, true}, {"parts[1].name", 8, true}, {"parts[1].count", 8, false}, {"parts[2]", 5, false}, {"parts[-1]", 5, false},
		{"banks.x", 9, true}, {"none", 1, false}, {"part[0]", 3, false},
	} {
		require.Equal(t, c.line, doc.Errorf(c.path, "m").Line, c.path)
		require.Equal(t, c.has, doc.Has(c.path), c.path)
	}
	require.EqualError(t, doc.Errorf("part.scale", "is %d", 3), "f.yaml:3: is 3\n    3 | part:")
}

// FuzzDecode holds what is accepted to go-yaml's own strict decoder, which knows
// nothing of ours but the parser.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"title: t\nways: 3\n", "part: {name: a, count: 2, scale: 1e3}\nparts:\n- name: x\n", "banks: {a: 1}\nlevel: [a, b]\non: true\n", "a: &x b\n", "- - -\n", "? a\n: b\n", "title: |\n a\n", "%YAML 1.2\n---\nways: 1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(text)
		again, err2 := decode(text)
		if err != nil {
			var e *position.Error
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line)
			require.LessOrEqual(t, e.Line, strings.Count(text, "\n")+strings.Count(text, "\r")+1)
			require.EqualError(t, err2, err.Error())
			return
		}
		_ = again
		want := &thing{Ways: 7, Part: part{Name: "before"}}
		if err := yaml.NewDecoder(strings.NewReader(text), yaml.Strict()).Decode(want); err != nil {
			return // it is stricter in places, as with "name: 7"
		}
		if math.IsNaN(got.Clock) || math.IsNaN(float64(got.Small)) || got.Part.Scale != nil && math.IsNaN(*got.Part.Scale) {
			return
		}
		if fmt.Sprintf("%+v", deref(got)) != fmt.Sprintf("%+v", deref(want)) {
			t.Errorf("%q gives %+v, go-yaml %+v", text, deref(got), deref(want))
		}
	})
}

// deref makes pointers comparable by what they point to.
func deref(v *thing) any {
	scale := func(p part) any {
		if p.Scale == nil {
			return nil
		}
		return *p.Scale
	}
	// A text such as 007 stays as it is written; go-yaml makes it a number first.
	text := func(s string) string {
		if strings.ContainsAny(s, "0123456789") && strings.Trim(s, "+-._xo0123456789abcdefABCDEF") == "" {
			return "number"
		}
		return s
	}
	var parts, level []any
	for _, p := range v.Parts {
		parts = append(parts, text(p.Name), p.Count, scale(p))
	}
	for _, s := range v.Level {
		level = append(level, text(s))
	}
	return []any{text(v.Title), v.Ways, v.Clock, v.Small, v.On, text(v.Part.Name), v.Part.Count, scale(v.Part), parts, v.Banks, level}
}
