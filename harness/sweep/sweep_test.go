package sweep

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/aggregate"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

var started = time.Date(2026, 3, 21, 10, 0, 0, 0, time.UTC)

// noAnswers returns a result without questions.
func noAnswers() result.Result {
	id := result.Identity{
		SchemaVersion: 1, SDK: "go", Scorer: "exact",
		Scenario: result.AskBasic, Mode: "auto", TopK: 1, Dialect: result.Auto,
		Tool: result.ToolID{CPUs: 1},
	}
	id.Dataset = result.DatasetID{SHA256: strings.Repeat("a", 64), Selected: 1, Tags: map[string]int{}}
	r := result.Result{
		SDK: "go", ScorerName: "exact", Planned: 1, Identity: id,
		Settings:  result.Settings{Concurrency: 1, TimeoutSeconds: 1},
		StartedAt: started, FinishedAt: started,
	}
	empty := aggregate.New(5)
	empty.Fill(&r)
	empty.Judge(&r)
	return r
}

func encodeJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
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
	file := NewFile(dir, "go", started)
	path := file.Path()
	if err := file.Finish(&s, llm.ErrBudgetExceeded); err != nil ||
		path != filepath.Join(dir, "go.sweep.json") {
		t.Fatal(path, err)
	}
	data := filetest.Read(t, path)
	if err := resulttest.Validate("sweep", data); err != nil {
		t.Errorf("not valid against the schema: %v\n%s", err, data)
	}
	var back result.Sweep
	if err := json.Unmarshal(data, &back); err != nil || back.Stopped != result.StopBudget {
		t.Fatalf("%v: %s", err, data)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Error(diff)
	}
	other := NewFile(dir, "go", started)
	// A sweep replaces its own file and the latest, and keeps that of another.
	for _, next := range []struct {
		file  *File
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
	if err := resulttest.Validate("sweep", good); err != nil {
		t.Fatal(err)
	}
	try := func(what string, change func(sweep, cell map[string]any)) {
		var m map[string]any
		if err := json.Unmarshal(good, &m); err != nil {
			t.Fatal(err)
		}
		change(m, m["cells"].([]any)[0].(map[string]any))
		if resulttest.Validate("sweep", encodeJSON(m)) == nil {
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
