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
)

// Transport is how a service is reached.
type Transport string

// The transports.
const (
	MCP  Transport = "mcp"
	HTTP Transport = "http"
)

// Query is how a question is asked.
type Query string

// A question is sent as it is, or each of its keywords in a call of its own: see Keywords.
const (
	Question Query = "question"
	Words    Query = "keywords"
)

// Separation is how brains are kept apart.
type Separation string

// The separations. A service with one store has one brain.
const (
	One        Separation = "one"
	PerProcess Separation = "process"  // a process with a home of its own for each brain
	ByArgument Separation = "argument" // the calls name the brain
	ByReset    Separation = "reset"    // one store, which is emptied before it gets a brain
)

// Grouping is what of a conversation becomes one call.
type Grouping string

// The groupings.
const (
	PerTurn    Grouping = "turn"
	PerSpeaker Grouping = "speaker"
	PerSession Grouping = "session"
)

// Mapping says how a service is used. It does not change once it is loaded.
type Mapping struct {
	Name, About string
	// SHA256 is that of the file.
	SHA256    string
	Transport Transport
	Query     Query
	Brains    Separation
	// Packages, Commands and Servers say which services the mapping is for: the packages that it was tried
	// with, such as "npm @modelcontextprotocol/server-memory 2026.8.31", words of commands, without a
	// version, and names that servers report.
	Packages, Commands, Servers []string

	env     map[string]*template // by variable
	models  result.Models        // ModelsNone if the file says so
	headers Headers              // of all requests to a URL
	errors  []*regexp.Regexp     // texts of replies that mean that a call failed
	writes  int                  // texts that are written at a time
	health  *operation           // HTTP only

	remember, search, ask, get, update, remove, create, reset *operation
	// finish is called after texts were written, and ready until they can be searched.
	finish *operation
	ready  *ready
	// turns is how a conversation is remembered, nil for remember with each turn.
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
	// limit is the largest text of one call, in characters, 0 for none. A longer one is cut into
	// several, and a longer query is cut off.
	limit int
	// topK is the largest top-k that is asked for, 0 for any.
	topK int
	// item is one of {items}, and texts the largest number of them or of {texts} in one call, 0 for no
	// limit.
	item  *template
	texts int
	// within is how long the call may take.
	within time.Duration
	reply  *reply
}

// ready is the call that says whether what was written can be searched.
type ready struct {
	*operation
	// The condition: the value at a path of the reply, or a pattern of its text.
	at      *jsonpath.Path
	is      *template
	matches *regexp.Regexp
	// progress is a value of the reply whose changes show that the service gets on, nil for none.
	progress *jsonpath.Path
}

// call returns the operation, nil for none.
func (r *ready) call() *operation {
	if r == nil {
		return nil
	}
	return r.operation
}

// called returns what is called, for messages and counts.
func (o *operation) called() string {
	if o.tool != "" {
		return o.tool
	}
	return o.method + " " + o.path.source
}

// reply says where a reply has what.
type reply struct {
	plain bool // the reply is text, not JSON
	// items selects what was found, nil for the whole reply. The others are relative to an item. With
	// columns, each selects a list of the reply, and the first of all lists are the first item.
	items                        *jsonpath.Path
	columns                      bool
	text, id, score, date, title *jsonpath.Path
	// mod is the mode that the reply reports, and next the cursor of the next page.
	mod, next *jsonpath.Path
	// split cuts a plain reply into items, and pattern reads each.
	split, pattern *regexp.Regexp
	none           *regexp.Regexp // a reply that means that nothing was found
	ranked         bool
}

// Variables returns the names of the variables that the environment of a server is made of, sorted.
func (m *Mapping) Variables() []string {
	var names []string
	for _, t := range m.env {
		names = append(names, t.secrets()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Sends reports whether a question is asked with a placeholder.
func (m *Mapping) Sends(name string) bool {
	return m.search.sends(name) || m.ask.sends(name)
}

// sends reports whether a request of the operation, which may be nil, has a placeholder.
func (o *operation) sends(name string) bool {
	return o != nil && (o.whole(name) || o.item.uses(name))
}

// whole reports whether a request has a placeholder outside its items.
func (o *operation) whole(name string) bool {
	return o.arguments.uses(name) || o.path.uses(name) || o.query.uses(name)
}

// sendsText reports whether a request has one of the placeholders of texts.
func (o *operation) sendsText(names ...string) bool { return slices.ContainsFunc(names, o.sends) }

// several reports whether a call has a list of texts.
func (o *operation) several() bool { return o.sends("texts") || o.sends("items") }

// Checks reports whether the mapping says how the service is asked whether it is alive.
func (m *Mapping) Checks() bool { return m.health != nil }

// Lacks says what the mapping does not provide, as target.Service.Lacks does.
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
			return "each keyword is searched for on its own, and the order of what was found is evalctl's"
		case m.search != nil && !m.search.reply.ranked:
			return fmt.Sprintf("by the mapping %s, what is found has no order of relevance", m.Name)
		}
		return says(func(*reply) bool { return true })
	}
	return fmt.Sprintf("a mapping has no %s", a)
}

// sum returns the SHA-256 of a file in hexadecimal.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
