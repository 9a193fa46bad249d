package mapping

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"evalctl/harness/dataset"
)

// Proposal is a mapping derived only from a service's offers and the results of calling them.
type Proposal struct {
	Name   string
	Server string // the name that an MCP server reports, "" over HTTP
	Brains Separation
	Query  Query
	Notes  []string // what a reader must check

	// The calls, nil if not found.
	Remember, Search, Get, Update, Delete, Create, Finish *Call

	env     map[string]string
	headers map[string]string
	given   map[string]any // where the reply of Remember has ids, nil for none
	found   *place         // where the reply of Search has what
	gotten  *place         // where the reply of Get has it
}

func newProposal(s *Subject) *Proposal {
	p := &Proposal{Name: dataset.Slug(s.Name), Brains: One, Query: Question, headers: s.cfg.Headers.sources()}
	if p.Name == "" {
		p.Name = "memory"
	}
	if !Describes(s.cfg.URL) {
		p.Server = s.Name
	}
	return p
}

func (p *Proposal) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Mapping returns the mapping file.
func (p *Proposal) Mapping() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed by evalctl target map, which tried each call. Read it before it is used.\n")
	for _, n := range p.Notes {
		fmt.Fprintf(&b, "# %s\n", strings.Join(strings.Fields(n), " "))
	}
	out := struct {
		Name      string              `yaml:"name"`
		Transport string              `yaml:"transport,omitempty"`
		For       map[string][]string `yaml:"for,flow,omitempty"`
		Query     Query               `yaml:"query"`
		Brains    Separation          `yaml:"brains"`
		Env       map[string]string   `yaml:"env,omitempty"`
		Headers   map[string]string   `yaml:"headers,omitempty"`
		Create    *entry              `yaml:"create,omitempty"`
		Remember  *entry              `yaml:"remember,omitempty"`
		Finish    *entry              `yaml:"finish,omitempty"`
		Search    *entry              `yaml:"search,omitempty"`
		Get       *entry              `yaml:"get,omitempty"`
		Update    *entry              `yaml:"update,omitempty"`
		Delete    *entry              `yaml:"delete,omitempty"`
	}{
		Name: p.Name, Query: p.Query, Brains: p.Brains, Env: p.env, Headers: p.headers,
		Create: p.Create.entry(nil), Remember: p.Remember.entry(p.given), Finish: p.Finish.entry(nil),
		Search: p.Search.entry(p.found.reply()), Update: p.Update.entry(nil), Delete: p.Delete.entry(nil),
	}
	if p.Get != nil {
		out.Get = p.Get.entry(p.gotten.reply())
	}
	if p.Server == "" {
		out.Transport = string(HTTP)
	} else {
		out.For = map[string][]string{"servers": {p.Server}}
	}
	data, err := yaml.Marshal(out)
	if err != nil {
		return nil, err
	}
	data = append([]byte(b.String()), data...)
	_, err = Parse("the proposal", data)
	return data, err
}
