package dataset

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// checkGold checks questions with these lines against a corpus of these documents, if there are
// any.
func checkGold(
	t *testing.T, topK int, lines []string, documents ...string,
) (GoldReport, error) {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), strings.Join(lines, "\n"))
	var corpus *Corpus
	if len(documents) > 0 {
		corpus = &Corpus{Path: "notes"}
		for _, p := range documents {
			corpus.Docs = append(corpus.Docs, Doc{Path: p})
		}
	}
	d := openAll(t, path)
	brains, err := d.Brains(corpus)
	if err != nil {
		t.Fatal(err)
	}
	return CheckGold(d, brains, topK)
}

func line(id, question, answer, more string) string {
	return fmt.Sprintf(`{"id":%q,"question":%q,"reference_answer":%q%s}`, id,
		question, answer, more)
}

func gold(paths ...string) string { return fmt.Sprintf(`,"expected_paths":[%s]`, quoted(paths)) }

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ",")
}

func TestGoldWarnings(t *testing.T) {
	two := []string{"a.md", "b.md"}
	for _, c := range []struct {
		name      string
		topK      int
		lines     []string
		documents []string
		want      []string // kind and count
	}{
		{"no warning", 1, []string{line("1", "q", "x", gold("a.md")),
			line("2", "q", "x", gold("b.md"))}, two, nil},
		{"no gold at all", 5, []string{line("1", "q", "x", ""), line("2", "q", "x", "")}, two, nil},
		{"the whole brain", 2, []string{line("1", "q", "x", gold("a.md"))}, two,
			[]string{"top_k_covers_brain 1"}},
		{"unknown documents", 500, []string{line("1", "q", "x", gold("a.md"))}, nil, nil},
		{"one gold for most", 1, []string{line("1", "q", "x", gold("a.md", "b.md")),
			line("2", "q", "x", gold("raw/documents/a.md")), line("3", "q", "x", gold("b.md")),
			line("4", "q", "x", "")}, two, []string{"gold_shared 2"}},
		{"one gold for half", 1, []string{line("1", "q", "x", gold("a.md")),
			line("2", "q", "x", gold("a.md")), line("3", "q", "x", gold("b.md")),
			line("4", "q", "x", gold("b.md"))}, two, nil},
		{"one question", 1, []string{line("1", "q", "x", gold("a.md"))}, two, nil},
		{"the answer in another case", 1, []string{line("1", "Is it TEAL?", "teal", gold("a.md"))},
			nil, []string{"answer_in_question 1"}},
		{"the answer as a part of a word", 1,
			[]string{line("1", "Do you know?", "no", gold("a.md"))}, nil, nil},
		{"the answer, first as a part and then alone", 1,
			[]string{line("1", "In 2019 or 19?", "19", gold("a.md"))}, nil,
			[]string{"answer_in_question 1"}},
		{"an expected substring", 1,
			[]string{line("1", "Whose kettles?", "",
				gold("a.md")+`,"expected_substrings":["pan","kettle"]`)}, nil,
			[]string{"answer_in_question 1"}},
		{"empty answers", 1, []string{line("1", "Whose kettles?", " ",
			gold("a.md")+`,"expected_substrings":[""]`)}, nil, nil},
		{"the answer, without gold", 1, []string{line("1", "Is it teal?", "teal", "")}, nil, nil},
	} {
		got, err := checkGold(t, c.topK, c.lines, c.documents...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var kinds []string
		for _, g := range got.Warnings {
			kinds = append(kinds, fmt.Sprint(g.Kind, " ", g.Count))
			if g.IDs == nil || g.Message == "" {
				t.Errorf("%s: %+v", c.name, g)
			}
		}
		if !slices.Equal(kinds, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, kinds, c.want)
		}
		withGold := strings.Count(strings.Join(c.lines, "\n"), "expected_paths")
		if got.WithGold != withGold {
			t.Errorf("%s: %d questions with gold, want %d", c.name, got.WithGold, withGold)
		}
	}
}

// TestGoldOfSeveralBrains checks that a path is one of the question's brain.
func TestGoldOfSeveralBrains(t *testing.T) {
	in := func(brain string) string { return `,"brain":"` + brain + `"` }
	path := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), strings.Join([]string{
		line("1", "q", "x", gold("n.md")+in("a")),
		line("2", "q", "x", gold("n.md")+in("b")),
		line("3", "q", "x", gold("m.md")+in("b")),
	}, "\n"))
	d := openAll(t, path)
	brains := []Brain{
		{Name: "a", Docs: []Doc{{Path: "n.md"}}},
		{Name: "b", Docs: []Doc{{Path: "n.md"}, {Path: "m.md"}, {Path: "o.md"}}},
	}
	got, err := CheckGold(d, brains, 1)
	if err != nil || len(got.Warnings) != 1 || got.Warnings[0].Kind != "top_k_covers_brain" ||
		got.Warnings[0].Count != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	brains[0].Docs, brains[1].Docs = nil, brains[1].Docs[1:]
	const want = `q.jsonl:2: question "2": expected path "n.md" is not among the documents of brain b; ` +
		"correct it, or add the document"
	if _, err := CheckGold(d, brains, 1); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

func TestWarningNamesFiveQuestions(t *testing.T) {
	var lines []string
	for i := range 7 {
		lines = append(lines, line(fmt.Sprint("q", i), "is it teal", "teal",
			gold(fmt.Sprint(i, ".md"))))
	}
	got, err := checkGold(t, 1, lines)
	first := []string{"q0", "q1", "q2", "q3", "q4"}
	if err != nil || len(got.Warnings) != 1 || got.Warnings[0].Count != 7 ||
		!slices.Equal(got.Warnings[0].IDs, first) {
		t.Errorf("got %+v, %v", got.Warnings, err)
	}
}

// TestCheckGoldRejects checks the errors for paths that are not in the corpus.
func TestCheckGoldRejects(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, line(fmt.Sprint("q", i), "q", "x",
			gold("a.md", fmt.Sprint("old", i, ".md"))))
	}
	_, err := checkGold(t, 1, lines, "a.md")
	for _, want := range []string{
		`q.jsonl:1: question "q0": expected path "old0.md" is not among the documents of brain ; ` +
			"correct it, or add the document",
		"q.jsonl:10: ", "and 2 more bad lines",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "q.jsonl:11") {
		t.Errorf("more than ten lines: %v", err)
	}
	if _, err := checkGold(t, 1, lines); err != nil {
		t.Errorf("without a corpus: %v", err)
	}
	_, err = checkGold(t, 1, []string{line("q", "q", "x", gold("a.md", ""))})
	if err == nil || !strings.Contains(err.Error(), "q.jsonl:1: ") ||
		!strings.Contains(err.Error(), "expected_paths[1] is empty") {
		t.Errorf("an empty path: %v", err)
	}
}
