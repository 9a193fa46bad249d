// Package actor answers the questions of a replay: with a daemon's search and a reader shared by
// all daemons, with a daemon's own reader, or without a daemon as a baseline.
//
// An Actor is the target of a run. The styles differ in the notes that the reader gets:
//
//   - retrieve.go: the chunks that a daemon's search finds, or none, because the daemon reads
//   - baseline.go: the whole haystack, its gold sessions, as many random sessions, or none
//   - prompt.go, notes.go: the reader's prompt, and the notes in it
//   - read.go: the request to the model, and its failures
//   - fake.go, fakedate.go: the answers of the offline reader
//   - deep.go: the ranks of gold that was not retrieved
//   - estimate.go: the cost forecast of a question
package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Style selects how questions are answered.
type Style string

// The styles. The last four are baselines, which use no daemon.
const (
	RetrieveOnly  Style = "retrieve-only"  // the daemon searches, the reader answers
	Full          Style = "full"           // the daemon answers
	NoMemory      Style = "no-memory"      // the reader answers from nothing
	RandomSession Style = "random-session" // the reader answers from as many sessions as are gold, drawn at random
	FullContext   Style = "full-context"   // the reader answers from all sessions
	Oracle        Style = "oracle"         // the reader answers from the gold sessions
)

// Baselines are the styles that use no daemon.
var Baselines = []Style{NoMemory, RandomSession, FullContext, Oracle}

// Baseline reports whether the style uses no daemon. A baseline retrieves nothing: unless its
// questions are asked without expected paths, a run counts all gold as not retrieved.
func (s Style) Baseline() bool { return slices.Contains(Baselines, s) }

// DefaultMaxTokens limits an answer, including the hidden reasoning of some models.
const DefaultMaxTokens = 2048

