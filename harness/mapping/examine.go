package mapping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/target"
	"evalctl/internal/httpclient"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
)

// Subject is a service without a mapping.
type Subject struct {
	Name, Version string

	cfg    Config
	offers []*offer
	one    caller
	seen   sightings
	hidden *redact.Redactor

	transport *http.Transport // to an MCP server that gets headers, else nil
}

// Examine starts or connects to an MCP server, as Open does, and lists its tools. For a URL that
// ends with .json it reads the OpenAPI description there. The caller must call Close.
func Examine(ctx context.Context, c Config) (*Subject, error) {
	s := &Subject{cfg: c}
	for _, name := range c.Headers.variables() {
		if _, err := c.variable(name); err != nil {
			return nil, fmt.Errorf("a header %w", err)
		}
	}
	secrets := target.VariableSecrets(c.Headers.variables(), s.variable)
	s.hidden = target.NewRedactor(append(secrets, c.Secrets...), c.Token)
	if Describes(c.URL) {
		return s, s.readRoutes(ctx)
	}
	one, err := s.connect(ctx, c.Launch.Home)
	if err != nil {
		return nil, err
	}
	s.one = one
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	s.Name, s.Version, _ = one.client.Server()
	s.Name, s.Version = s.hidden.Text(s.Name), s.hidden.Text(s.Version)
	tools, err := one.client.Tools(ctx)
	if err != nil {
		_ = one.close() // the error says why
		return nil, fmt.Errorf("list the tools of the MCP server: %w", s.hidden.Error(err))
	}
	s.offers = offersOf(redact.Values(s.hidden, tools))
	return s, nil
}

// Describes reports whether a URL locates a description of routes rather than a service.
func Describes(url string) bool {
	return strings.HasPrefix(url, "http") && strings.HasSuffix(url, ".json")
}

// connect connects to the MCP server, or starts it with a home, which is also its $HOME unless the
// command sets that.
func (s *Subject) connect(ctx context.Context, home string) (*server, error) {
	if s.cfg.URL != "" {
		headers, transport := s.cfg.Headers.client(s.variable)
		s.transport = transport
		return dial(ctx, s.cfg.URL, mcpclient.Options{Token: s.cfg.Token, HTTPClient: headers}, s.cfg.Launch.HealthTimeout, &s.seen, s.hidden)
	}
	p, o := s.cfg.Profile, s.cfg.Launch
	o.Home, o.Downloads = home, filepath.Join(o.Home, downloadsDir)
	if !slices.ContainsFunc(p.Env, func(v string) bool { return strings.HasPrefix(v, "HOME=") }) {
		p.Env = append(slices.Clip(p.Env), "HOME={home}")
	}
	return start(ctx, p, o, &s.seen, s.hidden)
}

// maxDescription limits the size of an OpenAPI description.
const maxDescription = 16 << 20

// readRoutes reads the OpenAPI description, which is on the service's own server.
func (s *Subject) readRoutes(ctx context.Context) error {
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	shown := llm.WithoutSecrets(s.cfg.URL)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.cfg.URL, nil)
	if err != nil { // it repeats the URL
		return fmt.Errorf("the URL of the description (%s) cannot be parsed", shown)
	}
	httpclient.Identify(req, s.cfg.UserAgent, s.cfg.Token)
	s.cfg.Headers.set(req, nil, s.variable)
	transport := newTransport()
	transport.DisableKeepAlives = true // servers close connections after an error, which trials provoke
	client := &http.Client{Transport: s.hidden.Transport(httpclient.Decompressing(transport, true)), CheckRedirect: httpclient.NoRedirect}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s: %w", shown, httpclient.Cause(ctx, err))
	}
	defer res.Body.Close()
	data, err := httpclient.ReadBody(res, maxDescription)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", shown, res.Status)
	}
	if err != nil {
		return s.hidden.Error(err)
	}
	if s.Name, s.offers, err = routesOf(data); err != nil {
		return fmt.Errorf("%s: %w", shown, err)
	}
	s.one = &web{
		base: s.cfg.URL[:strings.LastIndex(s.cfg.URL, "/")], agent: s.cfg.UserAgent, headers: s.cfg.Headers, env: s.variable, seen: &s.seen,
		client: client,
	}
	return nil
}

// variable returns the value of an environment variable named in a header. Examine has checked that
// it is set.
func (s *Subject) variable(name string) string {
	value, _ := s.cfg.variable(name)
	return value
}

// Offers returns the names of the tools or routes, separated by commas.
func (s *Subject) Offers() string { return listed(namesOf(s.offers)) }

// Close closes the connection and ends a started process.
func (s *Subject) Close() error {
	if s.transport != nil {
		defer s.transport.CloseIdleConnections()
	}
	return s.one.close()
}

// starts reports whether the service is started here, so that it can be started again.
func (s *Subject) starts() bool { return s.cfg.URL == "" }

// elsewhere calls do with another process of the server, which has a temporary home of its own.
func (s *Subject) elsewhere(ctx context.Context, do func(caller)) (err error) {
	home, err := os.MkdirTemp(filepath.Dir(s.cfg.Launch.Home), "other-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	other, err := s.connect(ctx, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.close()) }()
	do(other)
	return nil
}

// Propose tries the service and returns a mapping for it. mark is a word that the service does not
// contain. It writes the calls it makes to w.
func (s *Subject) Propose(ctx context.Context, mark string, w io.Writer) (*Proposal, error) {
	t := &trial{Subject: s, shown: w, mark: mark, samples: newSamples(mark), p: newProposal(s)}
	return t.p, t.run(ctx)
}

// homeOf returns the profile's variables that contain {home}, or HOME if neither they nor the
// command set a home.
func (s *Subject) homeOf() map[string]string {
	env := map[string]string{}
	for _, variable := range s.cfg.Profile.Env {
		if name, value, _ := strings.Cut(variable, "="); strings.Contains(value, "{home}") {
			env[name] = value
		}
	}
	if len(env) == 0 && !strings.Contains(strings.Join(s.cfg.Profile.Command, " "), "{home}") {
		env["HOME"] = "{home}"
	}
	return env
}
