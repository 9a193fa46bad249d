package mapping

import (
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
	"evalctl/internal/printable"
	"evalctl/internal/redact"
)

// startWithin is how long an MCP server may take to answer initialize. npx may have to download it.
const startWithin = 60 * time.Second

// maxLine is how much of a line or an error of a server a message has.
const maxLine = 300

// server is one connection to an MCP server.
type server struct {
	client  *mcpclient.Client
	process *launch.Filter // nil at a URL
	closing atomic.Bool
	seen    *seen
	secrets *redact.Redactor
}

// dial connects to the MCP server at a URL.
func dial(ctx context.Context, url, token string, seen *seen, hidden *redact.Redactor) (*server, error) {
	ctx, cancel := target.TimeLimit(ctx, startWithin)
	defer cancel()
	c, err := mcpclient.Connect(ctx, url, mcpclient.Options{Token: token})
	if err != nil {
		return nil, fmt.Errorf("MCP server at %s: %s", url, hidden.Text(err.Error()))
	}
	return &server{client: c, seen: seen, secrets: hidden}, nil
}

// start starts an MCP server and initializes the connection. After an error, no process is left.
func start(ctx context.Context, p launch.Profile, o launch.Options, seen *seen, hidden *redact.Redactor) (*server, error) {
	d, err := launch.StartFilter(ctx, p.InHome(o.Home), o)
	if err != nil {
		return nil, fmt.Errorf("MCP server: %w", err)
	}
	s := &server{process: d, seen: seen, secrets: hidden}
	within := o.HealthTimeout
	if within == 0 {
		within = startWithin
	}
	ictx, cancel := target.TimeLimit(ctx, within)
	defer cancel()
	noise := func(line []byte) { seen.line(printable.Line(string(line), maxLine)) }
	s.client, err = mcpclient.Pipe(ictx, d.In, hidden.Reader(d.Out), noise)
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), s.close())
	}
	// A process that ends by itself may be the reason, whose log says more.
	exited, lines := s.ended(endWithin), d.LastLines()
	left := s.close()
	if exited != nil {
		err = exited
	} else {
		err = fmt.Errorf("%w\n%s", err, lines)
	}
	if text := seen.noiseText(); text != "" {
		err = fmt.Errorf("%w\n%s", err, text)
	}
	if withheld := d.Withheld(); withheld != "" {
		err = fmt.Errorf("%w\nwithheld from it: %s; --daemon-env NAME passes a variable on", err, withheld)
	}
	return nil, errors.Join(fmt.Errorf("MCP server %s: %s", p.Command[0], hidden.Text(err.Error())), left)
}

// ended returns why the process has ended by itself, after a moment if it has not yet, nil if it
// runs.
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
func (s *server) call(ctx context.Context, o *operation, values map[string]any) (answered, error) {
	s.seen.called(o)
	args := o.arguments.render(values)
	if _, none := args.(absent); none {
		args = map[string]any{}
	}
	r, err := s.client.Call(ctx, o.tool, args, nil)
	if err != nil {
		return answered{}, s.failure(ctx, o, err)
	}
	if f := r.Failure; f != nil {
		message := fmt.Sprintf("%s reports an error: %s", o.tool,
			printable.Line(s.secrets.Text(strings.Join(slices.DeleteFunc([]string{f.Code, f.Message},
				func(s string) bool { return s == "" }), ": ")), maxLine))
		if f.Retryable {
			return answered{}, target.TransientFailure(result.KindDaemon, message, 0)
		}
		return answered{}, target.NewFailure(result.KindDaemon, message)
	}
	return answered{redact.Values(s.secrets, r.Structured), redact.Values(s.secrets, r.Texts)}, nil
}

// failure returns the failure of a call without a result.
func (s *server) failure(ctx context.Context, o *operation, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	message := fmt.Sprintf("%s: %s", o.tool, printable.Line(s.secrets.Text(err.Error()), maxLine))
	if e, ok := errors.AsType[*mcpclient.Error](err); ok && !e.Aborted {
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

// close implements caller. The server's input is closed first, so that one that ends then can.
func (s *server) close() error {
	s.closing.Store(true)
	if s.process == nil {
		return s.client.Close()
	}
	if s.client != nil {
		_ = s.client.Close() // the process is ended in any case
	}
	s.process.In.Close()
	select {
	case <-s.process.Done():
	case <-time.After(endWithin):
	}
	err := s.process.Stop()
	s.seen.left(s.process.Escaped())
	s.process.Out.Close()
	return err
}

// endWithin is how long a server may take to end by itself after its input was closed.
const endWithin = 2 * time.Second
