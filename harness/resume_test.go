package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/harness/wording"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// numberOf returns 7 for "question 7".
func numberOf(question string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(question, "question "))
	if err != nil {
		panic(err)
	}
	return n
}

// mixed starts a daemon that answers every fifth question with an error.
func mixed(tb testing.TB) *daemontest.Daemon {
	return daemontest.New(tb, func(w http.ResponseWriter, _ *http.Request, c daemontest.Call) {
		if q := c.Body["question"].(string); numberOf(q)%5 != 0 {
			const mode = `"effective_mode":"bm25"`
			daemontest.Stream(w, strings.Replace(daemontest.AnswerTo(q), mode, mode+`,"fusion":{"method":"rrf","weight":1}`, 1))
		} else {
			daemontest.Stream(w,
				event("token", `{"token":"half"}`)+event("error", `{"message":"no model"}`))
		}
	})
}

// grader returns every kind of verdict, at 3 nano-dollars each, and records what it judged.
type grader struct {
	mu     sync.Mutex
	judged []string
}

func (g *grader) scorer() scripted {
	return func(_ context.Context, item scorer.Item) (scorer.Verdict, error) {
		g.mu.Lock()
		g.judged = append(g.judged, item.Question)
		g.mu.Unlock()
		v := scorer.Verdict{Attempts: 1, Usage: llm.Usage{InputTokens: 20, OutputTokens: 5},
			Cost: 3}
		switch n := numberOf(item.Question); n % 5 {
		case 1:
			v.Reason = "no usable verdict"
		default:
			v.Scored, v.Score, v.Reason = true, float64(n%5)/4, "so it is"
		}
		return v, nil
	}
}

// timeless removes the figures that differ between two runs of the same experiment.
func timeless(f resultFile) resultFile {
	f.FinishedAt, f.Resumed = time.Time{}, 0
	f.Latency, f.FirstDelta = result.Quantiles{N: f.Latency.N}, result.Quantiles{N: f.FirstDelta.N}
	f.Questions = slices.Clone(f.Questions)
	for i := range f.Questions {
		f.Questions[i].LatencyMS, f.Questions[i].FirstDeltaMS = 0, nil
		f.Questions[i].Timeline = nil
		f.Questions[i].AskedAt, f.Questions[i].JudgedAt, f.Questions[i].JudgeMS = time.Time{}, time.Time{}, 0
	}
	return f
}

func sameResult(t interface{ Error(...any) }, want, got resultFile) {
	if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
		t.Error("the results differ (-want +got):\n" + diff)
	}
}

// wholeRun returns the result of a run that was not stopped, and its journal before it was removed.
func wholeRun(t *testing.T, s *daemontest.Daemon, d dataset.Dataset) (resultFile, []byte) {
	t.Helper()
	cfg := setUp(t, s, d, t.TempDir())
	grade := (&grader{}).scorer()
	// Every second answer is judged after its line has been written, as by a slow judge. The others
	// have only a line with their grade.
	cfg.Scorer = scripted(func(ctx context.Context, item scorer.Item) (scorer.Verdict, error) {
		if n := numberOf(item.Question); n%2 == 0 {
			awaitLine(t, cfg.Journal.Path(), fmt.Sprintf(`{"kind":"answer","index":%d,`, n-1))
		}
		return grade(ctx, item)
	})
	var lines []byte
	n := 0
	cfg.Recorded = func(result.Record) {
		if n++; n == d.Selected {
			lines, _ = os.ReadFile(cfg.Journal.Path())
		}
	}
	path := cfg.finish(t)
	if _, err := os.Stat(cfg.Journal.Path()); err == nil {
		t.Error("the journal of a finished run was not removed")
	}
	return readResult(t, path), lines
}

func awaitLine(t *testing.T, file, start string) {
	deadline := time.Now().Add(2 * time.Minute)
	for ; time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, []byte(strings.TrimPrefix(start, "{"))) {
			return
		}
	}
	t.Errorf("no line %s in %s", start, file)
}

