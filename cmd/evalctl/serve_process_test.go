package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// serveProcess starts `evalctl serve` in a process of its own, with further settings as NAME=value,
// and returns its URL. The process is killed when the test ends.
func serveProcess(tb testing.TB, env []string, args ...string) (url string, cmd *exec.Cmd) {
	tb.Helper()
	cmd = exec.CommandContext(context.WithoutCancel(tb.Context()), "evalctl", append([]string{"serve", "--addr=127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	kill := func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
	tb.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "evalctl: listening on ")
	if !ok {
		kill()
		tb.Fatalf("serve printed %q, %v: %s", line, err, &stderr)
	}
	return url, cmd
}
