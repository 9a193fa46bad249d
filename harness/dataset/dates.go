package dataset

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"evalctl/internal/inputfile"
)

// maxFrontMatter limits how much of a document is searched for its date, in bytes.
const maxFrontMatter = 64 << 10

// Date returns the date in the document's front matter, from date or else created_at, or "" if
// there is none.
func (d Doc) Date() string { return frontDate(d.Data) }

// frontDate returns the date in a Markdown document's front matter unchanged.
func frontDate(data []byte) string {
	data = data[:min(len(data), maxFrontMatter)]
	first, rest, _ := bytes.Cut(inputfile.Text(data), []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return ""
	}
	var header []byte
	for line := range bytes.Lines(rest) {
		if end := string(bytes.TrimRight(line, " \t\r\n")); end == "---" || end == "..." {
			break
		}
		header = append(header, line...)
	}
	var fields struct {
		Date    yaml.Node `yaml:"date"`
		Created yaml.Node `yaml:"created_at"`
	}
	if yaml.Unmarshal(header, &fields) != nil {
		return ""
	}
	for _, n := range []yaml.Node{fields.Date, fields.Created} {
		if n.Kind == yaml.ScalarNode && n.Value != "" {
			return n.Value
		}
	}
	return ""
}
