package harness

import (
	"encoding/json"
	"testing"
	"time"

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
	r := newRecord(q, target.Answer{Attempts: 1}, &target.Failure{Failure: failure})
	want := result.Record{
		ID: "a", Outcome: result.Errored, Error: &failure, Attempts: 1,
		Citations: []json.RawMessage{}, Retrieved: []result.Chunk{},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}

// TestFelt checks that what a question waited for is recorded apart from the answering attempt, and
// that a stored answer keeps it.
func TestFelt(t *testing.T) {
	q := dataset.Question{ID: "a"}
	for _, c := range []struct {
		waited time.Duration
		want   *float64
	}{{0, nil}, {100 * time.Nanosecond, nil}, {3 * time.Second, new(3012.345)}} {
		a := target.Answer{Attempts: 2, Latency: 12345 * time.Microsecond, Waited: c.waited}
		r := newRecord(q, a, nil)
		if diff := cmp.Diff(c.want, r.FeltMS); diff != "" || r.LatencyMS != 12.345 {
			t.Errorf("%v: latency %v, felt %s", c.waited, r.LatencyMS, diff)
		}
		s := &Stored{records: []result.Record{r}, byID: map[storedID]int{{id: "a"}: 0}}
		kept, err := s.Ask(t.Context(), q, 0)
		again := newRecord(q, kept, nil)
		if err != nil || again.Felt() != r.Felt() || kept.Latency != a.Latency {
			t.Errorf("%v: kept %v and %v, %v", c.waited, kept.Latency, kept.Waited, err)
		}
	}
}
