package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"evalctl/harness"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/seed"
	"evalctl/harness/target"
)

// FindServer returns how to start or connect to the service given as a target, a command or URL of
// an MCP server, or the URL of an OpenAPI description.
func (t Targets) FindServer(given, token string) (config harness.SessionConfig, err error) {
	if mapping.Describes(given) {
		return harness.SessionConfig{Endpoint: given, Token: token, UserAgent: t.UserAgent, Secrets: t.Secrets}, nil
	}
	_, defined := t.Defined[given]
	name, definition, _ := strings.Cut(given, "=")
	if named := target.IsName(name) && strings.HasPrefix(definition, "mcp:"); !defined && !named {
		given = "server=mcp:" + strings.TrimPrefix(given, "mcp:")
	}
	d, err := t.Registry.FindServer(given)
	if err != nil {
		return config, err
	}
	if !d.MCP {
		return config, fmt.Errorf("target %s is not an MCP server; of a service over HTTP give the URL of its OpenAPI description, such as http://127.0.0.1:8000/openapi.json", d.Name)
	}
	return t.Session(d, token, 0)
}

// ProposeMapping starts or connects to a service, tries its tools or routes and returns a mapping
// file for it. A started server has its data below home, an empty folder. headers are added to
// requests to a URL, with variables from env. The calls and the server's replies are written
// unescaped to shown.
func ProposeMapping(
	ctx context.Context, config harness.SessionConfig, headers mapping.Headers, env func(string) string, home string, shown io.Writer,
) (_ []byte, err error) {
	config.Launch.Secrets = config.Secrets
	config.Launch.Home, config.Launch.LogPath = filepath.Join(home, "data"), filepath.Join(home, "log")
	if err := os.Mkdir(config.Launch.Home, 0o700); err != nil {
		return nil, err
	}
	config.Launch.SelfContained = !config.HomeOfUser
	s, err := mapping.Examine(ctx, mapping.Config{
		URL: config.Endpoint, Token: config.Token, Headers: headers, Env: env, UserAgent: config.UserAgent, Profile: config.Profile, Launch: config.Launch, Secrets: config.Secrets,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Fprintf(shown, "server %s %s offers: %s\n", s.Name, s.Version, s.Offers())
	proposal, err := s.Propose(ctx, seed.NewMark(), shown)
	if err != nil {
		return nil, err
	}
	return proposal.Mapping()
}

// CheckTarget writes, finds and deletes a text at a session's service. It calls found with the name
// of each step and how long it took, once the step has ended, and then with each ability and why it is
// missing. It reports whether a step failed for another reason than a missing ability.
func CheckTarget(ctx context.Context, session *harness.Session, d result.Dialect, found func(name, text string)) (failed bool) {
	found("target", session.Service().URL())
	m := session.Mapped()
	if m != nil {
		found("mapping", fmt.Sprintf("%s  sha256 %.12s  query %s  brains %s", m.Mapping, m.SHA256, m.Query, m.Brains))
		if m.Protocol != "" {
			found("server", fmt.Sprintf("%s %s  MCP %s", m.Server, m.ServerVersion, m.Protocol))
		}
	}
	seed.Probe(ctx, session.Service(), d, seed.NewMark(), func(s seed.Step) {
		failed = failed || s.Err != nil && !s.Lacked()
		found(s.Name, s.Outcome())
	})
	if m == nil {
		return failed
	}
	for _, a := range []target.Ability{target.Asks, target.IDs, target.Ranks, target.Scores, target.Dates, target.Modes, target.Brains} {
		text := "yes"
		if why := session.Service().Lacks(a); why != "" {
			text = "not measurable: " + why
		}
		found(string(a), text)
	}
	if noise := session.Mapped().Noise; noise != "" {
		found("noise", noise)
	}
	return failed
}
