package source

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
	"evalctl/scorer"
)

// TestLoCoMoEvidence checks which texts the evidence of a question names, however it is written.
func TestLoCoMoEvidence(t *testing.T) {
	said := func(texts ...string) (turns []object) {
		for i, text := range texts {
			turns = append(turns, object{"speaker": "Ann", "text": text, "dia_id": "D1:" + string(rune('1'+i))})
		}
		return turns
	}
	for _, c := range []struct {
		name           string
		evidence, want []string
	}{
		{"a turn", []string{"D1:2"}, []string{"I like tea."}},
		{"several", []string{"D1:1", "D1:2"}, []string{"Hello, Bob.", "I like tea."}},
		{"several in one text", []string{"D1:1; D1:2"}, []string{"Hello, Bob.", "I like tea."}},
		{"another notation", []string{"D:1:2", "D1:01"}, []string{"I like tea.", "Hello, Bob."}},
		{"a turn twice", []string{"D1:2", "D1:02"}, []string{"I like tea."}},
		{"the same text in two turns", []string{"D1:2", "D1:3"}, []string{"I like tea."}},
		{"a turn that is not there", []string{"D1:9", "D1:2"}, []string{"I like tea."}},
		{"only a turn that is not there", []string{"D1:9"}, nil},
		{"a turn without words", []string{"D1:4"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := locomoConversation()
			talk(file)["session_1"] = said("Hello, Bob.", "I like tea.", "I like tea.", "…")
			first(file)["evidence"] = c.evidence
			b := open(t, writeFile(t, "a.json", encode(t, []object{file})), Options{})
			if got := b.Questions[0].Evidence; !slices.Equal(got, c.want) {
				t.Errorf("evidence %q, want %q", got, c.want)
			}
		})
	}
}

// TestEvidenceOfBenchmarks checks that the evidence of every question is in its gold documents, and how
// many questions with gold have some.
func TestEvidenceOfBenchmarks(t *testing.T) {
	for path, without := range map[string]int{
		"locomo/locomo5.json": 0, "longmemeval/longmemeval_s_3.json": 0,
		"longmemeval/lme_mini.json": 3, // whose turns with the answer are cut
		"beam":                      0, "convomem/category_1_basic_facts-dataset_0.json": 0,
	} {
		t.Run(path, func(t *testing.T) {
			b := open(t, sharedtest.Path(t, path), Options{})
			documents := map[string]map[string]scorer.Words{}
			missing := 0
			for _, q := range b.Questions {
				d := q.Dataset()
				if len(d.ExpectedPaths) == 0 {
					continue
				}
				if documents[q.Haystack] == nil {
					documents[q.Haystack] = map[string]scorer.Words{}
					for _, doc := range haystack(t, b, q.Haystack).Documents() {
						documents[q.Haystack][doc.Path] = scorer.WordsOf(string(doc.Data))
					}
				}
				if len(d.ExpectedEvidence) == 0 {
					missing++
					t.Logf("%s has no evidence", q.ID)
				}
				for _, text := range d.ExpectedEvidence {
					if !slices.ContainsFunc(d.ExpectedPaths, func(p string) bool { return documents[q.Haystack][p].Quote(scorer.WordsOf(text)) }) {
						t.Errorf("%s: no gold document has %q", q.ID, text)
					}
				}
			}
			if missing != without {
				t.Errorf("%d questions with gold have no evidence, want %d", missing, without)
			}
		})
	}
}

// TestEvidenceOfJSONL checks that evidence is read, written by Convert, and looked for in the corpus.
func TestEvidenceOfJSONL(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		return filetest.Write(t, filepath.Join(dir, name), text)
	}
	write("a.corpus.jsonl", `{"path":"tea.md","text":"Ann drinks *mint tea* every\nmorning."}`+"\n")
	good := write("a.jsonl", `{"id":"q","question":"Which?","expected_paths":["tea.md"],"expected_evidence":["Ann drinks mint tea every morning."]}`+"\n")
	b := open(t, good, Options{})
	if got := b.Questions[0].Evidence; len(got) != 1 || got[0] != "Ann drinks mint tea every morning." {
		t.Errorf("evidence %q", got)
	}
	bad := write("a.jsonl", `{"id":"q","question":"Which?","expected_evidence":["Bob drinks mint tea"]}`+"\n")
	if _, err := Open(t.Context(), bad, Options{}); err == nil || !strings.Contains(err.Error(), `no document of brain replay has the words "Bob drinks mint tea"`) {
		t.Errorf("got %v", err)
	}
	converted := filepath.Join(dir, "b.jsonl")
	if _, err := open(t, writeFile(t, "lme.json", `[{"question_id":"q1","question_type":"multi-session","question":"How many?","answer":"7",
		"question_date":"2023/05/30 (Tue) 23:40","answer_session_ids":["s1"],"haystack_session_ids":["s1"],"haystack_dates":["2023/05/20 (Sat) 02:21"],
		"haystack_sessions":[[{"role":"user","content":"I have seven cups.","has_answer":true},{"role":"assistant","content":"Nice."}]]}]`),
		Options{}).Convert(t.Context(), converted, filepath.Join(dir, "b.corpus.jsonl")); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(converted, dataset.Options{Naming: dataset.BrainNaming{Default: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	for q, err := range d.Questions() {
		if err != nil || !slices.Equal(q.ExpectedEvidence, []string{"I have seven cups."}) {
			t.Errorf("converted evidence %q, %v", q.ExpectedEvidence, err)
		}
	}
}
