package judging_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
	"evalctl/scorer"
)

// recipe writes a recipe file and returns its path.
func recipe(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const vendor = `
system: Grade.
user: |
  Q: {{question}} ({{ question_date }})
  Gold: {{reference_answer}}
  Said: {{candidate_answer}}
model: openai/gpt-4o
temperature: 0.7
reply: {key: label, right: [CORRECT], wrong: [WRONG]}
`

// TestRecipes reads built-in recipes and files. What an answer says is never a placeholder.
func TestRecipes(t *testing.T) {
	list, err := judging.Recipes([]string{"strict", recipe(t, "vendor.yaml", vendor), recipe(t, "x.yml", "name: warm\nprompt: generous\ntemperature: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	v := list[1]
	if list[0].Name != "strict" || v.Name != "vendor" || v.Model != "openai/gpt-4o" || v.Temperature != 0.7 || list[2].Name != "warm" || list[2].Temperature != 1 {
		t.Errorf("%+v", list)
	}
	got := v.Prompts[scorer.TypeAbstention].User(scorer.Item{Question: "Q?", Reference: "{{candidate_answer}}", Answer: "{{question}} $1"})
	if want := "Q: Q? ()\nGold: {{candidate_answer}}\nSaid: {{question}} $1\n"; got != want {
		t.Errorf("the message is %q, want %q", got, want)
	}
	again, err := judging.Recipes([]string{"strict", recipe(t, "vendor.yaml", strings.Replace(vendor, "Said", "Says", 1))})
	if err != nil || again[1].Prompts.SHA256() == v.Prompts.SHA256() {
		t.Errorf("another message has the same digest: %v", err)
	}
}

// TestRecipeOptions: a recipe says how its model is asked, and the flag says it for those that do not.
func TestRecipeOptions(t *testing.T) {
	const asked = "name: local\nprompt: strict\nmax_tokens: 900\ntemperature: none\nresponse_format: none\nsystem_role: none\n"
	list, err := judging.Recipes([]string{"strict", recipe(t, "local.yaml", asked)})
	if err != nil {
		t.Fatal(err)
	}
	srv := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: `{"score": 1, "reason": "r"}`} })
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := judging.NewPanel(judging.Config{Provider: p, Model: "m", Options: llm.Options{MaxTokens: 5, Limit: llm.LimitCompletion}}, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	panel, err := plan.Open(judging.Client{Account: llm.NewAccount(nil)})
	if err != nil {
		t.Fatal(err)
	}
	v, err := panel.Score(t.Context(), scorer.Item{ID: "q", Question: "Q?", Reference: "r", Answer: "a"})
	if err != nil || !v.Scored {
		t.Fatal(v, err)
	}
	calls := srv.Calls()
	for i, has := range []string{`"max_completion_tokens":5,`, `"max_tokens":900,`} {
		body := string(calls[i].Body)
		plain := strings.Contains(body, "response_format") || strings.Contains(body, "temperature") || strings.Contains(body, `"system"`)
		if !strings.Contains(body, has) || plain != (i == 0) {
			t.Errorf("request %d: %s", i+1, body)
		}
	}
	if got := plan.Panel()[1].Judge; got.Options != "max_tokens=900,temperature=none,response_format=none,system=none" || got.Temperature != nil {
		t.Errorf("recorded as %+v", got)
	}
	if v.Recipes[1].Asked != "max_tokens=900 (said), temperature=none (said), response_format=none (said), system=none (said)" {
		t.Errorf("asked %q", v.Recipes[1].Asked)
	}
}

// TestRecipesRefused has panels that are refused, with what the message must say.
func TestRecipesRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"placeholder", strings.Replace(vendor, "{{question}}", "{{asked}}", 1), "{{asked}}"},
		{"no answer", strings.Replace(vendor, "{{candidate_answer}}", "", 1), "{{candidate_answer}}"},
		{"temperature", strings.Replace(vendor, "0.7", "3", 1), "from 0 to 2"},
		{"unknown key", vendor + "modle: x\n", "modle"},
		{"both", vendor + "prompt: strict\n", "excludes"},
		{"neither", "system: s\n", "user and reply"},
		{"empty", "", "is empty"},
		{"name", "name: Big Name\nprompt: strict\n", `"Big Name"`},
		{"built-in", "prompt: lax\n", "no recipe is called"},
	} {
		path := recipe(t, "r.yaml", tt.text)
		if _, err := judging.Recipes([]string{"strict", path}); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	for _, list := range [][]string{{"strict", "strict"}, {"lax", "strict"}, {"strict", "nowhere.yaml"}} {
		if _, err := judging.Recipes(list); err == nil {
			t.Errorf("%v is a panel", list)
		}
	}
}

