package dataset

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// TestEvidence checks that evidence must be in the documents of its question.
func TestEvidence(t *testing.T) {
	corpus := &Corpus{Path: "notes", Docs: []Doc{
		{Path: "fares.md", Data: []byte("# Fares\n\n- A **single ticket** on the\n  Lorne ferry costs six euros.\n")},
		{Path: "boats.md", Data: []byte("The Aurora is a white boat.")},
	}}
	for _, c := range []struct{ name, members, want string }{
		{"in Markdown, over lines", `"expected_paths":["fares.md"],"expected_evidence":["A single ticket on the Lorne ferry costs six euros."]`, ""},
		{"in a brain, without paths", `"expected_evidence":["the aurora is a white boat"]`, ""},
		{"several", `"expected_paths":["fares.md","boats.md"],"expected_evidence":["six euros","a white boat"]`, ""},
		{"in another document", `"expected_paths":["boats.md"],"expected_evidence":["six euros"]`, `expected_evidence[0]: no document of expected_paths has the words "six euros"`},
		{"nowhere", `"expected_evidence":["a white boat","a green boat"]`, `expected_evidence[1]: no document of brain eval has the words "a green boat"`},
		{"with a gap", `"expected_evidence":["The Aurora is white"]`, `no document of brain eval`},
		{"a part of a word", `"expected_evidence":["white boa"]`, `no document of brain eval`},
		{"no words", `"expected_evidence":["…"]`, `expected_evidence[0] has no words`},
		{"of an operation", `"before":[{"op":"put","path":"new.md","text":"The jetty is closed."}],"expected_evidence":["The jetty is closed."]`, ""},
		{"of a message", `"before":[{"op":"message","session":"s","text":"I moved to Porto."}],"expected_evidence":["I moved to Porto."]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), `{"id":"q","question":"?",`+c.members+"}")
			d, err := Open(path, Options{Naming: BrainNaming{Default: "eval"}})
			if err == nil {
				var brains []Brain
				if brains, err = d.Brains(corpus); err == nil {
					_, err = CheckGold(d, brains, 1)
				}
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.want != "" && !strings.Contains(fmt.Sprint(err), "q.jsonl:1: ") {
				t.Errorf("%v does not name the line", err)
			}
		})
	}
}

// TestEvidenceOfSome checks the warning about questions that a score by evidence leaves out.
func TestEvidenceOfSome(t *testing.T) {
	with := `,"expected_evidence":["x"]`
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"none", []string{line("1", "q", "a", gold("a.md"))}, ""},
		{"all", []string{line("1", "q", "a", with), line("2", "q", "a", "")}, ""},
		{"some", []string{line("1", "q", "a", with), line("2", "q", "a", gold("a.md")), line("3", "q", "a", gold("a.md"))}, "2 of the 3 questions with gold have no expected_evidence"},
	} {
		report, err := checkGold(t, 1, c.lines)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range report.Warnings {
			if w.Kind == "without_evidence" {
				got = w.Message
			}
		}
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
