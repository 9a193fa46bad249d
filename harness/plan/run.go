package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/judging"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// RunSpec says how a run asks and scores its questions, and when it passes.
type RunSpec struct {
	Models
	Scenario target.Scenario
	// Mode is the retrieval mode. The target's own mode takes precedence.
	Mode string
	// RequireMode is the mode that every answer must report, SameMode for Mode, empty for any.
	RequireMode                  string
	TopK, CandidateK, RerankTopN int
	// MaxPerDocument is nil for the daemon's default.
	MaxPerDocument *int

	Scorer    scorer.Kind
	ExactCase bool
	External  *result.ExternalScorer // nil unless the scorer is a program or a service

	// Gate has the floors and allowances.
	Gate result.Settings
	// FamilyFloor is the floor of each family of questions over time without a floor of its own. If
	// set, nothing deleted or foreign may come back. It is nil to disable these rules.
	FamilyFloor *float64
	MaxFailures int
	// Baseline is the result file that the run must not be worse than by more than Margin, empty
	// for none.
	Baseline string
	Margin   float64
	// Accept names the settings in which Baseline may differ.
	Accept []string

	// Resume is the journal of the run to resume, empty for a new run. RetryErrors retries failed
	// questions.
	Resume      string
	RetryErrors bool
}

// SameMode is the value of RunSpec.RequireMode for the run's own mode.
const SameMode = "same"

// Run is a checked run that has not started.
type Run struct {
	*Plan
	RunSpec
	// Baseline is nil if the run has none.
	Baseline *Baseline
	// Judging is nil for a scorer without a model, which is free.
	Judging *judging.Plan
	// Estimate is the forecast cost of judging all questions.
	Estimate judging.Forecast

	reader llm.Ref // without a name if the daemon chooses the model
}

// NewRun checks everything that needs no daemon, so that bad input costs neither time nor money.
func NewRun(of Spec, s RunSpec) (*Run, error) {
	p, err := New(of)
	if err != nil {
		return nil, err
	}
	r := &Run{Plan: p, RunSpec: s}
	if s.Resume != "" {
		p.Dir = filepath.Dir(s.Resume)
	}
	r.Mode = cmp.Or(p.Found.Settings.Mode, r.Mode)
	if r.RequireMode == SameMode {
		r.RequireMode = r.Mode
	}
	for _, step := range []func() error{r.planReader, r.planInput, r.planJudging, r.planBaseline, r.checkAbilities} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, r.CheckGoldFor(s.Scorer, s.TopK)
}

// planReader configures a started daemon's reader.
func (r *Run) planReader() (err error) {
	if r.reader, _, err = r.find(r.env); err != nil {
		return err
	}
	provider := r.startedReader()
	var env []string
	if provider != "" {
		env = append(env, "SVC_LLM_PROVIDER="+provider)
	}
	if provider == r.reader.Provider && r.reader.Name != "" {
		env = append(env, "SVC_LLM_MODEL="+r.reader.Name)
	}
	if !r.Found.Configured() {
		env = nil
	}
	r.Session.Profile.Env = slices.Concat(env, r.Found.Profile.Env)
	// Daemons other than this program's own may interpret their environment differently.
	if r.reader.Provider != "" && r.Found.Own && r.reads() {
		if _, err := llm.Open(r.reader.Config(r.env)); err != nil {
			return fmt.Errorf("reader: %w", err)
		}
	}
	model := llm.Ref{Provider: provider}
	if provider == r.reader.Provider {
		model.Name = r.reader.Name
	}
	return r.planCalls(Asks{Model: model, Generates: r.reads()}, r.Money)
}

func (r *Run) reads() bool { return r.Scenario.Name.Reads() }

// startedReader returns the reader's provider for a started daemon, "" if the daemon chooses. If no
// answer is generated, it is the fake provider, because the judge's provider may have no reader
// model.
func (r *Run) startedReader() string {
	if !r.reads() && r.Found.Own && r.env("SVC_RERANK_PROVIDER") != llm.RerankLLM {
		return llm.ProviderFake
	}
	return r.reader.Provider
}

// planInput reads the questions and documents. It first plans the judge if every question needs it.
func (r *Run) planInput() (err error) {
	if r.Scorer.Offline == nil {
		if r.Judging, err = r.OpenJudge(r.env, r.Scorer); err != nil {
			return err
		}
	}
	sc, err := r.NewScorer(llm.NewAccount(r.Cap))
	if err != nil {
		return err
	}
	questions, err := r.ReadCriteria(r.Scenario.Check)
	if err != nil {
		return err
	}
	if r.Input, err = dataset.LoadFor(questions, r.Scorer, sc.Check); err != nil {
		return err
	}
	if err := CheckTagFloors(r.Gate.TagFloors, r.Dataset.Tags); err != nil {
		return fmt.Errorf("%s: %w", questions.Path, err)
	}
	r.gateFamilies()
	return nil
}

