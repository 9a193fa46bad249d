package pipeline

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

// TestRecordOfAFailure checks that a question without an answer has empty lists, which are not null
// in JSON.
func TestRecordOfAFailure(t *testing.T) {
	failure := result.Failure{Kind: result.KindTransport, Message: "x"}
	q := dataset.Question{ID: "a"}
	r := NewRecord(q, target.Answer{Reply: result.Reply{Attempts: 1}}, &target.Failure{Failure: failure})
	want := result.Record{
		ID: "a", Outcome: result.Errored, Error: &failure,
		Reply: result.Reply{Attempts: 1, Citations: []json.RawMessage{}, Retrieved: []result.Chunk{}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}
