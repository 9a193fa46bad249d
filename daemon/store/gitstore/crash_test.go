package gitstore_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
)

const (
	// crashDirEnv makes the test binary the process that gets killed.
	crashDirEnv = "GITSTORE_CRASH_DIR"
	// crashRoundsEnv sets how many kills TestCrash makes.
	crashRoundsEnv = "GITSTORE_CRASH_ROUNDS"

	crashDocs = 20
)

// writeUntilKilled commits batch after batch. Each gives every document the
// number of the batch, and moves half of them to another directory and back.
func writeUntilKilled(dir string) int {
	ctx := context.Background()
	r, err := gitstore.Open(ctx, dir, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	data, err := r.Read(ctx, "single")
	n, _ := strconv.Atoi(string(data))
	if err != nil && !store.IsNotFound(err) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		n++
		opts := store.BatchOptions{Reason: "batch " + strconv.Itoa(n)}
		err := r.Batch(ctx, opts, func(b *store.Batch) error { return crashBatch(ctx, b, n) })
		if err == nil {
			err = r.Write(ctx, "single", []byte(strconv.Itoa(n)))
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
		// Contents repeat, as a document that is as it was some commits ago
		// must not be taken for one that is as it should be.
		if err := b.Write(ctx, is, []byte(strconv.Itoa(n%3))); err != nil {
			return err
		}
	}
	return b.Write(ctx, "number", []byte(strconv.Itoa(n)))
}

func crashPath(i, n int) string {
	if i%2 == 0 {
		return fmt.Sprintf("fixed/%d", i)
	}
	return fmt.Sprintf("moving/%d/%d", n%2, i)
}

// TestCrash kills a writing process at random instants. Afterwards each batch
// is there whole or not at all, in files and history, and what was committed
// before it is not lost.
func TestCrash(t *testing.T) {
	rounds := 20
	if text := os.Getenv(crashRoundsEnv); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	dir := gitstore.MemoryDir(t)
	last := 0
	for round := range rounds {
		killWriter(t, dir)
		r := openDir(t, dir, nil)
		now := crashState(t, r)
		if now < last {
			t.Fatalf("round %d: at batch %d, was at %d", round, now, last)
		}
		last = now
		// git status compares all files with HEAD.
		wantSound(t, r, dir)
		subject := strings.TrimSpace(git(t, dir, "log", "-1", "--format=%s", "--", "number"))
		if want := fmt.Sprintf("batch %d", now); subject != want && now > 0 {
			t.Errorf("round %d: history is at %q, documents at %q", round, subject, want)
		}
	}
	if last < rounds {
		t.Errorf("only %d batches in %d rounds", last, rounds)
	}
}

// killWriter lets the writer commit at least once, but for some rounds, and
// kills it a random time later, at whatever it is then doing.
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
	time.Sleep(time.Duration(rand.IntN(12_000)) * time.Microsecond)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports the kill
}

// crashState checks that all documents are of one batch and returns its number.
func crashState(t *testing.T, r *gitstore.Repo) int {
	t.Helper()
	files, err := r.List(t.Context(), "", store.ListOptions{Recursive: true})
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{}
	for _, f := range files {
		data, err := r.Read(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		contents[f.Path] = string(data)
	}
	single, _ := strconv.Atoi(contents["single"])
	n, _ := strconv.Atoi(contents["number"])
	for i := range crashDocs {
		if got := contents[crashPath(i, n)]; got != strconv.Itoa(n%3) {
			t.Errorf("%s holds %q after batch %d", crashPath(i, n), got, n)
		}
	}
	if single != n && single != n-1 {
		t.Errorf("single write %d, batch %d", single, n)
	}
	if want := crashDocs + 2; single > 0 && len(contents) != want {
		t.Errorf("%d documents after batch %d, want %d: %v", len(contents), n, want, contents)
	}
	return n
}
