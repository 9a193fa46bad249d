package scorer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// orderOf returns checks whose criteria are events in this order.
func orderOf(events ...string) (checks []scorer.Check) {
	for _, e := range events {
		checks = append(checks, scorer.Check{Judge: e, Name: scorer.EventName, Weight: 1})
	}
	return checks
}

// sameEvent is a model that says that a line tells of an event if it has its word. It counts requests.
type sameEvent struct{ requests int }

func (*sameEvent) Name() string { return "openai" }

func (m *sameEvent) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	m.requests++
	var asked struct{ Event, Line string }
	if err := json.Unmarshal([]byte(r.Messages[1].Content), &asked); err != nil {
		return llm.Response{}, err
	}
	if strings.Contains(asked.Line, "?") {
		return llm.Response{Text: "perhaps"}, nil
	}
	score := 0
	if strings.Contains(asked.Line, asked.Event) {
		score = 1
	}
	return llm.Response{Text: fmt.Sprintf(`{"score": %d, "reason": "x"}`, score)}, nil
}

// TestOrder has scores that SciPy 1.17 gives by the formula of BEAM's authors, and how many requests
// they take.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		answer   string
		score    float64
		f1       string
		requests int
	}{
		{"1. one\n2. two\n3. three\n4. four", 1, "F1 1.000", 4},
		{"four\nthree\ntwo\none", 0, "F1 1.000", 4 + 3 + 2 + 1},
		{"two\none", 0.7738612787525831, "F1 0.667", 2 + 1},
		{"x\none\n\nthree\n\ntwo", 0.5, "F1 0.600", 4 + 1 + 2 + 1},
		{"nothing", 0.18377223398316206, "F1 0.000", 4},
		{"", 0.18377223398316206, "F1 0.000", 0},
		{"one", 0.8535533905932738, "F1 0.400", 1},
	} {
		model := &sameEvent{}
		j, err := scorer.NewJudge(model, "m", scorer.EventPrompts())
		if err != nil {
			t.Fatal(err)
		}
		item := scorer.Item{ID: "q", Question: "In which order?", Checks: orderOf("one", "two", "three", "four"), Answer: c.answer}
		v, err := scorer.Order{Judge: j}.Score(t.Context(), item)
		if err != nil || !v.Scored || math.Abs(v.Score-c.score) > 1e-12 || !strings.Contains(v.Reason, c.f1) || model.requests != c.requests || v.Cached {
			t.Errorf("%q: %+v, %d requests, %v", c.answer, v, model.requests, err)
		}
	}
}

// TestOrderUnscored has answers and questions without a score.
func TestOrderUnscored(t *testing.T) {
	j, err := scorer.NewJudge(&sameEvent{}, "m", scorer.EventPrompts())
	if err != nil {
		t.Fatal(err)
	}
	s, item := scorer.Order{Judge: j}, scorer.Item{ID: "q", Checks: orderOf("one", "two")}
	for answer, want := range map[string]string{
		"one\nwhat?":                 "line 2, event 2: the judge gave no usable verdict",
		strings.Repeat("one\n", 200): "the answer has 201 lines",
	} {
		item.Answer = answer
		if v, err := s.Score(t.Context(), item); err != nil || v.Scored || !strings.Contains(v.Reason, want) {
			t.Errorf("%q: %+v, %v", answer, v, err)
		}
	}
	if err := s.Check(scorer.Item{ID: "q", Checks: []scorer.Check{{Judge: "one", Name: "rubric"}}}); !errors.Is(err, scorer.ErrNoGold) {
		t.Errorf("without events: %v", err)
	}
	if err := s.Check(scorer.Item{ID: "q", Checks: orderOf("one", "one")}); err == nil || errors.Is(err, scorer.ErrNoGold) {
		t.Errorf("one event: %v", err)
	}
	if _, err := (scorer.Order{}).Score(t.Context(), item); err == nil {
		t.Error("a score without a judge")
	}
}

// TestOrderEstimate: an answer that is not known is taken to have a line for each event.
func TestOrderEstimate(t *testing.T) {
	kind, err := scorer.Find("kendall-tau")
	if err != nil {
		t.Fatal(err)
	}
	item := scorer.Item{ID: "q", Checks: orderOf("one", "two", "three"), Answer: strings.Repeat("x", 30)}
	judged := kind.Judged(item)
	if len(judged) != 9 || judged[8].Reference != "three" || len(judged[8].Answer) != 10 {
		t.Errorf("%+v", judged)
	}
	if n := kind.Asks(scorer.Item{ID: "q"}); n != 0 {
		t.Errorf("%d judgements of a question without events", n)
	}
}
