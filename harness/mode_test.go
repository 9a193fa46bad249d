package harness

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// TestRequiredMode checks that the first answer in another mode or in an unknown one stops the run
// and is not recorded. A question without an answer has no mode.
func TestRequiredMode(t *testing.T) {
	retrieve := func(mode string) string {
		return event("retrieve", `{"chunks":[],"mode":"hybrid"`+mode+`}`)
	}
	const done = "event: done\ndata: {\"ok\":true,\"answer\":\"answer 1\"}\n\n"
	for _, c := range []struct {
		name, third string
		want        string
	}{
		{"the required mode", retrieve(`,"effective_mode":"hybrid"`) + done, ""},
		{"an error", event("error", `{"message":"no model"}`), ""},
		{"another mode", retrieve(`,"effectiveMode":"bm25"`) + done,
			`question "q3" ran in bm25, and hybrid is required`},
		{"another mode in the trace", retrieve(`,"trace":{"mode":"semantic"}`) + done,
			`question "q3" ran in semantic, and hybrid is required`},
		{"not reported", retrieve("") + done,
			`question "q3" does not say which one ran, and hybrid is required`},
		{"no retrieve event", done, `question "q3" does not say`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, call daemontest.Call) {
				if call.Body["question"] == "question 3" {
					daemontest.Stream(w, c.third)
					return
				}
				daemontest.Stream(w, retrieve(`,"effective_mode":"hybrid"`)+done)
			})
			d := openDataset(t, writeDataset(t, 5))
			cfg := setUp(t, s, d, t.TempDir())
			cfg.RequireMode, cfg.Concurrency = "hybrid", 1
			_, path, err := cfg.run(t.Context())
			res := readResult(t, path)
			if c.want == "" {
				if err != nil || res.Total != 5 || res.Stopped != "" {
					t.Errorf("got %v after %d questions", err, res.Total)
				}
				return
			}
			if !errors.Is(err, ErrMode) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if res.Stopped != result.StopMode || res.Total != 2 ||
				res.EffectiveModes["hybrid"] != 2 || len(s.Asked()) != 3 {
				t.Errorf("stopped %q after %d questions, with modes %v",
					res.Stopped, res.Total, res.EffectiveModes)
			}
		})
	}
}

// TestRequiredModeOfAResumedRun checks the mode of the answers in the journal.
func TestRequiredModeOfAResumedRun(t *testing.T) {
	s := daemontest.Answering(t)
	d := openDataset(t, writeDataset(t, 3))
	cfg := setUp(t, s, d, t.TempDir())
	q := dataset.Question{ID: "q1", Question: "question 1", Line: 2}
	r := pipeline.NewRecord(q, target.Answer{Reply: result.Reply{Answer: "a", EffectiveMode: "semantic", Attempts: 1}}, nil)
	graded := r.Graded(scorer.Verdict{Scored: true})
	if err := cfg.Journal.Append(
		journal.Entry{Kind: journal.KindAnswer, Record: &r},
		journal.Entry{Kind: journal.KindGrade, Record: &graded},
	); err != nil {
		t.Fatal(err)
	}
	cfg.RequireMode = "bm25"
	if _, path, err := cfg.run(t.Context()); !errors.Is(err, ErrMode) || path != "" ||
		len(s.Asked()) != 0 {
		t.Errorf("got %v and %q after %d questions", err, path, len(s.Asked()))
	}
}
