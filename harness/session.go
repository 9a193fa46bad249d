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

// ErrDaemonDied is the cause with which the context of a run ends when the daemon's process has
// ended (see Session.Watch).
var ErrDaemonDied = errors.New("the daemon died")

// ErrHome means that the temporary directory of a daemon could not be created.
var ErrHome = errors.New("create a temporary home for the daemon")

// SessionConfig says which daemon a session uses: the one that runs at Endpoint, or one that the
// session starts.
type SessionConfig struct {
	// Endpoint is the base URL of a running daemon. If it is empty, the session starts Profile.
	Endpoint string
	// Dial returns the service at a URL, nil for one that speaks the protocol over HTTP.
	Dial func(url string) (target.Service, error)
	// Token authenticates requests. It may be empty.
	Token string
	// Secrets and the token are replaced in what the daemon sends and writes, and in errors.
	Secrets []redact.Secret `json:"-"`
	// UserAgent identifies this program in requests.
	UserAgent string
	// Concurrency is the number of concurrent requests to expect.
	Concurrency int

	// Described is nil for a daemon that speaks the protocol.
	Described *Description

	// Profile is how to start the daemon, Env included.
	Profile launch.Profile
	// Launch configures the start. If Home is empty, the daemon gets an empty directory, which
	// Close removes. If LogPath is empty, Close removes the log as well.
	Launch launch.Options
	// HomeOfUser has the daemon use the home, the temporary folder and, if a mapping describes it, the
	// working folder of the user. Else it has its own, see Session.settle.
	HomeOfUser bool
	// Command identifies the started daemon in results instead of Profile.Command. It is for a
	// daemon whose command differs from machine to machine, for example in its path.
	Command []string
}

// DaemonID identifies the daemon in results. Its Version is empty: only the daemon reports that. It
// returns an error if the endpoint is not a usable URL, or if there is no command to start.
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

// mapped adds the mapping, if it is known, to what identifies the daemon.
func (c SessionConfig) mapped(id result.DaemonID) result.DaemonID {
	if c.Described != nil && c.Described.Mapping != nil {
		id.Mapping, id.MappingSHA256 = c.Described.Mapping.Name, c.Described.Mapping.SHA256
	}
	return id
}

// Check returns an error if what is started could not be, whatever it does. It starts nothing.
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

// Session is a healthy daemon that was started or reached. Its methods may be called concurrently,
// except Restart, during which the contexts of Watch may be in use.
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
	// restarting is closed when the current restart is over, nil without one.
	restarting chan struct{}
	failed     error // why the last restart failed

	closeOnce sync.Once
	closeErr  error
}

// Open starts a daemon, or reaches one that is running, and waits until it is healthy. ctx bounds
// only that. The caller must call Close. If Open returns an error, no process and no temporary
// directory is left.
//
// Errors are those of DaemonID, launch.Start and target.Endpoint.Health, and ErrHome.
func Open(ctx context.Context, c SessionConfig) (*Session, error) {
	id, err := c.DaemonID()
	if err != nil {
		return nil, err
	}
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

// Restart stops what is left of the daemon that the session started, and starts it again with the
// same home and an empty log. Afterwards, Service and Process return the new ones. No other method
// may be called meanwhile. After an error there is no daemon, and only Close may be called. The
// contexts of Watch go on with the new process, and end if there is none.
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

// settle gives a started daemon a home of its own for its user. A service that a mapping describes
// keeps its texts there, or in the folder in which it works, so that both are its {home}. Daemons of
// the protocol get their data folder otherwise, and work in the folder of the caller.
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

// addTemp creates a temporary directory for what has no place in o, or in any case.
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

// mapped returns the service if a mapping describes it, else nil. The session may be nil.
func (s *Session) mapped() *mapping.Service {
	if s == nil {
		return nil
	}
	return s.described
}

// Service returns the service under test. It cannot be used after Close or Restart.
func (s *Session) Service() target.Service { return s.service }

// ID identifies the daemon in results, with the version that it reported.
func (s *Session) ID() result.DaemonID { return s.id }

// Process returns the daemon's process if the session started it, else nil. Only Close may stop it.
func (s *Session) Process() *launch.Daemon { return s.process }

// Started reports whether the session started the daemon.
func (s *Session) Started() bool {
	return s.process != nil || s.described != nil && s.config.Endpoint == ""
}

// LogPath returns the file that has the output of a started daemon, else "".
func (s *Session) LogPath() string { return s.logPath }

// Watch returns a context that ends when parent does, when cancel is called, or when the process of
// a started daemon ends, which Close causes as well. The cause is then ErrDaemonDied with the exit
// status and the last lines of the log. The caller must call cancel.
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

// watch ends ctx when a process ends that is not being restarted.
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

// Close stops the daemon if the session started it, and removes its temporary directory. The error
// names the processes that could not be stopped. Further calls wait for the first one and return
// the same error.
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

// Escaped returns the processes that launch.Daemon.Escaped names, of all that the session has
// started. It is complete after Close, and nil if they are not known, or the session started
// nothing.
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
