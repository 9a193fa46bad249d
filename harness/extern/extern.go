// Package extern scores answers with a user's program or service: a command that reads requests and
// writes verdicts as JSON lines, or a URL that requests are posted to.
//
// The handshake describes the program, and must succeed before anything is scored. A score is only
// taken from a valid reply to the request with its id. Any other reply leaves an answer unscored.
package extern

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kballard/go-shellquote"

	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

// commandPrefix begins the definition of a command.
const commandPrefix = "cmd:"

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = time.Minute

// Defines reports whether text defines an external scorer: cmd:COMMAND, or a URL.
func Defines(text string) bool {
	return strings.HasPrefix(text, commandPrefix) || strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// Find returns the scorer named or defined by text. An external scorer is not opened.
func Find(text string) (scorer.Kind, error) {
	if Defines(text) {
		return scorer.Kind{Name: scorer.External}, nil
	}
	k, err := scorer.Find(text)
	if err != nil {
		err = fmt.Errorf("%w, or a scorer of your own: cmd:'python3 score.py' or http://127.0.0.1:9000/score", err)
	}
	return k, err
}

// Options configure a scorer.
type Options struct {
	// Timeout limits the time for one answer, 0 for DefaultTimeout. The scorer may process requests
	// one at a time: a waiting request has the time of the requests before it in addition.
	Timeout time.Duration
	// MaxUnusable is how many consecutive answers may be left unscored before Score returns
	// scorer.ErrUnusable; 0 for no limit.
	MaxUnusable int
	// Passed are names of environment variables that a command gets in addition to the standard
	// ones.
	Passed []string
	// Secrets are redacted in the replies and logs of the scorer.
	Secrets []redact.Secret
	// Watchdog is launch.Options.Watchdog.
	Watchdog []string
}

// transport sends requests to a scorer.
type transport interface {
	// hello returns the reply to the handshake.
	hello(ctx context.Context) ([]byte, error)
	// score returns the reply to the request with this id. An *unscoredError leaves the answer
	// unscored; any other error ends the run.
	score(ctx context.Context, id int64, request []byte) ([]byte, error)
	close() error
}

// unscoredError is the reason why one answer has no verdict.
type unscoredError struct{ error }

// Scorer is an external scorer that has completed its handshake. It is safe for concurrent use.
type Scorer struct {
	info      scorerInfo
	id        result.ExternalScorer
	options   Options
	secrets   *redact.Redactor
	transport transport
	requests  atomic.Int64
	unusable  atomic.Int64 // in a row
}

// Open starts the scorer defined by text and performs the handshake. The caller must call Close.
func Open(ctx context.Context, text string, o Options) (*Scorer, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	s := &Scorer{options: o, secrets: redact.New(o.Secrets...)}
	var err error
	if line, ok := strings.CutPrefix(text, commandPrefix); ok {
		err = s.openCommand(line)
	} else {
		err = s.openURL(text)
	}
	if err != nil {
		return nil, fmt.Errorf("scorer %s: %w", s.shown(text), err)
	}
	reply, err := s.transport.hello(ctx)
	if err == nil {
		s.info, err = parseHello(reply)
	}
	s.info.name, s.info.version = s.secrets.Text(s.info.name), s.secrets.Text(s.info.version)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scorer %s: handshake: %w", s.shown(text), s.secrets.Error(err)), s.transport.close())
	}
	s.id.Name, s.id.Version = s.info.name, s.info.version
	return s, nil
}

// shown returns the definition of a scorer for messages: a URL without its secrets.
func (s *Scorer) shown(text string) string {
	if !strings.HasPrefix(text, commandPrefix) {
		text = llm.WithoutSecrets(text)
	}
	return short(s.secrets.Text(text))
}

func (s *Scorer) openCommand(line string) error {
	words, err := shellquote.Split(line)
	if err != nil {
		return fmt.Errorf("%w; quote it as for a shell", err)
	}
	if len(words) == 0 {
		return errors.New("the command is missing: give cmd:'python3 score.py'")
	}
	if s.id, err = identify(words); err != nil {
		return err
	}
	s.transport = &command{words: words, options: s.options}
	return nil
}

func (s *Scorer) openURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.User != nil:
		return errors.New("a URL must not have a user or a password: other users can read a command line")
	case u.Host == "":
		return errors.New("the URL has no host")
	}
	s.id.Endpoint = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	s.transport = newService(text, s.options.Timeout, s.secrets)
	return nil
}

// Close ends the scorer's process.
func (s *Scorer) Close() error { return s.transport.close() }

// Judges reports whether the scorer needs a reference or expected texts, and therefore judges
// whether an answer is right.
func (s *Scorer) Judges() bool {
	return slices.Contains(s.info.needs, scorer.NeedReference) || slices.Contains(s.info.needs, scorer.NeedExpected)
}

// Identity identifies the scorer in results.
func (s *Scorer) Identity() result.ExternalScorer { return s.id }

// Kind returns a kind that always returns this scorer.
func (s *Scorer) Kind() scorer.Kind {
	return scorer.Kind{Name: scorer.External, Offline: func(scorer.Options) scorer.Scorer { return s }}
}

// Name returns "external".
func (s *Scorer) Name() string { return scorer.External }

// Check returns an error for an item that lacks something the scorer needs.
func (s *Scorer) Check(item scorer.Item) error {
	for _, need := range s.info.needs {
		if !needed[need](item) {
			return fmt.Errorf("question %q has no %s, which the scorer %s needs", item.ID, need, short(s.info.name))
		}
	}
	return nil
}

// Score sends an answer to the scorer. It returns an error if ctx ends, if the process has ended
// too often, and scorer.ErrUnusable (see Options.MaxUnusable).
func (s *Scorer) Score(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
	if err := s.Check(item); err != nil {
		return scorer.Verdict{}, err
	}
	id := s.requests.Add(1)
	reply, err := s.transport.score(ctx, id, requestOf(id, item))
	var v scorer.Verdict
	if err == nil {
		v, err = parseVerdict(id, reply)
	}
	unscored, ok := errors.AsType[*unscoredError](err)
	switch {
	case err != nil && !ok:
		return scorer.Verdict{}, fmt.Errorf("score question %q: %w", item.ID, s.secrets.Error(err))
	case err != nil:
		v = scorer.Verdict{Reason: unscored.Error()}
	}
	v.Reason = s.secrets.Text(v.Reason) // JSON may have escaped it
	return v, s.countUnusable(item, v)
}

// countUnusable returns scorer.ErrUnusable if v is one unscored answer too many in a row.
func (s *Scorer) countUnusable(item scorer.Item, v scorer.Verdict) error {
	if v.Scored {
		s.unusable.Store(0)
		return nil
	}
	n := s.unusable.Add(1)
	if limit := int64(s.options.MaxUnusable); limit == 0 || n < limit {
		return nil
	}
	return &unusableError{fmt.Sprintf("the scorer %s gave no usable verdict %d times in a row, the last for question %q: %s; "+
		"correct it, or allow more with --max-unusable (0: any number)", short(s.info.name), n, item.ID, v.Reason)}
}

// unusableError is a scorer.ErrUnusable with another text.
type unusableError struct{ text string }

func (e *unusableError) Error() string        { return e.text }
func (e *unusableError) Is(target error) bool { return target == scorer.ErrUnusable }
