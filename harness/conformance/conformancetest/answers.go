package conformancetest

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Correct returns a wrapper without a defect.
func Correct() Wrapper { return func(next http.Handler) http.Handler { return next } }

// Delay delays every answer.
func Delay(by time.Duration) Wrapper {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(by):
				next.ServeHTTP(w, r)
			case <-r.Context().Done():
			}
		})
	}
}

// Failing answers the requests of one route with an error and a Problem.
func Failing(route string, status int) Wrapper { return FailingIf(Route(route), status) }

// FailingIf answers matching requests with an error and a Problem.
func FailingIf(match Match, status int) Wrapper {
	return Instead(match, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { problem(w, status) })
}

// Empty removes the bodies of one route's successful answers.
func Empty(route string) Wrapper {
	return After(Route(route), func(_ *http.Request, a *Answer) {
		if a.Status/100 == 2 {
			a.Body.Reset()
		}
	})
}

// Hanging reads the requests of one route and never answers.
func Hanging(route string) Wrapper {
	return Instead(Route(route), func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		bodyObject(r) // only after the body does the server notice that the client is gone
		<-r.Context().Done()
	})
}

// ResetEvery closes the connection instead of every nth answer.
func ResetEvery(n int64) Wrapper {
	return every(n, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
}

// RateLimitEvery answers every nth request with 429 and Retry-After.
func RateLimitEvery(n int64) Wrapper {
	return every(n, func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", strconv.Itoa(1))
		problem(w, http.StatusTooManyRequests)
	})
}

// FailEvery answers every nth request with an error status.
func FailEvery(n int64, status int) Wrapper {
	return every(n, func(w http.ResponseWriter) { problem(w, status) })
}

// FailOnce answers only the nth request of a route with an error status.
func FailOnce(match Match, n int64, status int) Wrapper {
	var count atomic.Int64
	return FailingIf(func(r *http.Request) bool { return match(r) && count.Add(1) == n }, status)
}

// FailOften answers one in n requests, at random, with an error status.
func FailOften(n uint64, status int) Wrapper {
	random := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	return FailingIf(func(r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		return r.URL.Path != "/healthz" && random.Uint64N(n) == 0
	}, status)
}

// every calls otherwise for every nth request. GET /healthz is not counted.
func every(n int64, otherwise func(http.ResponseWriter)) Wrapper {
	var count atomic.Int64
	return Instead(func(r *http.Request) bool { return r.URL.Path != "/healthz" && count.Add(1)%n == 0 },
		func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { otherwise(w) })
}

// Preconditions honours If-Match on reads, which the specification reserves.
func Preconditions() Wrapper {
	return FailingIf(func(r *http.Request) bool {
		return Route("GET /documents/read")(r) && r.Header.Get("If-Match") != ""
	}, http.StatusPreconditionFailed)
}

// NoHealth removes GET /healthz.
func NoHealth() Wrapper {
	return FailingIf(func(r *http.Request) bool { return r.URL.Path == "/healthz" }, http.StatusNotFound)
}

// Wrapped puts the JSON bodies of the successful answers of some routes under the key data.
func Wrapped(routes ...string) Wrapper {
	return After(AnyRoute(routes...), func(_ *http.Request, a *Answer) {
		if a.Status/100 == 2 {
			a.Edit(func(o map[string]any) {
				inner := maps.Clone(o)
				clear(o)
				o["data"] = inner
			})
		}
	})
}

// ReturnGzip stores gzip bodies verbatim, and returns them with Content-Encoding.
func ReturnGzip() Wrapper {
	put, read := Route("PUT /documents"), Route("GET /documents/read")
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if put(r) {
				r.Header.Del("Content-Encoding")
			}
			a := Serve(next, r)
			if read(r) && bytes.HasPrefix(a.Body.Bytes(), []byte("\x1f\x8b")) {
				a.Header().Set("Content-Encoding", "gzip")
			}
			a.Send(w, r)
		})
	}
}
