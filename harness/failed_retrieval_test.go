package harness

import (
	"net/http"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// TestFailedAskRetrieves checks that what an ask retrieved before it failed counts for retrieval,
// and that only a question without a list of chunks counts as an error of retrieval.
func TestFailedAskRetrieves(t *testing.T) {
	retrieve := event("retrieve", `{"chunks":[{"path":"d.md","score":1}]}`)
	for _, c := range []struct {
		name, stream string
		hang         bool
		recall       float64
		errors       int
	}{
		{"error event", retrieve + event("error", `{"message":"no model"}`), false, 1, 0},
		{"not ok", retrieve + event("done", `{"ok":false}`), false, 1, 0},
		{"no done", retrieve + event("answer_delta", `{"delta":"a"}`), false, 1, 0},
		{"time limit", retrieve, true, 1, 0},
		{"nothing found", event("retrieve", `{"chunks":[]}`) + event("error", `{}`), false, 0, 0},
		{"error first", event("error", `{"message":"no model"}`), false, 0, 1},
		{"unreadable list", event("retrieve", `{"chunks":"x"}`), false, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, _ daemontest.Call) {
				daemontest.Stream(w, c.stream)
				if c.hang {
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				}
			})
			path := filetest.Write(t, t.TempDir()+"/q.jsonl",
				`{"id":"a","question":"who?","expected_substrings":["x"],"expected_paths":["d.md"]}`+"\n")
			d := openDataset(t, path)
			cfg := setUp(t, s, d, t.TempDir())
			if c.hang {
				cfg.Timeout = 200 * time.Millisecond
			}
			file := cfg.finish(t)
			res := readResult(t, file)
			got := res.Questions[0]
			if got.Outcome != result.Errored || got.LostAt(result.AskBasic, 5) != result.StageError ||
				(got.Retrieval == nil) != (c.errors == 1) || res.Retrieval == nil ||
				res.Retrieval.Errors != c.errors || res.Retrieval.Macro["recall@5"] != c.recall {
				t.Errorf("got %+v with the figures %+v", got, res.Retrieval)
			}
		})
	}
}