// TestPanelCap has a panel share one cap: its judges together never spend more.
func TestPanelCap(t *testing.T) {
	calls := new(int)
	limit, err := llm.ParseUSD("0.02")
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := judging.Recipes([]string{"benchmark", "strict", recipe(t, "dear.yaml", "prompt: generous\nmodel: dear\ntemperature: 0.5\n")})
	if err != nil {
		t.Fatal(err)
	}
	first := judging.Config{Provider: babbler{calls}, Model: "gpt-4o-mini", Prices: llm.DefaultPrices(), Capped: true}
	p, err := judging.NewPanel(first, recipes, func(string) (judging.Config, error) {
		return judging.Config{Provider: babbler{calls}, Model: "gpt-4o"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	panel := p.Panel()
	if len(panel) != 3 || panel[0].Name != "benchmark" || panel[2].Judge.Model != "gpt-4o" || *panel[2].Judge.Temperature != 0.5 ||
		panel[0].SHA256 == panel[1].SHA256 {
		t.Errorf("%+v", panel)
	}
	one, err := judging.New(judging.Config{Provider: babbler{calls}, Model: "gpt-4o-mini", Prices: llm.DefaultPrices(), ByType: scorer.ReplayPrompts()})
	if err != nil {
		t.Fatal(err)
	}
	if p.Worst(item) <= one.Worst(item).Times(2) || p.Estimate(item) <= one.Estimate(item).Times(2) {
		t.Errorf("three judges cost %v at most, one %v", p.Worst(item), one.Worst(item))
	}
	sc, err := p.Open(paying(&limit))
	if err != nil {
		t.Fatal(err)
	}
	spent := llm.USD(0)
	for range 1000 {
		v, err := sc.Score(t.Context(), item)
		if spent = spent.Plus(v.Cost); err != nil {
			if !errors.Is(err, llm.ErrBudgetExceeded) {
				t.Fatal(err)
			}
			break
		}
	}
	if spent > limit || spent < limit/2 {
		t.Errorf("%v was spent of %v", spent, limit)
	}
}

// TestPanelCache judges twice with a cache: the second time, only the recipe that is new asks its
// model, and the verdicts are the same.
func TestPanelCache(t *testing.T) {
	var calls atomic.Int64
	stub := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
		calls.Add(1)
		return llmtest.Reply{Text: `{"score": 1, "reason": "r"}`, Input: 100, Output: 10}
	})
	config := llm.Config{Provider: llm.ProviderOpenAI, Model: "gpt-4o", BaseURL: stub.URL, APIKey: "k"}
	provider, err := llm.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	judged := func(names ...string) scorer.Verdict {
		t.Helper()
		cache, err := llm.OpenCache(dir, llm.CacheWrite, llm.DefaultCacheBytes)
		if err != nil {
			t.Fatal(err)
		}
		recipes, err := judging.Recipes(names)
		if err != nil {
			t.Fatal(err)
		}
		first := judging.Config{Provider: provider, Model: "gpt-4o", BaseURL: stub.URL, Prices: llm.DefaultPrices()}
		p, err := judging.NewPanel(first, recipes, nil)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := p.Open(judging.Client{Account: llm.NewAccount(nil), Cached: cache.Wrap})
		if err != nil {
			t.Fatal(err)
		}
		v, err := sc.Score(t.Context(), item)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := judged("benchmark", "strict")
	if calls.Load() != 2 || first.Cost == 0 || first.Cached {
		t.Errorf("%d calls: %+v", calls.Load(), first)
	}
	again := judged("strict", "benchmark")
	if calls.Load() != 2 || again.Cost != 0 || !again.Cached || again.Saved != first.Cost || !again.Passed() {
		t.Errorf("%d calls: %+v", calls.Load(), again)
	}
	more := judged("strict", "generous", "benchmark")
	if calls.Load() != 3 || more.Cached || more.Cost == 0 || more.Cost >= first.Cost || more.Saved != first.Cost {
		t.Errorf("%d calls: %+v", calls.Load(), more)
	}
}
