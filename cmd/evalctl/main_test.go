package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rogpeppe/go-internal/testscript"

	"evalctl/daemon/protocol"
	"evalctl/harness/resulttest"
	"evalctl/internal/goldentest"
	"evalctl/internal/llm/llmtest"
	"evalctl/internal/longtest"
	"evalctl/internal/porttest"
	"evalctl/internal/postgres/postgrestest"
	"evalctl/internal/programtest"
)

// Both timeouts are far longer than a busy machine needs.
const (
	commandTimeout = 5 * time.Minute // of one command
	awaitTimeout   = 2 * time.Minute // of waiting for an event
)

func TestMain(m *testing.M) {
	testscript.Main(prepared{m}, map[string]func(){
		"mortal": mortal, "flooder": flooder, "tool-server": toolServer, "rooted": rooted,
		"echo-daemon": echoDaemon, "echo-tools": echoTools, "echo-scorer": echoScorer,
	})
}

// prepared runs the tests with evalctl on the PATH, and stops the database that some of them use.
type prepared struct{ m *testing.M }

func (p prepared) Run() int {
	longtest.Parallel(6) // most tests wait for processes longer than these compute
	dir, err := os.MkdirTemp("", "evalctl-test")
	if err == nil {
		// The test itself could take its part, but would take twice as long to start, because of the
		// packages that only tests import.
		err = programtest.Build(filepath.Join(dir, "evalctl"))
	}
	if err == nil {
		err = os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	defer os.RemoveAll(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	longtest.TempInMemory()
	return postgrestest.Main(p.m)
}

// concurrentScripts run with the race detector too, with which each process takes a second more.
// The others check one process at a time, in which nothing is concurrent that these do not run, as
// do the parts of these after "[race] stop".
var concurrentScripts = []string{
	"brains", "budget", "conformance", "embed", "interrupt", "judge", "mcp", "replay", "replay_controls",
	"resume", "serve", "sweep",
}

// TestScripts runs the commands of testdata/script as real processes.
func TestScripts(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, files := "testdata/script", []string(nil)
	if raceDetector {
		dir = ""
		for _, name := range concurrentScripts {
			files = append(files, filepath.Join("testdata", "script", name+".txtar"))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		Files:               files,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("DATASETS", filepath.Join(root, "datasets"))
			env.Setenv("DAEMONS", filepath.Join(root, "harness", "launch", "testdata"))
			env.Setenv("EFFECTIVE_MODES", strings.Join(protocol.EffectiveModes, ", "))
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, ".tmp"))
			env.Values["t"] = t
			left := newWritten(env.WorkDir)
			env.Values["results"] = left
			env.Defer(func() { left.verify(t) })
			env.Values["model"] = new(*llmtest.Server)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if name, ok := strings.CutPrefix(cond, "has:"); ok {
				_, err := exec.LookPath(name)
				return err == nil, nil
			}
			if cond == "race" {
				return raceDetector, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  cmdExits,
			"day":    cmdDay,
			"json":   cmdJSON,
			"schema": cmdSchema,
			"model":  cmdModel,
			"calls":  cmdCalls,
			"await":  cmdAwait,
			"raw":    cmdRaw,
			"edit":   cmdEdit,
			"http":   cmdHTTP,
			"secret": cmdSecret,

			"webhook": cmdWebhook,

			"await-url":  cmdAwaitURL,
			"await-http": cmdAwaitHTTP,
			"free-url":   cmdFreeURL,
		},
	})
}

// inProcess runs evalctl in this process, without an environment and without input.
func inProcess(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, &process{
		args: args, env: func(string) string { return "" }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
	})
	return code, out.String(), errs.String()
}

// TestHelp compares the help with testdata/help.golden, or writes it with -update.
func TestHelp(t *testing.T) {
	got, err := exec.CommandContext(t.Context(), "evalctl", "--help").Output() // see TestMain
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, "testdata/help.golden", string(got))
}

// TestHelpTexts checks that every command has a file in help, and every file there a command.
func TestHelpTexts(t *testing.T) {
	unexplained := []string{"help", "judge"} // the summary, or the command below, says it all
	files := map[string]bool{helpFile("evalctl"): true}
	var add func(parent *kong.Node)
	add = func(parent *kong.Node) {
		for _, command := range parent.Children {
			if !command.Hidden && !slices.Contains(unexplained, command.Path()) {
				files[helpFile(command.FullPath())] = true
			}
			add(command)
		}
	}
	add(grammar(nil))
	for file := range files {
		if text, err := helpTexts.ReadFile(file); err != nil || len(text) == 0 {
			t.Errorf("%s is missing or empty: it explains the command in --help", file)
		}
	}
	found, err := fs.Glob(helpTexts, "help/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if !files[file] {
			t.Errorf("%s belongs to no command", file)
		}
	}
}

