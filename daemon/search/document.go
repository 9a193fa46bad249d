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
)

// Document is what the index knows about one file.
type Document struct {
	Path  string // the key: a later document of the same path replaces it
	Title string
	Tags  []string
	Date  time.Time // zero = undated
	// BadDate says that there is a date which could not be read; Date is zero
	// then. Such a document is found neither by a query with AskedAt, since
	// it may be of later, nor by one for a range of dates.
	BadDate bool
	// Metadata is returned with every hit, as is; nobody may modify it after
	// Put. Parse fills it with strings, integers, finite floats and booleans.
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

// Parse makes the Document of a stored file. The second result is false when
// the file is not to be indexed: only .md, .txt and .json are, whatever the
// case of the extension.
//
// Invalid UTF-8 is replaced by U+FFFD, since one bad byte should not hide a
// note, and a leading byte order mark is dropped. YAML front matter of a
// Markdown file gives title, date (or else created_at), tags (a list or a
// comma-separated string) and, for every other key with a scalar value, Metadata;
// it is then not part of Text. A date is a timestamp of YAML, "2024/5/8",
// "20240508", "8 May 2024", "May 8, 2024" or as in mails, in UTC without a zone; any other but
// an empty one makes a BadDate. Front matter that is not valid
// YAML, not a mapping or larger than 64 KiB is ordinary text. Without a title
// there, the title is the first heading of a Markdown file, else the file name
// without its extension.
func Parse(name string, data []byte) (Document, bool) {
	if !Indexed(name) {
		return Document{}, false
	}
	base := path.Base(name)
	ext := path.Ext(base)
	text := strings.ToValidUTF8(string(data), string(utf8.RuneError))
	doc := Document{
		Path:      name,
		Text:      strings.TrimPrefix(text, "\uFEFF"),
		Generated: strings.HasPrefix(base, "_"),
	}
	if isMarkdown(name) {
		readFrontMatter(&doc)
		if doc.Title == "" {
			doc.Title = firstHeading(doc.Text)
		}
	}
	if doc.Title == "" {
		doc.Title = strings.TrimSuffix(base, ext)
	}
	doc.Title = clip(oneLine(doc.Title), maxTitle)
	return doc, true
}

// Indexed reports whether Parse takes a file of that path.
func Indexed(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".txt", ".json":
		return true
	}
	return false
}

func isMarkdown(name string) bool {
	return strings.EqualFold(path.Ext(name), ".md")
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
