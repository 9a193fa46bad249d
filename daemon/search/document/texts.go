package document

import (
	"path"
	"slices"
	"strings"

	"evalctl/internal/printable"
)

// maxField bounds each field of a chunk except the text, in code points, so that a long title does
// not add to every chunk of its document.
const maxField = 1000

// Fields returns the texts by which a chunk with these headings and this text is found. Labels are
// the tags of the document and the headings. A heading belongs to the labels and not to the text. A
// heading that is also the title belongs to neither.
func (d *Document) Fields(headings, text string) (body, title, path, labels string) {
	labels = strings.Join(d.Tags, "\n") + "\n" + BelowTitle(d.Title, headings)
	return Body(headings, text), printable.First(d.Title, maxField), printable.First(d.PathWords(), maxField), printable.First(labels, maxField)
}

// PathWords returns the part of the path whose words the document is found by: all but the
// extension.
func (d *Document) PathWords() string { return strings.TrimSuffix(d.Path, path.Ext(d.Path)) }

// Passage returns the text of a chunk for models: the title, the headings above it and its text,
// each once. A heading that is also the title, or that begins the text, is not repeated.
func Passage(title, headings, text string) string {
	parts := []string{title, BelowTitle(title, headings), strings.TrimSpace(afterHeadings(text, headings))}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "\n")
}

// BelowTitle returns the heading path of a chunk without its first heading if that is the title of
// the document. A heading path has long titles in a shorter form.
func BelowTitle(title, headings string) string {
	if first, rest, _ := strings.Cut(headings, headingSeparator); first == printable.First(title, maxHeading) {
		return rest
	}
	return headings
}

// Body returns the text of a chunk without the headings at its beginning.
func Body(headings, text string) string {
	if headings == "" {
		return text
	}
	return afterHeadings(text, headings)
}

// afterHeadings returns text without the lines at its beginning that are headings of the path.
func afterHeadings(text, path string) string {
	path = headingSeparator + path + headingSeparator
	for text != "" {
		end := lineEnd(text, 0)
		level, title := heading(text[:end])
		if level == 0 && strings.TrimSpace(text[:end]) != "" ||
			level > 0 && !strings.Contains(path, headingSeparator+printable.First(title, maxHeading)+headingSeparator) {
			break
		}
		text = text[end:]
	}
	return text
}
