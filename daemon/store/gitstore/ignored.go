package gitstore

import (
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"

	"evalctl/daemon/store"
)

// ignoreRules determines the files that git ignores, from the files .gitignore of the worktree and
// .git/info/exclude.
type ignoreRules struct {
	b  *backend
	mu sync.Mutex
	// patterns has the patterns of a directory and its parents.
	patterns map[string][]gitignore.Pattern
}

func (b *backend) newIgnored() *ignoreRules {
	return &ignoreRules{b: b, patterns: map[string][]gitignore.Pattern{}}
}

// match reports whether git ignores a file, or a directory above it.
func (g *ignoreRules) match(path string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	segments := strings.Split(path, "/")
	for n := 1; n <= len(segments); n++ {
		dir := store.FileDir(strings.Join(segments[:n], "/"))
		if gitignore.NewMatcher(g.in(dir)).Match(segments[:n], n < len(segments)) {
			return true
		}
	}
	return false
}

// in returns the patterns that apply in a directory.
func (g *ignoreRules) in(dir string) []gitignore.Pattern {
	if found, ok := g.patterns[dir]; ok {
		return found
	}
	var found []gitignore.Pattern
	var domain []string
	name := ".gitignore"
	if dir == "." {
		found = g.read(gitDir+"/info/exclude", nil, nil)
	} else {
		found = g.in(store.FileDir(dir))
		domain = strings.Split(dir, "/")
		name = dir + "/" + name
	}
	found = g.read(name, domain, found)
	g.patterns[dir] = found
	return found
}

// maxIgnore is the size up to which a file of patterns is read.
const maxIgnore = 1 << 20

// read appends the patterns of a file, if there is one that can be read.
func (g *ignoreRules) read(name string, domain []string, found []gitignore.Pattern) []gitignore.Pattern {
	info, err := g.b.Root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return found
	}
	text, err := g.b.Root.ReadFile(name)
	if err != nil {
		return found
	}
	found = found[:len(found):len(found)]
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && line[0] != '#' {
			found = append(found, gitignore.ParsePattern(line, domain))
		}
	}
	return found
}
