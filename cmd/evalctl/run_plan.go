package main

import (
	"fmt"
	"time"

	"evalctl/harness"
	"evalctl/harness/launch"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// noCorpus is the value of --corpus that leaves the brain as it is.
const noCorpus = "none"

// plan is a run that has been checked and not begun.
type plan struct {
	started time.Time
	dir     string
	// endpoint is set for a daemon that runs already, else profile and self,
	// this program's own file, say how to start one.
	endpoint *harness.Endpoint
	profile  launch.Profile
	self     string

	dataset harness.Dataset
	probe   string // the first question, to see whether a brain answers
	corpus  *harness.Corpus
	judge   *harness.JudgeModel
	// unpriced is the judge's model when its price is not known.
	unpriced string
	// newScorer is given what a resumed run has spent, which counts against
	// its cap.
	newScorer func(spent llm.USD) (scorer.Scorer, error)
	// likely is what judging will cost if answers are of ordinary length.
	likely llm.USD
}

// plan checks everything that needs no daemon: bad input is refused before
// work or money is spent.
func (c *runCmd) plan(p *process) (pl *plan, err error) {
	pl = &plan{started: time.Now().UTC()}
	pl.dir = c.resultDir(pl.started)
	if err := c.planDaemon(p, pl); err != nil {
		return nil, err
	}
	if err := c.checkReader(p); err != nil {
		return nil, err
	}
	pl.newScorer = func(llm.USD) (scorer.Scorer, error) { return scorer.Exact{}, nil }
	forecast := func(scorer.Item) {}
	if c.Scorer == "judge" {
		if forecast, err = c.planJudge(p, pl); err != nil {
			return nil, err
		}
	}
	sc, err := pl.newScorer(0)
	if err != nil {
		return nil, err
	}
	n := 0
	check := func(q harness.Question) error {
		if n++; n == 1 {
			pl.probe = q.Question
		}
		if c.Limit == nil || n <= *c.Limit {
			forecast(q.Item())
		}
		return sc.Check(q.Item())
	}
	if pl.dataset, err = harness.Survey(c.Dataset, c.Limit, check); err != nil {
		return nil, err
	}
	return pl, c.planCorpus(pl)
}

func (c *runCmd) planCorpus(pl *plan) error {
	path := c.Corpus
	if path == "" {
		path = harness.CorpusFor(c.Dataset)
	}
	if path == "" || path == noCorpus {
		return nil
	}
	corpus, err := harness.LoadCorpus(path)
	if err != nil {
		return err
	}
	pl.corpus = &corpus
	return nil
}

func (c *runCmd) llmConfig(p *process, model string) llm.Config {
	return llm.Config{
		Provider: c.LLMProvider, Model: model, BaseURL: p.env("OPENAI_BASE_URL"),
		APIKey: p.env("OPENAI_API_KEY"), OllamaHost: p.env("OLLAMA_HOST"),
	}
}

// checkReader refuses a reader that our own daemon could not open; other
// daemons read their environment as they please.
func (c *runCmd) checkReader(p *process) error {
	if c.LLMProvider == "" {
		return nil
	}
	if !known(c.LLMProvider) {
		return fmt.Errorf("SVC_LLM_PROVIDER %q: must be openai, ollama or fake", c.LLMProvider)
	}
	if !c.ownDaemon(p) || c.scenario == harness.SearchOnly {
		return nil
	}
	if _, err := llm.Open(c.llmConfig(p, c.LLMModel)); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	return nil
}