// cmdExits runs a command and checks its exit code: exits CODE COMMAND [ARG]...
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	ts.Value("results").(*written).verify(ts.Value("t").(*testing.T)) // a resume would replace a partial one
}

// cmdDay sets $DAY to the only folder of an output root: day results
func cmdDay(ts *testscript.TestScript, _ bool, args []string) {
	days, err := filepath.Glob(ts.MkAbs(args[0]) + "/*")
	ts.Check(err)
	if len(days) != 1 {
		ts.Fatalf("want one folder in %s, got %q", args[0], days)
	}
	ts.Setenv("DAY", days[0])
}

// cmdJSON checks a value of a JSON file: [!] json FILE KEY.KEY.INDEX WANT
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for _, key := range strings.Split(args[1], ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(node) {
				ts.Fatalf("%s: no element %q in a list of %d", args[1], key, len(node))
			}
			v = node[i]
		default:
			ts.Fatalf("%s: nothing below %q", args[1], key)
		}
	}
	got, err := json.Marshal(v)
	ts.Check(err)
	if (string(got) == args[2]) == neg {
		ts.Fatalf("%s %s is %s, want %s (negated: %v)", args[0], args[1], got, args[2], neg)
	}
}

// cmdSchema validates files of results, sweeps and benches: schema FILE...
func cmdSchema(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		kind := "result"
		for _, other := range []string{"sweep", "bench"} {
			if strings.HasSuffix(file, "."+other+".json") {
				kind = other
			}
		}
		ts.Check(resulttest.Validate(kind, []byte(ts.ReadFile(file))))
	}
}

// models contains the language models for scripts, by name.
var models = map[string]func() func(llmtest.Call) llmtest.Reply{
	// judge passes every answer. As a reader it returns a fixed sentence.
	"judge": func() func(llmtest.Call) llmtest.Reply {
		return func(c llmtest.Call) llmtest.Reply {
			if c.Stream {
				return llmtest.Reply{Text: "The kettle is green [1].", Input: 500, Output: 10}
			}
			return llmtest.Reply{Text: `{"score": 0.75, "reason": "close enough"}`, Input: 700, Output: 20}
		}
	},
	// uncounted passes every answer and sends no token counts.
	"uncounted": func() func(llmtest.Call) llmtest.Reply {
		return func(llmtest.Call) llmtest.Reply { return llmtest.Reply{Text: `{"score": 1, "reason": "right"}`} }
	},
	// bills passes every answer, and counts tokens in a different way each time: reasoning only in
	// the total, less than nothing, an engine's failure first, and what no request could use.
	"bills": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(llmtest.Call) llmtest.Reply {
			r := llmtest.Reply{Text: `{"score": 1, "reason": "right"}`}
			switch calls.Add(1) {
			case 1:
				r.Usage = `{"prompt_tokens":700,"completion_tokens":20,"total_tokens":800}`
			case 2:
				r.Usage = `{"prompt_tokens":700,"completion_tokens":-20}`
			case 3:
				return llmtest.Reply{Status: 504, RetryAfter: "0"}
			case 4:
				r.Input, r.Output = 700, 20
			default:
				r.Usage = `{"prompt_tokens":"700","completion_tokens":1e400}`
			}
			return r
		}
	},
	// babble never returns a usable verdict.
	"babble": func() func(llmtest.Call) llmtest.Reply {
		return func(llmtest.Call) llmtest.Reply {
			return llmtest.Reply{Text: "I would say 1 out of 1!", Input: 100, Output: 10}
		}
	},
	// recovers is babble for four requests, and then passes every answer.
	"recovers": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(llmtest.Call) llmtest.Reply {
			if calls.Add(1) <= 4 {
				return llmtest.Reply{Text: "I would say 1 out of 1!", Input: 100, Output: 10}
			}
			return llmtest.Reply{Text: `{"score": 1, "reason": "right", "grade": "A"}`, Input: 700, Output: 20}
		}
	},
	// reasoner refuses max_tokens and a temperature, and passes every answer.
	"reasoner": func() func(llmtest.Call) llmtest.Reply {
		return func(c llmtest.Call) llmtest.Reply {
			for _, name := range []string{"max_tokens", "temperature"} {
				if strings.Contains(string(c.Body), `"`+name+`":`) {
					return llmtest.Reply{Status: 400, Body: `{"error":{"message":"Unsupported parameter: '` + name + `'","param":"` + name + `"}}`}
				}
			}
			return llmtest.Reply{Text: `{"score": 1, "reason": "right"}`, Input: 700, Output: 20}
		}
	},
	// stalls passes every answer, but never responds to requests 6 and 12, so that a run stays
	// unfinished until the script ends it.
	"stalls": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(llmtest.Call) llmtest.Reply {
			if n := calls.Add(1); n == 6 || n == 12 {
				return llmtest.Reply{Hang: true}
			}
			return llmtest.Reply{Text: `{"score": 1, "reason": "right"}`, Input: 700, Output: 20}
		}
	},
	// lanterns answers questions about colours from its notes, and judges by whether the candidate
	// contains the reference.
	"lanterns": func() func(llmtest.Call) llmtest.Reply { return lanternModel },
	// outage is lanterns whose judge is rejected until a request to /models.
	"outage": func() func(llmtest.Call) llmtest.Reply {
		var back atomic.Bool
		return func(c llmtest.Call) llmtest.Reply {
			switch {
			case strings.HasSuffix(c.Path, "/models"):
				back.Store(true)
				return llmtest.Reply{}
			case !back.Load() && strings.Contains(string(c.Body), "candidate_answer"):
				return llmtest.Reply{Status: 429, RetryAfter: "0", Body: `{"error":{"message":"out of quota, key sk-secret-of-the-test"}}`}
			}
			return lanternModel(c)
		}
	},
	// lenient is lanterns with a judge that passes everything.
	"lenient": func() func(llmtest.Call) llmtest.Reply {
		return func(c llmtest.Call) llmtest.Reply {
			r := lanternModel(c)
			if strings.HasPrefix(r.Text, `{"score"`) {
				r.Text = `{"score": 1, "reason": "fine"}`
			}
			return r
		}
	},
	// faulty is lanterns with every fault of a provider in turn.
	"faulty": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(c llmtest.Call) llmtest.Reply {
			r := lanternModel(c)
			switch calls.Add(1) % 11 {
			case 1:
				return llmtest.Reply{Status: 429, RetryAfter: "0", Body: `{"error":{"message":"slow down"}}`}
			case 3:
				r.CutAfter = 1
			case 5:
				r.Body = `{"choices": [{"mess`
			case 7:
				r.Usage = `{"prompt_tokens": -4, "completion_tokens": "many"}`
			case 9:
				return llmtest.Reply{Break: true}
			}
			r.Latency = 2 * time.Millisecond
			return r
		}
	},
	// down refuses the first 8 requests, for a reason that does not lie in them, and passes the rest.
	"down": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(llmtest.Call) llmtest.Reply {
			if calls.Add(1) <= 8 {
				return llmtest.Reply{Status: 402, Body: `{"error":{"message":"no credit left"}}`}
			}
			return llmtest.Reply{Text: `{"score": 1, "reason": "right"}`, Input: 700, Output: 20}
		}
	},
	// reader-down is lanterns that rejects the first 8 questions, and after the first one a probe in six
	// dialects.
	"reader-down": func() func(llmtest.Call) llmtest.Reply {
		var calls atomic.Int32
		return func(c llmtest.Call) llmtest.Reply {
			if calls.Add(1) <= 8+6 {
				return llmtest.Reply{Status: 400, Body: `{"error":{"message":"no such deployment"}}`}
			}
			return lanternModel(c)
		}
	},
	"unauthorized": func() func(llmtest.Call) llmtest.Reply {
		return func(llmtest.Call) llmtest.Reply {
			return llmtest.Reply{Status: 401, Body: `{"error":{"message":"bad key"}}`}
		}
	},
}

