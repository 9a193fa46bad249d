package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"evalctl/harness/launch"
	"evalctl/harness/mapping"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/redact"
)

// ErrDaemonDied is the cause of a run's context when the daemon's process has ended (see
// Session.Watch).
var ErrDaemonDied = errors.New("the daemon died")

// ErrHome means that a daemon's temporary directory could not be created.
var ErrHome = errors.New("create a temporary home for the daemon")

// SessionConfig says which daemon a session uses: the one running at Endpoint, or one that it
// starts.
type SessionConfig struct {
	// Endpoint is the base URL of a running daemon. If it is empty, the session starts Profile.
	Endpoint string
	// Dial connects to the service at a URL, nil for the protocol over HTTP.
	Dial func(url string) (target.Service, error)
	// Token authenticates requests. It may be empty.
	Token string
	// Secrets, the token and what a mapping passes on from the environment are redacted in the
	// daemon's output and in errors.
	Secrets []redact.Secret `json:"-"`
	// UserAgent identifies this program in requests.
	UserAgent string
	// Concurrency is the expected number of concurrent requests.
	Concurrency int

	// Described is nil for a daemon that speaks the protocol.
	Described *Description

	// Profile says how to start the daemon, Env included.
	Profile launch.Profile
	// Launch configures the start. If Home is empty, the daemon gets an empty directory, which
	// Close removes. If LogPath is empty, Close removes the log too.
	Launch launch.Options
	// HomeOfUser makes the daemon use the user's home, temporary folder and, for a mapped service,
	// working folder. Otherwise it gets its own, see Session.settle.
	HomeOfUser bool
	// Command replaces Profile.Command in results, for a daemon whose command differs between
	// machines, for example in its path.
	Command []string
}

// DaemonID identifies the daemon in results. Version stays empty, because only the running daemon
// reports it. It returns an error for an unusable endpoint URL, or without a command to start.
func (c SessionConfig) DaemonID() (result.DaemonID, error) {
	if c.Endpoint != "" {
		e, err := c.endpoint(c.Endpoint)
		if err != nil {
			return result.DaemonID{}, err
		}
		return c.mapped(result.DaemonID{Endpoint: e.URL()}), nil
	}
	command := c.Command
	if command == nil {
		command = c.Profile.Command
	}
	if len(command) == 0 {
		return result.DaemonID{}, errors.New("no daemon: neither an endpoint nor a command is given")
	}
	return c.mapped(result.StartedDaemon(command)), nil
}

// mapped adds the mapping, if known, to the identification of the daemon.
func (c SessionConfig) mapped(id result.DaemonID) result.DaemonID {
	if c.Described != nil && c.Described.Mapping != nil {
		id.Mapping, id.MappingSHA256 = c.Described.Mapping.Name, c.Described.Mapping.SHA256
	}
	return id
}

// Check returns an error if the daemon certainly cannot be started. It starts nothing.
func (c SessionConfig) Check() error {
	if f := c.Described; f != nil && (f.Mapping == nil || f.Mapping.Transport == mapping.MCP) {
		return launch.CheckFilter(c.Profile)
	}
	return launch.Check(c.Profile, c.Launch)
}

func (c SessionConfig) endpoint(url string) (target.Service, error) {
	if c.Dial != nil {
		return c.Dial(url)
	}
	e, err := target.NewEndpoint(url, c.Token, c.UserAgent, c.Concurrency, c.Secrets...)
	if err != nil {
		return nil, err // a nil *Endpoint would be a Service
	}
	return e, nil
}

// Session is a healthy daemon that was started or connected to. Its methods are safe for concurrent
// use except Restart, during which only the contexts of Watch may be in use.
type Session struct {
	config    SessionConfig // Launch is complete
	service   target.Service
	process   *launch.Daemon
	described *mapping.Service // the service, if a mapping describes it
	id        result.DaemonID
	logPath   string
	temp      string // directory that Close removes
	redactor  *redact.Redactor

	ended []*launch.Daemon // earlier processes, see Escaped
	meter embeddingMeter

	mu sync.Mutex // guards restarting and failed, and process against Restart
	// restarting is closed when the current restart ends, nil without one.
	restarting chan struct{}
	failed     error // why the last restart failed

	closeOnce sync.Once
	closeErr  error
}

