package faulttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"evalctl/daemon/protocol"
)

// liar is a network that breaks one promise of the daemon, now and then.
type liar struct {
	http.RoundTripper
	lie  func(l *liar, r *http.Request) (*http.Response, error)
	n    atomic.Int64 // of what could be lied about
	lies atomic.Int64 // so far
}

func (l *liar) RoundTrip(r *http.Request) (*http.Response, error) { return l.lie(l, r) }

// nth reports whether to lie this time, which is each nth time.
func (l *liar) nth(n int64) bool {
	if l.n.Add(1)%n != 0 {
		return false
	}
	l.lies.Add(1)
	return true
}

func response(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func isWrite(r *http.Request) bool { return r.Method == http.MethodPut }

func at(r *http.Request, end string) bool { return strings.HasSuffix(r.URL.Path, end) }

// lines passes on a stream after a change of its lines.
func lines(res *http.Response, edit func(frame string) string) *http.Response {
	in := res.Body
	out, w := io.Pipe()
	res.Body = struct {
		io.Reader
		io.Closer
	}{out, in}
	go func() {
		var frame strings.Builder
		sc := bufio.NewScanner(in)
		for sc.Scan() {
			frame.WriteString(sc.Text() + "\n")
			if sc.Text() == "" {
				if edited := edit(frame.String()); edited != "" {
					_, _ = io.WriteString(w, edited)
				}
				frame.Reset()
			}
		}
		w.CloseWithError(io.ErrUnexpectedEOF)
	}()
	return res
}

// lies are what the checks must notice.
var lies = map[string]struct {
	lie  func(l *liar, r *http.Request) (*http.Response, error)
	want string
}{
	"a write is acknowledged and lost": {func(l *liar, r *http.Request) (*http.Response, error) {
		if isWrite(r) && l.nth(7) {
			return response(r, http.StatusNoContent, ""), nil
		}
		return l.RoundTripper.RoundTrip(r)
	}, "is gone"},
	"a write is acknowledged and its document is as before": {func(l *liar, r *http.Request) (*http.Response, error) {
		if at(r, "/rename") && l.nth(2) {
			return response(r, http.StatusNoContent, ""), nil
		}
		return l.RoundTripper.RoundTrip(r)
	}, "is gone"},
	"a batch is torn, and fails": {func(l *liar, r *http.Request) (*http.Response, error) {
		if !at(r, "/batch-ops") || !l.nth(4) {
			return l.RoundTripper.RoundTrip(r)
		}
		var batch protocol.Batch
		data, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(data, &batch); err != nil {
			return nil, err
		}
		batch.Ops = batch.Ops[:3]
		data, _ = json.Marshal(batch)
		torn := r.Clone(r.Context())
		torn.Body, torn.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		if res, err := l.RoundTripper.RoundTrip(torn); err == nil {
			_ = res.Body.Close()
		}
		return response(r, http.StatusServiceUnavailable, `{"code":"store_unavailable"}`), nil
	}, "is half done"},
	"a line is appended twice": {func(l *liar, r *http.Request) (*http.Response, error) {
		if !at(r, "/append") || !l.nth(2) {
			return l.RoundTripper.RoundTrip(r)
		}
		data, _ := io.ReadAll(r.Body)
		twice := r.Clone(r.Context())
		data = append(data, data...)
		twice.Body, twice.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		return l.RoundTripper.RoundTrip(twice)
	}, "is 2 times in"},
	"a search is older than the write": {func(l *liar, r *http.Request) (*http.Response, error) {
		if at(r, "/search") && l.nth(7) {
			return response(r, http.StatusOK, `{"chunks":[]}`), nil
		}
		return l.RoundTripper.RoundTrip(r)
	}, "then a search for"},
	"a failure is the daemon's fault": {func(l *liar, r *http.Request) (*http.Response, error) {
		if isWrite(r) && l.nth(7) {
			return response(r, http.StatusInternalServerError, `{"code":"internal_error"}`), nil
		}
		return l.RoundTripper.RoundTrip(r)
	}, "500 Internal"},
	"an event is missing": {func(l *liar, r *http.Request) (*http.Response, error) {
		res, err := l.RoundTripper.RoundTrip(r)
		if err != nil || !at(r, "/events") {
			return res, err
		}
		return lines(res, func(frame string) string {
			if strings.Contains(frame, "change") && l.nth(50) {
				return ""
			}
			return frame
		}), nil
	}, ": after "},
	"an event comes late": {func(l *liar, r *http.Request) (*http.Response, error) {
		res, err := l.RoundTripper.RoundTrip(r)
		if err != nil || !at(r, "/events") {
			return res, err
		}
		held := ""
		return lines(res, func(frame string) string {
			if strings.Contains(frame, "change") && held == "" && l.nth(50) {
				held = frame
				return ""
			}
			frame += held
			held = ""
			return frame
		}), nil
	}, ": after "},
	"an event comes twice": {func(l *liar, r *http.Request) (*http.Response, error) {
		res, err := l.RoundTripper.RoundTrip(r)
		if err != nil || !at(r, "/events") {
			return res, err
		}
		return lines(res, func(frame string) string {
			if strings.Contains(frame, "change") && l.nth(50) {
				return frame + frame
			}
			return frame
		}), nil
	}, ": after "},
	"the last events are missing": {func(l *liar, r *http.Request) (*http.Response, error) {
		res, err := l.RoundTripper.RoundTrip(r)
		if err != nil || !at(r, "/events") {
			return res, err
		}
		n := 0
		return lines(res, func(frame string) string {
			if n++; n > 60 {
				l.lies.Add(1)
				return ""
			}
			return frame
		}), nil
	}, "though it is attached"},
	"nothing": {func(l *liar, r *http.Request) (*http.Response, error) {
		return l.RoundTripper.RoundTrip(r)
	}, ""},
}

// TestChecks checks that the checks notice what is wrong, and nothing else.
func TestChecks(t *testing.T) {
	onlyLong(t)
	r := startReplica(t, "one", nil, "--home", t.TempDir())
	urls := func() []string { return []string{r.URL()} }
	for name, tt := range lies {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, urls)
			w.brains[0] = strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name)
			w.settle = 500 * time.Millisecond
			w.truth = &streams{w: newWorld(t, 0, urls), all: map[string][]change{}}
			l := &liar{RoundTripper: w.http.Transport, lie: tt.lie}
			w.http.Transport = l
			w.play(t.Context(), 1, func() {
				for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(10 * time.Millisecond) {
					if w.counts.writes.Load() > 80 && (tt.want == "" || l.lies.Load() >= 5) {
						break
					}
				}
			})
			broken := w.broken()
			if tt.want == "" && len(broken) > 0 {
				t.Errorf("noticed %q", broken)
			} else if tt.want != "" && !slices.ContainsFunc(broken, func(v string) bool { return strings.Contains(v, tt.want) }) {
				t.Errorf("nothing with %q among %q", tt.want, broken)
			}
		})
	}
}

// streams is the truth by streams that are attached all the time and that nobody lies to.
type streams struct {
	w   *world
	mu  sync.Mutex
	all map[string][]change
}

func (s *streams) open(ctx context.Context, brain string) error {
	attached := make(chan error, 2) // one more, for when the stream ends
	go func() {
		c := s.w.at(s.w.urls()[0])
		attached <- c.Brain(brain).Events(ctx, func() { attached <- nil }, func(e protocol.ChangeEvent) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			all := s.all[brain]
			seq := int64(1)
			if n := len(all); n > 0 {
				seq = all[n-1].seq
				if e.Reason != all[n-1].note || !isBatch(e.Reason) {
					seq++
				}
			}
			s.all[brain] = append(all, change{seq, e.Kind, e.Path, e.OldPath, e.Reason})
			return nil
		})
	}()
	return <-attached
}

func (s *streams) head(context.Context, string) int64 { return -1 }

func (s *streams) changes(brain string) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all[brain])
}
