package fsstore_test

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// mounts are file systems that do not take all names, or cannot keep some apart. Each is a script that
// makes one in the file disk.img and mounts it at the folder disk.
var mounts = map[string]string{
	"ntfs":               "mkntfs -F -Q -q disk.img; ntfs-3g -o windows_names disk.img disk",
	"ntfs, lower case":   "mkntfs -F -Q -q disk.img; lowntfs-3g -o windows_names,ignore_case disk.img disk",
	"exfat":              "mkfs.exfat disk.img; mount -t exfat -o loop disk.img disk",
	"exfat by a program": "mkfs.exfat disk.img; mount.exfat-fuse $(losetup -f --show disk.img) disk; losetup -d $(losetup -n -O NAME -j disk.img)",
	"vfat":               "mkfs.vfat disk.img; mount -t vfat -o loop,utf8=1 disk.img disk",
	"vfat, one byte":     "mkfs.vfat disk.img; mount -t vfat -o loop,iocharset=iso8859-1 disk.img disk",
	"ext4 without case":  "mkfs.ext4 -q -F -O casefold disk.img; mount -o loop disk.img disk; mkdir disk/stores; chattr +F disk/stores",
}

// TestFileSystems: a store is the same on file systems that the kernel, or a program, can mount here.
func TestFileSystems(t *testing.T) {
	for name, script := range mounts {
		t.Run(name, func(t *testing.T) {
			mounted := mount(t, script)
			stores := 0
			open := func(t *testing.T) *store.Store {
				stores++
				s, err := fsstore.Open(t.Context(), filepath.Join(mounted, strconv.Itoa(stores)), &store.Options{Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return s
			}
			storetest.RunNames(t, open)
		})
	}
}

// mount returns a folder of a new file system.
func mount(t *testing.T, script string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount file systems")
	}
	dir := t.TempDir()
	disk, image := filepath.Join(dir, "disk"), filepath.Join(dir, "disk.img")
	if err := errors.Join(os.Mkdir(disk, 0o700), os.WriteFile(image, nil, 0o600), os.Truncate(image, 64<<20)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s: %v: %s", script, err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return filepath.Join(disk, "stores")
}
