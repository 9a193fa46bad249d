package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/internal/atomicfile"
	"evalctl/internal/filetest"
)

func writing(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// files returns the texts of the files in a folder, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		data := filetest.Read(t, filepath.Join(dir, e.Name()))
		out[e.Name()] = string(data)
	}
	return out
}

// TestOutputKeepsForeignFiles checks that a <name>.json that has no name of its own is kept, and
// that one which has it is not kept again, also as a copy.
func TestOutputKeepsForeignFiles(t *testing.T) {
	at := time.Date(2026, 3, 21, 22, 5, 9, 0, time.UTC)
	for _, c := range []struct {
		name string
		have map[string]string
		kept []string
	}{
		{"nothing", nil, nil},
		{"of an older evalctl", map[string]string{"go.json": "old"}, []string{"go.220509.json"}},
		{"of another run", map[string]string{"go.json": "old", "go-20260321T010203Z-abcdef.json": "old"}, nil},
		{"of another name", map[string]string{"go.json": "old", "go.x-20260321T010203Z-abcdef.json": "old"}, []string{"go.220509.json"}},
		{"of the same size", map[string]string{"go.json": "old", "go-20260321T010203Z-abcdef.json": "odd"}, []string{"go.220509.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.have {
				filetest.Write(t, filepath.Join(dir, name), text)
				if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
					t.Fatal(err)
				}
			}
			out := NewOutput(dir, "go", at)
			for _, text := range []string{"new", "newer"} {
				if err := out.Write(writing(text)); err != nil {
					t.Fatal(err)
				}
			}
			got := files(t, dir)
			if got["go.json"] != "newer" || got[filepath.Base(out.Own())] != "newer" {
				t.Errorf("got %v", got)
			}
			for name, text := range c.have {
				if name != "go.json" && got[name] != text {
					t.Errorf("%s has changed to %q", name, got[name])
				}
			}
			var kept []string
			for name := range got {
				if strings.HasPrefix(name, "go.2") {
					kept = append(kept, name)
				}
			}
			if !slices.Equal(kept, c.kept) || len(kept) > 0 && got[kept[0]] != "old" {
				t.Errorf("kept %v of %v, want %v", kept, got, c.kept)
			}
		})
	}
}

// TestOutputSurvivesFailures checks that both names keep the complete file when the next one cannot
// be written.
func TestOutputSurvivesFailures(t *testing.T) {
	dir := t.TempDir()
	first := NewOutput(dir, "go", time.Now())
	if err := first.Write(writing("first")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	half := func(w io.Writer) error {
		_, _ = io.WriteString(w, "hal")
		return full
	}
	want := files(t, dir)
	for _, out := range []Output{first, NewOutput(dir, "go", time.Now())} {
		if err := out.Write(half); !errors.Is(err, full) {
			t.Error(err)
		}
		if got := files(t, dir); len(got) != len(want) || got["go.json"] != "first" {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	const old, own = "go-20260321T010203Z-abcdef.json", "go-20260321T010203Z-000000.json"
	filetest.Write(t, in(old), "old")
	filetest.Write(t, in(own), "new")
	filetest.Write(t, in("go.json"), "new")
	filetest.Write(t, in("alone.json"), "alone")
	for path, want := range map[string][2]string{
		old: {old, ""}, own: {own, "go.json"}, "go.json": {own, "go.json"}, "alone.json": {"alone.json", ""},
		"missing.json": {"missing.json", ""},
	} {
		wantLatest := ""
		if want[1] != "" {
			wantLatest = in(want[1])
		}
		if o, latest := Names(in(path)); o != in(want[0]) || latest != wantLatest {
			t.Errorf("%s: got %s and %s", path, o, latest)
		}
	}
}

// TestJournalNamesOnlyItsOwnFile checks that a damaged journal cannot name another file.
func TestJournalNamesOnlyItsOwnFile(t *testing.T) {
	dir := t.TempDir()
	j := sampleJournal(t, dir)
	_ = j.Close()
	data := filetest.Read(t, j.Path())
	own, _, _ := strings.Cut(string(data[strings.Index(string(data), `"file":"`)+len(`"file":"`):]), `"`)
	for _, name := range []string{"../go-20260321T010203Z-abcdef.json", "go.json", "other-20260321T010203Z-abcdef.json"} {
		filetest.Write(t, j.Path(), strings.Replace(string(data), own, name, 1))
		if j, err := Open(j.Path()); err == nil || !strings.Contains(err.Error(), "is not the name of a result file") {
			t.Errorf("%s: %v", name, err)
			_ = j.Close()
		}
	}
}

// TestOutputIsAlwaysComplete reads the latest file while runs write it.
func TestOutputIsAlwaysComplete(t *testing.T) {
	dir := t.TempDir()
	out := NewOutput(dir, "go", time.Now())
	text := strings.Repeat("x", 1<<20)
	if err := out.Write(writing(text)); err != nil {
		t.Fatal(err)
	}
	latest := out.Latest() // of every output of the SDK
	done := make(chan struct{})
	var reader sync.WaitGroup
	defer reader.Wait()
	defer close(done)
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if data, err := os.ReadFile(latest); err != nil || len(data) != len(text) {
				t.Errorf("got %d bytes, %v", len(data), err)
				return
			}
		}
	})
	for i := range 20 {
		if i%4 == 0 { // as an older evalctl does
			if err := atomicfile.Write(latest, 0o600, writing(strings.Repeat("y", len(text)))); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			out = NewOutput(dir, "go", time.Now())
		}
		if err := out.Write(writing(text)); err != nil {
			t.Fatal(err)
		}
	}
}
