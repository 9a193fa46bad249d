//go:build unix

package extern_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/harness/extern"
	"evalctl/harness/launch"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
	"evalctl/internal/redact"
	"evalctl/scorer"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "role:watchdog" {
		if err := launch.Watchdog(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	longtest.Parallel(6) // most tests wait for a process
	for name, value := range map[string]string{"OPENAI_API_KEY": "secret", "EXTERN_TEST_PASSED": "passed", "EXTERN_TEST_OTHER": "other"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// script writes a shell script and returns the definition of the scorer that runs it.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filetest.Write(t, filepath.Join(t.TempDir(), "score.sh"), text)
	return "cmd:sh " + path
}

const hello = `read -r handshake
echo '{"protocol": 1, "name": "n", "version": "1", "needs": []}'
`

// each is a script with a handshake that does something for each line, whose id is in $id.
func each(do string) string {
	return hello + `while read -r line; do
id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
` + do + "\ndone\n"
}

const good = `echo "{\"id\": $id, \"score\": 1, \"reason\": \"ok\"}"`

var watchdog = []string{os.Args[0], "role:watchdog"}

func open(t *testing.T, text string, o extern.Options) *extern.Scorer {
	t.Helper()
	o.Watchdog = watchdog
	s, err := extern.Open(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// block returns the first block of a language in the page on adding a scorer.
func block(t *testing.T, language string) string {
	t.Helper()
	page := filetest.Read(t, "../../docs/adding.md")
	_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
	text, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("docs/adding.md has no block of %s", language)
	}
	return text
}

// The scorers of the documentation work as they are printed there.
func TestScorersOfTheDocumentation(t *testing.T) {
	t.Parallel()
	item := scorer.Item{ID: "q", Question: "Which?", Reference: "green kettle", Answer: "a Green \"kettle\"\nis green"}
	for _, c := range []struct{ language, program, name, reason string }{
		{"python", "python3", "words", "1 of 2 words"}, {"sh", "sh", "no-apology", "it does not apologize"},
	} {
		t.Run(c.language, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skip(err)
			}
			text := block(t, c.language)
			path := filetest.Write(t, filepath.Join(t.TempDir(), "score"), text)
			s := open(t, "cmd:"+c.program+" "+path, extern.Options{})
			v, err := s.Score(t.Context(), item)
			if err != nil || !v.Scored || !v.Passed() || v.Reason != c.reason || s.Identity().Name != c.name {
				t.Errorf("%+v %v of %+v", v, err, s.Identity())
			}
			sorry := item
			sorry.Answer = "I am sorry, blue"
			if v, err := s.Score(t.Context(), sorry); err != nil || !v.Scored || v.Passed() {
				t.Errorf("%+v %v", v, err)
			}
			if n := strings.Count(text, "\n"); n > 11 {
				t.Errorf("%d lines", n)
			}
			if id := s.Identity(); id.Files != 1 || len(id.FilesSHA256) != 64 || id.Program != c.program {
				t.Errorf("%+v", id)
			}
		})
	}
}

// Replies out of order reach the requests with their ids.
func TestRepliesOutOfOrder(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, hello+`
read -r a; read -r b; read -r c
for line in "$c" "$a" "$b"; do
  id=$(printf '%s' "$line" | sed 's/^{"id":\([0-9]*\),.*/\1/')
  answer=$(printf '%s' "$line" | sed 's/.*"answer":"\([0-9]*\)".*/\1/')
  echo "{\"id\": $id, \"score\": 0.$answer, \"reason\": \"$answer\"}"
done
read -r end
`), extern.Options{})
	var all sync.WaitGroup
	for i := 1; i <= 3; i++ {
		all.Go(func() {
			v, err := s.Score(t.Context(), scorer.Item{ID: "q", Answer: strconv.Itoa(i)})
			if err != nil || v.Score != float64(i)/10 || v.Reason != strconv.Itoa(i) {
				t.Errorf("%d: %+v %v", i, v, err)
			}
		})
	}
	awaittest.Wait(t, "all", all.Wait)
}

