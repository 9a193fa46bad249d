package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/dataset"
	"evalctl/harness/result"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// sampleJournal returns the journal of a run of three questions: one graded, one that waits for its
// grade, and one that was not asked.
func sampleJournal(tb testing.TB, dir string) *Journal {
	tb.Helper()
	id := journalIdentity(3)
	j, err := Create(dir, id, started, json.RawMessage(`{"floor":"0.9"}`))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range 2 {
		r := answered(fmt.Sprint("q", i), i+1)
		if err := j.Append(Entry{Kind: KindAnswer, Index: i, Record: &r}); err != nil {
			tb.Fatal(err)
		}
	}
	verdict := scorer.Verdict{Score: 0.75, Scored: true, Reason: "good", Cost: 5}
	r := answered("q0", 1).Graded(verdict)
	if err := j.Append(Entry{Kind: KindGrade, Index: 0, Record: &r}); err != nil {
		tb.Fatal(err)
	}
	if err := j.Append(Entry{Kind: KindSpent, Index: 1, Call: &result.JudgeCall{USD: 7}}); err != nil {
		tb.Fatal(err)
	}
	return j
}

func TestRoundTrip(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	got := reopened(t, j)
	if diff := cmp.Diff(j.Identity(), got.Identity()); diff != "" {
		t.Error(diff)
	}
	if !got.StartedAt().Equal(started) || string(got.Options()) != `{"floor":"0.9"}` ||
		got.Spent() != 12 || j.Spent() != 12 {
		t.Errorf("got %v, %s, spent %v", got.StartedAt(), got.Options(), got.Spent())
	}
	r, err := got.Record(0)
	if err != nil || !got.slots[0].Finished || r.ID != "q0" || r.Outcome != result.Scored ||
		*r.Score != 0.75 || !r.Passed || r.JudgeUSD != 5 {
		t.Errorf("question 0: %+v, %v, %v", r, got.slots[0].Finished, err)
	}
	r, err = got.Record(1)
	if err != nil || got.slots[1].Finished || r.Outcome != result.Unscored || r.Score != nil {
		t.Errorf("question 1: %+v, %v, %v", r, got.slots[1].Finished, err)
	}
	if got.slots[2].Answered {
		t.Error("question 2 was never asked")
	}
}

// TestOpenRejects checks the errors for damage other than an incomplete last line.
func TestOpenRejects(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	_ = j.Close()
	data := unlinked(filetest.Read(t, j.Path())) // what its lines say is checked besides their links
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	first, answer0, answer1, grade0, spent := lines[0], lines[1], lines[2], lines[3], lines[4]+"\n"
	for _, c := range []struct {
		name, text string
		line       int
		want       string
	}{
		{"a dataset", `{"id":"a","question":"Which?"}` + "\n", 1, "not a journal: "},
		{"a result", "{\n  \"schema_version\": 1\n}\n", 1, "not a journal: "},
		{"a broken line", first + answer0[:40] + "\n" + answer1, 2, "invalid character"},
		{"a line of zeros", first + "\x00\x00\x00\n", 2, "invalid character"},
		{"an empty line", first + "\n" + answer0, 2, ""},
		{"an unknown kind", first + `{"kind":"guess","index":0}` + "\n", 2,
			`a line of kind "guess" has no place here`},
		{"an answer without a record", first + `{"kind":"answer","index":0}` + "\n", 2,
			"has no place here"},
		{"a second answer", first + answer0 + answer0, 3, "has no place here"},
		{"an answer after its grade", first + grade0 + answer0, 3, "has no place here"},
		{"a second grade", first + answer0 + grade0 + grade0, 4, "has no place here"},
		{"a record that is not last",
			first + `{"kind":"answer","record":{"id":"q0"},"index":0}` + "\n", 2,
			"its keys are not in the order of a journal"},
		{"a grade for an error",
			first + strings.Replace(answer0, `"outcome":"unscored"`, `"outcome":"error"`, 1) + grade0, 3,
			"has no place here"},
		{"a grade without one", first + answer0 + `{"kind":"grade","index":0}` + "\n", 3,
			"has no place here"},
		{"an index past the end", first + strings.Replace(answer0, `"index":0`, `"index":3`, 1), 2,
			"not a line of this run"},
		{"an index below 0", first + strings.Replace(spent, `"index":1`, `"index":-1`, 1), 2,
			"not a line of this run"},
		{"money below 0", first + strings.Replace(spent, `"usd":0.`, `"usd":-0.`, 1), 2,
			"is not an amount"},
		{"the first line missing", answer0 + grade0, 1, "not a journal: the first line does not begin a run"},
		{"the first line broken", "{\n" + answer0, 1, "not a journal: "},
		{"another version", strings.Replace(first, `"schema_version":1`, `"schema_version":2`, 1),
			1, "it has schema version 2, this evalctl writes 1"},
		{"no questions", strings.Replace(first, `"selected":3`, `"selected":0`, 1), 1,
			"the run has 0 questions"},
		{"too many questions",
			strings.Replace(first, `"selected":3`, `"selected":9223372036854775807`, 1), 1,
			"the run has 9223372036854775807 questions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filetest.Write(t, filepath.Join(t.TempDir(), "go.journal"), c.text)
			j, err := Open(path)
			if err == nil {
				_ = j.Close()
			}
			damaged := fmt.Sprintf("%s:%d: the journal is damaged: ", path, c.line)
			if strings.HasPrefix(c.want, "not a journal: ") {
				damaged = fmt.Sprintf("%s:%d: %s", path, c.line, c.want)
			}
			at, ok := errors.AsType[*dataset.LineError](err)
			if !ok || at.Line != c.line || !strings.HasPrefix(err.Error(), damaged) ||
				!strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "start a new run") {
				t.Errorf("got %v", err)
			}
			if kept, _ := os.ReadFile(path); string(kept) != c.text {
				t.Error("a damaged journal was changed")
			}
		})
	}
}

func TestOpenMissingJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.journal")
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("opening a journal created one")
	}
	empty := filetest.Write(t, path, "")
	if _, err := Open(empty); err == nil ||
		err.Error() != empty+" contains no run; start a new run" {
		t.Errorf("got %v", err)
	}
	for _, content := range []string{"", `{"kind":"run","name":"go"`} {
		j, err := Create(filepath.Dir(filetest.Write(t, path, content)), journalIdentity(1), started, nil)
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 || j.Backup() != "" {
			t.Errorf("a new run keeps the journal %q: %v", content, left)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if j, err = Open(path); err != nil {
			t.Fatalf("after %q: %v", content, err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCreateFails(t *testing.T) {
	dir := t.TempDir()
	id := journalIdentity(1)
	// Options that cannot be encoded are a failure that a test can cause on every machine.
	if j, err := Create(dir, id, started, json.RawMessage("{")); err == nil {
		_ = j.Close()
		t.Error("a journal without its first line was returned")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s was left behind", left[0].Name())
	}
}

func TestOneOwner(t *testing.T) {
	dir := t.TempDir()
	j := sampleJournal(t, dir)
	defer j.Close()
	if _, err := Open(j.Path()); !errors.Is(err, errBusy) {
		t.Errorf("opening it again: %v", err)
	}
	_, err := Create(dir, j.Identity(), started, nil)
	if !errors.Is(err, errBusy) ||
		!strings.Contains(err.Error(), "wait for it, or give another --output") {
		t.Errorf("a second run in the same folder: %v", err)
	}
	if data, err := os.ReadFile(j.Path()); err != nil || strings.Count(string(data), "\n") != 5 {
		t.Errorf("the owner's journal was changed: %v", err)
	}
}

// TestConcurrentOwners starts many runs at the same time in one folder.
func TestConcurrentOwners(t *testing.T) {
	id := journalIdentity(1)
	for range 20 {
		dir := t.TempDir()
		won := make(chan *Journal, 8)
		var g sync.WaitGroup
		for range cap(won) {
			g.Go(func() {
				if j, err := Create(dir, id, started, nil); err == nil {
					won <- j
				}
			})
		}
		awaittest.Wait(t, "the goroutines", g.Wait)
		close(won)
		if len(won) > 1 {
			t.Fatalf("%d runs own one journal", len(won))
		}
		for j := range won {
			mine, _ := j.file.Stat()
			there, err := os.Stat(j.Path())
			if err != nil || !os.SameFile(mine, there) {
				t.Fatal("the winner's journal was moved away")
			}
			_ = j.Close()
		}
	}
}

func TestCreateKeepsBackup(t *testing.T) {
	dir := t.TempDir()
	first := sampleJournal(t, dir)
	_ = first.Close()
	want, _ := os.ReadFile(first.Path())
	second := sampleJournal(t, dir)
	defer second.Close()
	kept, err := filepath.Glob(filepath.Join(dir, "go.[0-9][0-9][0-9][0-9][0-9][0-9].journal"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	if got, _ := os.ReadFile(kept[0]); string(got) != string(want) {
		t.Error("the backup has changed")
	}
	if second.Spent() != llm.USD(12) {
		t.Errorf("the new journal has spent %v", second.Spent())
	}
}

func TestRemove(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(j.Path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file still exists: %v", err)
	}
}

// answered returns the record of an answer that waits for its grade.
func answered(id string, line int) result.Record {
	return result.Record{
		ID: id, Question: "?", Line: line,
		Reply: result.Reply{Answer: "a", Attempts: 1, Citations: []json.RawMessage{}, Retrieved: []result.Chunk{}}, Outcome: result.Unscored,
	}
}

// journalIdentity returns the identity of a run of n questions.
func journalIdentity(n int) result.Identity {
	return result.Identity{
		SchemaVersion: result.SchemaVersion, SDK: "go", Scorer: "exact", Brain: "eval",
		Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
		Dataset: result.DatasetID{
			Path: "questions.jsonl", SHA256: strings.Repeat("ab", 32), Selected: n,
			Tags: map[string]int{},
		},
	}
}

var started = time.Date(2026, 3, 21, 10, 0, 0, 0, time.UTC)

// reopened closes a journal and opens its file again.
func reopened(t *testing.T, j *Journal) *Journal {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(j.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	return again
}

// TestReopened: a question that is tried again keeps its earlier record until there is another one,
// and what its verdict cost still counts.
func TestReopened(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	failed := answered("q2", 3)
	failed.Outcome, failed.Error = result.Errored, &result.Failure{Kind: result.KindTransport, Message: "reset"}
	unjudged := answered("q1", 2).Graded(scorer.Verdict{Unanswered: true, Cost: 11, Attempts: 2, Reason: "503"})
	add := func(entries ...Entry) {
		t.Helper()
		if err := j.Append(entries...); err != nil {
			t.Fatal(err)
		}
	}
	add(Entry{Kind: KindGrade, Index: 1, Record: &unjudged}, Entry{Kind: KindAnswer, Index: 2, Record: &failed}, Entry{Kind: KindFinished})
	if j.Outages() != 2 || !j.Complete() || j.Spent() != 23 {
		t.Fatalf("%d can be tried again, complete %v, spent %v", j.Outages(), j.Complete(), j.Spent())
	}
	again := unjudged.JudgeAgain()
	add(Entry{Kind: KindReopened, Index: 1, Record: &again}, Entry{Kind: KindReopened, Index: 2, Record: &failed})
	f := NewFollower(j.Path())
	if p, err := f.Read(); err != nil || p.Answered != 2 || p.Stopped || len(p.Failed) != 0 || p.Counts != (result.Counts{Total: 1, Passed: 1, Scored: 1}) {
		t.Errorf("followed: %+v, %v", p, err)
	}
	j = reopened(t, j)
	if got, want := []State{j.State(1), j.State(2)}, []State{{Answered: true}, {Reopened: true}}; !slices.Equal(got, want) || j.Spent() != 23 || j.Complete() || j.Outages() != 0 {
		t.Errorf("got %+v, spent %v, complete %v", got, j.Spent(), j.Complete())
	}
	var out bytes.Buffer
	if err := j.encode(&out, &result.Result{}); err != nil || !strings.Contains(out.String(), `"message":"reset"`) {
		t.Errorf("%v: the result lacks the earlier failure: %s", err, out.String())
	}
	done := answered("q2", 3).After(&failed).Graded(scorer.Verdict{Scored: true, Score: 1, Cost: 2})
	add(Entry{Kind: KindGrade, Index: 2, Record: &done}, Entry{Kind: KindStopped, Questions: []int{2}})
	if p, err := f.Read(); err != nil || p.Answered != 3 || !p.Stopped || p.Counts.Passed != 2 {
		t.Errorf("followed: %+v, %v", p, err)
	}
	if !j.State(2).Outage || j.State(1).Outage {
		t.Error("the questions of a stop cannot be tried again")
	}
}

// TestOwnQuestions: a resumed run knows the questions of evalctl's own that were asked before.
func TestOwnQuestions(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	want := []result.OwnQuestion{{Question: "What?", Requests: 2, Model: "m"}, {Question: "What?", Requests: 1}}
	for _, q := range want {
		if err := j.MarkOwn(q); err != nil {
			t.Fatal(err)
		}
	}
	again := reopened(t, j)
	if diff := cmp.Diff(want, again.OwnQuestions()); diff != "" || again.Finished() != 1 {
		t.Errorf("%s, %d finished", diff, again.Finished())
	}
}
