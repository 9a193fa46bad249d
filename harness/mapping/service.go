package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/redact"
)

// Config says which service to use, and how.
type Config struct {
	// Mapping is nil to choose by what an MCP server reports.
	Mapping *Mapping
	// URL locates a running service. If empty, Profile starts an MCP server.
	URL string
	// Token authenticates requests to an MCP server at a URL. It may be empty.
	Token string
	// Env looks up variables named in a mapping or Headers.
	Env func(string) string
	// Headers are for the requests of Examine. Open uses the mapping's headers.
	Headers   Headers
	UserAgent string
	// Namespace is the prefix of the names of created brains at the service, so that no two runs
	// share one. Brains that are found have their own names.
	Namespace string
	// Concurrency is the expected number of concurrent requests.
	Concurrency int

	Profile launch.Profile
	Launch  launch.Options // Home and LogPath are required for Profile
	// Secrets, such as those of the Mapping, and the token are redacted in the service's replies
	// and output.
	Secrets []redact.Secret
}

// Service is a memory service described by a mapping. It implements target.Service.
type Service struct {
	cfg     Config
	mapping *Mapping
	seen    sightings
	metered bool // the service has the address of a gateway
	clock   clock
	secrets *redact.Redactor

	// Reported by an MCP server.
	name, version, protocol string
	tools                   []mcpclient.Tool

	main      caller          // of all brains, nil if each has its own
	transport *http.Transport // to an MCP server whose mapping has headers, else nil
	pool      *pool           // of the others
	ended     chan struct{}
	died      func(error)
	why       error // before ended is closed

	mu     sync.Mutex
	brains map[string]*brain // by name
}

var _ target.Service = (*Service)(nil)

// Open starts or connects to the service. ctx applies only to Open itself. The caller must call
// Close. If Open returns an error, no process is left running.
func Open(ctx context.Context, c Config) (*Service, error) {
	s := &Service{cfg: c, mapping: c.Mapping, clock: clock{opened: time.Now()}, brains: map[string]*brain{}, ended: make(chan struct{})}
	var once sync.Once
	s.died = func(err error) { once.Do(func() { s.why = err; close(s.ended) }) }
	s.secrets = target.NewRedactor(c.Secrets, c.Token)
	if c.Mapping != nil && c.Mapping.Transport == HTTP {
		return s, s.openHTTP()
	}
	first, err := s.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := s.examine(ctx, first); err != nil {
		return nil, errors.Join(err, first.close())
	}
	if s.mapping.Brains != PerProcess {
		s.main = first
		return s, nil
	}
	s.pool = &pool{open: s.connect, most: max(mostProcesses, c.Concurrency), of: map[string]*brainProcess{}}
	return s, first.close()
}

// connect starts or connects to an MCP server. brain is the brain of a separate process, or empty.
func (s *Service) connect(ctx context.Context, brain string) (*server, error) {
	if s.cfg.URL != "" {
		headers, err := s.headers()
		if err != nil {
			return nil, err
		}
		return dial(ctx, s.cfg.URL, mcpclient.Options{Token: s.cfg.Token, HTTPClient: headers}, s.cfg.Launch.HealthTimeout, &s.seen, s.secrets)
	}
	p, o := s.cfg.Profile, s.cfg.Launch
	o.Downloads = filepath.Join(o.Home, downloadsDir)
	if brain != "" {
		o.Home = s.home(brain)
		o.LogPath += "." + filepath.Base(o.Home)
	}
	if err := os.MkdirAll(o.Home, 0o700); err != nil {
		return nil, err
	}
	if s.mapping != nil && s.mapping.Brains == PerProcess && brain == "" {
		var err error // it only says what the server is
		if o.Home, err = os.MkdirTemp(o.Home, "first-*"); err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(o.Home) }() // nothing is kept in it
	}
	if s.mapping != nil {
		env, err := s.Environment(p.Env, o.Home)
		if err != nil {
			return nil, err
		}
		p.Env = append(env, p.Env...)
	}
	one, err := start(ctx, p, o, &s.seen, s.secrets)
	if err != nil {
		return nil, err
	}
	go s.watch(one)
	return one, nil
}

// Environment returns the variables that the mapping sets for a server started in the directory
// home, without those in given.
func (s *Service) Environment(given []string, home string) (env []string, err error) {
	values := map[string]any{"home": home}
	if err := s.gateway(values, given); err != nil {
		return nil, err
	}
	for _, name := range s.mapping.Variables() {
		if values["env:"+name], err = s.variable(name); err != nil {
			return nil, err
		}
	}
	for name, value := range s.mapping.env {
		if !slices.ContainsFunc(given, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			env = append(env, name+"="+value.text(values))
		}
	}
	slices.Sort(env)
	return env, nil
}

