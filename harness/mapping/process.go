package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"evalctl/daemon/mcpclient"
	"evalctl/harness/launch"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/llm"
	"evalctl/internal/printable"
	"evalctl/internal/redact"
)

// startWithin is the default time for an MCP server to answer initialize. npx may have to download
// it first.
const startWithin = 2 * time.Minute

// maxLine limits how much of a server's line or error is quoted in a message.
const maxLine = 300

// server is one connection to an MCP server.
type server struct {
	client  *mcpclient.Client
	process *launch.Filter // nil at a URL
	closing atomic.Bool
	seen    *sightings
	secrets *redact.Redactor
}

// dial connects to the MCP server at a URL. A zero within means startWithin.
func dial(ctx context.Context, url string, o mcpclient.Options, within time.Duration, seen *sightings, hidden *redact.Redactor) (*server, error) {
	ctx, cancel := target.TimeLimit(ctx, cmp.Or(within, startWithin))
	defer cancel()
	o.Renewed = seen.sessionEnded
	c, err := mcpclient.Connect(ctx, url, o)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: --start-timeout allows more than %v", err, cmp.Or(within, startWithin))
	}
	if err != nil {
		// Connect refuses a URL with secrets and does not show it either.
		return nil, fmt.Errorf("MCP server at %s: %s", llm.WithoutSecrets(url), hidden.Text(err.Error()))
	}
	return &server{client: c, seen: seen, secrets: hidden}, nil
}

// start starts an MCP server and initializes the connection. After an error, no process is left.
//
// A server that exits when asked for the newest protocol version is started again and asked for an
// old one.
func start(ctx context.Context, p launch.Profile, o launch.Options, seen *sightings, hidden *redact.Redactor) (*server, error) {
	s, ended, err := startWith(ctx, p, o, false, seen, hidden)
	if ended && ctx.Err() == nil {
		s, _, err = startWith(ctx, p, o, true, seen, hidden)
	}
	return s, err
}

// startWith is start with mcpclient.Pipe's choice of versions. ended is what mcpclient.Ended reports.
func startWith(
	ctx context.Context, p launch.Profile, o launch.Options, old bool, seen *sightings, hidden *redact.Redactor,
) (one *server, ended bool, err error) {
	d, err := launch.StartFilter(ctx, p.InHome(o.Home), o)
	if err != nil {
		return nil, false, fmt.Errorf("MCP server: %w", err)
	}
	s := &server{process: d, seen: seen, secrets: hidden}
	within := cmp.Or(o.HealthTimeout, startWithin)
	ictx, cancel := target.TimeLimit(ctx, within)
	defer cancel()
	noise := func(line []byte) { seen.line(printable.Line(string(line), maxLine)) }
	s.client, err = mcpclient.Pipe(ictx, d.In, hidden.Reader(d.Out), old, noise)
	if err == nil {
		return s, false, nil
	}
	if ctx.Err() != nil {
		return nil, false, errors.Join(context.Cause(ctx), s.close())
	}
	if ictx.Err() != nil {
		err = fmt.Errorf("%w: --start-timeout allows more than %v", err, within)
	}
	ended = mcpclient.Ended(err)
	// If the process has exited by itself, its log explains more. Any other failure has closed its
	// input, and it exits for that reason.
	exited, lines := s.ended(endWithin), d.LastLines()
	left := s.close()
	if ended && exited != nil {
		err = exited
	} else {
		err = fmt.Errorf("%w\n%s", err, lines)
	}
	if text := seen.noiseText(); text != "" {
		err = fmt.Errorf("%w\n%s", err, text)
	}
	return nil, ended, errors.Join(fmt.Errorf("MCP server %s: %s", p.Command[0], hidden.Text(d.Isolated(err).Error())), left)
}

// ended returns why the process has exited by itself, nil if it still runs after wait.
func (s *server) ended(wait time.Duration) error {
	if s.process == nil {
		return nil
	}
	select {
	case <-s.process.Done():
		return s.process.Err()
	case <-time.After(wait):
		return nil
	}
}

// call implements caller.
func (s *server) call(ctx context.Context, o *operation, values map[string]any) (callReply, error) {
	s.seen.called(o)
	args := o.arguments.render(values)
	if _, none := args.(absent); none {
		args = map[string]any{}
	}
	r, err := s.client.Call(ctx, o.tool, args, nil)
	if err != nil {
		return callReply{}, s.failure(ctx, o, err)
	}
	if f := r.Failure; f != nil {
		message := fmt.Sprintf("%s reports an error: %s", o.tool,
			printable.Line(s.secrets.Text(strings.Join(slices.DeleteFunc([]string{f.Code, f.Message},
				func(s string) bool { return s == "" }), ": ")), maxLine))
		if f.Retryable {
			return callReply{}, target.TransientFailure(result.KindDaemon, message, 0)
		}
		return callReply{}, target.NewFailure(result.KindDaemon, message)
	}
	return callReply{structured: redact.Values(s.secrets, r.Structured), texts: redact.Values(s.secrets, r.Texts)}, nil
}

// failure returns the failure of a call without a result.
func (s *server) failure(ctx context.Context, o *operation, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	message := fmt.Sprintf("%s: %s", o.tool, printable.Line(s.secrets.Text(err.Error()), maxLine))
	switch e, ok := errors.AsType[*mcpclient.Error](err); {
	case ok && e.Code == mcpclient.CodeMalformed:
		return target.ShapeFailure(message)
	case ok && e.Code == mcpclient.CodeRefused:
		return target.NewFailure(result.KindProtocol, message)
	case ok && e.Status != 0:
		return statusFailure(message, e.Status, e.RetryAfter)
	case ok && !e.Aborted:
		return target.NewFailure(result.KindDaemon, message)
	}
	return target.TransientFailure(result.KindTransport, message, 0)
}

// alive implements caller.
func (s *server) alive(ctx context.Context) error {
	if err := s.ended(0); err != nil {
		return target.NewFailure(result.KindTransport, printable.Line(s.secrets.Text(err.Error()), maxLine))
	}
	if s.process != nil {
		return nil
	}
	if err := s.client.Ping(ctx); err != nil {
		return target.NewFailure(result.KindTransport, printable.Line(s.secrets.Text(err.Error()), maxLine))
	}
	return nil
}

// close implements caller. It closes the server's input first, so that a server can exit by itself.
func (s *server) close() error {
	s.closing.Store(true)
	if s.process == nil {
		return s.client.Close()
	}
	if s.client != nil {
		_ = s.client.Close() // the process is ended in any case
	}
	err := s.process.Close(endWithin)
	s.seen.left(s.process.Escaped())
	return err
}

// endWithin is how long a server may take to exit after its input is closed.
const endWithin = 2 * time.Second
