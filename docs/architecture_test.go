package docs_test

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	// isPath and isName match spans that are paths of the repository, and names in Go code.
	isPath = regexp.MustCompile(`^[\w./-]+(/[\w.-]+)+/?$|^[\w-]+\.(go|json|md|yml)$`)
	isName = regexp.MustCompile(`^[A-Za-z]\w*(\.[A-Za-z]\w*)?$`)
)

// TestArchitecture looks for what dev/architecture.md names: files and folders of the repository,
// and names in Go code.
func TestArchitecture(t *testing.T) {
	files, words := sources(t)
	page := read(t, "dev/architecture.md")
	found := 0
	for _, m := range codeSpan.FindAllStringSubmatch(page, -1) {
		switch name := m[1]; {
		case isPath.MatchString(name):
			found++
			if !slices.ContainsFunc(files, func(f string) bool { return names(f, strings.TrimSuffix(name, "/")) }) {
				t.Errorf("there is no %s", name)
			}
		case isName.MatchString(name):
			found++
			last := name[strings.LastIndex(name, ".")+1:]
			if !words[last] {
				t.Errorf("no Go code has %s", name)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d names were found", found)
	}
}

// names reports whether name is the file, a folder above it, or the end of either.
func names(file, name string) bool {
	for ; file != "."; file = path.Dir(file) {
		if file == name || strings.HasSuffix(file, "/"+name) {
			return true
		}
	}
	return false
}

// sources returns the paths of all files and the words of all Go files.
func sources(t *testing.T) (files []string, words map[string]bool) {
	t.Helper()
	words = map[string]bool{}
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "results"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		files = append(files, filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator))))
		if strings.HasSuffix(file, ".go") {
			for _, word := range strings.FieldsFunc(read(t, file), func(r rune) bool {
				return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			}) {
				words[word] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, words
}
