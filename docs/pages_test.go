package docs_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	// unslugged are the characters that GitHub removes from a heading to make its anchor.
	unslugged = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every link between the pages: the file and the heading must exist.
func TestLinks(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, page)), -1) {
			to, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: link %s: %v", page, m[1], err)
				continue
			}
			if to.Scheme != "" {
				continue
			}
			found++
			file := page
			if to.Path != "" {
				file = filepath.Join(filepath.Dir(page), to.Path)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: link %s: %v", page, m[1], err)
				continue
			}
			if to.Fragment != "" && !anchors(read(t, file))[to.Fragment] {
				t.Errorf("%s: link %s: no such heading", page, m[1])
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d links were found", found)
	}
}

// TestFirstScreen checks that the first screen of the README has the command of the main job and the
// one that runs the tests.
func TestFirstScreen(t *testing.T) {
	const lines = 40
	screen := strings.Join(strings.SplitN(read(t, "../README.md"), "\n", lines+1)[:lines], "\n")
	for _, command := range []string{"go run ./cmd/evalctl run --sdk go", "go test ./...", "go install ./cmd/evalctl"} {
		if !strings.Contains(screen, command) {
			t.Errorf("the first %d lines lack %s", lines, command)
		}
	}
}

// pages returns all pages of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"../README.md", "../datasets/README.md"}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// withoutCode returns a page without its fenced code blocks.
func withoutCode(page string) string {
	var out strings.Builder
	for i, part := range strings.Split("\n"+page, "\n```") {
		if i%2 == 0 {
			out.WriteString(part)
		}
	}
	return out.String()
}

// anchors returns the anchors of the headings of a page, as GitHub makes them.
func anchors(page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(withoutCode(page), -1) {
		slug := unslugged.ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return out
}

// TestNamedPages finds every page that source code and scripts name.
func TestNamedPages(t *testing.T) {
	named := regexp.MustCompile(`\bdocs/[a-z/]+\.md\b`)
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !slices.Contains([]string{".go", ".yml", ".yaml", ".sh", ".py", ".tmpl", ".html"}, filepath.Ext(path)):
			return nil
		}
		for _, name := range named.FindAllString(read(t, path), -1) {
			found++
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s: %v", path, name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("only %d names were found", found)
	}
}
