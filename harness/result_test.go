package harness

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/harness/wording"
	"evalctl/internal/filetest"
	"evalctl/internal/goldentest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// TestResultFile compares a result file that has every outcome with a golden file.
func TestResultFile(t *testing.T) {
	d := openDataset(t, writeDataset(t, 6))
	id := identityOf(d)
	id.Corpus = &result.CorpusID{
		Path: "questions.corpus", SHA256: strings.Repeat("ab", 32), Documents: 3,
	}
	id.Reader = &result.ModelID{Provider: "fake", Model: "fake"}
	id.Scorer, id.Judge = "judge", &result.JudgeModel{
		Provider: "openai", BaseURL: "https://api.openai.com/v1", Model: "m",
		PromptVersion: "judge-1", PromptSHA256: strings.Repeat("cd", 32),
	}
	j, err := journal.Create(t.TempDir(), id, started, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := resumeWith(t, mixed(t), d, j)
	cfg.Concurrency, cfg.Scorer = 1, (&grader{}).scorer()
	cfg.CapUSD, cfg.UnpricedModel = new(2*llm.Dollar), "m"
	res, path, err := cfg.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := readResult(t, path)
	data := filetest.Read(t, path)
	// Times depend on the machine; everything else is the same everywhere.
	for _, c := range []struct{ find, put string }{
		{`("finished_at": )"[^"]+"`, `${1}"2026-03-21T10:00:01Z"`},
		{`("(?:latency|first_delta)_ms":)[0-9.]+`, `${1}1.5`},
		{`("at_ms":)[0-9.]+`, `${1}1.5`},
		{`("(?:asked|judged)_at":)"[^"]+"`, `${1}"2026-09-20T10:00:00Z"`},
		{`("judge_ms":)[0-9.e-]+`, `${1}1.5`},
		{`,"(?:last|gap)_ms":[0-9.]+`, ``},
		{`("p\d\d_ms": )[0-9.]+`, `${1}1.5`},
		// The last digits depend on the processor.
		{`("(?:low|high|lower|worse_passes)": 0\.\d{6})\d+`, `${1}`},
	} {
		data = regexp.MustCompile(c.find).ReplaceAll(data, []byte(c.put))
	}
	goldentest.Compare(t, "testdata/result.json", string(data))
	if f.FinishedAt.Location() != time.UTC || time.Since(f.FinishedAt) > time.Minute {
		t.Errorf("finished at %v", f.FinishedAt)
	}
	line := "go: 3/6 pass_rate=0.500 mean_score=0.750 -> " + path
	if got := wording.Summary(&res, path); got != line {
		t.Errorf("got %s\nwant %s", got, line)
	}
}

// TestSchemaIsStrict checks that the schema rejects files that the code must not write.
func TestSchemaIsStrict(t *testing.T) {
	golden := filetest.Read(t, filepath.Join("testdata", "result.json"))
	if err := resulttest.Validate("result", golden); err != nil {
		t.Fatal(err)
	}
	broken := 0
	try := func(what string, change func(m map[string]any)) {
		var m map[string]any
		if err := json.Unmarshal(golden, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		broken++
		if data, _ := json.Marshal(m); resulttest.Validate("result", data) == nil {
			t.Errorf("the schema accepts %s", what)
		}
	}
	question := func(m map[string]any, i int) map[string]any {
		return m["questions"].([]any)[i].(map[string]any)
	}
	var whole map[string]any
	if err := json.Unmarshal(golden, &whole); err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(whole)) {
		if key == "fusions" { // older files and daemons lack it
			try("a fusion without a number", func(m map[string]any) { m[key].(map[string]any)["more"] = "x" })
			continue
		}
		if key != "gold" { // older files lack it
			try("no "+key, func(m map[string]any) { delete(m, key) })
		}
		sub, ok := whole[key].(map[string]any)
		if ok && key != "tags" && key != "effective_modes" &&
			key != "reader_models" && key != "reader_prompts" {
			try("an unknown key in "+key,
				func(m map[string]any) { m[key].(map[string]any)["more"] = 1 })
			for _, k := range slices.Sorted(maps.Keys(sub)) {
				if !slices.Contains([]string{"unpriced_model", "unpriced_models", "total_usd", "parts", "interval_basis", "depth", "returned"}, k) { // older files lack it
					try("no "+key+"."+k,
						func(m map[string]any) { delete(m[key].(map[string]any), k) })
				}
			}
		}
	}
	for _, key := range []string{
		"id", "question", "answer", "score", "passed", "latency_ms", "citations", "outcome",
		"first_delta_ms", "attempts", "retrieved", "line",
	} {
		try("a question without "+key, func(m map[string]any) { delete(question(m, 0), key) })
	}
	try("an unknown key", func(m map[string]any) { m["more"] = 1 })
	try("an unknown key in a question", func(m map[string]any) { question(m, 0)["more"] = 1 })
	for _, name := range []string{"", "-", "My Target", "a/b", "a_b", strings.Repeat("a", 65)} {
		try("the name "+name+" of a target", func(m map[string]any) { m["sdk"] = name })
	}
	try("a mapping without its hash", func(m map[string]any) {
		m["mapped"] = map[string]any{"mapping": "x", "transport": "mcp", "query": "question", "brains": "one", "calls": map[string]any{}, "not_measurable": map[string]any{}}
	})
	try("a finding without a text", func(m map[string]any) {
		m["mapped"] = map[string]any{
			"mapping": "x", "mapping_sha256": strings.Repeat("a", 64), "transport": "mcp", "query": "question", "brains": "one",
			"calls": map[string]any{}, "not_measurable": map[string]any{}, "findings": []string{""},
		}
	})
	try("an unknown stop", func(m map[string]any) { m["stopped"] = "tired" })
	try("an invalid time", func(m map[string]any) { m["started_at"] = "yesterday" })
	try("a rate above 1", func(m map[string]any) { m["pass_rate"] = 1.5 })
	try("money below 0", func(m map[string]any) { m["cost"].(map[string]any)["spent_usd"] = -1 })
	try("a score that was not scored", func(m map[string]any) { question(m, 0)["score"] = 0.5 })
	try("a pass that was not scored", func(m map[string]any) { question(m, 4)["passed"] = true })
	try("a scored question without a score",
		func(m map[string]any) { question(m, 2)["score"] = nil })
	try("an error without a reason", func(m map[string]any) { delete(question(m, 4), "error") })
	try("an error of a scored question", func(m map[string]any) {
		question(m, 2)["error"] = question(m, 4)["error"]
	})
	if broken < 80 {
		t.Errorf("only %d changes were tried", broken)
	}
}

// TestRepeatedRuns checks that the results of earlier runs in a folder keep their names.
func TestRepeatedRuns(t *testing.T) {
	dir := t.TempDir()
	d := openDataset(t, writeDataset(t, 1))
	s := daemontest.Answering(t)
	var contents [][]byte
	for range 3 {
		_, path, err := setUp(t, s, d, dir).run(t.Context())
		if err != nil || path != filepath.Join(dir, "go.json") {
			t.Fatalf("got %q, %v", path, err)
		}
		data, _ := os.ReadFile(path)
		contents = append(contents, data)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "go-*.json"))
	if len(kept) != 3 {
		t.Fatalf("kept %v", kept)
	}
	for _, want := range contents {
		same := func(path string) bool {
			data, _ := os.ReadFile(path)
			return bytes.Equal(data, want)
		}
		if !slices.ContainsFunc(kept, same) {
			t.Error("an earlier result was lost")
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 4 {
		t.Errorf("the folder contains %v", all)
	}
}

// TestResultOfAHostileDaemon checks that its answers are written as a valid file.
func TestResultOfAHostileDaemon(t *testing.T) {
	nasty := "</script>\x00\x1b[2J\u2028\xff\"\\"
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		text := string(encodeJSON(nasty))
		daemontest.Stream(w,
			event("retrieve", `{"chunks":[{"chunk_id":`+text+`,"score":-1e14,"text":`+text+`}],`+
				`"effective_mode":`+text+`,"fusion":{"method":`+text+`,"weight":-1e14}}`)+
				event("citation", `{"a":1,"a":2,"q":"`+"\xff"+`"}`)+
				event("done", `{"answer":`+text+`,"model":`+text+`,`+
					`"usage":{"input_tokens":-1,"output_tokens":-5}}`))
	})
	cfg := setUp(t, s, openDataset(t, writeDataset(t, 3)), t.TempDir())
	cfg.Scorer = scorer.Exact{}
	path := cfg.finish(t)
	f := readResult(t, path)
	if e := f.Questions[0].Error; e != nil {
		t.Error(e.Message)
	}
	if got, want := f.Questions[0].Fusion, strings.ToValidUTF8(nasty, "\ufffd")+" -1e+14"; got != want || f.Fusions[want] != 3 {
		t.Errorf("the recorded fusion is %q, and %v", got, f.Fusions)
	}
	if got := f.Questions[0].Answer; got != strings.ToValidUTF8(nasty, "\ufffd") {
		t.Errorf("the recorded answer is %q", got)
	}
}
