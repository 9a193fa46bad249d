package actor

import (
	"cmp"
	"context"
	"sync"
	"time"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/replay/source"
)

// retrieve searches, and answers from the chunks found.
func (a *Actor) retrieve(
	ctx context.Context, q dataset.Question, timeout time.Duration,
) (target.Answer, error) {
	start := time.Now()
	ans, err := a.target.Ask(ctx, q, timeout)
	spent := time.Since(start)
	ans.Answer = "" // only the reader writes answers
	if err != nil {
		return ans, err
	}
	// Before the reader is paid, so that nothing is lost if the run ends here.
	if err := a.probe(ctx, q, &ans); err != nil {
		return ans, err
	}
	if a.cfg.Reader == nil {
		return ans, nil
	}
	ans.Search = ans.Latency
	notes, err := a.passages(q, ans.Retrieved)
	if err != nil {
		return ans, err
	}
	notes, left := fit(notes, maxPassages)
	return a.read(ctx, limit{timeout, spent}, a.request(q, notes), left, ans)
}

// Request makes only the daemon request of Ask, once: the search of RetrieveOnly or the answer of
// Full. It calls no reader and does not search for missing gold. The actor must have a Target.
func (a *Actor) Request(ctx context.Context, q dataset.Question, timeout time.Duration) (target.Answer, error) {
	if !a.cfg.QuestionDate {
		q.QuestionDate = ""
	}
	return a.target.Ask(ctx, q, timeout)
}

// full asks the daemon for an answer.
func (a *Actor) full(
	ctx context.Context, q dataset.Question, timeout time.Duration,
) (target.Answer, error) {
	ans, err := a.target.Ask(ctx, q, timeout)
	if err != nil {
		return ans, err
	}
	return ans, a.probe(ctx, q, &ans)
}

// passages returns the chunks as notes, best first. The session supplies a date or title that a
// chunk lacks.
func (a *Actor) passages(q dataset.Question, chunks []result.Chunk) ([]note, error) {
	notes := make([]note, len(chunks))
	for i, c := range chunks {
		notes[i] = note{Date: c.Date, Title: c.Title, Text: c.Text}
		if c.Date != "" && c.Title != "" || a.cfg.Documents == nil || a.sessions.read == nil {
			continue
		}
		known, err := a.sessions.of(a.questions[q.ID].Haystack)
		if err != nil {
			return nil, err
		}
		for _, path := range a.cfg.Documents(q, c, nil) {
			s := known[path]
			notes[i].Date = cmp.Or(notes[i].Date, s.date)
			notes[i].Title = cmp.Or(notes[i].Title, s.title)
		}
	}
	return notes, nil
}

// sessions caches the dates and titles of the sessions of haystacks, by path.
type sessions struct {
	read func(haystack string) (source.Haystack, error)

	mu       sync.Mutex
	headings map[string]map[string]heading
}

type heading struct{ date, title string }

func (s *sessions) of(haystack string) (map[string]heading, error) {
	s.mu.Lock()
	known, ok := s.headings[haystack]
	s.mu.Unlock()
	if ok {
		return known, nil
	}
	h, err := s.read(haystack) // perhaps read twice at once, which is harmless
	if err != nil {
		return nil, err
	}
	known = make(map[string]heading, len(h.Sessions))
	for _, one := range h.Sessions {
		known[one.Path] = heading{one.Date, one.Title}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headings == nil {
		s.headings = map[string]map[string]heading{}
	}
	s.headings[haystack] = known
	return known, nil
}
