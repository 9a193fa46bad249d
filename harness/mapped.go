package harness

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"evalctl/harness/dataset"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/figure"
	"evalctl/internal/redact"
)

// Description says how to use a service that does not speak the protocol.
type Description struct {
	// Mapping is nil for an MCP server whose mapping is chosen by its tools.
	Mapping *mapping.Mapping
	// Namespace is the prefix of brain names, see mapping.Config.
	Namespace string
	// Env looks up variables with secrets named in a mapping.
	Env func(string) string
}

// InNewNamespace returns the description with a namespace that no other process uses.
func (f *Description) InNewNamespace() *Description {
	if f == nil {
		return nil
	}
	own := *f
	own.Namespace = "evalctl-" + seed.NewMark() + "-"
	return &own
}

// Variables returns the variables that the mapping passes on to a server, nil without a mapping.
func (f *Description) Variables() []string {
	if f == nil || f.Mapping == nil {
		return nil
	}
	return f.Mapping.Variables()
}

// secrets returns the values of the environment that the mapping passes on.
func (f *Description) secrets() []redact.Secret {
	if f == nil || f.Mapping == nil || f.Env == nil {
		return nil
	}
	return f.Mapping.Secrets(f.Env)
}

// openMapped starts or connects to a service described by a mapping.
func (s *Session) openMapped(ctx context.Context) (err error) {
	c, o := s.config, &s.config.Launch
	starts := c.Endpoint == "" && c.Described.Mapping != nil && c.Described.Mapping.Transport == mapping.HTTP
	if starts {
		c.Endpoint = notStarted // so that what the mapping lacks is found before a process is started
	} else if c.Endpoint == "" {
		if err := s.settle(o); err != nil {
			return fmt.Errorf("%w: %w", ErrHome, err)
		}
		s.logPath = o.LogPath
	}
	s.described, err = mapping.Open(ctx, mapping.Config{
		Mapping: c.Described.Mapping, URL: c.Endpoint, Token: c.Token, Env: c.Described.Env, UserAgent: c.UserAgent,
		Concurrency: c.Concurrency, Profile: c.Profile, Launch: *o, Secrets: c.Secrets,
		Namespace: c.Described.Namespace,
	})
	if err != nil {
		return err
	}
	if starts {
		if err := s.startMapped(ctx); err != nil {
			return err
		}
	}
	s.service = s.described
	version := s.described.Version()
	if s.process == nil && c.Described.Mapping != nil && c.Described.Mapping.Transport == mapping.HTTP {
		if version, err = s.described.Health(ctx); err != nil {
			return err
		}
	}
	m := s.described.Mapping()
	s.id.Version, s.id.Mapping, s.id.MappingSHA256 = version, m.Name, m.SHA256
	return nil
}

// notStarted is the URL of a process that has not started yet.
const notStarted = "http://127.0.0.1:1"

// startMapped starts an HTTP service. Its health is checked by the mapping's health request, or GET
// /healthz if there is none.
func (s *Session) startMapped(ctx context.Context) error {
	if s.config.Described.Mapping.Checks() {
		s.config.Launch.Alive = func(ctx context.Context, url string) error {
			if err := s.described.Reach(url); err != nil {
				return err
			}
			_, err := s.described.Health(ctx)
			return err
		}
	}
	o := &s.config.Launch
	if err := s.settle(o); err != nil {
		return fmt.Errorf("%w: %w", ErrHome, err)
	}
	env, err := s.described.Environment(s.config.Profile.Env, o.Home)
	if err != nil {
		return err
	}
	s.config.Profile.Env = append(env, s.config.Profile.Env...)
	s.logPath = o.LogPath
	err = s.launch(ctx)
	if err != nil && !s.config.Described.Mapping.Checks() {
		err = fmt.Errorf("%w\nit was asked for GET /healthz; if it has another route for that, name it with health in its mapping", err)
	}
	return err
}

// Gateway reports whether the mapping passes the address of a gateway to a started server.
func (f *Description) Gateway() bool { return f != nil && f.Mapping != nil && f.Mapping.Gateway() }

// Namespace returns the prefix of brain names at a mapped service, "" if names are used unchanged.
func (s *Session) Namespace() string {
	if s.mapped() == nil {
		return ""
	}
	return s.described.Namespace()
}

// OwnProcesses reports whether each brain of a mapped service has a process of its own, started
// when the brain is used.
func (s *Session) OwnProcesses() bool {
	return s.mapped() != nil && s.described.Mapping().Brains == mapping.PerProcess
}

