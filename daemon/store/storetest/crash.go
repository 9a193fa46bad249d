package storetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"evalctl/daemon/store"
)

// Crash kills a writing process at random instants. Afterwards each batch must be
// there whole or not at all, and what was acknowledged must not be lost.
type Crash struct {
	// Env is the environment variable that makes the test binary the process to
	// kill: its TestMain then opens the store in the directory that the variable
	// names and calls WriteUntilKilled.
	Env string
	Dir string
	// Rounds is how many kills there are, in digits; 20 when empty.
	Rounds string
	// Within bounds the time from an acknowledgement to the kill.
	Within time.Duration
	// Open opens the store after a kill, and Check closes it and looks at what
	// it left. The batch is the last one that is there, 0 for none.
	Open  func(t *testing.T) *store.Store
	Check func(t *testing.T, s *store.Store, batch int)
}

// Run makes the kills.
func (c Crash) Run(t *testing.T) {
	t.Helper()
	rounds := 20
	if c.Rounds != "" {
		var err error
		if rounds, err = strconv.Atoi(c.Rounds); err != nil {
			t.Fatal(err)
		}
	}
	last := 0
	for round := range rounds {
		Kill(t, c.Env, c.Dir, 1+rand.IntN(3), c.Within)
		s := c.Open(t)
		now := crashState(t, s)
		c.Check(t, s, now)
		if now < last {
			t.Fatalf("round %d: at batch %d, was at %d", round, now, last)
		}
		last = now
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if last < rounds {
		t.Errorf("only %d batches in %d rounds", last, rounds)
	}
}

// Kill runs the test binary with a variable of its environment set, waits for
// some lines of its output, and kills it and its children a random time later.
func Kill(t *testing.T, env, value string, lines int, within time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), env+"="+value)
	cmd.Stderr = &stderr
	leadGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	for range lines {
		if !scanner.Scan() {
			t.Fatalf("the process ended: %v: %s", cmd.Wait(), stderr.Bytes())
		}
	}
	time.Sleep(rand.N(within)) // the instant is the test's input
	if err := killGroup(cmd); err != nil {
		t.Fatal(err)
	}
	// A child that was just being made holds the store's lock a moment longer than
	// its parent, and a moment longer than its output. One that stays was orphaned
	// where nobody waits for orphans, and holds nothing.
	for scanner.Scan() {
	}
	_ = cmd.Wait() // reports the kill
	for deadline := time.Now().Add(200 * time.Millisecond); groupLives(cmd) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

const crashDocs = 20

// WriteUntilKilled commits batch after batch to s, each followed by a single
// write, and says so on out. A batch gives every document its number and moves
// half of them to another directory and back. It returns the code to exit with.
func WriteUntilKilled(s *store.Store, out, errs io.Writer) int {
	ctx := context.Background()
	data, err := s.Read(ctx, "single")
	n, _ := strconv.Atoi(string(data))
	if store.IsNotFound(err) {
		err = nil
	}
	for err == nil {
		n++
		opts := store.BatchOptions{Reason: "batch " + strconv.Itoa(n)}
		err = s.Batch(ctx, opts, func(b *store.Batch) error { return crashBatch(ctx, b, n) })
		if err == nil {
			err = s.Write(ctx, "single", []byte(strconv.Itoa(n)))
		}
		if err == nil {
			_, err = fmt.Fprintln(out, "committed")
		}
	}
	fmt.Fprintln(errs, err)
	return 1
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

// crashState checks that all documents are of one batch and returns its number.
func crashState(t *testing.T, s *store.Store) int {
	t.Helper()
	contents := Contents(t, s)
	single, _ := strconv.Atoi(contents["single"])
	n, _ := strconv.Atoi(contents["number"])
	if n == 0 {
		if len(contents) != 0 {
			t.Errorf("documents of no batch: %v", contents)
		}
		return 0
	}
	for i := range crashDocs {
		if got := contents[crashPath(i, n)]; got != strconv.Itoa(n%3) {
			t.Errorf("%s holds %q after batch %d", crashPath(i, n), got, n)
		}
	}
	if single != n && single != n-1 {
		t.Errorf("single write %d, batch %d", single, n)
	}
	want := crashDocs + 1
	if single > 0 {
		want++
	}
	if len(contents) != want {
		t.Errorf("%d documents after batch %d, want %d: %v", len(contents), n, want, contents)
	}
	return n
}

// Contents reads every document of s.
func Contents(t *testing.T, s *store.Store) map[string]string {
	t.Helper()
	files, err := s.List(t.Context(), "", store.ListOptions{Recursive: true, IncludeGenerated: true})
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
	return contents
}
