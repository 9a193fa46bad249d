package actor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/target"
	"evalctl/replay/source"
)

// baseline answers without a daemon.
func (a *Actor) baseline(
	ctx context.Context, q dataset.Question, timeout time.Duration,
) (target.Answer, error) {
	start := time.Now()
	notes, err := a.sessionNotes(q)
	if err != nil {
		return target.Answer{}, err
	}
	slices.Reverse(notes) // what does not fit is left out from the oldest on
	notes, left := fit(notes, maxContext)
	slices.Reverse(notes)
	spent := time.Since(start)
	return a.read(ctx, limit{timeout, spent}, a.request(q, notes), left,
		target.Answer{Latency: spent, Attempts: 1})
}

// sessionNotes returns the sessions that the style shows the reader, in order of their date.
func (a *Actor) sessionNotes(q dataset.Question) ([]note, error) {
	if a.cfg.Style == NoMemory {
		return nil, nil
	}
	known, ok := a.questions[q.ID]
	if !ok {
		return nil, fmt.Errorf("question %q is not in %s", q.ID, a.cfg.Benchmark.Path)
	}
	h, err := a.cfg.Benchmark.Haystack(known.Haystack)
	if err != nil {
		return nil, err
	}
	notes := make([]note, 0, len(h.Sessions)+len(h.Docs))
	gold := goldPaths(known, h)
	for _, s := range h.Sessions {
		if a.cfg.Style == FullContext || gold[s.Path] {
			notes = append(notes, note{Date: s.Date, Title: s.Title, Text: s.Text()})
		}
	}
	for _, d := range h.Docs {
		if a.cfg.Style == FullContext || gold[d.Path] {
			notes = append(notes, note{Text: string(d.Data)})
		}
	}
	return notes, nil
}

// goldPaths returns the gold documents of a question by the paths that the haystack has.
func goldPaths(q source.Question, h source.Haystack) map[string]bool {
	paths := dataset.PathsOf(h.Docs) // of a haystack with sessions nil, which changes nothing
	gold := map[string]bool{}
	for _, g := range q.Gold {
		gold[paths.Gold(g)] = true
	}
	return gold
}
