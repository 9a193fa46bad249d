package mapping

import (
	"context"
	"io"
	"strings"

	"evalctl/harness/launch"
	"evalctl/harness/target"
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

// Ability is what a service can do or says, and whether this one does.
type Ability struct{ Name, Text string }

// Abilities returns what a run may need of the service besides what seed.Probe does.
func (s *Service) Abilities() []Ability {
	var out []Ability
	for _, a := range []target.Ability{target.Asks, target.IDs, target.Ranks, target.Scores, target.Dates, target.Modes, target.Brains} {
		text := "yes"
		if why := s.Lacks(a); why != "" {
			text = "not measurable: " + why
		}
		out = append(out, Ability{string(a), text})
	}
	if noise := s.Seen().Noise; noise != "" {
		out = append(out, Ability{"noise", noise})
	}
	return out
}
