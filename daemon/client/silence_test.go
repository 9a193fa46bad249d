package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

// speaking is a transport whose answer is what it writes. The answer does not
// end by itself.
type speaking func(w io.Writer)

func (s speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go s(w)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// TestSilentStreamsEnd: pings keep a stream, also beside an emit that takes its
// time. Without them it is over.
func TestSilentStreamsEnd(t *testing.T) {
	const ping, pings, emitting = 25 * time.Second, 24, 5 * time.Minute
	for given, want := range map[time.Duration]time.Duration{0: client.DefaultSilence, 30 * time.Second: 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, err := client.New("http://daemon", &client.Options{Silence: given, HTTPClient: &http.Client{Transport: speaking(func(w io.Writer) {
				io.WriteString(w, "event: ready\ndata: ok\n\n")
				for range pings {
					time.Sleep(ping)
					io.WriteString(w, "event: ping\ndata: keepalive\n\n")
				}
				io.WriteString(w, "event: change\ndata: {}\n\n")
			})}})
			if err != nil {
				t.Fatal(err)
			}
			start, heard := time.Now(), 0
			err = c.Brain("eval").Events(t.Context(), nil, func(protocol.ChangeEvent) error {
				heard++
				time.Sleep(emitting)
				return nil
			})
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not even a ping") || heard != 1 {
				t.Errorf("%d changes, then %v", heard, err)
			}
			if took := time.Since(start); took != pings*ping+emitting+want {
				t.Errorf("over after %v", took)
			}
		})
	}
}
