package judging

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// TestOpenCheckSameJudge: the judge of a result is asked in the same way here, or its errors may
// differ.
func TestOpenCheckSameJudge(t *testing.T) {
	prompts := scorer.ReplayPrompts()
	for name, tt := range map[string]struct {
		change func(*result.JudgeModel)
		want   string
	}{
		"same":           {func(*result.JudgeModel) {}, ""},
		"model":          {func(j *result.JudgeModel) { j.Model = "other" }, "its model: other, here: m"},
		"temperature":    {func(j *result.JudgeModel) { j.Temperature = new(0.7) }, "its temperature: 0.7, here: 0"},
		"no temperature": {func(j *result.JudgeModel) { j.Temperature = nil }, "its temperature: none, here: 0"},
		"options":        {func(j *result.JudgeModel) { j.Options = "system=none" }, "its options: system=none, here: none"},
	} {
		j := result.JudgeModel{
			Provider: llm.ProviderOpenAI, Model: "m", BaseURL: "http://h/v1", PromptVersion: prompts.Name(), PromptSHA256: prompts.SHA256(),
			Temperature: new(0.0),
		}
		tt.change(&j)
		f := resulttest.New("x", time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC), "+-")
		f.Identity.Scorer, f.Identity.Judge = "judge", &j
		env := func(name string) string { return map[string]string{"OPENAI_BASE_URL": "http://h/v1"}[name] }
		_, of, err := OpenCheck(CheckSpec{Judge: "m", Env: env, Result: f.Save(t, t.TempDir(), "x.json")})
		if of == nil || (err == nil) != (tt.want == "") || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
}
