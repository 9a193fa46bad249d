package httpstore_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"evalctl/daemon/client"
	"evalctl/daemon/store"
	"evalctl/daemon/store/httpstore"
	"evalctl/internal/awaittest"
)

// silentDaemon is a daemon whose change streams connect, send the next text of the channel, and
// then send nothing more.
type silentDaemon chan string

func (h silentDaemon) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go io.WriteString(w, "event: ready\ndata: ok\n\n"+<-h)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// TestSilentStreamIsReplaced: a stream that sends nothing, because the daemon or the connection
// hangs, is logged and reopened.
func TestSilentStreamIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon := make(silentDaemon, 3)
		daemon <- ""
		daemon <- ""
		daemon <- "event: change\ndata: " + `{"kind":"deleted","path":"a","when":"2024-05-01T12:00:00Z"}` + "\n\n"
		c, err := client.New("http://daemon", &client.Options{HTTPClient: &http.Client{Transport: daemon}})
		if err != nil {
			t.Fatal(err)
		}
		log := &awaittest.Log{}
		docs := httpstore.Open(c.Brain("b"), &store.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		received := make(chan store.ChangeEvent, 1)
		docs.Subscribe(func(ev store.ChangeEvent) { received <- ev })
		if ev := <-received; ev.Kind != store.Deleted || ev.Path != "a" {
			t.Errorf("received %+v", ev)
		}
		if text := log.String(); strings.Count(text, "is not connected") != 2 ||
			strings.Count(text, "not even a ping") != 2 {
			t.Errorf("log: %s", text)
		}
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	})
}
