//go:build unix

package daemon_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"evalctl/daemon"
	"evalctl/internal/llm"
	"evalctl/internal/sse"
)

// limitFiles sets how many files the process may have open during a test.
func limitFiles(t *testing.T, set func(*syscall.Rlimit)) {
	t.Helper()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	now := was
	set(&now)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
		t.Skipf("the limit of open files cannot be set: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Error(err)
		}
	})
}

// TestMoreBrainsThanFiles uses more brains than the process may have open stores, while a
// client streams the changes of one of them.
func TestMoreBrainsThanFiles(t *testing.T) {
	for store, brains := range map[string]int{daemon.StoreFS: 120, daemon.StoreGit: 60} {
		t.Run(store, func(t *testing.T) {
			limitFiles(t, func(l *syscall.Rlimit) { l.Cur = 128 })
			d := serve(t, daemon.Config{Home: t.TempDir(), Store: store, Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
			brain := func(i int) string { return fmt.Sprint("/v1/brains/b", i) }
			for i := range brains {
				d.expect(t, 201, "POST", "/v1/brains", "application/json", fmt.Sprintf(`{"id":"b%d"}`, i))
			}
			resp := d.open(t, "GET", brain(0)+"/events", "", "")
			defer resp.Body.Close()
			defer time.AfterFunc(2*time.Minute, func() { resp.Body.Close() }).Stop() // so that a failure does not hang
			events := sse.NewReader(resp.Body, 0)
			expect := func(name, path string) {
				t.Helper()
				if e, err := events.Next(); err != nil || e.Name != name || !strings.Contains(string(e.Data), path) {
					t.Fatalf("got event %s %s, %v, want %s %s", e.Name, e.Data, err, name, path)
				}
			}
			expect("ready", "")
			for i := range brains {
				d.expect(t, 204, "PUT", brain(i)+"/documents?path=a.md", octets, "otter")
			}
			expect("change", "a.md")
			for i := range brains {
				if got := d.expect(t, 200, "GET", brain(i)+"/search?q=otter", "", ""); !strings.Contains(got, `"path":"a.md"`) {
					t.Fatalf("brain %d: found %s", i, got)
				}
			}
			d.expect(t, 204, "PUT", brain(0)+"/documents?path=b.md", octets, "otter")
			expect("change", "b.md")
		})
	}
}
