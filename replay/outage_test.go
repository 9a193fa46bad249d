package replay_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/replay"
	"evalctl/scorer"
)

// failing is a provider whose judge fails as fault says, which is called with the number of the
// request, from 1, and its body, and returns nil for a good reply. It adds up what it bills.
type failing struct {
	provider
	fault         atomic.Pointer[func(n int64, body string) *llmtest.Reply]
	judged, asked atomic.Int64
	billedNano    atomic.Int64
}

func newFailing(t *testing.T, fault func(int64, string) *llmtest.Reply) *failing {
	f := &failing{}
	f.fault.Store(&fault)
	price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, modelName)
	each := price.Cost(llm.Usage{InputTokens: inputTokens, OutputTokens: outputTokens})
	f.url = llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		good := llmtest.Reply{Text: answer(c), Input: inputTokens, Output: outputTokens}
		if !strings.Contains(string(c.Body), "candidate_answer") {
			f.asked.Add(1)
		} else if bad := (*f.fault.Load())(f.judged.Add(1), string(c.Body)); bad != nil {
			return *bad
		}
		f.billedNano.Add(int64(each))
		return good
	}).URL
	return f
}

func (f *failing) recover() {
	healthy := func(int64, string) *llmtest.Reply { return nil }
	f.fault.Store(&healthy)
}

func (f *failing) config(t *testing.T, questions int) replay.Config {
	c := f.provider.config(t, benchmark(t, questions), 20*llm.Dollar)
	c.Concurrency = 32 // so that the provider's retries overlap
	return c
}

// TestJudgeOutage: a provider that fails on the controls is an outage, with its own words, and not
// a judge that misjudges. Nothing is asked, and the replay is continued once the provider is back.
func TestJudgeOutage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply llmtest.Reply
		words []string
		free  bool // the provider certainly charged nothing
	}{
		"500": {llmtest.Reply{Status: 500, Body: `{"error":{"message":"the engine is on fire"}}`},
			[]string{"500 Internal Server Error", "the engine is on fire"}, false},
		"429": {llmtest.Reply{Status: 429, RetryAfter: "0", Body: `{"error":{"message":"slow down"}}`},
			[]string{"429 Too Many Requests", "slow down"}, true},
		"dropped":  {llmtest.Reply{Break: true}, []string{"EOF"}, false},
		"babbling": {llmtest.Reply{Text: "As a language model", Input: inputTokens, Output: outputTokens}, []string{"no JSON object"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFailing(t, func(int64, string) *llmtest.Reply { return &tt.reply })
			c, dir := p.config(t, 4), t.TempDir()
			out, spent, err := run(t, c, dir)
			if err != nil || p.asked.Load() != 0 || tt.free != (spent == 0) {
				t.Fatalf("%v, %d questions asked, spent %s", err, p.asked.Load(), spent)
			}
			for _, o := range out {
				notJudged(t, o, tt.words)
			}
			p.recover()
			out, total, err := run(t, c, dir)
			if err != nil || !replay.Finished(out) || out[0].Result.Passed != 4 {
				t.Fatalf("resumed: %v, %+v", err, out)
			}
			if k := out[0].Result.Replay.Controls; k.Unscored != 0 || *k.FalsePositiveRate != 0 || *k.FalseNegativeRate != 0 {
				t.Errorf("controls: %+v", k)
			}
			if billed := llm.USD(p.billedNano.Load()); total-spent != billed {
				t.Errorf("charged %s after the outage, billed %s", total-spent, billed)
			}
		})
	}
}

// notJudged checks the outcome of an arm whose judge could not be checked.
func notJudged(t *testing.T, o replay.Outcome, words []string) {
	t.Helper()
	if !errors.Is(o.Err, scorer.ErrUnusable) || errors.Is(o.Err, harness.ErrControls) || o.Result == nil || o.Journal == "" {
		t.Fatalf("got %v, result %v, journal %q", o.Err, o.Result, o.Journal)
	}
	for _, part := range words {
		if !strings.Contains(o.Err.Error(), part) {
			t.Errorf("%q lacks %q", o.Err, part)
		}
	}
	for _, wrong := range []string{"misjudged", "check the judge's model and prompts"} {
		if strings.Contains(o.Err.Error(), wrong) {
			t.Errorf("%q has %q", o.Err, wrong)
		}
	}
	res := o.Result
	k := res.Replay.Controls
	if res.Stopped != result.StopUnusable || res.Gate.Verdict != result.Inconclusive || k.Unscored != k.Right+k.Wrong ||
		len(k.Failed) != 0 || k.FalsePositiveRate != nil || k.FalseNegativeRate != nil {
		t.Errorf("stopped %q, %+v, controls %+v", res.Stopped, res.Gate, k)
	}
}

// TestOutageThatEnds: a provider that fails for a while only costs time.
func TestOutageThatEnds(t *testing.T) {
	t.Parallel()
	p := newFailing(t, func(n int64, _ string) *llmtest.Reply {
		if n <= 10 {
			return &llmtest.Reply{Status: http.StatusInternalServerError, Body: `{"error":{"message":"restarting"}}`}
		}
		return nil
	})
	out, _, err := run(t, p.config(t, 4), t.TempDir())
	if err != nil || !replay.Finished(out) || out[0].Result.Replay.Controls.Unscored != 0 {
		t.Fatalf("%v, %+v", err, out)
	}
}

// TestOneUnjudgedControl: one control that never gets a verdict is reported, in no rate, and does
// not invalidate the replay.
func TestOneUnjudgedControl(t *testing.T) {
	t.Parallel()
	p := newFailing(t, func(_ int64, body string) *llmtest.Reply {
		if strings.Contains(body, `\"candidate_answer\":\"\"`) && strings.Contains(body, "lantern q1 ") {
			return &llmtest.Reply{Status: http.StatusInternalServerError, Body: `{"error":{"message":"not this one"}}`}
		}
		return nil
	})
	out, _, err := run(t, p.config(t, 6), t.TempDir())
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	k := out[0].Result.Replay.Controls
	if k.Unscored != 1 || len(k.Failed) != 0 || *k.FalsePositiveRate != 0 || *k.FalseNegativeRate != 0 {
		t.Errorf("controls: %+v", k)
	}
}

// TestOneMisjudgedControl: one misjudged control among good ones is in the rates, and does not stop
// the replay.
func TestOneMisjudgedControl(t *testing.T) {
	t.Parallel()
	p := newFailing(t, func(_ int64, body string) *llmtest.Reply {
		if strings.Contains(body, `\"candidate_answer\":\"\"`) && strings.Contains(body, "lantern q1 ") {
			return &llmtest.Reply{Text: `{"score": 1, "reason": "why not"}`, Input: inputTokens, Output: outputTokens}
		}
		return nil
	})
	out, _, err := run(t, p.config(t, 6), t.TempDir())
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	k := out[0].Result.Replay.Controls
	if len(k.Failed) != 1 || k.Unscored != 0 || *k.FalsePositiveRate != 1.0/14 || wording.Controls(k) == "" {
		t.Errorf("controls: %+v, %q", k, wording.Controls(k))
	}
}
