package document

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	day := time.Date(2024, 5, 8, 0, 0, 0, 0, time.UTC)
	noon := time.Date(2024, 5, 8, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, path, data string
		want             Document
	}{
		{"plain text", "a/b.txt", "# not a heading\n", Document{Title: "b", Text: "# not a heading\n"}},
		{"json", "x.json", `{"a":1}`, Document{Title: "x", Text: `{"a":1}`}},
		{"upper case extension", "x.MD", "# Hi\nyou", Document{Title: "Hi", Text: "# Hi\nyou"}},
		{"title from heading", "n.md", "intro\n\n## Day  2 ##\n", Document{Title: "Day 2", Text: "intro\n\n## Day  2 ##\n"}},
		{"heading in code", "n.md", "```\n# no\n```\n", Document{Title: "n", Text: "```\n# no\n```\n"}},
		{"front matter", "n.md", "---\ntitle: Trip\ndate: 2024-05-08\ntags: [sea, 7, Old Town]\nmood: good\ncount: 3\nratio: 1.5\ndone: true\n---\n# Other\n",
			Document{Title: "Trip", Date: day, Tags: []string{"sea", "7", "Old Town"}, Text: "# Other\n",
				Metadata: map[string]any{"mood": "good", "count": 3, "ratio": 1.5, "done": true}}},
		{"windows lines and tag string", "n.md", "---\r\ntags: a, b ,,c\r\ncreated_at: 2024-05-08T12:00:00Z\r\n---\r\nhi\r\n",
			Document{Title: "n", Date: noon, Tags: []string{"a", "b", "c"}, Text: "hi\r\n"}},
		{"date beats created_at", "n.md", "---\ndate: 2024-05-08\ncreated_at: 2024-05-08T12:00:00Z\n...\n",
			Document{Title: "n", Date: day}},
		{"created_at does not beat date", "n.md", "---\ncreated_at: 2024-05-08T12:00:00Z\ndate: 2024-05-08\n---\n",
			Document{Title: "n", Date: day}},
		{"created_at counts for an empty date", "n.md", "---\ndate:\ncreated_at: 2024-05-08\n---\n",
			Document{Title: "n", Date: day, Metadata: map[string]any{"date": nil}}},
		{"empty front matter", "n.md", "---\n---\n# Hi\n", Document{Title: "Hi", Text: "# Hi\n"}},
		{"odd values are kept as text", "n.md", "---\ndate: last week\nn: .nan\nt: 2001-01-01\nnested: {a: 1}\nnone: null\n---\nx",
			Document{Title: "n", Text: "x", BadDate: true, Metadata: map[string]any{"date": "last week", "n": ".nan", "t": "2001-01-01", "none": nil}}},
		{"session id", "n.md", "---\nsession_id: 0012\n---\nx", Document{Title: "n", Metadata: map[string]any{"session_id": "0012"}, Text: "x"}},
		{"malformed front matter", "n.md", "---\n[a: :\n---\nx", Document{Title: "n", Text: "---\n[a: :\n---\nx"}},
		{"front matter without end", "n.md", "---\ntitle: a\n", Document{Title: "n", Text: "---\ntitle: a\n"}},
		{"not a mapping", "n.md", "---\na rule\n---\nx", Document{Title: "n", Text: "---\na rule\n---\nx"}},
		{"front matter of a text file", "n.txt", "---\ntitle: a\n---\nx", Document{Title: "n", Text: "---\ntitle: a\n---\nx"}},
		{"byte order mark", "n.md", "\uFEFF---\ntitle: a\n---\nx", Document{Title: "a", Text: "x"}},
		{"invalid bytes", "n.md", "a\xff\xfeb", Document{Title: "n", Text: "a\uFFFDb"}},
		{"title on one line", "n.md", "---\ntitle: |\n  two\n  lines\n---\n", Document{Title: "two lines"}},
		{"long heading", "n.md", "# " + strings.Repeat("é", maxTitle+1),
			Document{Title: strings.Repeat("é", maxTitle), Text: "# " + strings.Repeat("é", maxTitle+1)}},
		{"generated", "notes/_index.md", "cat", Document{Title: "_index", Text: "cat", Generated: true}},
		{"underscore in the folder", "_notes/a.md", "cat", Document{Title: "a", Text: "cat"}},
		{"no extension", "notes/plan", "---\ntags: a\n---\n# Plan\n", Document{Title: "Plan", Tags: []string{"a"}, Text: "# Plan\n"}},
		{"long title", "n.md", "---\ntitle: " + strings.Repeat("é", 600) + "\n---\n", Document{Title: strings.Repeat("é", 512)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Parse(tt.path, tt.data)
			tt.want.Path = tt.path
			if diff := cmp.Diff(tt.want, got); !ok || diff != "" {
				t.Errorf("Parse = %v, differs (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestParseSkips(t *testing.T) {
	for _, path := range []string{
		"a.png", "a.", ".md.bak", "v1.2 plan", "jobs/_1.json", "originals/_a.md",
		"sessions/s/_session.json", "sessions/s/_messages-0001.jsonl",
	} {
		if doc, ok := Parse(path, "hello"); ok {
			t.Errorf("Parse(%q) = %+v, want it skipped", path, doc)
		}
	}
}

func TestParseGenerated(t *testing.T) {
	for _, path := range []string{"_a.md", "sessionsx/_a.md", "x/sessions/_a.md", "memory/_index.json"} {
		if doc, ok := Parse(path, "hello"); !ok || !doc.Generated {
			t.Errorf("Parse(%q) = %+v, %v", path, doc, ok)
		}
	}
	if doc, ok := Parse("sessions/s/transcript-0001.md", "hello"); !ok || doc.Generated {
		t.Errorf("a transcript is %+v, %v", doc, ok)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"---\ntitle: a\ntags: [b, c]\ndate: 2024-05-08\n---\n# x\n", "---\n&a [*a]\n---\n", "---\n? {a: b}\n: c\n---\n",
		"---\na: !!binary x\n<<: {b: 1}\n---\n", "---\nn: 0x7fffffffffffffffff\n", "\xff---\n", "~~~\n# a\n", "---\n---\n",
	} {
		f.Add("n.md", []byte(s))
	}
	f.Fuzz(func(t *testing.T, path string, data []byte) {
		doc, ok := Parse(path, string(data))
		if !ok {
			return
		}
		if !utf8.ValidString(doc.Text) || len(doc.Text) > 3*len(data) {
			t.Errorf("text is not valid UTF-8 or grew: %d of %d bytes", len(doc.Text), len(data))
		}
		if utf8.RuneCountInString(doc.Title) > maxTitle {
			t.Errorf("title has %d code points", utf8.RuneCountInString(doc.Title))
		}
		if _, err := json.Marshal(doc.Metadata); err != nil {
			t.Errorf("metadata cannot be sent: %v", err)
		}
		checkChunks(t, doc, 64)
	})
}
