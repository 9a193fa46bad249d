package memory

import (
	"cmp"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/search/document"
)

const markdownExt = ".md"

// recordOf derives the record of a document (spec 2, DocumentRecord).
//
// The id is the path. On every store, commit_sha is the git blob id of the content: it depends on
// the content alone, and in a git store git log --find-object finds the commit. The time of
// creation is the one in the front matter, otherwise the time of the last write.
func recordOf(brain, name string, data []byte, modified time.Time) protocol.DocumentRecord {
	sum := sha256.Sum256(data)
	blob := sha1.New()
	fmt.Fprintf(blob, "blob %d\x00", len(data))
	blob.Write(data)
	r := protocol.DocumentRecord{
		ID: name, BrainID: brain, Path: name,
		Source: protocol.SourceIngest, ContentType: contentType(name),
		ByteSize:       len(data),
		ChecksumSHA256: hex.EncodeToString(sum[:]), CommitSHA: hex.EncodeToString(blob.Sum(nil)),
		Metadata:  map[string]any{},
		CreatedAt: protocol.FormatTime(modified), UpdatedAt: protocol.FormatTime(modified),
	}
	var doc frontmatter.Document
	if frontmatter.IsMarkdown(name) {
		doc = frontmatter.Parse(string(data))
		r.Metadata = frontmatter.WireMetadata(doc.Metadata, doc.Tags, doc.Date)
		r.Source = cmp.Or(doc.Source, protocol.SourceIngest)
		r.Problems = problemsOf(doc)
		if !doc.Created.IsZero() {
			r.CreatedAt = protocol.FormatTime(doc.Created)
		}
	}
	r.Title = cmp.Or(document.Title(name, doc), path.Base(name))
	return r
}

// badDate is the problem of a document whose date cannot be read.
const badDate = "date: it cannot be read, so that no search at a time or for a range of dates finds the document: " +
	"write it as YYYY-MM-DD"

// Problems returns the parts of a document that cannot be read, in the words of its record.
func Problems(name string, data []byte) []string {
	if !frontmatter.IsMarkdown(name) {
		return nil
	}
	return problemsOf(frontmatter.Parse(string(data)))
}

func problemsOf(doc frontmatter.Document) []string {
	if doc.BadDate {
		return []string{badDate}
	}
	return nil
}

// contentType derives the type from the file name. Without an extension it is
// Markdown, the protocol's default.
func contentType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case markdownExt, "":
		return "text/markdown"
	case ".txt":
		return "text/plain"
	case ".json":
		return protocol.TypeJSON
	}
	return protocol.TypeBytes
}

// checkDocument applies the limits of spec 4.1 and 2 to a request.
func checkDocument(r protocol.CreateDocument) error {
	if n := utf8.RuneCountInString(r.Content); n == 0 {
		return argumentErrorf("content", "is missing")
	} else if n > protocol.MaxDocumentContent {
		return fmt.Errorf("%w: content has %d characters, the limit is %d", ErrTooLarge, n, protocol.MaxDocumentContent)
	}
	if strings.HasPrefix(path.Base(r.Path), "_") {
		return argumentErrorf("path", "the name %.64q begins with _, which hides generated files from listings and searches",
			path.Base(r.Path))
	}
	if err := checkTitle(r.Title); err != nil {
		return err
	}
	switch r.Source {
	case "", protocol.SourceIngest, protocol.SourceExtract, protocol.SourceCompile, protocol.SourceReflect:
	default:
		return argumentErrorf("source", "%q is not one of ingest, extract, compile, reflect", r.Source)
	}
	if err := checkTags(r.Tags); err != nil {
		return err
	}
	return checkMetadata(r)
}

func checkTags(tags []string) error {
	if len(tags) > protocol.MaxDocumentTags {
		return argumentErrorf("tags", "are %d, the limit is %d", len(tags), protocol.MaxDocumentTags)
	}
	for _, tag := range tags {
		if n := utf8.RuneCountInString(tag); n > protocol.MaxDocumentTag || strings.TrimSpace(tag) == "" {
			return argumentErrorf("tags", "%q does not have 1 to %d characters", tag, protocol.MaxDocumentTag)
		}
		if strings.Contains(tag, ",") {
			return argumentErrorf("tags", "%q contains a comma, by which tags are joined: give two tags", tag)
		}
	}
	return nil
}

func checkMetadata(r protocol.CreateDocument) error {
	for key, value := range r.Metadata {
		if err := checkMetadataValue("metadata", key, value); err != nil {
			return err
		}
		if frontmatter.IsField(key) {
			return argumentErrorf("metadata", "key %q is a field of the record: give it next to metadata", key)
		}
	}
	described := r.Title != "" || len(r.Tags)+len(r.Metadata) > 0 || r.Source != "" && r.Source != protocol.SourceIngest
	if described && r.Path != "" && !frontmatter.IsMarkdown(r.Path) {
		return argumentErrorf("path", "only a path that ends in .md or has no extension can have a title, tags, "+
			"metadata or a source: Markdown keeps them in its front matter")
	}
	return nil
}

// checkMetadataValue applies the limits of spec 2 to one key of metadata. Errors call it name.
func checkMetadataValue(name, key string, value any) error {
	if n := utf8.RuneCountInString(key); n == 0 || n > protocol.MaxMetadataKey {
		return argumentErrorf(name, "key %q does not have 1 to %d characters", key, protocol.MaxMetadataKey)
	}
	switch value.(type) {
	case nil, string, bool, float64:
		return nil
	case json.Number: // see protocol.Metadata
		return argumentErrorf(name, "%q is the number %.64s, whose digits JSON readers change: give it as a string", key, value)
	}
	return argumentErrorf(name, "%q is not a string, number, boolean or null", key)
}
