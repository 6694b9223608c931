package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/bitsched/bitsched/internal/position"
)

// Limits of a description. They keep a hostile file from being read into memory,
// the recursive parser from running out of stack, and its scanner, whose work
// grows with the square of the lines of a text block, from taking long.
const (
	MaxBytes   = 64 << 10
	MaxLines   = 4096
	maxNesting = 32
	maxExcerpt = 200 // bytes of a line that an error shows
)

// Document is the text of a description and its tree.
type Document struct {
	file  string
	what  string
	lines []string
	root  ast.Node

	comments map[int]string // at the ends of lines
}

// Names returns the names of the documents that a folder has, NAME.yaml each, in their
// order; nothing is read. A folder that cannot be listed is a mistake of the program.
func Names(files fs.FS, dir string) []string {
	names, err := fs.Glob(files, dir+"/*.yaml")
	if err != nil {
		panic(err)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(path.Base(name), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Read parses one document; file is its name in errors and what is what was
// expected there, such as "the description of a machine".
func Read(r io.Reader, file, what string) (*Document, error) {
	d := &Document{file: file, what: what}
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(text) > MaxBytes {
		return nil, d.at(1, "more than %d bytes, expected %s", MaxBytes, what)
	}
	if !utf8.Valid(text) {
		return nil, d.at(1, "not UTF-8, expected %s", what)
	}
	// A line may end in any of these (YAML 1.2, section 5.4).
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
	d.lines = strings.Split(lines, "\n")
	if len(d.lines) > MaxLines {
		return nil, d.at(MaxLines, "more than %d lines, expected %s", MaxLines, what)
	}
	tokens := lexer.Tokenize(lines)
	d.comments = map[int]string{}
	for _, t := range tokens {
		if t.Type == token.CommentType {
			d.comments[lineOf(t)] = strings.TrimSpace(t.Value)
		}
	}
	if err := d.checkTokens(tokens); err != nil {
		return nil, err
	}
	// Keys that are repeated are found by Decode, which says both places.
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		var ye yaml.Error
		if errors.As(err, &ye) {
			return nil, d.at(lineOf(ye.GetToken()), "%s, expected %s", ye.GetMessage(), what)
		}
		return nil, d.at(1, "%v, expected %s", err, what)
	}
	for _, doc := range f.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if d.root != nil {
			return nil, d.at(lineOf(doc.Body.GetToken()), "a second document, expected one, %s", what)
		}
		d.root = doc.Body
	}
	if d.root == nil {
		return nil, d.at(1, "empty, expected %s", what)
	}
	return d, nil
}

// checkTokens refuses what is YAML but no description, and what nests so deep that
// the parser would not come back.
func (d *Document) checkTokens(tokens token.Tokens) error {
	depth, entries, line := 0, 0, 0
	for _, t := range tokens {
		at := lineOf(t)
		if at != line {
			line, entries = at, 0
		}
		switch t.Type {
		case token.InvalidType:
			return d.at(at, "%s, expected %s", t.Error, d.what)
		case token.TagType:
			return d.at(at, "tag %.40s, expected a value without a tag", t.Value)
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return d.at(at, "%q, expected values without anchors and references to them", t.Value)
		case token.MappingKeyType:
			return d.at(at, `"?", expected "key: value"`)
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			if depth > 0 { // the parser would nest them without end
				return d.at(at, "an entry \"- \" within brackets, expected entries between commas")
			}
			entries++
		case token.MappingValueType:
			entries++
		}
		if depth > maxNesting || depth <= 0 && entries > maxNesting {
			return d.at(at, "more than %d levels, expected %s", maxNesting, d.what)
		}
	}
	return nil
}

// lineOf is the line of a token, 1 if it is unknown.
func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil || t.Position.Line < 1 {
		return 1
	}
	return t.Position.Line
}

