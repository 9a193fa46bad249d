package ingest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// filledWith returns brains that were filled without a daemon.
func filledWith(tb testing.TB, text string) *FilledBrains {
	tb.Helper()
	b := bench(tb, text)
	f := &filler{Config: Config{Mode: Replay}, result: &FilledBrains{
		bench: b, haystacks: map[string]*contents{}, sessions: map[string]string{},
	}}
	for _, id := range all(b) {
		h, err := b.Haystack(id)
		if err == nil {
			err = f.keep(h)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return f.result
}

// TestDocuments checks to which session a chunk belongs, whatever a daemon calls it.
func TestDocuments(t *testing.T) {
	f := filledWith(t, instances)
	q := f.bench.Questions[0].Dataset()
	gold := q.Item().Gold
	const (
		one, three    = "lme/q1-c75de8/session-001.md", "lme/q1-c75de8/session-003.md"
		id1, id3, id4 = "q1-c75de8-session-001", "q1-c75de8-session-003", "q2-bee98b-session-001"
	)
	const said = "**user**:\n> I take the ferry to Elba every summer.\n\n**assistant**:\n> Book the"
	for _, c := range []struct {
		name  string
		chunk result.Chunk
		want  string
	}{
		{"a document", result.Chunk{Path: "raw/documents/" + three}, three},
		{"a document in another folder", result.Chunk{Path: "wiki/x/" + three}, three},
		{"a document by its id", result.Chunk{DocumentID: "raw/documents/" + three}, three},
		{"session", result.Chunk{Path: "x.md", SessionID: id3}, three},
		{"session in upper case", result.Chunk{SessionID: strings.ToUpper(id3)}, three},
		{"transcript", result.Chunk{Path: "sessions/" + id3 + "/transcript-0001.md"}, three},
		{"facts", result.Chunk{Path: "memory/agent/facts/" + id3 + "=0002.md"}, three},
		{"episode", result.Chunk{Path: "memory/agent/episodes/2023-05-22-" + id3 + ".md"}, three},
		{"id of the document", result.Chunk{Path: "x.md", DocumentID: "conv:" + id3 + "#2"}, three},
		{"not gold", result.Chunk{Path: "sessions/" + id1 + "/t.md"}, one},
		{"of another haystack", result.Chunk{Path: "sessions/" + id4 + "/t.md"},
			"lme/q2-bee98b/session-001.md"},
		{"longer number", result.Chunk{Path: "sessions/" + id3 + "1/t.md"}, "sessions/" + id3 + "1/t.md"},
		{"longer name", result.Chunk{Path: "sessions/a" + id3 + "/t.md"}, "sessions/a" + id3 + "/t.md"},
		{"note", result.Chunk{Path: "memory/global/notes/cat.md"}, "memory/global/notes/cat.md"},
		{"only an id", result.Chunk{ChunkID: "c7"}, "c7"},
		{"long path", result.Chunk{Path: strings.Repeat("a", 5000) + "/" + id3}, strings.Repeat("a", 5000) + "/" + id3},
		{"duplicate with another text", result.Chunk{Path: "x.md", Text: said, Duplicates: []string{three}}, "x.md"},
		{"duplicate without a text", result.Chunk{Path: "x.md", Duplicates: []string{three}}, "x.md"},
		{"duplicate", result.Chunk{Path: "sessions/" + id1 + "/t.md",
			Text: "**user**:\n> Thanks.\n\n**assistant**:\n> You are welcome.", Duplicates: []string{id3}}, three},
		{"duplicate in a form of its own", result.Chunk{Path: "x.md", Duplicates: []string{"a/" + id3 + ".md"},
			Text: "Thanks. -- You are welcome."}, three},
		{"duplicate document", result.Chunk{Path: "x.md", Duplicates: []string{three},
			Text: "user: Thanks.\n\nassistant: You are"}, three},
	} {
		if got := f.Documents(q, c.chunk, gold); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: got %.200q", c.name, got)
		}
	}
	if f.Err() != nil {
		t.Error(f.Err())
	}
	unknown := dataset.Question{Brain: "elsewhere"}
	if got := f.Documents(unknown, result.Chunk{Path: "raw/documents/a.md"}, nil); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("got %q", got)
	}
}

// TestGoldDoesNotAttract checks that a chunk belongs to the same document whatever is gold.
func TestGoldDoesNotAttract(t *testing.T) {
	f := filledWith(t, instances)
	q := f.bench.Questions[0].Dataset()
	part := rapid.SampledFrom([]string{
		"q1-c75de8-session-001", "q1-c75de8-session-003", "q2-bee98b-session-002", "sessions", "facts",
		"lme/q1-c75de8/session-002.md", "-", "=", "/", ".md", "1", "x", "é",
	})
	rapid.Check(t, func(rt *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(rt, "path"), "")
		c := result.Chunk{Path: path, DocumentID: rapid.SampledFrom([]string{"", "d", path}).Draw(rt, "id")}
		own := f.Documents(q, c, nil)
		gold := scorer.Ranking{{Path: q.ExpectedPaths[0], Gain: 1}}
		if got := f.Documents(q, c, gold); !slices.Equal(got, own) {
			rt.Fatalf("%q belongs to %q, and to %q without gold", path, got, own)
		}
	})
}