// variable returns the value of a variable named in the mapping.
func (s *Service) variable(name string) (value string, err error) {
	if value, err = s.cfg.variable(name); err != nil {
		err = fmt.Errorf("the mapping %s %w", s.mapping.Name, err)
	}
	return value, err
}

// variable returns the value of an environment variable, which must be set.
func (c Config) variable(name string) (value string, err error) {
	if c.Env != nil {
		value = c.Env(name)
	}
	if value == "" {
		err = fmt.Errorf("needs the environment variable %s, which is not set", name)
	}
	return value, err
}

// watch records that a process exited by itself.
func (s *Service) watch(one *server) {
	<-one.process.Done()
	if err := one.process.Err(); err != nil && !one.closing.Load() {
		s.died(err)
	}
}

// downloadsDir is the folder, in the service's home, of packages that all its processes use.
const downloadsDir = "downloads"

// home returns the directory of a brain with a separate process.
func (s *Service) home(brain string) string {
	return filepath.Join(s.cfg.Launch.Home, "brain-"+url.PathEscape(brain))
}

// examine identifies an MCP server, chooses the mapping if none is given, and checks that the
// server has the mapping's tools.
func (s *Service) examine(ctx context.Context, one *server) (err error) {
	ctx, cancel := target.TimeLimit(ctx, target.CallTimeout)
	defer cancel()
	s.name, s.version, s.protocol = one.client.Server()
	for _, text := range []*string{&s.name, &s.version, &s.protocol} {
		*text = s.secrets.Text(*text)
	}
	if s.tools, err = one.client.Tools(ctx); err != nil {
		return fmt.Errorf("list the tools of the MCP server %s: %s", cmp.Or(s.name, s.where()), s.secrets.Text(err.Error()))
	}
	s.tools = redact.Values(s.secrets, s.tools)
	s.name, s.version, s.protocol = reported(s.name), reported(s.version), reported(s.protocol)
	names := toolNames(s.tools)
	if s.mapping == nil {
		if s.mapping = forServer(s.name, names); s.mapping == nil {
			return fmt.Errorf("the MCP server %q has the tools %s, and no mapping is for it: write one with "+
				"evalctl target map, and give it with --mapping; mappings of this program: %s",
				s.name, listed(names), strings.Join(Names(), ", "))
		}
		if s.mapping.Brains == PerProcess || len(s.mapping.env) > 0 {
			return fmt.Errorf("the mapping %s, which is for the MCP server %q, must be known before the server is "+
				"started: give it with --mapping %[1]s before the command", s.mapping.Name, s.name)
		}
	}
	if s.mapping.Brains == PerProcess && len(s.mapping.env) == 0 && !s.cfg.Launch.SelfContained &&
		!slices.ContainsFunc(slices.Concat(s.cfg.Profile.Command, s.cfg.Profile.Env), func(w string) bool { return strings.Contains(w, "{home}") }) {
		return fmt.Errorf("the mapping %s has a process for each brain, and neither its env nor the command has {home}: "+
			"all would use one store", s.mapping.Name)
	}
	if s.mapping.Brains == PerProcess && s.cfg.URL != "" {
		return fmt.Errorf("the mapping %s has a process for each brain, and the server at %s is running already: "+
			"give the command that starts it", s.mapping.Name, s.cfg.URL)
	}
	for _, o := range s.mapping.operations() {
		if err := checkTool(o, s.tools); err != nil {
			return fmt.Errorf("the mapping %s does not fit the MCP server %q: %w", s.mapping.Name, s.name, err)
		}
	}
	return nil
}

// checkTool returns an error if a tool is missing, or requires an argument that the mapping does
// not provide.
func checkTool(o *operation, tools []mcpclient.Tool) error {
	i := slices.IndexFunc(tools, func(t mcpclient.Tool) bool { return t.Name == o.tool })
	if i < 0 {
		return fmt.Errorf("%s needs the tool %s, and it has %s", o.name, o.tool, listed(toolNames(tools)))
	}
	schema, err := schemaOf(tools[i])
	if err != nil {
		return err
	}
	for _, name := range schema.Required {
		if o.arguments == nil || !slices.Contains(o.arguments.keys, name) {
			return fmt.Errorf("the tool %s requires the argument %q, which %s does not give", o.tool, name, o.name)
		}
	}
	return nil
}

