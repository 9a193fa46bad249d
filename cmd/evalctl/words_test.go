package main

import (
	"errors"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"evalctl/internal/filetest"
)

// TestOneWord checks that the help of no command has a word in place of which docs/dev/words.md has
// another one.
func TestOneWord(t *testing.T) {
	page := filetest.Read(t, "../../docs/dev/words.md")
	words := map[string]string{} // those of the page, by the words that are not used
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z]+) \| .* \| (.+) \|$`).FindAllStringSubmatch(string(page), -1) {
		for word := range strings.SplitSeq(m[2], ", ") {
			if m[1] != "word" { // the head of the table
				words[word] = m[1]
			}
		}
	}
	if len(words) < 10 {
		t.Fatalf("only %d words were found", len(words))
	}
	helps := 0
	for command, text := range allHelp() {
		helps++
		for unused, word := range words {
			// Names of flags, files and variables may have it.
			if regexp.MustCompile(`(?i)(^|[^-\w./$<])` + unused + `s?($|[^-\w/])`).MatchString(text) {
				t.Errorf("the help of %s says %q: the word is %s\n%s", command, unused, word, text)
			}
		}
	}
	if helps < 300 {
		t.Errorf("only %d texts were checked", helps)
	}
}

// TestOldNames checks that no help names a command, or a flag, as it was called before.
func TestOldNames(t *testing.T) {
	old := map[string]string{}
	for name := range renamedCommands {
		old[`(evalctl|[Ii]n|of evalctl) `+name+`\b`] = renamedCommands[name]
	}
	uses := flagUses()
	for _, of := range uses {
		for _, name := range of[0].flag.Aliases {
			if uses[name] == nil && name != "sdk" {
				old["--"+name+`\b[^-]`] = "--" + of[0].flag.Name
			}
		}
	}
	for command, text := range allHelp() {
		for pattern, name := range old {
			if found := regexp.MustCompile(pattern).FindString(text); found != "" {
				t.Errorf("the help of %s says %q, which is now %s\n%s", command, found, name, text)
			}
		}
	}
}

// allHelp yields the texts of the help of all commands.
func allHelp() iter.Seq2[string, string] {
	return func(yield func(command, text string) bool) {
		var walk func(n *kong.Node) bool
		walk = func(n *kong.Node) bool {
			texts := []string{n.Help, helpText(n)}
			for _, f := range n.Flags {
				texts = append(texts, f.Help)
			}
			for _, a := range n.Positional {
				texts = append(texts, a.Help)
			}
			for _, text := range texts {
				if !yield(n.FullPath(), text) {
					return false
				}
			}
			return !slices.ContainsFunc(n.Children, func(c *kong.Node) bool { return !walk(c) })
		}
		walk(grammar(nil))
	}
}

// TestFolderInPages checks that the pages for users, and the messages of the commands, say
// folder, but for the working directory of a process.
func TestFolderInPages(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	sources, err2 := filepath.Glob("*.go")
	if err := errors.Join(err, err2); err != nil || len(pages) < 20 || len(sources) < 50 {
		t.Fatalf("%d pages, %d files: %v", len(pages), len(sources), err)
	}
	directory := regexp.MustCompile(`(?i)\b(working )?director(y|ies)\b`)
	for _, path := range slices.Concat(pages, sources) {
		for i, line := range strings.Split(string(filetest.Read(t, path)), "\n") {
			code, _, _ := strings.Cut(strings.TrimSpace(line), "//")
			if filepath.Ext(path) == ".go" && (strings.HasSuffix(path, "_test.go") || !strings.Contains(code, `"`)) {
				continue
			}
			if m := directory.FindStringSubmatch(line); m != nil && m[1] == "" {
				t.Errorf("%s:%d: %s", path, i+1, line)
			}
		}
	}
}
