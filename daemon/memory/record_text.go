package memory

import (
	"time"

	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
)

// documentText returns the content of a new document. The other fields of the request are written
// into the front matter of Markdown. Other content is kept unchanged.
func documentText(r protocol.CreateDocument, now time.Time) (string, error) {
	if !frontmatter.IsMarkdown(r.Path) {
		return r.Content, nil
	}
	before := frontmatter.Parse(r.Content)
	fields := frontmatter.Fields{Title: r.Title, Tags: before.WithTags(r.Tags), Metadata: r.Metadata}
	if r.Source != protocol.SourceIngest {
		fields.Source = r.Source
	}
	if before.Created.IsZero() {
		fields.Created = now
	}
	text, err := frontmatter.Set(r.Content, fields)
	if err != nil {
		return "", argumentErrorf("metadata", "%v", err)
	}
	return text, nil
}