// painted matches the fact in a note of a lantern benchmark.
var painted = regexp.MustCompile(`is painted (\w+( \w+)?)`)

func lanternModel(c llmtest.Call) llmtest.Reply {
	last := c.Messages[len(c.Messages)-1].Content
	var judged struct {
		Reference string  `json:"reference_answer"`
		Candidate *string `json:"candidate_answer"`
	}
	if json.Unmarshal([]byte(last), &judged) == nil && judged.Candidate != nil {
		score := 0
		if strings.Contains(strings.ToLower(*judged.Candidate), strings.ToLower(judged.Reference)) {
			score = 1
		}
		return llmtest.Reply{Text: fmt.Sprintf(`{"score": %d, "reason": "compared"}`, score), Input: 700, Output: 20}
	}
	if strings.Contains(c.Messages[0].Content, `{"facts": [`) {
		return llmtest.Reply{Text: `{"facts": []}`, Input: 900, Output: 8}
	}
	text := "You did not mention a parrot."
	if m := painted.FindStringSubmatch(last); m != nil {
		text = "It is painted " + m[1]
	}
	return llmtest.Reply{Text: text, Input: 500, Output: 10}
}

// cmdModel starts a model and points the environment at it: model NAME
func cmdModel(ts *testscript.TestScript, _ bool, args []string) {
	s := llmtest.NewServer(ts.Value("t").(*testing.T), models[args[0]]())
	*running(ts) = s
	ts.Setenv("OPENAI_BASE_URL", s.URL)
	ts.Setenv("OPENAI_API_KEY", "sk-secret-of-the-test")
	ts.Setenv("SVC_LLM_PROVIDER", "openai")
}

