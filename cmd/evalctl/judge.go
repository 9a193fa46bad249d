package main

import (
	"context"
	"errors"
	"fmt"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// judgeCmd has the commands about judges.
type judgeCmd struct {
	Check judgeCheckCmd `cmd:"" help:"Measure how often a judge is right, on answers with labels."`
}

// judgeCheckCmd has the flags of evalctl judge check.
type judgeCheckCmd struct {
	Labels       string `required:"" placeholder:"FILE" help:"JSONL file of answers with labels."`
	Judge        string `required:"" env:"SVC_EVAL_JUDGE_MODEL" placeholder:"[PROVIDER/]MODEL" help:"Model that judges. The provider is openai, ollama or fake; default: SVC_LLM_PROVIDER, else openai."`
	JudgePrompts string `name:"judge-prompts" placeholder:"DIR" help:"Folder with instructions of your own: TYPE.txt for each type of question to replace."`
	Result       string `placeholder:"FILE" help:"Result file whose pass rate is corrected. It must be by the same judge with the same prompts."`
	JSON         bool   `name:"json" help:"Print the figures as one JSON object."`
	minimumFlags
	moneyFlags
}

func (judgeCheckCmd) Help() string {
	return `Each line of the labels is an object with id, question, reference_answer, answer, and label, which
is true or false, or "correct" or "incorrect". It may have type (standard, temporal,
knowledge-update, preference or abstention, by which the prompt is selected) and question_date.
Label the answers without knowing the judge's verdicts, and take them from the runs to be corrected.

The prompts are those of evalctl replay, or those of evalctl run if --result is a file of it. The key
and the URL of the judge are OPENAI_API_KEY and OPENAI_BASE_URL, or SVC_EVAL_JUDGE_API_KEY and
SVC_EVAL_JUDGE_BASE_URL if the judge is of another provider than the reader.

--min-kappa and --min-specificity are compared with the figures themselves, not with their
intervals. The exit code is 1 if a figure is below, and 5 if it would be below only with the
unjudged answers counted as misjudged.

Examples:

  evalctl judge check --labels labels.jsonl --judge gpt-4o --max-cost-usd 1
  evalctl judge check --labels labels.jsonl --judge gpt-4o --result results/2026-01-31/go.replay.json
`
}

// Validate checks what the tags of the flags cannot express. kong calls it.
func (c *judgeCheckCmd) Validate() error { return errors.Join(c.validateMinimum(), c.validateMoney()) }

// judgeConcurrency is the number of answers that are judged at a time.
const judgeConcurrency = 8

// Run judges the answers. It checks all that needs no money first.
func (c *judgeCheckCmd) Run(ctx context.Context, p *process) error {
	plan, of, err := c.plan(p)
	if err != nil {
		return usageError{err}
	}
	judge, err := plan.NewScorer(0)
	if err != nil {
		return usageError{err}
	}
	labels, err := dataset.ReadLabels(c.Labels, judge.Check)
	if err != nil {
		return usageError{err}
	}
	if err := c.canShow(labels); err != nil {
		return usageError{err}
	}
	t := newTerminal(p, c.JSON && plan.Free())
	printLabels(t, c, plan, labels)
	items := make([]scorer.Item, len(labels))
	for i, l := range labels {
		items[i] = l.Item
	}
	verdicts, err := scorer.ScoreAll(ctx, judge, items, judgeConcurrency)
	checked := newJudgeCheck(plan, labels, verdicts)
	if err != nil {
		return stoppedCheck(checked, err)
	}
	if checked.Unscored == checked.Labels {
		return fmt.Errorf("the judge scored none of %s: %s", count(checked.Labels, "answer"), checked.Wrong[0].Reason)
	}
	if of != nil {
		correction := checked.Correct(of.Counts)
		checked.Result, checked.Correction = c.Result, &correction
	}
	if err := writeCheck(p.stdout, checked, c.JSON); err != nil {
		return err
	}
	return c.reached(&checked.Accuracy)
}

// plan returns the judge, and the result of --result or nil.
func (c *judgeCheckCmd) plan(p *process) (*judging.Plan, *result.Result, error) {
	ref, err := llm.ParseRef(p.env, "judge", c.Judge)
	if err != nil {
		return nil, nil, err
	}
	config := judging.Config{
		Model: ref.Name, BaseURL: llm.RecordedURL(ref.JudgeConfig(p.env)), Prices: c.prices, Cap: c.limit,
		MaxUnusable: c.MaxUnusable, PricesDate: c.pricesDate,
		ByType: scorer.ReplayPrompts(),
	}
	if c.JudgePrompts != "" {
		if config.ByType, err = scorer.LoadPrompts(c.JudgePrompts); err != nil {
			return nil, nil, fmt.Errorf("--judge-prompts: %w", err)
		}
	}
	of, err := c.openResult()
	if err != nil {
		return nil, nil, err
	}
	if of != nil && c.JudgePrompts == "" && of.Identity.Judge.PromptSHA256 == scorer.DefaultPrompts().SHA256() {
		config.Prompts, config.ByType = scorer.DefaultPrompts(), nil
	}
	if config.Provider, err = ref.OpenJudge(p.env); err != nil {
		return nil, nil, err
	}
	plan, err := judging.New(config)
	if err != nil {
		return nil, nil, err
	}
	if of != nil {
		err = sameJudge(*of.Identity.Judge, plan.Identity())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("--result %s: %w", c.Result, err)
	}
	return plan, of, nil
}

// openResult reads the result of --result, nil without one.
func (c *judgeCheckCmd) openResult() (*result.Result, error) {
	if c.Result == "" {
		return nil, nil
	}
	r, err := result.Open(c.Result)
	if err != nil {
		return nil, fmt.Errorf("--result: %w", err)
	}
	res := r.Result()
	if err := r.Close(); err != nil {
		return nil, fmt.Errorf("--result: %w", err)
	}
	if res.Identity.Judge == nil {
		return nil, fmt.Errorf("--result %s: its scorer is %s, and no judge: there is nothing to correct",
			c.Result, res.Identity.Scorer)
	}
	return &res, nil
}

// sameJudge returns an error if the judge of a result is not the one that is checked.
func sameJudge(was, is result.JudgeModel) error {
	var diff []error
	for _, d := range []struct{ what, was, is string }{
		{"provider", was.Provider, is.Provider},
		{"model", was.Model, is.Model},
		{"URL", was.BaseURL, is.BaseURL},
		{"prompts", promptsOf(was), promptsOf(is)},
	} {
		if d.was != d.is {
			diff = append(diff, fmt.Errorf("  its %s: %s, here: %s", d.what, d.was, d.is))
		}
	}
	if len(diff) == 0 {
		return nil
	}
	return fmt.Errorf("it was scored by another judge, whose errors these labels do not tell:\n%w", errors.Join(diff...))
}

func promptsOf(j result.JudgeModel) string {
	return fmt.Sprintf("%s %.8s…", j.PromptVersion, j.PromptSHA256)
}
