package plan

import (
	"strings"
	"testing"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/scorer"
)

// TestJudgeEndpoint: every judge of a run, also one that a recipe names, is asked at the judge's
// endpoint with the judge's key, and results record that endpoint.
func TestJudgeEndpoint(t *testing.T) {
	verdict := llmtest.Reply{Text: `{"score": 1, "reason": "r"}`, Input: 1, Output: 1}
	answer := func(llmtest.Call) llmtest.Reply { return verdict }
	reader, judges := llmtest.NewServer(t, answer), llmtest.NewServer(t, answer)
	env := map[string]string{
		"OPENAI_BASE_URL": reader.URL, "OPENAI_API_KEY": "reader-key",
		llm.JudgeURLVariable: judges.URL, llm.JudgeKeyVariable: "judge-key",
	}
	kind, err := scorer.Find("judge")
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := judging.Recipes([]string{"strict", "generous"})
	if err != nil {
		t.Fatal(err)
	}
	recipes[1].Model = "openai/other"
	item := scorer.Item{ID: "a", Question: "What colour?", Reference: "green", Answer: "It is green."}
	for name, panel := range map[string][]judging.Recipe{"one judge": nil, "panel": recipes} {
		p, err := Models{Judge: "openai/m", Panel: panel}.OpenJudge(func(name string) string { return env[name] }, kind)
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Open(judging.Client{Account: llm.NewAccount(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Score(t.Context(), item); err != nil || !v.Passed() {
			t.Errorf("%s: got %+v, %v", name, v, err)
		}
		if got := p.Identity().BaseURL; got != judges.URL {
			t.Errorf("%s: recorded %q, want %q", name, got, judges.URL)
		}
		for _, recipe := range p.Panel() {
			if got := recipe.Judge.BaseURL; got != judges.URL {
				t.Errorf("%s: recorded %q for %s, want %q", name, got, recipe.Name, judges.URL)
			}
		}
	}
	if n := len(reader.Calls()); n > 0 {
		t.Errorf("the reader's endpoint has got %d requests", n)
	}
	calls := judges.Calls()
	if len(calls) != 3 {
		t.Errorf("%d requests", len(calls))
	}
	for _, c := range calls {
		if got := c.Header.Get("Authorization"); got != "Bearer judge-key" {
			t.Errorf("model %s got %q", c.Model, got)
		}
	}
}

// TestJudgeEndpointErrors: the key of the reader is not sent to the judge's endpoint, so the error
// says which variable has the judge's. A password in the URL is refused and not repeated.
func TestJudgeEndpointErrors(t *testing.T) {
	kind, err := scorer.Find("judge")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{llm.OpenAIBaseURL: llm.JudgeKeyVariable, "https://me:hidden-word@h/v1": "base URL"} {
		env := map[string]string{"OPENAI_API_KEY": "reader-key", llm.JudgeURLVariable: url}
		_, err := Models{Judge: "openai/m"}.OpenJudge(func(name string) string { return env[name] }, kind)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden-word") {
			t.Errorf("%s: got %v, want %q", url, err, want)
		}
	}
}
