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
	// crashDirEnv makes the test binary run as the process that is killed.
	crashDirEnv = "GITSTORE_CRASH_DIR"
	// crashRoundsEnv sets the number of kills in the crash tests.
	crashRoundsEnv = "GITSTORE_CRASH_ROUNDS"
)

// inChild opens the store and calls work. It returns an exit code.
func inChild(dir string, work func(s *store.Store, out, errs io.Writer) int) int {
	r, err := gitstore.Open(context.Background(), dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return work(r.Store, os.Stdout, os.Stderr)
}

// TestCrash also checks the history.
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
