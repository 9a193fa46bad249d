package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evalctl/daemon/protocol"
	"evalctl/harness/result"
	"evalctl/harness/target"
	"evalctl/internal/httpclient"
	"evalctl/internal/jsonobj"
	"evalctl/internal/printable"
	"evalctl/replay/source"
)

// The limits of a request with messages, well below a daemon's.
const (
	batchMessages = protocol.MaxSessionMessages
	batchBytes    = 4 << 20
)

// timeForMessage is added to the time limit of a request for each message.
const timeForMessage = 100 * time.Millisecond

// message is one message of a session.
type message struct {
	role, name, text string
	at               time.Time
}

// messagesOf returns the messages of a session. Turns without text are left out, because a message
// must have text. Messages are one second apart, but never later than the day of the first: the
// session's date applies to all of its messages.
func messagesOf(s source.Session) []message {
	at, err := time.Parse(time.RFC3339, s.Date)
	if err != nil {
		at = time.Time{} // is left out
	}
	y, m, d := at.Date()
	last := time.Date(y, m, d, 23, 59, 59, 0, at.Location())
	var out []message
	for _, t := range s.Turns {
		if strings.TrimSpace(t.Text) == "" {
			continue
		}
		out = append(out, message{role: t.Role, name: printable.First(t.Name, protocol.MaxMessageName), text: t.Text, at: at})
		if next := at.Add(time.Second); !at.IsZero() && !next.After(last) {
			at = next
		}
	}
	return out
}

// session sends the messages of one session.
type session struct {
	endpoint *target.Endpoint
	dialect  result.Dialect
	brain    string // the daemon's id
	id       string
	sent     int
	jobs     []string // that the daemon has begun for the messages
}

func (s *session) path() string {
	return target.BrainPath(s.brain) + "/sessions/" + httpclient.Segment(s.id)
}

// send sends messages in order, in batches, or one by one if the daemon does not support batches.
// Only the last one asks for facts to be extracted (spec 4.1, memory_extract).
func (s *session) send(ctx context.Context, messages []message, single bool) (bool, error) {
	bodies := make([][]byte, len(messages))
	for i, m := range messages {
		if n := utf8.RuneCountInString(m.text); n > protocol.MaxMessageContent {
			return single, fmt.Errorf("message %d has %d characters and the protocol's limit is %d; "+
				"exclude the question, or use the ingest mode %s", i+1, n, protocol.MaxMessageContent, Bulk)
		}
		bodies[i] = s.encode(m, i == len(messages)-1)
	}
	for batch := range batches(bodies) {
		if !single {
			err := s.post(ctx, "/messages/batch", len(batch), slices.Concat(
				[]byte(`{"messages":[`), join(batch), []byte(`]}`)))
			if single = notServed(err); err != nil && !single {
				return single, err
			}
		}
		if !single {
			continue
		}
		for _, body := range batch {
			err := s.post(ctx, "/messages", 1, body)
			if notServed(err) {
				err = fmt.Errorf("%w: the daemon does not serve sessions; use the ingest mode %s", err, Bulk)
			}
			if err != nil {
				return single, err
			}
		}
	}
	return single, nil
}

// encode returns the body of one message.
func (s *session) encode(m message, extract bool) []byte {
	body := map[string]any{"role": m.role, "content": m.text}
	if m.name != "" {
		body["name"] = m.name
	}
	if !m.at.IsZero() {
		body["created_at"] = m.at.Format(time.RFC3339)
	}
	if !extract {
		skip := map[string]any{protocol.MetadataSkipExtract: true}
		body["metadata"] = json.RawMessage(target.Encode(s.dialect, skip, nil))
	}
	return target.Encode(s.dialect, body, nil)
}

// batches yields groups of bodies that fit into one request.
func batches(bodies [][]byte) func(yield func([][]byte) bool) {
	return func(yield func([][]byte) bool) {
		start, size := 0, 0
		for i, b := range bodies {
			if i > start && (i-start == batchMessages || size+len(b) > batchBytes) {
				if !yield(bodies[start:i]) {
					return
				}
				start, size = i, 0
			}
			size += len(b)
		}
		if start < len(bodies) {
			yield(bodies[start:])
		}
	}
}

func join(bodies [][]byte) []byte {
	var out []byte
	for i, b := range bodies {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, b...)
	}
	return out
}

// post sends n messages. A repeated request would store them twice, so it is repeated only if the
// daemon replies that it is busy. After any other failure without an answer, the session's message
// count decides whether they were stored; the error is errAmbiguous if it cannot.
func (s *session) post(ctx context.Context, path string, n int, body []byte) error {
	r := target.Request{
		Method: http.MethodPost, Path: s.path() + path, ContentType: protocol.TypeJSON, Body: body,
	}
	var o jsonobj.Object
	within := target.CallTimeout + time.Duration(n)*timeForMessage
	err := target.Retry(ctx, within, func(ctx context.Context) (err error) {
		o, err = s.endpoint.Create(ctx, r)
		return err
	})
	if err != nil && ctx.Err() == nil && ambiguous(err) {
		st, stErr := s.state(ctx)
		if stErr != nil || !st.countsMessages || st.messages != s.sent+n {
			return fmt.Errorf("session %q, messages %d to %d: %w: %w",
				s.id, s.sent+1, s.sent+n, errAmbiguous, err)
		}
		err = nil
	}
	if err != nil {
		return fmt.Errorf("session %q, messages %d to %d: %w", s.id, s.sent+1, s.sent+n, err)
	}
	s.sent += n
	if id := o.Text("job_id", "jobId"); id != "" {
		s.jobs = append(s.jobs, id)
	}
	return nil
}

// ambiguous reports whether a failed request may have been executed.
func ambiguous(err error) bool {
	f, ok := errors.AsType[*target.Failure](err)
	if !ok {
		return errors.Is(err, target.ErrNoAnswer)
	}
	return f.Kind != result.KindStatus || f.Status >= 500 && f.Status != http.StatusServiceUnavailable
}

// notServed reports whether a daemon does not support the endpoint.
func notServed(err error) bool {
	f, ok := errors.AsType[*target.Failure](err)
	return ok && (f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed)
}