// at is an error in a line of the text.
func (d *Document) at(line int, format string, args ...any) *position.Error {
	e := &position.Error{File: d.file, Line: line, Msg: fmt.Sprintf(format, args...)}
	if line <= len(d.lines) && len(d.lines[line-1]) <= maxExcerpt {
		e.Excerpt = strings.TrimRight(d.lines[line-1], " \t\r")
	}
	return e
}

// Errorf returns an error at what a path names, such as l3.ways or values[2].unit,
// or at the nearest thing around it that the text has; "" stands for the document.
// The message does not repeat the path by itself.
func (d *Document) Errorf(path, format string, args ...any) *position.Error {
	return d.at(d.line(path), format, args...)
}

// Has reports whether the text says something for a path.
func (d *Document) Has(path string) bool {
	_, rest := d.find(path)
	return rest == ""
}

// Comment returns the comment at the end of the line of a path, "" if there is none
// or the text says nothing for the path.
func (d *Document) Comment(path string) string {
	at, rest := d.find(path)
	if rest != "" {
		return ""
	}
	return d.comments[at]
}

// Line returns the line of a path, or of the nearest thing around it that the text has.
func (d *Document) Line(path string) int { return d.line(path) }

// Text returns the value that the text has for a path, "" if it has none, or no plain
// one. It is for what decides how the document is decoded.
func (d *Document) Text(path string) string {
	n := d.node(path)
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	return ""
}

// Keys returns the keys of the mapping of a path in the order of the text, none if
// there is no mapping.
func (d *Document) Keys(path string) []string {
	var keys []string
	for _, pair := range pairs(d.node(path)) {
		keys = append(keys, pair.Key.GetToken().Value)
	}
	return keys
}

// node returns the node of a path, nil if the text has none.
func (d *Document) node(path string) ast.Node {
	n := d.root
	for path != "" {
		step, tail := cutPath(path)
		var next ast.Node
		if list, ok := n.(*ast.SequenceNode); ok {
			if i, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && i >= 0 && i < len(list.Values) {
				next = list.Values[i]
			}
		}
		for _, pair := range pairs(n) {
			if pair.Key.GetToken().Value == step {
				next = pair.Value
			}
		}
		if next == nil {
			return nil
		}
		n, path = next, tail
	}
	return n
}

// line is that of a path.
func (d *Document) line(path string) int {
	at, _ := d.find(path)
	return at
}

// find follows a path as far as the text goes: the line of what was reached, and
// what is left of the path.
func (d *Document) find(path string) (line int, rest string) {
	line = 1
	for n := d.root; path != ""; {
		step, tail := cutPath(path)
		var next ast.Node
		if i, err := strconv.Atoi(step); err == nil && strings.HasPrefix(path, "[") {
			if s, ok := n.(*ast.SequenceNode); ok && i >= 0 && i < len(s.Values) {
				next = s.Values[i]
				line = lineOf(startOf(next))
			}
		} else {
			for _, pair := range pairs(n) {
				if pair.Key.GetToken().Value == step {
					next = pair.Value
					line = lineOf(pair.Key.GetToken())
					break
				}
			}
		}
		if next == nil {
			return line, path
		}
		n, path = next, tail
	}
	return line, ""
}

// cutPath takes the first step from a path: a key, or the number in brackets.
func cutPath(path string) (step, rest string) {
	if s, ok := strings.CutPrefix(path, "["); ok {
		step, rest, _ = strings.Cut(s, "]")
		return step, strings.TrimPrefix(rest, ".")
	}
	i := strings.IndexAny(path, ".[")
	switch {
	case i < 0:
		return path, ""
	case path[i] == '[':
		return path[:i], path[i:]
	}
	return path[:i], path[i+1:]
}

// pairs are the keys and values of a mapping, nil if it is none.
func pairs(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// startOf is the first token of a node: of a mapping in block style, its first key.
func startOf(n ast.Node) *token.Token {
	if p := pairs(n); len(p) > 0 {
		return p[0].Key.GetToken()
	}
	return n.GetToken()
}
