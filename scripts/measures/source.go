package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// room has the figures of a top-level folder, or of a folder of daemon or harness.
type room struct {
	product  int // lines of Go that are neither blank nor a comment
	tests    int // the same, in test files and in packages named *test
	packages int // with product code
	exported int // types, functions, methods, constants and variables of the product
}

// source is what the Go files of a repository contain.
type source struct {
	rooms    map[string]*room
	comments []string // a line each, of the product, without directives
	types    []string // names of the product's types
	packages map[string]bool
}

// skipped are folders whose Go files are data or from elsewhere.
var skipped = map[string]bool{".git": true, "node_modules": true, "testdata": true, "vendor": true}

// readSource reads all Go files below root.
func readSource(root string) (*source, error) {
	src := &source{rooms: map[string]*room{}, packages: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return src.add(filepath.ToSlash(relative), data)
	})
	return src, err
}

// roomOf returns the room of a file.
func roomOf(file string) string {
	parts := strings.Split(file, "/")
	folders := parts[:len(parts)-1]
	switch {
	case len(folders) == 0:
		return "."
	case len(folders) > 1 && (folders[0] == "daemon" || folders[0] == "harness"):
		return folders[0] + "/" + folders[1]
	}
	return folders[0]
}

// isTest reports whether a file is a test, or in a package that only tests use.
func isTest(file string) bool {
	folder := file[:strings.LastIndex("/"+file, "/")]
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(strings.TrimSuffix(folder, "/"), "test")
}

// add adds the figures of a file.
func (s *source) add(file string, data []byte) error {
	r := s.rooms[roomOf(file)]
	if r == nil {
		r = &room{}
		s.rooms[roomOf(file)] = r
	}
	lines, comments := scan(data)
	if isTest(file) {
		r.tests += lines
		return nil
	}
	r.product += lines
	s.comments = append(s.comments, comments...)
	if folder := filepath.Dir(file); !s.packages[folder] {
		s.packages[folder] = true
		r.packages++
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("%w; measure a copy that compiles", err)
	}
	for _, d := range parsed.Decls {
		s.declared(r, d)
	}
	return nil
}

// declared adds the names of a declaration.
func (s *source) declared(r *room, d ast.Decl) {
	count := func(name *ast.Ident) {
		if name.IsExported() {
			r.exported++
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		count(d.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				count(spec.Name)
				s.types = append(s.types, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					count(name)
				}
			}
		}
	}
}

// scan returns the number of lines with code, and the lines of comments without their marks.
// Directives such as go:embed and nolint are neither.
func scan(data []byte) (lines int, comments []string) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(data))
	s.Init(file, data, nil, scanner.ScanComments)
	code := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return len(code), comments
		case tok == token.COMMENT:
			comments = append(comments, commentLines(text)...)
		case tok != token.SEMICOLON || text != "\n":
			first := file.Line(pos)
			for line := first; line <= first+strings.Count(text, "\n"); line++ {
				code[line] = true
			}
		}
	}
}

// commentLines returns the lines of a comment that have words.
func commentLines(text string) []string {
	if strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//nolint") {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/"), "\n") {
		if line = strings.TrimSpace(strings.TrimPrefix(line, "//")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
