package mapping

import (
	"fmt"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/dataset"
	"evalctl/internal/printable"
)

// Proposal is a mapping that is made from the names and the schemas of tools. Where a reply has what,
// try finds out.
type Proposal struct {
	Name                          string
	Server                        string
	Remember, Search, Get, Delete *Call // nil for none
	Create                        *Call // of a brain, nil for none
	Brains                        Separation
	Query                         Query
	Notes                         []string // what a reader must check

	// others remember too, if Remember does not.
	others []*Call
	env    map[string]string // with {home}
	found  *place            // in the reply of Search, nil before try
	given  string            // the path of the id in the reply of Remember, "" for none
	id     string            // what it was
}

// inHome says that the server keeps what it has in its home, which the command or these variables name
// with {home}, so that each brain can have a process.
func (p *Proposal) inHome(env map[string]string) {
	p.env, p.Brains = env, PerProcess
	p.Notes = slices.DeleteFunc(p.Notes, func(n string) bool { return n == oneStore })
}

// oneStore is the note on a server whose calls name no brain.
const oneStore = "remember or search has no argument for a brain: one store is assumed (brains: one)"

// Call is a tool with its arguments, whose strings are templates.
type Call struct {
	Tool      string
	Arguments map[string]any
}

// The words by which an operation is known, the best first.
var (
	rememberWords = []string{"remember", "add", "store", "save", "create", "write", "insert", "put", "append", "new", "record", "log", "ingest"}
	searchWords   = []string{"search", "recall", "query", "find", "retrieve", "lookup"}
	getWords      = []string{"get", "read", "open", "fetch", "view"}
	deleteWords   = []string{"delete", "forget", "remove"}

	textNames  = []string{"content", "text", "memory", "note", "observations", "observation", "body", "data", "document", "fact", "message", "value", "contents"}
	queryNames = []string{"query", "q", "question", "search_query", "text", "search", "keywords", "terms", "term", "words", "prompt", "input"}
	idNames    = []string{"id", "key", "name", "path", "memory_id", "document_id", "filename", "filepath", "file_path", "slug", "identifier", "names", "ids", "entitynames", "title"}
	spaceNames = []string{"brain", "project", "projectname", "project_name", "user_id", "userid", "namespace", "collection", "agent_id", "space", "workspace"}
	topKNames  = []string{"top_k", "topk", "limit", "k", "n_results", "max_results", "num_results", "count", "page_size"}
	dateNames  = []string{"date", "timestamp", "created_at", "occurred_at", "when"}
	titleNames = []string{"title", "subject", "heading"}
)

// propose returns the mapping of an MCP server by its tools. The error says what is missing.
func propose(name string, tools []mcpclient.Tool) (*Proposal, error) {
	p := &Proposal{Name: dataset.Slug(name), Server: name, Brains: One, Query: Question}
	given := map[string]bool{}
	choose := func(words []string, fill func(string, schema) (any, bool), must string) (best *Call, others []*Call) {
		var calls []*Call
		for _, t := range tools {
			s, err := schemaOf(t)
			if rankOf(t.Name, words) == len(words) || err != nil || given[t.Name] {
				continue
			}
			if args := argumentsOf(s, fill); uses(args, must) {
				calls = append(calls, &Call{t.Name, args})
			}
		}
		slices.SortStableFunc(calls, func(a, b *Call) int { return rankOf(a.Tool, words) - rankOf(b.Tool, words) })
		if len(calls) == 0 {
			return nil, nil
		}
		given[calls[0].Tool] = true
		return calls[0], calls[1:]
	}
	p.Create = createOf(tools, given)
	p.Search, _ = choose(searchWords, filler(queryNames, "{query}", topKNames, "{top_k}", spaceNames, "{brain}"), "{query}")
	p.Remember, p.others = choose(rememberWords, filler(textNames, "{text}", titleNames, "{title}", idNames, "{id}", spaceNames, "{brain}", dateNames, "{date}"), "{text}")
	p.Delete, _ = choose(deleteWords, filler(idNames, "{id}", spaceNames, "{brain}"), "{id}")
	p.Get, _ = choose(getWords, filler(idNames, "{id}", spaceNames, "{brain}"), "{id}")
	if p.Remember == nil {
		return nil, fmt.Errorf("none of the tools remembers a text: %s; write a mapping by hand, see docs/any-memory.md", listed(toolNames(tools)))
	}
	if uses(p.Remember.Arguments, "{brain}") && (p.Search == nil || uses(p.Search.Arguments, "{brain}")) {
		p.Brains = ByArgument
	} else if p.Create = nil; p.Search != nil {
		p.note(oneStore)
	}
	if p.Search == nil {
		p.note("no tool searches, so that retrieval cannot be measured")
	}
	for _, t := range tools {
		if words := wordsIn(t.Name); slices.Contains(words, "reset") || slices.Contains(words, "clear") || slices.Contains(words, "wipe") {
			p.note(fmt.Sprintf("the tool %s may empty the store: map it as reset, with brains: reset, if it may be called", t.Name))
		}
	}
	return p, nil
}

