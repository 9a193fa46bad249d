package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"evalctl/internal/httpclient"
)

const (
	firstPoll    = 5 * time.Millisecond
	slowestPoll  = 250 * time.Millisecond
	probeTimeout = 5 * time.Second
	maxHealth    = 64 << 10 // bytes of a health response that are read
)

var (
	errExited     = errors.New("it exited before it was healthy")
	errNotHealthy = errors.New("it did not become healthy")
)

// awaitHealthy polls the daemon until it is healthy, and sets its url, version and healthyIn. After
// an error the caller must stop the daemon.
func (d *Daemon) awaitHealthy(ctx context.Context, p Profile, port int, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, o.HealthTimeout, errNotHealthy)
	defer stop()
	go func() {
		select {
		case <-d.watchdog.exited:
			cancel(errExited)
		case <-ctx.Done():
		}
	}()
	client := &http.Client{
		Timeout:       probeTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true}, // no proxy: the daemon is on this machine
		CheckRedirect: httpclient.NoRedirect,
	}
	alive := func(ctx context.Context) error { return d.probe(ctx, client) }
	if o.Alive != nil {
		alive = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, probeTimeout)
			defer cancel()
			return o.Alive(ctx, d.url)
		}
	}
	last := errors.New("it announced no address")
	for pause := firstPoll; ; pause = min(pause*3/2, slowestPoll) {
		if d.url == "" {
			if d.url = d.baseURL(p, port); d.url != "" {
				last = fmt.Errorf("no response from %s", d.url)
			} else if err := d.log.problem(); err != nil {
				return fmt.Errorf("its address cannot be read: %w", err)
			}
		}
		if d.url != "" {
			err := d.log.secrets.Error(alive(ctx))
			if err == nil {
				d.healthyIn = time.Since(d.started)
				return d.verifyListener()
			}
			if ctx.Err() != nil {
				err = fmt.Errorf("no response to the last request; before that: %w", last)
			}
			last = err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errNotHealthy) {
				return cause
			}
			return fmt.Errorf("%w within %v, which --start-timeout sets: %w", errNotHealthy, o.HealthTimeout, last)
		case <-time.After(pause):
		}
	}
}

// baseURL returns the daemon's base URL, or "" if it is not yet announced.
func (d *Daemon) baseURL(p Profile, port int) string {
	if p.Announces {
		return d.log.announced()
	}
	return fmt.Sprintf("http://%s:%d", loopback, port)
}

// probe requests the daemon's health once. The daemon is healthy if it returns status 200 and the
// body is not an object with `"ok": false`.
func (d *Daemon) probe(ctx context.Context, client *http.Client) error {
	target := d.url + "/healthz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(d.log.secrets.Reader(resp.Body), maxHealth))
	if err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	var health struct {
		OK      *bool  `json:"ok"`
		Version string `json:"version"`
	}
	// A body in another format counts as ok.
	_ = json.Unmarshal(body, &health)
	if resp.StatusCode != http.StatusOK || health.OK != nil && !*health.OK {
		return fmt.Errorf("GET %s: status %d, body: %s",
			target, resp.StatusCode, escaped(string(bytes.TrimSpace(body))))
	}
	d.version = escaped(d.log.secrets.Text(health.Version)) // JSON may have escaped it
	return nil
}

// verifyListener checks that the healthy response came from this daemon. Another process could have
// taken the port first, and an announcement can be wrong.
func (d *Daemon) verifyListener() error {
	select {
	case <-d.watchdog.exited:
		return errExited
	default:
	}
	u, err := url.Parse(d.url)
	if err != nil {
		return fmt.Errorf("the daemon's address: %w", err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return fmt.Errorf("the daemon's address %s: %w", d.url, err)
	}
	if foreignListener(d.processes(), port) {
		return fmt.Errorf("%w: process %d did not start the listener on port %d",
			errPortTaken, d.PID(), port)
	}
	return nil
}