// gateFamilies adds the rules for questions over time, if there are any such questions.
func (r *Run) gateFamilies() {
	if r.FamilyFloor == nil || !r.Dataset.Lifecycle() {
		return
	}
	r.Gate.NoLeaks = true
	floors := maps.Clone(r.Gate.TagFloors)
	for _, family := range r.Dataset.Families() {
		if _, own := floors[family]; own {
			continue
		}
		if floors == nil {
			floors = map[string]float64{}
		}
		floors[family] = *r.FamilyFloor
		r.Gate.Families = append(r.Gate.Families, family)
	}
	r.Gate.TagFloors = floors
}

// NewScorer returns the scorer. The account pays for its judge.
func (r *Run) NewScorer(a llm.Account) (scorer.Scorer, error) {
	calls, err := r.Client(a)
	if err != nil {
		return nil, err
	}
	evidence := r.Gold.WithEvidence > 0 && r.Scenario.Name.ScoresEvidence(r.Found.Mapped())
	return judging.OpenScorer(r.Scorer, scorer.Options{TopK: r.TopK, Evidence: evidence, ExactCase: r.ExactCase}, r.Judging, calls)
}

// planJudging opens the judge, also for a scorer that needs it only for some questions, and sums up
// the forecast cost of judging, repeats included.
func (r *Run) planJudging() error {
	if r.Scorer.Prompts == nil {
		return nil
	}
	for q, err := range r.Dataset.Questions() {
		if err != nil {
			return err
		}
		if r.Judging == nil && r.Scorer.Asks(q.Item()) > 0 {
			if r.Judging, err = r.OpenJudge(r.env, r.Scorer); err != nil {
				return err
			}
		}
		if r.Judging != nil {
			r.Estimate.Add(r.Judging, judging.Longest(q.Item()))
		}
	}
	r.Estimate = r.Estimate.Times(r.Dataset.Planned() / r.Dataset.Selected)
	return nil
}

// Left returns the forecast cost of judging the questions that a journal lacks or has to retry. The
// journal is nil for a new run.
func (r *Run) Left(j *journal.Journal) (judging.Forecast, error) {
	if j == nil || r.Judging == nil {
		return r.Estimate, nil
	}
	return r.Judging.Left(r.Dataset, func(i int, q dataset.Question) (scorer.Item, bool) {
		s := j.State(i)
		return judging.Longest(q.Item()), !s.Finished || s.Outage && r.RetryErrors
	})
}

func (r *Run) planBaseline() (err error) {
	r.Baseline, err = openBaseline(r.RunSpec.Baseline, r.Margin, r.Accept, r.Identity(r.daemon))
	return err
}

func (r *Run) checkAbilities() error { return r.need().Check(r.Session.Abilities()) }

// need returns the run's requirements for its target.
func (r *Run) need() harness.Need {
	n := harness.Need{Scenario: r.Scenario.Name, Brains: len(r.Brains), Mode: r.Mode, Settings: map[string]target.Ability{}}
	for _, s := range []struct {
		flag  string
		given bool
		needs target.Ability
	}{
		{"--candidate-k", r.CandidateK > 0, target.CandidateK},
		{"--rerank-top-n", r.RerankTopN > 0, target.RerankTopN},
		{"--max-per-document", r.MaxPerDocument != nil, target.MaxPerDocument},
		{"--require-mode", r.RequireMode != "", target.Modes},
	} {
		if s.given {
			n.Settings[s.flag] = s.needs
		}
	}
	return n
}

// CheckTagFloors returns an error for a floor whose tag no question has. of counts the questions by
// tag.
func CheckTagFloors(floors map[string]float64, of map[string]int) error {
	for _, tag := range slices.Sorted(maps.Keys(floors)) {
		if of[tag] > 0 {
			continue
		}
		if len(of) == 0 {
			return fmt.Errorf("--floor-tag %s: no question has a tag", tag)
		}
		return fmt.Errorf("--floor-tag %s: no question has this tag; the tags are %s", tag,
			strings.Join(slices.Sorted(maps.Keys(of)), ", "))
	}
	return nil
}
