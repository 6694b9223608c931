package main

import (
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
	"testing"
)

const module = "github.com/bitsched/bitsched"

// mayImport says, for each package of the module, which others it may import.
// docs/architecture.md has the same table with the reasons. A new package needs
// a line here and there.
var mayImport = map[string][]string{
	"internal/softfloat":  {},
	"internal/figure":     {},
	"internal/figuretest": {},
	"xmg/internal/exact4": {},

	"tile/event": {},
	"tile/noc":   {"tile/event"},

	"scalar":             {},
	"lattice":            {},
	"tdfg":               {"internal/figure", "lattice", "scalar", "stream"},
	"tdfg/interp":        {"lattice", "scalar", "stream", "tdfg"},
	"tdfg/cfront":        {"lattice", "scalar", "stream", "tdfg"},
	"tdfg/egraph":        {"lattice", "scalar", "tdfg"},
	"stream":             {"internal/figure", "lattice", "scalar"},
	"netlist":            {},
	"netlist/gen":        {"netlist"},
	"sram":               {},
	"sram/cost":          {"sram"},
	"xmg":                {"internal/figure", "netlist", "xmg/internal/sat"},
	"xmg/internal/sat":   {},
	"masim":              {"netlist", "sram", "xmg"},
	"arith":              {"masim", "netlist", "netlist/gen", "sram", "xmg"},
	"tile":               {"lattice", "sram"},
	"lowering":           {"arith", "lattice", "scalar", "sram", "tdfg", "tile"},
	"benchmarks/kernels": {"scalar", "tdfg/interp"},
	"benchmarks":         {"internal/figure", "lowering", "masim", "netlist", "sram", "system", "tdfg", "tile", "xmg"},
	"cmd/bitsched":       {"arith", "benchmarks", "benchmarks/kernels", "lattice", "lowering", "masim", "netlist", "netlist/gen", "scalar", "sram", "sram/cost", "system", "tdfg", "tdfg/cfront", "tdfg/egraph", "tdfg/interp", "tile", "tile/noc", "xmg"},
	"internal/ctest":     {},
	"internal/tdfgtest":  {"lattice", "scalar", "tdfg"},
	"system":             {"lattice", "lowering", "scalar", "sram", "sram/cost", "stream", "tdfg", "tdfg/interp", "tile", "tile/noc"},
}

// onlyInCmd are the modules that no library package may need.
var onlyInCmd = []string{"github.com/spf13/", "github.com/jedib0t/", "golang.org/x/term"}

// TestImportsPointDown reads the imports of every Go file, tests apart, under
// every build tag.
func TestImportsPointDown(t *testing.T) {
	root := filepath.Join("..", "..")
	seen := map[string]bool{}
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
		allowed, known := mayImport[pkg]
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
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		if !seen[pkg] {
			t.Errorf("package %s of the table has no Go file", pkg)
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
		for _, p := range mayImport[pkg] {
			visit(p, trail)
		}
		state[pkg] = closed
	}
	for pkg := range mayImport {
		visit(pkg, nil)
	}
}

// TestArchitectureNamesEveryPackage keeps the document in step with the tree.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range mayImport {
		if !strings.Contains(string(text), "`"+path.Clean(pkg)+"`") {
			t.Errorf("docs/architecture.md does not name package `%s`", pkg)
		}
	}
}
