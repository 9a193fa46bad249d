package prose

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFrontMatter bounds the YAML of front matter, in bytes.
const MaxFrontMatter = 64 << 10

// CutFrontMatter splits a Markdown document at the two lines that enclose front matter: a first
// line "---" and a later line "---" or "...", with or without white space at their ends. ok is
// false without these lines, or with more than MaxFrontMatter between them. The document must
// not begin with a byte order mark.
//
// The header is front matter if it is a YAML mapping or empty. Otherwise the lines are rules,
// and all of the document is text.
func CutFrontMatter(text string) (header, below string, ok bool) {
	line, rest := cutLine(text)
	if line != "---" {
		return "", "", false
	}
	for header = rest; rest != "" && len(header)-len(rest) <= MaxFrontMatter; {
		end := len(header) - len(rest)
		line, rest = cutLine(rest)
		if line == "---" || line == "..." {
			return header[:end], rest, true
		}
	}
	return "", "", false
}

// cutLine returns the first line without the white space at its end, and the rest.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimRight(line, " \t\r"), rest
}

// body returns a document without its front matter.
func body(markdown string) string {
	markdown = strings.TrimPrefix(markdown, "\ufeff")
	if header, below, ok := CutFrontMatter(markdown); ok && isMapping(header) {
		return below
	}
	return markdown
}

// isMapping reports whether YAML is a mapping or empty, as daemon/frontmatter reads it.
func isMapping(text string) bool {
	var root yaml.Node
	if yaml.Unmarshal([]byte(strings.ToValidUTF8(text, string(utf8.RuneError))), &root) != nil {
		return false
	}
	return len(root.Content) == 0 || root.Content[0].Kind == yaml.MappingNode || root.Content[0].ShortTag() == "!!null"
}
