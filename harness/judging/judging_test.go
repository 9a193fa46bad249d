package judging_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/judging"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// babbler is a model with the price of gpt-4o that never gives a usable verdict, and uses all the
// tokens that a request allows.
type babbler struct{ calls *int }

func (babbler) Name() string { return llm.ProviderOpenAI }

func (b babbler) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	*b.calls++
	in := 0
	for _, m := range r.Messages {
		in += len(m.Content)
	}
	return llm.Response{
		Text: strings.Repeat("x ", r.MaxTokens), Model: r.Model, Attempts: 1,
		Usage: llm.Usage{InputTokens: in, OutputTokens: r.MaxTokens},
	}, nil
}

func newPlan(tb testing.TB, c judging.Config) (*judging.Plan, *int) {
	tb.Helper()
	calls := new(int)
	c.Provider, c.Prices = babbler{calls}, llm.DefaultPrices()
	if c.Model == "" {
		c.Model = "gpt-4o"
	}
	if c.Prompts.Name == "" {
		c.Prompts = scorer.DefaultPrompts()
	}
	p, err := judging.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return p, calls
}

var item = scorer.Item{ID: "q1", Question: "What colour?", Reference: "Blue", Answer: "It is blue."}

// paying returns calls of an account with a cap, nil for none.
func paying(limit *llm.USD) judging.Client { return judging.Client{Account: llm.NewAccount(limit)} }

func score(t *testing.T, p *judging.Plan, limit *llm.USD) (scorer.Verdict, error) {
	t.Helper()
	sc, err := p.Headline(paying(limit))
	if err != nil {
		t.Fatal(err)
	}
	return sc.Score(t.Context(), item)
}

// TestCap: a judge costs no more than its account admits, to the last nano-dollar.
func TestCap(t *testing.T) {
	free, _ := newPlan(t, judging.Config{})
	whole, err := score(t, free, nil)
	if err != nil || whole.Cost == 0 {
		t.Fatalf("got %+v, %v", whole, err)
	}
	p, calls := newPlan(t, judging.Config{Capped: true})
	if v, err := score(t, p, new(free.Worst(item))); err != nil || v.Cost != whole.Cost {
		t.Errorf("got %+v, %v", v, err)
	}
	*calls = 0
	for _, limit := range []llm.USD{0, whole.Cost / 10} {
		if _, err := score(t, p, &limit); !errors.Is(err, llm.ErrBudgetExceeded) {
			t.Errorf("a cap of %s: got %v", limit, err)
		}
	}
	if *calls != 0 {
		t.Errorf("%d calls beyond the cap", *calls)
	}
}

// TestWorst: no judgement costs more than its worst case, whatever its texts.
func TestWorst(t *testing.T) {
	p, _ := newPlan(t, judging.Config{})
	sc, err := p.Headline(paying(nil))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		item := scorer.Item{
			ID: "q", Question: rapid.String().Draw(rt, "question"), Reference: "Blue",
			Answer: strings.Repeat(rapid.String().Draw(rt, "answer"), rapid.IntRange(0, 2000).Draw(rt, "times")),
		}
		v, err := sc.Score(t.Context(), item)
		if err != nil || v.Attempts != 2 || v.Cost == 0 || v.Cost > p.Worst(item) {
			rt.Fatalf("cost %s in %d attempts, worst case %s, %v", v.Cost, v.Attempts, p.Worst(item), err)
		}
		if estimate := p.Estimate(item); estimate == 0 || estimate > p.Worst(item)+p.Worst(scorer.Item{}) {
			rt.Fatalf("estimate %s, worst case %s", estimate, p.Worst(item))
		}
	})
}

// TestEstimate: an estimate is for an answer of ordinary length, and grows with the question.
func TestEstimate(t *testing.T) {
	p, _ := newPlan(t, judging.Config{})
	long := item
	long.Answer = strings.Repeat("blue ", 1000)
	if got, want := p.Estimate(long), p.Estimate(item); got != want {
		t.Errorf("got %s for a long answer, %s for a short one", got, want)
	}
	long.Question = long.Answer
	if got, want := p.Estimate(long), p.Estimate(item); got <= want {
		t.Errorf("got %s for a long question, %s for a short one", got, want)
	}
}

