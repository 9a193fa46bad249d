package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// rowOf matches a line of dev/architecture.md with the row of a package, and sideOf a line of the
	// table of sides.
	rowOf  = regexp.MustCompile("(?m)^- \\*\\*(\\d+)\\*\\* `([\\w/*{},]+)`:")
	sideOf = regexp.MustCompile("(?m)^\\| `([\\w/]+)` \\| (.*) \\|$")
)

// TestImports checks the rules of dev/architecture.md: a package imports only packages of lower rows,
// a package of row 0 only others of internal, and none imports a side that its own may not use.
func TestImports(t *testing.T) {
	page := read(t, "dev/architecture.md")
	rows, sides := map[string]int{}, map[string][]string{}
	for _, m := range rowOf.FindAllStringSubmatch(page, -1) {
		row, _ := strconv.Atoi(m[1])
		for _, name := range expanded(m[2]) {
			rows[name] = row
		}
	}
	for _, m := range sideOf.FindAllStringSubmatch(page, -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(m[2], -1) {
			sides[m[1]] = append(sides[m[1]], span[1])
		}
		sides[m[1]] = append(sides[m[1]], m[1])
	}
	imports := importsOf(t)
	if len(imports) < 100 || len(sides) < 5 {
		t.Fatalf("only %d packages and %d sides were found", len(imports), len(sides))
	}
	for pkg, imported := range imports {
		row, ok := rows[pkg]
		if !ok && path.Dir(pkg) != "internal" {
			t.Errorf("%s has no row in dev/architecture.md", pkg)
			continue
		}
		allowed := sides[sideNameOf(sides, pkg)]
		for _, other := range imported {
			within := func(name string) bool { return other == name || strings.HasPrefix(other, name+"/") }
			if !slices.ContainsFunc(allowed, within) {
				t.Errorf("%s imports %s, which its side does not use", pkg, other)
			}
			if inside := row == 0 && strings.HasPrefix(other, "internal/"); rows[other] >= row && !inside {
				t.Errorf("%s of row %d imports %s of row %d", pkg, row, other, rows[other])
			}
		}
	}
	for name := range rows {
		if _, ok := imports[name]; !ok && name != "internal/*" {
			t.Errorf("there is no package %s", name)
		}
	}
}

// expanded returns the names of a pattern such as a/{b,c}.
func expanded(pattern string) (names []string) {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	list, after, _ := strings.Cut(rest, "}")
	for name := range strings.SplitSeq(list, ",") {
		names = append(names, before+name+after)
	}
	return names
}

// sideNameOf returns the side that a package belongs to: the longest name that it begins with.
func sideNameOf(sides map[string][]string, pkg string) (side string) {
	for name := range sides {
		if (pkg == name || strings.HasPrefix(pkg, name+"/")) && len(name) > len(side) {
			side = name
		}
	}
	return side
}

// importsOf returns the packages of the product with the packages of this module that each imports.
// Tests, what only tests use, and programs of scripts are no part of it.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			support := strings.HasSuffix(name, "test") || slices.Contains([]string{".git", "testdata", "node_modules", "scripts", "tools", "drive", "results", "datasets"}, name)
			if support && file != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := strings.TrimPrefix(path.Dir(filepath.ToSlash(file)), "../")
		imports[pkg] = append(imports[pkg], []string{}...)
		for _, i := range f.Imports {
			if other, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "evalctl/"); ok && !slices.Contains(imports[pkg], other) {
				imports[pkg] = append(imports[pkg], other)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}
