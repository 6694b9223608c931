package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Decode reads the document over what v points to. What the text leaves out stays
// as it is; a sequence or a mapping into a Go map replaces what was there. An error
// is a *position.Error, and v may then have been changed in part.
func (d *Document) Decode(v any) error {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		panic(fmt.Sprintf("strictyaml: Decode into %T, expected a pointer", v))
	}
	if pairs(d.root) == nil && p.Elem().Kind() == reflect.Struct && d.root.Type() != ast.MappingType {
		return d.at(lineOf(d.root.GetToken()), "%s, expected %s", describe(d.root), d.what)
	}
	return d.decode(d.root, p.Elem(), "")
}

// decode reads a node over v, which path names.
func (d *Document) decode(n ast.Node, v reflect.Value, path string) error {
	null := n == nil || n.Type() == ast.NullType
	switch v.Kind() {
	case reflect.Pointer:
		if null {
			v.SetZero()
			return nil
		}
		x := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			x.Elem().Set(v.Elem())
		}
		if err := d.decode(n, x.Elem(), path); err != nil {
			return err
		}
		v.Set(x)
		return nil
	case reflect.Struct:
		if null {
			return nil // a section of which all is left out
		}
		return d.structure(n, v, path)
	case reflect.Map:
		if null {
			v.SetZero()
			return nil
		}
		return d.mapping(n, v, path)
	case reflect.Slice:
		if null {
			v.SetZero()
			return nil
		}
		return d.sequence(n, v, path)
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return d.scalar(n, v, path)
	}
	panic(fmt.Sprintf("strictyaml: Decode into %v, which is %s", v.Type(), path))
}

// eachKey calls f for the keys and values of a mapping in the order of the text.
func (d *Document) eachKey(n ast.Node, path string, f func(key, path string, value ast.Node) error) error {
	list := pairs(n)
	if list == nil && n.Type() != ast.MappingType {
		return d.wrong(n, path, "keys with values")
	}
	first := map[string]int{}
	for _, pair := range list {
		t := pair.Key.GetToken()
		key := t.Value
		if at, again := first[key]; again {
			return d.at(lineOf(t), "key %.40q a second time, first on line %d", key, at)
		}
		first[key] = lineOf(t)
		if err := f(key, strings.TrimPrefix(path+"."+key, "."), pair.Value); err != nil {
			return err
		}
	}
	return nil
}

func (d *Document) structure(n ast.Node, v reflect.Value, path string) error {
	fields := map[string]int{}
	var known []string
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		fields[name] = i
		known = append(known, name)
	}
	seen := map[string]bool{}
	return d.eachKey(n, path, func(key, path string, value ast.Node) error {
		i, ok := fields[key]
		if !ok {
			var left []string
			for _, k := range known {
				if !seen[k] {
					left = append(left, k)
				}
			}
			return d.at(d.keyLine(n, key), "unknown key %.40q, expected %s", key, alternatives(left))
		}
		seen[key] = true
		return d.decode(value, v.Field(i), path)
	})
}

// keyLine is the line of a key of a mapping.
func (d *Document) keyLine(n ast.Node, key string) int {
	for _, pair := range pairs(n) {
		if t := pair.Key.GetToken(); t.Value == key {
			return lineOf(t)
		}
	}
	return lineOf(startOf(n))
}

// alternatives are names as a list with "or".
func alternatives(names []string) string {
	switch len(names) {
	case 0:
		return "no more keys"
	case 1:
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func (d *Document) mapping(n ast.Node, v reflect.Value, path string) error {
	if v.Type().Key().Kind() != reflect.String {
		panic(fmt.Sprintf("strictyaml: Decode into %v, expected keys that are strings", v.Type()))
	}
	m := reflect.MakeMap(v.Type())
	err := d.eachKey(n, path, func(key, path string, value ast.Node) error {
		x := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(value, x, path); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), x)
		return nil
	})
	if err == nil {
		v.Set(m)
	}
	return err
}

