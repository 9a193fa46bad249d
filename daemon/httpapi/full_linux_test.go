package httpapi

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

// TestDiskFull: the client learns that the disk is full, and deletions help.
func TestDiskFull(t *testing.T) {
	dir := storetest.SmallDisk(t, "size=256k")
	s := serve(t, nil, brain.Config{OpenStore: func(ctx context.Context, r brain.Record) (*store.Store, error) {
		return fsstore.Open(ctx, filepath.Join(dir, r.Brain.ID), nil)
	}}, fakeReader())
	s.expect(t, 201, "POST", "/v1/brains", `{"id":"eval"}`)
	const target = "/v1/brains/eval/documents?path="
	names := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	for i, name := range names {
		res := s.do(t, "PUT", target+name, strings.Repeat("x", 20_000), "Content-Type", protocol.TypeBytes)
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == 204 {
			continue
		}
		if res.StatusCode != 507 || !strings.Contains(string(body), "free space") || strings.Contains(string(body), dir) {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		for _, written := range names[:i] {
			s.expect(t, 204, "DELETE", target+written, "")
		}
		s.expect(t, 204, "PUT", target+"small", "x", "Content-Type", protocol.TypeBytes)
		return
	}
	t.Error("the disk is not full")
}
