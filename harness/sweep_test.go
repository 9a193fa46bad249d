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
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"evalctl/internal/llm"
	"evalctl/scorer"
)

// searching is a daemon that finds document 7 for "question 7", at the rank that
// it is told.
func searching(t *testing.T, before string) *stub {
	return newStub(t, func(w http.ResponseWriter, _ *http.Request, c call) {
		n := strings.TrimPrefix(c.body["query"].(string), "question ")
		_, _ = io.WriteString(w, `{"chunks":[`+before+`{"path":"raw/documents/d`+n+`.md","score":1}],"effective_mode":"bm25"}`)
	})
}

// TestRunCellLeavesNothing but its figures, which are those of a run.
func TestRunCellLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	writeFile(t, filepath.Join(tmp, "."+identityOf(Dataset{}).SDK+".cell", "left.journal"), "by a killed sweep")
	s := searching(t, `{"path":"other.md","score":2},`)
	d := survey(t, writeDataset(t, 4))
	cfg := setUp(t, s, d, t.TempDir())
	_ = cfg.Journal.Remove()
	cfg.Target.Scenario, cfg.Scorer, cfg.Target.TopK = SearchOnly, scorer.Retrieval{TopK: 2}, 2
	id := identityOf(d)
	id.Scenario, id.Scorer, id.TopK = SearchOnly, "retrieval", 2
	res, err := RunCell(t.Context(), tmp, cfg, id)
	if err != nil || res.Passed != 4 || res.Retrieval.Macro["recall@2"] != 1 || res.Retrieval.Macro["mrr"] != 0.5 || res.EffectiveModes["bm25"] != 4 {
		t.Errorf("got %+v, %v", res, err)
	}
	stopped := errors.New("stopped")
	cfg.Scorer = scripted(func(context.Context, scorer.Item) (scorer.Verdict, error) { return scorer.Verdict{}, stopped })
	if _, err := RunCell(t.Context(), tmp, cfg, id); !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

// TestWarmUp asks the first questions, and one of every brain; what fails there
// is no failure.
func TestWarmUp(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request, _ call) { http.Error(w, "no", http.StatusBadRequest) })
	var members []string
	for i := range 30 {
		brain := ""
		if i >= 25 && i != 27 {
			brain = `,"brain":"late"`
		}
		members = append(members, brain)
	}
	d, err := Survey(questionLines(t, members...), nil, Naming{Default: "eval"}, func(Question) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	target := s.target(t)
	target.Scenario, target.Brains = SearchOnly, map[string]string{"eval": "eval", "late": "late"}
	asked, err := target.WarmUp(t.Context(), d, time.Minute)
	calls := s.seen()
	if err != nil || asked != 21 || len(calls) != 21 || calls[20].path != "/v1/brains/late/search" || calls[20].body["query"] != "question 26" {
		t.Errorf("asked %d in %d calls, %v", asked, len(calls), err)
	}
}

func TestSweepIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	s := Sweep{SchemaVersion: 1, SDK: "go", StartedAt: started, FinishedAt: started, Planned: 2, Cells: []Cell{{Mode: "bm25", TopK: 5, Result: noAnswers()}}}
	s.Stop(llm.ErrBudgetExceeded)
	path, err := s.Write(dir)
	if err != nil || path != filepath.Join(dir, "go.sweep.json") {
		t.Fatal(path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := validateAs("sweep", data); err != nil {
		t.Errorf("not valid by the schema: %v\n%s", err, data)
	}
	var back Sweep
	if err := json.Unmarshal(data, &back); err != nil || back.Stopped != StopBudget {
		t.Fatalf("%v: %s", err, data)
	}
	if diff := cmp.Diff(s, back, cmpopts.IgnoreUnexported(Sweep{})); diff != "" {
		t.Error(diff)
	}
	for _, next := range []struct {
		sweep *Sweep
		files int
	}{{&s, 1}, {&back, 2}, {&back, 2}, {&s, 2}} { // one's own file is replaced, that of another kept
		if err := next.sweep.Save(dir); err != nil || next.sweep.Stopped != StopInterrupted {
			t.Fatalf("%q, %v", next.sweep.Stopped, err)
		}
		if files, _ := os.ReadDir(dir); len(files) != next.files {
			t.Errorf("%d files, want %d", len(files), next.files)
		}
	}
}

// TestSweepSchemaIsStrict: the schema refuses what the code must not write.
func TestSweepSchemaIsStrict(t *testing.T) {
	good := encodeJSON(Sweep{SchemaVersion: 1, SDK: "go", StartedAt: started, FinishedAt: started, Planned: 1, Cells: []Cell{{Mode: "bm25", TopK: 5, Result: noAnswers()}}})
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
	for _, key := range []string{"schema_version", "sdk", "started_at", "finished_at", "stopped", "planned", "warm_up", "cells"} {
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
	try("a time that is none", func(s, _ map[string]any) { s["started_at"] = "yesterday" })
}
