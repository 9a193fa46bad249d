package mapping

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/theory/jsonpath"

	"evalctl/harness/target"
	"evalctl/internal/inputfile"
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
	// Commands and Servers say which services the mapping is for: words of commands, without a version,
	// and names that servers report.
	Commands, Servers []string

	env    map[string]*template // by variable
	health *operation           // HTTP only

	remember, search, ask, get, remove, create, reset *operation
	// turns is how a conversation is remembered, nil for remember with each turn.
	turns *operation
	per   Grouping
	file  string
}

// operation is one call.
type operation struct {
	name string // of the operation in the file
	line int

	tool string // of an MCP server

	method  string // over HTTP, and so are the following
	path    *template
	query   *template
	headers map[string]*template

	arguments *template
	// limit is the largest text of one call, in characters, 0 for none. A longer one is cut into
	// several.
	limit int
	// texts is the largest number of {texts} of one call, 0 for no limit.
	texts int
	reply *reply
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
	// items selects what was found, nil for the whole reply. The others are relative to an item.
	items                             *jsonpath.Path
	text, id, score, date, title, mod *jsonpath.Path
	// split cuts a plain reply into items, and pattern reads each.
	split   string
	pattern *regexp.Regexp
	none    *regexp.Regexp // a plain reply that means that nothing was found
	ranked  bool
}

// maxFile is the largest mapping file that is read, in bytes.
const maxFile = 1 << 20

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin returns the mappings that are part of the program, by name.
func Builtin() []*Mapping {
	entries, err := builtin.ReadDir("builtin")
	if err != nil {
		panic(err) // embedded
	}
	out := make([]*Mapping, len(entries))
	for i, e := range entries {
		if out[i], err = openBuiltin(e.Name()); err != nil {
			panic(err) // tested
		}
	}
	return out
}

func openBuiltin(file string) (*Mapping, error) {
	data, err := builtin.ReadFile(path.Join("builtin", file))
	if err != nil {
		return nil, err
	}
	return Parse("builtin/"+file, data)
}

// Source returns the file of a mapping that is part of the program.
func (m *Mapping) Source() ([]byte, error) { return builtin.ReadFile(m.file) }

// Names returns the names of the mappings that are part of the program.
func Names() []string {
	var names []string
	for _, m := range Builtin() {
		names = append(names, m.Name)
	}
	return names
}

// Load returns the mapping with a name, or that of a file: a name has neither a slash nor a dot.
func Load(name string) (*Mapping, error) {
	if !strings.ContainsAny(name, `/\.`) {
		for _, m := range Builtin() {
			if m.Name == name {
				return m, nil
			}
		}
		return nil, fmt.Errorf("no mapping is called %q: give one of %s, or a file such as ./%[1]s.yaml",
			name, strings.Join(Names(), ", "))
	}
	data, err := inputfile.Read(name, maxFile)
	if errors.Is(err, inputfile.ErrTooLarge) {
		return nil, fmt.Errorf("%s: is larger than %d bytes, so that it cannot be a mapping", name, maxFile)
	}
	if err != nil {
		return nil, fmt.Errorf("mapping: %w", err)
	}
	return Parse(name, data)
}

// ForCommand returns the mapping of the program for an MCP server by the command that starts it, nil
// for none.
func ForCommand(words []string) *Mapping {
	for _, m := range Builtin() {
		for _, word := range words {
			if slices.Contains(m.Commands, unversioned(word)) || slices.Contains(m.Commands, path.Base(word)) {
				return m
			}
		}
	}
	return nil
}

// unversioned returns the name of a package without its version: name@1.2, @scope/name@1.2 and
// name==1.2.
func unversioned(word string) string {
	word, _, _ = strings.Cut(word, "==")
	if at := strings.LastIndex(word, "@"); at > 0 {
		return word[:at]
	}
	return word
}

// forServer returns the mapping of the program for an MCP server by the name that it reports and its
// tools, nil for none.
func forServer(name string, tools []string) *Mapping {
	for _, m := range Builtin() {
		if slices.Contains(m.Servers, name) {
			return m
		}
	}
	for _, m := range Builtin() {
		if m.Name == specification && slices.Contains(tools, m.search.tool) && slices.Contains(tools, m.remember.tool) {
			return m
		}
	}
	return nil
}

// specification is the name of the mapping of the tools that the specification has.
const specification = "memory-tools"

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
	return o != nil && (o.arguments.uses(name) || o.path.uses(name) || o.query.uses(name))
}

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
