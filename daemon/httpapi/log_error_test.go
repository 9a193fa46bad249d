package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
)

func TestWithoutPaths(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "documents/patients/x.md", Err: syscall.ENOSPC}
	write := &store.Error{Op: "write", Path: "patients/x.md", Err: full}
	rename := &os.LinkError{Op: "rename", Old: "patients/x.md", New: "patients/y.md", Err: syscall.EIO}
	for want, err := range map[string]error{
		"write: write: no space left on device":                                              write,
		"op 3: write: write: no space left on device":                                        fmt.Errorf("op 3: %w", write),
		"search brain eval: build the index: write: write: no space left on device":          fmt.Errorf("search brain eval: %w", fmt.Errorf("build the index: %w", write)),
		"delete: rename: input/output error":                                                 &store.Error{Op: "delete", Path: "patients/\x1b", Err: rename},
		"apply: rename: input/output error\nwrite: no space left on device":                  &store.Error{Op: "apply", Err: errors.Join(rename, full)},
		"write: write: no space left on device\nwrite: write: no space left on device":       errors.Join(write, write),
		"write: store is closed or read-only: an earlier commit hit write: disk; open again": &store.Error{Op: "write", Path: "patients/x.md", Err: fmt.Errorf("%w: an earlier commit hit %w; open again", store.ErrReadOnly, &fs.PathError{Op: "write", Path: "patients/x.md", Err: errors.New("disk")})},
		"the detail":   requestErrorf(errInvalid, "the detail"),
		"disk on fire": errors.New("disk on fire"),
	} {
		if got := withoutPaths(err); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if strings.Contains(withoutPaths(err), "patients") {
			t.Errorf("%v: the path is in the text", err)
		}
	}
}

// TestLogOfAStoreThatFails removes the directory that the store writes to.
func TestLogOfAStoreThatFails(t *testing.T) {
	dir := t.TempDir()
	folder, err := brain.OpenFolder(filepath.Join(dir, "brains"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, nil, brain.Config{
		Catalog: folder, Persistent: true,
		OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
			return fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
		},
	}, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	s.put(t, "patients/w.md", "healthy")
	if err := os.RemoveAll(filepath.Join(dir, "eval", ".store")); err != nil {
		t.Fatal(err)
	}
	const docs = "/v1/brains/eval/documents"
	s.expect(t, 500, "PUT", docs+"?path=patients/x.md", "ill", "Content-Type", protocol.TypeBytes)
	s.expect(t, 500, "POST", docs+"/append?path=patients/w.md", "ill", "Content-Type", protocol.TypeBytes)
	s.expect(t, 500, "POST", docs, `{"path":"patients/y.md","content":"ill"}`, "Content-Type", protocol.TypeJSON)
	s.expect(t, 500, "POST", docs+"/batch-ops", `{"ops":[{"type":"rename","path":"patients/w.md","to":"patients/z.md"}]}`, "Content-Type", protocol.TypeJSON)
	log := s.log.String()
	if n := strings.Count(log, "no such file or directory"); n < 4 {
		t.Errorf("the log has %d of 4 causes:\n%s", n, log)
	}
	if strings.Contains(log, "patients") {
		t.Errorf("the log contains paths:\n%s", log)
	}
}
