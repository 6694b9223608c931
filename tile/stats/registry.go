package stats

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"unicode"
)

// Units of stats, in the words of gem5. Others are allowed.
const (
	Count  = "Count"
	Cycle  = "Cycle"
	Byte   = "Byte"
	Second = "Second"
	Ratio  = "Ratio"
	Joule  = "Joule"
)

// Stat says what a value is.
type Stat struct {
	Name string // with that of the group, such as system.l2.hits
	Unit string
	Text string // what it counts
}

// Registry knows the groups of counters of a machine. The zero value is not usable.
type Registry struct {
	stats []entry
	names map[string]bool
}

// entry is a stat and where its value is.
type entry struct {
	Stat
	parts []string
	read  func(now int64) datum
	of    func(*Snapshot) float64 // a formula, if it is not nil
}

// New returns a registry without groups.
func New() *Registry { return &Registry{names: map[string]bool{}} }

var (
	word      = `[A-Za-z][A-Za-z0-9_]*(\[[0-9]+\])?`
	words     = `^` + word + `(\.` + word + `)*`
	groupName = regexp.MustCompile(words + `$`)
	statName  = regexp.MustCompile(words + `(::[A-Za-z0-9_+-]+)?$`)
)

// Register makes a group of counters known by a name such as system.l2, or
// system.l2[3] for one of several components of a kind; counters is the pointer to a struct as in the package comment. It panics if the name is taken
// or no name, or if a field is not described: these are errors of the program.
func (r *Registry) Register(group string, counters any) {
	v := reflect.ValueOf(counters)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("stats: group %s of %T, expected the pointer to a struct", group, counters))
	}
	if !groupName.MatchString(group) {
		panic(fmt.Sprintf("stats: group %q, expected names of letters and digits, separated by dots, each with an index in brackets or none", group))
	}
	r.fields(group+".", v.Elem())
}

// Formula makes a value known that follows from others of the same snapshot. Of a
// difference of snapshots it is the one of the differences.
func (r *Registry) Formula(name, unit, text string, f func(*Snapshot) float64) {
	r.add(entry{Stat: Stat{name, unit, text}, of: f})
}

func (r *Registry) add(e entry) {
	switch {
	case !statName.MatchString(e.Name):
		panic(fmt.Sprintf("stats: name %q, expected letters and digits, with dots or one :: between", e.Name))
	case r.names[e.Name]:
		panic(fmt.Sprintf("stats: %s is registered twice", e.Name))
	case e.Text == "":
		panic(fmt.Sprintf("stats: %s has no description", e.Name))
	}
	r.names[e.Name] = true
	r.stats = append(r.stats, e)
}

// fields adds the stats of a struct.
func (r *Registry) fields(prefix string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, named := f.Tag.Lookup("stat")
		if name == "-" {
			continue
		}
		if name == "." { // its fields are of this group
			r.fields(prefix, v.Field(i))
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("stats: field %s of %s cannot be read, expected a name with a capital, or the tag stat:\"-\"", f.Name, v.Type()))
		}
		if !named {
			name = uncapital(f.Name)
		}
		e := entry{Stat: Stat{prefix + name, f.Tag.Get("unit"), f.Tag.Get("desc")}}
		if e.Unit == "" {
			e.Unit = Count
		}
		if p := f.Tag.Get("parts"); p != "" {
			e.parts = strings.Split(p, ",")
		}
		switch p := v.Field(i).Addr().Interface().(type) {
		case *uint64:
			e.read = func(int64) datum { return count(*p) }
		case *int64:
			e.read = func(int64) datum { return count(*p) }
		case *int:
			e.read = func(int64) datum { return count(*p) }
		case *float64:
			e.read = func(int64) datum { return number(*p) }
		case *Histogram:
			e.read = func(int64) datum { return histogram{p.clone()} }
		case *Distribution:
			e.read = func(int64) datum { return distribution{*p} }
		case *Level:
			e.read = func(now int64) datum { return level{p.Area(now), now, p.most} }
		case *[]uint64:
			e.read = func(int64) datum { return vector(append([]uint64(nil), *p...)) }
		default:
			field := v.Field(i)
			switch {
			case field.Kind() == reflect.Array && field.Type().Elem().Kind() == reflect.Uint64:
				if n := field.Len(); len(e.parts) > 0 && len(e.parts) != n {
					panic(fmt.Sprintf("stats: %s has %d parts and names for %d", e.Name, n, len(e.parts)))
				}
				s := field.Slice(0, field.Len())
				e.read = func(int64) datum {
					d := make(vector, s.Len())
					for i := range d {
						d[i] = s.Index(i).Uint()
					}
					return d
				}
			case field.Kind() == reflect.Struct:
				if f.Anonymous {
					r.fields(prefix, field)
				} else {
					r.fields(e.Name+".", field)
				}
				continue
			default:
				panic(fmt.Sprintf("stats: %s is of type %s, expected a counter", e.Name, f.Type))
			}
		}
		r.add(e)
	}
}

// uncapital returns the name of a field as that of a stat: hits of Hits, mshrFull of
// MSHRFull.
func uncapital(s string) string {
	letters := []rune(s)
	for i := range letters {
		if i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) || !unicode.IsUpper(letters[i]) {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}

// Stats returns what the registry knows, in the order of registration.
func (r *Registry) Stats() []Stat {
	list := make([]Stat, len(r.stats))
	for i, e := range r.stats {
		list[i] = e.Stat
	}
	return list
}
