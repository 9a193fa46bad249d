package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"evalctl/harness/dataset"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/scorer"
)

// Foreign is how a service is used that does not speak the protocol.
type Foreign struct {
	// Mapping is nil for an MCP server whose mapping follows from its tools.
	Mapping *mapping.Mapping
	// Env looks up the variables that a mapping names for secrets.
	Env func(string) string
}

// Variables returns the names of the variables that the mapping passes on to a server, nil if there is
// no mapping.
func (f *Foreign) Variables() []string {
	if f == nil || f.Mapping == nil {
		return nil
	}
	return f.Mapping.Variables()
}

// openForeign starts or reaches a service that a mapping describes.
func (s *Session) openForeign(ctx context.Context) (err error) {
	c, o := s.config, &s.config.Launch
	starts := c.Endpoint == "" && c.Foreign.Mapping != nil && c.Foreign.Mapping.Transport == mapping.HTTP
	if starts {
		c.Endpoint = notStarted // so that what the mapping lacks is found before a process is started
	} else if c.Endpoint == "" {
		if err := s.addTemp(o); err != nil {
			return fmt.Errorf("%w: %w", ErrHome, err)
		}
		s.logPath = o.LogPath
	}
	s.foreign, err = mapping.Open(ctx, mapping.Config{
		Mapping: c.Foreign.Mapping, URL: c.Endpoint, Token: c.Token, Env: c.Foreign.Env, UserAgent: c.UserAgent,
		Concurrency: c.Concurrency, Profile: c.Profile, Launch: *o, Secrets: c.Secrets,
	})
	if err != nil {
		return err
	}
	if starts {
		if err := s.startForeign(ctx); err != nil {
			return err
		}
	}
	s.service = s.foreign
	version := s.foreign.Version()
	if s.process == nil && c.Foreign.Mapping != nil && c.Foreign.Mapping.Transport == mapping.HTTP {
		if version, err = s.foreign.Health(ctx); err != nil {
			return err
		}
	}
	m := s.foreign.Mapping()
	s.id.Version, s.id.Mapping, s.id.MappingSHA256 = version, m.Name, m.SHA256
	return nil
}

// notStarted is the URL of a process that has not been started yet.
const notStarted = "http://127.0.0.1:1"

// startForeign starts a service over HTTP. It is healthy when the health request of its mapping
// says so, or GET /healthz if there is none.
func (s *Session) startForeign(ctx context.Context) error {
	if s.config.Foreign.Mapping.Checks() {
		s.config.Launch.Alive = func(ctx context.Context, url string) error {
			if err := s.foreign.Reach(url); err != nil {
				return err
			}
			_, err := s.foreign.Health(ctx)
			return err
		}
	}
	err := s.start(ctx)
	if err != nil && !s.config.Foreign.Mapping.Checks() {
		err = fmt.Errorf("%w\nit was asked for GET /healthz; if it has another route for that, name it with health in its mapping", err)
	}
	return err
}

// Foreign returns the service if a mapping describes it, else nil.
func (s *Session) Foreign() *mapping.Service { return s.foreign }

// CheckForeign returns an error if a mapping cannot do what a run needs: ask in a scenario, keep this
// number of brains apart, and retrieve in a mode. others are the flags of other settings of retrieval
// that were given.
func CheckForeign(m *mapping.Mapping, scenario result.Scenario, brains int, mode string, others ...string) error {
	need := target.Search
	if scenario == result.AskBasic || scenario == result.AskAugmented {
		need = target.Asks
	}
	if why := m.Lacks(need); why != "" && need == target.Asks && m.Lacks(target.Search) == "" {
		return fmt.Errorf("the target has no reader: %s; use --scenario %s, or map ask", why, result.SearchOnly)
	} else if why != "" {
		return fmt.Errorf("retrieval cannot be measured of the target, and it answers no questions: %s; "+
			"evalctl target check says what it can do", why)
	}
	if why := m.Lacks(target.Put); why != "" {
		return fmt.Errorf("nothing can be written to the target: %s", why)
	}
	if brains > 1 {
		if why := m.Lacks(target.Brains); why != "" {
			return fmt.Errorf("%d brains cannot be kept apart in the target: %s; ask the questions of one brain", brains, why)
		}
	}
	if mode != "" && mode != "auto" && !m.Sends("mode") {
		return fmt.Errorf("the target cannot be asked for the mode %s: the mapping %s sends no {mode}; leave --mode out", mode, m.Name)
	}
	for _, flag := range others {
		return fmt.Errorf("%s has no effect on the target: the mapping %s does not send it; leave it out", flag, m.Name)
	}
	return nil
}

