package verify

import (
	"slices"
	"strings"
	"testing"

	"evalctl/harness/result"
)

// TestModelRequests: what is said of a daemon's requests to its models must agree in itself.
func TestModelRequests(t *testing.T) {
	good := func() result.ModelRequests {
		return result.ModelRequests{
			Ingest: result.RequestCount{Made: 4}, Answers: result.RequestCount{Made: 9, Failed: 2}, Embeddings: result.RequestCount{Made: 3, Failed: 1},
			WithoutModel: 5, Silent: []result.GeneratedKind{},
			Refused: []result.RefusedRequests{
				{Path: result.PathCompletions, Status: 402, Requests: 2}, {Path: "/v1/messages", Status: 404, Requests: 2}, {Path: result.PathEmbeddings, Requests: 1},
			},
		}
	}
	for name, tt := range map[string]struct {
		change    func(m *result.ModelRequests)
		unmetered bool
		problem   string
	}{
		"good":            {func(*result.ModelRequests) {}, false, ""},
		"further paths":   {func(m *result.ModelRequests) { m.Refused[2] = result.RefusedRequests{Status: 404, Requests: 9} }, false, ""},
		"silent":          {func(m *result.ModelRequests) { m.Ingest.Made, m.Silent = 0, []result.GeneratedKind{result.Facts} }, true, ""},
		"silent, counted": {func(m *result.ModelRequests) { m.Ingest.Made, m.Silent = 0, []result.GeneratedKind{result.Facts} }, false, "made something without a request"},
		"not silent":      {func(m *result.ModelRequests) { m.Silent = []result.GeneratedKind{result.Answers} }, true, "9 requests were made"},
		"failed":          {func(m *result.ModelRequests) { m.Answers.Failed, m.Answers.Made = 2, 1 }, false, "more requests failed"},
		"refused":         {func(m *result.ModelRequests) { m.Refused[0].Requests = 1 }, false, "3 completions and embeddings failed"},
		"without model":   {func(m *result.ModelRequests) { m.WithoutModel = 17 }, false, "only 16 were made"},
	} {
		t.Run(name, func(t *testing.T) {
			res, questions := records(t, replayFile(t, 6))
			m := good()
			tt.change(&m)
			res.Replay.ModelRequests, res.CostAccounting.Unmetered = &m, tt.unmetered
			rep := verified(t, write(t, res, questions))
			if rep.OK != (tt.problem == "") || tt.problem != "" && !strings.Contains(rep.Differences[0].Problem, tt.problem) {
				t.Errorf("%+v", rep.Differences)
			}
			if tt.unmetered || name == "silent, counted" {
				return // a run does not say whether its daemon was metered
			}
			res, questions = records(t, runFile(t, 15, 0, judge{}))
			res.Cost.ModelRequests = &m
			rep = verified(t, write(t, res, questions))
			if rep.OK != (tt.problem == "") || tt.problem != "" && !strings.Contains(rep.Differences[0].Problem, tt.problem) ||
				!slices.Contains(rep.NotChecked, "the daemon's requests to its models") {
				t.Errorf("in a run: %+v, not checked %q", rep.Differences, rep.NotChecked)
			}
		})
	}
}
