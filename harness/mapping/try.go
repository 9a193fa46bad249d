package mapping

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/target"
	"evalctl/internal/redact"
)

// Server is an MCP server without a mapping.
type Server struct {
	Name, Version string
	Tools         []mcpclient.Tool

	one  *server
	seen seen
}

// Examine starts or reaches an MCP server, as Open does, and lists its tools. The caller must Close
// it.
func Examine(ctx context.Context, c Config) (s *Server, err error) {
	s = &Server{}
	hidden := target.NewRedactor(c.Secrets, c.Token)
	if c.URL != "" {
		s.one, err = dial(ctx, c.URL, c.Token, &s.seen, hidden)
	} else {
		s.one, err = start(ctx, c.Profile, c.Launch, &s.seen, hidden)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	s.Name, s.Version, _ = s.one.client.Server()
	s.Name, s.Version = hidden.Text(s.Name), hidden.Text(s.Version)
	if s.Tools, err = s.one.client.Tools(ctx); err != nil {
		_ = s.one.close() // the error says why
		return nil, fmt.Errorf("list the tools of the MCP server: %w", hidden.Error(err))
	}
	s.Tools = redact.Values(hidden, s.Tools)
	return s, nil
}

// Close ends the connection, and a process that was started.
func (s *Server) Close() error { return s.one.close() }

// findWithin is how long what was written may take to be found.
const findWithin = 15 * time.Second

// try makes one call for each operation of a proposal, writes the calls and the replies to w, and
// finds out where the replies have what. mark is a word that the server does not have. What it writes
// to the server is deleted again if there is a tool for that.
func (p *Proposal) try(ctx context.Context, s *Server, mark string, w io.Writer) error {
	values := map[string]any{
		"brain": "evalctl-" + mark, "id": "evalctl-" + mark, "title": "The harbour of " + mark, "date": "2025-01-31",
		"text": fmt.Sprintf("The harbour master of %s keeps three lanterns.", mark), "query": mark, "top_k": 5,
	}
	if p.Create != nil {
		if _, err := p.call(ctx, s, "create", p.Create, values, w); err != nil {
			p.note(fmt.Sprintf("create with %s failed and is left out: %v", p.Create.Tool, err))
			p.Create = nil
		} else {
			p.note("what create made is still there: " + fmt.Sprint(values["brain"]))
		}
	}
	a, err := p.call(ctx, s, "remember", p.Remember, values, w)
	for err != nil && len(p.others) > 0 && ctx.Err() == nil {
		p.Remember, p.others = p.others[0], p.others[1:]
		a, err = p.call(ctx, s, "remember", p.Remember, values, w)
	}
	if err != nil {
		return fmt.Errorf("the tool %s does not remember a text with these arguments; write the mapping by hand: %w", p.Remember.Tool, err)
	}
	p.learnID(a, fmt.Sprint(values["id"]))
	if p.Search != nil {
		if err := p.trySearch(ctx, s, mark, values, w); err != nil {
			return err
		}
	}
	if p.id != "" {
		values["id"] = p.id
	}
	for _, o := range []struct {
		name string
		call **Call
	}{{"get", &p.Get}, {"delete", &p.Delete}} {
		if *o.call == nil {
			continue
		}
		if _, err := p.call(ctx, s, o.name, *o.call, values, w); err != nil {
			p.note(fmt.Sprintf("%s with %s failed and is left out: %v", o.name, (*o.call).Tool, err))
			*o.call = nil
		}
	}
	if p.Delete == nil {
		p.note(fmt.Sprintf("nothing deletes: what was written with the word %s is still there", mark))
	}
	return nil
}

// trySearch searches for the mark alone and then with a question, until it is found.
func (p *Proposal) trySearch(ctx context.Context, s *Server, mark string, values map[string]any, w io.Writer) error {
	deadline := time.Now().Add(findWithin)
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		a, err := p.call(ctx, s, "search", p.Search, values, w)
		if err != nil {
			return fmt.Errorf("the tool %s does not search with these arguments; write the mapping by hand: %w", p.Search.Tool, err)
		}
		if p.found = locate(a, mark, fmt.Sprint(values["id"]), p.id); p.found != nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the tool %s does not find what %s has remembered within %v; write the mapping by hand",
				p.Search.Tool, p.Remember.Tool, findWithin)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
	asked := maps.Clone(values)
	asked["query"] = "How many lanterns does somebody keep who is at the harbour of " + mark + "?"
	a, err := p.call(ctx, s, "search", p.Search, asked, w)
	if err != nil || locate(a, mark, "", "") == nil {
		p.Query = Words
		p.note("a question with the words of the text does not find it, and one of its words does: keywords are searched for")
	}
	return nil
}

