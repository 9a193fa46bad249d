package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/harness/seed"
	"evalctl/harness/target"
	"evalctl/internal/httpclient"
	"evalctl/internal/jsonobj"
	"evalctl/internal/retry"
	"evalctl/replay/source"
)

const (
	// stalledAfter limits the time without progress in any session of any brain during extraction.
	stalledAfter = 5 * time.Minute
	// longestPoll is the longest wait between two polls of a session.
	longestPoll = 500 * time.Millisecond
)

// replay sends the messages of a haystack's sessions, one session after the other. It waits until
// facts are extracted from all of them, and then until a search finds one of the sessions. If the
// daemon reports neither jobs nor extraction progress, it only waits for the search.
func (f *filler) replay(
	ctx context.Context, remote *seed.Brain, b brain, h source.Haystack,
) error {
	wire, err := target.Find[target.Wire](f.Service, target.Protocol)
	if err != nil {
		return f.tell(ctx, remote, b, h)
	}
	endpoint := wire.Wire()
	var sent []*session
	single := false
	for _, one := range h.Sessions {
		s := &session{endpoint: endpoint, dialect: f.Dialect, brain: remote.ID(), id: one.ID}
		messages := messagesOf(one)
		if len(messages) > 0 {
			var err error
			if single, err = s.send(ctx, messages, single); err != nil {
				return err
			}
			sent = append(sent, s)
		}
		f.stall.progress()
		f.progress(1)
	}
	for _, s := range sent {
		if err := f.awaitFacts(ctx, s); err != nil {
			return err
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return f.await(ctx, remote, b, h, "the session of a passage must be in its metadata, as "+
		"session_id, or in its path")
}

// awaitFacts waits until facts are extracted from a session.
func (f *filler) awaitFacts(ctx context.Context, s *session) error {
	for _, id := range s.jobs {
		if err := f.awaitJob(ctx, s, id); err != nil {
			return err
		}
	}
	extracted := -1
	for wait := pollFrom; ; wait = min(2*wait, longestPoll) {
		st, err := s.state(ctx)
		if err != nil || !st.countsMessages || !st.countsExtracted {
			return err // the daemon does not say how far it is
		}
		if st.messages != s.sent {
			return fmt.Errorf("session %q has %d messages and %d were sent; "+
				"does something else write to the daemon?", s.id, st.messages, s.sent)
		}
		if st.extracted >= st.messages {
			return nil
		}
		if st.job != "" {
			if _, err := f.jobEnded(ctx, s, st.job); err != nil {
				return err
			}
		}
		if st.extracted > extracted {
			extracted = st.extracted
			f.stall.progress()
		}
		if err := f.stall.wait(ctx, wait); err != nil {
			return fmt.Errorf("session %q: facts were extracted from %d of %d messages: %w",
				s.id, st.extracted, st.messages, err)
		}
	}
}

// awaitJob waits until a job of a session has ended.
func (f *filler) awaitJob(ctx context.Context, s *session, id string) error {
	for wait := pollFrom; ; wait = min(2*wait, longestPoll) {
		ended, err := f.jobEnded(ctx, s, id)
		if err != nil {
			return err
		}
		if ended {
			f.stall.progress()
			return nil
		}
		if err := f.stall.wait(ctx, wait); err != nil {
			return fmt.Errorf("session %q: job %s has not ended: %w", s.id, id, err)
		}
	}
}

// jobEnded reports whether a job of a session has ended, or cannot be watched because the daemon
// does not report jobs. It returns an error for a failed job.
func (f *filler) jobEnded(ctx context.Context, s *session, id string) (bool, error) {
	o, err := s.get(ctx, target.BrainPath(s.brain)+"/jobs/"+httpclient.Segment(id))
	if notServed(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("session %q: job %s: %w", s.id, id, err)
	}
	switch o.Text("status", "state") {
	case protocol.JobFailed:
		return false, fmt.Errorf("session %q: job %s has failed, so that facts are missing: %.300q; "+
			"check the daemon's model", s.id, id, o.Get("error"))
	case protocol.JobQueued, protocol.JobRunning:
		return false, nil
	}
	return true, nil // completed, or another word for it
}

// pollFrom is the first wait between two polls of a session.
const pollFrom = 5 * time.Millisecond

// state is a session's state as reported by the daemon.
type state struct {
	messages, extracted int
	countsMessages      bool   // messages is known
	countsExtracted     bool   // extracted is known
	job                 string // that extracts, if the daemon says so
}

// state reads the state of the session. All fields are unknown if the daemon does not describe
// sessions.
func (s *session) state(ctx context.Context) (state, error) {
	o, err := s.get(ctx, s.path())
	if notServed(err) {
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("session %q: %w", s.id, err)
	}
	var st state
	var list []json.RawMessage
	switch {
	case json.Unmarshal(o.Get("messages"), &list) == nil && list != nil:
		st.messages, st.countsMessages = len(list), true
	default:
		st.messages, st.countsMessages = number(o, "messages", "message_count", "messageCount")
	}
	st.job = o.Text("extract_job", "extractJob")
	st.extracted, st.countsExtracted = number(o, "extracted", "extracted_count", "extractedCount")
	return st, nil
}

// number returns the value of the first key that has a number.
func number(o jsonobj.Object, keys ...string) (n int, ok bool) {
	for _, key := range keys {
		if json.Unmarshal(o.Get(key), &n) == nil && o.Get(key) != nil {
			return n, true
		}
	}
	return 0, false
}

// get reads an object with target.Retry.
func (s *session) get(ctx context.Context, path string) (o jsonobj.Object, err error) {
	err = target.Retry(ctx, target.CallTimeout, func(ctx context.Context) (err error) {
		o, err = s.endpoint.Object(ctx, target.Request{Method: http.MethodGet, Path: path})
		return err
	})
	return o, err
}

// stall detects a lack of progress. All brains share one, because a daemon may process them one
// after the other.
type stall struct {
	mu   sync.Mutex
	last time.Time
}

func (s *stall) progress() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// wait waits for a while. It returns an error if there was no progress for too long.
func (s *stall) wait(ctx context.Context, while time.Duration) error {
	s.mu.Lock()
	silent := time.Since(s.last)
	s.mu.Unlock()
	if silent > stalledAfter {
		return fmt.Errorf("nothing has changed for %v; the daemon's log says why",
			silent.Round(time.Second))
	}
	return retry.Sleep(ctx, while)
}
