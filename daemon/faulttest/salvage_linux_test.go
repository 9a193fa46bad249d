package faulttest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"evalctl/daemon"
)

// TestSalvagedIsDurable: a power failure after a salvage loses none of its files.
func TestSalvagedIsDurable(t *testing.T) {
	d := newDevice(t)
	damaged, salvaged := filepath.Join(t.TempDir(), "damaged"), filepath.Join(d.folder, "salvaged")
	s := openStore(t, "fs", filepath.Join(damaged, "brains", "notes"), nil)
	if err := s.Write(t.Context(), "kettle", []byte("green")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	record := []byte(`{"version": 1}`)
	if err := os.WriteFile(filepath.Join(damaged, "brains", "notes", "brain.json"), record, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Salvage(t.Context(), damaged, salvaged, io.Discard); err != nil {
		t.Fatal(err)
	}
	d.refuse()
	if err := d.restart(none); err != nil {
		t.Fatal(err)
	}
	brain := filepath.Join(salvaged, "brains", "notes")
	for file, want := range map[string]string{"documents/kettle": "green", "brain.json": string(record)} {
		if data, err := os.ReadFile(filepath.Join(brain, file)); err != nil || string(data) != want {
			t.Errorf("%s is %q, %v", file, data, err)
		}
	}
}