// call makes a call and shows it.
func (p *Proposal) call(ctx context.Context, s *Server, name string, c *Call, values map[string]any, w io.Writer) (answered, error) {
	f := &file{"the proposal"}
	var doc yaml.Node
	data, err := yaml.Marshal(c.Arguments)
	if err == nil {
		err = yaml.Unmarshal(data, &doc)
	}
	if err != nil {
		return answered{}, err
	}
	o := &operation{name: name, tool: c.Tool}
	if o.arguments, err = f.compile(doc.Content[0], slices.Collect(maps.Keys(values))); err != nil {
		return answered{}, err
	}
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	shown, err := json.Marshal(o.arguments.render(values))
	if err != nil {
		return answered{}, err
	}
	a, err := s.one.call(ctx, o, values)
	fmt.Fprintf(w, "%s\n  call   %s %s\n", name, c.Tool, shown)
	switch {
	case err != nil:
		fmt.Fprintf(w, "  failed %v\n", err)
	case a.structured != nil:
		fmt.Fprintf(w, "  reply  %s\n", a.structured)
	default:
		fmt.Fprintf(w, "  reply  %s\n", strings.Join(a.texts, "\n         "))
	}
	return a, err
}

// learnID finds out whether the server gives ids of its own, other than the one that was sent.
func (p *Proposal) learnID(a answered, sent string) {
	v, err := a.value("")
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return
	}
	for _, name := range idNames {
		for key, value := range object {
			if id, text := value.(string); strings.EqualFold(key, name) && text && id != sent {
				p.given, p.id = pathText([]any{key}), id
				return
			}
		}
	}
}

// Mapping returns the file.
func (p *Proposal) Mapping() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed by evalctl target map from the tools of %s. Read it before it is used.\n", p.Server)
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(n), " "))
	}
	type entry struct {
		Tool      string         `yaml:"tool"`
		Arguments map[string]any `yaml:"arguments,flow"`
		Reply     map[string]any `yaml:"reply,flow,omitempty"`
	}
	out := struct {
		Name     string              `yaml:"name"`
		For      map[string][]string `yaml:"for,flow"`
		Query    Query               `yaml:"query"`
		Brains   Separation          `yaml:"brains"`
		Env      map[string]string   `yaml:"env,omitempty"`
		Create   *entry              `yaml:"create,omitempty"`
		Remember *entry              `yaml:"remember,omitempty"`
		Search   *entry              `yaml:"search,omitempty"`
		Get      *entry              `yaml:"get,omitempty"`
		Delete   *entry              `yaml:"delete,omitempty"`
	}{Name: p.Name, For: map[string][]string{"servers": {p.Server}}, Query: p.Query, Brains: p.Brains, Env: p.env}
	of := func(c *Call, reply map[string]any) *entry {
		if c == nil {
			return nil
		}
		return &entry{c.Tool, c.Arguments, reply}
	}
	var given map[string]any
	if p.given != "" {
		given = map[string]any{"id": p.given}
	}
	out.Remember, out.Get, out.Delete = of(p.Remember, given), of(p.Get, map[string]any{"format": "text"}), of(p.Delete, nil)
	out.Create = of(p.Create, nil)
	if p.Search != nil {
		out.Search = of(p.Search, p.found.reply())
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return nil, err
	}
	data = append([]byte(b.String()), data...)
	_, err = Parse("the proposal", data)
	return data, err
}
