package mapping

import (
	"context"
	"io"
	"strings"

	"evalctl/harness/launch"
)

// ToolNames returns the names of the tools, with commas.
func (s *Server) ToolNames() string { return listed(toolNames(s.Tools)) }

// Propose returns the mapping of the server, which profile starts, after it has tried it with a mark
// that the server does not have. It writes to w what it called.
func (s *Server) Propose(ctx context.Context, profile launch.Profile, mark string, w io.Writer) (*Proposal, error) {
	p, err := propose(s.Name, s.Tools)
	if err != nil {
		return nil, err
	}
	if env, ok := homeOf(profile); ok {
		p.inHome(env)
	}
	return p, p.try(ctx, s, mark, w)
}

// homeOf returns the variables of a profile that have {home}, and reports whether these or the command
// do.
func homeOf(p launch.Profile) (env map[string]string, ok bool) {
	for _, variable := range p.Env {
		if name, value, _ := strings.Cut(variable, "="); strings.Contains(value, "{home}") {
			if env == nil {
				env = map[string]string{}
			}
			env[name] = value
		}
	}
	return env, env != nil || strings.Contains(strings.Join(p.Command, " "), "{home}")
}
