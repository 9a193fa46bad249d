package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/scorer"
)

// TestFollow reads a journal while its owner writes it.
func TestFollow(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	f := NewFollower(j.Path())
	want := func(what string, answered, passed, finished, failed int, stopped bool) {
		t.Helper()
		p, err := f.Read()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if p.Planned != 3 || !p.StartedAt.Equal(started) || p.Identity.SDK != j.Identity().SDK || p.ChangedAt.IsZero() ||
			p.Answered != answered || p.Counts.Passed != passed || p.Counts.Finished() != finished || len(p.Failed) != failed || p.Stopped != stopped {
			t.Errorf("%s: got %+v", what, p)
		}
	}
	add := func(e Entry) {
		t.Helper()
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	want("a passed one and one that waits", 2, 1, 1, 0, false)
	add(Entry{Kind: KindStopped})
	want("stopped", 2, 1, 1, 0, true)
	r := answered("q1", 1).Graded(scorer.Verdict{Scored: true, Reason: "another colour"})
	add(Entry{Kind: KindGrade, Index: 1, Record: &r})
	want("resumed, and one failed", 2, 1, 2, 1, false)
	add(Entry{Kind: KindGrade, Index: 1, Record: &r})
	want("a line that is there twice", 2, 1, 2, 1, false)
	line := `{"kind":"answer","index":2,"record":{"id":"q2","outcome":"error","error":{"kind":"timeout","message":"late"}}}`
	file, err := os.OpenFile(j.Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, part := range []string{line[:40], line[40:] + "\n"} {
		want("a line that is being written", 2, 1, 2, 1, false)
		if _, err := file.WriteString(part); err != nil {
			t.Fatal(err)
		}
	}
	want("an error", 3, 1, 3, 2, false)
	if p, _ := f.Read(); p.Failed[0].ID != "q2" || p.Failed[0].Error.Message != "late" || p.Failed[1].Reason != "another colour" {
		t.Errorf("the last failure is not first: %+v", p.Failed)
	}
	short := filetest.Read(t, j.Path())
	filetest.Write(t, j.Path(), short[:bytes.IndexByte(short, '\n')+1])
	want("cut to its first line", 0, 0, 0, 0, false)
	if err := j.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a finished run: %v", err)
	}
}

// TestFollowAnotherRun replaces the journal by that of a new run.
func TestFollowAnotherRun(t *testing.T) {
	dir := t.TempDir()
	j := sampleJournal(t, dir)
	f := NewFollower(j.Path())
	if p, err := f.Read(); err != nil || p.Answered != 2 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := Create(dir, journalIdentity(7), started, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if p, err := f.Read(); err != nil || p.Planned != 7 || p.Answered != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestFollowRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.journal")
	start := `{"kind":"run","identity":{"dataset":{"selected":2}}}` + "\n"
	for _, c := range []struct{ text, want string }{
		{"", "it contains no run yet"},
		{start[:20], "it contains no run yet"},
		{"{}\n", "byte 0: it is not the journal of a run"},
		{`{"kind":"run"}` + "\n", "the run has 0 questions"},
		{start + "x\n", "invalid character"},
		{start + `{"kind":"grade","index":2}` + "\n", "not a line of this run"},
		{start + `{"kind":"grade","index":-1}` + "\n", "not a line of this run"},
	} {
		filetest.Write(t, path, c.text)
		_, err := NewFollower(path).Read()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

// FuzzFollow checks that reading in two parts gives what reading at once gives.
func FuzzFollow(f *testing.F) {
	j := sampleJournal(f, f.TempDir())
	_ = j.Close()
	sample := filetest.Read(f, j.Path())
	f.Add(sample, 900)
	f.Add(sample[:len(sample)-20], 10)
	f.Add([]byte("{}\n"), 0)
	path := filepath.Join(f.TempDir(), "fuzz.journal")
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		at = max(0, min(at, len(data)))
		write := func(b []byte) {
			filetest.Write(t, path, b)
		}
		write(data[:at])
		parts := NewFollower(path)
		_, _ = parts.Read()
		write(data)
		a, errA := parts.Read()
		b, errB := NewFollower(path).Read()
		if (errA == nil) != (errB == nil) || a.Answered != b.Answered || a.Counts != b.Counts || len(a.Failed) != len(b.Failed) {
			t.Fatalf("in two parts %+v, %v; at once %+v, %v", a, errA, b, errB)
		}
		if errB == nil && (b.Answered > b.Planned || b.Counts.Finished() > b.Answered) {
			t.Fatalf("got %+v", b)
		}
	})
}
