//go:build linux

package storetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"evalctl/daemon/store"
)

// Faults makes system calls of a commit fail one after the other, or kills the process there. It
// uses strace, and covers all calls but reads and closes.
type Faults struct {
	// Env is an environment variable. If it is set, the TestMain of the test binary must open the
	// store in the directory that it names, and call CommitUnderFaults.
	Env string
	Dir string
	// All tries every system call instead of a random selection.
	All  bool
	Open func(t *testing.T) *store.Store
}

const (
	faultsCommit = "write d/b 2; delete d/e/c; write n/e/w 2; delete solo/x; write solo 2; write a 2; " +
		"delete deep/er/y; write b 2"
	faultsCalls = "openat,mkdirat,renameat,unlinkat,newfstatat,fstat,utimensat,getdents64," +
		"write,pwrite64,ftruncate,fsync,fdatasync,syncfs"
)

// faultsReport is the report of the committing process after the fault injection has ended.
type faultsReport struct {
	Contents map[string]string
	ReadOnly bool
}

// CommitUnderFaults writes its thread id to out and waits for a byte from in. Then it makes the
// commit and reports the result. It returns an exit code.
func CommitUnderFaults(s *store.Store, in io.ByteReader, out, errs io.Writer) int {
	ctx := context.Background()
	runtime.LockOSThread() // strace attaches to one thread
	fmt.Fprintln(out, unix.Gettid())
	_, err := in.ReadByte()
	if err == nil {
		err = s.Apply(ctx, store.Commit{Reason: "with faults", Ops: parseOps(faultsCommit)})
	}
	// With a system call that no fault is injected into.
	_, _ = unix.Writev(1, [][]byte{fmt.Appendf(nil, "%q\n", fmt.Sprint(err))})
	_, _ = in.ReadByte()
	report := faultsReport{Contents: map[string]string{}}
	files, err := s.List(ctx, "", store.ListOptions{Recursive: true})
	for _, f := range files {
		data, _ := s.Read(ctx, f.Path)
		report.Contents[f.Path] = string(data)
	}
	writeErr := s.Write(ctx, "canary", nil)
	if report.ReadOnly = store.IsReadOnly(writeErr); !report.ReadOnly {
		err = errors.Join(err, writeErr, s.Delete(ctx, "canary"))
	}
	if err := errors.Join(err, json.NewEncoder(out).Encode(report), s.Close()); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// Run makes a commit for each call and each kind of fault. A commit that returns an error must
// have changed nothing, unless the store has become read-only. After reopening, the store must
// contain all of the commit or none of it.
func (f Faults) Run(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("the strace program is not installed")
	}
	for _, fault := range []struct{ name, calls, inject string }{
		{"one fails", faultsCalls, "error=EIO:when=%d"},
		{"no more descriptors", "openat", "error=EMFILE:when=%d+"},
		{"killed", faultsCalls, "signal=KILL:when=%d"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			calls, step := strings.Split(fault.calls, ","), 1
			if !f.All {
				rand.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
				calls, step = calls[:min(3, len(calls))], 16
			}
			count := 0
			for _, call := range calls {
				for n := 1 + rand.IntN(step); !t.Failed(); n += step {
					if !f.commit(t, call+":"+fmt.Sprintf(fault.inject, n)) {
						break
					}
					count++
				}
			}
			t.Logf("%d faults", count)
		})
	}
}

// commit makes one commit with a fault and reports whether the fault occurred.
func (f Faults) commit(t *testing.T, inject string) bool {
	t.Helper()
	s := f.Open(t)
	p := &probe{T: t, Store: s, ctx: t.Context()}
	p.clear()
	p.seed(mixedTree)
	before := Contents(t, s)
	want := model(Contents(t, s))
	for _, op := range parseOps(faultsCommit) {
		if _, err := want.change(op); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	outcome, report, injected := f.child(t, inject)
	s = f.Open(t)
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("%s: close: %v", injected, err)
		}
	}()
	p.Store = s
	after := Contents(t, s)
	isBefore, isAfter := cmp.Equal(after, before), cmp.Equal(after, map[string]string(want))
	where := fmt.Sprintf("%s, after an outcome of %s, read-only %t", injected, outcome, report.ReadOnly)
	if !isBefore && !isAfter {
		t.Errorf("%s: only a part of the commit is stored: %v", where, after)
	}
	killed, done := outcome == "", outcome == `"<nil>"`
	switch {
	case killed:
	case done && (!isAfter || !cmp.Equal(report.Contents, after)):
		t.Errorf("%s: %v, then %v", where, report.Contents, after)
	case done:
	case !cmp.Equal(report.Contents, before):
		t.Errorf("%s: before reopening: %v", where, report.Contents)
	case !report.ReadOnly && !isBefore:
		t.Errorf("%s: the failed commit is stored after reopening", where)
	}
	if err := errors.Join(s.Write(p.ctx, "canary", nil), s.Delete(p.ctx, "canary")); err != nil {
		t.Errorf("%s: unusable after reopening: %v", where, err)
	}
	return injected != ""
}

// child runs the process that commits. outcome is the quoted text of the commit's error, or empty
// if the process was killed. injected is the system call that failed, or empty if none did.
func (f Faults) child(t *testing.T, inject string) (outcome string, report faultsReport, injected string) {
	t.Helper()
	cmd, stderr := testBinary(t, f.Env, f.Dir)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(out)
	thread, _ := lines.ReadString('\n')
	stop := attachStrace(t, strings.TrimSpace(thread), inject)
	_, _ = io.WriteString(in, "\n")
	outcome, _ = lines.ReadString('\n')
	injected = stop()
	if outcome == "" && strings.Contains(inject, "KILL") {
		return "", report, "killed by " + inject
	}
	_, _ = io.WriteString(in, "\n")
	if err := errors.Join(json.NewDecoder(lines).Decode(&report), cmd.Wait()); err != nil {
		t.Errorf("%s: %v: %s", injected, err, stderr.Bytes())
	}
	return strings.TrimSpace(outcome), report, injected
}

// attachStrace attaches strace to a thread until stop is called. stop returns the first system
// call that a fault was injected into.
func attachStrace(t *testing.T, thread, inject string) (stop func() string) {
	t.Helper()
	if _, err := strconv.Atoi(thread); err != nil {
		t.Fatalf("thread %q", thread)
	}
	calls, _, _ := strings.Cut(inject, ":")
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), "strace", "-p", thread, "-o", log, "-e", "trace="+calls, "-e",
		"signal=none", "-e", "inject="+inject)
	out, err := cmd.StderrPipe()
	if err = errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	messages := bufio.NewReader(out)
	if first, err := messages.ReadString('\n'); err != nil || !strings.Contains(first, "attached") {
		_ = cmd.Wait()
		t.Skipf("cannot use strace: %q, %v", first, err)
	}
	return func() string {
		_ = cmd.Process.Signal(os.Interrupt) // fails if it has ended with the killed thread
		_, _ = io.Copy(io.Discard, messages)
		_ = cmd.Wait()
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "(INJECTED)") {
				return strings.TrimSpace(line)
			}
		}
		return ""
	}
}
