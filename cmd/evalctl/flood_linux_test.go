package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evalctl/internal/filetest"
)

// TestFloodingDaemon checks what 24 questions to a daemon cost that floods its clients and its log.
// It is not parallel: Linux begins the Maxrss of a process with that of the one that started it.
func TestFloodingDaemon(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector needs several times as much memory")
	}
	const (
		questions = 24
		maxDisk   = 100 << 20
		maxMemory = 400 << 20 // eight answers of 13 MiB at a time
	)
	dir := t.TempDir()
	var lines strings.Builder
	for i := range questions {
		fmt.Fprintf(&lines, `{"id":"q-%02d","question":"question %d","expected_substrings":["nothing"]}`+"\n", i, i)
	}
	filetest.Write(t, filepath.Join(dir, "q.jsonl"), lines.String())
	cmd := exec.CommandContext(t.Context(), "evalctl", "run", "--sdk", "py", "--brain", "notes", "--dataset", "q.jsonl",
		"--scorer", "exact", "--concurrency", "8", "--quiet") // TestMain puts evalctl on the PATH
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SVC_SDK_PY_CMD=flooder {addr}")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitDaemon || !bytes.Contains(out, fmt.Appendf(nil, "py: 0/%d ", questions)) {
		t.Fatalf("%v: %.2000s", err, out)
	}
	if rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; rss > maxMemory {
		t.Errorf("evalctl used %d MiB of memory", rss>>20)
	} else {
		t.Logf("evalctl used %d MiB of memory", rss>>20)
	}
	disk := int64(0)
	err = filepath.WalkDir(filepath.Join(dir, "results"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			t.Logf("%s has %d bytes", filepath.Base(path), info.Size())
			disk += info.Size()
		}
		return err
	})
	if err != nil || disk == 0 || disk > maxDisk {
		t.Errorf("%d bytes on the disk, %v", disk, err)
	}
}
