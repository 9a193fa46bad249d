package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"evalctl/internal/longtest"
)

const (
	deviceSize = 1 << 30 // of which only what is written takes memory
	sectorSize = 512     // is written as a whole or not at all
	deviceName = "device"
)

// device is a disk with a cache that loses power. The kernel's loop device is on it, and a real file
// system on that: what they write is in the cache of the disk until they flush it.
type device struct {
	t      testing.TB
	folder string // the mounted file system
	image  string // the file that the loop device is on

	mu      sync.Mutex
	durable *os.File // what survives
	current *os.File // what is read: durable and everything in the cache
	cache   []extent // in the order of the writes
	refuses bool     // every write and flush fails
	spoils  []byte   // if not empty, writes that contain it fail
	lost    int      // bytes that were in the cache when the power failed and did not survive
}

// extent is a part of a device.
type extent struct {
	offset int64
	data   []byte
}

// newDevice mounts a new ext4 file system on a device. It is unmounted when the test ends, however
// the test ends.
func newDevice(t testing.TB) *device {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a device that loses power")
	}
	dir, err := os.MkdirTemp(longtest.MemoryDir(), "evalctl-device-") //nolint:usetesting // other users cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &device{t: t, folder: filepath.Join(dir, "folder"), image: filepath.Join(dir, "fuse", deviceName)}
	for _, folder := range []string{d.folder, filepath.Dir(d.image)} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.format(dir); err != nil {
		t.Skipf("cannot make a file system here: %v", err)
	}
	d.keep(dir)
	server, err := d.serve()
	if err != nil {
		t.Skipf("cannot mount with FUSE here: %v", err)
	}
	t.Cleanup(func() { _ = server.Unmount() })
	if err := d.mount(); err != nil {
		t.Skipf("cannot mount a loop device here: %v", err)
	}
	t.Cleanup(func() { _ = d.unmount() })
	if err := os.Chmod(d.folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return d
}

// serve serves the folder of the image by FUSE. No other process inherits the connection: one that
// outlived this process would keep the kernel waiting for replies, and with it every loop device of
// the machine.
func (d *device) serve() (*fuse.Server, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	server, err := fs.Mount(filepath.Dir(d.image), &deviceFolder{d: d}, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, MaxWrite: 1 << 20, Name: "evalctl-test", FsName: "evalctl-test"},
	})
	if err != nil {
		return nil, err
	}
	const own = "/proc/self/fd"
	files, err := os.ReadDir(own)
	for _, f := range files {
		if target, _ := os.Readlink(filepath.Join(own, f.Name())); target != "/dev/fuse" {
			continue
		}
		var fd int
		if fd, err = strconv.Atoi(f.Name()); err == nil {
			syscall.CloseOnExec(fd)
		}
	}
	return server, err
}

// format makes the files of the device in a folder, with an empty file system.
func (d *device) format(dir string) error {
	durable, current := filepath.Join(dir, "durable"), filepath.Join(dir, "current")
	err := run("truncate", "-s", fmt.Sprint(deviceSize), durable)
	if err == nil {
		err = run("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard", durable)
	}
	if err == nil {
		err = run("cp", "--sparse=always", durable, current)
	}
	if err != nil {
		return err
	}
	if d.durable, err = os.OpenFile(durable, os.O_RDWR, 0); err != nil {
		return err
	}
	d.t.Cleanup(func() { _ = d.durable.Close() })
	if d.current, err = os.OpenFile(current, os.O_RDWR, 0); err != nil {
		return err
	}
	d.t.Cleanup(func() { _ = d.current.Close() })
	return nil
}

// keep has a process unmount everything if this one is killed.
func (d *device) keep(dir string) {
	d.t.Helper()
	keeper := exec.Command("sh", "-c", `cat; umount -l "$1/folder" "$1/fuse" 2>/dev/null; rm -rf "$1"`, "sh", dir)
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	alive, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = alive.Close()
		_ = keeper.Wait()
	})
}

// longest limits the time of a program, which may wait for another file system.
const longest = 2 * time.Minute

func run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if ctx.Err() != nil {
		return fmt.Errorf("%s %v: not done after %v", name, args, longest)
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, out)
	}
	return nil
}

func (d *device) mount() error {
	return run("mount", "-o", "loop,errors=remount-ro", "-t", "ext4", d.image, d.folder)
}

func (d *device) unmount() error { return run("umount", d.folder) }