// Config configures an Actor.
type Config struct {
	Style Style
	// Target is the daemon, nil for a baseline. New sets its Scenario and its TopK.
	Target *target.Target
	// Reader is the model that answers. It enforces the spend cap, and may be cached. It is nil for
	// Full. With RetrieveOnly, nil means that retrieval is measured without answers.
	Reader llm.Provider
	// BaseURL is the reader's URL, which is recorded in results. It must not contain credentials.
	BaseURL string
	Model   string
	// Prices are used by Estimate.
	Prices llm.Prices
	// TopK is the number of chunks to retrieve. Baselines ignore it.
	TopK int
	// MaxTokens limits an answer, 0 for DefaultMaxTokens.
	MaxTokens int
	// ContextTokens limits the notes of a baseline, 0 for DefaultContextTokens.
	ContextTokens int
	// QuestionDate is set if the daemon and the reader get the question's date.
	QuestionDate bool
	// Benchmark is required for all baselines but NoMemory. With other styles, it supplies the date
	// of the session for a chunk without a date.
	Benchmark *source.Benchmark
	// Documents returns the documents to which a chunk belongs, like harness.Documents. If it is
	// nil, missing gold is not searched for, and chunks have no session. It must be safe for
	// concurrent use.
	Documents func(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string
}

// Actor answers questions. It is safe for concurrent use.
type Actor struct {
	cfg        Config
	target     *target.Target // nil for a baseline
	deepTarget *target.Target // nil for a baseline
	meter      *llm.Meter     // prices requests and sends none; nil without a reader
	questions  map[string]source.Question
	sessions   sessions
}

// New returns an actor, or an error for an unusable configuration.
func New(c Config) (*Actor, error) {
	a := &Actor{cfg: c, questions: map[string]source.Question{}}
	if a.cfg.MaxTokens == 0 {
		a.cfg.MaxTokens = DefaultMaxTokens
	}
	if a.cfg.ContextTokens == 0 {
		a.cfg.ContextTokens = DefaultContextTokens
	}
	if err := a.setTarget(); err != nil {
		return nil, err
	}
	if err := a.setReader(); err != nil {
		return nil, err
	}
	if c.Benchmark == nil {
		return a, nil
	}
	for _, q := range c.Benchmark.Questions {
		a.questions[q.ID] = q
	}
	a.sessions.read = c.Benchmark.Haystack
	return a, nil
}

// setTarget creates the targets for questions and probes.
func (a *Actor) setTarget() error {
	scenarios := map[Style]result.Scenario{RetrieveOnly: result.SearchOnly, Full: result.AskBasic}
	name, asks := scenarios[a.cfg.Style]
	switch {
	case a.cfg.Style.Baseline():
		return a.checkHaystacks()
	case !asks:
		return fmt.Errorf("unknown style %q of an actor", a.cfg.Style)
	case a.cfg.Target == nil:
		return fmt.Errorf("an actor of style %s needs a daemon", a.cfg.Style)
	}
	s, err := target.ScenarioOf(name)
	if err != nil {
		return err
	}
	if a.cfg.TopK < 1 || a.cfg.TopK > s.MaxTopK {
		return fmt.Errorf("top-k is %d, and a daemon retrieves from 1 to %d chunks", a.cfg.TopK, s.MaxTopK)
	}
	asked, probed := *a.cfg.Target, *a.cfg.Target
	asked.Scenario, asked.TopK = name, a.cfg.TopK
	probed.Scenario, probed.TopK = result.SearchOnly, deepTopK
	a.target, a.deepTarget = &asked, &probed
	return nil
}

// checkHaystacks returns an error if a baseline needs haystacks that are missing.
func (a *Actor) checkHaystacks() error {
	if a.cfg.Style == NoMemory {
		return nil
	}
	if a.cfg.Benchmark == nil {
		return fmt.Errorf("the baseline %s needs a benchmark", a.cfg.Style)
	}
	for _, info := range a.cfg.Benchmark.Infos() {
		if info.Sessions == 0 {
			return fmt.Errorf("the baseline %s reads documents, and haystack %s of %s has none; "+
				"give the corpus, or leave the baseline out", a.cfg.Style, info.ID, a.cfg.Benchmark.Path)
		}
	}
	hasGold := func(q source.Question) bool { return len(q.Gold) > 0 }
	if a.cfg.Style == Oracle && !slices.ContainsFunc(a.cfg.Benchmark.Questions, hasGold) {
		return fmt.Errorf("the baseline %s reads the gold sessions, which no question of %s has; leave the baseline out",
			a.cfg.Style, a.cfg.Benchmark.Path)
	}
	return nil
}

// setReader creates the meter, and rejects a reader that would not be used.
func (a *Actor) setReader() error {
	switch c := a.cfg; {
	case c.Reader == nil && c.Style.Baseline():
		return fmt.Errorf("the baseline %s needs a model that answers", c.Style)
	case c.Reader == nil:
		return nil
	case c.Style == Full:
		return errors.New("an actor of style full has the daemon's own reader, not another model")
	}
	prices := a.cfg.Prices
	if prices == nil {
		prices = llm.Prices{}
	}
	var err error
	a.meter, err = llm.NewMeter(pricedProvider{a.cfg.Reader}, prices, nil)
	return err
}

// Ask answers one question within timeout, as harness.Answerer requires. The timeout does not
// include the search for missing gold.
//
// A failure of the model has the kind result.KindReader. These errors stop a run: an exhausted
// budget, a missing reply when only cached ones are allowed, and the statuses 401, 402, 403 and
// 404. An answer returned with an error still has the model's charges.
func (a *Actor) Ask(
	ctx context.Context, q dataset.Question, timeout time.Duration,
) (target.Answer, error) {
	if !a.cfg.QuestionDate {
		q.QuestionDate = ""
	}
	switch a.cfg.Style {
	case Full:
		return a.full(ctx, q, timeout)
	case RetrieveOnly:
		return a.retrieve(ctx, q, timeout)
	}
	return a.baseline(ctx, q, timeout)
}

// Health returns an error unless the daemon is healthy. It returns nil for a baseline.
func (a *Actor) Health(ctx context.Context) error {
	if a.target == nil {
		return nil
	}
	return a.target.Health(ctx)
}

// Identity describes the reader. A daemon's own reader is unknown.
func (a *Actor) Identity() result.Actor {
	id := result.Actor{Style: string(a.cfg.Style), QuestionDate: a.cfg.QuestionDate}
	if a.cfg.Style == FullContext {
		id.ContextTokens = a.cfg.ContextTokens
	}
	if r := a.cfg.Reader; r != nil {
		id.Provider, id.BaseURL, id.Model = r.Name(), a.cfg.BaseURL, a.cfg.Model
		id.Prompt, id.PromptSHA256 = promptVersion, promptSHA256()
	}
	return id
}
