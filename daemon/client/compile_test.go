package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"evalctl/daemon/client"
)

func TestCompile(t *testing.T) {
	for _, body := range []string{
		`{"result":{"compiled":2}}`, `{ "tookMs": 12345678901234567890, "x": 1.50 }`, `null`, `[1]`, ``,
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method+" "+r.URL.Path != "POST /v1/brains/b/compile" {
				w.WriteHeader(404)
				return
			}
			fmt.Fprint(w, body)
		}))
		c, err := client.New(srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Brain("b").Compile(t.Context()); err != nil || string(got) != body {
			t.Errorf("%s: got %s, %v", body, got, err)
		}
		if _, err := c.Brain("other").Compile(t.Context()); !client.IsNotFound(err) {
			t.Errorf("got %v", err)
		}
		c.Close()
		srv.Close()
	}
}
