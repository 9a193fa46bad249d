package gitstore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

const (
	// crashDirEnv makes the test binary the process that gets killed.
	crashDirEnv = "GITSTORE_CRASH_DIR"
	// crashRoundsEnv sets how many kills TestCrash and TestCrashInPull make.
	crashRoundsEnv = "GITSTORE_CRASH_ROUNDS"
)

// inChild has work done on the store. It gives the code to exit with.
func inChild(dir string, work func(s *store.Store, out, errs io.Writer) int) int {
	r, err := gitstore.Open(context.Background(), dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return work(r.Store, os.Stdout, os.Stderr)
}

// TestCrash looks at the history too.
func TestCrash(t *testing.T) {
	dir := storetest.MemoryDir(t)
	var r *gitstore.Repo
	storetest.Crash{
		Env: crashDirEnv, Dir: dir, Rounds: os.Getenv(crashRoundsEnv), Within: 12 * time.Millisecond,
		Open: func(t *testing.T) *store.Store {
			r = openDir(t, dir, nil)
			return r.Store
		},
		Check: func(t *testing.T, _ *store.Store, batch int) {
			// git status compares all files with HEAD.
			wantSound(t, r, dir)
			subject := strings.TrimSpace(git(t, dir, "log", "-1", "--format=%s", "--", "number"))
			if want := fmt.Sprintf("batch %d", batch); subject != want && batch > 0 {
				t.Errorf("history is at %q, documents at %q", subject, want)
			}
		},
	}.Run(t)
}
