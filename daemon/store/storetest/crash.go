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
	"evalctl/internal/longtest"
)

// Crash kills a writing process at random instants. After each kill, every batch must be stored
// whole or not at all, and no acknowledged write may be lost.
type Crash struct {
	// Env is an environment variable. If it is set, the TestMain of the test binary must open the
	// store in the directory that it names, and call WriteUntilKilled.
	Env string
	Dir string
	// Rounds is the number of kills in decimal digits; see Rounds. Default: 20.
	Rounds string
	// Within is the longest time from an acknowledgement to the kill.
	Within time.Duration
	// Open opens the store after a kill. Check closes it and checks the files that it leaves. batch
	// is the number of the last stored batch, or 0.
	Open  func(t *testing.T) *store.Store
	Check func(t *testing.T, s *store.Store, batch int)
}

// Rounds parses a number of rounds, such as the value of an environment variable. It returns
// standard for an empty text.
func Rounds(t *testing.T, text string, standard int) int {
	t.Helper()
	if text == "" {
		return standard
	}
	rounds, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return rounds
}

// Run runs the test.
func (c Crash) Run(t *testing.T) {
	t.Helper()
	rounds := Rounds(t, c.Rounds, longtest.Rounds(8, 20))
	last := 0
	for round := range rounds {
		Kill(t, c.Env, c.Dir, 1+rand.IntN(3), c.Within)
		s := c.Open(t)
		now := crashState(t, s)
		c.Check(t, s, now)
		if now < last {
			t.Fatalf("round %d: batch %d is the last one, but batch %d was stored before", round, now, last)
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

// testBinary returns a command that runs the test binary with an environment variable set.
func testBinary(t *testing.T, env, value string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stderr = &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), env+"="+value)
	cmd.Stderr = stderr
	return cmd, stderr
}

// Kill runs the test binary with an environment variable set, and waits until it has written some
// lines to its standard output. After a random time of at most within it kills the process and its
// children. It returns the whole lines that the process has written.
func Kill(t *testing.T, env, value string, lines int, within time.Duration) (output []string) {
	t.Helper()
	cmd, stderr := testBinary(t, env, value)
	startGroup(cmd)
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
		output = append(output, scanner.Text())
	}
	time.Sleep(rand.N(within)) // the instant is the test's input
	if err := killGroup(cmd); err != nil {
		t.Fatal(err)
	}
	// A child that was being started can hold the store's lock a moment longer than its parent and
	// its output. A process that stays in the group is a zombie where no init process waits for
	// orphans, and holds no lock.
	for scanner.Scan() {
		output = append(output, scanner.Text())
	}
	_ = cmd.Wait() // reports the kill
	for deadline := time.Now().Add(200 * time.Millisecond); groupAlive(cmd) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	return output
}

const crashDocs = 20

// WriteUntilKilled commits one batch after the other to s. After each batch it makes a single
// write and then writes a line to out. A batch writes its number to every document and moves half
// of them to another directory and back. It returns only after an error, with an exit code.
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
		// Contents repeat, so that a check by content alone can mistake an older version for the
		// current one.
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
			t.Errorf("documents without a batch: %v", contents)
		}
		return 0
	}
	for i := range crashDocs {
		if got := contents[crashPath(i, n)]; got != strconv.Itoa(n%3) {
			t.Errorf("%s contains %q after batch %d", crashPath(i, n), got, n)
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