// Seen returns the description of the service for results.
func (s *Service) Seen() result.MappedService {
	m := result.MappedService{
		Mapping: s.mapping.Name, SHA256: s.mapping.SHA256, Transport: string(s.mapping.Transport),
		Query: string(s.mapping.Query), Brains: string(s.mapping.Brains), Server: s.name, ServerVersion: s.version, Protocol: s.protocol,
		Models: s.models(), Calls: s.seen.counts(), Noise: s.seen.noiseText(), NotMeasurable: map[string]string{},
	}
	for _, a := range []target.Ability{target.Asks, target.Search, target.IDs, target.Ranks, target.Scores, target.Dates, target.Modes} {
		if why := s.Lacks(a); why != "" {
			m.NotMeasurable[string(a)] = why
		}
	}
	if text := s.clock.text(); text != "" {
		m.NotMeasurable[string(target.Dates)] = text
	}
	m.Findings = s.seen.findings()
	if !s.mapping.Sends("question_date") {
		m.NotMeasurable["question_dates"] = fmt.Sprintf("by the mapping %s, no call has the date of a question", s.mapping.Name)
	}
	return m
}

// Namespace returns the prefix of brain names at the service, "" if the service receives no brain
// names.
func (s *Service) Namespace() string {
	if s.mapping.Brains != ByArgument && s.mapping.Brains != ByReset {
		return ""
	}
	return s.cfg.Namespace
}

// Mapping returns the mapping that is used.
func (s *Service) Mapping() *Mapping { return s.mapping }

// Version returns the version that the server reports, "" for none.
func (s *Service) Version() string { return s.version }

// Ended returns a channel that is closed when a process of the service has exited by itself; Why
// then returns the reason.
func (s *Service) Ended() <-chan struct{} { return s.ended }

// Why returns why a process has exited by itself: its exit status and the last lines of its log.
func (s *Service) Why() error {
	select {
	case <-s.ended:
		return s.why
	default:
		return nil
	}
}

func (s *Service) where() string {
	if s.cfg.URL != "" {
		return s.cfg.URL
	}
	return s.cfg.Profile.Command[0]
}

// URL implements target.Service.
func (s *Service) URL() string { return string(s.mapping.Transport) + ":" + s.where() }

// Health implements target.Service. It waits for an answer as long as the mapping's health
// request may take.
func (s *Service) Health(ctx context.Context) (string, error) {
	if s.main == nil {
		if err := s.Why(); err != nil {
			return "", target.NewFailure(result.KindTransport, err.Error())
		}
		return s.version, nil
	}
	within := target.CallTimeout
	if o := s.mapping.health; o != nil {
		within = o.within
	}
	limited, cancel := target.TimeLimit(ctx, within)
	defer cancel()
	err := s.main.alive(limited)
	switch {
	case errors.Is(err, target.ErrNoAnswer):
		return "", fmt.Errorf("the service at %s did not say whether it is alive: %w", s.where(), err)
	case err != nil:
		return "", err
	}
	return s.version, nil
}

// Lacks implements target.Service.
func (s *Service) Lacks(a target.Ability) string { return s.mapping.Lacks(a) }

// Dialects implements target.Service. A mapping uses the service's own spelling of keys.
func (s *Service) Dialects() []result.Dialect { return nil }

// Close implements target.Service. It ends all started processes.
func (s *Service) Close() { _ = s.Stop() }

// Restart ends all started processes and starts the first one again with the same home. No other
// method may be called concurrently.
func (s *Service) Restart(ctx context.Context) error {
	if err := s.Stop(); err != nil {
		return err
	}
	if s.pool != nil {
		return nil // each is started when its brain is used
	}
	one, err := s.connect(ctx, "")
	if err != nil {
		return err
	}
	s.main = one
	return nil
}

// Stop is Close, but returns the errors of processes that could not be ended.
func (s *Service) Stop() error {
	var errs []error
	if s.main != nil {
		errs = append(errs, s.main.close())
	}
	if s.pool != nil {
		errs = append(errs, s.pool.close())
	}
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// Escaped is launch.Filter.Escaped for all ended processes of the server.
func (s *Service) Escaped() (names []string, known bool) {
	s.seen.mu.Lock()
	defer s.seen.mu.Unlock()
	return slices.Clone(s.seen.escaped), !s.seen.unknown
}
