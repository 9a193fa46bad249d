// Package frontmatter reads and writes the YAML front matter of Markdown documents: a mapping
// between a first line "---" and a later line "---" or "...".
//
// Search and document records both take the metadata of a document from Parse, so they agree.
package frontmatter

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/prose"
)

// Fields are the values in front matter. A zero value means that it does not contain the key.
type Fields struct {
	Title  string    // key title, as written
	Tags   []string  // key tags: trimmed, not empty, without commas
	Date   time.Time // key date
	Source string    // key source: one of the protocol's Source constants

	// Created is key created_at. Set writes it in UTC, to the millisecond.
	Created time.Time

	// Metadata holds the other keys of 1 to 128 code points that have a scalar value, and date,
	// source and created_at if their value is a scalar of another form. A value is a string, an int
	// from -2^53 to 2^53, a finite float64, a bool or nil. session_id is a string or nil.
	Metadata map[string]any
}

// Document is a Markdown document, split into its front matter and the text below it.
type Document struct {
	Fields

	// BadDate reports that the document has a date which cannot be read: date, or created_at
	// where date is missing or empty.
	BadDate bool
	// BadTitle reports that the key title is a list, a mapping or an alias.
	BadTitle bool

	Body string // valid UTF-8
}

// When returns the date of the document: Date, else Created. It is zero for a document without
// a date and for one with BadDate.
func (d Document) When() time.Time {
	switch {
	case d.BadDate:
		return time.Time{}
	case d.Date.IsZero():
		return d.Created
	}
	return d.Date
}

// WithTags returns the tags of the document and then the given ones, each once. It returns nil
// if none are given, so that Set leaves those of the document as they are written.
func (d Document) WithTags(given []string) (all []string) {
	if len(given) == 0 {
		return nil
	}
	for _, tag := range slices.Concat(d.Tags, given) {
		if tag = strings.TrimSpace(tag); !slices.Contains(all, tag) {
			all = append(all, tag)
		}
	}
	return all
}

// IsMarkdown reports whether the file of that path can have front matter: its extension is .md, in
// upper or lower case, or it has none. Markdown is the default of documents (spec 2, content_type).
func IsMarkdown(name string) bool {
	ext := path.Ext(name)
	return ext == "" || strings.EqualFold(ext, ".md")
}

// Parse splits a Markdown document. Without front matter, the whole text is the Body. The same
// holds for front matter that has no closing line, is larger than 64 KiB, or is not a YAML mapping.
// An empty YAML document, one of comments only and null are read as an empty mapping.
//
// Invalid UTF-8 is replaced by U+FFFD, and a leading byte order mark is dropped. If a key is given
// twice, the first counts. Lists (other than tags), mappings and aliases are left out.
//
// No digit of the metadata is lost: a scalar is a number or boolean only if its text is exactly
// what the YAML encoder writes for that value (5, 1.5, 1e+06, true). Any other scalar is a string
// with the text as written: 0012, 1.10, 0x1F, True, a date, an integer beyond 2^53. Every spelling
// of null is nil.
//
// A date is a timestamp of YAML, or is written as "2024/5/8", "20240508", "8 May 2024", "May 8,
// 2024" or as in mails. It is in UTC if it has no zone. An empty date counts as missing.
func Parse(text string) Document {
	fields, body := split(text)
	doc := read(fields)
	doc.Body = valid(body)
	return doc
}

// Below returns the text below the lines that enclose front matter, even if that cannot be read.
func Below(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if _, body, ok := prose.CutFrontMatter(text); ok {
		return valid(body)
	}
	return valid(text)
}

func valid(text string) string { return strings.ToValidUTF8(text, string(utf8.RuneError)) }

// split returns the mapping at the top of text and the text below it, without a byte order mark.
// Without front matter, the mapping is empty. Decoding into nodes never expands an alias, so front
// matter of nested aliases costs no more than its own size.
func split(text string) (fields *yaml.Node, body string) {
	text = strings.TrimPrefix(text, "\ufeff")
	header, body, ok := prose.CutFrontMatter(text)
	if ok {
		var root yaml.Node
		header = valid(header)
		if err := yaml.Unmarshal([]byte(header), &root); err == nil {
			if fields, ok := mapping(&root, header); ok {
				return fields, body
			}
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode}, text
}

// mapping returns the mapping in root, which was parsed from header, and reports whether there is
// one. It is empty if root has no value or null. Without a value, header consists of comments, and
// the mapping keeps them.
func mapping(root *yaml.Node, header string) (fields *yaml.Node, ok bool) {
	switch {
	case len(root.Content) == 0: // the YAML package drops the comments of such a document
		comments := strings.TrimSpace(strings.ReplaceAll(header, "\r\n", "\n"))
		return &yaml.Node{Kind: yaml.MappingNode, HeadComment: comments}, true
	case isNull(root.Content[0]):
		return &yaml.Node{Kind: yaml.MappingNode}, true
	}
	return root.Content[0], root.Content[0].Kind == yaml.MappingNode
}
