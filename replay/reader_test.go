package replay_test

import (
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/replay"
)

// TestReaderFails: a model that rejects every question is blamed itself.
func TestReaderFails(t *testing.T) {
	p := &provider{url: llmtest.NewServer(t, func(c llmtest.Call) llmtest.Reply {
		if strings.Contains(string(c.Body), "candidate_answer") {
			return llmtest.Reply{Text: answer(c), Input: inputTokens, Output: outputTokens}
		}
		return llmtest.Reply{Status: http.StatusBadRequest, Body: `{"error": {"message": "too long"}}`}
	}).URL}
	out, _, err := run(t, p.config(t, benchmark(t, 2), 20*llm.Dollar), t.TempDir())
	if err != nil || !replay.Finished(out) {
		t.Fatalf("%v, %+v", err, out)
	}
	g := out[0].Result.Gate
	if g.Reason != result.ReasonLost || g.Verdict != result.Invalid || !strings.Contains(g.Sentence, modelName) || strings.Contains(g.Sentence, "daemon") {
		t.Errorf("got %+v", g)
	}
}
