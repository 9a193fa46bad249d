package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

// filler writes n bytes of a unit without keeping them.
func filler(w io.Writer, unit string, n int) {
	block := []byte(strings.Repeat(unit, max(1, (64<<10)/len(unit))))
	for n > 0 {
		part := block[:min(len(block), max(len(unit), n/len(unit)*len(unit)))]
		if _, err := w.Write(part); err != nil {
			return
		}
		n -= len(part)
	}
}

// zipped returns a reply compressed with gzip.
func zipped(reply func(io.Writer)) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	reply(z)
	_ = z.Close()
	return b.Bytes()
}

const repliesMapping = `name: stub
transport: http
brains: one
health: {method: GET, path: /healthz}
remember: {path: /add, body: {id: "{id}", text: "{text}"}}
search:
  path: /find
  body: {query: "{query}"}
  reply: {items: "$.chunks[*]", text: $.text, score: $.score}
`

// TestHugeReplies checks what four replies at the same time cost that take far more memory than they
// should. Each question fails, or passes, for the reason that is wanted. It is not parallel: Linux
// begins the Maxrss of a process with that of the one that started it.
func TestHugeReplies(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs several times as much memory")
	}
	const mib = 1 << 20
	size, memory := 20, int64(500) // a result of four such replies has 160 MiB
	if longtest.On() {
		size, memory = 60, 700
	}
	texts := func(w io.Writer) {
		_, _ = io.WriteString(w, `{"effective_mode":"bm25","chunks":[{"path":"a.md","text":"nothing `)
		filler(w, "x", size*mib)
		_, _ = io.WriteString(w, `"}]}`)
	}
	values := func(w io.Writer) {
		_, _ = io.WriteString(w, `{"chunks":[`)
		filler(w, "0,", 60*mib)
		_, _ = io.WriteString(w, `0]}`)
	}
	objects := func(w io.Writer) {
		_, _ = io.WriteString(w, `{"chunks":[`)
		filler(w, "{},", 60*mib)
		_, _ = io.WriteString(w, `{}]}`)
	}
	deep := func(w io.Writer) {
		filler(w, `{"chunks":[`, 30*mib)
		_, _ = io.WriteString(w, "0")
		filler(w, "]}", 6*mib)
	}
	bomb := zipped(values)
	gzipped := func(w http.ResponseWriter) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	}
	plain := func(reply func(io.Writer)) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { reply(w) }
	}
	score := func(value string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			fmt.Fprintf(w, `{"chunks":[{"text":"nothing","score":%s}]}`, value)
		}
	}
	for _, c := range []struct {
		name, says string // "" for questions that pass
		mapped     bool
		answer     func(http.ResponseWriter)
		mib        int64
	}{
		{"texts", "", false, plain(texts), memory},
		{"texts, mapped", "", true, plain(texts), memory},
		{"bombs", "expands too much", false, gzipped, 200},
		{"bombs, mapped", "expands too much", true, gzipped, 200},
		{"values, mapped", "so many values", true, plain(values), 350},
		{"objects", "so many values", false, plain(objects), 350},
		{"deep, mapped", "so many values", true, plain(deep), 350},
		{"not a number", `its score "NaN" is not a number`, true, score(`"NaN"`), 200},
		{"infinite", `its score "1e999" is beyond`, true, score(`1e999`), 200},
		{"infinite, of a daemon", `"score": "1e999" is beyond`, false, score(`1e999`), 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte("question")) {
					c.answer(w)
					return
				}
				fmt.Fprint(w, `{"ok":true,"items":[{"id":"notes"}],"chunks":[{"path":"a.md","text":"x"}]}`)
			}))
			defer server.Close()
			dir := t.TempDir()
			var lines strings.Builder
			for i := range 4 {
				fmt.Fprintf(&lines, `{"id":"q-%d","question":"question %d","expected_substrings":["nothing"]}`+"\n", i, i)
			}
			files := map[string]string{"q.jsonl": lines.String(), "stub.yaml": repliesMapping}
			for name, text := range files {
				filetest.Write(t, filepath.Join(dir, name), text)
			}
			definition := "stub=" + server.URL
			if c.mapped {
				definition += " --mapping ./stub.yaml"
			}
			cmd := exec.CommandContext(t.Context(), "evalctl", "run", "--target", definition, "--brain", "notes", "--dataset", "q.jsonl",
				"--scenario", "search-retrieve-only", "--scorer", "exact", "--concurrency", "4", "--quiet", "--timeout", "120s")
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if want := map[bool]string{true: "stub: 4/4 ", false: "stub: 0/4 "}[c.says == ""]; !bytes.Contains(out, []byte(want)) {
				t.Fatalf("%v: %.3000s", err, out)
			}
			if code := cmd.ProcessState.ExitCode(); c.says != "" && code == exitUsage {
				t.Errorf("exit code %d: %.3000s", code, out)
			}
			wantReason(t, dir, c.says)
			rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("evalctl used %d MiB of memory", rss>>20)
			if rss > c.mib*mib {
				t.Errorf("evalctl used %d MiB of memory", rss>>20)
			}
		})
	}
}

// wantReason checks that the questions of the result in a folder have failed for a reason.
func wantReason(t *testing.T, dir, says string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "results", "*", "stub.json"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	if says == "" {
		return
	}
	var result struct {
		Questions []struct {
			Error struct{ Message string }
		}
	}
	data, err := os.ReadFile(paths[0])
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	if err != nil || len(result.Questions) == 0 {
		t.Fatal(err, len(result.Questions))
	}
	for _, q := range result.Questions {
		if !strings.Contains(q.Error.Message, says) {
			t.Errorf("the reason is %q, want %q", q.Error.Message, says)
		}
	}
}

// TestManyTools checks that a server with 100,000 tools is refused, in little memory and time.
func TestManyTools(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs several times as much memory")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.NewDecoder(r.Body).Decode(&call) != nil || len(call.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		writeTools(w, call.ID, call.Method, 100_000)
	}))
	defer server.Close()
	for name, args := range map[string][]string{
		"stdio":       {"target", "map", "tool-server 100000"},
		"HTTP":        {"target", "check", "m=mcp:" + server.URL},
		"conformance": {"conformance", "--mcp", server.URL},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "evalctl", args...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("the server lists more than 1000 tools")) || len(out) > 10_000 {
				t.Errorf("%v: %.2000s", err, out)
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("evalctl used %d MiB of memory and %v of processor time", usage.Maxrss>>10, cmd.ProcessState.UserTime())
			if usage.Maxrss>>10 > 200 {
				t.Errorf("evalctl used %d MiB of memory", usage.Maxrss>>10)
			}
		})
	}
}
