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
		cut := &cutWriter{ResponseWriter: w, after: c.After, isIdle: c.Idle, timer: time.AfterFunc(c.After, cancel)}
		defer cut.timer.Stop()
		next.ServeHTTP(cut, r.WithContext(ctx))
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

type cutWriter struct {
	http.ResponseWriter
	after  time.Duration
	isIdle bool
	timer  *time.Timer
}

// Unwrap is for http.ResponseController.
func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.isIdle {
		w.timer.Reset(w.after)
	}
	return w.ResponseWriter.Write(p)
}
