package replay_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/replay"
)

// judging is a provider whose judge replies with a text of the test's, and as it should if that is
// empty. It counts the calls.
type judging struct {
	provider
	verdict       atomic.Pointer[string]
	judged, asked atomic.Int64
}

func newJudging(t *testing.T) *judging {
	j := &judging{}
	j.says("")
	j.url = llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		r := llmtest.Reply{Text: answer(c), Input: inputTokens, Output: outputTokens}
		if !strings.Contains(string(c.Body), "candidate_answer") {
			j.asked.Add(1)
			return r
		}
		j.judged.Add(1)
		if v := *j.verdict.Load(); v != "" {
			r.Text = v
		}
		return r
	}).URL
	return j
}

func (j *judging) says(verdict string) { j.verdict.Store(&verdict) }

// TestMisjudgedControls: once the scorer has misjudged answers that are known to be right or wrong,
// nothing more is spent. After the judge is repaired the replay is continued.
func TestMisjudgedControls(t *testing.T) {
	t.Parallel()
	b := benchmark(t, 4)
	for name, verdict := range map[string]string{
		"lenient": `{"score": 1, "reason": "fine"}`, "strict": `{"score": 0, "reason": "no"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := newJudging(t), t.TempDir()
			p.says(verdict)
			c := p.config(t, b, 20*llm.Dollar)
			out, spent, err := run(t, c, dir)
			if err != nil || p.asked.Load() != 0 || spent == 0 {
				t.Fatalf("%v, %d questions asked, spent %s", err, p.asked.Load(), spent)
			}
			for _, o := range out {
				misjudged(t, o, name)
			}
			if _, err := os.Stat(filepath.Join(dir, "replay.ledger")); err != nil || replay.Finished(out) {
				t.Errorf("there is nothing to resume: %v", err)
			}
			p.says("")
			out, _, err = run(t, c, dir)
			if err != nil || !replay.Finished(out) || out[0].Result.Passed != 4 || !out[0].Result.Replay.Controls.Valid() {
				t.Errorf("resumed: %v, %+v", err, out[0].Err)
			}
		})
	}
}

// misjudged checks the outcome of an arm whose scorer failed the controls.
func misjudged(t *testing.T, o replay.Outcome, name string) {
	t.Helper()
	if !errors.Is(o.Err, harness.ErrControls) || o.Result == nil {
		t.Fatalf("got %v, result %v", o.Err, o.Result)
	}
	want := map[string]string{"lenient": "must fail", "strict": "must pass"}[name]
	for _, part := range []string{want, "q0", "--judge"} {
		if !strings.Contains(o.Err.Error(), part) {
			t.Errorf("%q lacks %q", o.Err, part)
		}
	}
	r, err := resultfile.Open(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res := r.Result()
	if g := res.Gate; res.Planned != 4 || res.Counts.Finished() != 0 || res.Stopped != result.StopControls ||
		g.Verdict != result.Invalid || g.Reason != result.ReasonControls || res.Replay.Controls.Valid() {
		t.Errorf("planned %d, %+v, stopped %q, %+v", res.Planned, res.Counts, res.Stopped, g)
	}
}

// TestControlsNeedDaemon: answers that are known to be right or wrong are not judged before there
// is a daemon to measure.
func TestControlsNeedDaemon(t *testing.T) {
	p := newJudging(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := p.config(t, benchmark(t, 2), 20*llm.Dollar)
	c.Arms = []replay.Arm{{Name: "go", Session: harness.SessionConfig{Endpoint: gone.URL, UserAgent: "test", Concurrency: 1}}}
	out, spent, err := run(t, c, t.TempDir())
	if err != nil || len(out) != 1 || !errors.As(out[0].Err, new(*replay.DaemonError)) {
		t.Fatalf("%v, %+v", err, out)
	}
	if p.judged.Load() != 0 || spent != 0 {
		t.Errorf("%d answers judged, spent %s", p.judged.Load(), spent)
	}
}

// TestScorerCannotBeChecked: the error of a judge that rejects every request ends the replay, and
// that of a daemon is not lost.
func TestScorerCannotBeChecked(t *testing.T) {
	s := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		return llmtest.Reply{Status: http.StatusUnauthorized, Body: `{"error": {"message": "denied"}}`}
	})
	c := (&provider{url: s.URL}).config(t, benchmark(t, 2), 20*llm.Dollar)
	out, _, err := run(t, c, t.TempDir())
	if err == nil || out != nil || !strings.Contains(err.Error(), "check the scorer") || strings.Count(err.Error(), "denied") != 1 {
		t.Errorf("got %v, %+v", err, out)
	}
}

// TestRepairedJudgeIsAskedAgain: wrong verdicts on controls that are in the cache do not outlive
// the repair of the judge, and right ones are not paid twice.
func TestRepairedJudgeIsAskedAgain(t *testing.T) {
	t.Parallel()
	p, dir := newJudging(t), t.TempDir()
	c := p.config(t, benchmark(t, 2), 20*llm.Dollar)
	c.Cache = replay.Cache{Mode: llm.CacheWrite, Dir: t.TempDir()}
	p.says(`{"score": 1, "reason": "fine"}`)
	if _, _, err := run(t, c, dir); err != nil {
		t.Fatal(err)
	}
	p.says("")
	out, _, err := run(t, c, dir)
	if err != nil || !replay.Finished(out) || out[0].Result.Passed != 2 {
		t.Fatalf("resumed: %v, %+v", err, out)
	}
	before := p.judged.Load()
	out, spent, err := run(t, c, t.TempDir())
	if err != nil || !replay.Finished(out) || spent != 0 || p.judged.Load() != before {
		t.Errorf("%v, spent %s, %d more judged", err, spent, p.judged.Load()-before)
	}
}
