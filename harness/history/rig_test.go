package history_test

import (
	"path/filepath"
	"testing"
	"time"

	"evalctl/harness/history"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.CollectRarely()
	m.Run()
}

// made is a result with its questions, as a file has them.
type made struct{ *resulttest.File }

// day is the start of the first night.
var day = time.Date(2026, 9, 1, 3, 0, 4, 0, time.UTC)

// run returns a result that began a number of days after day. Its questions are + passed, - failed,
// e an error, ? unscored.
func run(sdk string, days int, outcomes string) *made {
	return &made{resulttest.New(sdk, day.AddDate(0, 0, days), outcomes)}
}

// stop ends the run after n questions.
func (m *made) stop(n int) *made {
	m.Questions, m.Stopped = m.Questions[:n], result.StopInterrupted
	m.Fill()
	return m
}

// replay makes the run an arm of a replay.
func (m *made) replay(arm string) *made {
	m.Replay = &result.Replay{SchemaVersion: 1, Arm: arm}
	return m
}

// put writes a file and returns its path.
func put(t testing.TB, text string, elements ...string) string {
	t.Helper()
	return filetest.Write(t, filepath.Join(elements...), text)
}

// read reads a folder.
func read(t testing.TB, root string) *history.Folder {
	t.Helper()
	f, err := history.Read(root, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// nights saves a run for each element and returns its only line.
func nights(t *testing.T, outcomes ...string) *history.Line {
	t.Helper()
	root := t.TempDir()
	for i, o := range outcomes {
		run("go", i, o).Save(t, root, day.AddDate(0, 0, i).Format(time.DateOnly), "go.json")
	}
	lines := history.Lines(read(t, root).Entries, 0)
	if len(lines) != 1 {
		t.Fatalf("got %d lines, want 1", len(lines))
	}
	return lines[0]
}
