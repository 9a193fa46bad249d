package replay

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/harness/journal"
	"evalctl/harness/result"
	"evalctl/internal/llm"
	"evalctl/replay/queue"
)

// TestMissing: what a verdict has cost that was replaced is in the journal once its question is
// collected, wherever the run is continued, and a record that came too late for the process that
// waited for it is collected.
func TestMissing(t *testing.T) {
	try := func(n int, usd llm.USD) result.Record {
		r := result.Record{ID: "a", Outcome: result.Unscored, JudgeUnanswered: true, Reason: "503", JudgeUSD: usd, JudgeAttempts: 1}
		for range n - 1 {
			r = r.After(&r)
		}
		return r
	}
	failed := result.Record{ID: "a", Outcome: result.Errored, Error: &result.Failure{Kind: result.KindStatus, Status: 400}}
	scored := try(2, 9)
	scored.Outcome, scored.JudgeUnanswered, scored.Score, scored.Passed = result.Scored, false, new(1.0), true
	for name, tt := range map[string]struct {
		known           []result.Record // what the journal has
		earlier, newest *result.Record
		want            journal.State
		replaced        llm.USD // by reopening the question
	}{
		"elsewhere, tried again":     {nil, new(try(1, 5)), nil, journal.State{Answered: true, Finished: true, Outage: true}, 0},
		"elsewhere, systematic":      {nil, &failed, nil, journal.State{Answered: true, Finished: true, Outage: true}, 0},
		"elsewhere, answered":        {nil, new(try(1, 5)), &scored, journal.State{Answered: true}, 5},
		"here, tried again":          {[]result.Record{try(1, 5)}, new(try(1, 5)), nil, journal.State{Answered: true, Finished: true, Outage: true}, 0},
		"here, answered":             {[]result.Record{try(1, 5)}, new(try(1, 5)), &scored, journal.State{Answered: true}, 5},
		"here, collected":            {[]result.Record{scored}, new(try(1, 5)), &scored, journal.State{Answered: true, Finished: true}, 0},
		"here, two tries":            {[]result.Record{try(1, 5)}, new(try(2, 7)), new(try(3, 1)), journal.State{Answered: true}, 12},
		"here, two tries, one to go": {[]result.Record{try(1, 5)}, new(try(2, 7)), nil, journal.State{Answered: true, Finished: true, Outage: true}, 5},
	} {
		id := result.Identity{SchemaVersion: result.SchemaVersion, SDK: "go", Dataset: result.DatasetID{Selected: 1}}
		j, err := journal.Create(t.TempDir(), id, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tt.known {
			if err := j.Append(journal.Entry{Kind: journal.KindGrade, Record: &r}); err != nil {
				t.Fatal(err)
			}
		}
		entries, err := missing(j, 0, queue.Retried{Earlier: encoded(t, tt.earlier), Record: encoded(t, tt.newest)})
		if err == nil {
			err = j.Append(entries...)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		path := j.Path()
		_ = j.Close()
		if j, err = journal.Open(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var usd llm.USD
		for _, c := range j.Unassigned() {
			usd += c.USD
		}
		if got := j.State(0); got != tt.want || usd != tt.replaced {
			t.Errorf("%s: %+v, %d replaced", name, got, usd)
		}
		again := unawaited(j, 1, true)
		if awaited := !tt.want.Finished || tt.want.Outage; slices.Contains(again, 0) == awaited {
			t.Errorf("%s: with --retry-errors nobody waits for %v", name, again)
		}
		if without := unawaited(j, 1, false); slices.Contains(without, 0) != tt.want.Finished {
			t.Errorf("%s: nobody waits for %v", name, without)
		}
		_ = j.Close()
	}
}

func encoded(t *testing.T, r *result.Record) []byte {
	t.Helper()
	if r == nil {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFilesOfNewReplay: a replay begins when its folder says, however long it takes to begin it. A
// run on a queue is resumed in the folder of its start.
func TestFilesOfNewReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Plan{}
		p.Arms = []Arm{{Name: "go"}, {Name: "ts"}}
		f, err := p.Files(t.Context(), nil, "", "", "root")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if again := defaultFiles("root", p.Arms, f.start()); again.Dir != f.Dir || filepath.Dir(filepath.Dir(f.Dir)) != "root" {
			t.Errorf("in %s, resumed in %s", f.Dir, again.Dir)
		}
		if got := (Files{Dir: "out"}).start(); !got.Equal(time.Now()) {
			t.Errorf("a replay elsewhere begins at %v", got)
		}
	})
}
