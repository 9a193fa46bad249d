package conformancetest

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// CrashAt calls die on the nth request. die must not return, or must close all connections.
func CrashAt(n int64, die func()) Wrapper {
	var count atomic.Int64
	return CrashIf(func(*http.Request) bool { return count.Add(1) == n }, die)
}

// CrashIf calls die on a matching request.
func CrashIf(match Match, die func()) Wrapper {
	return Instead(match, func(http.ResponseWriter, *http.Request, http.Handler) {
		die()
		panic(http.ErrAbortHandler)
	})
}

// CrashOnAbort calls die when a client closes the connection before it has sent the announced body.
func CrashOnAbort(die func()) Wrapper {
	return Instead(func(r *http.Request) bool { return r.ContentLength > 0 },
		func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			// Otherwise the server stops reading the body as soon as the answer begins.
			_ = http.NewResponseController(w).EnableFullDuplex()
			body := r.Body
			next.ServeHTTP(w, r)
			_ = http.NewResponseController(w).Flush()
			if _, err := io.Copy(io.Discard, body); errors.Is(err, io.ErrUnexpectedEOF) {
				die()
			}
		})
}
