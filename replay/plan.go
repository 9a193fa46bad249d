package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/sample"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Plan is a checked replay that has not begun.
type Plan struct {
	Config
	// Drawn is the sample, and Questions are its questions in benchmark order.
	Drawn     result.Sample
	Questions []source.Question
	// Haystacks are the haystacks of the questions.
	Haystacks []source.HaystackInfo

	byID   map[string]*source.Question
	reader llm.Provider // nil without one
	judge  llm.Provider // nil without one
	models []llm.Config // that read and judge: provider and name
	// judgePlan prices verdicts. It sends no request.
	judgePlan *judging.Plan
	// actors answer and pricers price the answers, by arm. They send no request.
	actors     map[string]*actor.Actor
	pricers    map[string]pricer
	keyWarning func() (result.Warning, error) // keyInMemory, once
}

// pricer forecasts the cost of answering a question about a haystack.
type pricer interface {
	Estimate(q source.Question, about source.HaystackInfo) actor.Forecast
}

// newPlan checks a replay: first the questions and arms, then the models. It makes no request and
// starts nothing.
func newPlan(c Config) (*Plan, error) {
	p := &Plan{
		Config: c, byID: map[string]*source.Question{}, actors: map[string]*actor.Actor{},
		pricers: map[string]pricer{},
	}
	p.keyWarning = sync.OnceValues(p.keyInMemory)
	p.Arms = slices.Clone(c.Arms)
	for i := range p.Arms {
		a := &p.Arms[i]
		a.Mode, a.Dialect = cmp.Or(a.Mode, c.Mode), cmp.Or(a.Dialect, c.Dialect)
	}
	for _, step := range []func() error{
		p.checkArms, p.checkTopK, p.draw, p.checkHaystacks, p.checkCluster, p.checkFloors, p.checkAlone, p.checkModels,
		p.openReader, p.openJudge, p.checkQuestions, p.checkActors, p.checkMoney,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// draw draws the sample.
func (p *Plan) draw() error {
	items := make([]sample.Item, len(p.Benchmark.Questions))
	for i, q := range p.Benchmark.Questions {
		items[i] = sample.Item{ID: q.ID, Stratum: q.Type}
	}
	drawn, ids, err := sample.Draw(items, p.Sample)
	if err != nil {
		return err
	}
	p.Drawn = drawn
	chosen := map[string]bool{}
	for _, id := range ids {
		chosen[id] = true
	}
	needed := map[string]bool{}
	for _, q := range p.Benchmark.Questions {
		if chosen[q.ID] {
			p.Questions = append(p.Questions, q)
			needed[q.Haystack] = true
		}
	}
	for i := range p.Questions {
		p.byID[p.Questions[i].ID] = &p.Questions[i]
	}
	for _, h := range p.Benchmark.Infos() {
		if needed[h.ID] {
			p.Haystacks = append(p.Haystacks, h)
		}
	}
	return nil
}

// openReader opens the model that answers.
func (p *Plan) openReader() (err error) {
	if p.Reader == nil {
		return nil
	}
	if p.reader, err = llm.Open(*p.Reader); err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	p.models = append(p.models, llm.Config{Provider: p.reader.Name(), Model: p.Reader.Model})
	return nil
}

// Close closes the benchmark and External.
func (p *Plan) Close() error {
	err := p.Benchmark.Close()
	if p.External != nil {
		err = errors.Join(err, p.External.Close())
	}
	return err
}

// daemonScenario returns how questions are asked.
func (p *Plan) daemonScenario() (target.Scenario, error) {
	if p.Style == actor.Full {
		return target.ScenarioOf(result.AskBasic)
	}
	return target.ScenarioOf(result.SearchOnly)
}

// baselines reports whether any arm is a baseline.
func (p *Plan) baselines() bool {
	return slices.ContainsFunc(p.Arms, func(a Arm) bool { return !a.hasDaemon() })
}

// dataset returns the questions as asked of an arm. For a baseline they have no gold, because its
// retrieval cannot be measured.
func (p *Plan) dataset(a Arm, asked ...source.Question) (dataset.Dataset, error) {
	questions := make([]dataset.Question, len(asked))
	for i, q := range asked {
		questions[i] = q.Dataset()
		if !a.hasDaemon() {
			questions[i].ExpectedPaths, questions[i].ExpectedGrades, questions[i].ExpectedEvidence = nil, nil, nil
		}
	}
	return dataset.FromQuestions(p.Benchmark.Path, p.Benchmark.SHA256, questions)
}

// sharedBrain is the brain of the pooled setting.
const sharedBrain = "replay"

// daemons returns the number of arms with a daemon.
func (p *Plan) daemons() int {
	n := 0
	for _, a := range p.Arms {
		if a.hasDaemon() {
			n++
		}
	}
	return n
}

// actorConfig returns how an arm answers. Without a target, the actor can only price answers.
func (p *Plan) actorConfig(
	a Arm, reader llm.Provider, t *target.Target,
	documents func(dataset.Question, result.Chunk, scorer.Ranking) []string,
) actor.Config {
	c := actor.Config{
		Style: p.style(a), Target: t, Prices: p.Prices, TopK: p.TopK, QuestionDate: p.QuestionDate,
		Benchmark: p.Benchmark, Documents: documents, ContextTokens: p.ContextTokens,
	}
	if c.Style != actor.Full && reader != nil {
		c.Reader, c.Model, c.BaseURL = reader, p.Reader.Model, llm.RecordedURL(*p.Reader)
	}
	if t == nil && a.hasDaemon() {
		c.Target = &target.Target{Mode: a.Mode, Dialect: a.Dialect}
	}
	return c
}

// clusterTag returns the requested cluster tag, else the one in the questions.
func (p *Plan) clusterTag() string {
	if p.Cluster != "" {
		return p.Cluster
	}
	var f result.ClusterFinder
	for i := range p.Questions {
		q := p.Questions[i].Dataset()
		f.Add(q.Tags, q.Brain)
	}
	return f.Tag()
}

// settings returns the settings of an arm's run.
func (p *Plan) settings(a Arm) result.Settings {
	s := p.Gate
	s.DaemonEnv, s.ClusterTag = a.DaemonEnv, p.clusterTag()
	s.Concurrency, s.TimeoutSeconds = p.Concurrency, p.Timeout.Seconds()
	return s
}
