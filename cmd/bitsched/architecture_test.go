package main

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/bitsched/bitsched"

// mayImport says, for each package of the module, which others it may import.
// docs/architecture.md has the same table, derived from this one. A new package
// needs a line in testdata/imports.txt. It is read when a test asks for it: scripts
// run this binary elsewhere.
var mayImport = sync.OnceValue(readImports)

//go:embed testdata/imports.txt
var importsText string

func readImports() map[string][]string {
	table := map[string][]string{}
	for line := range strings.Lines(importsText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ":")
		if _, twice := table[pkg]; twice {
			panic("testdata/imports.txt has package " + pkg + " twice")
		}
		table[pkg] = strings.Fields(imports)
	}
	return table
}

// onlyInCmd are the modules that no library package may need.
var onlyInCmd = []string{"github.com/spf13/", "github.com/jedib0t/", "golang.org/x/term"}

// TestImportsPointDown reads the imports of every Go file, tests apart, under
// every build tag.
func TestImportsPointDown(t *testing.T) {
	root := filepath.Join("..", "..")
	seen, used := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		allowed, known := mayImport()[pkg]
		if !known {
			t.Errorf("%s: package %s is not in the table of mayImport", file, pkg)
			return nil
		}
		seen[pkg] = true
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				used[pkg+" "+own] = true
				if !slices.Contains(allowed, own) {
					t.Errorf("%s: package %s imports %s, expected at most %v", file, pkg, own, allowed)
				}
				continue
			}
			for _, p := range onlyInCmd {
				if !strings.HasPrefix(pkg, "cmd/") && strings.HasPrefix(imported, p) {
					t.Errorf("%s: library package %s imports %s, which belongs to the command", file, pkg, imported)
				}
			}
			if imported == "C" {
				t.Errorf("%s: imports C; the project is pure Go", file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range slices.Sorted(maps.Keys(mayImport())) {
		if !seen[pkg] {
			t.Errorf("package %s of the table has no Go file", pkg)
		}
		for _, own := range mayImport()[pkg] {
			if !used[pkg+" "+own] {
				t.Errorf("package %s may import %s, and does not: take the permission away", pkg, own)
			}
		}
	}
}

// TestTableHasNoCycle checks that the table itself points down.
func TestTableHasNoCycle(t *testing.T) {
	const open, closed = 1, 2
	state := map[string]int{}
	var visit func(pkg string, trail []string)
	visit = func(pkg string, trail []string) {
		trail = append(trail, pkg)
		switch state[pkg] {
		case open:
			t.Fatalf("imports in a circle: %s", strings.Join(trail, " -> "))
		case closed:
			return
		}
		state[pkg] = open
		for _, p := range mayImport()[pkg] {
			visit(p, trail)
		}
		state[pkg] = closed
	}
	for pkg := range mayImport() {
		visit(pkg, nil)
	}
}

// TestArchitectureHasTheTable keeps the table of packages in
// docs/architecture.md equal to mayImport, with what each package says of itself:
// the first sentence of its documentation. -update writes it.
func TestArchitectureHasTheTable(t *testing.T) {
	const begin, end = "<!-- packages: go test ./cmd/bitsched -run Architecture -update -->\n", "<!-- end of packages -->\n"
	file := filepath.Join("..", "..", "docs", "architecture.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok, "no line %q", begin)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok, "no line %q", end)
	var table strings.Builder
	table.WriteString("| package | is | imports |\n|---|---|---|\n")
	for _, pkg := range slices.Sorted(maps.Keys(mayImport())) {
		imports := slices.Sorted(slices.Values(mayImport()[pkg]))
		for i := range imports {
			imports[i] = "`" + imports[i] + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", pkg, synopsis(t, pkg), strings.Join(imports, ", "))
	}
	want := head + begin + table.String() + end + tail
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o644))
		return
	}
	if want != string(text) {
		t.Errorf("the table of packages in docs/architecture.md is out of date: go test ./cmd/bitsched -run Architecture -update")
	}
}

// synopsis is the first sentence of a package's documentation without its own
// name.
func synopsis(t *testing.T, pkg string) string {
	dir := filepath.Join("..", "..", filepath.FromSlash(pkg))
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if parsed.Doc == nil {
			continue
		}
		s := new(doc.Package).Synopsis(parsed.Doc.Text())
		for _, prefix := range []string{"Package " + parsed.Name.Name + " ", "Command " + path.Base(pkg) + " ", "is "} {
			s = strings.TrimPrefix(s, prefix)
		}
		return strings.TrimSuffix(strings.ReplaceAll(s, "|", "\\|"), ".")
	}
	t.Errorf("package %s has no documentation", pkg)
	return ""
}

// TestPublicPackagesHaveExamples demands, of each package that others can import, an
// example outside of it that go test runs and whose output it compares.
func TestPublicPackagesHaveExamples(t *testing.T) {
	for pkg := range mayImport() {
		if strings.HasPrefix(pkg, "cmd/") || slices.Contains(strings.Split(pkg, "/"), "internal") {
			continue
		}
		tests, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
		require.NoError(t, err)
		var files []*ast.File
		for _, file := range tests {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			require.NoError(t, err)
			if strings.HasSuffix(parsed.Name.Name, "_test") {
				files = append(files, parsed)
			}
		}
		if !slices.ContainsFunc(doc.Examples(files...), func(e *doc.Example) bool { return e.Output != "" }) {
			t.Errorf("package %s has no example with output in an external test package, as example_test.go", pkg)
		}
	}
}
