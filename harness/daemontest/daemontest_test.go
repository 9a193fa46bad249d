package daemontest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/daemontest"
)

func ExampleEvent() {
	fmt.Print(daemontest.Event("done", `{"ok":true}`))
	// Output:
	// event: done
	// data: {"ok":true}
}

// TestInMemory checks that a daemon in memory works in a bubble, where waiting takes no time.
func TestInMemory(t *testing.T) {
	before := http.DefaultTransport
	synctest.Test(t, func(t *testing.T) {
		daemontest.InMemory(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, r.URL.Path)
		})
		start := time.Now()
		client := http.Client{Transport: http.DefaultTransport}
		defer client.CloseIdleConnections()
		res, err := client.Get("http://memory/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || string(body) != "/healthz" || time.Since(start) != time.Hour {
			t.Errorf("got %q, %v after %v", body, err, time.Since(start))
		}
	})
	if http.DefaultTransport != before {
		t.Error("the default transport was not restored")
	}
}

func TestDaemon(t *testing.T) {
	d := daemontest.Answering(t)
	question := strings.NewReader(`{"question":"question 7"}`)
	res, err := http.Post(d.URL+"/v1/brains/b/ask", "application/json", question)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != daemontest.AnswerTo("question 7") {
		t.Errorf("got %q, %v", body, err)
	}
	calls := d.Calls()
	if len(calls) != 1 || calls[0].Method != "POST" || calls[0].Path != "/v1/brains/b/ask" ||
		calls[0].Body["question"] != "question 7" {
		t.Errorf("got %+v", calls)
	}
	if asked := d.Asked(); len(asked) != 1 || asked[0] != "question 7" {
		t.Errorf("asked %v", asked)
	}
}
