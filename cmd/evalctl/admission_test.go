package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/internal/filetest"
)

// library is a shelf that notes which brains it has had.
type library struct {
	shelf
	had []string
	// lost has nothing be found any more of a brain but the canary's, once it was written.
	lost bool
	// shared has all brains be one.
	shared bool
}

func (l *library) ServeHTTP(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
	name, _ := c.Body["user"].(string)
	l.mu.Lock()
	if name != "" && !slices.Contains(l.had, name) {
		l.had = append(l.had, name)
	}
	if query, _ := c.Body["q"].(string); l.lost && strings.Contains(query, "?") {
		c.Body["q"] = "-"
	}
	if l.shared && name != "" {
		c.Body["user"] = "all"
	}
	l.mu.Unlock()
	l.shelf.ServeHTTP(w, r, c)
}

// set changes the library, which may be asked at the same time.
func (l *library) set(change func(*library)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// left returns the brains that have a text.
func (l *library) left() (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, docs := range l.brains {
		if len(docs) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// admissionRig is a run of the composed questions against a library at a URL.
type admissionRig struct {
	*composition
	library *library
}

func newAdmissionRig(t *testing.T, mapping string) *admissionRig {
	t.Helper()
	l := &library{shelf: shelf{brains: map[string]map[string]string{}}}
	server := daemontest.New(t, l.ServeHTTP)
	dir := t.TempDir()
	many := ""
	for i := range 12 {
		many += strings.ReplaceAll(`{"id": "qN", "question": "Who is the keeper of the pier?", "brain": "a", "expected_paths": ["pier.md"]}`+"\n", "qN", "q"+string(rune('a'+i)))
	}
	corpus := strings.Join(strings.SplitAfter(composedCorpus, "\n")[:2], "")
	for name, text := range map[string]string{"corpus.jsonl": corpus, "q.jsonl": many, "shelf.yaml": mapping} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	c := &composition{t: t, dir: dir, name: "shelf", target: []string{"--target=shelf=" + server.URL + " --mapping shelf.yaml"}}
	return &admissionRig{c, l}
}

// run runs the questions, and returns the exit code, the output and the newest result.
func (a *admissionRig) run(more ...string) (int, string, result.Result) {
	a.t.Helper()
	code, text := a.exec(slices.Concat([]string{"run", "--config=none", "--dataset=q.jsonl", "--corpus=corpus.jsonl", "--scorer=retrieval",
		"--scenario=search-retrieve-only"}, a.target, more)...)
	var res result.Result
	files, _ := filepath.Glob(filepath.Join(a.dir, "results", "*", "shelf.json"))
	if len(files) == 1 {
		data, err := os.ReadFile(files[0])
		if err == nil {
			err = json.Unmarshal(data, &res)
		}
		if err != nil {
			a.t.Fatal(err)
		}
	}
	return code, text, res
}

// TestNamespaces: each run has a namespace of its own at a service that goes on running, and leaves
// nothing there, also if it fails.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	a := newAdmissionRig(t, composedIDs)
	for _, args := range [][]string{{"--floor=1"}, {"--floor=1"}, {"--floor=0", "--max-failures=1", "--top-k=1", "--tags=none-has-it"}, {"--scorer=cmd:false", "--floor=0"}} {
		code, text, res := a.run(args...)
		if left := a.library.left(); len(left) != 0 {
			t.Errorf("%q ended with %d and left %q: %s", args, code, left, text)
		}
		if args[0] != "--floor=1" || len(args) > 1 {
			continue
		}
		if code != 0 || res.Admission == nil || res.Admission.Held == nil || *res.Admission.Held != 0 || res.Admission.Brain != result.CanaryAlone ||
			res.Admission.Before.State != result.CanaryFound || res.Admission.After.State != result.CanaryFound || len(res.Suspect) != 0 {
			t.Errorf("exit code %d, %+v, %v: %s", code, res.Admission, res.Suspect, text)
		}
	}
	a.library.mu.Lock()
	defer a.library.mu.Unlock()
	spaces := map[string]bool{}
	for _, name := range a.library.had {
		space, ok := strings.CutSuffix(name, "-a")
		if !strings.HasPrefix(name, "evalctl-") {
			t.Errorf("a brain is called %q", name)
		}
		if ok {
			spaces[space] = true
		}
	}
	if len(spaces) < 2 {
		t.Errorf("the namespaces are %v", spaces)
	}
}

// TestHeld: the first line says that a store had texts. One that cannot keep brains apart is refused.
func TestHeld(t *testing.T) {
	t.Parallel()
	t.Run("no brains kept apart", func(t *testing.T) {
		a := newAdmissionRig(t, composedIDs)
		a.library.set(func(l *library) {
			l.shared = true
			l.brains["all"] = map[string]string{"old.md": "The keeper of the pier was somebody else.", "other.md": "The keeper of the pier is old."}
		})
		code, text, res := a.run("--floor=0")
		first := strings.Index(text, "SUSPECT")
		if code != 0 || first < 0 || first > strings.Index(text, "pass rate") || !strings.Contains(text, "at least 2 texts were found in the store") ||
			!strings.Contains(text, "shelf: 12/12 pass_rate=1.000 mean_score=1.000 suspect -> ") || len(res.Suspect) != 1 || res.Suspect[0].Kind != result.SuspectHeld {
			t.Errorf("exit code %d, %+v: %s", code, res.Suspect, text)
		}
	})
	t.Run("one store", func(t *testing.T) {
		one := strings.NewReplacer("brains: argument", "brains: one", "{brain}", "all", `reset: {method: POST, path: /reset, body: {user: "{brain}"}}`, "").Replace(composedIDs)
		a := newAdmissionRig(t, one)
		a.library.set(func(l *library) {
			l.brains["all"] = map[string]string{"old.md": "The keeper of the pier was somebody else."}
		})
		code, text, _ := a.run("--floor=0")
		if code != exitDaemon || !strings.Contains(text, "has at least 1 text already") || !strings.Contains(text, "brains: argument") {
			t.Errorf("exit code %d: %s", code, text)
		}
	})
}

// TestSuspect: a target that finds nearly no gold is suspect, and its rate is not a score, unless it
// passes the floor all the same.
func TestSuspect(t *testing.T) {
	t.Parallel()
	a := newAdmissionRig(t, composedIDs)
	a.library.set(func(l *library) { l.lost = true })
	code, text, res := a.run("--floor=0.5")
	if code != exitDaemon || res.Gate.Verdict != result.Invalid || res.Gate.Reason != result.ReasonSuspect || !res.Suspected() ||
		!strings.Contains(text, "the target is suspect") || !strings.Contains(text, " suspect -> ") {
		t.Errorf("exit code %d, %+v: %s", code, res.Gate, text)
	}
	files, _ := filepath.Glob(filepath.Join(a.dir, "results", "*", "shelf.json"))
	if code, text := a.exec("verify", files[0]); code != 0 {
		t.Errorf("verify: exit code %d: %s", code, text)
	}
	if _, text := a.exec("show", "board", "results"); !strings.Contains(text, "suspect") {
		t.Errorf("the board says %s", text)
	}
	if code, _, res = a.run("--floor=0"); code != 0 || res.Gate.Verdict != result.Pass {
		t.Errorf("exit code %d, %+v", code, res.Gate)
	}
}
