package dataset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// TestDoubts checks which values of a dataset are warned of, each with a value like it that is not.
func TestDoubts(t *testing.T) {
	const e = "e\u0301"
	for _, c := range []struct {
		kind, line string
		want       bool
	}{
		{"short_text", `"expected_substrings":["5"]`, true},
		{"short_text", `"expected_substrings":["five","1,250.50"]`, true},
		{"short_text", `"expected_substrings":["-5 %"]`, true},
		{"short_text", `"expected_substrings":["٧"]`, true},
		{"short_text", `"expected_substrings":["US"]`, true},
		{"short_text", `"checks":[{"not_contains":"No"}]`, true},
		{"short_text", `"expected_substrings":["5 boats"]`, false},
		{"short_text", `"expected_substrings":["北京","five"]`, false},
		{"short_text", `"expected_substrings":["a\u200bb\u200bc"]`, false},
		{"one_notation", `"expected_substrings":["2025-03-14"]`, true},
		{"one_notation", `"expected_substrings":["14 March 2025"]`, true},
		{"one_notation", `"expected_substrings":["March 14th, 2025"]`, true},
		{"one_notation", `"expected_substrings":["14.03.2025"]`, true},
		{"one_notation", `"checks":[{"contains":"3/14/2025"}]`, true},
		{"one_notation", `"expected_substrings":["2025-03-14","14 March"]`, false},
		{"one_notation", `"expected_substrings":["on 14 March 2025"]`, false},
		{"spaces", `"expected_substrings":["boat "]`, true},
		{"spaces", `"expected_substrings":["blue  boat"]`, true},
		{"spaces", `"checks":[{"contains":"blue\tboat"}]`, true},
		{"spaces", `"expected_substrings":["blue\r\nboat"]`, true},
		{"spaces", `"expected_substrings":["\u200bblue\u00a0boat\ufeff"]`, false},
		{"compatibility_form", `"expected_substrings":["ﬁsh"]`, true},
		{"compatibility_form", `"expected_substrings":["１２ boats"]`, true},
		{"compatibility_form", `"expected_substrings":["caf` + e + ` – 25\u00a0kg"]`, false},
		{"regex", `"checks":[{"regex":"\\bÖl\\b"}]`, true},
		{"regex", `"checks":[{"regex":"\\boil\\b"}]`, false},
		{"undated", `"checks":[{"before":"2025-03-14"}]`, true},
		{"unknown_document", `"checks":[{"cites":"notes/Caf` + e + `.md"}]`, true},
		{"unknown_document", `"must_cite":["other.md"],"expected_substrings":["blue boat"]`, true},
		{"unknown_document", `"checks":[{"cites":"notes/café.md"}]`, false},
		{"unknown_document", `"checks":[{"cites":"raw/documents/notes/café.md"}]`, false},
	} {
		dir := t.TempDir()
		write := func(name, text string) string {
			return filetest.Write(t, filepath.Join(dir, name), text)
		}
		write("q.corpus.jsonl", `{"path":"notes/caf`+e+`.md","text":"The boat is blue."}`)
		spec := Spec{Path: write("q.jsonl", `{"id":"q","question":"Which?",`+c.line+`}`), Options: Options{Naming: BrainNaming{Default: "b"}}}
		in, err := Validate(spec, "", 5)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		found := slices.IndexFunc(in.Doubts, func(w result.Warning) bool { return w.Kind == c.kind })
		if (found >= 0) != c.want {
			t.Errorf("%s: %+v, want %s: %v", c.line, in.Doubts, c.kind, c.want)
		}
		if found >= 0 && (in.Doubts[found].Count != 1 || !strings.HasPrefix(in.Doubts[found].Message, "in 1 question ") ||
			strings.Contains(in.Doubts[found].Message, "%!")) {
			t.Errorf("%s: %+v", c.line, in.Doubts[found])
		}
		if strings.Contains(c.line, "Caf") && !strings.Contains(in.Doubts[found].Message, "did you mean \"notes/caf") {
			t.Errorf("%s: %s", c.line, in.Doubts[found].Message)
		}
	}
}

// TestMeant checks which document a path that is not known was meant to be.
func TestMeant(t *testing.T) {
	known := pathsOf("notes/Kettle.md", "cafe\u0301/menu.md")
	for path, want := range map[string]string{
		`notes\Kettle.md`: "notes/Kettle.md", "notes/kettle.MD": "notes/Kettle.md", "./notes/Kettle.md": "notes/Kettle.md",
		"notes//Kettle.md": "notes/Kettle.md", "/notes/Kettle.md": "notes/Kettle.md", "Notes/Kettle.md ": "notes/Kettle.md",
		"raw/documents/notes/kettle.md": "notes/Kettle.md", "CAFÉ/menu.md": "cafe\u0301/menu.md", "note\u00ads/Kettle.md": "notes/Kettle.md",
		"kettle.md": "", "notes/kettles.md": "",
	} {
		if got := known.meant(path); want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestNormalForms checks that the normal form of a path makes no difference between what a daemon
// reports, the corpus and the gold.
func TestNormalForms(t *testing.T) {
	const composed, decomposed, mixed = "\u00fcber/caf\u00e9.md", "u\u0308ber/cafe\u0301.md", "\u00fcber/cafe\u0301.md"
	forms := []string{composed, decomposed, mixed}
	for _, corpus := range forms {
		known := pathsOf("x.md", corpus)
		for _, other := range forms {
			if got := known.Name("srv/raw/documents/" + other); got != corpus {
				t.Errorf("%+q is %+q, want %+q", other, got, corpus)
			}
			if got := known.Gold(result.SeedRoot + other); got != corpus {
				t.Errorf("gold %+q is %+q, want %+q", other, got, corpus)
			}
			for _, paths := range []*Paths{known, nil} {
				got := paths.Documents(result.Chunk{Path: other}, result.Gold([]string{corpus}, nil))
				if !slices.Equal(got, []string{corpus}) {
					t.Errorf("%+q belongs to %+q, want %+q", other, got, corpus)
				}
			}
		}
	}
	if both := pathsOf(composed, decomposed); both.Name(composed) != composed || both.Name(decomposed) != decomposed {
		t.Error("two documents of which each form is one are one")
	}
}