// leftToDo returns the questions that a journal leaves to be asked, and to be judged.
func leftToDo(cut []byte, n int) (ask, judge []string) {
	answered, graded := map[int]bool{}, map[int]bool{}
	whole := cut[:bytes.LastIndexByte(cut, '\n')+1]
	for line := range bytes.Lines(whole) {
		var e struct {
			Kind   string
			Index  int
			Record struct{ Outcome result.Outcome }
		}
		_ = json.Unmarshal(line, &e)
		switch e.Kind {
		case "answer":
			answered[e.Index], graded[e.Index] = true, e.Record.Outcome == result.Errored
		case "grade":
			answered[e.Index], graded[e.Index] = true, true
		}
	}
	for i := range n {
		q := fmt.Sprintf("question %d", i+1)
		if !answered[i] {
			ask = append(ask, q)
		}
		if !graded[i] && (i+1)%5 != 0 {
			judge = append(judge, q)
		}
	}
	return ask, judge
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// TestResumeAfterAnyCut resumes a run whose journal ends at any byte, as SIGKILL may leave it. The
// result must be the same as without the interruption, and nothing that the journal contains may be
// asked or judged again.
func TestResumeAfterAnyCut(t *testing.T) {
	t.Parallel()
	const n = 7
	d := openDataset(t, writeDataset(t, n))
	want, lines := wholeRun(t, mixed(t), d)
	firstLine := bytes.IndexByte(lines, '\n') + 1
	s := mixed(t)
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(firstLine, len(lines)).Draw(rt, "bytes kept")
		if rapid.Bool().Draw(rt, "at a line's end") {
			at = bytes.LastIndexByte(lines[:at], '\n') + 1
		}
		cut := lines[:at]
		path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), string(cut))
		j, err := journal.Open(path)
		if err != nil {
			rt.Fatal(err)
		}
		defer j.Close()
		g := &grader{}
		cfg := resumeWith(t, s, d, j)
		cfg.Scorer = g.scorer()
		before := len(s.Asked())
		res, written, err := cfg.run(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		ask, judge := leftToDo(cut, n)
		if diff := cmp.Diff(sorted(ask), sorted(s.Asked()[before:])); diff != "" {
			rt.Errorf("asked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(sorted(judge), sorted(g.judged)); diff != "" {
			rt.Errorf("judged (-want +got):\n%s", diff)
		}
		finished := n - len(ask)
		for _, q := range judge {
			if !slices.Contains(ask, q) {
				finished--
			}
		}
		if res.Resumed != finished {
			rt.Errorf("resumed %d, want %d", res.Resumed, finished)
		}
		sameResult(rt, want, readResult(t, written))
	})
}

// TestResumeAfterKill kills a real process in the middle of its run.
func TestResumeAfterKill(t *testing.T) {
	const n = 40
	var run atomic.Pointer[os.Process]
	var written atomic.Pointer[string]
	var count atomic.Int32
	known := make(chan struct{})
	s := daemontest.New(t, func(w http.ResponseWriter, r *http.Request, c daemontest.Call) {
		<-known
		switch asked := count.Add(1); {
		case asked == n/2:
			awaitLine(t, *written.Load(), `{"kind":"grade"`)
			_ = run.Load().Kill()
			return
		case asked > n/2:
			<-r.Context().Done() // until the process has ended
			return
		}
		daemontest.Stream(w, daemontest.AnswerTo(c.Body["question"].(string)))
	})
	path, dir := writeDataset(t, n), t.TempDir()
	c := startChild(t, "run", "URL="+s.URL, "DATASET="+path, "DIR="+dir)
	run.Store(c.Process)
	written.Store(&c.firstLine)
	close(known)
	awaittest.Receive(t, "c.ended", c.ended)
	if c.ProcessState.Success() {
		t.Fatal("the run ended before it was killed")
	}
	data := filetest.Read(t, c.firstLine)
	ask, _ := leftToDo(data, n)
	if len(ask) == 0 || len(ask) == n {
		t.Fatalf("%d of %d questions were left", len(ask), n)
	}
	s = daemontest.Answering(t)
	j, err := journal.Open(c.firstLine)
	if err != nil {
		t.Fatal(err)
	}
	res, file, err := resumeWith(t, s, openDataset(t, path), j).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(ask), sorted(s.Asked())); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	f := readResult(t, file)
	if f.Total != n || f.Passed != n || f.Stopped != "" || res.Planned != n {
		t.Errorf("got %s", wording.Summary(&res, file))
	}
	for i, q := range f.Questions {
		if q.ID != fmt.Sprintf("q%d", i+1) {
			t.Fatalf("question %d is %s", i, q.ID)
		}
	}
}

// TestResumeKeepsObservations: a resumed run does not forget what its first part has observed of the
// target, and counts the calls of both.
func TestResumeKeepsObservations(t *testing.T) {
	s, d := mixed(t), openDataset(t, writeDataset(t, 12))
	first := setUp(t, s, d, t.TempDir())
	first.MaxFailures, first.Concurrency = 1, 1
	mapped := func(searches int) *result.MappedService {
		return &result.MappedService{
			Mapping: "m", SHA256: strings.Repeat("0f", 32), Transport: "http", Query: "question", Brains: "one",
			Calls: map[string]int{"search": searches}, NotMeasurable: map[string]string{},
		}
	}
	first.Admission = &result.Admission{Brain: result.CanaryAlone, Before: result.Sighting{State: result.CanaryMissing}, After: result.Sighting{State: result.CanaryUnknown}}
	first.Mapped = mapped(3)
	first.Mapped.Findings = []string{"it lost a document"}
	if _, _, err := first.run(t.Context()); !errors.Is(err, ErrMaxFailures) {
		t.Fatalf("the first part was not stopped: %v", err)
	}
	second := reopened(t, s, first)
	found := result.Sighting{State: result.CanaryFound}
	second.Admission = &result.Admission{Brain: result.CanaryAlone, Before: found, After: found}
	second.Mapped = mapped(4)
	res := readResult(t, second.finish(t))
	if res.Admission.Before.State != result.CanaryMissing || res.Admission.After != found || !res.Suspected() {
		t.Errorf("admission %+v, suspicions %+v", res.Admission, res.Suspect)
	}
	if res.Mapped.Calls["search"] != 7 || !slices.Equal(res.Mapped.Findings, []string{"it lost a document"}) {
		t.Errorf("mapped %+v", res.Mapped)
	}
}
