package conformancetest

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Cut describes when a daemon ends the change streams that match If, or all of them.
type Cut struct {
	If    Match
	After time.Duration // since the stream began
	Idle  bool          // since its last frame instead
	Reset bool          // the connection is reset
}

// CutStreams ends change streams.
func CutStreams(c Cut) Wrapper {
	isStream := Route("GET /events")
	match := func(r *http.Request) bool { return isStream(r) && (c.If == nil || c.If(r)) }
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		cut := &cutWriter{ResponseWriter: w, Cut: c, end: cancel}
		next.ServeHTTP(cut, r.WithContext(ctx))
		if cut.timer != nil {
			cut.timer.Stop()
		}
		if !c.Reset {
			return
		}
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			_ = conn.Close()
		}
	})
}

// cutWriter calls end when the stream is cut.
type cutWriter struct {
	http.ResponseWriter
	Cut
	end   func()
	timer *time.Timer // since the headers; before them, the request would end and not the stream
}

// Unwrap is for http.ResponseController.
func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutWriter) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	w.begin()
}

func (w *cutWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.begin()
	if w.Idle {
		w.timer.Reset(w.After)
	}
	return n, err
}

// FlushError is for http.ResponseController.
func (w *cutWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	w.begin()
	return err
}

func (w *cutWriter) begin() {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.After, w.end)
	}
}
