package llm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/llm/llmtest"
)

// TestWitness: a witness sees each attempt with its worst case before it is sent, and its outcome
// after it.
func TestWitness(t *testing.T) {
	m, srv := openMeter(t, nil, llmtest.Script(
		llmtest.Reply{Status: 504, RetryAfter: "0"}, llmtest.Reply{Status: 429, RetryAfter: "0"},
		llmtest.Reply{Text: "a", Input: 10, Output: 5}, llmtest.Reply{Hang: true}))
	r := ask("m", "q")
	worst := m.WorstCase(r)
	var begun []int
	var got []string
	w := Witness(func(c Charge) (func(string, Charge), error) {
		if c.Cost != worst || c.Lost != worst {
			t.Errorf("the worst case is %+v, want %s", c, worst)
		}
		begun = append(begun, len(srv.Calls()))
		return func(outcome string, c Charge) {
			got = append(got, outcome+" "+c.Cost.String()+" "+c.Lost.String())
		}, nil
	})
	if _, err := m.Complete(WithWitness(t.Context(), w), r); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := m.Complete(WithWitness(ctx, w), r); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	want := []string{
		"status 504 " + worst.String() + " " + worst.String(), "status 429 $0.00 $0.00",
		"answered $0.000015 $0.00", "timeout " + worst.String() + " " + worst.String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3}, begun); diff != "" {
		t.Errorf("requests before each attempt: %s", diff)
	}
}

// TestWitnessPrevents: without the witness nothing is sent and nothing is charged.
func TestWitnessPrevents(t *testing.T) {
	b := NewBudget(Dollar)
	m, srv := openMeter(t, b, llmtest.Script())
	full := errors.New("the disk is full")
	ctx := WithWitness(t.Context(), func(Charge) (func(string, Charge), error) { return nil, full })
	_, err := m.Complete(ctx, ask("m", "q"))
	if !errors.Is(err, full) || len(srv.Calls()) != 0 || b.Spent() != 0 {
		t.Errorf("%v, %d requests, %s spent", err, len(srv.Calls()), b.Spent())
	}
	if _, err := b.Reserve(t.Context(), Dollar); err != nil {
		t.Errorf("the reservation is still held: %v", err)
	}
}
