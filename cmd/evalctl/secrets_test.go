package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/filetest"
)

// leaks returns the forms of the secret that a text has.
func leaks(text []byte) (found []string) {
	for _, form := range []string{"sk-echoed", "echoed/key", `echoed\/key`, "echoed%2Fkey", `echoed\u002fkey`, "f<8e7d", `f\u003c8e7d`, "f%3C8e7d", "f&lt;8e7d", "proxied"} {
		if bytes.Contains(text, []byte(form)) {
			found = append(found, form)
		}
	}
	for before := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + echoed))[4:16]
		if bytes.Contains(text, []byte(encoded)) {
			found = append(found, encoded)
		}
	}
	return found
}

// TestSecretsAreNowhere starts a daemon, an MCP server and a scorer that send their environment
// wherever they can. Without its name in a flag, they do not have a key of evalctl's environment.
// With it, no file and no output has it.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reply := jsonText(`{"score": 0, "reason": ` + jsonText("it has "+echoed) + `}`)
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":` + reply + `},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	}))
	t.Cleanup(judge.Close)
	daemon := `--target=m=echo-daemon {addr} {dump}`
	tools := `--target=m=mcp: --mapping map.yaml echo-tools {dump}`
	scorer := []string{"--scorer=cmd:echo-scorer {dump}"}
	questions := []string{"--dataset=q.jsonl", "--floor=0", "--output=out"}
	own := []string{daemon, "--brain=notes", "--corpus=none"}
	reports := []string{"--html=page.html", "--junit=suite.xml", "--markdown=page.md", "--ci"}
	figures := []string{"--metrics=figures.prom", "--traces=traces.jsonl"}
	run := func(more ...[]string) []string {
		return slices.Concat(append([][]string{{"run"}, questions, reports, figures}, more...)...)
	}
	replay := []string{"replay", "--dataset=lanterns.json", "--model=fake", "--output=a.json", "--report=r.md"}
	for name, tt := range map[string]struct {
		lines  [][]string // each is a command; a failure of the daemon's is none of the test
		starts bool       // something is started
		masks  bool       // what it sends reaches a file
	}{
		"run":         {[][]string{run(own, []string{"--scorer=exact"})}, true, true},
		"run mcp":     {[][]string{run([]string{tools, "--corpus=notes", "--scorer=retrieval", "--scenario=search-retrieve-only"})}, true, true},
		"run scorer":  {[][]string{run(own, scorer)}, true, true},
		"run stopped": {[][]string{run(own, []string{"--scorer=exact", "--max-failures=1", "--concurrency=1"})}, true, true},
		"run judged":  {[][]string{run(own, []string{"--judge=openai/gpt-4o-mini"})}, true, true},
		"sweep":       {[][]string{{"sweep", daemon, "--dataset=q.jsonl", "--brain=notes", "--corpus=none", "--output=out", "--top-k=1"}}, true, true},
		"replay":      {[][]string{slices.Concat(replay, reports, figures, []string{daemon, "--scorer=exact"})}, true, true},
		"replay mcp":  {[][]string{slices.Concat(replay, reports, figures, []string{tools, "--shared-brain"}, scorer)}, true, true},
		"bench":       {[][]string{append([]string{"bench", daemon, "--mix=search,ask", "--duration=1s", "--rounds=1", "--warm-up=0s", "--documents=10", "--output=out"}, reports...)}, true, false},
		"conformance": {[][]string{append([]string{"conformance", daemon, "--only=errors-*", "--only=documents-read-*", "--format=json", "--request-timeout=2s"}, reports...)}, true, true},
		"target":      {[][]string{{"target", "check", strings.TrimPrefix(tools, "--target=")}, {"target", "map", "echo-tools {dump}"}}, true, false},
		"judge check": {[][]string{{"judge", "check", "--labels=labels.jsonl", "--judge=openai/gpt-4o-mini"}, {"judge", "check", "--labels=labels.jsonl", "--judge=openai/gpt-4o-mini", "--json"}}, false, true},
		"import":      {[][]string{{"import", "answers.jsonl", "--as=them", "--output=out"}, {"rescore", "out/them.json", scorer[0], "--floor=0"}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, named := range []bool{false, true} {
				if named || tt.starts {
					dir, dump := t.TempDir(), filepath.Join(t.TempDir(), "dump")
					writeEchoFiles(t, dir)
					var masked bool
					for _, line := range tt.lines {
						masked = echoCommand(t, dir, dump, judge.URL, line, named) || masked
					}
					environment, err := os.ReadFile(dump)
					if tt.starts && (err != nil || bytes.Contains(environment, []byte("sk-echoed")) != named) {
						t.Errorf("named %v: %v\n%s", named, err, environment)
					}
					if named && tt.masks && !masked {
						t.Error("nothing was masked: the test is void")
					}
				}
			}
		})
	}
}

