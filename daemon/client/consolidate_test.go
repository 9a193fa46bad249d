package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/client"
	"evalctl/daemon/protocol"
)

func TestConsolidate(t *testing.T) {
	c, _ := start(t)
	b := c.Brain("eval")
	for _, dryRun := range []bool{true, false} {
		raw, err := b.Consolidate(t.Context(), protocol.ConsolidateRequest{DryRun: dryRun})
		if err != nil {
			t.Fatal(err)
		}
		var got protocol.ConsolidateResponse
		err = json.Unmarshal(raw, &got)
		none := []protocol.ConsolidationAction{}
		want := protocol.ConsolidateResponse{Result: protocol.Consolidation{DryRun: dryRun, Compiled: none, Promoted: none, Pruned: none}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if _, err := c.Brain("other").Consolidate(t.Context(), protocol.ConsolidateRequest{}); !client.IsNotFound(err) {
		t.Errorf("no brain: %v", err)
	}
}

func TestConsolidateIsJSON(t *testing.T) {
	c := stub(t, nil, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	if got, err := c.Brain("eval").Consolidate(t.Context(), protocol.ConsolidateRequest{}); err == nil ||
		err.Error() != "POST /v1/brains/eval/consolidate: the response is not JSON" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestConsolidateTakesItsTime: a model may take longer than Options.Timeout.
func TestConsolidateTakesItsTime(t *testing.T) {
	c := stub(t, &client.Options{Timeout: time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/brains/eval/consolidate" || string(body) != `{"dry_run":true}` {
			t.Errorf("%s %s", r.URL.Path, body)
		}
		time.Sleep(50 * time.Millisecond)
		io.WriteString(w, `{"result":{"record":"r"}}`)
	})
	got, err := c.Brain("eval").Consolidate(t.Context(), protocol.ConsolidateRequest{DryRun: true})
	if err != nil || string(got) != `{"result":{"record":"r"}}` {
		t.Errorf("got %s, %v", got, err)
	}
}
