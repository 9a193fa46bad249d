package source

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
)

// TestNeutralLoCoMo compares documents and questions with those of the retrieval task that other
// people made from the same conversations.
func TestNeutralLoCoMo(t *testing.T) {
	b := open(t, sharedtest.Path(t, "locomo/locomo5.json"), Options{})
	var docs []dataset.Doc
	for _, info := range b.Infos() {
		h := haystack(t, b, info.ID)
		for _, d := range h.Documents() {
			d.Brain = ""
			docs = append(docs, d)
		}
	}
	c, err := dataset.LoadCorpus(sharedtest.Path(t, "neutral/locomo-session/corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != len(c.Docs) {
		t.Fatalf("%d documents, want %d", len(docs), len(c.Docs))
	}
	for i, want := range c.Docs {
		if got := docs[i]; got.Path != want.Path || !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("document %d, %s:\n%s", i, got.Path, cmp.Diff(string(want.Data), string(got.Data)))
		}
	}

	type question struct {
		ID        string   `json:"id"`
		Question  string   `json:"question"`
		Date      string   `json:"question_date"`
		Answer    string   `json:"reference_answer"`
		Gold      []string `json:"expected_paths"`
		Tags      []string `json:"tags"`
		Incorrect string   `json:"adversarial_answer"`
	}
	data := filetest.Read(t, sharedtest.Path(t, "neutral/locomo-session/questions.jsonl"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != len(b.Questions) {
		t.Fatalf("%d questions, want %d", len(b.Questions), len(lines))
	}
	for i, line := range lines {
		var want question
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		q := b.Questions[i].Dataset()
		got := question{
			ID: q.ID, Question: q.Question, Date: q.QuestionDate, Answer: q.ReferenceAnswer,
			Gold: append([]string{}, q.ExpectedPaths...), Incorrect: want.Incorrect,
			Tags: append([]string{"locomo", "conv:" + b.Questions[i].Haystack,
				strings.Replace(q.Tags[0], "type:", "category:", 1)}, audit(want.Tags)...),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("question %d:\n%s", i, diff)
		}
	}
}

// audit returns the tags that are not from the file.
func audit(tags []string) (out []string) {
	for _, t := range tags {
		if strings.HasPrefix(t, "audit:") {
			out = append(out, t)
		}
	}
	return out
}

// TestLongMemEvalFiles checks that the haystacks of real files have all their text, and nothing
// that names the gold.
func TestLongMemEvalFiles(t *testing.T) {
	for _, name := range []string{"longmemeval_s_3.json", "lme_mini.json"} {
		path := sharedtest.Path(t, "longmemeval/"+name)
		b := open(t, path, Options{})
		data := filetest.Read(t, path)
		var file []struct {
			ID       string          `json:"question_id"`
			Type     string          `json:"question_type"`
			Answer   json.RawMessage `json:"answer"`
			Gold     []string        `json:"answer_session_ids"`
			IDs      []string        `json:"haystack_session_ids"`
			Sessions [][]struct{ Role, Content string }
			Haystack json.RawMessage `json:"haystack_sessions"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		if len(file) != len(b.Questions) || b.Report.Haystacks != len(file) {
			t.Fatalf("%s: %d questions, %d haystacks, want %d", name, len(b.Questions),
				b.Report.Haystacks, len(file))
		}
		for i, want := range file {
			if err := json.Unmarshal(want.Haystack, &want.Sessions); err != nil {
				t.Fatal(err)
			}
			q, h := b.Questions[i], haystack(t, b, want.ID)
			if q.ID != want.ID || q.Type != want.Type || q.Answer != strings.Trim(string(want.Answer), `"`) {
				t.Errorf("%s: question %+v", name, q)
			}
			if len(q.Gold) != len(want.Gold) || len(h.Sessions) != len(want.IDs) {
				t.Errorf("%s: %d gold, %d sessions", q.ID, len(q.Gold), len(h.Sessions))
			}
			checkSessions(t, h, want.IDs, func(i int) (texts []string) {
				for _, turn := range want.Sessions[i] {
					texts = append(texts, turn.Role+": "+turn.Content)
				}
				return texts
			})
			for j, id := range want.Gold {
				for _, s := range h.Sessions {
					if (s.Path == q.Gold[j]) != (s.SourceID == id) {
						t.Errorf("%s: gold %s is not %s", q.ID, q.Gold[j], id)
					}
				}
			}
		}
	}
}

// leaks is what LongMemEval calls gold.
var leaks = regexp.MustCompile(`has_answer|answer_[0-9a-z]`)

// checkSessions compares a haystack with the sessions of a file: their ids, and the texts of one.
func checkSessions(t *testing.T, h Haystack, ids []string, texts func(i int) []string) {
	t.Helper()
	docs := h.Documents()
	for i, s := range h.Sessions {
		if i > 0 && s.Date < h.Sessions[i-1].Date {
			t.Errorf("%s is before the session before it", s.Path)
		}
		for _, text := range []string{s.Path, s.ID, s.Title, h.Brain, string(docs[i].Data)} {
			if leaks.MatchString(text) || strings.Contains(text, s.SourceID) {
				t.Errorf("%s has a name from the file: %.80q", s.Path, text)
			}
		}
		at := -1
		for j, id := range ids {
			if id == s.SourceID {
				at = j
			}
		}
		if want := strings.Join(texts(at), "\n\n") + "\n"; !strings.HasSuffix(string(docs[i].Data), want) {
			t.Errorf("%s has another text than %s", s.Path, s.SourceID)
		}
	}
}
