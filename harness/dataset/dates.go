package dataset

import (
	"bytes"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/result"
)

// maxFrontMatter is how much of a document is read to find its date, in bytes.
const maxFrontMatter = 64 << 10

// Date returns the date of a chunk's document as its front matter in the corpus has it: date, or
// else created_at. It is empty if the document is not in the corpus or has no date there.
func (k Paths) Date(c result.Chunk) string {
	for _, name := range []string{c.Path, c.DocumentID} {
		if data, ok := k[k.Name(name)]; ok {
			return frontDate(data)
		}
	}
	return ""
}

// frontDate returns the date in the front matter of a Markdown document, as it is written.
func frontDate(data []byte) string {
	data = data[:min(len(data), maxFrontMatter)]
	first, rest, _ := bytes.Cut(data, []byte("\n"))
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
