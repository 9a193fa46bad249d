package result_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
	"evalctl/scorer"
)

// A citation names its document by a retrieved chunk or by itself, and the date of the corpus counts
// before that of the daemon.
func TestDocumentsOfAnItem(t *testing.T) {
	r := result.Record{
		Reply: result.Reply{LatencyMS: 5, Retrieved: []result.Chunk{
			{ChunkID: "c1", Path: "raw/documents/a.md", DocumentID: "d1", Date: "2020-01-01", CorpusDate: "2025-01-01"},
			{ChunkID: "c2", Path: "brain/b.md", Date: "2024-01-01"},
			{ChunkID: "c3", Path: "c.md", Date: "2024-05-08", CorpusDate: "May 8, 2024"},
		}, Citations: []json.RawMessage{
			json.RawMessage(`{"chunkId": "c2"}`), json.RawMessage(`{"chunk_id": "c9", "path": "x.md", "date": "2023-01-01"}`),
			json.RawMessage(`7`), json.RawMessage(`{"chunk_id": "c9"}`),
			json.RawMessage(`{"path": "a.md"}`), json.RawMessage(`{"document_id": "d1", "date": "2019-01-01"}`),
		}},
	}
	item := r.Item()
	a := scorer.Document{Names: []string{"a.md", "d1"}, Exact: true, Date: "2025-01-01"}
	b := scorer.Document{Names: []string{"brain/b.md"}, Date: "2024-01-01"}
	c := scorer.Document{Names: []string{"c.md"}, Date: "2024-05-08"}
	own := scorer.Document{Names: []string{"x.md"}, Date: "2023-01-01"}
	if diff := cmp.Diff([]scorer.Document{a, b, c}, item.Retrieved); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]scorer.Document{b, own, {Names: []string{"c9"}}, a, a}, item.Cited); diff != "" {
		t.Error(diff)
	}
	if item.LatencyMS == nil || *item.LatencyMS != 5 {
		t.Errorf("%v ms", item.LatencyMS)
	}
}

// TestLatencyOfCachedAnswer: an answer from the cache has no time to check, and the reason says
// so.
func TestLatencyOfCachedAnswer(t *testing.T) {
	r := result.Record{
		Outcome: result.Scored,
		Checks:  []result.Check{{Check: scorer.Check{MaxLatencyMS: 20}}},
		Reply:   result.Reply{Answer: "yes", LatencyMS: 5, Actor: &result.ModelUse{Cached: true}},
	}
	v, err := scorer.Checks{}.Score(t.Context(), r.Item())
	if err != nil || v.Scored || !strings.Contains(v.Reason, "from evalctl's cache") {
		t.Errorf("%+v, %v", v, err)
	}
}

// The check cites names a document as gold and must_cite do: with the folder of the corpus or
// without.
func TestChecksNamePathsBelowTheSeedRoot(t *testing.T) {
	r := result.Record{
		Checks: []result.Check{{Check: scorer.Check{Cites: "raw/documents/a.md"}}, {Check: scorer.Check{Cites: "a.md"}}},
		Reply:  result.Reply{Answer: "yes", Citations: []json.RawMessage{json.RawMessage(`{"path": "raw/documents/a.md"}`)}},
	}
	v, err := scorer.Checks{}.Score(t.Context(), r.Item())
	if err != nil || v.Score != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}
