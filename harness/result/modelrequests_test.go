package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelRequests(t *testing.T) {
	a := ModelRequests{
		Answers: RequestCount{Made: 3, Failed: 1}, WithoutModel: 2, Silent: []GeneratedKind{Vectors},
		Refused: []RefusedRequests{{PathCompletions, 402, 1}, {"/v1/messages", 404, 1}},
	}
	b := ModelRequests{
		Embeddings: RequestCount{Made: 14, Failed: 14}, Answers: RequestCount{Made: 1, Failed: 1},
		Refused: []RefusedRequests{{PathEmbeddings, 404, 14}, {PathCompletions, 402, 2}, {"", 404, 7}, {PathCompletions, 0, 1}},
	}
	sum := a.Plus(b)
	if got, want := sum.Text(), "4 to answer (2 failed), 14 for embeddings (14 failed), 2 named no model and got the arm's"; got != want {
		t.Errorf("got %q", got)
	}
	want := []string{
		"14 embedding requests refused: 404", "7 requests to further paths refused: 404", "3 completion requests refused: 402",
		"1 completion request broke off", "1 request to /v1/messages refused: 404",
		"no model request came: the daemon is configured with a model for its vectors, but sent no request to the gateway, " +
			"so they are made without a model, or with a provider whose cost is not counted",
	}
	if diff := cmp.Diff(want, sum.Warnings()); diff != "" {
		t.Error(diff)
	}
	if got := (&ModelRequests{}).Text(); got != "none" {
		t.Errorf("got %q", got)
	}
	var absent *ModelRequests
	if absent.Text() != "" || absent.Warnings() != nil {
		t.Error("an older file has requests")
	}
}
