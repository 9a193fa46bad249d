package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// defaultWriteTimeout is how long one Send may take when NewWriter is given 0.
const defaultWriteTimeout = 10 * time.Second

// Writer sends events as the body of an HTTP answer. It is not safe for
// concurrent use.
type Writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

// buffers hold frames while they are written, and not longer: of the many open
// streams of a daemon, most are idle.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// NewWriter sends the status and headers of an event stream at once.
// writeTimeout bounds each Send (0 means defaultWriteTimeout) and replaces the
// server's own defaultWriteTimeout for this answer, which may last any time. The
// error wraps http.ErrNotSupported when w cannot flush or set deadlines;
// nothing has been sent then.
func NewWriter(w http.ResponseWriter, writeTimeout time.Duration) (*Writer, error) {
	if writeTimeout <= 0 {
		writeTimeout = defaultWriteTimeout
	}
	sw := &Writer{w: w, rc: http.NewResponseController(w), timeout: writeTimeout}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	if err := sw.write(nil); err != nil {
		return nil, fmt.Errorf("start event stream: %w", err)
	}
	return sw, nil
}

// Send writes events, each as a frame, and flushes once. The time limit is for
// all of them. Line breaks of any kind in Data arrive as "\n". An empty Name
// arrives as "message"; an empty ID leaves the reader's last id as it was. An ID or
// Name with a line break or NUL is refused and nothing is written. After any
// other error, which is os.ErrDeadlineExceeded over HTTP/1 when the client stalled,
// the stream is broken and the handler must return.
func (w *Writer) Send(events ...Event) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	frames := (*buffer)[:0]
	for _, e := range events {
		var err error
		if frames, err = appendFrame(frames, e); err != nil {
			return err
		}
	}
	*buffer = frames
	if err := w.write(frames); err != nil {
		return fmt.Errorf("send %s: %w", names(events), err)
	}
	return nil
}

func names(events []Event) string {
	if len(events) == 1 {
		return fmt.Sprintf("event %q", events[0].Name)
	}
	return fmt.Sprintf("%d events", len(events))
}

func (w *Writer) write(frame []byte) error {
	if err := w.rc.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	if len(frame) > 0 {
		if _, err := w.w.Write(frame); err != nil {
			return err
		}
	}
	if err := w.rc.Flush(); err != nil {
		return err
	}
	// HTTP/2 resets a stream whose deadline passes while it is only idle, and
	// an expired deadline would cut the clean end of an HTTP/1 answer.
	return w.rc.SetWriteDeadline(time.Time{})
}

func appendFrame(b []byte, e Event) ([]byte, error) {
	for _, f := range []struct{ field, value string }{{"id", e.ID}, {"event", e.Name}} {
		if strings.ContainsAny(f.value, "\r\n\x00") {
			return nil, fmt.Errorf("%s %q of an event holds a line break or NUL", f.field, f.value)
		}
		if f.value != "" {
			b = append(b, f.field...)
			b = append(b, ": "...)
			b = append(b, f.value...)
			b = append(b, '\n')
		}
	}
	for data := e.Data; ; {
		end := lineEnd(data)
		b = append(b, "data: "...)
		b = append(b, data[:end]...)
		b = append(b, '\n')
		if end == len(data) {
			return append(b, '\n'), nil
		}
		if bytes.HasPrefix(data[end:], []byte("\r\n")) {
			end++
		}
		data = data[end+1:]
	}
}
