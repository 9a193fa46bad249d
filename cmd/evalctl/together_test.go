package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStartTogether: two runs, or a run and a sweep, that start together in one
// folder both end well, one after the other, or one of them is refused because
// the other is going on. Neither reaches the other's daemon.
func TestStartTogether(t *testing.T) {
	dataset, err := filepath.Abs("../../datasets/smoke.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--sdk", "go", "--dataset", dataset, "--scorer", "exact"}
	sweep := []string{"sweep", "--sdk", "go", "--dataset", dataset, "--modes", "bm25", "--top-ks", "1"}
	// The delays are the moments of the first one's start that the second may meet.
	delays := []time.Duration{0, 10, 60}
	if !testing.Short() {
		delays = []time.Duration{0, 0, 10, 20, 30, 40, 60}
	}
	dir := t.TempDir()
	for _, delay := range delays {
		for _, second := range [][]string{run, sweep} {
			delay := delay * time.Millisecond
			one, two := starting(t, dir, run), starting(t, dir, second)
			begin(t, one)
			time.Sleep(delay) // the moment is the point; every outcome but two is right
			begin(t, two)
			codes := []int{ended(t, one), ended(t, two)}
			refused := slices.Index(codes, exitUsage)
			switch said := []string{stderr(one), stderr(two)}; {
			case codes[0] == exitDone && codes[1] == exitDone:
			case refused >= 0 && codes[1-refused] == exitDone && strings.Contains(said[refused], "another run is going on"):
			default:
				t.Fatalf("%s after %v: exit codes %v\n%s\n%s", second[0], delay, codes, said[0], said[1])
			}
		}
	}
}

// starting returns a command that runs evalctl, which TestMain puts on the path,
// in dir.
func starting(t *testing.T, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "evalctl", args...)
	cmd.Dir, cmd.Stderr = dir, new(bytes.Buffer)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SVC_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

func begin(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func stderr(cmd *exec.Cmd) string { return fmt.Sprint(cmd.Stderr) }
