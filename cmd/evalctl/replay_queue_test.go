package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/postgres/postgrestest"
)

// queueRig is a queue with workers that are real processes.
type queueRig struct {
	t     *testing.T
	url   string
	env   []string
	files string
}

// worker starts a worker with a cache folder of its own.
func (r *queueRig) worker(n int) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), "evalctl", "worker", "--lease=2s", "--concurrency=3",
		"--cache-dir="+filepath.Join(r.files, fmt.Sprintf("cache%d", n)))
	cmd.Env = append(os.Environ(), "SVC_QUEUE="+r.url)
	cmd.Env = append(cmd.Env, r.env...)
	cmd.Dir, cmd.Stderr, cmd.Stdout = r.files, &stderr, &stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd, &stderr
}

// stop ends a worker as a service manager does, and returns what it printed.
func (r *queueRig) stop(cmd *exec.Cmd, stderr *bytes.Buffer) {
	r.t.Helper()
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		r.t.Errorf("worker: %v\n%s", err, stderr)
	}
}

// TestReplayQueue: two workers, each with a daemon of its own, make the result that one process
// makes, times aside.
func TestReplayQueue(t *testing.T) {
	url := postgrestest.New(t).Database()
	dataset := lanterns(t, 12)
	args := []string{"--sdk=go", "--baseline=oracle", "--dataset=" + dataset, "--output=out", "--cache=off"}
	whole := t.TempDir()
	if out, err := replayCommand(t, whole, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rig := &queueRig{t: t, url: url, files: t.TempDir()}
	for n := range 2 {
		cmd, stderr := rig.worker(n)
		defer rig.stop(cmd, stderr)
	}
	dir := t.TempDir()
	cmd := replayCommand(t, dir, args...)
	cmd.Env = append(cmd.Env, "SVC_QUEUE="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(outcome(t, whole), outcome(t, dir)); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(string(out), "no worker") {
		t.Errorf("got %s", out)
	}
}
