package fsstore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

const (
	// crashDirEnv makes the test binary run as the process that is killed.
	crashDirEnv = "FSSTORE_CRASH_DIR"
	// togetherDirEnv is crashDirEnv for a process with many writers.
	togetherDirEnv = "FSSTORE_TOGETHER_DIR"
	// crashRoundsEnv sets the number of kills in TestCrash.
	crashRoundsEnv = "FSSTORE_CRASH_ROUNDS"
)

// inChild opens the store and calls work. It returns an exit code.
func inChild(dir string, work func(s *store.Store, out, errs io.Writer) int) int {
	s, err := fsstore.Open(context.Background(), dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return work(s, os.Stdout, os.Stderr)
}

func TestCrash(t *testing.T) { crash(t, crashDirEnv).Run(t) }

func TestCrashTogether(t *testing.T) { runTogether(t, crash(t, togetherDirEnv)) }

func crash(t *testing.T, env string) storetest.Crash {
	t.Helper()
	dir := t.TempDir()
	return storetest.Crash{
		Env: env, Dir: dir, Rounds: os.Getenv(crashRoundsEnv), Within: 20 * time.Millisecond,
		Open: func(t *testing.T) *store.Store {
			s, err := fsstore.Open(t.Context(), dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Check: func(t *testing.T, s *store.Store, _ int) {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			for _, pattern := range []string{".store/staged", ".store/undo/*"} {
				if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
					t.Errorf("left behind: %q", files)
				}
			}
			for _, log := range []string{".store/journal", ".store/journal.2"} {
				if info, err := os.Stat(filepath.Join(dir, log)); err != nil || info.Size() > 8192 {
					t.Errorf("%s: %v, %v", log, info, err)
				}
			}
		},
	}
}
