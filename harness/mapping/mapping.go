package mapping

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/theory/jsonpath"
	"go.yaml.in/yaml/v3"

	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/environ"
	"evalctl/internal/redact"
)

// Transport is how a service is reached.
type Transport string

// The transports.
const (
	MCP  Transport = "mcp"
	HTTP Transport = "http"
)

// Query says how a question is turned into searches.
type Query string

// A question is sent unchanged, or each of its keywords in a separate call; see Keywords.
const (
	Question Query = "question"
	Words    Query = "keywords"
)

// Separation says how brains are kept apart.
type Separation string

// The separations. With One, the service has a single store and thus a single brain.
const (
	One        Separation = "one"
	PerProcess Separation = "process"  // a process with a home of its own for each brain
	ByArgument Separation = "argument" // the calls name the brain
	ByReset    Separation = "reset"    // one store, which is emptied before it gets a brain
)

// Grouping says which part of a conversation is sent in one call.
type Grouping string

// The groupings.
const (
	PerTurn    Grouping = "turn"
	PerSpeaker Grouping = "speaker"
	PerSession Grouping = "session"
)

// Mapping says how to use a service. It is immutable once loaded.
type Mapping struct {
	Name, About string
	// SHA256 is the digest of the file.
	SHA256    string
	Transport Transport
	Query     Query
	Brains    Separation
	// Packages, Commands and Servers identify the mapping's services: tested packages such as "npm
	// @modelcontextprotocol/server-memory 2026.8.31", words of commands without a version, and
	// reported server names.
	Packages, Commands, Servers []string

	env     map[string]*template // by variable
	models  result.Models        // ModelsNone if the file says so
	headers Headers              // of all requests to a URL
	errors  []*regexp.Regexp     // texts of replies that mean that a call failed
	writes  int                  // texts that are written at a time
	health  *operation           // HTTP only

	remember, search, ask, get, update, remove, create, reset *operation
	// finish is called after writing texts, and ready until they can be searched.
	finish *operation
	ready  *readiness
	// turns remembers a conversation; if nil, remember is used for each turn.
	turns *operation
	per   Grouping
	file  string
}

// operation is one call.
type operation struct {
	name string // of the operation in the file
	at   *yaml.Node

	tool string // of an MCP server

	method  string // over HTTP, and so are the following
	path    *template
	query   *template
	headers Headers

	arguments *template
	// limit is the maximum length of a text in one call, in characters, 0 for none. A longer text
	// is split over several calls, and a longer query is cut off.
	limit int
	// topK is the largest top-k to request, 0 for no limit.
	topK int
	// item is the template for each of {items}. texts limits their number, or the number of
	// {texts}, in one call, 0 for no limit.
	item  *template
	texts int
	// within is the time limit of the call.
	within time.Duration
	reply  *reply
}

// readiness is the call that tells whether written texts can be searched.
type readiness struct {
	*operation
	// The condition: the value at a path of the reply, or a pattern in its text.
	at      *jsonpath.Path
	is      *template
	matches *regexp.Regexp
	// progress selects a value whose changes show that the service makes progress, nil for none.
	progress *jsonpath.Path
}

// call returns the operation, nil if r is nil.
func (r *readiness) call() *operation {
	if r == nil {
		return nil
	}
	return r.operation
}

// called returns the tool or route for messages and counts.
func (o *operation) called() string {
	if o.tool != "" {
		return o.tool
	}
	return o.method + " " + o.path.source
}

// answersQuestion reports whether the operation answers questions. Its calls may be repeated.
func (o *operation) answersQuestion() bool { return o.name == "search" || o.name == "ask" }

// reply says where to find the parts of a reply.
type reply struct {
	plain bool // the reply is text, not JSON
	// items selects the found items, nil for the whole reply. The other paths are relative to an
	// item. With columns, each path selects a list of the reply, and the first elements of all
	// lists form the first item.
	items                        *jsonpath.Path
	columns                      bool
	text, id, score, date, title *jsonpath.Path
	// mod is the reported mode, and next the cursor of the next page.
	mod, next *jsonpath.Path
	// split divides a plain reply into items, and pattern reads each item.
	split, pattern *regexp.Regexp
	none           *regexp.Regexp // a reply that means that nothing was found
	ranked         bool
}

