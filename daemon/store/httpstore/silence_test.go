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
)

// hung is a daemon whose change streams attach and then say what is next in
// the list, or nothing.
type hung chan string

func (h hung) RoundTrip(r *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
	go io.WriteString(w, "event: ready\ndata: ok\n\n"+<-h)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body, Request: r}, nil
}

// TestSilentStreamIsReplaced: a daemon that hangs, or a path to it that is
// dead, is noticed and told of.
func TestSilentStreamIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		says := make(hung, 3)
		says <- ""
		says <- ""
		says <- "event: change\ndata: {\"kind\":\"deleted\",\"path\":\"a\",\"when\":\"2024-05-01T12:00:00Z\"}\n\n"
		c, err := client.New("http://daemon", &client.Options{HTTPClient: &http.Client{Transport: says}})
		if err != nil {
			t.Fatal(err)
		}
		log := &lockedLog{}
		docs := httpstore.Open(c.Brain("b"), &store.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		heard := make(chan store.ChangeEvent, 1)
		docs.Subscribe(func(ev store.ChangeEvent) { heard <- ev })
		if ev := <-heard; ev.Kind != store.Deleted || ev.Path != "a" {
			t.Errorf("heard %+v", ev)
		}
		if text := log.String(); strings.Count(text, "is not connected") != 2 || strings.Count(text, "not even a ping") != 2 {
			t.Errorf("log: %s", text)
		}
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	})
}
