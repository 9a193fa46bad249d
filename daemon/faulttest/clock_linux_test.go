package faulttest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"evalctl/internal/longtest"
	"evalctl/internal/programtest"
)

// clockVariable is by how many seconds the clock of a program is wrong that was built by buildLate.
const clockVariable = "EVALCTL_TEST_CLOCK"

// setClock has the site run a program whose clock can be wrong. Every package is compiled again for
// it, which takes minutes: only the long test does.
func setClock(t *testing.T, s *site) {
	t.Helper()
	if !longtest.On() {
		return
	}
	path, err := lateProgram()
	if err != nil {
		t.Fatalf("build evalctl with another clock: %v", err)
	}
	s.daemon.kill()
	s.daemon.path = path
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// moveClock sets the clock of the next daemon, an hour forth or back or right. What the last one has
// written gets the time that its clock had. In every second round, all files then move by an hour
// against the clock, as after a restore.
func moveClock(s *site, round int) error {
	wrong := s.clock
	err := s.touch(func(modified time.Time) time.Time {
		if modified.Before(s.begun) {
			return modified
		}
		return modified.Add(wrong)
	})
	if err != nil {
		return err
	}
	if round%2 == 1 || !longtest.On() {
		by := []time.Duration{time.Hour, -time.Hour}[round/2%2]
		if err := s.touch(func(modified time.Time) time.Time { return modified.Add(by) }); err != nil {
			return err
		}
	}
	if longtest.On() {
		s.clock = []time.Duration{time.Hour, -time.Hour, 0}[round%3]
	}
	s.daemon.env = []string{fmt.Sprintf("%s=%d", clockVariable, int(s.clock.Seconds()))}
	return nil
}

// touch changes the times of all files.
func (s *site) touch(moved func(time.Time) time.Time) error {
	return filepath.WalkDir(s.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		when := moved(info.ModTime())
		return os.Chtimes(path, when, when)
	})
}

// rightClock is the line of package time that reads the clock, and lateClock what replaces it.
const (
	rightClock = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	lateClock  = "\tsec, nsec, mono := runtimeNow()\n\tsec += late\n\tif mono == 0 {"
	lateBy     = `
var late = func() int64 {
	text, _ := syscall.Getenv("` + clockVariable + `")
	by, _ := atoi(text)
	return int64(by)
}()
`
)

// lateProgram is evalctl with such a clock, built once for all tests.
var lateProgram = sync.OnceValues(func() (string, error) { return buildLate(built) })

// buildLate builds evalctl with a clock that the environment sets wrong.
func buildLate(dir string) (path string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if strings.Count(string(source), rightClock) != 1 {
		return "", fmt.Errorf("%s reads the clock in another way than the test knows", original)
	}
	text := strings.Replace(string(source), rightClock, lateClock, 1)
	text = strings.Replace(text, "import (\n", "import (\n\t\"syscall\"\n", 1) + lateBy
	replaced := filepath.Join(dir, "time.go")
	if err := os.WriteFile(replaced, []byte(text), 0o600); err != nil {
		return "", err
	}
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{original: replaced}}) // texts: cannot fail
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "evalctl-late")
	return path, programtest.Build(path, "-overlay", file)
}