// ForeignWarnings are the reasons to doubt figures of a service that a mapping describes. questions is
// the number of questions.
func ForeignWarnings(m result.Mapped, questions int) []result.Warning {
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
	return out
}

// Texts are the documents of brains, which are found by what passages say about them, or else by
// their text. It is a Documents. Its methods may be called concurrently.
type Texts struct {
	paths  brainPaths
	found  atomic.Int64
	brains map[string]func() []plainDoc
}

// plainDoc is a document as words.
type plainDoc struct{ path, words string }

// NewTexts returns the documents of brains.
func NewTexts(brains []dataset.Brain) *Texts {
	t := &Texts{paths: dataset.PathsByBrain(brains), brains: map[string]func() []plainDoc{}}
	for _, b := range brains {
		t.brains[b.Name] = sync.OnceValue(func() []plainDoc {
			docs := make([]plainDoc, len(b.Docs))
			for i, d := range b.Docs {
				docs[i] = plainDoc{d.Path, wordsOf(string(d.Data))}
			}
			return docs
		})
	}
	return t
}

// Documents implements Documents. A passage without the path of a document belongs to the documents that contain its
// words one after the other, and to those whose words it contains, if it has some.
func (t *Texts) Documents(q dataset.Question, c result.Chunk, gold scorer.Ranking) []string {
	docs, known := t.brains[q.Brain], t.paths[q.Brain]
	words := wordsOf(c.Text)
	if docs == nil || known.Has(known.Name(c.Path)) || strings.Count(words, " ") <= fewestWords {
		return t.paths.Documents(q, c, gold)
	}
	var own []string
	for _, d := range docs() {
		if strings.Contains(d.words, words) || strings.Count(d.words, " ") > fewestWords && strings.Contains(words, d.words) {
			own = append(own, d.path)
		}
	}
	if len(own) == 0 {
		return t.paths.Documents(q, c, gold)
	}
	t.found.Add(1)
	var golden []string
	for _, g := range gold {
		if slices.Contains(own, t.paths[q.Brain].Gold(g.Path)) {
			golden = append(golden, g.Path)
		}
	}
	if len(golden) > 0 {
		slices.Sort(golden)
		return golden
	}
	return own[:1]
}

// Found returns how many passages were found by their text.
func (t *Texts) Found() int { return int(t.found.Load()) }

// fewestWords is how many words a passage needs to say by itself where it is from.
const fewestWords = 3

// wordsOf returns the words of a text in lower case, each between spaces.
func wordsOf(text string) string {
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ") + " "
}

// NoteForeign adds to a configuration what a service with a mapping needs, and nothing for a daemon
// that speaks the protocol. byText counts the passages whose documents were found by their text.
// asked is set if the service answers the questions, and so does not say what it has retrieved.
func (s *Session) NoteForeign(c *Config, asked bool, byText func() int) {
	if s.foreign == nil {
		return
	}
	c.Notes.Mapped = func() *result.Mapped {
		m := s.foreign.Seen()
		m.ByText = byText()
		if asked {
			m.NotMeasurable[result.Passages] = "the call that answers does not say what the answer rests on"
		}
		return &m
	}
	c.Notes.Warnings = slices.Concat(c.Notes.Warnings, ForeignWarnings(s.foreign.Seen(), c.Dataset.Planned()))
}

// Ask has a configuration ask a daemon of the session, whose secrets are replaced. With a mapping, documents are found by their
// texts.
func (s *Session) Ask(c *Config, d Daemon) {
	c.Secrets = s.config.Secrets
	if s.foreign != nil {
		texts := NewTexts(d.Brains)
		d.Documents = texts
		asked, ok := d.Answerer.(*target.Target)
		s.NoteForeign(c, ok && asked.Scenario.Reads(), texts.Found)
	}
	c.Asker = NewDaemon(d)
}