// Variables returns the sorted names of the variables used in the server's environment.
func (m *Mapping) Variables() []string {
	var names []string
	for _, t := range m.env {
		names = append(names, t.secrets()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// headerVariables returns the names of the variables used in headers.
func (m *Mapping) headerVariables() []string {
	names := m.headers.variables()
	for _, o := range m.operations() {
		names = append(names, o.headers.variables()...)
	}
	return names
}

// CheckVariables returns an error for a variable that the service needs and that is not set. Its
// own environment counts only if it is started.
func (m *Mapping) CheckVariables(env func(string) string, started bool) error {
	names := m.headerVariables()
	if started {
		names = append(names, m.Variables()...)
	}
	for _, name := range names {
		if env(name) == "" {
			return fmt.Errorf("the mapping %s needs the environment variable %s, which is not set", m.Name, name)
		}
	}
	return nil
}

// Secrets returns the values that the service receives in headers, and in variables that are named
// like a credential. The service may send them back.
func (m *Mapping) Secrets(env func(string) string) []redact.Secret {
	names := m.headerVariables()
	for key, t := range m.env {
		for _, name := range t.secrets() {
			if environ.HoldsSecret(key, env(name)) {
				names = append(names, name)
			}
		}
	}
	return target.VariableSecrets(names, env)
}

// Sends reports whether questions use a placeholder.
func (m *Mapping) Sends(name string) bool {
	return m.search.sends(name) || m.ask.sends(name)
}

// sends reports whether the operation, which may be nil, uses a placeholder.
func (o *operation) sends(name string) bool {
	return o != nil && (o.whole(name) || o.item.uses(name))
}

// whole reports whether a request uses a placeholder outside its items.
func (o *operation) whole(name string) bool {
	return o.arguments.uses(name) || o.path.uses(name) || o.query.uses(name)
}

// sendsText reports whether a request uses one of these placeholders for texts.
func (o *operation) sendsText(names ...string) bool { return slices.ContainsFunc(names, o.sends) }

// several reports whether a call sends a list of texts.
func (o *operation) several() bool { return o.sends("texts") || o.sends("items") }

// Checks reports whether the mapping has a health check.
func (m *Mapping) Checks() bool { return m.health != nil }

// Lacks says why an ability is missing, as target.Service.Lacks does.
func (m *Mapping) Lacks(a target.Ability) string {
	has := func(o *operation) string {
		if o != nil {
			return ""
		}
		return fmt.Sprintf("the mapping %s has no %s", m.Name, a)
	}
	says := func(what func(*reply) bool) string {
		for _, o := range []*operation{m.search, m.ask} {
			if o != nil && what(o.reply) {
				return ""
			}
		}
		return fmt.Sprintf("by the mapping %s, no reply says it", m.Name)
	}
	switch a {
	case target.Asks:
		return has(m.ask)
	case target.Search:
		return has(m.search)
	case target.Put:
		return has(m.remember)
	case target.Tell:
		if m.turns != nil {
			return ""
		}
		return has(m.remember)
	case target.Overwrite:
		if m.update != nil || m.remove != nil {
			return ""
		}
		return fmt.Sprintf("the mapping %s has neither update nor delete", m.Name)
	case target.Delete:
		return has(m.remove)
	case target.Get:
		return has(m.get)
	case target.Brains:
		if m.Brains == ByArgument || m.Brains == PerProcess {
			return ""
		}
		return fmt.Sprintf("by the mapping %s, it has one store", m.Name)
	case target.NewBrains:
		if m.Brains != One {
			return ""
		}
		return fmt.Sprintf("the mapping %s keeps all brains in one store, which it does not empty", m.Name)
	case target.IDs:
		return says(func(r *reply) bool { return r.id != nil || r.group("id") })
	case target.Scores:
		return says(func(r *reply) bool { return r.score != nil || r.group("score") })
	case target.Dates:
		return says(func(r *reply) bool { return r.date != nil || r.group("date") })
	case target.Modes:
		return says(func(r *reply) bool { return r.mod != nil })
	case target.Mode:
		if m.Sends("mode") {
			return ""
		}
		return fmt.Sprintf("the mapping %s sends no {mode}", m.Name)
	case target.CandidateK, target.RerankTopN, target.MaxPerDocument:
		return fmt.Sprintf("the mapping %s does not send it", m.Name)
	case target.Protocol:
		return "the target does not speak the protocol"
	case target.Sessions, target.Consolidate:
		return "only a daemon that speaks the protocol has it"
	case target.Ranks:
		switch {
		case m.Query == Words:
			return "each keyword is searched for on its own, and evalctl itself orders the passages found"
		case m.search != nil && !m.search.reply.ranked:
			return fmt.Sprintf("by the mapping %s, passages are not ordered by relevance", m.Name)
		}
		return says(func(*reply) bool { return true })
	}
	return fmt.Sprintf("a mapping has no %s", a)
}

// sum returns the SHA-256 of data in hexadecimal.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
