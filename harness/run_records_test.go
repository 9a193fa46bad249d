package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAnswerHasNoStrayFields(t *testing.T) {
	// A question that failed without a byte is recorded with lists, not null.
	r := newRecord(Question{ID: "a"}, Answer{Attempts: 1}, newFailure(KindTransport, "x"))
	want := Record{ID: "a", Outcome: Errored, Error: &Failure{Kind: KindTransport, Message: "x"}, Attempts: 1, Citations: []json.RawMessage{}, Retrieved: []Chunk{}}
	if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(Failure{})); diff != "" {
		t.Error(diff)
	}
}
