package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/filetest"
	"evalctl/internal/llm/llmtest"
)

// thinkingMemory is an MCP server that asks a model about each text that it remembers, at the address
// and with the key of its own variables.
const thinkingMemory = `import json, os, sys, urllib.request
notes = {}
tool = lambda name, *args: {"name": name, "inputSchema": {"type": "object", "properties": {a: {"type": "string"} for a in args}}}
def think(text):
    body = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "What is this about? " + text}]}).encode()
    headers = {"Authorization": "Bearer " + os.environ["MIND_KEY"], "Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(os.environ["MIND_URL"] + "/chat/completions", body, headers)).read()
def call(name, a):
    if name == "add":
        think(a["text"])
        notes[a["id"]] = a["text"]
        return "ok"
    words = set(a["q"].lower().split())
    best = sorted(notes, key=lambda n: -len(words & set(notes[n].lower().split())))
    return json.dumps({"found": [{"id": n, "text": notes[n]} for n in best[:5]]})
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    p = m.get("params", {})
    if m["method"] == "initialize":
        r = {"protocolVersion": p["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "thinker", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [tool("add", "id", "text"), tool("find", "q")]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": call(p["name"], p["arguments"])}]}
    else:
        r = {}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

const thinkingMapping = `name: thinker
%s
remember: {tool: add, arguments: {id: "{id}", text: "{text}"}}
search: {tool: find, arguments: {q: "{query}"}, reply: {items: "$.found[*]", text: $.text, id: $.id}}
`

// TestMemoryCost: what the models of a mapped memory cost is counted by the gateway that its mapping
// names, and is unknown for a memory that may call models in another way.
func TestMemoryCost(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	for name, c := range map[string]struct {
		env, key string // in the mapping, and in the environment
		models   result.Models
		code     int
		says     string
	}{
		"gateway": {"env: {MIND_URL: \"{gateway}\", MIND_KEY: \"{gateway_key}\"}", llmSecret, result.ModelsGateway, 0, "cost "},
		"no key":  {"env: {MIND_URL: \"{gateway}\", MIND_KEY: \"{gateway_key}\"}", "", "", exitUsage, "OPENAI_API_KEY"},
		"unknown": {"env: {MIND_URL: \"{env:MY_URL}\", MIND_KEY: \"{env:MY_KEY}\"}", "", result.ModelsUnknown, 0, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			model := llmtest.NewServer(t, func(llmtest.Call) llmtest.Reply {
				return llmtest.Reply{Text: "A lantern.", Input: 1000, Output: 10}
			})
			dir := t.TempDir()
			for file, text := range map[string]string{
				"q.jsonl": `{"id":"a","question":"Which colour has the lantern?","expected_paths":["a.md"]}` + "\n",
				"a.md":    "The lantern is red.", "thinker.py": thinkingMemory, "thinker.yaml": strings.Replace(thinkingMapping, "%s", c.env, 1),
			} {
				if file == "a.md" {
					file = "q.corpus/a.md"
				}
				path := filepath.Join(dir, file)
				filetest.Write(t, path, text)
			}
			cmd := replayCommand(t, dir)
			cmd.Args = []string{cmd.Args[0], "run", "--config=none", "--target=t=mcp: --mapping thinker.yaml " + python + " thinker.py", "--dataset=q.jsonl",
				"--scenario=search-retrieve-only", "--scorer=retrieval", "--floor=1", "--json"}
			base := model.URL
			if c.code != 0 {
				base = "" // the default provider, which needs a key
			}
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+base, "OPENAI_API_KEY="+c.key, "MY_URL="+model.URL, "MY_KEY="+llmSecret)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(stderr.String(), c.says) {
				t.Fatalf("%v\n%s%s", err, out, stderr.String())
			}
			if c.code != 0 {
				if n := len(model.Calls()); n != 0 {
					t.Errorf("%d requests", n)
				}
				return
			}
			var summary struct {
				Total *float64 `json:"total_usd"`
			}
			if err := json.Unmarshal(out, &summary); err != nil {
				t.Fatal(err)
			}
			files, err := filepath.Glob(filepath.Join(dir, "results", "*", "t.json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			res := readResult(t, files[0])
			// Two texts: the document and the canary.
			if len(model.Calls()) < 2 || res.Mapped.Models != c.models || (summary.Total != nil) != (c.models == result.ModelsGateway) {
				t.Errorf("%d requests, models %s, total %v\n%s", len(model.Calls()), res.Mapped.Models, summary.Total, stderr.String())
			}
			for _, call := range model.Calls() {
				if got := call.Header.Get("Authorization"); got != "Bearer "+llmSecret {
					t.Errorf("authorized by %q", got)
				}
			}
			if strings.Contains(stderr.String(), llmSecret) || c.models == result.ModelsGateway && *summary.Total <= 0 {
				t.Errorf("total %v\n%s", summary.Total, stderr.String())
			}
		})
	}
}