func (d *Document) sequence(n ast.Node, v reflect.Value, path string) error {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		return d.wrong(n, path, "a list")
	}
	list := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, value := range s.Values {
		if err := d.decode(value, list.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// expectations say what a kind of Go value stands for, in terms of descriptions.
var expectations = map[reflect.Kind]string{
	reflect.String: "a text", reflect.Bool: "true or false", reflect.Float32: "a number", reflect.Float64: "a number",
}

func (d *Document) scalar(n ast.Node, v reflect.Value, path string) error {
	want := expectations[v.Kind()]
	if want == "" {
		want = "a whole number"
	}
	if n == nil || n.Type() == ast.NullType {
		return d.wrong(n, path, want)
	}
	switch v.Kind() {
	case reflect.String:
		switch n := n.(type) {
		case *ast.StringNode:
			v.SetString(n.Value)
			return nil
		case *ast.LiteralNode:
			v.SetString(n.Value.Value)
			return nil
		case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			v.SetString(n.GetToken().Value) // as in "name: 7"
			return nil
		}
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return nil
		}
	case reflect.Float32, reflect.Float64:
		x, ok := number(n)
		if ok && (v.OverflowFloat(x) || math.IsInf(x, 0) && n.Type() == ast.StringType) {
			return d.wrong(n, path, want+" in range")
		}
		if ok {
			v.SetFloat(x)
			return nil
		}
	default:
		if done, ok := setInteger(n, v); done {
			return nil
		} else if ok {
			return d.wrong(n, path, want+" in range")
		}
	}
	return d.wrong(n, path, want)
}

// number is the value of a node that is a number.
func number(n ast.Node) (x float64, ok bool) {
	switch n := n.(type) {
	case *ast.FloatNode:
		return n.Value, true
	case *ast.InfinityNode:
		return n.Value, true
	case *ast.NanNode:
		return math.NaN(), true
	case *ast.IntegerNode:
		switch x := n.Value.(type) {
		case int64:
			return float64(x), true
		case uint64:
			return float64(x), true
		}
	case *ast.StringNode:
		// The parser takes 1e3, and a number of more than 64 bits, for a text.
		if t := n.Token; t.Type == token.StringType && strings.Trim(t.Value, "+-.eE0123456789") == "" {
			x, err := strconv.ParseFloat(t.Value, 64)
			return x, err == nil || errors.Is(err, strconv.ErrRange)
		}
	}
	return 0, false
}

// setInteger sets v to a number without a fraction. done says that it did; whole,
// that the number has none but does not fit.
func setInteger(n ast.Node, v reflect.Value) (done, whole bool) {
	if i, ok := n.(*ast.IntegerNode); ok {
		switch x := i.Value.(type) {
		case int64:
			return set(v, x < 0, uint64(x)), true
		case uint64:
			return set(v, false, x), true
		}
		return false, true
	}
	x, ok := number(n)
	switch {
	case !ok || math.IsNaN(x) || !math.IsInf(x, 0) && x != math.Trunc(x):
		return false, false
	case math.Abs(x) > 1<<53: // not exact, or not a number of 64 bits
		return false, true
	}
	return set(v, x < 0, uint64(int64(x))), true
}

// set gives v a number in two's complement if it is in range.
func set(v reflect.Value, negative bool, x uint64) bool {
	if v.CanUint() {
		if negative || v.OverflowUint(x) {
			return false
		}
		v.SetUint(x)
		return true
	}
	if !negative && x > math.MaxInt64 || v.OverflowInt(int64(x)) {
		return false
	}
	v.SetInt(int64(x))
	return true
}

// wrong is the error of a value that is not what was expected.
func (d *Document) wrong(n ast.Node, path, want string) error {
	line := d.line(path)
	if n != nil {
		if t := startOf(n); t != nil && n.Type() != ast.NullType {
			line = lineOf(t)
		}
	}
	if path == "" {
		return d.at(line, "%s, expected %s", describe(n), want)
	}
	return d.at(line, "%s is %s, expected %s", path, describe(n), want)
}

// describe names a node for a message.
func describe(n ast.Node) string {
	if n == nil {
		return "empty"
	}
	switch n := n.(type) {
	case *ast.NullNode:
		if n.Token != nil && n.Token.Type == token.NullType && n.Token.Value != "" {
			return n.Token.Value
		}
		return "empty"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.StringNode:
		if _, ok := number(n); ok {
			return fmt.Sprintf("%.40s", n.Value)
		}
		return fmt.Sprintf("%.40q", n.Value)
	case *ast.LiteralNode:
		return fmt.Sprintf("%.40q", n.Value.Value)
	}
	if t := n.GetToken(); t != nil {
		return fmt.Sprintf("%.40s", t.Value)
	}
	return "something else"
}
