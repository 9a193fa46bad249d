package replay

import (
	"errors"
	"fmt"
	"slices"

	"evalctl/harness/compare"
	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/harness/result"
	"evalctl/internal/environ"
	"evalctl/internal/figure"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/ingest"
	"evalctl/scorer"
)

// checkArms checks that arms exist, have distinct names, and fit the settings.
func (p *Plan) checkArms() error {
	if len(p.Arms) == 0 {
		return errors.New("nothing to measure: give a target or a baseline")
	}
	seen := map[string]bool{}
	for _, a := range p.Arms {
		if seen[a.Name] {
			return fmt.Errorf("%s is given twice; give each target and each baseline once", a.Name)
		}
		seen[a.Name] = true
		if _, err := a.daemonID(); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if a.started() {
			if a.DaemonEnv == nil || slices.ContainsFunc(a.Session.Profile.Passed, func(name string) bool {
				return environ.LooksSecret(name) && !plan.Free(name) && !slices.Contains(a.DaemonEnv.Passed, name)
			}) {
				return fmt.Errorf("%s: the daemon could get credentials that no result records: set Arm.DaemonEnv, whose Passed "+
					"has all names in Session.Profile.Passed", a.Name)
			}
			if err := a.Session.Check(); err != nil {
				return fmt.Errorf("%s: %w", a.Name, err)
			}
		}
		if !a.hasDaemon() && p.Scorer.Needs == scorer.NeedGold {
			return fmt.Errorf("%s retrieves nothing that --scorer %s could score; use another scorer",
				a.Name, p.Scorer.Name)
		}
	}
	return nil
}

// CheckQueue returns an error for a target that queue workers cannot measure. The state of a
// mapping, such as its calls and the documents found by text, exists only in the process that asks.
func (p *Plan) CheckQueue() error {
	for _, a := range p.Arms {
		if a.hasDaemon() && a.Session.Mapped() {
			return fmt.Errorf("%s: a target with a mapping, such as an MCP server, cannot be measured by the workers of a queue: "+
				"leave out --queue, or give the target to a replay of its own", a.Name)
		}
	}
	return nil
}

// checkHaystacks returns an error if there is nothing to fill the brains with.
func (p *Plan) checkHaystacks() error {
	if p.Ingest == ingest.None || !slices.ContainsFunc(p.Arms, Arm.hasDaemon) {
		return nil
	}
	if p.Ingest == ingest.Replay && p.Benchmark.HasDocuments() {
		return fmt.Errorf("%s has documents and no sessions, which --ingest-mode replay sends; use bulk",
			p.Benchmark.Path)
	}
	for _, h := range p.Haystacks {
		if h.Sessions == 0 {
			return fmt.Errorf("%s has no documents for haystack %s; give them with --corpus, "+
				"or use --ingest-mode none with a daemon that has them", p.Benchmark.Path, h.ID)
		}
	}
	return nil
}

// checkTopK checks the number of passages.
func (p *Plan) checkTopK() error {
	scenario, err := p.daemonScenario()
	if err == nil && (p.TopK < 1 || p.TopK > scenario.MaxTopK) {
		err = fmt.Errorf("--top-k %d: must be from 1 to %d, the protocol's limit", p.TopK, scenario.MaxTopK)
	}
	return err
}

// checkFloors checks that every floor's tag occurs in the questions.
func (p *Plan) checkFloors() error {
	tags := map[string]int{}
	for _, q := range p.Questions {
		for _, tag := range q.Dataset().Tags {
			tags[tag]++
		}
	}
	if err := plan.CheckTagFloors(p.Gate.TagFloors, tags); err != nil {
		return fmt.Errorf("%s: %w", p.Benchmark.Path, err)
	}
	return nil
}

// checkModels checks that every step that needs a model has one.
func (p *Plan) checkModels() error {
	reads := p.Reader == nil && p.Scorer.Needs != scorer.NeedGold && (p.Style != actor.Full || p.baselines())
	judges := p.Judge == nil && p.needsJudge()
	switch {
	case reads && judges:
		return errors.New("the judge needs a model: give --judge MODEL, and --model MODEL for the answers")
	case reads:
		return errors.New("no model writes the answers: give --model MODEL, or use --scorer retrieval")
	case judges:
		return errors.New("the judge needs a model: give --judge MODEL, or use --scorer exact or retrieval")
	}
	return nil
}

