package target_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
)

func Example() {
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		daemontest.Stream(w, daemontest.AnswerTo("question 7"))
	}))
	defer daemon.Close()
	e, err := target.NewEndpoint(daemon.URL, "", "example", 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	asks := target.Target{
		Service: e, Brains: map[string]string{"notes": "notes"},
		Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
	}
	q := dataset.Question{ID: "q7", Question: "question 7", Brain: "notes"}
	a, err := asks.Ask(context.Background(), q, 2*time.Minute)
	fmt.Println(a.Answer, len(a.Retrieved), a.EffectiveMode, a.Attempts, err)
	// Output:
	// answer 7 1 bm25 1 <nil>
}

// TestFailures checks how a caller distinguishes a failed question from the end of a run.
func TestFailures(t *testing.T) {
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		http.Error(w, "no such mode", http.StatusBadRequest)
	})
	e, err := target.NewEndpoint(s.URL, "", "example", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	asks := target.Target{Service: e, Scenario: result.SearchOnly, TopK: 1, Dialect: result.Snake}
	_, err = asks.Ask(t.Context(), dataset.Question{Question: "q"}, 2*time.Minute)
	if f, ok := target.AsFailure(err); !ok || f.Kind != result.KindStatus ||
		f.Status != 400 || f.Retryable() {
		t.Errorf("got %v", err)
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended)
	_, err = asks.Ask(ctx, dataset.Question{Question: "q"}, 2*time.Minute)
	if _, ok := target.AsFailure(err); ok || !errors.Is(err, ended) {
		t.Errorf("got %v", err)
	}
}
