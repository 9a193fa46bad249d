package dataset

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/inputfile"
	"evalctl/internal/prose"
)

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
// The text is all of the document if it has no front matter, as prose.CutFrontMatter finds it.
func (d Doc) Split() (FrontMatter, string) {
	text := string(inputfile.Text(d.Data))
	header, below, ok := prose.CutFrontMatter(text)
	var fields struct {
		Title, Date yaml.Node
		Created     yaml.Node `yaml:"created_at"`
	}
	if !ok || yaml.Unmarshal([]byte(header), &fields) != nil {
		return FrontMatter{}, text
	}
	front := FrontMatter{scalarText(fields.Title), cmp.Or(scalarText(fields.Date), scalarText(fields.Created))}
	return front, strings.TrimLeft(below, "\r\n")
}

// scalarText returns the text of a node, "" for null and for lists and objects.
func scalarText(n yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}
