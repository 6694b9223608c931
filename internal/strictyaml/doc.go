// Package strictyaml reads descriptions that people write in YAML: machines and
// tables of costs. All of them are read here, so that all are equally strict and
// their errors look alike.
//
// A description is one document of mappings, sequences and plain values that
// fits the Go value it is decoded into. Unknown and repeated keys, tags (!!name),
// anchors, aliases, merge keys, values of another type and numbers out of range
// are errors; none of it is guessed or cut off. The first mistake in the order of
// the text is the one reported, as a [position.Error] with the line.
//
// Reading has three steps:
//
//	doc, err := strictyaml.Read(r, "mine.yaml", "the description of a machine")
//	m := Default()                      // what the file leaves out stays
//	err = doc.Decode(&m)
//	return doc.Errorf("l3.ways", "is %d, expected 1 to 64", m.L3.Ways)
//
// The last is for what a type cannot say: Errorf finds the line of a path, or of
// the nearest thing around it that the text has. Keys are those of the field's
// tag `yaml:"name"`; fields may be structs, pointers, slices, maps with keys that
// are strings, strings, booleans, integers and floats. A pointer is nil for null.
//
// It is not a general reader of YAML, and writes none: yaml.Marshal of
// github.com/goccy/go-yaml, whose parser this stands on, does.
package strictyaml
