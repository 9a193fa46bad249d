package memory

import (
	"cmp"
	"mime"
	"path"
	"strings"
	"time"

	"evalctl/daemon/convert"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/search/document"
)

// Keys in the front matter of an ingested document.
const (
	keySourceName   = "source_name"
	keySourceType   = "source_type"
	keySourceSHA256 = "source_sha256"

	// Only for web pages. The final URL is set if the source URL redirects.
	keySourceURL      = "source_url"
	keySourceFinalURL = "source_final_url"
	keySourceFetched  = "source_fetched_at"
)

// mediaTypes are the media types of kinds in front matter.
var mediaTypes = map[convert.Kind]string{
	convert.Markdown: "text/markdown", convert.Text: "text/plain", convert.JSON: "application/json",
	convert.HTML: "text/html", convert.PDF: "application/pdf",
}

// mediaType returns the media type of the file without parameters: the given one if it agrees with
// the kind, otherwise the kind's default.
func (src source) mediaType() string {
	given, _, _ := mime.ParseMediaType(src.ContentType)
	if kind, err := convert.KindOf("", given, ""); given != "" && err == nil && kind == src.Kind {
		return given
	}
	return mediaTypes[src.Kind]
}

// document returns the text of the document: Markdown with the fields of the request in its front
// matter. The existing front matter is read and kept only for Markdown files.
func (src source) document(doc convert.Document, now time.Time) (string, error) {
	fields := frontmatter.Fields{Title: src.Title, Tags: src.Tags, Created: now, Metadata: map[string]any{
		keySourceName: src.Name, keySourceType: src.mediaType(), keySourceSHA256: src.SHA256,
	}}
	for key, value := range src.metadata {
		fields.Metadata[key] = value
	}
	own, body := doc.Markdown, ""
	if src.Kind == convert.Markdown {
		before := frontmatter.Parse(doc.Markdown)
		if !before.Created.IsZero() {
			fields.Created = time.Time{}
		}
		fields.Tags = before.WithTags(src.Tags)
		if src.Title == "" && before.Title == "" && !before.BadTitle {
			fields.Title = titleOf(src.Name, before.Body)
		}
	} else {
		own, body = "", doc.Markdown
		fields.Title = cmp.Or(src.Title, doc.Title, titleOf(src.Name, body))
	}
	text, err := frontmatter.Set(own, fields)
	if err != nil {
		return "", argumentErrorf("file", "its front matter %v", err)
	}
	return text + body, nil
}

// titleOf returns the title of converted text: its first heading, else the name of its file.
func titleOf(name, markdown string) string {
	stem := strings.TrimSuffix(name, path.Ext(name))
	return document.Title(cmp.Or(stem, name)+markdownExt, frontmatter.Document{Body: markdown})
}
