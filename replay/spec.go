package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/judging"
	"evalctl/harness/plan"
	"evalctl/internal/llm"
	"evalctl/replay/actor"
	"evalctl/replay/source"
	"evalctl/scorer"
)

// Spec is a replay as the user describes it. Open finds the benchmark, the arms and the models.
type Spec struct {
	// Config has no benchmark, arms, models or sample ids yet. An empty Cache.Dir means evalctl in
	// the user's cache folder.
	Config
	// Dataset is the benchmark file. Source says how to read it.
	Dataset string
	Source  source.Options
	// IDs and Excluded are files with one question id per line, empty for none.
	IDs, Excluded string

	Targets plan.Targets
	// Target names the daemons. Command and Endpoint define a single one, see plan.Targets.FindOne.
	Target            []string
	Command, Endpoint string
	Token             string
	// Port is the port of the first daemon, 0 for free ports.
	Port      int
	Baselines []string

	// Answers and Judges have the form [PROVIDER/]MODEL. An empty Judges means Answers.
	Answers, Judges string
	// Recipes configure a panel of judges, in the form for judging.Recipes; nil means one judge.
	Recipes []string
	// Instructions is a folder with instructions for the judge, empty for the built-in ones.
	Instructions string
}

// Open checks everything that needs neither a daemon nor money. The caller must close the plan,
// which also closes External.
func Open(ctx context.Context, s Spec) (*Plan, error) {
	for _, step := range []func() error{s.findFiles, s.placeCache, s.findModels, s.findArms} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	drawn, err := dataset.ReadIDs(s.IDs)
	if err != nil {
		return nil, fmt.Errorf("--ids: %w", err)
	}
	excluded, err := dataset.ReadIDs(s.Excluded)
	if err != nil {
		return nil, fmt.Errorf("--exclude-ids: %w", err)
	}
	s.Sample.IDs, s.Sample.Exclude = drawn.List, excluded.List
	if s.Benchmark, err = source.Open(ctx, s.Dataset, s.Source); err != nil {
		return nil, err
	}
	p, err := s.plan(drawn, excluded)
	if err != nil {
		return nil, errors.Join(err, s.Benchmark.Close())
	}
	return p, nil
}

// plan checks the lists of ids and returns the plan.
func (s *Spec) plan(drawn, excluded dataset.IDs) (*Plan, error) {
	known := make(map[string]bool, len(s.Benchmark.Questions))
	for _, q := range s.Benchmark.Questions {
		known[q.ID] = true
	}
	if err := drawn.Check(known, s.Benchmark.Path); err != nil {
		return nil, fmt.Errorf("--ids: %w", err)
	}
	if err := excluded.Check(known, s.Benchmark.Path); err != nil {
		return nil, fmt.Errorf("--exclude-ids: %w", err)
	}
	return newPlan(s.Config)
}

// findFiles checks that the input files exist, so that a missing file is reported before a missing
// model.
func (s *Spec) findFiles() error {
	for _, f := range []struct{ what, path string }{
		{"benchmark", s.Dataset}, {"errata", s.Source.Errata}, {"corpus", s.Source.Corpus},
	} {
		if f.path == "" || f.what == "corpus" && f.path == dataset.NoCorpus {
			continue
		}
		if _, err := os.Stat(f.path); err != nil {
			return fmt.Errorf("open %s: %w", f.what, err)
		}
	}
	return nil
}

// placeCache finds the folder for cached replies and filled brains.
func (s *Spec) placeCache() (err error) {
	if s.Cache.Dir != "" {
		s.Cache.Dir, err = filepath.Abs(s.Cache.Dir)
		return err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the user's cache folder: %w; give --cache-dir", err)
	}
	s.Cache.Dir = filepath.Join(dir, "evalctl")
	return nil
}

// findModels finds the reader and the judge.
func (s *Spec) findModels() error {
	env := s.Targets.Env
	if s.Answers == "" && env("SVC_LLM_PROVIDER") == llm.ProviderFake {
		s.Answers = llm.ProviderFake
	}
	if s.Answers != "" && s.Scorer.Needs != scorer.NeedGold { // else nothing is answered
		ref, err := llm.ParseRef(env, "model", s.Answers)
		if err != nil {
			return err
		}
		s.Reader = new(ref.Config(env))
	}
	if s.Scorer.Prompts == nil {
		return nil
	}
	if judge := cmp.Or(s.Judges, s.Answers); judge != "" { // some benchmarks need none
		ref, err := llm.ParseRef(env, "judge", judge)
		if err != nil {
			return err
		}
		s.Judge = new(ref.JudgeConfig(env))
		s.Judge.Patience = s.Patience
	}
	if s.Scorer.Offline != nil {
		return nil // whose prompts are its own
	}
	var err error
	if s.Panel, err = panelOf(env, s.Recipes, s.Patience); err != nil {
		return fmt.Errorf("--judge-panel: %w", err)
	}
	if s.Prompts = scorer.ReplayPrompts(); s.Instructions != "" {
		if s.Prompts, err = scorer.LoadPrompts(s.Instructions); err != nil {
			return fmt.Errorf("--judge-prompts: %w", err)
		}
	}
	return nil
}

// findArms finds the daemons, and adds the baselines.
func (s *Spec) findArms() error {
	for i, given := range s.Target {
		arm, err := s.daemonArm(given, i)
		if err != nil {
			return err
		}
		s.Arms = append(s.Arms, arm)
	}
	for _, b := range s.Baselines {
		s.Arms = append(s.Arms, Arm{Name: b, Baseline: actor.Style(b)})
	}
	return nil
}

// panelOf returns the recipes of a panel with their models.
func panelOf(env func(string) string, list []string, patience time.Duration) ([]Recipe, error) {
	recipes, err := judging.Recipes(list)
	if err != nil {
		return nil, err
	}
	var out []Recipe
	for _, r := range recipes {
		member := Recipe{Recipe: r}
		if r.Model != "" {
			ref, err := llm.ParseRef(env, "judge", r.Model)
			if err != nil {
				return nil, fmt.Errorf("recipe %s: %w", r.Name, err)
			}
			member.Model = new(ref.JudgeConfig(env))
			member.Model.Patience = patience
		}
		out = append(out, member)
	}
	return out, nil
}
