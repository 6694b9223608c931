package platform

import (
	"fmt"
	"reflect"
	"strings"
)

// Schema lists what a description may have, field by field.
func Schema() string {
	var b strings.Builder
	b.WriteString("# A description of a platform. Place of an operand: cells of an array, cells, wordlines or\n" +
		"# columns of a crossbar, bank or register of lanes, program: constants of instructions. Layout: row and column, each a sum of dimensions and b times\n" +
		"# a whole number, x (any distinct places), B (bits of an element) or a dimension (its size).\n")
	schema(&b, reflect.TypeFor[Platform](), "")
	return b.String()
}

func schema(b *strings.Builder, t reflect.Type, indent string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		opt := ""
		if strings.Contains(rest, "omitempty") {
			opt = " # may be left out"
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		list := ""
		if ft.Kind() == reflect.Slice {
			ft, list = ft.Elem(), "list of "
		}
		if ft.Kind() == reflect.Struct {
			kind := "mapping"
			if list != "" {
				kind = "mappings"
			}
			fmt.Fprintf(b, "%s%s: # %s%s%s\n", indent, name, list, kind, strings.Replace(opt, " # ", ", ", 1))
			schema(b, ft, indent+"  ")
			continue
		}
		fmt.Fprintf(b, "%s%s: %s%s%s\n", indent, name, list, typeName(ft), opt)
	}
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		return "mapping of names to " + typeName(t.Elem())
	}
	return "text"
}
