package replay

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"evalctl/harness"
	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/gateway"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/awaittest"
)

// scripted answers as a function says.
type scripted struct {
	ask func() (target.Answer, error)
}

func (s scripted) Ask(context.Context, dataset.Question, time.Duration) (target.Answer, error) {
	return s.ask()
}

func (s scripted) Health(context.Context) error { return nil }

// searching returns a target whose searches are answered so.
func searching(t *testing.T, status int, body string) *target.Target {
	t.Helper()
	d := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	e, err := target.NewEndpoint(d.URL, "", "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &target.Target{Service: e, Brains: map[string]string{"b": "b-1"}, Scenario: result.SearchOnly, TopK: 1, Mode: "auto"}
}

var refusal = result.Failure{Kind: result.KindTransport, Message: "dial tcp: connect: " + syscall.ECONNREFUSED.Error()}

// TestWatch: a daemon that was started again is noticed, and one that has lost its brains stops the
// run.
func TestWatch(t *testing.T) {
	const there, gone, empty = `{"chunks": [{"chunk_id": "c", "score": 1}]}`, `{"code": "not_found"}`, `{"chunks": []}`
	answered := target.Answer{Reply: result.Reply{Answer: "Blue.", Attempts: 1}}
	retried := target.Answer{Reply: result.Reply{Answer: "Blue.", Attempts: 2, Failed: []result.Failure{refusal}}}
	slow := target.Answer{Reply: result.Reply{Answer: "Blue.", Attempts: 2, Failed: []result.Failure{{Kind: result.KindTransport, Message: "EOF"}}}}
	failure := func(f result.Failure) error { return &target.Failure{Failure: f} }
	for name, tt := range map[string]struct {
		answer   target.Answer
		err      error
		status   int
		body     string
		restarts int
		died     bool
	}{
		"answered":         {answer: answered, status: 404, body: gone},
		"another failure":  {answer: slow, status: 404, body: gone},
		"restarted":        {answer: retried, status: 200, body: there, restarts: 1},
		"lost its brains":  {answer: retried, status: 404, body: gone, restarts: 1, died: true},
		"has an empty one": {answer: retried, status: 200, body: empty, restarts: 1, died: true},
		"no such brain":    {err: failure(result.Failure{Kind: result.KindStatus, Status: 404, Message: "404"}), status: 404, body: gone, died: true},
		"no such route":    {err: failure(result.Failure{Kind: result.KindStatus, Status: 404, Message: "404"}), status: 200, body: there},
		"a server's error": {err: failure(result.Failure{Kind: result.KindStatus, Status: 500, Message: "500"}), status: 404, body: gone},
		"still down":       {err: failure(refusal), status: 404, body: gone},
		"interrupted":      {err: context.Canceled, status: 404, body: gone},
	} {
		t.Run(name, func(t *testing.T) {
			w := &watch{money: &gateway.Gates{}, outages: &outages{}, probe: searching(t, tt.status, tt.body), Answerer: scripted{func() (target.Answer, error) { return tt.answer, tt.err }}}
			_, err := w.Ask(t.Context(), dataset.Question{ID: "q", Question: "Which?", Brain: "b"}, time.Second)
			if got := errors.Is(err, harness.ErrDaemonDied); got != tt.died || w.count() != tt.restarts {
				t.Errorf("got %v, %d restarts", err, w.count())
			}
			if !tt.died && !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
		})
	}
}

// TestWatchCountsOnce: questions that were asked at the same time see the same restart.
func TestWatchCountsOnce(t *testing.T) {
	var all sync.WaitGroup
	all.Add(4)
	w := &watch{money: &gateway.Gates{}, outages: &outages{}, probe: searching(t, 200, `{"chunks": [{"chunk_id": "c", "score": 1}]}`), Answerer: scripted{func() (target.Answer, error) {
		all.Done()
		all.Wait()
		return target.Answer{Reply: result.Reply{Failed: []result.Failure{refusal}}}, nil
	}}}
	for range 2 {
		var asked sync.WaitGroup
		for range 4 {
			asked.Go(func() {
				if _, err := w.Ask(t.Context(), dataset.Question{Question: "Which?", Brain: "b"}, time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		awaittest.Wait(t, "asked", asked.Wait)
		all.Add(4)
	}
	if w.count() != 2 {
		t.Errorf("%d restarts", w.count())
	}
	all.Add(-4)
}
