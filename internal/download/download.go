// Package download downloads one large file over HTTP so that few bytes are downloaded twice and no
// wrong byte is kept. A file next to the target has the received part, from which the next attempt
// continues, also in another process. The target appears complete and checked, or not at all.
package download

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/gofrs/flock"
)

// The files next to the target: the received part, the version of the file that it belongs to, and
// the lock that keeps other processes from both.
const (
	partSuffix  = ".part"
	stateSuffix = ".part.json"
	lockSuffix  = ".part.lock"
)

// Config configures a download.
type Config struct {
	// URL is https, or http on this machine. Redirects must be, too.
	URL string
	// Path is the target. Its folder must exist.
	Path string
	// Size in bytes and SHA256 in hexadecimal are the expected ones. 0 and "" accept any.
	Size   int64
	SHA256 string
	// UserAgent is sent with each request.
	UserAgent string
	// Progress, if set, is called with the received bytes and their total, -1 if unknown. The calls
	// do not overlap. After a restart the number decreases.
	Progress func(done, total int64)
	// Retrying, if set, is called before the wait for another attempt.
	Retrying func(err error, wait time.Duration)

	// FirstWait is the wait before the second attempt, 1 second if 0. It grows with each attempt
	// that receives nothing. After Tries such attempts, 6 if 0, Get fails.
	FirstWait time.Duration
	Tries     int
	// Idle is how long a connection may bring no data, 60 seconds if 0.
	Idle time.Duration
}

// File is a complete file.
type File struct {
	Path   string
	Size   int64
	SHA256 string
	// Present reports that the file was there already and no request was made.
	Present bool
	// Resumed is the number of bytes that an earlier call had downloaded.
	Resumed int64
}

// Get downloads the file, unless it is there. It retries after errors of a server that may be
// temporary. All errors name the URL or the file. After any error but a wrong content, a later call
// continues where this one stopped.
func Get(ctx context.Context, c Config) (File, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return File{}, err
	}
	lock := flock.New(c.Path + lockSuffix)
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return File{}, fmt.Errorf("lock %s: %w", c.Path, err)
	case !locked:
		return File{}, fmt.Errorf("%s is being downloaded by another process; wait for it", c.Path)
	}
	defer func() { _ = errors.Join(os.Remove(lock.Path()), lock.Unlock()) }()
	if f, err := c.present(); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	return c.get(ctx)
}

func (c Config) withDefaults() Config {
	if c.FirstWait == 0 {
		c.FirstWait = time.Second
	}
	if c.Tries == 0 {
		c.Tries = 6
	}
	if c.Idle == 0 {
		c.Idle = time.Minute
	}
	if c.Progress == nil {
		c.Progress = func(int64, int64) {}
	}
	if c.Retrying == nil {
		c.Retrying = func(error, time.Duration) {}
	}
	c.SHA256 = strings.ToLower(c.SHA256)
	return c
}

func (c Config) check() error {
	if sum, err := hex.DecodeString(c.SHA256); err != nil || len(sum) != 0 && len(sum) != 32 {
		return fmt.Errorf("sha256 %q must be 64 hexadecimal digits", c.SHA256)
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return fmt.Errorf("URL %q: %w", c.URL, errors.Unwrap(err))
	}
	return checkScheme(u)
}

// checkScheme returns an error for a URL whose content could be changed on its way.
func checkScheme(u *url.URL) error {
	switch host := u.Hostname(); {
	case host == "":
		return fmt.Errorf("URL %s has no host; give one such as https://example.org/file", shown(u))
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (host == "localhost" || net.ParseIP(host).IsLoopback()):
		return nil
	}
	return fmt.Errorf("URL %s must be https; http is allowed only for this machine", shown(u))
}

// permanent is an error that another attempt would meet again.
type permanent struct{ error }

func (e permanent) Unwrap() error { return e.error }

// get downloads in as many attempts as bring data, and checks the file.
func (c Config) get(ctx context.Context) (File, error) {
	p, err := openPart(c)
	if err != nil {
		return File{}, err
	}
	defer p.file.Close()
	resumed := p.size
	for {
		if err := c.fill(ctx, p); err != nil {
			if p.size > p.state.Synced {
				err = errors.Join(err, p.save())
			}
			return File{}, err
		}
		sum, err := p.sum()
		if err != nil {
			return File{}, err
		}
		if c.SHA256 != "" && sum != c.SHA256 {
			if err := p.restart(); err != nil {
				return File{}, err
			}
			if resumed > 0 { // the file may have changed since the first bytes of it
				resumed = 0
				continue
			}
			return File{}, fmt.Errorf("%s: the sha256 of the %d bytes received is %s and must be %s; "+
				"nothing was kept", c.shown(), p.received, sum, c.SHA256)
		}
		size, err := p.size, p.finish(c.Path)
		return File{Path: c.Path, Size: size, SHA256: sum, Resumed: resumed}, err
	}
}

// fill repeats attempts until the part is complete. Attempts that bring data do not count.
func (c Config) fill(ctx context.Context, p *part) error {
	client := &http.Client{CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) >= 10 {
			return permanent{errors.New("more than 10 redirects")}
		}
		if err := checkScheme(req.URL); err != nil {
			return permanent{err}
		}
		return nil
	}}
	defer client.CloseIdleConnections()
	waits := &backoff.ExponentialBackOff{
		InitialInterval: c.FirstWait, RandomizationFactor: 0.2, Multiplier: 2, MaxInterval: 30 * c.FirstWait,
	}
	waits.Reset()
	for failed, most := 0, p.size; ; {
		err := c.attempt(ctx, client, p)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w; %d bytes are kept, and the same command continues",
				c.shown(), context.Cause(ctx), p.size)
		}
		if fatal, ok := errors.AsType[permanent](err); ok {
			return fmt.Errorf("%s: %w", c.shown(), fatal.error)
		}
		if failed++; p.size > most {
			failed, most = 1, p.size
			waits.Reset()
		}
		if failed >= c.Tries {
			return fmt.Errorf("%s: %w, after %d attempts; %d bytes are kept, and the same command continues",
				c.shown(), err, failed, p.size)
		}
		wait := waits.NextBackOff()
		c.Retrying(err, wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// shown returns a URL for messages, without parts that may be a secret.
func shown(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String()
}

func (c Config) shown() string {
	u, err := url.Parse(c.URL)
	if err != nil {
		return "the URL"
	}
	return shown(u)
}
