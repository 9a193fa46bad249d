package convert

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// pagePhrases is a page of go-trafilatura's comparison.
type pagePhrases struct {
	file   string
	text   []string // phrases of the main text
	frame  []string // phrases of the rest
	source string   // where it is listed
}

// TestPhrasesOfPages reports how many phrases main texts have, of those that they are expected to have
// and of those that they are not. scripts/converters/compare.sh fetches the files.
func TestPhrasesOfPages(t *testing.T) {
	root := os.Getenv("CONVERTERS")
	if root == "" {
		t.Skip("CONVERTERS names no folder: run scripts/converters/compare.sh")
	}
	folder := filepath.Join(root, "go-trafilatura")
	pages := readPhrases(t, filepath.Join(folder, "scripts", "comparison", "data.go"))
	var files, text, textKept, frame, frameKept int
	for _, page := range pages {
		data, err := os.ReadFile(filepath.Join(folder, "test-files", "comparison", page.file))
		if errors.Is(err, fs.ErrNotExist) {
			data, err = os.ReadFile(filepath.Join(folder, "test-files", "mock", page.file))
		}
		if err != nil {
			continue // the package lacks some files
		}
		doc, err := Page(t.Context(), nil, data)
		if err != nil && !errors.Is(err, errNoText) {
			t.Log(err)
		}
		words := wordRun(doc.Title + "\n" + doc.Markdown)
		files++
		for _, phrase := range page.text {
			if text++; strings.Contains(words, wordRun(phrase)) {
				textKept++
				continue
			}
			t.Logf("%s: lacks %q", page.source, phrase)
		}
		for _, phrase := range page.frame {
			if frame++; strings.Contains(words, wordRun(phrase)) {
				frameKept++
			}
		}
	}
	if text == 0 || frame == 0 {
		t.Fatalf("%d files, %d and %d phrases", files, text, frame)
	}
	share := func(part, all int) float64 { return 100 * float64(part) / float64(all) }
	t.Logf("%d files: %d of %d phrases of the main text are kept, %.1f %%, and %d of %d others, %.1f %%",
		files, textKept, text, share(textKept, text), frameKept, frame, share(frameKept, frame))
}

// wordRun returns the words of a text in a row. A phrase may begin and end within a word.
func wordRun(text string) string { return strings.Join(plainWords(text), " ") }

// readPhrases reads the composite literals of a Go file that have a file and its phrases.
func readPhrases(t *testing.T, path string) []pagePhrases {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var pages []pagePhrases
	ast.Inspect(file, func(n ast.Node) bool {
		entry, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		page := pagePhrases{source: files.Position(entry.Pos()).String()}
		for _, e := range entry.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			switch key, _ := field.Key.(*ast.Ident); {
			case key == nil:
				return true
			case key.Name == "File":
				page.file = stringsOf(field.Value)[0]
			case key.Name == "With":
				page.text = stringsOf(field.Value)
			case key.Name == "Without":
				page.frame = stringsOf(field.Value)
			}
		}
		if page.file != "" {
			pages = append(pages, page)
		}
		return true
	})
	return pages
}

// stringsOf returns the string literals of an expression.
func stringsOf(e ast.Expr) []string {
	var all []string
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if s, err := strconv.Unquote(literal.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}
