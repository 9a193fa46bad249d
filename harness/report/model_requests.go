package report

import (
	"fmt"
	"strings"

	"evalctl/harness/result"
	"evalctl/internal/figure"
)

// requestsText lists the requests of a daemon in one line.
func requestsText(m *result.ModelRequests) string {
	if m == nil {
		return ""
	}
	var parts []string
	for _, p := range []struct {
		what  string
		count result.RequestCount
	}{{"to extract facts", m.Ingest}, {"to answer", m.Answers}, {"for embeddings", m.Embeddings}} {
		if p.count.Made == 0 {
			continue
		}
		text := fmt.Sprintf("%d %s", p.count.Made, p.what)
		if p.count.Failed > 0 {
			text += fmt.Sprintf(" (%d failed)", p.count.Failed)
		}
		parts = append(parts, text)
	}
	if m.WithoutModel > 0 {
		parts = append(parts, fmt.Sprintf("%d named no model and got the arm's", m.WithoutModel))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// requestWarnings describes refused requests, and output that the daemon generated without the
// gateway. Paths in the texts are as the daemon wrote them: outputs must escape them.
func requestWarnings(m *result.ModelRequests) (out []string) {
	if m == nil {
		return nil
	}
	for _, r := range m.Refused {
		out = append(out, refusedText(r))
	}
	for _, made := range m.Silent {
		out = append(out, fmt.Sprintf("no model request came: the daemon is configured with a model for its %s, but sent "+
			"no request to the gateway, so they are made without a model, or with a provider whose cost is not counted", made))
	}
	return out
}

// refusedText says which requests were refused, how many, and with which status.
func refusedText(r result.RefusedRequests) string {
	what := ""
	switch r.Path {
	case result.PathCompletions:
		what = figure.Count(r.Requests, "completion request")
	case result.PathEmbeddings:
		what = figure.Count(r.Requests, "embedding request")
	case "":
		what = figure.Count(r.Requests, "request") + " to further paths"
	default:
		what = figure.Count(r.Requests, "request") + " to " + r.Path
	}
	if r.Status == 0 {
		return what + " broke off"
	}
	return fmt.Sprintf("%s refused: %d", what, r.Status)
}
