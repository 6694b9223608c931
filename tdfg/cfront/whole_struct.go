package cfront

import (
	"github.com/bitsched/bitsched/tdfg/lattice"
	"github.com/bitsched/bitsched/tdfg/scalar"
	"github.com/bitsched/bitsched/tdfg/stream"
	"modernc.org/cc/v4"
)

// structure is a struct type, laid out as on x86-64.
type structure struct {
	name   string
	fields []field
	size   int64
	align  int64
}

type field struct {
	name   string
	typ    scalar.Type
	to     *structure // what a pointer points to, its typ is int64 then
	ptr    bool
	dims   []int64
	offset int64
}

// object is an array of structures, kept as an array for each member, or one of them.
type object struct {
	name   string
	typ    *structure
	fields map[string]*array
	single bool                 // a local structure, no array
	vars   map[string]*variable // members of one, where they need not be in memory
}

// structures notes the structures that a declaration defines.
func (c *converter) structures(s *cc.DeclarationSpecifiers) *structure {
	for ; s != nil; s = s.DeclarationSpecifiers {
		if s.TypeSpecifier != nil {
			if t := c.structOf(s.TypeSpecifier); t != nil {
				return t
			}
		}
	}
	return nil
}

// typedefs notes names of structures.
func (c *converter) typedefs(d *cc.Declaration) {
	t := c.structures(d.DeclarationSpecifiers)
	for l := d.InitDeclaratorList; t != nil && l != nil; l = l.InitDeclaratorList {
		if dec := l.InitDeclarator.Declarator; dec.Pointer == nil {
			c.whole.structs[dec.Name()] = t
		}
	}
}

// structOf returns the structure that a type specifier is, nil if it is none.
func (c *converter) structOf(s *cc.TypeSpecifier) *structure {
	if c.whole == nil {
		return nil
	}
	if s.Case == cc.TypeSpecifierTypeName {
		return c.whole.structs[s.Token.SrcStr()]
	}
	su := s.StructOrUnionSpecifier
	if su == nil {
		return nil
	}
	tag := ""
	if t := su.Token.SrcStr(); t != "{" {
		tag = t
	}
	key := "struct " + tag
	if su.StructDeclarationList == nil {
		if c.whole.structs[key] == nil {
			c.whole.structs[key] = &structure{name: tag}
		}
		return c.whole.structs[key]
	}
	t := c.whole.structs[key]
	if t == nil || tag == "" {
		t = &structure{name: tag, align: 1}
		if tag != "" {
			c.whole.structs[key] = t
		}
	}
	if len(t.fields) > 0 {
		return t
	}
	if su.StructOrUnion != nil && su.StructOrUnion.Token.SrcStr() == "union" {
		fail(c.u.pos(su), "a union: supported are structures of numbers and of pointers to structures")
	}
	t.align = 1
	for l := su.StructDeclarationList; l != nil; l = l.StructDeclarationList {
		d := l.StructDeclaration
		var list []*cc.TypeSpecifier
		for q := d.SpecifierQualifierList; q != nil; q = q.SpecifierQualifierList {
			if q.TypeSpecifier != nil {
				list = append(list, q.TypeSpecifier)
			}
		}
		for x := d.StructDeclaratorList; x != nil; x = x.StructDeclaratorList {
			dec := x.StructDeclarator.Declarator
			if dec == nil || x.StructDeclarator.ConstantExpression != nil {
				fail(c.u.pos(d), "a member without a name or of some bits: supported are numbers and pointers to structures")
			}
			sizes, depth := c.dims(dec)
			f := field{name: dec.Name()}
			f.typ, _ = c.typeOf(list)
			size := int64(f.typ.Bytes())
			switch {
			case depth == 1:
				f.ptr, f.typ, size = true, scalar.Int64, 8
				if len(list) == 1 {
					f.to = c.structOf(list[0])
				}
				if f.to == nil {
					fail(c.u.pos(dec), "member %s points to numbers: supported are pointers to structures", f.name)
				}
			case depth > 1 || f.typ == scalar.Invalid || f.typ == scalar.Bool:
				fail(c.u.pos(dec), "member %s: supported are %s, and pointers to structures", f.name, someTypes)
			}
			align := size
			for _, n := range sizes {
				e, ok := affine(c.expr(n))
				k, isConst := e.Const()
				if !ok || !isConst || k < 1 {
					fail(c.u.pos(dec), "member %s has a size that is no constant", f.name)
				}
				f.dims = append(f.dims, k)
				size *= k
			}
			f.offset = (t.size + align - 1) / align * align
			t.size, t.align = f.offset+size, max(t.align, align)
			t.fields = append(t.fields, f)
		}
	}
	t.size = (t.size + t.align - 1) / t.align * t.align
	return t
}

// structParam declares a parameter that is an array of structures.
func (c *converter) structParam(t *structure, p *cc.ParameterDeclaration) {
	name, at := p.Declarator.Name(), c.u.pos(p.Declarator)
	size, depth := c.dims(p.Declarator)
	if len(size)+depth != 1 {
		fail(at, "%s of structures, expected an array or a pointer such as %s[N]", name, name)
	}
	o := &object{name: name, typ: t, fields: map[string]*array{}}
	for i := range t.fields {
		f := &t.fields[i]
		a := &array{name: name + "." + f.name, typ: f.typ, pos: at, pointer: depth > 0 || size[0] == nil, field: &stream.Field{Of: name, Offset: f.offset, Stride: t.size}, inner: f.dims}
		if !a.pointer {
			a.size, a.declared = a.shape(c.size(size[0])), true
		}
		o.fields[f.name] = a
		c.k.taken[a.name] = true
		c.k.arrays = append(c.k.arrays, a)
	}
	c.whole.objects = append(c.whole.objects, o)
	c.bind(name, o)
}

// shape returns the sizes of a member of n structures.
func (a *array) shape(n lattice.Expr) []lattice.Expr {
	size := []lattice.Expr{n}
	for _, k := range a.inner {
		size = append(size, lattice.Const(k))
	}
	return size
}
