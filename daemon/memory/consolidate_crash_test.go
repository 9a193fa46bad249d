package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

const (
	// consolidateCrashEnv makes the test binary write facts and consolidate until it is killed. Its
	// value is the kind of the store and its directory.
	consolidateCrashEnv = "MEMORY_CONSOLIDATE_CRASH"
	// consolidateRoundsEnv sets the number of kills.
	consolidateRoundsEnv = "MEMORY_CONSOLIDATE_CRASH_ROUNDS"
)

// numbered returns the facts of the n-th session. Each is stated by the next session as well.
func numbered(n int) []fact {
	return said(fmt.Sprintf("Ana: Boat %d sails.", n), fmt.Sprintf("Ana: Boat %d sails.", n+1), fmt.Sprintf("Ana: I live in Town%d.", n))
}

// consolidateUntilKilled returns an exit code.
func consolidateUntilKilled(value string) int {
	kind, dir, _ := strings.Cut(value, ":")
	err := func() error {
		ctx := context.Background()
		s, err := New(Config{Reader: llm.NewFake(), Model: llm.FakeModel})
		if err != nil {
			return err
		}
		h, err := createOnDisk(ctx, kind, dir)
		if err != nil {
			return err
		}
		defer h.Acquire()()
		st, err := h.Store(ctx)
		if err != nil {
			return err
		}
		for n := acked(dir); ; n++ {
			text, err := factsDocument(fmt.Sprint("s", n), mayDay(1).AddDate(0, 0, n), numbered(n))
			if err != nil {
				return err
			}
			if err := st.Write(ctx, factsPath(fmt.Sprint("s", n)), []byte(text)); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, ackedFile), []byte(strconv.Itoa(n+1)), 0o600); err != nil {
				return err
			}
			if _, err := s.Consolidate(ctx, h, protocol.ConsolidateRequest{}); err != nil {
				return err
			}
			fmt.Println("consolidated")
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// acked returns how many sessions were acknowledged. A write of the file that was cut off leaves it
// empty; sessions are then written once more.
func acked(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, ackedFile))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(data))
	return n
}

// TestConsolidateCrash kills a process that consolidates at random instants. Afterwards each fact
// that was acknowledged is in a document of facts, in a note, or in a record.
func TestConsolidateCrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			for range storetest.Rounds(t, os.Getenv(consolidateRoundsEnv), longtest.Rounds(2, 6)) {
				storetest.Kill(t, consolidateCrashEnv, kind+":"+dir, 3, 20*time.Millisecond)
				s := openWith(t, onDisk(dir)[kind], Config{})
				everything := ""
				for _, text := range s.all(t) {
					everything += text
				}
				for n := range acked(dir) {
					for _, f := range numbered(n) {
						if !strings.Contains(everything, "\n"+f.String()+"\n") {
							t.Errorf("%q of session %d is lost", f, n)
						}
					}
				}
				if err := s.brains.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
