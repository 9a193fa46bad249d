package fsstore_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

const (
	// crashDirEnv makes the test binary the process that gets killed.
	crashDirEnv = "FSSTORE_CRASH_DIR"
	// crashRoundsEnv sets how many kills TestCrash makes.
	crashRoundsEnv = "FSSTORE_CRASH_ROUNDS"

	crashDocs = 20
)

// writeUntilKilled commits batch after batch. Each gives every document the
// number of the batch, and moves half of them to another directory and back.
func writeUntilKilled(dir string) int {
	ctx := context.Background()
	s, err := fsstore.Open(ctx, dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	data, err := s.Read(ctx, "single")
	n, _ := strconv.Atoi(string(data))
	if err != nil && !store.IsNotFound(err) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		n++
		err := s.Batch(ctx, store.BatchOptions{}, func(b *store.Batch) error { return crashBatch(ctx, b, n) })
		if err == nil {
			err = s.Write(ctx, "single", []byte(strconv.Itoa(n)))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("committed")
	}
}

func crashBatch(ctx context.Context, b *store.Batch, n int) error {
	for i := range crashDocs {
		was, is := crashPath(i, n-1), crashPath(i, n)
		if was != is {
			if err := b.Delete(ctx, was); err != nil && !store.IsNotFound(err) {
				return err
			}
		}
		if err := b.Write(ctx, is, []byte(strconv.Itoa(n))); err != nil {
			return err
		}
	}
	return nil
}

func crashPath(i, n int) string {
	if i%2 == 0 {
		return fmt.Sprintf("fixed/%d", i)
	}
	return fmt.Sprintf("moving/%d/%d", n%2, i)
}

// TestCrash kills a writing process at random instants. Afterwards each batch
// is there whole or not at all, and what was committed before it is not lost.
func TestCrash(t *testing.T) {
	rounds := 20
	if text := os.Getenv(crashRoundsEnv); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	last := 0
	for round := range rounds {
		killWriter(t, dir)
		s, err := fsstore.Open(t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		now := crashState(t, s)
		if now < last {
			t.Fatalf("round %d: at batch %d, was at %d", round, now, last)
		}
		last = now
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{".store/staged", ".store/undo/*"} {
			if files, _ := filepath.Glob(filepath.Join(dir, pattern)); len(files) > 0 {
				t.Errorf("round %d left %q", round, files)
			}
		}
	}
	if last < rounds {
		t.Errorf("only %d batches in %d rounds", last, rounds)
	}
}

// killWriter lets the writer commit at least once and kills it a random time
// later, at whatever it is then doing.
func killWriter(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 1 + rand.IntN(3) {
		if !lines.Scan() {
			t.Fatalf("the writer ended: %v", cmd.Wait())
		}
	}
	time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports the kill
}

// crashState checks that all documents are of one batch and returns its number.
func crashState(t *testing.T, s *store.Store) int {
	t.Helper()
	files, err := s.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range files {
		data, err := s.Read(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Path] = string(data)
	}
	single, _ := strconv.Atoi(contents["single"])
	delete(contents, "single")
	if len(contents) == 0 {
		return 0
	}
	n, err := strconv.Atoi(contents[crashPath(0, 0)])
	if err != nil {
		t.Fatal(err)
	}
	for i := range crashDocs {
		if got := contents[crashPath(i, n)]; got != strconv.Itoa(n) {
			t.Errorf("%s is of batch %q, others of %d", crashPath(i, n), got, n)
		}
	}
	if len(contents) != crashDocs {
		t.Errorf("%d documents after batch %d, want %d: %v", len(contents), n, crashDocs, contents)
	}
	if single != n && single != n-1 {
		t.Errorf("single write %d, batch %d", single, n)
	}
	return n
}
