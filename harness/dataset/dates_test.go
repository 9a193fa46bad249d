package dataset

import (
	"testing"

	"evalctl/harness/result"
)

func TestDateOfAChunk(t *testing.T) {
	paths := Paths{
		"a.md":     []byte("---\ntitle: A\ndate: 2025-03-14 # a day\n---\ndate: 2024-01-01\n"),
		"b.md":     []byte("--- \r\ncreated_at: \"2025-03-14T09:00:00Z\"\r\n...\r\n"),
		"none.md":  []byte("date: 2025-03-14\n"),
		"list.md":  []byte("---\ndate: [2025-03-14]\n---\n"),
		"bad.md":   []byte("---\n: : [\n---\n"),
		"open.md":  []byte("---\ndate: 2025-03-14"),
		"empty.md": nil,
	}
	for name, want := range map[string]string{
		"a.md": "2025-03-14", "raw/documents/b.md": "2025-03-14T09:00:00Z", "brain/x/open.md": "2025-03-14",
		"none.md": "", "list.md": "", "bad.md": "", "empty.md": "", "other.md": "",
	} {
		if got := paths.Date(result.Chunk{Path: name}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if got := paths.Date(result.Chunk{DocumentID: name}); got != want {
			t.Errorf("id %s: %q, want %q", name, got, want)
		}
	}
}
