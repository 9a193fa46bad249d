package harness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/scorer"
)

// searching starts a daemon that finds document 7 for "question 7", after the chunks before.
func searching(t *testing.T, before string) *daemontest.Daemon {
	return daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		n := strings.TrimPrefix(c.Body["query"].(string), "question ")
		_, _ = io.WriteString(w,
			`{"chunks":[`+before+`{"path":"raw/documents/d`+n+`.md","score":1}],`+
				`"effective_mode":"bm25"}`)
	})
}

// TestDriveWritesNothing checks that Drive returns the figures of a run and writes no file.
func TestDriveWritesNothing(t *testing.T) {
	s := searching(t, `{"path":"other.md","score":2},`)
	d := openDataset(t, writeDataset(t, 4))
	tmp := t.TempDir()
	cfg := setUp(t, s, d, tmp)
	asker := targetIn(cfg.Asker)
	asker.Scenario, asker.TopK = result.SearchOnly, 2
	cfg.Scorer, cfg.TopK = scorer.Retrieval{TopK: 2}, 2
	id := identityOf(d)
	id.Scenario, id.Scorer, id.TopK = result.SearchOnly, "retrieval", 2
	res, err := Drive(t.Context(), cfg.config(), id)
	if err != nil || res.Passed != 4 || res.Retrieval.Macro["recall@2"] != 1 ||
		res.Retrieval.Macro["mrr"] != 0.5 || res.EffectiveModes["bm25"] != 4 {
		t.Errorf("got %+v, %v", res, err)
	}
	// The scorer fails once every question has an answer: such a run has no open question left.
	stopped := errors.New("stopped")
	var scoring sync.WaitGroup
	scoring.Add(d.Selected)
	cfg.Scorer = scripted(func(context.Context, scorer.Item) (scorer.Verdict, error) {
		scoring.Done()
		scoring.Wait()
		return scorer.Verdict{}, stopped
	})
	if _, err := Drive(t.Context(), cfg.config(), id); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 1 || left[0].Name() != "go.journal" {
		t.Errorf("left behind: %v", left)
	}
}
