package harness

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/llm"
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

// oneCell returns a sweep with one finished cell.
func oneCell(planned int) result.Sweep {
	return result.Sweep{
		SchemaVersion: 1, SDK: "go", StartedAt: started, FinishedAt: started, Planned: planned,
		Cells: []result.Cell{{Mode: "bm25", TopK: 5, Result: noAnswers(), Questions: []result.Record{}}},
	}
}

func TestSweepFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := oneCell(2)
	file := NewSweepFile(dir, "go", started)
	path := file.Path()
	if err := file.Finish(&s, llm.ErrBudgetExceeded); err != nil ||
		path != filepath.Join(dir, "go.sweep.json") {
		t.Fatal(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := validateAs("sweep", data); err != nil {
		t.Errorf("not valid against the schema: %v\n%s", err, data)
	}
	var back result.Sweep
	if err := json.Unmarshal(data, &back); err != nil || back.Stopped != result.StopBudget {
		t.Fatalf("%v: %s", err, data)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
	other := NewSweepFile(dir, "go", started)
	// A sweep replaces its own file and the latest, and keeps that of another.
	for _, next := range []struct {
		file  *SweepFile
		files int
	}{{file, 2}, {other, 3}, {other, 3}, {file, 3}} {
		if err := next.file.Save(s); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil ||
			!strings.Contains(string(data), `"stopped": "interrupted"`) {
			t.Fatalf("%v: %s", err, data)
		}
		if files, _ := os.ReadDir(dir); len(files) != next.files {
			t.Errorf("%d files, want %d", len(files), next.files)
		}
	}
}

// TestSweepSchemaIsStrict checks that the schema rejects files that the code must not write.
func TestSweepSchemaIsStrict(t *testing.T) {
	good := encodeJSON(oneCell(1))
	if err := validateAs("sweep", good); err != nil {
		t.Fatal(err)
	}
	try := func(what string, change func(sweep, cell map[string]any)) {
		var m map[string]any
		if err := json.Unmarshal(good, &m); err != nil {
			t.Fatal(err)
		}
		change(m, m["cells"].([]any)[0].(map[string]any))
		if validateAs("sweep", encodeJSON(m)) == nil {
			t.Errorf("the schema accepts %s", what)
		}
	}
	for _, key := range []string{
		"schema_version", "sdk", "started_at", "finished_at", "stopped",
		"planned", "warm_up", "cells",
	} {
		try("no "+key, func(s, _ map[string]any) { delete(s, key) })
	}
	for _, key := range []string{"mode", "top_k", "candidate_k", "result"} {
		try("a cell without "+key, func(_, c map[string]any) { delete(c, key) })
	}
	result := func(c map[string]any) map[string]any { return c["result"].(map[string]any) }
	for _, key := range []string{"identity", "retrieval", "cost", "total"} {
		try("a result without "+key, func(_, c map[string]any) { delete(result(c), key) })
	}
	try("an unknown key", func(s, _ map[string]any) { s["more"] = 1 })
	try("an unknown key in a cell", func(_, c map[string]any) { c["more"] = 1 })
	try("questions in a cell", func(_, c map[string]any) { result(c)["questions"] = []any{} })
	try("cells of null", func(s, _ map[string]any) { s["cells"] = nil })
	try("an unknown stop", func(s, _ map[string]any) { s["stopped"] = "tired" })
	try("an unknown mode", func(_, c map[string]any) { c["mode"] = "fast" })
	try("an invalid time", func(s, _ map[string]any) { s["started_at"] = "yesterday" })
}
