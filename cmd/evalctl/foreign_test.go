package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
)

// TestOwnToolsMeasureTheSame measures this program's own memory over HTTP, over its MCP tools on stdio
// and at /mcp, with the mapping that follows from the tools and with one from a file: retrieval is the
// same for every question. The tools take no date of the question, so that it is left out.
func TestOwnToolsMeasureTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filetest.Read(t, "../../datasets/core.jsonl")
	var questions bytes.Buffer
	for line := range bytes.Lines(data) {
		q := map[string]any{}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		delete(q, "question_date")
		if err := json.NewEncoder(&questions).Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	dataset := filepath.Join(dir, "core.jsonl")
	explicit := filepath.Join(dir, "tools.yaml")
	mapping := filetest.Read(t, "../../harness/mapping/builtin/memory-tools.yaml")
	for path, data := range map[string][]byte{dataset: questions.Bytes(), explicit: bytes.Replace(mapping, []byte("name: memory-tools"), []byte("name: by-hand"), 1)} {
		filetest.Write(t, path, data)
	}
	url, _ := serveProcess(t, []string{"SVC_LLM_PROVIDER=fake"}, "--store", "memory")
	measured := map[string]resulttest.File{}
	for name, target := range map[string]string{
		"http": "go", "stdio": "mcp:evalctl serve mcp", "url": "mcp:" + url + "/mcp",
		"explicit": "mcp: --mapping " + explicit + " evalctl serve mcp --store memory --home=",
	} {
		cmd := exec.CommandContext(t.Context(), "evalctl", "run", "--config", "none", "--target", name+"="+target,
			"--dataset", dataset, "--corpus", "../../datasets/core.corpus", "--scenario", "search-retrieve-only",
			"--scorer", "retrieval", "--top-k", "10", "--output", dir, "--floor", "0")
		cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		measured[name] = resultIn(t, dir, name)
	}
	want := retrievals(measured["http"])
	if len(want) < 150 {
		t.Fatalf("%d questions with gold", len(want))
	}
	for name, res := range measured {
		if diff := cmp.Diff(want, retrievals(res)); diff != "" {
			t.Errorf("%s measures something else than HTTP: %s", name, diff)
		}
		if diff := cmp.Diff(measured["http"].EffectiveModes, res.EffectiveModes); diff != "" {
			t.Errorf("%s records other modes than HTTP: %s", name, diff)
		}
		switch m := res.Mapped; {
		case (m == nil) != (name == "http"):
			t.Errorf("%s: mapped %+v", name, m)
		case m != nil && (m.Server != "evalctl" || m.Calls["memory_search"] < len(want) || m.Unranked()):
			t.Errorf("%s: mapped %+v", name, m)
		}
	}
	if name := measured["explicit"].Mapped.Mapping; name != "by-hand" {
		t.Errorf("the mapping of the file was not used, but %s", name)
	}
}

// retrievals returns the comparison with the gold, by question.
func retrievals(res resulttest.File) map[string]string {
	out := map[string]string{}
	for _, q := range res.Questions {
		if q.Retrieval != nil {
			data, err := json.Marshal(q.Retrieval)
			if err != nil {
				panic(err)
			}
			out[q.ID] = string(data)
		}
	}
	return out
}

// resultIn reads the newest result of a target below dir.
func resultIn(tb testing.TB, dir, name string) (res resulttest.File) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", name+".json"))
	if err != nil || len(files) != 1 {
		tb.Fatalf("%s: results %q, %v", name, files, err)
	}
	data, err := os.ReadFile(files[0])
	if err == nil {
		err = json.Unmarshal(data, &res)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return res
}