func TestUnpriced(t *testing.T) {
	p, _ := newPlan(t, judging.Config{Model: "house-model"})
	if p.UnpricedModel() != "house-model" || p.Worst(item) != 0 || p.Estimate(item) != 0 {
		t.Errorf("got %q, %s, %s", p.UnpricedModel(), p.Worst(item), p.Estimate(item))
	}
	if v, err := score(t, p, nil); err != nil || v.Attempts != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
	if p, _ := newPlan(t, judging.Config{}); p.UnpricedModel() != "" {
		t.Errorf("got %q", p.UnpricedModel())
	}
	_, err := judging.New(judging.Config{
		Provider: babbler{new(int)}, Model: "house-model", Prompts: scorer.DefaultPrompts(), Capped: true,
	})
	if err == nil || !strings.Contains(err.Error(), "house-model") || !strings.Contains(err.Error(), "--price model=in/out") {
		t.Errorf("got %v", err)
	}
}

func TestRejected(t *testing.T) {
	good := judging.Config{Provider: llm.NewFake(), Model: llm.FakeModel, Prompts: scorer.DefaultPrompts()}
	for name, change := range map[string]func(*judging.Config){
		"provider": func(c *judging.Config) { c.Provider = nil },
		"model":    func(c *judging.Config) { c.Model = "" },
		"prompts":  func(c *judging.Config) { c.Prompts.System = "" },
	} {
		c := good
		change(&c)
		if p, err := judging.New(c); err == nil || p != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, %v", name, p, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	p, _ := newPlan(t, judging.Config{BaseURL: "http://h/v1"})
	id := p.Identity()
	if id.Provider != "openai" || id.Model != "gpt-4o" || id.BaseURL != "http://h/v1" || id.PromptVersion != "judge-1" ||
		id.PromptSHA256 != scorer.DefaultPrompts().SHA256() || id.Temperature == nil || *id.Temperature != 0 {
		t.Errorf("got %+v", id)
	}
	prompts := scorer.DefaultPrompts()
	prompts.Name, prompts.System = "temporal-1", "Grade the date."
	p, _ = newPlan(t, judging.Config{Model: "gpt-5-mini", Prompts: prompts})
	id = p.Identity()
	if id.PromptVersion != "temporal-1" || id.PromptSHA256 != prompts.SHA256() || id.Temperature != nil {
		t.Errorf("got %+v", id)
	}
}

// TestByType: estimates, worst cases and judgements are those of the prompts of the question's
// type, and the identity has the digest over all of them.
func TestByType(t *testing.T) {
	set := scorer.ReplayPrompts()
	long := set[scorer.TypePreference]
	long.System += strings.Repeat(" Be strict.", 500)
	set[scorer.TypePreference] = long
	p, calls := newPlan(t, judging.Config{ByType: set})
	standard, preference := item, item
	preference.Type = scorer.TypePreference
	if p.Estimate(preference) <= p.Estimate(standard) || p.Worst(preference) <= p.Worst(standard) {
		t.Errorf("estimates %s and %s, worst cases %s and %s",
			p.Estimate(standard), p.Estimate(preference), p.Worst(standard), p.Worst(preference))
	}
	sc, err := p.Headline(paying(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []scorer.Item{standard, preference} {
		if v, err := sc.Score(t.Context(), in); err != nil || v.Cost == 0 || v.Cost > p.Worst(in) {
			t.Errorf("got %+v, %v, worst case %s", v, err, p.Worst(in))
		}
	}
	if *calls != 4 {
		t.Errorf("%d calls", *calls)
	}
	if id := p.Identity(); id.PromptVersion != "replay-1" || id.PromptSHA256 != set.SHA256() {
		t.Errorf("got %+v", id)
	}
	delete(set, scorer.TypeTemporal)
	if _, err := judging.New(judging.Config{Provider: llm.NewFake(), Model: llm.FakeModel, ByType: set}); err == nil || !strings.Contains(err.Error(), "temporal") {
		t.Errorf("a type without prompts: %v", err)
	}
}

func ExamplePlan() {
	p, err := judging.New(judging.Config{
		Provider: llm.NewFake(), Model: llm.FakeModel, Prompts: scorer.DefaultPrompts(), Capped: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	sc, err := p.Headline(judging.Client{Account: llm.NewAccount(new(llm.Dollar))})
	if err != nil {
		fmt.Println(err)
		return
	}
	item := scorer.Item{ID: "q1", Question: "What colour?", Reference: "blue", Answer: "It is blue."}
	v, err := sc.Score(context.Background(), item)
	fmt.Println(v.Score, v.Cost, p.Worst(item), err)
	fmt.Println(p.Identity().Provider, p.Identity().PromptVersion)
	// Output:
	// 1 $0.00 $0.00 <nil>
	// fake judge-1
}
