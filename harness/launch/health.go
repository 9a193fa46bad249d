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
)

const (
	firstPoll    = 5 * time.Millisecond
	slowestPoll  = 250 * time.Millisecond
	probeTimeout = 5 * time.Second
	maxHealth    = 64 << 10 // bytes of a health answer that are read
)

var (
	errEnded      = errors.New("it ended before it was healthy")
	errNotHealthy = errors.New("it did not become healthy")
)

// awaitHealthy polls the daemon until it is healthy and fills in what that
// tells. It ends nothing: after an error that is the caller's part.
func (d *Daemon) awaitHealthy(ctx context.Context, p Profile, port int, limit time.Duration) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, stop := context.WithTimeoutCause(ctx, limit, errNotHealthy)
	defer stop()
	go func() {
		select {
		case <-d.exited:
			cancel(errEnded)
		case <-ctx.Done():
		}
	}()
	client := &http.Client{
		Timeout:       probeTimeout,
		Transport:     &http.Transport{DisableKeepAlives: true}, // and no proxy: the daemon is on this machine
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	last := errors.New("it announced no address")
	for pause := firstPoll; ; pause = min(pause*3/2, slowestPoll) {
		if d.url == "" {
			if d.url = d.address(p, port); d.url != "" {
				last = fmt.Errorf("nothing from %s", d.url)
			}
		}
		if d.url != "" {
			err := d.probe(ctx, client)
			if err == nil {
				d.healthyIn = time.Since(d.started)
				return d.checkOurs()
			}
			if ctx.Err() != nil {
				err = fmt.Errorf("no answer to the last request; before: %w", last)
			}
			last = err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, errNotHealthy) {
				return cause
			}
			return fmt.Errorf("%w within %v: %w", errNotHealthy, limit, last)
		case <-time.After(pause):
		}
	}
}

// address gives the daemon's base URL, "" when it is still to be announced.
func (d *Daemon) address(p Profile, port int) string {
	if p.Announces {
		return d.log.announced()
	}
	return fmt.Sprintf("http://%s:%d", loopback, port)
}

// probe asks for the daemon's health once. Healthy is status 200 and a body
// that does not say `"ok": false`, whatever else it is.
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHealth))
	if err != nil {
		return fmt.Errorf("GET %s: %w", target, err)
	}
	var health struct {
		OK      *bool  `json:"ok"`
		Version string `json:"version"`
	}
	// A body of another form is some other daemon's way to say yes.
	_ = json.Unmarshal(body, &health)
	if resp.StatusCode != http.StatusOK || health.OK != nil && !*health.OK {
		return fmt.Errorf("GET %s: status %d, body: %s", target, resp.StatusCode, printable(string(bytes.TrimSpace(body))))
	}
	d.version = printable(health.Version)
	return nil
}

// checkOurs makes sure that the healthy answer came from this daemon: a stranger
// could have taken the port between the choice and the daemon's bind, and an
// announcement is only text.
func (d *Daemon) checkOurs() error {
	select {
	case <-d.exited:
		return errEnded
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
	if foreignListener(d.groups, port) {
		return fmt.Errorf("%w: port %d is served by a process that %d did not start, or that it detached from its process group",
			errPortLost, port, d.PID())
	}
	return nil
}
