package actor

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
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
	notes, left := last(notes, a.maxContext())
	spent := time.Since(start)
	ans, err := a.read(ctx, limit{timeout, spent}, a.request(q, notes), left,
		target.Answer{Latency: spent, Reply: result.Reply{Attempts: 1, AskedAt: start.UTC().Truncate(time.Microsecond)}})
	if ans.Actor != nil {
		for _, n := range notes {
			ans.Actor.Seen = append(ans.Actor.Seen, n.Path)
		}
	}
	return ans, err
}

// sessionNotes returns the sessions that the style shows the reader, ordered by date.
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
	shown := a.shown(known, h)
	for _, s := range h.Sessions {
		if shown(s.Path) {
			notes = append(notes, note{Date: s.Date, Title: s.Title, Text: s.Text(), Path: s.Path})
		}
	}
	for _, d := range h.Docs {
		if shown(d.Path) {
			notes = append(notes, note{Text: string(d.Data), Path: d.Path})
		}
	}
	return slices.DeleteFunc(notes, func(n note) bool { return strings.TrimSpace(n.Text) == "" }), nil // which says nothing
}

// Context forecasts how much of the questions' haystacks full-context gives to the model. It
// returns nil for other styles.
func (a *Actor) Context(questions []source.Question, infos map[string]source.HaystackInfo) (*result.ContextUse, error) {
	if a.cfg.Style != FullContext {
		return nil, nil
	}
	use := &result.ContextUse{Tokens: a.cfg.ContextTokens}
	known := map[string][2]int{} // the notes of a haystack, and those that do not fit
	for _, q := range questions {
		n, ok := known[q.Haystack]
		if info := infos[q.Haystack]; !ok && escaped*(int(info.TextBytes)+aroundNote*info.Sessions) <= a.maxContext() {
			n = [2]int{info.Sessions, 0}
		} else if !ok {
			notes, err := a.sessionNotes(dataset.Question{ID: q.ID})
			if err != nil {
				return nil, err
			}
			_, left := last(notes, a.maxContext())
			n = [2]int{len(notes), left}
		}
		known[q.Haystack] = n
		use.Sessions += n[0]
		use.LeftOut += n[1]
		if n[1] > 0 {
			use.Cut++
		}
	}
	return use, nil
}

// shown returns a function that reports whether the reader of a question gets a session or document
// of its haystack.
func (a *Actor) shown(q source.Question, h source.Haystack) func(path string) bool {
	gold := goldPaths(q, h)
	switch a.cfg.Style {
	case RandomSession:
		gold = drawn(q, h)
	case FullContext:
		return func(string) bool { return true }
	}
	return func(path string) bool { return gold[path] }
}

// drawn draws as many paths of a haystack as a question has gold documents, at least one. A hash of
// the question and the path decides, so that every sample and every process draws the same paths.
func drawn(q source.Question, h source.Haystack) map[string]bool {
	var paths []string
	for _, s := range h.Sessions {
		paths = append(paths, s.Path)
	}
	for _, d := range h.Docs {
		paths = append(paths, d.Path)
	}
	lot := func(path string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(q.ID), q.ID, path))
		return string(sum[:])
	}
	slices.SortFunc(paths, func(x, y string) int { return strings.Compare(lot(x), lot(y)) })
	out := map[string]bool{}
	for _, path := range paths[:min(len(paths), drawnFor(q))] {
		out[path] = true
	}
	return out
}

// drawnFor returns the number of sessions to draw for a question.
func drawnFor(q source.Question) int { return max(1, len(q.Gold)) }

// goldPaths returns the gold documents of a question, by the paths of the haystack.
func goldPaths(q source.Question, h source.Haystack) map[string]bool {
	paths := dataset.PathsOf(h.Docs) // of a haystack with sessions nil, which changes nothing
	gold := map[string]bool{}
	for _, g := range q.Gold {
		gold[paths.Gold(g)] = true
	}
	return gold
}
