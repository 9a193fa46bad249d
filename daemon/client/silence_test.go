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

// speaking is a transport whose response is what the function writes. The response does not end by
// itself.
type speaking func(w io.Writer)

func (s speaking) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go s(w)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// TestSilentStreamsEnd: pings keep a stream open, and the time that emit takes does not count.
// Without pings the stream ends.
func TestSilentStreamsEnd(t *testing.T) {
	const ping, pings, emitting = 25 * time.Second, 24, 5 * time.Minute
	speak := speaking(func(w io.Writer) {
		io.WriteString(w, "event: ready\ndata: ok\n\n")
		for range pings {
			time.Sleep(ping)
			io.WriteString(w, "event: ping\ndata: keepalive\n\n")
		}
		io.WriteString(w, "event: change\ndata: {}\n\n")
	})
	for given, want := range map[time.Duration]time.Duration{
		0: 75 * time.Second, 30 * time.Second: 30 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, err := client.New("http://daemon", &client.Options{
				Silence: given, HTTPClient: &http.Client{Transport: speak},
			})
			if err != nil {
				t.Fatal(err)
			}
			start, received := time.Now(), 0
			err = c.Brain("eval").Events(t.Context(), nil, func(protocol.ChangeEvent) error {
				received++
				time.Sleep(emitting)
				return nil
			})
			silent := errors.Is(err, context.DeadlineExceeded) &&
				strings.Contains(err.Error(), "not even a ping")
			if !silent || received != 1 {
				t.Errorf("%d changes, then %v", received, err)
			}
			if took := time.Since(start); took != pings*ping+emitting+want {
				t.Errorf("ended after %v", took)
			}
		})
	}
}
