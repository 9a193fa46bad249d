// Package document reads stored files as documents, each with its title, date, tags and text. It
// splits texts along their structure into chunks, the units that a search ranks and returns.
package document

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/language"
	"evalctl/internal/printable"
)

// Document is one file, as an index sees it.
type Document struct {
	Path  string // the key: in an index, a later document of the same path replaces it
	Title string
	Tags  []string
	Date  time.Time // zero = undated
	// Metadata is returned with every hit. Parse sets it as described at frontmatter.Fields.
	Metadata map[string]any
	Text     string // valid UTF-8; it is split into chunks, searched and quoted
	// Source belongs to the caller: it identifies the version of the file from which the document
	// was made. Snapshots keep it.
	Source string
	// Language is the language of the words. If it is None, an index detects it from title and
	// text.
	Language language.Language
	// BadDate reports that the document has a date which could not be read; Date is zero then. Such
	// a document is found neither by a query asked at a time, because its date may be later, nor by a
	// query for a range of dates.
	BadDate bool
	// Generated documents, such as a brain's own indexes and digests, have a base name that begins
	// with "_". They are found only by queries that ask for them.
	Generated bool
}

// maxTitle bounds a title, in code points.
const maxTitle = 512

// Parse returns the Document of a stored file. The second result is false if the file is not
// indexed. Files with the extensions .md, .txt and .json, in upper or lower case, are indexed,
// except generated ones in the folders jobs, originals and sessions.
//
// Invalid UTF-8 is replaced by U+FFFD, because one bad byte should not hide a note, and a leading
// byte order mark is dropped. The front matter of a Markdown file (see frontmatter.Parse) sets
// title, date (or else created_at), tags and Metadata, and is not part of Text.
func Parse(name, content string) (Document, bool) {
	if !Indexed(name) {
		return Document{}, false
	}
	var file frontmatter.Document
	if frontmatter.IsMarkdown(name) {
		file = frontmatter.Parse(content)
	} else {
		text := strings.ToValidUTF8(content, string(utf8.RuneError))
		file.Body = strings.TrimPrefix(text, "\uFEFF")
	}
	doc := Document{
		Path:      name,
		Title:     Title(name, file),
		Tags:      file.Tags,
		Date:      file.When(),
		BadDate:   file.BadDate,
		Metadata:  file.Metadata,
		Text:      file.Body,
		Generated: strings.HasPrefix(path.Base(name), "_"),
	}
	if tag, ok := file.Metadata["language"].(string); ok {
		doc.Language = language.Parse(tag)
	}
	if file.Source != "" {
		if doc.Metadata == nil {
			doc.Metadata = map[string]any{}
		}
		doc.Metadata["source"] = file.Source
	}
	return doc, true
}

// Title returns the title of a file, on one line of at most 512 code points: the title of its front
// matter, else the first heading of a Markdown file, else the file name without its extension.
func Title(name string, file frontmatter.Document) string {
	title := oneLine(file.Title)
	if title == "" && frontmatter.IsMarkdown(name) {
		title = oneLine(firstHeading(file.Body))
	}
	if title == "" {
		base := path.Base(name)
		title = strings.TrimSuffix(base, path.Ext(base))
	}
	return printable.First(oneLine(title), maxTitle)
}

// Indexed reports whether Parse accepts a file of that path.
func Indexed(name string) bool {
	if strings.HasPrefix(path.Base(name), "_") && isState(name) {
		return false
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".txt", ".json":
		return true
	}
	return frontmatter.IsMarkdown(name)
}

// isState reports whether a generated file is state of the daemon, or the original of a converted
// document. Its times and ids must not count in the statistics of terms, or a ranking would depend
// on when a file was written.
func isState(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	return folder == "jobs" || folder == "originals" || folder == "sessions"
}
