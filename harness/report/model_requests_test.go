package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/result"
)

func TestModelRequests(t *testing.T) {
	a := result.ModelRequests{
		Answers: result.RequestCount{Made: 3, Failed: 1}, WithoutModel: 2, Silent: []result.GeneratedKind{result.Vectors},
		Refused: []result.RefusedRequests{{Path: result.PathCompletions, Status: 402, Requests: 1}, {Path: "/v1/messages", Status: 404, Requests: 1}},
	}
	b := result.ModelRequests{
		Embeddings: result.RequestCount{Made: 14, Failed: 14}, Answers: result.RequestCount{Made: 1, Failed: 1},
		Refused: []result.RefusedRequests{{Path: result.PathEmbeddings, Status: 404, Requests: 14}, {Path: result.PathCompletions, Status: 402, Requests: 2}, {Path: "", Status: 404, Requests: 7}, {Path: result.PathCompletions, Status: 0, Requests: 1}},
	}
	sum := a.Plus(b)
	if got, want := requestsText(&sum), "4 to answer (2 failed), 14 for embeddings (14 failed), 2 named no model and got the arm's"; got != want {
		t.Errorf("got %q", got)
	}
	want := []string{
		"14 embedding requests refused: 404", "7 requests to further paths refused: 404", "3 completion requests refused: 402",
		"1 completion request broke off", "1 request to /v1/messages refused: 404",
		"no model request came: the daemon is configured with a model for its vectors, but sent no request to the gateway, " +
			"so they are made without a model, or with a provider whose cost is not counted",
	}
	if diff := cmp.Diff(want, requestWarnings(&sum)); diff != "" {
		t.Error(diff)
	}
	if got := requestsText(&result.ModelRequests{}); got != "none" {
		t.Errorf("got %q", got)
	}
	var absent *result.ModelRequests
	if requestsText(absent) != "" || requestWarnings(absent) != nil {
		t.Error("an older file has requests")
	}
}
