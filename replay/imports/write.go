package imports

import (
	"context"
	"fmt"
	"time"

	"evalctl/harness"
	"evalctl/harness/journal"
	"evalctl/harness/pipeline"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// Identity returns the result's identity under a system's name.
func (im *Import) Identity(name string, tool result.ToolID) result.Identity {
	return result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: name, Scorer: scorer.Imported, Brain: Brain,
		Scenario: result.ImportedAnswers, TopK: im.TopK, Tool: tool, Imported: &im.ID,
		Dataset: result.DatasetID{
			Path: im.Data.Path, SHA256: im.Data.SHA256, Selected: im.Data.Planned(), Repeats: im.Data.Repeats, Tags: im.Data.Tags,
		},
	}
}

// Write writes the result as dir/NAME.json, where NAME is the identity's, and under a permanent
// name, and returns its path. The result has no floor, so its gate only says whether it has
// verdicts.
func (im *Import) Write(ctx context.Context, dir string, id result.Identity) (result.Result, string, error) {
	release, err := journal.LockOutput(dir, id.SDK)
	if err != nil {
		return result.Result{}, "", err
	}
	defer release()
	j, err := journal.Create(dir, id, time.Now().UTC(), nil)
	if err != nil {
		return result.Result{}, "", err
	}
	defer j.Close()
	all, err := result.ParseAllowance("100%")
	if err != nil {
		return result.Result{}, "", err
	}
	return harness.Run(ctx, harness.Config{
		Dataset: im.Data, Subject: harness.Subject{Records: im.asker()}, TopK: max(1, im.TopK), Concurrency: 1, Secrets: im.secrets,
		Notes: harness.Notes{
			Settings: result.Settings{Concurrency: 1, FloorFrom: result.FloorNone, MaxErrors: all, MaxUnscored: all},
			Brains:   []result.BrainInfo{{ID: Brain, Questions: im.Data.Selected}},
			Imported: &im.Report, Warnings: im.Warnings,
		},
	}, j)
}

// storedRecords is a pipeline.Asker that returns imported records.
type storedRecords map[result.AskedID]result.Record

func (im *Import) asker() storedRecords {
	s := storedRecords{}
	for _, r := range im.Records {
		s[r.Asked()] = r
	}
	return s
}

// Ask implements pipeline.Asker.
func (s storedRecords) Ask(_ context.Context, j pipeline.Job) (result.Record, error) {
	r, ok := s[result.AskedID{ID: j.Question.ID, Repeat: j.Question.Repeat}]
	if !ok {
		return r, fmt.Errorf("question %q has no imported answer", j.Question.ID)
	}
	return r, nil
}
