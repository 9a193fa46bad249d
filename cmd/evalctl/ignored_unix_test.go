//go:build unix

package main

import (
	"bufio"
	"context"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/awaittest"
)

// TestIgnoredSignals: a signal that was ignored when the program was started stays ignored, and the
// others end it.
func TestIgnoredSignals(t *testing.T) {
	t.Parallel()
	for ignored, ends := range map[string][]syscall.Signal{
		"HUP INT": {syscall.SIGTERM}, "HUP": {syscall.SIGTERM, syscall.SIGINT}, "INT": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		for _, end := range ends {
			t.Run(ignored+", then "+end.String(), func(t *testing.T) {
				t.Parallel()
				cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-c",
					`trap "" `+ignored+`; exec evalctl serve --addr 127.0.0.1:0 --store memory`)
				stdout, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = cmd.Process.Kill() }() // it may have ended
				line, err := bufio.NewReader(stdout).ReadString('\n')
				url, ok := strings.CutPrefix(strings.TrimSpace(line), "evalctl: listening on ")
				if err != nil || !ok {
					t.Fatalf("serve printed %q, %v", line, err)
				}
				for name, signal := range map[string]syscall.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT} {
					if !strings.Contains(ignored, name) {
						continue
					}
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
				for range 3 { // a signal that is not ignored ends the listener at once
					res, err := http.Get(url + "/healthz")
					if err != nil {
						t.Fatalf("%s ended the daemon: %v", ignored, err)
					}
					res.Body.Close()
				}
				if err := cmd.Process.Signal(end); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				if err := awaittest.Receive(t, "the end after "+end.String(), ended); err != nil {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}

// TestSecondSignal: a further signal ends a process that the first one makes wait.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sent.String(), func(t *testing.T) {
			t.Parallel()
			_, cmd := serveProcess(t, nil, "--store=memory", "--drain-delay=1h")
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			awaittest.Until(t, "the end after "+sent.String(), func() bool {
				return cmd.Process.Signal(sent) != nil // it has ended
			})
			<-ended
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != sent {
				t.Errorf("ended with %v", cmd.ProcessState)
			}
		})
	}
}
