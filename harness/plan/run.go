package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// RunSpec says how the questions of a run are asked and scored, and when it passes.
type RunSpec struct {
	Models
	Scenario target.Scenario
	// Mode is the retrieval mode. A target that has one takes precedence.
	Mode string
	// RequireMode is the mode that every answer must report, SameMode for Mode, empty for any.
	RequireMode                  string
	TopK, CandidateK, RerankTopN int
	// MaxPerDocument is nil for the daemon's own.
	MaxPerDocument *int

	Scorer    scorer.Kind
	ExactCase bool
	External  *result.ExternalScorer // nil unless the scorer is a program or a service

	// Environ is the environment of this process, NAME=VALUE. Passed are the names of the variables
	// that a started daemon gets although it could spend money with them.
	Environ, Passed []string

	// Gate has the floors and allowances.
	Gate        result.Settings
	MaxFailures int
	// Baseline is the result that the run must not be worse than, by more than Margin. It is empty for
	// none.
	Baseline string
	Margin   float64
	// Accept has the names of the settings in which Baseline may differ.
	Accept []string

	// Resume is the journal of the run that is resumed, empty for a new one. RetryErrors tries failed
	// questions again.
	Resume      string
	RetryErrors bool
}

// SameMode is the value of RunSpec.RequireMode for the mode of the run.
const SameMode = "same"

// Run is a run that has been checked and not started.
type Run struct {
	*Plan
	RunSpec
	// DaemonEnv is nil if a started daemon gets all variables.
	DaemonEnv *result.DaemonEnv
	// Baseline is nil for a run without one.
	Baseline *Baseline
	// Judging is nil for a scorer that asks no model, which costs nothing.
	Judging *judging.Plan
	// Estimate is what judging all questions is likely to cost.
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
	for _, step := range []func() error{r.planReader, r.planInput, r.planJudging, r.planBaseline, r.checkForeignPlan} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, r.CheckGoldFor(s.Scorer, s.TopK)
}

// planReader configures the reader of a started daemon.
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
	r.Session.Profile.Env = slices.Concat(env, r.Found.Profile.Env)
	if err := r.withhold(provider); err != nil {
		return err
	}
	// Other daemons than this program's own may interpret their environment differently.
	if r.reader.Provider == "" || !r.Found.Own || !r.reads() {
		return nil
	}
	if _, err := llm.Open(r.reader.Config(r.env)); err != nil {
		return fmt.Errorf("reader: %w", err)
	}
	return nil
}

func (r *Run) reads() bool { return r.Scenario.Name.Reads() }

// startedReader returns the provider of the reader of a started daemon, "" if it chooses by itself.
// If no answer is generated, the judge's provider need not have a reader model.
func (r *Run) startedReader() string {
	if !r.reads() && r.Found.Own && r.env("SVC_RERANK_PROVIDER") != llm.RerankLLM {
		return llm.ProviderFake
	}
	return r.reader.Provider
}

// withhold keeps credentials back under a cap. The daemon's own models are not under the cap, which
// is the judge's, so what they are configured with is passed on.
func (r *Run) withhold(reader string) (err error) {
	switch {
	case r.Found.Endpoint != "":
		return nil
	case r.Cap == nil && len(r.Passed) > 0:
		return errors.New("--daemon-env has no effect without a cap, because the daemon gets all variables then; " +
			"leave it out, or give --max-cost-usd")
	case r.Cap == nil:
		return nil
	}
	needed := ProviderVariables(reader, r.env("SVC_EMBED_PROVIDER"))
	if r.env("SVC_EMBED_PROVIDER") != "" {
		needed = append(needed, EmbedVariables...)
	}
	if r.env("SVC_RERANK_PROVIDER") != "" {
		needed = append(needed, RerankVariables...)
	}
	if r.DaemonEnv, err = Withhold(r.Environ, r.Passed, needed); err == nil {
		r.Session.Profile.Withheld = r.DaemonEnv.Withheld
	}
	return err
}

// planInput reads the questions and documents, for the judge if every question needs it.
func (r *Run) planInput() (err error) {
	if r.Scorer.Offline == nil {
		if r.Judging, err = r.OpenJudge(r.env, r.Scorer); err != nil {
			return err
		}
	}
	sc, err := r.NewScorer(0)
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
	return nil
}

// NewScorer returns the scorer of a run that has spent money already.
func (r *Run) NewScorer(spent llm.USD) (scorer.Scorer, error) {
	return judging.OpenScorer(r.Scorer, scorer.Options{TopK: r.TopK, ExactCase: r.ExactCase}, r.Judging, spent)
}

// planJudging opens the judge also for a scorer that asks it only about some questions, and adds up
// what judging the questions is likely to cost, repeats included.
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

func (r *Run) planBaseline() (err error) {
	r.Baseline, err = OpenBaseline(r.RunSpec.Baseline, r.Margin, r.Accept, r.Identity(r.daemon))
	return err
}

func (r *Run) checkForeignPlan() error {
	if r.Session.Foreign == nil {
		return nil
	}
	return r.CheckForeign(r.Session.Foreign.Mapping)
}

// CheckForeign returns an error if the target cannot do what the run needs. m is nil for a daemon
// that speaks the protocol, or if the mapping is not known yet.
func (r *Run) CheckForeign(m *mapping.Mapping) error {
	if m == nil {
		return nil
	}
	var others []string
	for flag, given := range map[string]bool{
		"--candidate-k": r.CandidateK > 0, "--rerank-top-n": r.RerankTopN > 0, "--max-per-document": r.MaxPerDocument != nil,
		"--require-mode": r.RequireMode != "" && m.Lacks(target.Modes) != "",
	} {
		if given {
			others = append(others, flag)
		}
	}
	slices.Sort(others)
	return harness.CheckForeign(m, r.Scenario.Name, len(r.Brains), r.Mode, others...)
}

// CheckTagFloors returns an error for a tag with a floor that no question has. of are the questions
// by tag.
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
