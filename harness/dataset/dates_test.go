package dataset

import "testing"

func TestDate(t *testing.T) {
	docs := map[string][]byte{
		"a.md":     []byte("---\ntitle: A\ndate: 2025-03-14 # a day\n---\ndate: 2024-01-01\n"),
		"b.md":     []byte("--- \r\ncreated_at: \"2025-03-14T09:00:00Z\"\r\n...\r\n"),
		"none.md":  []byte("date: 2025-03-14\n"),
		"list.md":  []byte("---\ndate: [2025-03-14]\n---\n"),
		"bad.md":   []byte("---\n: : [\n---\n"),
		"open.md":  []byte("---\ndate: 2025-03-14"),
		"null.md":  []byte("---\ndate: ~\ncreated_at: 2025-03-14\n---\n"),
		"mark.md":  []byte("\ufeff---\ndate: 2025-03-14\n---\n"),
		"empty.md": nil,
	}
	for name, want := range map[string]string{
		"a.md": "2025-03-14", "b.md": "2025-03-14T09:00:00Z", "null.md": "2025-03-14", "mark.md": "2025-03-14",
		"none.md": "", "open.md": "", "list.md": "", "bad.md": "", "empty.md": "",
	} {
		if got := (Doc{Data: docs[name]}).Date(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
