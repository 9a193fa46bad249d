// Package sweep measures combinations of retrieval settings on one daemon.
package sweep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"evalctl/harness"
	"evalctl/harness/dataset"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/figure"
	"evalctl/scorer"
)

// Grid lists the settings to combine. No list may be empty.
type Grid struct {
	Modes              []string
	TopKs, CandidateKs []int
}

// Cells returns all combinations. The mode changes slowest.
func (g Grid) Cells() []result.Cell {
	var out []result.Cell
	for _, mode := range g.Modes {
		for _, candidates := range g.CandidateKs {
			for _, k := range g.TopKs {
				out = append(out, result.Cell{Mode: mode, TopK: k, CandidateK: candidates})
			}
		}
	}
	return out
}

// Load reads the questions and documents of a sweep, and checks that at least one question has
// gold.
func (g Grid) Load(s dataset.Spec) (dataset.Input, error) {
	search, err := target.ScenarioOf(result.SearchOnly)
	if err != nil {
		return dataset.Input{}, err
	}
	sc := scorer.Retrieval{TopK: g.TopKs[0]} // the check of a question does not depend on the depth
	s.Check = func(q dataset.Question) error {
		return cmp.Or(search.Check(q), dataset.IgnoreNoGold(sc.Check(q.Item())))
	}
	in, err := dataset.Load(s)
	if err != nil {
		return in, err
	}
	if in.Dataset.Lifecycle() {
		return in, fmt.Errorf("%s: operations before questions, and texts that must not come back, "+
			"are for evalctl run: a sweep asks every cell the same brains", s.Path)
	}
	// A warning about a large top-k may not apply to the smaller ones.
	if err := in.CheckGold(slices.Min(g.TopKs)); err != nil {
		return in, err
	}
	if in.Gold.WithGold == 0 {
		return in, fmt.Errorf("%s: a sweep needs expected_paths or expected_evidence, which none of %s has",
			s.Path, figure.Count(in.Dataset.Selected, "question"))
	}
	return in, nil
}

// Check returns an error if a target does not support the sweep with this number of brains.
func (g Grid) Check(can target.Abilities, brains int) error {
	n := harness.Need{Scenario: result.SearchOnly, Brains: brains}
	if !slices.Equal(g.CandidateKs, []int{0}) {
		n.Settings = map[string]target.Ability{"--candidate-k": target.CandidateK}
	}
	for _, n.Mode = range g.Modes {
		if err := n.Check(can); err != nil {
			return err
		}
	}
	return nil
}

// Sweep measures the cells of a grid on a seeded daemon, one after the other.
type Sweep struct {
	Grid    Grid
	Input   dataset.Input
	Session *harness.Session // whose embeddings are metered
	// Brains are the daemon's ids by name.
	Brains map[string]string
	// Identity is common to all cells. Its scorer and the settings of the grid are set for each
	// cell.
	Identity result.Identity
	// Settings are recorded in the cells. Concurrency and timeout also take effect.
	Settings result.Settings
	Observer Observer
}

// Observer observes the cells of a sweep.
type Observer interface {
	Begin()
	Recorded(r result.Record)
	// End is called with a finished cell, or with nil if the cell was stopped.
	End(cell *result.Cell)
}

// Measure warms up each mode, measures the cells, and saves each in the file. The error is the
// reason why the sweep stopped; the returned sweep has the finished cells.
func (s *Sweep) Measure(ctx context.Context, file *File, started time.Time) (result.Sweep, error) {
	cells := s.Grid.Cells()
	out := result.Sweep{
		SchemaVersion: result.SchemaVersion, SDK: s.Identity.SDK, StartedAt: started,
		Planned: len(cells), Cells: []result.Cell{},
	}
	for _, mode := range s.Grid.Modes {
		warmed := s.target(result.Cell{Mode: mode, TopK: slices.Max(s.Grid.TopKs)})
		asked, err := warmed.WarmUp(ctx, s.Input.Dataset, s.timeout())
		if err != nil {
			return out, err
		}
		out.WarmUp += asked
	}
	for i, cell := range cells {
		if err := s.cell(ctx, &cell); err != nil {
			s.embedded(ctx, &out)
			return out, fmt.Errorf("stopped in cell %d of %d: %w", i+1, len(cells), err)
		}
		out.Cells = append(out.Cells, cell)
		s.embedded(ctx, &out)
		if err := file.Save(out); err != nil {
			return out, err
		}
	}
	return out, nil
}

// embedded records the daemon's embeddings so far, without their price.
func (s *Sweep) embedded(ctx context.Context, out *result.Sweep) {
	if now := s.Session.Embedded(context.WithoutCancel(ctx)); now != nil {
		out.Embeddings = now
	} else if out.Embeddings != nil { // the daemon has ended
		out.Embeddings.Incomplete = true
	}
}

func (s *Sweep) timeout() time.Duration {
	return time.Duration(s.Settings.TimeoutSeconds * float64(time.Second))
}

// target returns the target with the settings of a cell.
func (s *Sweep) target(cell result.Cell) *target.Target {
	return &target.Target{
		Service: s.Session.Service(), Brains: s.Brains, Scenario: result.SearchOnly, Mode: cell.Mode,
		TopK: cell.TopK, CandidateK: cell.CandidateK, Dialect: s.Identity.Dialect,
	}
}

// cell asks all questions with the settings of a cell, and fills in the results.
func (s *Sweep) cell(ctx context.Context, cell *result.Cell) error {
	gold, err := dataset.CheckGold(s.Input.Dataset, s.Input.Brains, cell.TopK)
	if err != nil {
		return err
	}
	id := s.Identity
	id.Scorer, id.Scenario = scorer.Retrieval{}.Name(), result.SearchOnly
	id.Mode, id.TopK, id.CandidateK = cell.Mode, cell.TopK, cell.CandidateK
	s.Observer.Begin()
	config := harness.Config{
		Scorer: pipeline.Grader{Scorer: scorer.Retrieval{TopK: cell.TopK, Evidence: gold.WithEvidence > 0}}, TopK: cell.TopK,
		Dataset: s.Input.Dataset, Concurrency: s.Settings.Concurrency, Observer: cellObserver{s.Observer, cell},
		Brains: s.Input.Brains, Subject: harness.Subject{Target: s.target(*cell), Session: s.Session, Timeout: s.timeout()},
		Notes: harness.Notes{Warnings: gold.Warnings, Settings: s.Settings},
	}
	cell.Result, err = harness.Drive(ctx, config, id)
	if err != nil {
		s.Observer.End(nil)
		return err
	}
	slices.SortFunc(cell.Questions, func(a, b result.Record) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Repeat, b.Repeat))
	})
	s.Observer.End(cell)
	return nil
}

// cellObserver collects the questions of a cell.
type cellObserver struct {
	Observer
	cell *result.Cell
}

// Asking implements pipeline.Observer. It does nothing, as the questions of a cell are too short to
// be named.
func (cellObserver) Asking(string, bool) {}

// Recorded implements pipeline.Observer.
func (o cellObserver) Recorded(r result.Record) {
	o.Observer.Recorded(r)
	o.cell.Questions = append(o.cell.Questions, r.WithoutTexts())
}
