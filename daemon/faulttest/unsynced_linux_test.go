package faulttest

import (
	"os"
	"os/exec"
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
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	d.refuse()
	if err := d.restart(none); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(d.folder, "synced")); string(data) != "synced" {
		t.Errorf("synced: %q, %v", data, err)
	}
	if data, _ := os.ReadFile(filepath.Join(d.folder, "written")); len(data) > 0 {
		t.Errorf("written: %q", data)
	}
}

// syncCalls are the system calls that make something durable.
const syncCalls = "fsync,fdatasync,syncfs,sync,sync_file_range,msync"

// TestUnsyncedStore: the power failures of the matrix find a store that does not sync. Those in files
// run with system calls that say that they have synced and have not.
func TestUnsyncedStore(t *testing.T) {
	onlyLong(t)
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			var settings []string
			if store == "postgres" {
				settings = []string{"fsync=off"}
			} else if _, err := exec.LookPath("strace"); err != nil {
				t.Skip("needs strace")
			}
			d := newDevice(t)
			s := newSite(t, store, d.folder, settings...)
			s.device = d
			if s.home != "" {
				s.daemon.kill()
				s.daemon.under = []string{
					"strace", "-D", "-f", "-qqq", "-o", "/dev/null",
					"-e", "trace=" + syncCalls, "-e", "inject=" + syncCalls + ":retval=0",
				}
				if err := s.start(); err != nil {
					t.Fatal(err)
				}
			}
			d.sync()
			s.play(1, fault{strike: losePower, mend: restorePower})
			if len(s.broken()) == 0 {
				t.Error("no acknowledged write is lost")
			}
			t.Logf("%d acknowledged, %d lost, %d KiB of the cache lost: %.120q", s.counts.acknowledged(), s.lost, d.lost>>10, s.broken())
		})
	}
}