// checkQuestions checks that every question can be asked and scored.
func (p *Plan) checkQuestions() error {
	scenario, err := p.daemonScenario()
	if err != nil {
		return err
	}
	sc, err := p.openScorer(judging.Client{Account: llm.NewAccount(p.Cap)})
	if err != nil {
		return err
	}
	withGold := 0
	for _, q := range p.Questions {
		d := q.Dataset()
		if err := scenario.Check(d); err != nil {
			return fmt.Errorf("%s: %w", p.Benchmark.Path, err)
		}
		switch err := sc.Check(d.Item()); {
		case err == nil:
			withGold++
		case !errors.Is(err, scorer.ErrNoGold):
			if e := q.Erratum; e != nil && len(q.Checks) < len(e.OriginalChecks) {
				err = fmt.Errorf("the errata correct the answer of question %q and so remove its checks: "+
					"exclude it there, or use another scorer than %s", q.ID, p.Scorer.Name)
			}
			return fmt.Errorf("%s: %w", p.Benchmark.Path, err)
		}
	}
	if withGold == 0 {
		return fmt.Errorf("%s: none of the %[3]d questions has what --scorer %[2]s needs; use another scorer", p.Benchmark.Path, p.Scorer.Name, len(p.Questions))
	}
	return nil
}

// checkActors creates the actors that price answers.
func (p *Plan) checkActors() error {
	for _, a := range p.Arms {
		act, err := actor.New(p.actorConfig(a, p.reader, nil, nil))
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		p.actors[a.Name], p.pricers[a.Name] = act, act
		if !p.answersItself(a) {
			continue
		}
		if p.pricers[a.Name], err = p.daemonAnswers(a); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

// checkMoney returns an error if the cap cannot be enforced or is too low for a single request.
func (p *Plan) checkMoney() error {
	if p.Cap == nil {
		return nil
	}
	for _, a := range p.Arms {
		if err := p.checkDaemonMoney(a); err != nil {
			return err
		}
	}
	if p.reader != nil {
		m, err := llm.NewMeter(p.reader, p.Prices, llm.NewBudget(*p.Cap))
		if err == nil {
			err = m.CheckModel(p.Reader.Model)
		}
		if err != nil {
			return fmt.Errorf("--model: %w", err)
		}
	}
	if p.Cache.Mode == llm.CacheOnly {
		return nil // nothing is sent
	}
	if worst, what := p.largestCall(); worst > *p.Cap {
		return fmt.Errorf("--max-cost-usd %s: one call of the %s may cost %s, so nothing could be asked; "+
			"raise the cap, or use a cheaper model", p.Cap.Exact(), what, worst)
	}
	return nil
}

// checkDaemonMoney returns an error if an arm's daemon could spend money beyond the cap.
func (p *Plan) checkDaemonMoney(a Arm) error {
	if a.started() {
		if err := a.Check(a.Name, p.Prices, p.Unmetered); err != nil {
			return err
		}
	} else if what := p.uncounted(a); what != "" && !p.Unmetered {
		return fmt.Errorf("the cap cannot be enforced: %s, which cannot be counted; let this command start it, "+
			"or accept that with --unmetered-daemon", what)
	}
	for _, m := range a.models() {
		if err := p.Prices.Check(m.Provider, m.Model); err != nil {
			return fmt.Errorf("models of the daemon of %s: %w", a.Name, err)
		}
	}
	return nil
}

// checkAlone checks the number of questions asked alone.
func (p *Plan) checkAlone() error {
	switch {
	case p.Alone < 0:
		return fmt.Errorf("--latency-alone %d: must be at least 1", p.Alone)
	case p.Alone > len(p.Questions):
		return fmt.Errorf("--latency-alone %d: the sample has %d questions", p.Alone, len(p.Questions))
	case p.Alone > 0 && p.daemons() == 0:
		return errors.New("--latency-alone asks daemons, and there is none; give --sdk")
	}
	return nil
}

// checkCluster returns an error if a question lacks the requested cluster tag, or if there are too
// few clusters to show a difference between arms.
func (p *Plan) checkCluster() error {
	if p.Cluster == "" || p.Cluster == result.NoClusters {
		return nil
	}
	clusters := map[string]bool{}
	for i := range p.Questions {
		q := p.Questions[i].Dataset()
		cluster, ok := result.ClusterOf(p.Cluster, q.Tags, q.Brain)
		if !ok {
			return fmt.Errorf("--cluster %s: question %q has no tag %s:…, which would name its cluster", p.Cluster, q.ID, p.Cluster)
		}
		clusters[cluster] = true
	}
	if n := len(clusters); n < compare.Testable && len(p.Arms) > 1 {
		return fmt.Errorf("--cluster %s: the questions are in %s, and with fewer than %d no difference can be shown",
			p.Cluster, figure.Count(n, "cluster"), compare.Testable)
	}
	return nil
}