// Open starts a daemon or connects to a running one, and waits until it is healthy. ctx applies
// only to Open itself. The caller must call Close. If Open returns an error, no process and no
// temporary directory is left.
//
// Errors are as from DaemonID, launch.Start and target.Endpoint.Health, or ErrHome.
func Open(ctx context.Context, c SessionConfig) (*Session, error) {
	id, err := c.DaemonID()
	if err != nil {
		return nil, err
	}
	c.Secrets = append(c.Described.secrets(), c.Secrets...)
	s := &Session{config: c, id: id, redactor: target.NewRedactor(c.Secrets, c.Token)}
	s.config.Launch.Secrets = target.Secrets(c.Secrets, c.Token)
	switch {
	case c.Described != nil:
		err = s.openMapped(ctx)
	case c.Endpoint != "":
		err = s.reach(ctx, c)
	default:
		err = s.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(s.redactor.Error(err), s.Close())
	}
	return s, nil
}

func (s *Session) reach(ctx context.Context, c SessionConfig) (err error) {
	if s.service, err = c.endpoint(c.Endpoint); err != nil {
		return err
	}
	s.id.Version, err = s.service.Health(ctx)
	return err
}

func (s *Session) start(ctx context.Context) error {
	o := &s.config.Launch
	if err := s.settle(o); err != nil {
		return fmt.Errorf("%w: %w", ErrHome, err)
	}
	s.logPath = o.LogPath
	return s.launch(ctx)
}

func (s *Session) launch(ctx context.Context) (err error) {
	if s.process, err = launch.Start(ctx, s.config.Profile, s.config.Launch); err != nil {
		return err
	}
	if s.described != nil {
		s.service = s.described
		return s.described.Reach(s.process.URL())
	}
	s.id.Version = s.process.Version()
	s.service, err = s.config.endpoint(s.process.URL())
	return err
}

// Restart stops the daemon that the session started, if it still runs, and starts it again with the
// same home and an empty log. Afterwards, Service and Process return the new ones. No other method
// may be called concurrently. After an error there is no daemon, and only Close may be called.
// Contexts of Watch continue with the new process, and end if there is none.
func (s *Session) Restart(ctx context.Context) error {
	if !s.Started() {
		return errors.New("the session did not start the daemon")
	}
	if s.described != nil && s.process == nil {
		return s.redactor.Error(s.described.Restart(ctx))
	}
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	s.meter.restart(ctx, s.service)
	if s.described == nil {
		s.service.Close()
	}
	s.service = nil
	over := make(chan struct{})
	s.mu.Lock()
	s.restarting = over
	old := s.process
	s.mu.Unlock()
	err := old.Stop()
	s.ended = append(s.ended, old)
	s.mu.Lock()
	defer func() {
		s.restarting, s.failed = nil, err
		close(over)
		s.mu.Unlock()
	}()
	s.process = nil
	if err == nil {
		err = s.launch(ctx)
	}
	err = s.redactor.Error(err)
	return err
}

// settle gives a started daemon a user home of its own. A mapped service keeps its texts there or
// in its working folder, so both are its {home}. Daemons of the protocol receive their data folder
// separately, and work in the caller's folder.
func (s *Session) settle(o *launch.Options) error {
	own := !s.config.HomeOfUser
	if err := s.addTemp(o, own && s.config.Described == nil); err != nil {
		return err
	}
	switch {
	case !own:
	case s.config.Described != nil:
		o.SelfContained = true
	default:
		o.UserHome = filepath.Join(s.temp, "user")
	}
	return nil
}