// No reply but a valid one is a score.
func TestBadReplies(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		`{"id": $id, "score": 7, "reason": ""}`:                       `"score" is not between 0 and 1`,
		`{"id": $id, "score": NaN, "reason": ""}`:                     "it wrote a line that is not a reply",
		`{"id": $id, "score": "1", "reason": ""}`:                     `"score" is not a number`,
		`{"id": $id, "reason": "1"}`:                                  `it has no "score"`,
		`{"id": $id, "score": 1}`:                                     `"reason" is not a string`,
		`{"id": $id, "score": 0, "score": 1, "reason": ""}`:           "it wrote a line that is not a reply",
		`{"id": $id, "score": 1, "reason": "", "error": "no"}`:        `"error" must be a text, without a score`,
		`{"id": $id, "error": "too long"}`:                            "it reports too long",
		`The score is 1`:                                              "it wrote a line that is not a reply to a request: The score is 1",
		`{"score": 1, "reason": ""}`:                                  "it wrote a line that is not a reply",
		`{"id": 4711, "score": 1, "reason": ""}`:                      "it wrote a line that is not a reply",
		"{\"id\": $id, \"score\": 1, \"reason\": \"\"} {\"id\": $id}": "it wrote a line that is not a reply",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			s := open(t, script(t, each("cat <<END\n"+reply+"\nEND")), extern.Options{})
			v, err := s.Score(t.Context(), scorer.Item{ID: "q"})
			if err != nil || v.Scored || v.Score != 0 || !strings.Contains(v.Reason, want) {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
}

func TestTooManyBadReplies(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, each(`echo "{\"id\": $id}"`)), extern.Options{MaxUnusable: 2})
	if v, err := s.Score(t.Context(), scorer.Item{ID: "a"}); err != nil || v.Scored {
		t.Errorf("%+v %v", v, err)
	}
	_, err := s.Score(t.Context(), scorer.Item{ID: "b"})
	if !errors.Is(err, scorer.ErrUnusable) || !strings.Contains(err.Error(), `the scorer n gave no usable verdict 2 times in a row, the last for question "b"`) {
		t.Error(err)
	}
}

func TestBadHandshakes(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]string{
		`echo hello`: "it is not one JSON object: hello",
		`echo '{"protocol": 2, "name": "n", "version": "1", "needs": []}'`:               `"protocol" is 2, and this evalctl speaks 1`,
		`echo '{"name": "n", "version": "1", "needs": []}'`:                              `"protocol" is missing`,
		`echo '{"protocol": 1, "name": " ", "version": "1", "needs": []}'`:               `"name" must be a text`,
		`printf '{"protocol": 1, "name": "n\\u001b[2J", "version": "1", "needs": []}\n'`: `"name" must be a text`,
		`echo '{"protocol": 1, "name": "n", "version": 1, "needs": []}'`:                 `"version" must be a text`,
		`echo '{"protocol": 1, "name": "n", "version": "1"}'`:                            `"needs" must be a list`,
		`echo '{"protocol": 1, "name": "n", "version": "1", "needs": ["answer"]}'`:       `"needs" has "answer", which is not one of expected_paths, expected_substrings, reference_answer`,
		`echo "no module torch" >&2; exit 3`:                                             "exit status 3\nlast lines of its log",
		`exec 1>&-; sleep 1000`:                                                          "it closed its standard output",
	} {
		t.Run(reply, func(t *testing.T) {
			t.Parallel()
			_, err := extern.Open(t.Context(), script(t, "read -r handshake\n"+reply), extern.Options{Watchdog: watchdog})
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "handshake: ") {
				t.Error(err)
			}
		})
	}
	for text, want := range map[string]string{
		"cmd:": "the command is missing", "cmd:'": "quote it as for a shell", "cmd:/no/such/program": "no such file",
		"http://user:secret@host/": "must not have a user", "http:///": "no host", "http://user:secret@host/%zz": "not a URL",
		"http://127.0.0.1:1/score?api_key=secret": "scorer http://127.0.0.1:1/score: handshake: ",
		"cmd:/no/such/program --key s3cret-key":   "scorer cmd:/no/such/program --key [SCORE_KEY]: ",
	} {
		_, err := extern.Open(t.Context(), text, extern.Options{Watchdog: watchdog, Secrets: []redact.Secret{{Name: "SCORE_KEY", Value: "s3cret-key"}}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, `read -r h; echo '{"protocol": 1, "name": "n", "version": "1", "needs": ["reference_answer", "expected_paths"]}'
cat >/dev/null`), extern.Options{})
	err := s.Check(scorer.Item{ID: "q", Reference: "r"})
	if err == nil || err.Error() != `question "q" has no expected_paths, which the scorer n needs` {
		t.Error(err)
	}
	if err := s.Check(scorer.Item{ID: "q", Reference: "r", Gold: scorer.Ranking{{Path: "a"}}}); err != nil {
		t.Error(err)
	}
}

