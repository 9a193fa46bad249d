package history_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/harness/history"
	"evalctl/harness/result"
)

// shown returns a line for each entry, with paths below root.
func shown(root string, f *history.Folder) []string {
	var out []string
	for _, e := range f.Entries {
		out = append(out, fmt.Sprintf("%s %s %s %d/%d %d", e.Kind, e.Name, strings.TrimPrefix(e.Path, root+"/"), e.Passed, e.Total, len(e.Copies)))
	}
	return out
}

// TestRead has a file of each kind in each place.
func TestRead(t *testing.T) {
	root := t.TempDir()
	run("go", 0, "++-").Save(t, root, "2026-09-01", "go.json")
	later := run("go", 0, "+--")
	later.StartedAt = later.StartedAt.Add(-time.Hour)
	later.Save(t, root, "2026-09-01", "go.020004.json")
	run("py", 2, "+").Save(t, root, "py.json")
	run("go", 1, "++").replay("ts").Save(t, root, "2026-09-02", "replay-030004", "ts.json")
	run("go", 1, "++").Save(t, root, "2026-09-02", "replay-030004", "too", "deep.json")
	put(t, `{"schema_version":1,"sdk":"go","started_at":"2026-09-02T01:00:00Z","finished_at":"2026-09-02T01:01:00Z","stopped":"","planned":2,"warm_up":0,"cells":[]}`,
		root, "2026-09-02", "go.sweep.json")
	conformance := put(t, `{"endpoint":"http://x","started_at":"2026-09-02T01:00:00Z","results":[{"id":"brains-get-200","own":true,"verdict":"kept"}]}`, root, "2026-09-02", "conformance.json")
	list := put(t, `[1]`, root, "2026-09-02", "list.json")
	settings := put(t, `{"a": {"cells": 1}}`, root, "2026-09-02", "settings.json")
	half := put(t, `{"sdk": "go", "questions": [`, root, "2026-09-02", "half.json")
	text := put(t, `hello`, root, "2026-09-02", "text.json")
	put(t, `{`, root, "2026-09-02", ".go.json.123")
	put(t, `{`, root, ".git", "x.json")
	put(t, `{`, root, "2026-09-02", "notes.txt")
	journal := put(t, `{}`, root, "2026-09-02", "go.journal")
	if err := os.Mkdir(filepath.Join(root, "folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}

	f := read(t, root)
	want := []string{
		"run py py.json 1/1 0",
		"replay ts 2026-09-02/replay-030004/ts.json 2/2 0",
		"sweep go 2026-09-02/go.sweep.json 0/0 0",
		"run go 2026-09-01/go.json 2/3 0",
		"run go 2026-09-01/go.020004.json 1/3 0",
	}
	if diff := cmp.Diff(want, shown(root, f)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{conformance}, f.Conformance); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{list, settings}, f.Others); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{journal}, f.Journals); diff != "" {
		t.Error(diff)
	}
	var unread []string
	for _, u := range f.Unreadable {
		unread = append(unread, u.Path)
		if !strings.Contains(u.Reason, u.Path) {
			t.Errorf("the reason does not name %s: %s", u.Path, u.Reason)
		}
	}
	if diff := cmp.Diff([]string{half, text}, unread); diff != "" {
		t.Error(diff)
	}
}

