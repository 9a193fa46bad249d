package document

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	long := strings.Repeat("é", 2000)
	tests := []struct {
		doc      Document
		headings string
		want     [4]string
	}{
		{Document{Path: "a/b.c.md", Title: "Trip"}, "", [4]string{"text", "Trip", "a/b.c", "\n"}},
		{Document{Path: "a/b", Title: "Trip", Tags: []string{"sea", "sun"}}, "Trip", [4]string{"text", "Trip", "a/b", "sea\nsun\n"}},
		{Document{Title: "Trip"}, "Trip > Day 1", [4]string{"text", "Trip", "", "\nDay 1"}},
		{Document{Title: "Trip"}, "Trips > Day 1", [4]string{"text", "Trip", "", "\nTrips > Day 1"}},
		{Document{Path: long, Title: long, Tags: []string{long}}, "",
			[4]string{"text", long[:2*maxField], long[:2*maxField], long[:2*maxField]}},
	}
	for _, tt := range tests {
		var got [4]string
		got[0], got[1], got[2], got[3] = tt.doc.Fields(tt.headings, "text")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("fields of %.20q differ (-want +got):\n%s", tt.doc.Path, diff)
		}
	}
}

func TestProse(t *testing.T) {
	code := "```go\nif x[i] != y[j] { return nil }\n```\n"
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"Plain.\n", "Plain.\n"},
		{"Before, which explains it.\n" + code + "After.", "Before, which explains it.\nAfter."},
		{"See.\n" + code + code, "See.\n" + code + code},
		{code, code},
		{"Open, with some words of prose.\n```\nx := 1", "Open, with some words of prose.\n"},
	} {
		if got := Prose(tt.text); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
