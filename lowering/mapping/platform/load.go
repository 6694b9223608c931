package platform

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/bitsched/bitsched/internal/strictyaml"
)

//go:embed data/*.yaml
var data embed.FS

func mapsKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// ErrUnknown is wrapped by the error of a name that no platform has.
var ErrUnknown = errors.New("unknown platform")

// Names lists the platforms that come with the program, those of the paper first.
func Names() []string {
	names := []string{"logic-sram", "logic-dram", "mvm-reram", "pnm-hbm"}
	files, _ := fs.ReadDir(data, "data") // embedded: there is no error
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".yaml")
		known := false
		for _, n := range names {
			known = known || n == name
		}
		if !known {
			names = append(names, name)
		}
	}
	return names
}

// Load reads a platform by name, or from a file (with a . or / in its name).
func Load(nameOrFile string) (*Platform, error) {
	if !strings.ContainsAny(nameOrFile, "./") {
		text, err := data.ReadFile(path.Join("data", nameOrFile+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("platform: %w %q, expected one of %s, or a file", ErrUnknown, nameOrFile, strings.Join(Names(), ", "))
		}
		return Parse(bytes.NewReader(text), nameOrFile+".yaml")
	}
	f, err := os.Open(nameOrFile)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("platform: %s: %w", nameOrFile, err)
	}
	defer f.Close()
	return Parse(f, nameOrFile)
}

// Parse reads a description; file is its name in errors, which are of type
// [*position.Error]. It is strict: unknown and repeated fields are errors.
func Parse(r io.Reader, file string) (*Platform, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("platform: %s: %w", file, err)
	}
	doc, err := strictyaml.Read(bytes.NewReader(text), file, "the description of a platform")
	if err != nil {
		return nil, err
	}
	p := &Platform{}
	if err := doc.Decode(p); err != nil {
		return nil, err
	}
	base := filepath.Base(file)
	p.Name = cmp.Or(p.Name, strings.TrimSuffix(base, filepath.Ext(base)))
	p.text = string(text)
	if field, msg := p.check(); msg != "" {
		return nil, doc.Errorf(field, "%s %s", field, msg)
	}
	return p, nil
}

func encode(p *Platform) string {
	text, err := yaml.Marshal(p)
	if err != nil {
		panic(err) // plain fields
	}
	return string(text)
}

// Effective is the whole description as YAML, with the source of each value behind
// it.
func (p *Platform) Effective() string {
	if p.text != "" {
		return p.text
	}
	return encode(p)
}

// Value returns a number by its path, as levels[0].fan_out or array.rows.
func (p *Platform) Value(field string) (float64, bool) {
	v, ok := p.find(field)
	if !ok {
		return 0, false
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return float64(v.Int()), true
	case reflect.Float64:
		return v.Float(), true
	}
	return 0, false
}

// With returns a copy with one number replaced, checked.
func (p *Platform) With(field string, value float64) (*Platform, error) {
	q := p.clone()
	v, ok := q.find(field)
	if !ok {
		return nil, fmt.Errorf("platform: %s has no field %s", p.Name, field)
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(value))
	case reflect.Float64:
		v.SetFloat(value)
	default:
		return nil, fmt.Errorf("platform: field %s of %s is no number", field, p.Name)
	}
	q.text = ""
	if field, msg := q.check(); msg != "" {
		return nil, fmt.Errorf("platform: %s: %s %s", p.Name, field, msg)
	}
	return q, nil
}

func (p *Platform) clone() *Platform {
	q, err := Parse(strings.NewReader(encode(p)), p.Name+".yaml")
	if err != nil {
		panic(err) // our own text
	}
	return q
}

// find follows a path of YAML names; map entries are copied and cannot be set.
func (p *Platform) find(field string) (reflect.Value, bool) {
	v := reflect.ValueOf(p).Elem()
	for _, part := range strings.Split(strings.ReplaceAll(field, "[", ".["), ".") {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		switch {
		case strings.HasPrefix(part, "["):
			i, err := strconv.Atoi(strings.Trim(part, "[]"))
			if err != nil || v.Kind() != reflect.Slice || i < 0 || i >= v.Len() {
				return v, false
			}
			v = v.Index(i)
		case v.Kind() == reflect.Map:
			v = v.MapIndex(reflect.ValueOf(part))
			if !v.IsValid() {
				return v, false
			}
		case v.Kind() == reflect.Struct:
			found := false
			for i := range v.NumField() {
				name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
				if name == part && name != "" {
					v, found = v.Field(i), true
					break
				}
			}
			if !found {
				return v, false
			}
		default:
			return v, false
		}
	}
	return v, true
}

// PaperValue returns what the fields of a row of the paper's tables amount to.
func (p *Platform) PaperValue(r PaperRow) float64 {
	v := 1.0
	if r.Times != 0 {
		v = r.Times
	}
	for _, f := range r.Of {
		x, _ := p.Value(f)
		v *= x
	}
	return v
}

// Nodes returns n chips as one: n times the groups of the outermost level and the
// buffer, behind the same link off chip.
func (p *Platform) Nodes(n int) (*Platform, error) {
	if n == 1 {
		return p, nil
	}
	last := len(p.Levels) - 1
	q, err := p.With(fmt.Sprintf("levels[%d].fan_out", last), float64(p.Levels[last].FanOut*n))
	if err != nil || q.Buffer == nil {
		return q, err
	}
	return q.With("buffer.bytes", float64(q.Buffer.Bytes*int64(n)))
}