// TestReadCountsARunOnce has copies, links and earlier parts of runs.
func TestReadCountsARunOnce(t *testing.T) {
	root := t.TempDir()
	whole := run("go", 0, "++-+")
	whole.Save(t, root, "2026-09-01", "go.json")
	part := run("go", 0, "++-+").stop(2)
	part.FinishedAt = part.StartedAt.Add(time.Second)
	part.Save(t, root, "2026-09-01", "go.030005.json")
	whole.Save(t, root, "kept", "copy.json")
	for _, link := range [][2]string{{"2026-09-01/go.json", "a-latest.json"}, {"2026-09-01", "today"}, {".", "self"}, {"none.json", "broken.json"}} {
		if err := os.Symlink(link[0], filepath.Join(root, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	again := run("go", 0, "++-+")
	again.ScorerName, again.Identity.Scorer = "judge", "judge"
	again.Save(t, root, "2026-09-01", "go.rescored.json")

	f := read(t, root)
	want := []string{"run go 2026-09-01/go.json 3/4 2", "run go 2026-09-01/go.rescored.json 3/4 0"}
	if diff := cmp.Diff(want, shown(root, f)); diff != "" {
		t.Error(diff)
	}
	elsewhere := filepath.Join(t.TempDir(), "results")
	if err := os.Symlink(root, elsewhere); err != nil {
		t.Fatal(err)
	}
	if got := read(t, elsewhere).Entries; len(got) != 2 {
		t.Errorf("a root that is a link has %d entries", len(got))
	}
}

// TestReadHardLinks has the two names of a run, and a copy of both of them in another folder.
func TestReadHardLinks(t *testing.T) {
	root := t.TempDir()
	const own = "go-20260901T030005Z-abcdef.json"
	first := run("go", 0, "++-+").Save(t, root, "2026-09-01", own)
	if err := os.Link(first, filepath.Join(root, "2026-09-01", "go.json")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{own, "go.json"} {
		run("go", 0, "++-+").Save(t, root, "kept", name)
	}
	f := read(t, root)
	if diff := cmp.Diff([]string{"run go 2026-09-01/" + own + " 3/4 3"}, shown(root, f)); diff != "" {
		t.Error(diff)
	}
	in := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	want := []string{in("2026-09-01", "go.json"), in("kept", own), in("kept", "go.json")}
	if len(f.Entries) == 0 || !slices.Equal(f.Entries[0].Copies, want) {
		t.Errorf("got %+v, want the copies %v", f.Entries, want)
	}
	lines := history.Lines(f.Entries, 0)
	if len(lines) != 1 || len(lines[0].Nights) != 1 || lines[0].Nights[0].Others != 0 {
		t.Errorf("the trend counts the run more than once: %+v", lines[0].Nights)
	}
}

func TestReadSince(t *testing.T) {
	root := t.TempDir()
	for i := range 5 {
		run("go", i, "+").Save(t, root, day.AddDate(0, 0, i).Format(time.DateOnly), "go.json")
	}
	run("go", 0, "++").Save(t, root, "kept", "go.json")
	f, err := history.Read(root, day.AddDate(0, 0, 3))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"run go 2026-09-05/go.json 1/1 0", "run go 2026-09-04/go.json 1/1 0", "run go kept/go.json 2/2 0"}
	if diff := cmp.Diff(want, shown(root, f)); diff != "" {
		t.Error(diff)
	}
}

func TestReadOfAFolderThatIsMissing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "none")
	if _, err := history.Read(root, time.Time{}); err == nil || !strings.Contains(err.Error(), root) {
		t.Errorf("got %v", err)
	}
	f := read(t, t.TempDir())
	if len(f.Entries)+len(f.Others)+len(f.Unreadable) != 0 {
		t.Errorf("an empty folder: %+v", f)
	}
}

// TestReaderReadsWhatChanged changes, adds and removes files between two readings.
func TestReaderReadsWhatChanged(t *testing.T) {
	root := t.TempDir()
	path := run("go", 0, "+-").Save(t, root, "go.json")
	kept := run("ts", 0, "+-").Save(t, root, "ts.json")
	gone := run("py", 0, "+-").Save(t, root, "py.json")
	r := history.NewReader(root)
	first, err := r.Read(time.Time{})
	if err != nil || len(first.Entries) != 3 {
		t.Fatalf("got %+v, %v", first, err)
	}
	run("go", 0, "++").Save(t, root, "go.json")
	if err := os.Chtimes(path, day, day); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	run("new", 9, "+").Save(t, root, "new.json")
	second, err := r.Read(time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"run new new.json 1/1 0", "run go go.json 2/2 0", "run ts ts.json 1/2 0"}
	if diff := cmp.Diff(want, shown(root, second)); diff != "" {
		t.Error(diff)
	}
	for _, e := range first.Entries {
		if e.Path == kept && e.Result != second.Entries[2].Result {
			t.Error("a file that has not changed was read again")
		}
	}
}

// TestEntryOfAPart checks what a list says about a selection, a cost and a stop.
func TestEntryOfAPart(t *testing.T) {
	root := t.TempDir()
	m := run("go", 0, "+-++").stop(3)
	m.Identity.Dataset.Selection = &result.Selection{Tags: []string{"temporal"}, SHA256: "ab", Total: 50}
	m.Cost.SpentUSD = 1234
	m.Save(t, root, "go.json")
	e := read(t, root).Entries[0]
	if e.Selection != "4 of 50 questions (tags temporal)" || e.SpentUSD != 1234 || e.Stopped != result.StopInterrupted ||
		e.Verdict != result.Inconclusive || e.Scored() || e.Planned != 4 || e.Date() != "2026-09-01" {
		t.Errorf("got %+v", e)
	}
}

// FuzzRead checks that any text in a folder is an entry, another file, or named as unreadable.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"", "{", "[]", `{"cells":[]}`, `{"cells":[],"started_at":"2026-09-02T01:00:00Z"}`,
		`{"results":[],"endpoint":""}`, `{"questions":[]}`, `{"identity":{"schema_version":9}}`, `null`, "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "x.json"), []byte(text), fs.FileMode(0o644)); err != nil {
			t.Fatal(err)
		}
		got := read(t, root)
		if n := len(got.Entries) + len(got.Others) + len(got.Conformance) + len(got.Unreadable); n != 1 {
			t.Fatalf("%q is %d things: %+v", text, n, got)
		}
		history.Lines(got.Entries, 0)
	})
}