// createOf returns the tool that creates a brain, whatever that is called, nil for none.
func createOf(tools []mcpclient.Tool, given map[string]bool) *Call {
	for _, t := range tools {
		words := wordsIn(t.Name)
		space := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(spaceNames, w) })
		s, err := schemaOf(t)
		if err != nil || !space || !slices.Contains(words, "create") {
			continue
		}
		if args := argumentsOf(s, filler(slices.Concat(spaceNames, []string{"name", "id", "slug"}), "{brain}")); uses(args, "{brain}") {
			given[t.Name] = true
			return &Call{t.Name, args}
		}
	}
	return nil
}

func (p *Proposal) note(text string) { p.Notes = append(p.Notes, text) }

func toolNames(tools []mcpclient.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

const (
	// maxListed limits how many names an error lists.
	maxListed = 40
	// maxReported limits a name that a server reports of itself or of a tool in an error, in characters.
	maxReported = 200
)

// listed returns names as part of an error, with a mark for those that are left out.
func listed(names []string) string {
	shown := make([]string, 0, maxListed)
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, reported(name))
	}
	list := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// reported returns a name that a server reports on one line, with a mark if it was cut.
func reported(name string) string { return printable.Line(name, maxReported) }

// wordsIn returns the words of a name in snake case, kebab case or camel case.
func wordsIn(name string) []string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}

// rankOf returns how well a name fits: the place of its first word among words, their number if none
// is.
func rankOf(name string, words []string) int {
	best := len(words)
	for _, w := range wordsIn(name) {
		if at := slices.Index(words, w); at >= 0 && at < best {
			best = at
		}
	}
	return best
}

// filler returns the value of an argument by its name and schema. pairs are names and the placeholder
// that they get.
func filler(pairs ...any) func(string, schema) (any, bool) {
	return func(name string, s schema) (any, bool) {
		folded := strings.ToLower(name)
		for i := 0; i+1 < len(pairs); i += 2 {
			if !slices.Contains(pairs[i].([]string), folded) {
				continue
			}
			value := pairs[i+1].(string)
			numeric := s.Type == "number" || s.Type == "integer"
			switch {
			case s.Type == "array" && s.Items != nil && s.Items.Type == "string":
				return []any{value}, true
			case s.Type == "string" && value != "{top_k}", s.Type == "" && value != "{top_k}", numeric && value == "{top_k}":
				return value, true
			}
		}
		return nil, false
	}
}

// argumentsOf returns the arguments of a tool: those that fill knows, and a value for each other that
// is required. Objects, and lists of them, are filled in turn.
func argumentsOf(s schema, fill func(string, schema) (any, bool)) map[string]any {
	out := map[string]any{}
	taken := map[string]bool{} // placeholders that an argument has
	names := slices.Clone(s.Required)
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names[len(s.Required):], strings.Compare)
	for _, name := range names {
		property := s.Properties[name]
		required := slices.Contains(s.Required, name)
		value, known := fill(name, property)
		key := fmt.Sprint(value)
		switch {
		case known && !taken[key]:
			out[name], taken[key] = value, true
		case required && property.Type == "object":
			out[name] = argumentsOf(property, fill)
		case required && property.Type == "array" && property.Items != nil && property.Items.Type == "object":
			out[name] = []any{argumentsOf(*property.Items, fill)}
		case required:
			out[name] = anyOf(property)
		}
	}
	return out
}

// anyOf returns a value that a schema allows.
func anyOf(s schema) any {
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type {
	case "number", "integer":
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return "evalctl"
}

// uses reports whether arguments have a placeholder.
func uses(v any, placeholder string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, placeholder)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return uses(v, placeholder) })
	case map[string]any:
		for _, one := range v {
			if uses(one, placeholder) {
				return true
			}
		}
	}
	return false
}
