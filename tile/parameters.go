package tile

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bitsched/bitsched/internal/strictyaml"
)

// Parameter is a value of a machine.
type Parameter struct {
	Path    string   `json:"path"` // such as l3.ways
	Value   string   `json:"value"`
	Source  string   `json:"source"`             // where the value is from
	Reading []string `json:"readings,omitempty"` // values to compare, if sources differ
	Arrays  bool     `json:"in_arrays"`          // whether figures of what arrays compute depend on it
	Time    bool     `json:"in_time"`            // whether runs of whole functions in time do
	Streams bool     `json:"in_streams"`         // whether those with streams alone do
	Regions bool     `json:"in_regions"`         // whether those with regions in memory alone do; none of the four: it is described, not modelled
}

// field is a parameter with its place.
type field struct {
	path string
	tag  reflect.StructTag
	v    reflect.Value
}

// fields returns the parameters of a machine in the order of the description.
func (m *Machine) fields() []field {
	var list []field
	var walk func(prefix string, v reflect.Value)
	walk = func(prefix string, v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name := f.Tag.Get("yaml")
			switch {
			case name == "":
			case f.Type.Kind() == reflect.Struct:
				walk(prefix+name+".", v.Field(i))
			default:
				list = append(list, field{prefix + name, f.Tag, v.Field(i)})
			}
		}
	}
	walk("", reflect.ValueOf(m).Elem())
	return list
}

// Parameters returns all parameters of a machine in the order of its description.
func (m *Machine) Parameters() []Parameter {
	var list []Parameter
	for _, f := range m.fields() {
		list = append(list, Parameter{f.path, f.text(), m.source(&f), strings.Fields(f.tag.Get("reading")),
			!in(f.path, labels, notModelled, inStreams, inRegions, notInArrays), !in(f.path, labels, notModelled, inStreams, inRegions, notInTime), in(f.path, inStreams), in(f.path, inRegions)})
	}
	return list
}

// source says where the value of a parameter is from: the comment behind it in the
// description, or the file and the line.
func (m *Machine) source(f *field) string {
	if s, ok := m.sources[f.path]; ok && s.value == f.text() {
		return s.text
	}
	if slices.Contains(labels, f.path) {
		return ""
	}
	return "changed by the program"
}

// Set gives a parameter, such as l3.latency_cycles, another value, as a description
// would. The machine stays as it is if that is an error.
func (m *Machine) Set(path, value string) error {
	changed := *m
	for _, f := range changed.fields() {
		if f.path != path {
			continue
		}
		if err := f.set(value); err != nil {
			return fmt.Errorf("tile: %s is %.40q, expected %w", path, value, err)
		}
		if field, msg := changed.check(); msg != "" {
			return fmt.Errorf("tile: %s = %s: %s %s", path, value, field, msg)
		}
		*m = changed
		return nil
	}
	return fmt.Errorf("tile: no parameter %.60q of machines", path)
}

func (f *field) text() string {
	switch f.v.Kind() {
	case reflect.Int:
		return strconv.FormatInt(f.v.Int(), 10)
	case reflect.Float64:
		x := f.v.Float()
		switch { // as YAML has them
		case math.IsNaN(x):
			return ".nan"
		case math.IsInf(x, 0):
			return strings.TrimPrefix(strings.Replace(strconv.FormatFloat(x, 'g', -1, 64), "Inf", ".inf", 1), "+")
		}
		return strconv.FormatFloat(x, 'f', -1, 64)
	case reflect.Bool:
		return strconv.FormatBool(f.v.Bool())
	}
	return f.v.String()
}

func (f *field) set(s string) error {
	switch f.v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("a whole number")
		}
		f.v.SetInt(int64(n))
	case reflect.Float64:
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("a number")
		}
		f.v.SetFloat(x)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return fmt.Errorf("true or false")
		}
		f.v.SetBool(b)
	default:
		f.v.SetString(s)
	}
	return nil
}

// checkRanges compares each parameter with what its tags allow.
func (m *Machine) checkRanges() (path, msg string) {
	for _, f := range m.fields() {
		if r := f.tag.Get("range"); r != "" {
			from, to, _ := strings.Cut(strings.TrimPrefix(r, ">"), "..")
			least, most := number(from), number(to)
			if f.v.Kind() == reflect.Int {
				if n := f.v.Int(); n < int64(least) || n > int64(most) {
					return f.path, fmt.Sprintf("is %d, expected %s to %s", n, from, to)
				}
			} else if x := f.v.Float(); !(x >= least && x <= most) || strings.HasPrefix(r, ">") && x == least {
				if strings.HasPrefix(r, ">") {
					from = "more than " + from + ", at most"
				} else {
					from += " to"
				}
				return f.path, fmt.Sprintf("is %v, expected %s %s", x, from, to)
			}
		}
		if n := f.v; f.tag.Get("power") != "" && n.Int()&(n.Int()-1) != 0 {
			return f.path, fmt.Sprintf("is %d, expected a power of two", n.Int())
		}
		if one := strings.Fields(f.tag.Get("oneof")); len(one) > 0 && !slices.Contains(one, f.v.String()) {
			return f.path, fmt.Sprintf("is %.40q, expected one of %s", f.v.String(), strings.Join(one, ", "))
		}
	}
	return "", ""
}

// number is a number of a tag.
func number(s string) float64 {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("tile: tag of a parameter: " + err.Error())
	}
	return x
}

// note notes the sources of the values that a document has.
func (m *Machine) note(doc *strictyaml.Document, file string) {
	sources := maps.Clone(m.sources)
	if sources == nil {
		sources = map[string]source{}
	}
	for _, f := range m.fields() {
		if !doc.Has(f.path) || slices.Contains(labels, f.path) {
			continue
		}
		text := printable(doc.Comment(f.path))
		if text == "" {
			text = fmt.Sprintf("%s:%d", file, doc.Line(f.path))
		}
		sources[f.path] = source{f.text(), text}
	}
	m.sources = sources
}

// printable leaves out of a comment what does not belong into a line.
func printable(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return -1
		}
		return r
	}, s))
}

// plain matches texts that need no quotes in YAML.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*([ ,./()+-]+[A-Za-z0-9_]+)*$`)

// Effective returns the whole description with the sources of its values, in a form
// that [ParseMachine] reads back to an equal machine.
func (m *Machine) Effective() string {
	var b strings.Builder
	var open []string // sections
	for _, f := range m.fields() {
		steps := strings.Split(f.path, ".")
		sections, name := steps[:len(steps)-1], steps[len(steps)-1]
		same := 0
		for same < len(open) && same < len(sections) && open[same] == sections[same] {
			same++
		}
		for i := same; i < len(sections); i++ {
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), sections[i])
		}
		open = sections
		text := f.text()
		if f.v.Kind() == reflect.String && (!plain.MatchString(text) || slices.Contains([]string{"true", "false", "null"}, strings.ToLower(text))) {
			text = strconv.Quote(text)
		}
		line := fmt.Sprintf("%s%s: %s", strings.Repeat("  ", len(sections)), name, text)
		if s := m.source(&f); s != "" {
			line = fmt.Sprintf("%-40s # %s", line, s)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
