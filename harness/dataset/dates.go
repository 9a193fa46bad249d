package dataset

import (
	"bytes"
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/inputfile"
)

// maxFrontMatter limits how much of a document is searched for its date, in bytes.
const maxFrontMatter = 64 << 10

// FrontMatter has values of a Markdown document's front matter, unchanged. Missing values are
// empty.
type FrontMatter struct {
	Title string
	Date  string // from date or else created_at
}

// Date returns the date in the document's front matter, or "" if there is none.
func (d Doc) Date() string {
	front, _ := d.Split()
	return front.Date
}

// Split returns the document's front matter and the text below it, without a byte order mark.
// The text is all of the document if its front matter is not a YAML mapping or has no closing
// line.
func (d Doc) Split() (FrontMatter, []byte) {
	data := inputfile.Text(d.Data)
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if !delimits(first, "---") {
		return FrontMatter{}, data
	}
	header, body, closed := cutFrontMatter(rest)
	var fields struct {
		Title, Date yaml.Node
		Created     yaml.Node `yaml:"created_at"`
	}
	if yaml.Unmarshal(header, &fields) != nil {
		return FrontMatter{}, data
	}
	front := FrontMatter{scalarText(fields.Title), cmp.Or(scalarText(fields.Date), scalarText(fields.Created))}
	if !closed {
		return front, data
	}
	return front, bytes.TrimLeft(body, "\r\n")
}

// cutFrontMatter returns what is before and after the line that closes front matter. closed is
// false if there is none.
func cutFrontMatter(rest []byte) (header, body []byte, closed bool) {
	end := 0
	for line := range bytes.Lines(rest) {
		if delimits(line, "---", "...") {
			return rest[:end], rest[end+len(line):], true
		}
		if end += len(line); end > maxFrontMatter {
			break
		}
	}
	return rest[:min(end, maxFrontMatter)], nil, false
}

// delimits reports whether a line is one of marks.
func delimits(line []byte, marks ...string) bool {
	return slices.Contains(marks, string(bytes.TrimRight(line, " \t\r\n")))
}

// scalarText returns the text of a node, "" for null and for lists and objects.
func scalarText(n yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
