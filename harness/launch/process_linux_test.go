package launch

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// A dead process stays in its group until it is collected, and takes signals.
func TestGroupMembersSkipsTheDead(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	cmd.SysProcAttr = groupLeader()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	eventually(t, "zombie", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		return err == nil && bytes.Contains(stat, []byte(") Z "))
	})
	if err := signalGroup(cmd.Process.Pid, 0); err != nil {
		t.Fatalf("the group is gone already: %v", err)
	}
	if got := groupMembers(cmd.Process.Pid); len(got) > 0 {
		t.Errorf("members %v, want none", got)
	}
}

func TestForeignListener(t *testing.T) {
	t.Parallel()
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = groupLeader()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("no listener on %s: %v", address, err)
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if foreignListener(syscall.Getpgrp(), port) {
			t.Errorf("%s: the group's own listener is called foreign", address)
		}
		if !foreignListener(other.Process.Pid, port) {
			t.Errorf("%s: a listener of another group goes unnoticed", address)
		}
		l.Close()
		if foreignListener(other.Process.Pid, port) {
			t.Errorf("%s: nobody listens, yet it is foreign", address)
		}
	}
}