// addTemp creates a temporary directory for the parts missing from o, or always if anyway is set.
func (s *Session) addTemp(o *launch.Options, anyway bool) (err error) {
	if o.Home != "" && o.LogPath != "" && !anyway {
		return nil
	}
	if s.temp, err = os.MkdirTemp("", "evalctl-home-*"); err != nil {
		return err
	}
	if o.LogPath == "" {
		o.LogPath = filepath.Join(s.temp, "daemon.log")
	}
	if o.Home == "" {
		o.Home = filepath.Join(s.temp, "data")
		return os.Mkdir(o.Home, 0o700)
	}
	return nil
}

// mapped returns the mapped service, else nil. The session may be nil.
func (s *Session) mapped() *mapping.Service {
	if s == nil {
		return nil
	}
	return s.described
}

// Service returns the service under test. It is invalid after Close or Restart.
func (s *Session) Service() target.Service { return s.service }

// ID identifies the daemon in results, with its reported version.
func (s *Session) ID() result.DaemonID { return s.id }

// Process returns the process of a started daemon, else nil. Only Close may stop it.
func (s *Session) Process() *launch.Daemon { return s.process }

// Started reports whether the session started the daemon.
func (s *Session) Started() bool {
	return s.process != nil || s.described != nil && s.config.Endpoint == ""
}

// LogPath returns the file with a started daemon's output, else "".
func (s *Session) LogPath() string { return s.logPath }

// Watch returns a context that ends when parent does, when cancel is called, or when a started
// daemon's process ends, also by Close. In the last case, the cause is ErrDaemonDied with the exit
// status and the end of the log. The caller must call cancel.
func (s *Session) Watch(parent context.Context) (ctx context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(parent)
	if s.process != nil {
		go s.watch(ctx, s.process, end)
	}
	if s.described != nil {
		go func() {
			select {
			case <-s.described.Ended():
				end(s.redactor.Error(errors.Join(ErrDaemonDied, s.described.Why())))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { end(nil) }
}

// watch ends ctx when the process ends, unless it is being restarted.
func (s *Session) watch(ctx context.Context, p *launch.Daemon, end context.CancelCauseFunc) {
	for {
		select {
		case <-p.Done():
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		over, next := s.restarting, s.process
		s.mu.Unlock()
		switch {
		case over != nil:
			select {
			case <-over:
			case <-ctx.Done():
				return
			}
		case next == p:
			end(s.redactor.Error(errors.Join(ErrDaemonDied, p.Err())))
			return
		}
		s.mu.Lock()
		next = s.process
		failed := s.failed
		s.mu.Unlock()
		if next == nil {
			end(errors.Join(ErrDaemonDied, failed))
			return
		}
		p = next
	}
}

// Close stops a started daemon and removes its temporary directory. The error names processes that
// could not be stopped. Further calls wait for the first and return the same error.
func (s *Session) Close() error {
	s.closeOnce.Do(func() {
		switch {
		case s.described != nil:
			s.closeErr = s.redactor.Error(s.described.Stop())
		case s.service != nil:
			s.service.Close()
		}
		if s.process != nil {
			s.closeErr = errors.Join(s.closeErr, s.redactor.Error(s.process.Stop()))
		}
		if s.temp != "" {
			_ = os.RemoveAll(s.temp) // a daemon may have created files as another user
		}
	})
	return s.closeErr
}

// Escaped returns the processes named by launch.Daemon.Escaped, over all processes that the session
// started. It is complete after Close, and nil if unknown or if the session started nothing.
func (s *Session) Escaped() []string {
	if s.config.Endpoint != "" {
		return nil
	}
	names := []string{}
	add := func(more []string, known bool) {
		if names = append(names, more...); !known {
			names = nil
		}
	}
	if s.described != nil {
		add(s.described.Escaped())
	}
	for _, d := range append(slices.Clip(s.ended), s.process) {
		if d != nil && names != nil {
			add(d.Escaped())
		}
	}
	return names
}
