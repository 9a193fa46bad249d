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

	"evalctl/daemon/brain"
	"evalctl/daemon/frontmatter"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/longtest"
)

const (
	// sessionCrashEnv makes the test binary add messages until it is killed, extractCrashEnv such
	// that facts are extracted from. Their value is the kind of the store and its directory.
	sessionCrashEnv = "MEMORY_SESSION_CRASH"
	extractCrashEnv = "MEMORY_EXTRACT_CRASH"
	// sessionRoundsEnv sets the number of kills.
	sessionRoundsEnv = "MEMORY_SESSION_CRASH_ROUNDS"
	// ackedFile has the number of the last acknowledged message.
	ackedFile = "acked"
)

// createOnDisk creates a brain in a store of the given kind, for a process that is going to be
// killed and closes nothing.
func createOnDisk(ctx context.Context, kind, dir string) (brain.Handle, error) {
	brains, err := brain.Open(ctx, onDisk(dir)[kind])
	if err != nil {
		return brain.Handle{}, err
	}
	if _, err := brains.Create(ctx, "", protocol.CreateBrain{ID: "eval"}); err != nil {
		return brain.Handle{}, err
	}
	return brains.Find("eval")
}

// addUntilKilled continues the session s with numbered messages. It returns an exit code.
func addUntilKilled(value string, message func(string) protocol.SessionMessage) int {
	kind, dir, _ := strings.Cut(value, ":")
	err := func() error {
		ctx := context.Background()
		s, err := New(Config{Reader: &model{reply: factPerMessage}, Model: "model"})
		if err != nil {
			return err
		}
		h, err := createOnDisk(ctx, kind, dir)
		if err != nil {
			return err
		}
		n := 0
		if session, err := s.Session(ctx, h, "s"); err == nil {
			n = session.Messages
		}
		for {
			var batch []protocol.SessionMessage
			for range 1 + n%5*10 {
				batch = append(batch, message(fmt.Sprint(n, strings.Repeat(" word", n%150))))
				n++
			}
			if _, err := s.AddMessages(ctx, h, "s", batch); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, ackedFile), []byte(strconv.Itoa(n)), 0o600); err != nil {
				return err
			}
			fmt.Println("added")
		}
	}()
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// TestSessionCrash kills a process that adds messages at random instants. Afterwards, files and
// transcripts have the same messages, each one once, and all that were acknowledged.
func TestSessionCrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			for range storetest.Rounds(t, os.Getenv(sessionRoundsEnv), longtest.Rounds(3, 8)) {
				storetest.Kill(t, sessionCrashEnv, kind+":"+dir, 2, 20*time.Millisecond)
				s := openWith(t, onDisk(dir)[kind], Config{})
				checkNumbered(t, s, dir)
				if err := s.brains.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestExtractCrash kills a process that adds messages and extracts facts. Afterwards, the jobs that
// it left extract each message once.
func TestExtractCrash(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"fs", "git"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			for range storetest.Rounds(t, os.Getenv(sessionRoundsEnv), longtest.Rounds(2, 6)) {
				storetest.Kill(t, extractCrashEnv, kind+":"+dir, 3, 20*time.Millisecond)
				s := withModel(t, onDisk(dir)[kind], &model{reply: factPerMessage})
				checkNumbered(t, s, dir)
				s.Resume(s.brain)
				for _, job := range s.extracted(t) {
					if job.Status != protocol.JobCompleted {
						t.Errorf("%+v: %+v", job, job.Error)
					}
				}
				all, lines := s.stored(t, "s"), s.factLines(t, "s")
				if len(lines) != len(all) {
					t.Fatalf("%d facts of %d messages", len(lines), len(all))
				}
				for i, m := range all {
					if !strings.HasSuffix(lines[i], ": Said: "+m.Content) {
						t.Errorf("fact %d is %.40q", i, lines[i])
					}
				}
				s.Close()
				if err := s.brains.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func checkNumbered(t *testing.T, s *fixture, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, ackedFile))
	if err != nil {
		t.Fatal(err)
	}
	// A write of the file that was cut off leaves it empty.
	acked, _ := strconv.Atoi(string(data))
	all := s.stored(t, "s")
	if len(all) < acked {
		t.Errorf("%d messages were acknowledged, %d are stored", acked, len(all))
	}
	said := 0
	state, err := readSession(t.Context(), s.store(t), "s")
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= state.Segment; i++ {
		turns, _ := protocol.ParseTranscript(frontmatter.Parse(s.read(t, transcriptPath("s", i))).Body)
		for _, turn := range turns {
			if said == len(all) || turn.Content != all[said].Content ||
				!strings.HasPrefix(turn.Content+" ", strconv.Itoa(said)+" ") {
				t.Fatalf("transcript %d, message %d: %.20q", i, said, turn.Content)
			}
			said++
		}
	}
	if said != len(all) {
		t.Errorf("%d messages in the transcripts, %d in the files", said, len(all))
	}
}
