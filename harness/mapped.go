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
	"evalctl/harness/target"
	"evalctl/internal/figure"
)

// Description is how a service is used that does not speak the protocol.
type Description struct {
	// Mapping is nil for an MCP server whose mapping follows from its tools.
	Mapping *mapping.Mapping
	// Namespace begins the names of brains, see mapping.Config.
	Namespace string
	// Env looks up the variables that a mapping names for secrets.
	Env func(string) string
}

// Variables returns the names of the variables that the mapping passes on to a server, nil if there is
// no mapping.
func (f *Description) Variables() []string {
	if f == nil || f.Mapping == nil {
		return nil
	}
	return f.Mapping.Variables()
}

// openMapped starts or reaches a service that a mapping describes.
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

// notStarted is the URL of a process that has not been started yet.
const notStarted = "http://127.0.0.1:1"

// startMapped starts a service over HTTP. It is healthy when the health request of its mapping
// says so, or GET /healthz if there is none.
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

// Gateway reports whether the mapping gives a server that is started the address of a gateway.
func (f *Description) Gateway() bool { return f != nil && f.Mapping != nil && f.Mapping.Gateway() }

// Namespace returns what begins the names of brains at a service that a mapping describes, "" if the
// session uses the names as they are.
func (s *Session) Namespace() string {
	if s.mapped() == nil {
		return ""
	}
	return s.described.Namespace()
}

// heldQuestions is how many questions are searched for to see whether a store is empty, and heldDepth
// how many passages of each count.
const (
	heldQuestions = 5
	heldDepth     = 50
)

// Held returns how many texts a service that a mapping describes is found to have in a brain before
// anything is written to it, at the least: different passages for the first questions. It is nil for
// a daemon of the protocol, which refuses to create a brain that exists, for a brain with a process
// of its own, and if a search fails, as it may in a brain that does not exist yet. It returns an
// error if a running service keeps all texts in one store, which is not empty.
func (s *Session) Held(ctx context.Context, brain string, questions iter.Seq2[dataset.Question, error]) (*int, error) {
	if s.mapped() == nil || s.described.Mapping().Brains == mapping.PerProcess || s.described.Lacks(target.Search) != "" {
		return nil, nil
	}
	store, texts := s.described.Store(result.Auto), map[string]bool{}
	n := 0
	for q, err := range questions {
		if n++; err != nil || n > heldQuestions {
			break // the run reads it again
		}
		chunks, err := store.Search(ctx, brain, q.Question, heldDepth)
		if err != nil {
			return nil, nil
		}
		for _, c := range chunks {
			texts[c.Text] = true
		}
	}
	held := len(texts)
	if m := s.described.Mapping(); held > 0 && m.Brains == mapping.One && s.config.Endpoint != "" {
		return nil, fmt.Errorf("the store of %s has at least %s already, and the mapping %s keeps all brains in one store: "+
			"empty it, or give the mapping a reset, or an {brain} in its calls (brains: argument)", s.described.URL(), figure.Count(held, "text"), m.Name)
	}
	return &held, nil
}

// Mapped describes the service so far if a mapping makes it a target, else nil.
func (s *Session) Mapped() *result.MappedService {
	if s.mapped() == nil {
		return nil
	}
	return new(s.described.Seen())
}

// Mapped reports whether a mapping makes the service a target.
func (c SessionConfig) Mapped() bool { return c.Described != nil }

// Abilities says what the target can do as far as that is known before it is opened. An MCP server
// whose mapping follows from its tools is believed to do everything.
func (c SessionConfig) Abilities() target.Abilities {
	if c.Described != nil && c.Described.Mapping != nil {
		return c.Described.Mapping
	}
	return everything{}
}

type everything struct{}

func (everything) Lacks(target.Ability) string { return "" }

// Need is what an experiment needs of its target.
type Need struct {
	Scenario result.Scenario
	Brains   int    // to keep apart
	Mode     string // of retrieval, empty or auto for any
	// Settings are the abilities by which the flags have an effect that were given.
	Settings map[string]target.Ability
}

// Check returns an error if a target cannot do what is needed.
func (n Need) Check(can target.Abilities) error {
	answers := target.Search
	if n.Scenario == result.AskBasic || n.Scenario == result.AskAugmented {
		answers = target.Asks
	}
	if why := can.Lacks(answers); why != "" && answers == target.Asks && can.Lacks(target.Search) == "" {
		return fmt.Errorf("the target has no reader: %s; use --scenario %s, or map ask", why, result.SearchOnly)
	} else if why != "" {
		return fmt.Errorf("retrieval cannot be measured of the target, and it answers no questions: %s; "+
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

// mappedWarnings are the reasons to doubt figures of a service that a mapping describes. questions is
// the number of questions.
func mappedWarnings(m result.MappedService, questions int) []result.Warning {
	var out []result.Warning
	add := func(kind, message string) {
		out = append(out, result.Warning{Kind: kind, Count: max(1, questions), IDs: []string{}, Message: message})
	}
	if m.Query == string(mapping.Words) {
		add(result.KeywordQueries, "the target matches words literally, so that each keyword of a question was searched for on its own "+
			"(query: keywords of the mapping "+m.Mapping+"): that phrasing is part of what was measured")
	}
	if why, ok := m.NotMeasurable[string(target.IDs)]; ok {
		add(result.MatchedByText, "gold was found by its text in the replies, because the target does not say which document a passage "+
			"is from ("+why+")")
	}
	if why, ok := m.NotMeasurable[string(target.Ranks)]; ok {
		add(result.RanksNotMeasurable, "measures of ranks are not measurable: "+why)
	}
	for _, finding := range m.Findings {
		add(result.MemoryFinding, "about the memory: "+finding)
	}
	return out
}
