package ingest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/replay/source"
)

// jsonl opens questions in two brains, with a corpus in which both have a document of the same path
// unless corpus is empty.
func jsonl(t *testing.T, corpus string) *source.Benchmark {
	t.Helper()
	dir := t.TempDir()
	questions := `{"id":"a","question":"Where does the ferry go?","brain":"one","expected_paths":["trip.md"],"reference_answer":"Elba"}
{"id":"b","question":"Where does the train go?","brain":"two","expected_paths":["trip.md"],"reference_answer":"Rome"}
`
	for name, text := range map[string]string{"q.jsonl": questions, "q.corpus.jsonl": corpus} {
		if text == "" {
			continue
		}
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	return open(t, filepath.Join(dir, "q.jsonl"))
}

const corpus = `{"path":"trip.md","title":"Ferry","text":"The ferry goes to Elba.","brain":"one"}
{"path":"trip.md","title":"Train","text":"The train goes to Rome.","brain":"two"}
{"path":"cat.md","title":"Cat","text":"The cat sleeps.","brain":"two"}
`

// TestDocumentsOfAFile writes the documents of a benchmark in JSONL, and rejects modes that cannot
// work with it.
func TestDocumentsOfAFile(t *testing.T) {
	b := jsonl(t, corpus)
	cfg := config(t, serve(t, nil).URL, Bulk)
	f := fill(t, cfg, b, all(b)...)
	if f.Report.Documents != 3 || f.Report.Sessions != 0 || f.Report.Brains != 2 {
		t.Errorf("got %+v", f.Report)
	}
	for _, q := range b.Questions {
		if got := retrieved(t, cfg, f, q.Dataset(), 5); !slices.Equal(got[:1], []string{"trip.md"}) {
			t.Errorf("question %s: found %q", q.ID, got)
		}
	}
	for _, c := range []struct {
		bench  *source.Benchmark
		mode   Mode
		shared string
		want   string
	}{
		{b, Replay, "", "documents and no sessions"},
		{b, Bulk, "pool", `document "trip.md" occurs in the haystacks`},
		{jsonl(t, ""), Bulk, "", "no documents to write; give them with --corpus"},
	} {
		cfg.Mode, cfg.Shared = c.mode, c.shared
		if _, err := Fill(t.Context(), cfg, c.bench, all(c.bench)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %s, got %v", c.want, err)
		}
	}
	if n := brainsOf(t, cfg); n != 2 {
		t.Errorf("%d brains", n)
	}

	// Without a corpus, the brains are trusted.
	cfg.Mode, cfg.Shared = None, ""
	none := jsonl(t, "")
	if _, err := Fill(t.Context(), cfg, none, all(none)); err == nil || !strings.Contains(err.Error(), `brain "one" at`) {
		t.Errorf("got %v", err)
	}
}
