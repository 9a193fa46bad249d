package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

func TestAnswerHasNoStrayFields(t *testing.T) {
	// A question that failed without a byte is recorded with lists, not null.
	r := newRecord(dataset.Question{ID: "a"}, target.Answer{Attempts: 1}, &target.Failure{Failure: result.Failure{Kind: result.KindTransport, Message: "x"}})
	want := result.Record{ID: "a", Outcome: result.Errored, Error: &result.Failure{Kind: result.KindTransport, Message: "x"}, Attempts: 1, Citations: []json.RawMessage{}, Retrieved: []result.Chunk{}}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(result.Failure{})); diff != "" {
		t.Error(diff)
	}
}
