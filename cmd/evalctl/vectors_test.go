package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/llm/llmtest"
)

// TestVectorsLast runs an evaluation several times. Its daemon, which it starts each time, embeds what
// no earlier run has embedded.
func TestVectorsLast(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply { return llmtest.Reply{} })
	dir := t.TempDir()
	note := filepath.Join(dir, "notes", "boat.md")
	write := func(path, text string) {
		t.Helper()
		filetest.Write(t, path, text)
	}
	write(note, "The boat is green.")
	write(filepath.Join(dir, "notes", "clock.md"), "The clock is red.")
	write(filepath.Join(dir, "q.jsonl"), `{"id":"1","question":"Which colour has the boat?","expected_substrings":["green"]}`+"\n")
	embeds := func(env ...string) (texts int) {
		t.Helper()
		before := len(model.Calls())
		cmd := exec.CommandContext(t.Context(), "evalctl", "run", "--sdk", "go", "--dataset", "q.jsonl", "--corpus", "notes",
			"--scorer", "exact", "--mode", "hybrid", "--require-mode", "same")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake", "SVC_HOME=", "SVC_STORE=", "XDG_CACHE_HOME="+filepath.Join(dir, "cache"),
			"SVC_EMBED_PROVIDER=openai", "SVC_EMBED_MODEL=small", "SVC_EMBED_BASE_URL="+model.URL+"/v1", "SVC_EMBED_API_KEY=sk")
		cmd.Env = append(cmd.Env, env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, call := range model.Calls()[before:] {
			if !strings.HasSuffix(call.Path, "/embeddings") {
				t.Errorf("a request to %s", call.Path)
			}
			texts += len(call.Input)
		}
		return texts
	}
	if n := embeds(); n < 3 { // two documents and a question
		t.Fatalf("the first run has embedded %d texts", n)
	}
	for _, store := range []string{"", "memory", "git"} {
		if n := embeds("SVC_STORE=" + store); n != 0 {
			t.Errorf("with the store %q, a later run has embedded %d texts", store, n)
		}
	}
	if n := embeds("SVC_EMBED_MODEL=large"); n < 3 {
		t.Errorf("another model has embedded %d texts", n)
	}
	write(note, "The boat is green and old.")
	if n := embeds(); n < 1 || n > 2 { // the document, and the probe if it is made of its words
		t.Errorf("after a change of one document, %d texts were embedded", n)
	}
	damaged := 0
	err := filepath.WalkDir(filepath.Join(dir, "cache", "evalctl", "embeddings"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			damaged++
			err = os.Truncate(path, 40)
		}
		return err
	})
	if err != nil || damaged == 0 {
		t.Fatal(damaged, err)
	}
	if n := embeds(); n < 3 {
		t.Errorf("of a damaged cache, %d texts were embedded", n)
	}
	if n := embeds(); n != 0 {
		t.Errorf("after its repair, %d texts were embedded", n)
	}
}
