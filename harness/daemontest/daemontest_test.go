package daemontest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
)

func TestDaemon(t *testing.T) {
	d := daemontest.Answering(t)
	res, err := http.Post(d.URL+"/v1/brains/b/ask", "application/json", strings.NewReader(`{"question":"question 7"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || string(body) != daemontest.AnswerTo("question 7") {
		t.Errorf("got %q, %v", body, err)
	}
	calls := d.Calls()
	if len(calls) != 1 || calls[0].Method != "POST" || calls[0].Path != "/v1/brains/b/ask" || calls[0].Body["question"] != "question 7" {
		t.Errorf("got %+v", calls)
	}
	if asked := d.Asked(); len(asked) != 1 || asked[0] != "question 7" {
		t.Errorf("asked %v", asked)
	}
}