// A process that ends is started again with what it had not answered. An answer that it had twice is
// unscored, and the others are not.
func TestRestartAfterACrash(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, each(`case $line in *poison*) echo dying >&2; exit 7;; esac
`+good)), extern.Options{})
	for range 2 {
		if v, err := s.Score(t.Context(), scorer.Item{ID: "a", Answer: "fine"}); err != nil || !v.Passed() {
			t.Errorf("%+v %v", v, err)
		}
		v, err := s.Score(t.Context(), scorer.Item{ID: "b", Answer: "poison"})
		if err != nil || v.Scored || !strings.Contains(v.Reason, "the scorer ended 2 times while it had this answer") ||
			!strings.Contains(v.Reason, "exit status 7") || !strings.Contains(v.Reason, "dying") {
			t.Errorf("%+v %v", v, err)
		}
	}
}

func TestRestartsAreLimited(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, each("exit 7")), extern.Options{})
	for i := 0; ; i++ {
		v, err := s.Score(t.Context(), scorer.Item{ID: "q"})
		switch {
		case err != nil && strings.Contains(err.Error(), "the scorer ended 11 times") && strings.Contains(err.Error(), "exit status 7"):
			return
		case err != nil || v.Scored || i > 10:
			t.Fatalf("%d: %+v %v", i, v, err)
		}
	}
}

