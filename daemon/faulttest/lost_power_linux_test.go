package faulttest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDevice: a file that is synced survives a power failure, one that is not does not.
func TestDevice(t *testing.T) {
	d := newDevice(t)
	for _, name := range []string{"synced", "written"} {
		f, err := os.Create(filepath.Join(d.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(name); err != nil {
			t.Fatal(err)
		}
		if name == "synced" {
			if err := f.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
	d.refuse()
	if err := d.restart(none); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(d.folder, "synced")); string(data) != "synced" {
		t.Errorf("synced: %q, %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(d.folder, "written")); !os.IsNotExist(err) && len(data) > 0 {
		t.Errorf("written: %q, %v", data, err)
	}
}
