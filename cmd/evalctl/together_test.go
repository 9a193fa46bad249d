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

	"evalctl/internal/longtest"
)

// TestStartTogether starts two runs, or a run and a sweep, in one folder at the same time. Either
// both succeed, one after the other, or one is rejected because the other is running. Neither
// reaches the daemon of the other.
func TestStartTogether(t *testing.T) {
	t.Parallel()
	dataset, err := filepath.Abs("../../datasets/smoke.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--sdk", "go", "--dataset", dataset, "--scorer", "exact"}
	sweep := []string{"run", "sweep", "--sdk", "go", "--dataset", dataset, "--mode", "bm25", "--top-k", "1"}
	// The second command starts at different moments of the first one's start.
	delays := []time.Duration{0, 10, 60}
	if longtest.On() {
		delays = []time.Duration{0, 0, 10, 20, 30, 40, 60}
	}
	dir := t.TempDir()
	for _, delay := range delays {
		for _, second := range [][]string{run, sweep} {
			delay := delay * time.Millisecond
			one, two := command(t, dir, run), command(t, dir, second)
			start(t, one)
			time.Sleep(delay) // varies the overlap; the outcome must be valid for any delay
			start(t, two)
			codes := []int{wait(t, one), wait(t, two)}
			rejected := slices.Index(codes, exitUsage)
			switch errs := []string{stderr(one), stderr(two)}; {
			case codes[0] == exitDone && codes[1] == exitDone:
			case rejected >= 0 && codes[1-rejected] == exitDone && strings.Contains(errs[rejected], "another run is in progress"):
			default:
				t.Fatalf("%s after %v: exit codes %v\n%s\n%s", second[0], delay, codes, errs[0], errs[1])
			}
		}
	}
}

// command returns an evalctl command with working directory dir. TestMain puts evalctl on the PATH.
func command(t *testing.T, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "evalctl", args...)
	cmd.Dir, cmd.Stderr = dir, new(bytes.Buffer)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SVC_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// wait returns the exit code.
func wait(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func stderr(cmd *exec.Cmd) string { return fmt.Sprint(cmd.Stderr) }