// An answer that takes too long is unscored. What waited behind it is scored by a later process, also
// if several answers take too long.
func TestTimeout(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, each(`case $line in *slow*) sleep 1000 & wait;; esac
`+good)), extern.Options{Timeout: 2 * time.Second})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			v, err := s.Score(t.Context(), scorer.Item{ID: "slow", Answer: "slow"})
			if err != nil || v.Scored || !strings.Contains(v.Reason, "gave no reply within ") {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
	for range 2 {
		all.Go(func() {
			if v, err := s.Score(t.Context(), scorer.Item{ID: "a", Answer: "fine"}); err != nil || !v.Passed() {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
	awaittest.Wait(t, "all", all.Wait)
}

// Neither the process nor one that it has started outlives Close, and credentials do not reach it.
func TestProcessGroupAndEnvironment(t *testing.T) {
	t.Parallel()
	pids := filepath.Join(t.TempDir(), "pids")
	s, err := extern.Open(t.Context(), script(t, "trap '' TERM\nsleep 1000 & echo $! $$ > "+pids+"\n"+
		each(`echo "{\"id\": $id, \"score\": 0, \"reason\": \"key:$OPENAI_API_KEY:$EXTERN_TEST_PASSED:$EXTERN_TEST_OTHER:$PATH\"}"`)+"sleep 1000\n"),
		extern.Options{Passed: []string{"EXTERN_TEST_PASSED"}, Watchdog: watchdog})
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.Score(t.Context(), scorer.Item{ID: "q"})
	if err != nil || v.Reason != "key::passed::"+os.Getenv("PATH") {
		t.Errorf("%+v %v", v, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	data := filetest.Read(t, pids)
	for _, pid := range strings.Fields(string(data)) {
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if syscall.Kill(n, 0) == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d is left", n)
		}
	}
}

// A cancelled run does not wait for a reply.
func TestCancelledScore(t *testing.T) {
	t.Parallel()
	s := open(t, script(t, each("sleep 1000 & wait")), extern.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	go cancel(cause)
	if _, err := s.Score(ctx, scorer.Item{ID: "q"}); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	replies := map[string]string{
		"good": `{"id": %s, "score": 0.75, "reason": "ok"}`, "bad": `{"id": %s, "score": 75, "reason": "ok"}`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(body); err != nil && r.ContentLength == 0 {
			t.Error(err)
		}
		text := string(body)
		switch {
		case strings.Contains(text, `"hello"`):
			fmt.Fprint(w, `{"protocol": 1, "name": "web", "version": "2", "needs": []}`)
		case strings.Contains(text, `"answer":"down"`):
			http.Error(w, "out of memory", http.StatusInternalServerError)
		case strings.Contains(text, `"answer":"late"`):
			<-r.Context().Done()
		default:
			id, _, _ := strings.Cut(strings.TrimPrefix(text, `{"id":`), ",")
			_, answer, _ := strings.Cut(text, `"answer":"`)
			answer, _, _ = strings.Cut(answer, `"`)
			fmt.Fprintf(w, replies[answer], id)
		}
	}))
	defer srv.Close()
	s := open(t, srv.URL+"/score?token=secret", extern.Options{Timeout: 2 * time.Second})
	if id := s.Identity(); id.Endpoint != srv.URL+"/score" || id.Name != "web" || id.CommandSHA256 != "" {
		t.Errorf("%+v", id)
	}
	for answer, want := range map[string]string{
		"good": "ok", "bad": `"score" is not between 0 and 1`, "down": "status 500: out of memory", "late": "no reply within 2s",
	} {
		v, err := s.Score(t.Context(), scorer.Item{ID: "q", Answer: answer})
		if err != nil || v.Passed() != (answer == "good") || v.Scored != (answer == "good") || !strings.Contains(v.Reason, want) ||
			strings.Contains(v.Reason, "secret") {
			t.Errorf("%s: %+v %v", answer, v, err)
		}
	}
}

// TestServiceOneAtATime: a request to a service that works one request at a time has the time of
// the requests before it in addition.
func TestServiceOneAtATime(t *testing.T) {
	t.Parallel()
	const requests = 3
	arrived, turn := make(chan struct{}, requests), make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		text := string(data)
		if strings.Contains(text, `"hello"`) {
			fmt.Fprint(w, `{"protocol": 1, "name": "web", "version": "2", "needs": []}`)
			return
		}
		arrived <- struct{}{}
		turn <- struct{}{}
		defer func() { <-turn }()
		time.Sleep(700 * time.Millisecond)
		id, _, _ := strings.Cut(strings.TrimPrefix(text, `{"id":`), ",")
		fmt.Fprintf(w, `{"id":%s,"score":1,"reason":"ok"}`, id)
	}))
	defer srv.Close()
	s := open(t, srv.URL, extern.Options{Timeout: 1500 * time.Millisecond})
	var all sync.WaitGroup
	for range requests {
		all.Go(func() {
			if v, err := s.Score(t.Context(), scorer.Item{ID: "q", Answer: "good"}); err != nil || !v.Passed() {
				t.Errorf("%+v %v", v, err)
			}
		})
		awaittest.Receive(t, "arrived", arrived)
	}
	awaittest.Wait(t, "all", all.Wait)
}
