package braintest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"evalctl/daemon/brain"
)

// Snapshots tests an implementation of brain.Snapshots. Each test calls open once, for
// an empty place for the snapshots of the brains with the given keys, which are decimal numbers.
func Snapshots(t *testing.T, open func(t *testing.T, keys ...string) brain.Snapshots) {
	for _, c := range []struct {
		name string
		run  func(*snapshotTest)
	}{
		{"a brain has no snapshot at first", noSnapshot},
		{"a snapshot is read as it was written", keepsSnapshots},
		{"a snapshot replaces the one before", replacedSnapshot},
		{"a failed write keeps the snapshot before", failedWrite},
		{"a failed read is reported", failedRead},
		{"a removed snapshot is gone", removedSnapshot},
		{"snapshots change concurrently", concurrentSnapshots},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run(&snapshotTest{t, t.Context(), open(t, "1", "2", "3", "4")})
		})
	}
}

type snapshotTest struct {
	*testing.T
	ctx       context.Context
	snapshots brain.Snapshots
}

func (t *snapshotTest) put(id, text string) error {
	return t.snapshots.Put(t.ctx, id, 0, 0, func(w io.Writer) error {
		for len(text) > 0 { // in several writes
			n := min(len(text), 1000)
			if _, err := io.WriteString(w, text[:n]); err != nil {
				return err
			}
			text = text[n:]
		}
		return nil
	})
}

func (t *snapshotTest) mustPut(id, text string) {
	t.Helper()
	if err := t.put(id, text); err != nil {
		t.Fatal(err)
	}
}

func (t *snapshotTest) get(id string) (string, error) {
	var text string
	err := t.snapshots.Get(t.ctx, id, func(r io.ReaderAt, size int64, _ uint64) error {
		data := make([]byte, size)
		half := size / 2 // the later half first
		for _, part := range [][]byte{data[half:], data[:half]} {
			offset := half
			if len(part) == 0 || &part[0] == &data[0] {
				offset = 0
			}
			if n, err := r.ReadAt(part, offset); n < len(part) {
				return err
			}
		}
		text = string(data)
		return nil
	})
	return text, err
}

func (t *snapshotTest) loads(id, want string) {
	t.Helper()
	if got, err := t.get(id); err != nil || got != want {
		t.Errorf("brain %s: got %d bytes %.20q, %v, want %d bytes %.20q", id, len(got), got, err, len(want), want)
	}
}

func (t *snapshotTest) loadsNone(id string) {
	t.Helper()
	err := t.snapshots.Get(t.ctx, id, func(io.ReaderAt, int64, uint64) error {
		t.Errorf("brain %s: read was called without a snapshot", id)
		return nil
	})
	if !errors.Is(err, brain.ErrNoSnapshot) {
		t.Errorf("brain %s: got %v, want ErrNoSnapshot", id, err)
	}
}

func noSnapshot(t *snapshotTest) {
	t.loadsNone("1")
	t.loadsNone("99")
}

func keepsSnapshots(t *snapshotTest) {
	large := string(bytes.Repeat([]byte{0, 1, 2, 255, '\n'}, 200_001))
	t.mustPut("1", large)
	t.mustPut("2", "small")
	t.mustPut("3", "")
	t.loads("1", large)
	t.loads("2", "small")
	t.loads("3", "")
	t.loadsNone("4")
}

func replacedSnapshot(t *snapshotTest) {
	for _, text := range []string{"first", "the second, a longer one", "3"} {
		t.mustPut("1", text)
		t.loads("1", text)
	}
}

func failedWrite(t *snapshotTest) {
	broken := errors.New("broken")
	fail := func(id string) {
		t.Helper()
		err := t.snapshots.Put(t.ctx, id, 0, 0, func(w io.Writer) error {
			_, err := io.WriteString(w, "half of a")
			return errors.Join(err, broken)
		})
		if !errors.Is(err, broken) {
			t.Errorf("brain %s: got %v, want the error of write", id, err)
		}
	}
	fail("1")
	t.loadsNone("1")
	t.mustPut("1", "complete")
	fail("1")
	t.loads("1", "complete")
	t.mustPut("1", "complete again")
	t.loads("1", "complete again")
}

func failedRead(t *snapshotTest) {
	t.mustPut("1", "text")
	broken := errors.New("broken")
	err := t.snapshots.Get(t.ctx, "1", func(io.ReaderAt, int64, uint64) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of read", err)
	}
	t.loads("1", "text")
}

func removedSnapshot(t *snapshotTest) {
	t.mustPut("1", "one")
	t.mustPut("2", "two")
	for _, id := range []string{"1", "1", "3", "99"} {
		if err := t.snapshots.Remove(t.ctx, id); err != nil {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	t.loadsNone("1")
	t.loads("2", "two")
	t.mustPut("1", "three")
	t.loads("1", "three")
}

func concurrentSnapshots(t *snapshotTest) {
	var wg sync.WaitGroup
	for _, id := range []string{"1", "2", "3", "4"} {
		wg.Go(func() {
			for i := range 10 {
				text := fmt.Sprint(id, i)
				if err := t.put(id, text); err != nil {
					t.Error(err)
				}
				t.loads(id, text)
			}
		})
	}
	wg.Wait()
}