// running returns the model of one script. Scripts run in parallel.
func running(ts *testscript.TestScript) **llmtest.Server {
	return ts.Value("model").(**llmtest.Server)
}

// cmdCalls checks the bodies of requests: [!] calls PATTERN; or their number: calls count N; or
// waits for requests: calls await N
func cmdCalls(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "await" {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for deadline := time.Now().Add(awaitTimeout); len((*running(ts)).Calls()) < n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				ts.Fatalf("%d calls, want %d", len((*running(ts)).Calls()), n)
			}
		}
		return
	}
	calls := (*running(ts)).Calls()
	if args[0] == "count" {
		if strconv.Itoa(len(calls)) != args[1] {
			ts.Fatalf("%d calls, want %s", len(calls), args[1])
		}
		return
	}
	re := regexp.MustCompile(args[0])
	for i, c := range calls {
		if re.Match(c.Body) == neg {
			ts.Fatalf("call %d: match of %s is %v in %s", i, args[0], !neg, c.Body)
		}
	}
}

// cmdAwait waits until a file matches: await FILE PATTERN
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[1])
	for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(5 * time.Millisecond) {
		files, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, f := range files {
			if data, err := os.ReadFile(f); err == nil && re.Match(data) {
				return
			}
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not match %s", args[0], args[1])
		}
	}
}

// cmdRaw checks for bytes in a file or in stderr: [!] raw FILE '\x1b'
func cmdRaw(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	if strings.Contains(ts.ReadFile(args[0]), want) == neg {
		ts.Fatalf("%s: %q found is %v", args[0], want, !neg)
	}
}

// cmdEdit writes a copy of a file with the first OLD replaced: edit FILE COPY OLD NEW
func cmdEdit(ts *testscript.TestScript, _ bool, args []string) {
	before, after, found := strings.Cut(ts.ReadFile(args[0]), args[2])
	if !found {
		ts.Fatalf("%s does not have %s", args[0], args[2])
	}
	path := ts.MkAbs(args[1])
	ts.Check(os.WriteFile(path, []byte(before+args[3]+after), 0o644))
	ts.Value("results").(*written).edited[path] = true
}

// cmdAwaitURL sets $URL to the URL in a daemon's output: await-url FILE
func cmdAwaitURL(ts *testscript.TestScript, _ bool, args []string) {
	cmdAwait(ts, false, []string{args[0], listening.String()})
	ts.Setenv("URL", listening.FindStringSubmatch(ts.ReadFile(args[0]))[1])
}

var listening = regexp.MustCompile(`listening on (http://\S+)\n`)

// cmdFreeURL sets $PORT to a port that no other test gets, and $URL to its URL: free-url
func cmdFreeURL(ts *testscript.TestScript, _ bool, _ []string) {
	first, release, err := porttest.Reserve(1)
	ts.Check(err)
	ts.Defer(release)
	port := strconv.Itoa(first)
	ts.Setenv("PORT", port)
	ts.Setenv("URL", "http://127.0.0.1:"+port)
}

// cmdSecret sets a variable to the only line of a file: secret NAME FILE
func cmdSecret(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// cmdHTTP sends a request, with $TOKEN if it is set, and writes status and body to stdout:
// http METHOD URL [BODY]
func cmdHTTP(ts *testscript.TestScript, _ bool, args []string) {
	fmt.Fprint(ts.Stdout(), send(ts, args))
}

// cmdAwaitHTTP sends a request again and again, until status and body match:
// await-http PATTERN METHOD URL [BODY]
func cmdAwaitHTTP(ts *testscript.TestScript, _ bool, args []string) {
	re := regexp.MustCompile(args[0])
	for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(20 * time.Millisecond) {
		got := send(ts, args[1:])
		if re.MatchString(got) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s %s does not match %s: %s", args[1], args[2], args[0], got)
		}
	}
}

// send returns the status and the body of a response.
func send(ts *testscript.TestScript, args []string) string {
	body := ""
	contentType := "application/json"
	if len(args) > 2 {
		body = args[2]
		if args[0] == http.MethodPut {
			contentType = "application/octet-stream"
		}
	}
	for deadline := time.Now().Add(awaitTimeout); ; time.Sleep(10 * time.Millisecond) {
		req, err := http.NewRequest(args[0], args[1], strings.NewReader(body))
		ts.Check(err)
		req.Header.Set("Content-Type", contentType)
		if token := ts.Getenv("TOKEN"); token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		client := http.Client{Timeout: awaitTimeout}
		res, err := client.Do(req)
		if err != nil && time.Now().Before(deadline) {
			continue // the server may still be starting
		}
		ts.Check(err)
		data, err := io.ReadAll(res.Body)
		ts.Check(errors.Join(err, res.Body.Close()))
		return fmt.Sprintf("%d %s", res.StatusCode, data)
	}
}
