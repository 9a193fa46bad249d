package convert_test

import (
	"errors"
	"testing"

	"evalctl/daemon/convert"
)

func TestKindOf(t *testing.T) {
	tests := []struct {
		as, contentType, name string
		want                  convert.Kind // "" = ErrKind
	}{
		// as decides.
		{"markdown", "application/pdf", "x.json", convert.Markdown},
		{"text", "", "x.pdf", convert.Text},
		{"json", "", "", convert.JSON},
		{"html", "text/plain", "", convert.HTML},
		{"pdf", "image/png", "", convert.PDF},
		{"Markdown", "", "x.md", ""},
		{"docx", "text/plain", "x.md", ""},

		// The content type decides.
		{"", "text/markdown", "x.txt", convert.Markdown},
		{"", "Text/Markdown; charset=UTF-8; variant=GFM", "", convert.Markdown},
		{"", "text/plain", "x", convert.Text},
		{"", "text/plain; charset=utf-8", "x.html", convert.Text},
		{"", "text/csv", "x.csv", convert.Text},
		{"", "text/x-go", "main.go", convert.Text},
		{"", "application/json", "x.txt", convert.JSON},
		{"", "application/ld+json", "", convert.JSON},
		{"", "text/html; charset", "x", convert.HTML},
		{"", "application/xhtml+xml", "x.md", convert.HTML},
		{"", "application/pdf", "", convert.PDF},
		{"", "image/png", "x.md", ""},
		{"", "text/rtf", "x.txt", ""},
		{"", "application/zip", "", ""},
		{"", "not a type", "x.md", ""},

		// text/plain leaves Markdown and JSON to the extension.
		{"", "text/plain", "x.md", convert.Markdown},
		{"", "text/plain", "x.json", convert.JSON},

		// The extension decides.
		{"", "", "notes.md", convert.Markdown},
		{"", " ", "NOTES.MARKDOWN", convert.Markdown},
		{"", "application/octet-stream", "a.b/c.Txt", convert.Text},
		{"", "", "x.text", convert.Text},
		{"", "", "x.log", convert.Text},
		{"", "", "x.csv", convert.Text},
		{"", "", "x.json", convert.JSON},
		{"", "", "x.jsonl", convert.JSON},
		{"", "", "x.html", convert.HTML},
		{"", "", "x.HTM", convert.HTML},
		{"", "", "x.xhtml", convert.HTML},
		{"", "", "x.PDF", convert.PDF},
		{"", "", "x.docx", ""}, {"", "application/yaml", "", ""}, // without its bytes
		{"", "application/octet-stream", "x.png", ""},

		// Without anything, it is text.
		{"", "", "README", convert.Text},
		{"", "application/octet-stream", "v1.2/README", convert.Text},
		{"", "", "", convert.Text},
	}
	for _, tt := range tests {
		got, err := convert.KindOf(tt.as, tt.contentType, tt.name)
		if got != tt.want || (tt.want == "") != errors.Is(err, convert.ErrKind) || (err == nil) != (tt.want != "") {
			t.Errorf("KindOf(%q, %q, %q) = %q, %v; want %q", tt.as, tt.contentType, tt.name, got, err, tt.want)
		}
	}
}
