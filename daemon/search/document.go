// Package search ranks passages of documents. Parse turns a stored file into a
// Document, Split cuts a Document into chunks along its structure, an Index keeps
// the chunks in memory, and a Searcher answers queries over it in every mode.
//
// It knows nothing about storage or the wire: callers feed it documents and
// rebuild it when they need to.
package search

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/frontmatter"
)

// Document is what the index knows about one file.
type Document struct {
	Path  string // the key: a later document of the same path replaces it
	Title string
	Tags  []string
	Date  time.Time // zero = undated
	// BadDate says that there is a date which could not be read; Date is zero
	// then. Such a document is found neither by a query with AsOf, since
	// it may be of later, nor by one for a range of dates.
	BadDate bool
	// Metadata is returned with every hit, as is; nobody may modify it after
	// Put. Parse fills it as frontmatter.Fields says.
	Metadata map[string]any
	Text     string // valid UTF-8; what is chunked, searched and quoted
	// Generated documents (base name begins with "_", as a brain's own indexes
	// and digests) are found only with Filter.Generated.
	Generated bool
	// Source is the caller's: what he needs to recognise the version of the file
	// that the document was made of. Snapshots keep it.
	Source string
}

// maxTitle bounds a title taken from a document, in code points.
const maxTitle = 512

// Parse returns the Document of a stored file. The second result is false when
// the file is not to be indexed: only .md, .txt and .json are, whatever the
// case of the extension.
//
// Invalid UTF-8 is replaced by U+FFFD, since one bad byte should not hide a
// note, and a leading byte order mark is dropped. The front matter of a Markdown
// file (see frontmatter.Parse) gives title, date (or else created_at), tags and
// Metadata; it is then not part of Text.
func Parse(name string, data []byte) (Document, bool) {
	if !Indexed(name) {
		return Document{}, false
	}
	var file frontmatter.Document
	if frontmatter.IsMarkdown(name) {
		file = frontmatter.Parse(string(data))
	} else {
		text := strings.ToValidUTF8(string(data), string(utf8.RuneError))
		file.Body = strings.TrimPrefix(text, "\uFEFF")
	}
	doc := Document{
		Path: name, Title: Title(name, file), Tags: file.Tags, Date: file.When(), BadDate: file.BadDate,
		Metadata: file.Metadata, Text: file.Body, Generated: strings.HasPrefix(path.Base(name), "_"),
	}
	if file.Source != "" {
		if doc.Metadata == nil {
			doc.Metadata = map[string]any{}
		}
		doc.Metadata["source"] = file.Source
	}
	return doc, true
}

// Title returns the title of a file on one line of at most 512 code points: that of its front
// matter, else the first heading of a Markdown file, else the file name without its extension.
func Title(name string, file frontmatter.Document) string {
	title := oneLine(file.Title)
	if title == "" && frontmatter.IsMarkdown(name) {
		title = firstHeading(file.Body)
	}
	if title == "" {
		base := path.Base(name)
		title = oneLine(strings.TrimSuffix(base, path.Ext(base)))
	}
	return clip(title, maxTitle)
}

// Indexed reports whether Parse takes a file of that path.
func Indexed(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".json":
		return true
	}
	return false
}

// oneLine joins the words of s with single spaces.
func oneLine(s string) string {
	return strings.Join(strings.Fields(s), " ")
}

// clip cuts s after n code points.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
