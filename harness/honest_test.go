package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/internal/llm"
	"evalctl/scorer"
)

// TestDatasetChangedDuringTheRun: what is asked is what the sha256 stands for.
func TestDatasetChangedDuringTheRun(t *testing.T) {
	path := writeDataset(t, 6)
	d := survey(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for q, err := range d.Questions() {
		if n++; n == 3 {
			// The same length, in place: the reader sees the new text.
			changed := strings.Replace(string(data), "question 4", "question 9", 1)
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			break
		}
		if err != nil {
			t.Fatal(q, err)
		}
	}
	n = 0
	for _, err := range d.Questions() {
		n++
		if n == 4 {
			if err == nil || !strings.Contains(err.Error(), "changed during the run, at question 4") {
				t.Fatalf("question 4: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(n, err)
		}
	}
	t.Fatalf("only %d questions", n)
}

// TestSettleCountsWhatWasUnderWay: a killed run leaves an answer whose judging
// may have been charged; a run that stopped in order does not.
func TestSettleCountsWhatWasUnderWay(t *testing.T) {
	d := survey(t, writeDataset(t, 3))
	journal := func(kinds ...string) *Journal {
		j, err := CreateJournal(t.TempDir(), identityOf(d), started, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = j.Close() })
		r := newRecord(Question{ID: "q1", Question: "question 1"}, Answer{Text: "a"}, nil)
		for _, kind := range kinds {
			e := Entry{Kind: kind}
			if kind == kindSeeded {
				e.Brain = "eval"
			}
			if kind == kindAnswer || kind == kindGrade {
				e.Record = &r
			}
			if kind == kindSpent {
				e.USD = 2
			}
			if err := j.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		path := j.Path()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if j, err = OpenJournal(path); err != nil {
			t.Fatal(err)
		}
		return j
	}
	worst := func(scorer.Item) llm.USD { return 100 }
	for name, tt := range map[string]struct {
		kinds []string
		spent llm.USD
	}{
		"killed while judging":         {[]string{kindAnswer}, 100},
		"graded":                       {[]string{kindAnswer, kindGrade}, 0},
		"failed judging was counted":   {[]string{kindAnswer, kindSpent}, 2},
		"stopped in order":             {[]string{kindAnswer, kindStopped}, 0},
		"nothing asked":                {nil, 0},
		"stopped, resumed, not judged": {[]string{kindAnswer, kindStopped, kindSeeded}, 0},
	} {
		j := journal(tt.kinds...)
		if err := j.ChargeInFlight(worst); err != nil {
			t.Fatal(err)
		}
		if j.Spent() != tt.spent {
			t.Errorf("%s: %v spent, want %v", name, j.Spent(), tt.spent)
		}
		if err := j.ChargeInFlight(worst); err != nil || j.Spent() != tt.spent {
			t.Errorf("%s: settled twice: %v, %v", name, j.Spent(), err)
		}
		if want := len(tt.kinds) == 3; j.Seeded("eval") != want {
			t.Errorf("%s: seeded %v", name, j.Seeded("eval"))
		}
	}
}

// TestEndpointThatDies: a daemon that was not started here can die too.
func TestEndpointThatDies(t *testing.T) {
	s := daemontest.Answering(t)
	const many = 20_000 // more than are answered before the second is counted
	d := survey(t, writeDataset(t, many))
	cfg := setUp(t, s, d, t.TempDir())
	cfg.Concurrency = 1
	n := 0
	cfg.Recorded = func(Record) {
		if n++; n == 2 {
			s.Listener.Close()
			s.CloseClientConnections()
		}
	}
	res, _, err := cfg.run(t.Context())
	if !errors.Is(err, ErrDaemonDied) {
		t.Fatalf("got %v", err)
	}
	if res.Stopped != StopDaemon || res.Counts.Errors != 0 || res.Passed != res.Total || res.Total == many {
		t.Errorf("got %+v", res.Counts)
	}
}

// TestDiscardPutsTheEarlierJournalBack: a start that fails leaves no trace.
func TestDiscardPutsTheEarlierJournalBack(t *testing.T) {
	d, dir := survey(t, writeDataset(t, 1)), t.TempDir()
	first, err := CreateJournal(dir, identityOf(d), started, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(first.MarkSeeded("eval"), first.Close()); err != nil {
		t.Fatal(err)
	}
	second, err := CreateJournal(dir, identityOf(d), started, nil)
	if err != nil || second.Backup() == "" {
		t.Fatal(second, err)
	}
	if err := second.Discard(); err != nil {
		t.Fatal(err)
	}
	back, err := OpenJournal(first.Path())
	if err != nil || !back.Seeded("eval") {
		t.Fatal(back, err)
	}
	if err := back.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.Path()); err == nil {
		t.Error("the journal is still there")
	}
}

// TestClaimDisturbsNobody: a run that is going on keeps its folder, from its
// first moment to its last.
func TestClaimDisturbsNobody(t *testing.T) {
	dir := t.TempDir()
	release, err := Claim(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(dir, "go"); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "another --output") {
		t.Errorf("got %v", err)
	}
	other, err := Claim(dir, "py")
	if err != nil {
		t.Fatalf("another SDK: %v", err)
	}
	other()
	release()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	again, err := Claim(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestClaimHasOneHolder: releases take the lock's file away, and nobody holds
// one that is gone.
func TestClaimHasOneHolder(t *testing.T) {
	dir := t.TempDir()
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for held := 0; held < 200; {
				release, err := Claim(dir, "go")
				if errors.Is(err, ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d holders", n)
				}
				if _, err := os.Stat(filepath.Join(dir, "go.lock")); err != nil {
					t.Errorf("the holder of nothing: %v", err)
				}
				held++
				holders.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
}

// TestDaemonLogKeepsTheEarlier: each run has a log of its own.
func TestDaemonLogKeepsTheEarlier(t *testing.T) {
	dir := t.TempDir()
	log, err := DaemonLog(dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, log, "of the first run")
	if again, err := DaemonLog(dir, "go"); err != nil || again != log {
		t.Error(again, err)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "go.daemon.*.log"))
	if err != nil || len(kept) != 1 {
		t.Fatal(kept, err)
	}
	if data, err := os.ReadFile(kept[0]); err != nil || string(data) != "of the first run" {
		t.Errorf("the log holds %q, %v", data, err)
	}
}
