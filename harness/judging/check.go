package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/resultfile"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

// Check is the outcome of checking a judge.
type Check struct {
	Judge result.JudgeModel `json:"judge"`
	Accuracy
	// Spent is nil if the model's price is unknown.
	Spent *llm.USD `json:"spent_usd"`
	// Unpriced is the model if its price is unknown, so that its cost is missing.
	Unpriced string `json:"unpriced_model,omitempty"`
	// Result and Correction are for --result.
	Result     string      `json:"result,omitempty"`
	Correction *Correction `json:"correction,omitempty"`
}

// Misfit says why the corrected rate is clamped, if it is.
func (c *Check) Misfit() string {
	if c.Correction == nil || !c.Correction.Clamped {
		return ""
	}
	why := fmt.Sprintf("fewer answers of the run than it passes of wrong ones (%.3f)", 1-c.Specificity.Rate)
	if c.Correction.Corrected.Rate > 0 {
		why = fmt.Sprintf("more answers of the run than it passes of right ones (%.3f)", c.Sensitivity.Rate)
	}
	what, advice := "the labels", "; label answers of this run"
	if c.Correction.Least {
		what, advice = "the wrong answers", ""
	}
	return what + " and the run do not fit, the corrected rate is clamped: the judge passed " + why + advice
}

// checkConcurrency is the number of answers judged at a time.
const checkConcurrency = 8

// Check judges answers with labels. It returns an error if not all could be judged, for example
// because the cap was reached, or if none got a verdict.
func (p *Plan) Check(ctx context.Context, judge *scorer.Judge, labels []dataset.Label) (*Check, error) {
	items := make([]scorer.Item, len(labels))
	for i, l := range labels {
		items[i] = l.Item
	}
	verdicts, stopped := scorer.ScoreAll(ctx, judge, items, checkConcurrency)
	secrets := redact.New(p.config.Secrets...)
	verdicts, stopped = redact.Values(secrets, verdicts), secrets.Error(stopped)
	c := &Check{Judge: p.Identity(), Unpriced: p.UnpricedModel()}
	list := make([]LabelledVerdict, len(labels))
	spent := llm.USD(0)
	for i, l := range labels {
		list[i] = LabelledVerdict{ID: l.Item.ID, Right: l.Right, Verdict: verdicts[i]}
		spent = spent.Plus(verdicts[i].Cost)
	}
	cost := "an unknown amount"
	if c.Unpriced == "" {
		c.Spent, cost = &spent, spent.String()
	}
	c.Accuracy = Measure(list)
	switch {
	case stopped != nil:
		return nil, fmt.Errorf("stopped after %d of %s, which cost %s: %w",
			c.Labels-c.Unscored, figure.Count(c.Labels, "label"), cost, stopped)
	case c.Unscored == c.Labels:
		return nil, fmt.Errorf("the judge scored none of %s: %s", figure.Count(c.Labels, "answer"), c.Wrong[0].Reason)
	}
	return c, nil
}

// ForecastLabels returns the forecast cost of a check, and the number of right labels.
func (p *Plan) ForecastLabels(labels []dataset.Label) (f Forecast, right int) {
	for _, l := range labels {
		f.Add(p, l.Item)
	}
	return f, rightOf(labels)
}

func rightOf(labels []dataset.Label) (right int) {
	for _, l := range labels {
		if l.Right {
			right++
		}
	}
	return right
}

// CheckSpec says which judge to check.
type CheckSpec struct {
	// Judge is the model, [PROVIDER/]MODEL, and Env has its provider's variables.
	Judge string
	Env   func(string) string
	// Patience is as in llm.Config.
	Patience time.Duration
	// Prompts is a folder with prompts by question type. If empty, the prompts are as in a replay,
	// or as in a run if Result was judged with a run's prompts.
	Prompts string
	// Result is the result file whose pass rate to correct, empty for none.
	Result string
	// Config has the prices and the limits.
	Config Config
}

// OpenCheck returns the judge to check, and the result in s.Result or nil. It rejects a result
// scored by another judge or by none.
func OpenCheck(s CheckSpec) (plan *Plan, of *result.Result, err error) {
	ref, err := llm.ParseRef(s.Env, "judge", s.Judge)
	if err != nil {
		return nil, nil, err
	}
	c, config := s.Config, ref.JudgeConfig(s.Env)
	config.Patience = s.Patience
	c.Model, c.BaseURL, c.ByType = ref.Name, llm.RecordedURL(config), scorer.ReplayPrompts()
	if s.Prompts != "" {
		if c.ByType, err = scorer.LoadPrompts(s.Prompts); err != nil {
			return nil, nil, fmt.Errorf("--judge-prompts: %w", err)
		}
	}
	if s.Result != "" {
		if of, err = openJudged(s.Result); err != nil {
			return nil, nil, err
		}
		if s.Prompts == "" && of.Identity.Judge.PromptSHA256 == scorer.DefaultPrompts().SHA256() {
			c.Prompts, c.ByType = scorer.DefaultPrompts(), nil
		}
	}
	if c.Provider, err = llm.OpenJudge(s.Env, config); err != nil {
		return nil, nil, err
	}
	if plan, err = New(c); err != nil || of == nil {
		return plan, of, err
	}
	if err = plan.same(*of.Identity.Judge); err != nil {
		err = fmt.Errorf("--result %s: %w", s.Result, err)
	}
	return plan, of, err
}

// openJudged reads the result for --result. It rejects a result without a judge.
func openJudged(path string) (*result.Result, error) {
	res, err := openResult(path)
	if err != nil {
		return nil, fmt.Errorf("--result: %w", err)
	}
	if res.Identity.Judge == nil {
		return nil, fmt.Errorf("--result %s: its scorer is %s, not a judge, so there is nothing to correct", path, res.Identity.Scorer)
	}
	return res, nil
}

// openResult reads a result. Its Clustered is of the answers with a verdict.
func openResult(path string) (*result.Result, error) {
	r, err := resultfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	res, judged := r.Result(), r.Result()
	sum := aggregate.New(max(1, res.Identity.TopK))
	for rec, err := range r.Questions() {
		if err != nil {
			return nil, err
		}
		if rec.Outcome == result.Scored {
			sum.Add(rec)
		}
	}
	sum.Fill(&judged)
	res.Clustered = judged.Clustered
	return &res, nil
}

// same returns an error if a result's judge differs from the plan's.
func (p *Plan) same(was result.JudgeModel) error {
	is := p.Identity()
	var diff []error
	for _, d := range []struct{ what, was, is string }{
		{"provider", was.Provider, is.Provider},
		{"model", was.Model, is.Model},
		{"URL", was.BaseURL, is.BaseURL},
		{"prompts", promptsOf(was), promptsOf(is)},
		{"temperature", temperatureOf(was), temperatureOf(is)},
		{"options", cmp.Or(was.Options, "none"), cmp.Or(is.Options, "none")},
	} {
		if d.was != d.is {
			diff = append(diff, fmt.Errorf("  its %s: %s, here: %s", d.what, d.was, d.is))
		}
	}
	if len(diff) == 0 {
		return nil
	}
	return fmt.Errorf("it was scored by another judge, about whose errors these labels say nothing:\n%w", errors.Join(diff...))
}

func promptsOf(j result.JudgeModel) string {
	return fmt.Sprintf("%s %.8s…", j.PromptVersion, j.PromptSHA256)
}

func temperatureOf(j result.JudgeModel) string {
	if j.Temperature == nil {
		return "none"
	}
	return fmt.Sprint(*j.Temperature)
}