// Held returns the minimum number of texts that a mapped service has in a brain before anything
// is written: the distinct passages found for the first questions. It is nil if unknown: for a
// daemon of the protocol, which refuses to create an existing brain; for a brain with a process
// of its own; and if a search fails, as it may in a brain that does not exist yet. It returns an
// error if a running service keeps all texts in one store that is not empty, or that could not
// be searched.
func (s *Session) Held(ctx context.Context, brain string, questions iter.Seq2[dataset.Question, error]) (*int, error) {
	if s.mapped() == nil || s.OwnProcesses() || s.described.Lacks(target.Search) != "" {
		return nil, nil
	}
	store, m := s.described.Store(result.Auto), s.described.Mapping()
	shared := m.Brains == mapping.One && s.config.Endpoint != ""
	var queries []string
	for q, err := range questions {
		if err != nil || len(queries) == seed.HeldProbes {
			break // the run reads it again
		}
		queries = append(queries, q.Question)
	}
	held, err := seed.Distinct(queries, func(query string, topK int) ([]result.Chunk, error) {
		if shared { // what a failure hides would be written to
			return seed.Search(ctx, store, brain, query, topK)
		}
		return store.Search(ctx, brain, query, topK)
	})
	if err != nil && shared && !seed.Refused(err) {
		return nil, fmt.Errorf("search the store of %s, which may have texts of others: %w", s.described.URL(), err)
	}
	if err != nil {
		return nil, nil
	}
	if held > 0 && shared {
		return nil, fmt.Errorf("the store of %s has at least %s already, and the mapping %s keeps all brains in one store: "+
			"empty it, or give the mapping a reset, or an {brain} in its calls (brains: argument)", s.described.URL(), figure.Count(held, "text"), m.Name)
	}
	return &held, nil
}

// Mapped describes a mapped service so far, nil for others.
func (s *Session) Mapped() *result.MappedService {
	if s.mapped() == nil {
		return nil
	}
	return new(s.described.Seen())
}

// Mapped reports whether the service is described by a mapping.
func (c SessionConfig) Mapped() bool { return c.Described != nil }

// Abilities returns the target's abilities as far as known before it is opened. An MCP server whose
// mapping is chosen by its tools is assumed to have all.
func (c SessionConfig) Abilities() target.Abilities {
	if c.Described != nil && c.Described.Mapping != nil {
		return c.Described.Mapping
	}
	return allAbilities{}
}

// allAbilities lacks none.
type allAbilities struct{}

func (allAbilities) Lacks(target.Ability) string { return "" }

// Need is what an experiment requires of its target.
type Need struct {
	Scenario result.Scenario
	Brains   int    // to keep apart
	Mode     string // of retrieval, empty or auto for any
	// Settings maps given flags to the ability that each needs to have an effect.
	Settings map[string]target.Ability
}

// Check returns an error if a target lacks a required ability.
func (n Need) Check(can target.Abilities) error {
	answers := target.Search
	if n.Scenario == result.AskBasic || n.Scenario == result.AskAugmented {
		answers = target.Asks
	}
	if why := can.Lacks(answers); why != "" && answers == target.Asks && can.Lacks(target.Search) == "" {
		return fmt.Errorf("the target has no reader: %s; use --scenario %s, or map ask", why, result.SearchOnly)
	} else if why != "" {
		return fmt.Errorf("the target neither returns passages nor answers questions, so it cannot be evaluated: %s; "+
			"evalctl target check says what it can do", why)
	}
	if why := can.Lacks(target.Put); why != "" {
		return fmt.Errorf("nothing can be written to the target: %s", why)
	}
	if n.Brains > 1 {
		if why := can.Lacks(target.Brains); why != "" {
			return fmt.Errorf("%d brains cannot be kept apart in the target: %s; ask the questions of one brain", n.Brains, why)
		}
	}
	if n.Mode != "" && n.Mode != "auto" {
		if why := can.Lacks(target.Mode); why != "" {
			return fmt.Errorf("the target cannot be asked for the mode %s: %s; leave --mode out", n.Mode, why)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(n.Settings)) {
		if why := can.Lacks(n.Settings[flag]); why != "" {
			return fmt.Errorf("%s has no effect on the target: %s; leave it out", flag, why)
		}
	}
	return nil
}

// The kinds of the warnings about a mapped service: keywords were searched for instead of questions,
// gold was recognized by its text, something cannot be measured, and a finding about the service.
const (
	keywordQueries     = "keyword_queries"
	matchedByText      = "matched_by_text"
	ranksNotMeasurable = "not_measurable"
	memoryFinding      = "memory_finding"
)

// mappedWarnings returns reasons to doubt the figures of a mapped service. questions is the number
// of questions.
func mappedWarnings(m result.MappedService, questions int) []result.Warning {
	var out []result.Warning
	add := func(kind, message string) {
		out = append(out, result.Warning{Kind: kind, Count: max(1, questions), IDs: []string{}, Message: message})
	}
	if m.Query == string(mapping.Words) {
		add(keywordQueries, "the target matches words literally, so that each keyword of a question was searched for on its own "+
			"(query: keywords of the mapping "+m.Mapping+"): the figures depend on that phrasing")
	}
	if why, ok := m.NotMeasurable[string(target.IDs)]; ok {
		add(matchedByText, "gold was found by its text in the replies, because the target does not say which document a passage "+
			"is from ("+why+")")
	}
	if why, ok := m.NotMeasurable[string(target.Ranks)]; ok {
		add(ranksNotMeasurable, "measures of ranks are not measurable: "+why)
	}
	for _, finding := range m.Findings {
		add(memoryFinding, "about the memory: "+finding)
	}
	return out
}
