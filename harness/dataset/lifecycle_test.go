package dataset

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/filetest"
)

// opened opens a dataset of these lines.
func opened(t *testing.T, isolated bool, lines ...string) (Dataset, error) {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), "q.jsonl"), strings.Join(lines, "\n"))
	return Open(path, Options{Naming: BrainNaming{Default: "eval"}, Isolated: isolated})
}

func TestOperationsAreChecked(t *testing.T) {
	const put = `{"op":"put","path":"a.md","text":"The code is 4711."}`
	line := func(id, members string) string { return `{"id":"` + id + `","question":"Which code?"` + members + `}` }
	for _, tt := range []struct {
		name     string
		isolated bool
		lines    []string
		want     string // part of the error, empty for none
	}{
		{"an unknown operation", false, []string{line("a", `,"before":[{"op":"erase","path":"a.md"}]`)},
			`q.jsonl:1: question "a": before[0]: unknown operation "erase"; it must be one of put`},
		{"a misspelt operation", false, []string{line("a", `,"before":[{"op":"dlete","path":"a.md"}]`)}, `did you mean "delete"?`},
		{"a misplaced field", false, []string{line("a", `,"before":[`+put+`,{"op":"delete","path":"a.md","to":"b.md"}]`)},
			`q.jsonl:1: question "a": before[1]: delete has no "to"`},
		{"a missing field", false, []string{line("a", `,"before":[{"op":"rename","path":"a.md"}]`)}, `rename needs "to"`},
		{"an invalid path", false, []string{line("a", ``), line("b", `,"before":[{"op":"put","path":"../a.md","text":"x"}]`)},
			`q.jsonl:2: question "b": before[0]: path "../a.md" must be relative`},
		{"deleted twice", false, []string{line("a", `,"before":[`+put+`,{"op":"delete","path":"a.md"},{"op":"delete","path":"a.md"}]`)},
			`before[2]: delete a.md: the document is deleted already`},
		{"renamed away", false, []string{line("a", `,"before":[`+put+`,{"op":"rename","path":"a.md","to":"b.md"},{"op":"delete","path":"a.md"}]`)},
			`has been renamed`},
		{"put by an earlier question", false, []string{line("a", `,"before":[`+put+`]`), line("b", `,"before":[{"op":"delete","path":"a.md"}]`)}, ``},
		{"put by an earlier question of its own brain", true,
			[]string{line("a", `,"before":[`+put+`]`), line("b", `,"before":[{"op":"rename","path":"a.md","to":"b.md"}]`)},
			`q.jsonl:2: question "b": brain eval: a.md: no operation before it and no document of the corpus has that path`},
		{"put in another brain", false, []string{line("a", `,"before":[`+put+`,{"op":"delete","path":"a.md","brain":"other"}]`)},
			`brain other: a.md: no operation`},
		{"a document of the corpus", false, []string{line("a", `,"before":[{"op":"delete","path":"corpus.md"}]`)}, ``},
		{"a session without messages", false, []string{line("a", `,"before":[{"op":"reflect","session":"s"}]`)}, `has no message`},
		{"a session that has ended", false, []string{line("a",
			`,"before":[{"op":"message","session":"s","text":"x"},{"op":"reflect","session":"s"},{"op":"message","session":"s","text":"y"}]`)}, `has ended`},
		{"forbidden and asked", false, []string{line("a", `,"forbidden":["WHICH  code"]`)}, `is in the question`},
		{"forbidden and expected", false, []string{line("a", `,"expected_substrings":["code 4711"],"forbidden":["4711"]`)}, `is in expected_substrings`},
		{"forbidden and still there", false, []string{line("a", `,"before":[`+put+`],"forbidden":["code is 4711"]`)}, `still has "code is 4711"`},
		{"forbidden and deleted", false, []string{line("a", `,"before":[`+put+`,{"op":"delete","path":"a.md"}],"forbidden":["code is 4711"]`)}, ``},
		{"forbidden and in another brain", false, []string{line("a", `,"before":[`+strings.Replace(put, `}`, `,"brain":"b"}`, 1)+`],"forbidden":["code is 4711"]`)}, ``},
		{"two dates", false, []string{line("a", `,"as_of":"2025-01-01","question_date":"2025-01-01"`)}, `remove one`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := opened(t, tt.isolated, tt.lines...)
			if err == nil {
				_, err = d.Brains(&Corpus{Path: "c", Docs: []Doc{{Path: "corpus.md", Data: []byte("x")}}})
			}
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestBrainsThatChangeTogether checks which brains share an order, and what comes before a question.
func TestBrainsThatChangeTogether(t *testing.T) {
	put := func(brain string) string { return `{"op":"put","path":"a.md","text":"x","brain":"` + brain + `"}` }
	d, err := opened(t, false,
		`{"id":"1","question":"q","brain":"a","before":[`+put("a")+`]}`,
		`{"id":"2","question":"q","brain":"still"}`,
		`{"id":"3","question":"q","brain":"c","before":[`+put("b")+`]}`,
		`{"id":"4","question":"q","brain":"b","before":[`+put("a")+`]}`,
		`{"id":"5","question":"q","brain":"d","before":[{"op":"restart"}]}`,
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Together("c"); !cmp.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("c changes with %q", got)
	}
	if d.Changes("still") || !d.Changes("d") || !d.Lifecycle() || d.Isolated() {
		t.Error("wrong brains change")
	}
	var lines []int
	for _, s := range d.Steps("b", 0, 4) {
		lines = append(lines, s.Line)
	}
	if !slices.Equal(lines, []int{1, 3}) {
		t.Errorf("before question 4 come those of lines %d", lines)
	}
	brains, err := d.Brains(nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, b := range brains {
		got[b.Name] = b.Changes && b.Docs != nil
	}
	if want := map[string]bool{"a": true, "b": true, "c": true, "d": true, "still": false}; !cmp.Equal(got, want) {
		t.Errorf("brains %v", got)
	}
}

// TestGone checks which texts of a deleted document must not come back.
func TestGone(t *testing.T) {
	c := NewContents()
	for _, o := range []Operation{
		{Op: OpPut, Path: "a.md", Title: "Safe", Date: "2024-05-01", Text: "The safe opens with 4711. Mia keeps the key.\n- Short.\n- Ask for the blue folder."},
		{Op: OpPut, Path: "b.md", Text: "Mia keeps the  KEY. So it is."},
		{Op: OpDelete, Path: "a.md"},
	} {
		if err := c.Apply("b", o); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"The safe opens with 4711."}
	if got := c.Gone("b", "Should I ask for the blue folder.?"); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got := c.Gone("other", ""); got != nil {
		t.Errorf("another brain lost %q", got)
	}
}
