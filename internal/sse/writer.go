package sse

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// defaultWriteTimeout limits one Send unless NewWriter is given another limit.
const defaultWriteTimeout = 10 * time.Second

// Writer sends events as the body of an HTTP response. It is not safe for concurrent use.
type Writer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

// buffers contains frames only while they are written, because most of a daemon's open streams are
// idle.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// NewWriter sends the status and headers of an event stream at once. writeTimeout limits each Send;
// 0 means 10 seconds. It replaces the server's WriteTimeout for this response, which may last any
// time. The error wraps http.ErrNotSupported if w cannot flush or set deadlines; nothing was sent
// then.
func NewWriter(w http.ResponseWriter, writeTimeout time.Duration) (*Writer, error) {
	if writeTimeout <= 0 {
		writeTimeout = defaultWriteTimeout
	}
	sw := &Writer{w: w, rc: http.NewResponseController(w), timeout: writeTimeout}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	Unbuffered(w.Header())
	if err := sw.write(nil); err != nil {
		return nil, fmt.Errorf("start event stream: %w", err)
	}
	return sw, nil
}

// Unbuffered asks proxies on the way to pass on a stream as it comes. Without it, nginx holds back
// some kilobytes.
func Unbuffered(h http.Header) { h.Set("X-Accel-Buffering", "no") }

// Send writes events, each as a frame, and flushes once. The time limit applies to all of them
// together. Line breaks of any kind in Data arrive as "\n". An empty Name arrives as "message"; an
// empty ID leaves the reader's last id unchanged. If an ID or Name contains a line break or NUL,
// Send returns an error and writes nothing. After any other error, which is os.ErrDeadlineExceeded
// over HTTP/1 if the client stalled, the stream is broken and the handler must return.
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
	// HTTP/2 resets a stream whose deadline expires while it is only idle, and an expired deadline
	// would cut off the end of an HTTP/1 response.
	return w.rc.SetWriteDeadline(time.Time{})
}

func appendFrame(b []byte, e Event) ([]byte, error) {
	for _, f := range []struct{ field, value string }{{"id", e.ID}, {"event", e.Name}} {
		if strings.ContainsAny(f.value, "\r\n\x00") {
			return nil, fmt.Errorf("%s %q of an event contains a line break or NUL", f.field, f.value)
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
