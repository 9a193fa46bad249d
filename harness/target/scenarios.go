package target

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// Scenario is how questions are asked in a scenario of the specification (spec 4.4).
type Scenario struct {
	Name result.Scenario
	// MaxTopK is the protocol's limit on top-k (spec 8).
	MaxTopK int

	path     string // of the endpoint, below the brain's
	maxChars int    // of a question (spec 8)
	// body adds to the keys common to all scenarios.
	body    func(t *Target, q dataset.Question, b map[string]any)
	aliases map[string][]string
	// exchange sends the request and reads the answer into a.
	exchange func(ctx context.Context, e *Endpoint, r Request, a *Answer, start time.Time) error
}

// scenarios is the table of scenarios. The first is the default.
var scenarios = []Scenario{
	askScenario(result.AskBasic, protocol.ReaderBasic),
	askScenario(result.AskAugmented, protocol.ReaderAugmented),
	{
		Name: result.SearchOnly, MaxTopK: protocol.MaxSearchTopK,
		path: "/search", maxChars: protocol.MaxSearchQuery, body: searchBody, exchange: search,
	},
}

func askScenario(name result.Scenario, reader string) Scenario {
	return Scenario{
		Name: name, MaxTopK: protocol.MaxAskTopK,
		path: "/ask", maxChars: protocol.MaxAskQuery, exchange: ask,
		body: func(_ *Target, q dataset.Question, b map[string]any) {
			b["question"], b["reader_mode"] = q.Question, reader
		},
		aliases: map[string][]string{"question": {"query"}},
	}
}

func searchBody(t *Target, q dataset.Question, b map[string]any) {
	b["query"] = q.Question
	if t.CandidateK > 0 {
		b["candidate_k"] = t.CandidateK
	}
	if t.RerankTopN > 0 {
		b["rerank_top_n"] = t.RerankTopN
	}
}

// Scenarios returns all scenarios, the default first.
func Scenarios() []Scenario { return slices.Clone(scenarios) }

// ScenarioOf returns the scenario with this name.
func ScenarioOf(name result.Scenario) (Scenario, error) {
	for _, s := range scenarios {
		if s.Name == name {
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("unknown scenario %q", name)
}

// Check returns an error for a question that the protocol does not allow (spec 8): without text, or
// longer than 8,192 characters to ask or 4,096 to search.
func (s Scenario) Check(q dataset.Question) error {
	n := utf8.RuneCountInString(q.Question)
	switch {
	case strings.TrimSpace(q.Question) == "":
		return fmt.Errorf("question %q has no text", q.ID)
	case n > s.maxChars:
		return fmt.Errorf("question %q has %d characters and the protocol's limit is %d; "+
			"shorten it, or leave it out", q.ID, n, s.maxChars)
	}
	return nil
}

// request returns the request that asks q.
func (s Scenario) request(t *Target, q dataset.Question) Request {
	b := map[string]any{"top_k": t.TopK, "mode": t.Mode}
	if t.MaxPerDocument != nil {
		b["max_per_document"] = *t.MaxPerDocument
	}
	if q.QuestionDate != "" {
		b["question_date"] = q.QuestionDate
	}
	s.body(t, q, b)
	return Request{
		Method: "POST", Path: BrainPath(t.Brains[q.Brain]) + s.path,
		ContentType: protocol.TypeJSON, Body: Encode(t.Dialect, b, s.aliases),
	}
}