// echoCommand runs evalctl in dir and checks its output and the files there. It reports whether one
// of them has a mask.
func echoCommand(t *testing.T, dir, dump, judge string, line []string, named bool) (masked bool) {
	t.Helper()
	args := []string{line[0]}
	if line[0] == "target" || line[0] == "run" && line[1] == "sweep" { // flags follow both words
		args, line = line[:2:2], line[1:]
	}
	if named {
		for command, flag := range map[string]string{"daemon": "--daemon-env=" + echoedName, "tools": "--daemon-env=" + echoedName, "scorer": "--scorer-env=" + echoedName} {
			if strings.Contains(strings.Join(line, " "), "echo-"+command+" ") && !strings.Contains(strings.Join(args, " "), flag) {
				args = append(args, flag)
			}
		}
	}
	for _, arg := range line[1:] {
		args = append(args, strings.ReplaceAll(arg, "{dump}", dump))
	}
	cmd := exec.CommandContext(t.Context(), "evalctl", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SVC_LLM_PROVIDER=fake", "SVC_CACHE_DIR="+filepath.Join(dir, "cache"), echoedName+"="+echoed,
		"OPENAI_API_KEY="+echoed, "SVC_EVAL_JUDGE_API_KEY="+echoed, "OPENAI_BASE_URL="+judge, "HTTP_PROXY=http://user:proxied%2Fpassword@127.0.0.1:9",
		"NO_PROXY=127.0.0.1", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"), "GITHUB_ACTIONS=true")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "Usage:") || strings.Contains(string(out), "panic") {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
	report := func(where string, text []byte) {
		if found := leaks(text); len(found) > 0 {
			at := bytes.Index(text, []byte(found[0]))
			t.Errorf("%q: %s has %q: %q", args, where, found, text[max(0, at-200):min(len(text), at+100)])
		}
		masked = masked || bytes.Contains(text, []byte("["+echoedName+"]")) || bytes.Contains(text, []byte("[OPENAI_API_KEY]"))
	}
	report("the output", out)
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "answers.") {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		report(d.Name(), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results(t, dir) { // what is written later from a result
		for _, flag := range []string{"--csv=-", "--html=late.html"} {
			late := exec.CommandContext(t.Context(), "evalctl", "show", result, flag)
			late.Dir, late.Env = dir, cmd.Env
			out, _ := late.CombinedOutput() // not every file is a result
			report("report "+flag, out)
		}
	}
	return masked
}

// results returns the result files below dir.
func results(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "out", "*", "m.json"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// writeEchoFiles writes the input of the commands.
func writeEchoFiles(t *testing.T, dir string) {
	t.Helper()
	lanterns := filetest.Read(t, lanterns(t, 2))
	question := `"question":"What colour is the kettle?","expected_substrings":["green"],"reference_answer":"Green."`
	answer, err := json.Marshal("the key is " + echoed)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"q.jsonl":          `{"id":"a","expected_paths":["kitchen.md"],` + question + `}` + "\n" + `{"id":"b","expected_paths":["kitchen.md"],` + question + `}` + "\n",
		"notes/kitchen.md": "The kettle is green.\n", "lanterns.json": string(lanterns),
		"map.yaml": "name: echo\nremember: {tool: add, arguments: {body: \"{text}\"}}\n" +
			"search: {tool: find, arguments: {words: \"{query}\"}, reply: {items: \"$[*]\", text: $.body}}\n",
		"labels.jsonl": `{"id":"a","question":"What colour is the kettle?","reference_answer":"Green.","answer":"It is green.","label":true}` + "\n" +
			`{"id":"b","question":"What colour is the kettle?","reference_answer":"Green.","answer":"It is blue.","label":false}` + "\n",
		"answers.jsonl": `{"id":"a","question":"What colour is the kettle?","reference_answer":"Green.","answer":` + string(answer) + `,"passed":true}` + "\n",
	} {
		path := filepath.Join(dir, name)
		filetest.Write(t, path, text)
	}
}

// TestLeaks: the test sees a secret in all its forms.
func TestLeaks(t *testing.T) {
	quoted, _ := json.Marshal(echoed)
	for _, text := range []string{echoed, string(quoted), base64.StdEncoding.EncodeToString([]byte("user:" + echoed)), regexp.QuoteMeta(echoed)} {
		if len(leaks([]byte(text))) == 0 {
			t.Errorf("%s is not seen", text)
		}
	}
}
