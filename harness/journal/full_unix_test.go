//go:build unix

package journal

import (
	"encoding/json"
	"errors"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPartlyWritten checks that a journal can be read again if the disk took only a part of some
// lines and all of a shorter one after them.
func TestPartlyWritten(t *testing.T) {
	j := sampleJournal(t, t.TempDir())
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	r := answered("q2", 3)
	record := Entry{Kind: KindAnswer, Index: 2, Record: &r}
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = uint64(j.end) + uint64(len(line)) + 20 // the first line and a part of the second
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	full := j.Append(record, record)
	stopped := j.Append(Entry{Kind: KindStopped})
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(full, syscall.EFBIG) || stopped != nil {
		t.Fatalf("a record: %v; a shorter line: %v", full, stopped)
	}
	again := reopened(t, j)
	if again.slots[2].Answered || !again.slots[1].Answered {
		t.Errorf("slots %+v", again.slots)
	}
}
