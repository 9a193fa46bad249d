package mapping

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"evalctl/harness/dataset"
	"evalctl/internal/printable"
	"evalctl/internal/prose"
)

// head is the metadata at the beginning of a document, and the text without its front matter.
type head struct{ title, date, body string }

// headOf returns the front matter's title and date. A document without that title has its first
// heading.
func headOf(doc dataset.Doc) head {
	front, body := doc.Split()
	h := head{title: front.Title, date: front.Date, body: body}
	if first, _, _ := strings.Cut(h.body, "\n"); strings.HasPrefix(first, "# ") && h.title == "" {
		h.title = strings.TrimSpace(first[2:])
	}
	return h
}

// values returns a document's placeholders.
func (h head) values() map[string]any {
	v := map[string]any{}
	if h.title != "" {
		v["title"] = h.title
	}
	if h.date != "" {
		v["date"] = h.date
	}
	return v
}

// otherInNames matches characters that file names cannot contain everywhere.
var otherInNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^A-Za-z0-9._-]+`)
})

// nameOf converts an id to a file name without folders. A name that differs from the id ends in a
// digest of it.
func nameOf(id string) string {
	name := otherInNames().ReplaceAllString(id, "-")
	if name == id {
		return id
	}
	return sum([]byte(id))[:8] + "-" + name
}

// cutText divides a text into parts of at most limit characters, 0 for no limit.
func cutText(text string, limit int) []string {
	if limit <= 0 || utf8.RuneCountInString(text) <= limit {
		return []string{text}
	}
	var parts []string
	for utf8.RuneCountInString(text) > limit {
		at := prose.Cut(text, len(printable.First(text, limit)))
		parts = append(parts, text[:at])
		text = text[at:]
	}
	if text != "" {
		parts = append(parts, text)
	}
	return parts
}
