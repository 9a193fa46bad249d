package fsstore_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/longtest"
)

const (
	crashWriters = 16
	// crashSlots is the number of documents of each writer, which it writes in turn.
	crashSlots = 8
)

// writeTogetherUntilKilled is storetest.WriteUntilKilled with many writers at the same time. Each writes the
// numbers from 1 on, and then a line with its own number and this one to out.
func writeTogetherUntilKilled(s *store.Store, out, errs io.Writer) int {
	ctx := context.Background()
	var wg sync.WaitGroup
	for writer := range crashWriters {
		wg.Go(func() {
			n, err := 0, error(nil)
			for slot := range crashSlots {
				data, _ := s.Read(ctx, slotPath(writer, slot))
				was, _ := strconv.Atoi(string(data))
				n = max(n, was)
			}
			for err == nil {
				n++
				if err = s.Write(ctx, slotPath(writer, n), []byte(strconv.Itoa(n))); err == nil {
					_, err = io.WriteString(out, fmt.Sprintf("%d %d\n", writer, n))
				}
			}
			fmt.Fprintln(errs, err)
		})
	}
	wg.Wait()
	return 1
}

func slotPath(writer, n int) string { return fmt.Sprintf("w%d/%d.md", writer, n%crashSlots) }

// runTogether is Run of a crash whose child calls writeTogetherUntilKilled.
func runTogether(t *testing.T, c storetest.Crash) {
	t.Helper()
	for round := range storetest.Rounds(t, c.Rounds, longtest.Rounds(8, 20)) {
		last := map[int]int{} // of each writer
		output := storetest.Kill(t, c.Env, c.Dir, 3*crashWriters, c.Within)
		for _, line := range output {
			writer, number, ok := strings.Cut(line, " ")
			w, err := strconv.Atoi(writer)
			n, err2 := strconv.Atoi(number)
			if !ok || err != nil || err2 != nil {
				t.Fatalf("the process wrote %q", line)
			}
			last[w] = n
		}
		s := c.Open(t)
		contents := storetest.Contents(t, s)
		for writer, acknowledged := range last {
			for n := max(1, acknowledged-crashSlots+1); n <= acknowledged; n++ {
				got := contents[slotPath(writer, n)]
				unclear := n+crashSlots == acknowledged+1 && got == strconv.Itoa(acknowledged+1)
				if got != strconv.Itoa(n) && !unclear {
					t.Errorf("round %d: writer %d: %q in the place of %d; %d was acknowledged", round, writer, got, n, acknowledged)
				}
			}
		}
		c.Check(t, s, 0)
		if t.Failed() {
			t.FailNow()
		}
		t.Logf("round %d: %d writes were acknowledged", round, len(output))
	}
}
