package convert_test

import (
	"errors"
	"strings"
	"testing"

	"evalctl/daemon/convert"
)

// What is text is read as text, whatever it is called, and any other file is refused with its kind and
// what to do.
func TestKindOfFile(t *testing.T) {
	text := map[string]string{
		"main.go": "package main\n", "a.py": "import os\n", "a.rs": "fn main() {}\n", "a.yaml": "a: 1\n", "a.toml": "a = 1\n",
		"a.ini": "[a]\n", "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nHello\n", "a.vtt": "WEBVTT\n", "a.org": "* Tasks\n", "a.tex": "\\section{A}\n",
		"a.rst": "Title\n=====\n", "a.sql": "SELECT 1;\n", "a.xml": "<?xml version='1.0'?><a>b</a>", "a.svg": "<svg><text>b</text></svg>",
		"a.ics": "BEGIN:VCALENDAR\n", "a.vcf": "BEGIN:VCARD\n", "a.eml": "From: a@b\n\nHello\n", "a.diff": "--- a\n+++ b\n", "Makefile.am": "all:\n",
		"a.ts": "let a = 1\n", "a.utf16": "\xff\xfea\x00", "a.latin": "caf\xe9", ".gitignore": "*.o\n", "a.adoc": "= Title\n",
	}
	for name, data := range text {
		for _, contentType := range []string{"", "application/octet-stream", "application/x-" + strings.TrimPrefix(name, "a.")} {
			if kind, err := convert.KindOfFile("", contentType, name, []byte(data)); kind != convert.Text || err != nil {
				t.Errorf("%s (%s) is %q, %v", name, contentType, kind, err)
			}
		}
	}
	zip, ole := "PK\x03\x04\x14\x00", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\x00"
	for _, c := range []struct{ name, contentType, data, want string }{
		{"a.docx", "", zip, "word processor: save it as PDF"}, {"a.doc", "", ole, "word processor"}, {"a.odt", "", zip, "word processor"},
		{"a.rtf", "", `{\rtf1 Hello}`, "word processor"}, {"a", "text/rtf", `{\rtf1 Hello}`, "word processor"},
		{"a.xlsx", "", zip, "spreadsheet: save its sheets as CSV"}, {"a.pptx", "", zip, "presentation: save it as PDF"},
		{"a.epub", "", zip, "e-book"}, {"a.zip", "", zip, "archive: unpack it"}, {"a.tar", "", "a\x00", "archive"},
		{"a.png", "", "\x89PNG\r\n\x1a\n", "picture"}, {"a.pdf.bak", "", "\xff\xd8\xff", "picture"}, {"a.mp3", "", "ID3\x03", "recording: ingest a transcript"},
		{"a", "image/png", "\x89PNG\r\n\x1a\n", "picture"}, {"a.sqlite", "", "SQLite format 3\x00", "database: export"},
		{"a.so", "", "\x7fELF\x02\x00", "program"}, {"a.ps", "", "%!PS-Adobe-3.0", "PostScript: convert it to PDF"}, {"a.woff2", "", "wOF2\x00", "font"},
		{"a.xyz", "", "\x00\x01\x02", "binary data (application/octet-stream): name its kind"},
		{"a", "application/vnd.oasis.opendocument.text", zip, "word processor"},
	} {
		_, err := convert.KindOfFile("", c.contentType, c.name, []byte(c.data))
		if !errors.Is(err, convert.ErrKind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s (%s): %v, want %s", c.name, c.contentType, err, c.want)
		}
	}
}
