package faulttest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

// TestLogAfterWriteErrors: for a moment, the disk cannot write to the log of a store. What is
// acknowledged later is there after the power has failed, whether the store goes on, or is closed
// and opened again, also as one that could not undo the write.
func TestLogAfterWriteErrors(t *testing.T) {
	d := newDevice(t)
	text := []byte(strings.Repeat("kettle", 2*blockSize/6) + "otter" + strings.Repeat("kettle", blockSize/6))
	for name, spoilt := range map[string]string{"goes on": "otter", "closed": "otter", "broken": "kettlekettle"} {
		dir := filepath.Join(d.folder, name)
		s := openStore(t, "fs", dir, nil)
		d.spoil([]byte(spoilt))
		if err := s.Write(t.Context(), "pot", text); !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
		d.spoil(nil)
		if s.Broken() != (name == "broken") {
			t.Errorf("%s: broken %t", name, s.Broken())
		}
		if name != "goes on" {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s = openStore(t, "fs", dir, nil)
		}
		if err := s.Write(t.Context(), "kettle", text); err != nil {
			t.Fatal(err)
		}
		d.refuse()
		_ = s.Close() // after the power has failed
		if err := d.restart(none); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, "fs", dir, nil)
		if data, err := s.Read(t.Context(), "kettle"); string(data) != string(text) {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestVanishedAfterPowerFailure: a store that was closed before the power has failed knows that it
// had documents.
func TestVanishedAfterPowerFailure(t *testing.T) {
	d := newDevice(t)
	dir := filepath.Join(d.folder, "store")
	s := openStore(t, "fs", dir, nil)
	if err := errors.Join(s.Write(t.Context(), "kettle", nil), s.Close()); err != nil {
		t.Fatal(err)
	}
	d.refuse()
	if err := d.restart(none); err != nil {
		t.Fatal(err)
	}
	documents := filepath.Join(dir, "documents")
	if err := errors.Join(os.RemoveAll(documents), os.Mkdir(documents, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := fsstore.Open(t.Context(), dir, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %v", err)
	}
}
