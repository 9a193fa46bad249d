package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
)

// TestVanishedDocuments: documents that vanish while the daemon runs, or while it does not, are an
// error, and are there again once they are restored.
func TestVanishedDocuments(t *testing.T) {
	t.Parallel()
	for store, folder := range map[string]string{daemon.StoreFS: "documents", daemon.StoreGit: "repository"} {
		t.Run(store, func(t *testing.T) {
			home, log := t.TempDir(), &awaittest.Log{}
			cfg := onDisk(home, store, log)
			fill(t, cfg, "ana")
			brain, away := filepath.Join(home, "brains", "ana"), filepath.Join(home, "away")
			move := func(from, to string) {
				t.Helper()
				if err := os.Rename(from, to); err != nil {
					t.Fatal(err)
				}
			}
			var d running
			vanished := func() {
				t.Helper()
				for _, request := range []string{"GET /documents?recursive=true", "GET /documents/read?path=a.md", "GET /search?q=otter", "PUT /documents?path=b.md"} {
					method, path, _ := strings.Cut(request, " ")
					got := d.expect(t, 503, method, "/v1/brains/ana"+path, octets, "")
					if !strings.Contains(got, protocol.CodeBrainUnavailable) || !strings.Contains(got, "restore") || strings.Contains(got, home) {
						t.Errorf("%s: %s", request, got)
					}
				}
			}
			back := func() {
				t.Helper()
				if got := d.expect(t, 200, "GET", "/v1/brains/ana/search?q=otter", "", ""); !strings.Contains(got, "a.md") {
					t.Errorf("found %s", got)
				}
			}
			move(filepath.Join(brain, folder), filepath.Join(home, "away"))
			d = serve(t, cfg)
			vanished()
			move(away, filepath.Join(brain, folder))
			back()
			move(filepath.Join(brain, folder), away)
			vanished()
			move(away, filepath.Join(brain, folder))
			back()
			// All of the brain, while the daemon runs.
			move(brain, away)
			vanished()
			if err := os.RemoveAll(brain); err != nil {
				t.Fatal(err)
			}
			move(away, brain)
			back()
		})
	}
}

// TestForeignGit: what other git programs do to the repository of a brain is visible to the next
// request, and their locks are reported.
func TestForeignGit(t *testing.T) {
	home, log := t.TempDir(), &awaittest.Log{}
	d := serve(t, onDisk(home, daemon.StoreGit, log))
	d.expect(t, 201, "POST", "/v1/brains", js, `{"id":"ana"}`)
	put := func(status int, text string) string {
		t.Helper()
		return d.expect(t, status, "PUT", "/v1/brains/ana/documents?path=a.md", octets, text)
	}
	put(204, "otter")
	put(204, "walrus")
	finds := func(query, want string) {
		t.Helper()
		if got := d.expect(t, 200, "GET", "/v1/brains/ana/search?q="+query, "", ""); !strings.Contains(got, want) {
			t.Errorf("search for %s: %s", query, got)
		}
	}
	finds("walrus", `"path":"a.md"`)

	dir := filepath.Join(home, "brains", "ana", "repository")
	if out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "update-ref", "refs/heads/main", "HEAD~1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	finds("otter", `"path":"a.md"`)
	finds("walrus", `"chunks":[]`)
	if got := d.expect(t, 200, "GET", "/v1/brains/ana/documents/read?path=a.md", "", ""); got != "otter" {
		t.Errorf("read %q", got)
	}
	put(204, "seal")
	finds("seal", `"path":"a.md"`)

	lock := filepath.Join(dir, ".git", "refs", "heads", "main.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	resp := d.open(t, "PUT", "/v1/brains/ana/documents?path=a.md", octets, "x")
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("locked: %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if got := put(503, "x"); !strings.Contains(got, protocol.CodeBrainLocked) || !strings.Contains(got, ".git/refs/heads/main.lock") || strings.Contains(got, home) {
		t.Errorf("locked: %s", got)
	}
	finds("seal", `"path":"a.md"`)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	put(204, "x")
}