// sync makes everything durable.
func (d *device) sync() {
	d.t.Helper()
	if err := run("sync", "-f", d.folder); err != nil {
		d.t.Fatal(err)
	}
}

// refuse has the device fail every write and flush from now on.
func (d *device) refuse() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refuses = true
}

// spoil has the device fail writes that contain a text, or none if it is empty.
func (d *device) spoil(text []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spoils = text
}

// restart mounts the file system of a device that refuses writes, on which no process may be at work
// any more. What was in the cache survives if survives says so; a sector survives as a whole.
func (d *device) restart(survives func() bool) error {
	if err := d.unmount(); err != nil {
		return err
	}
	if err := d.lose(survives); err != nil {
		return err
	}
	return d.mount()
}

// lose decides for each sector of the cache whether it survives.
func (d *device) lose(survives func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.cache {
		for from := 0; from < len(e.data); from += sectorSize {
			sector := e.data[from:min(from+sectorSize, len(e.data))]
			if !survives() {
				d.lost += len(sector)
				continue
			}
			if _, err := d.durable.WriteAt(sector, e.offset+int64(from)); err != nil {
				return err
			}
		}
	}
	for _, e := range d.cache {
		now := make([]byte, len(e.data))
		if _, err := d.durable.ReadAt(now, e.offset); err != nil {
			return err
		}
		if _, err := d.current.WriteAt(now, e.offset); err != nil {
			return err
		}
	}
	d.cache, d.refuses = nil, false
	return nil
}

// Sectors of the cache that survive.
func none() bool { return false }
func all() bool  { return true }

// some lets a part of the sectors survive that differs from failure to failure.
func some(rng *rand.Rand) func() bool {
	part := rng.Float64()
	return func() bool { return rng.Float64() < part }
}

func (d *device) write(data []byte, offset int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses || len(d.spoils) > 0 && bytes.Contains(data, d.spoils) {
		return syscall.EIO
	}
	d.cache = append(d.cache, extent{offset, append([]byte(nil), data...)})
	_, err := d.current.WriteAt(data, offset)
	return err
}

func (d *device) flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuses {
		return syscall.EIO
	}
	for _, e := range d.cache {
		if _, err := d.durable.WriteAt(e.data, e.offset); err != nil {
			return err
		}
	}
	d.cache = nil
	return nil
}

// deviceFolder is the folder that has the file of a device.
type deviceFolder struct {
	fs.Inode
	d *device
}

var _ fs.NodeOnAdder = (*deviceFolder)(nil)

// OnAdd implements fs.NodeOnAdder.
func (f *deviceFolder) OnAdd(ctx context.Context) {
	f.AddChild(deviceName, f.NewPersistentInode(ctx, &deviceFile{d: f.d}, fs.StableAttr{Mode: fuse.S_IFREG}), false)
}

// deviceFile is the file of a device.
type deviceFile struct {
	fs.Inode
	d *device
}

var (
	_ fs.NodeOpener    = (*deviceFile)(nil)
	_ fs.NodeGetattrer = (*deviceFile)(nil)
	_ fs.NodeReader    = (*deviceFile)(nil)
	_ fs.NodeWriter    = (*deviceFile)(nil)
	_ fs.NodeFsyncer   = (*deviceFile)(nil)
)

// Open implements fs.NodeOpener. The kernel keeps no copy.
func (f *deviceFile) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Getattr implements fs.NodeGetattrer.
func (f *deviceFile) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, deviceSize
	return 0
}

// Read implements fs.NodeReader.
func (f *deviceFile) Read(_ context.Context, _ fs.FileHandle, to []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	n, err := f.d.current.ReadAt(to, offset)
	if n == 0 && err != nil {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(to[:n]), 0
}

// Write implements fs.NodeWriter.
func (f *deviceFile) Write(_ context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	if err := f.d.write(data, offset); err != nil {
		return 0, fs.ToErrno(err)
	}
	return uint32(len(data)), 0
}

// Fsync implements fs.NodeFsyncer.
func (f *deviceFile) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return fs.ToErrno(f.d.flush())
}

// TestDeviceIsNotInherited: started processes, which may outlive this one, do not hold the device.
func TestDeviceIsNotInherited(t *testing.T) {
	newDevice(t)
	open, err := exec.Command("ls", "-l", "/proc/self/fd").CombinedOutput()
	if err != nil || strings.Contains(string(open), "fuse") {
		t.Errorf("%v: a started process has open:\n%s", err, open)
	}
}
