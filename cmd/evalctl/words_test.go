package main

import (
	"regexp"
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
	var helps int
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		texts := []string{n.Help, helpText(n)}
		for _, f := range n.Flags {
			texts = append(texts, f.Help)
		}
		for _, a := range n.Positional {
			texts = append(texts, a.Help)
		}
		helps += len(texts)
		for unused, word := range words {
			// Names of flags, files and variables may have it.
			in := regexp.MustCompile(`(?i)(^|[^-\w./$<])` + unused + `s?($|[^-\w/])`)
			for _, text := range texts {
				if in.MatchString(text) {
					t.Errorf("the help of %s says %q: the word is %s\n%s", n.FullPath(), unused, word, text)
				}
			}
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(grammar(nil))
	if helps < 300 {
		t.Errorf("only %d texts were checked", helps)
	}
}
