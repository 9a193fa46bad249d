package scorer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

// TestDual: the corrected reference decides, the original one is judged as well, and the verdict
// has what both cost.
func TestDual(t *testing.T) {
	j, m, srv := openJudge(t, nil, reply(`{"score": 1, "reason": "new"}`), reply(`{"score": 0, "reason": "old"}`), reply(good))
	d := NewDual(j, map[string]Reference{"q1": {Answer: "Green"}})
	if d.Name() != j.Name() {
		t.Errorf("got the name %q", d.Name())
	}
	v, err := d.Score(t.Context(), item)
	if err != nil || !v.Passed() || v.Reason != "new" || v.Original == nil || v.Original.Passed() || v.Original.Reason != "old" {
		t.Fatalf("got %+v, %v", v, err)
	}
	if v.Attempts != 2 || v.Usage != m.Totals().Usage || v.Cost != m.Totals().Cost || v.Original.Cost*2 != v.Cost || v.Cost == 0 {
		t.Errorf("got %+v, %+v of %+v", v, v.Original, m.Totals())
	}
	if calls := srv.Calls(); !strings.Contains(calls[0].Messages[1].Content, "Blue") || !strings.Contains(calls[1].Messages[1].Content, "Green") {
		t.Errorf("got %v", calls)
	}
	other := item
	other.ID = "q2"
	if v, err := d.Score(t.Context(), other); err != nil || v.Original != nil || v.Attempts != 1 {
		t.Errorf("without a correction: %+v, %v", v, err)
	}
}

// once is a provider that answers its first request, and no other.
type once struct {
	llm.Provider
	asked bool
}

func (o *once) Complete(ctx context.Context, r llm.Request) (llm.Response, error) {
	if o.asked {
		return unreachable{}.Complete(ctx, r)
	}
	o.asked = true
	return llm.Response{Text: good, Attempts: 1}, nil
}

// TestDualUnanswered: the verdict shows that the judge did not answer the second time.
func TestDualUnanswered(t *testing.T) {
	j, err := NewJudge(&once{}, "gpt-4o", DefaultPrompts())
	if err != nil {
		t.Fatal(err)
	}
	v, err := NewDual(j, map[string]Reference{"q1": {Answer: "Green"}}).Score(t.Context(), item)
	if err != nil || !v.Scored || v.Original.Scored || !v.Unanswered {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestDualStops: what stops the run stops it in both judgements, and no cost is lost.
func TestDualStops(t *testing.T) {
	denied := llmtest.Reply{Status: 401}
	original := map[string]Reference{"q1": {Answer: "Green"}}
	j, m, _ := openJudge(t, nil, reply(good), denied)
	v, err := NewDual(j, original).Score(t.Context(), item)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Status != 401 || v.Scored || v.Original != nil || v.Cost != m.Totals().Cost || v.Attempts != 2 {
		t.Errorf("second judgement: %+v, %v", v, err)
	}
	j, _, srv := openJudge(t, nil, denied)
	if v, err := NewDual(j, original).Score(t.Context(), item); err == nil || v.Scored || len(srv.Calls()) != 1 {
		t.Errorf("first judgement: %+v, %v", v, err)
	}
}

// TestDualExact: the expected substring is corrected with the reference, and the type is the one of
// the reference.
func TestDualExact(t *testing.T) {
	in := Item{ID: "q", Reference: "Blue", Expected: []string{"Blue"}, Answer: "blue"}
	v, err := NewDual(Exact{}, map[string]Reference{"q": {Answer: "Green"}}).Score(t.Context(), in)
	if err != nil || !v.Passed() || v.Original == nil || v.Original.Passed() {
		t.Errorf("got %+v, %v", v, err)
	}
	in.Expected = []string{"blu"}
	v, err = NewDual(Exact{}, map[string]Reference{"q": {Answer: "Green"}}).Score(t.Context(), in)
	if err != nil || v.Original == nil || !v.Original.Passed() {
		t.Errorf("own substrings: %+v, %v", v, err)
	}
	j, err := NewTyped(llm.NewFake(), llm.FakeModel, ReplayPrompts())
	if err != nil {
		t.Fatal(err)
	}
	in = Item{ID: "q", Type: TypeAbstention, Reference: "You did not mention it.", Answer: "I don't know."}
	v, err = NewDual(j, map[string]Reference{"q": {Answer: "Green", Type: TypeStandard}}).Score(t.Context(), in)
	if err != nil || !v.Passed() || v.Original == nil || v.Original.Passed() {
		t.Errorf("another type: %+v, %v", v, err)
	}
}

// TestDualOwnSubstrings: an original reference may have substrings of its own.
func TestDualOwnSubstrings(t *testing.T) {
	in := Item{ID: "q", Reference: "green", Expected: []string{"green"}, Answer: "It is green."}
	original := map[string]Reference{"q": {Expected: []string{"red", "crimson"}}}
	v, err := NewDual(Exact{}, original).Score(t.Context(), in)
	if err != nil || !v.Passed() || v.Original == nil || !v.Original.Scored || v.Original.Passed() {
		t.Errorf("got %+v, %v", v, err)
	}
	in.Answer = "Crimson."
	v, err = NewDual(Exact{}, original).Score(t.Context(), in)
	if err != nil || v.Passed() || v.Original == nil || !v.Original.Passed() {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestDualWithoutReference: errata may give an answer to a question that has none. That the
// original reference cannot be scored does not stop the run.
func TestDualWithoutReference(t *testing.T) {
	j, _, srv := openJudge(t, nil, reply(good))
	for _, s := range []Scorer{j, Exact{}} {
		d := NewDual(s, map[string]Reference{"q1": {}})
		in := item
		in.Expected, in.Answer = []string{in.Reference}, in.Reference
		if err := d.Check(in); err != nil {
			t.Error(err)
		}
		v, err := d.Score(t.Context(), in)
		if err != nil || !v.Passed() || v.Original == nil || v.Original.Scored || v.Original.Reason == "" {
			t.Errorf("%s: got %+v, %v", s.Name(), v, err)
		}
	}
	if n := len(srv.Calls()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestDualChecks: the original reference has checks of its own.
func TestDualChecks(t *testing.T) {
	in := Item{ID: "q", Reference: "(b) tea", Answer: "(b)", Checks: []Check{{Choice: "b"}}}
	v, err := NewDual(Checks{}, map[string]Reference{"q": {Answer: "(a) milk", Checks: []Check{{Choice: "a"}}}}).Score(t.Context(), in)
	if err != nil || !v.Passed() || v.Original == nil || !v.Original.Scored || v.Original.Passed() {
		t.Errorf("got %+v, %v", v, err)
	}
}
