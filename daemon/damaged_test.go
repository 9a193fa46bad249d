package daemon_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/protocol"
	"evalctl/internal/awaittest"
	"evalctl/internal/llm"
)

func onDisk(home, store string, log *awaittest.Log) daemon.Config {
	return daemon.Config{
		Home: home, Store: store, Reader: llm.NewFake(), ReaderModel: llm.FakeModel,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	}
}

const js = "application/json"

// write replaces a file below the brains of a home.
func writeFile(t *testing.T, home, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "brains", name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// fill creates brains with one document each, and stops the daemon.
func fill(t *testing.T, cfg daemon.Config, brains ...string) {
	t.Helper()
	d := serve(t, cfg)
	for _, id := range brains {
		d.expect(t, 201, "POST", "/v1/brains", js, `{"id":"`+id+`"}`)
		d.expect(t, 204, "PUT", "/v1/brains/"+id+"/documents?path=a.md", octets, "otter")
	}
	if err := d.stop(); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedBrainIsAlone: a daemon starts although some of its brains cannot be read, and says
// which, why, and what to do.
func TestADamagedBrainIsAlone(t *testing.T) {
	home, log := t.TempDir(), &awaittest.Log{}
	cfg := onDisk(home, daemon.StoreFS, log)
	fill(t, cfg, "cut", "newer", "newerstore", "good")
	writeFile(t, home, "cut/brain.json", `{"version": 1, "br`)
	writeFile(t, home, "newer/brain.json", `{"version": 9, "brain": {"id": "newer"}}`)
	writeFile(t, home, "newerstore/.store/schema", "9\n")

	d := serve(t, cfg)
	if got := d.expect(t, 200, "GET", "/healthz", "", ""); !strings.Contains(got, `"damaged_brains":2`) {
		t.Errorf("health is %s", got)
	}
	if !strings.Contains(log.String(), filepath.Join(home, "brains", "cut", "brain.json")) {
		t.Errorf("the log does not name the file: %s", log)
	}
	if got := d.expect(t, 200, "GET", "/v1/brains/good/search?q=otter", "", ""); !strings.Contains(got, "a.md") {
		t.Errorf("found %s", got)
	}
	for _, tt := range []struct {
		brain  string
		status int
		code   string
		detail string
	}{
		{"cut", 503, protocol.CodeBrainUnavailable, "brain.json in its folder, is missing or damaged: restore it"},
		{"newer", 501, protocol.CodeSchemaVersion, "written by a newer program"},
		{"newerstore", 501, protocol.CodeSchemaVersion, "contains version 9"},
	} {
		for _, request := range []string{"GET /documents?recursive=true", "GET /search?q=otter", "DELETE /documents?path=a.md"} {
			method, path, _ := strings.Cut(request, " ")
			got := d.expect(t, tt.status, method, "/v1/brains/"+tt.brain+path, "", "")
			if !strings.Contains(got, `"code":"`+tt.code+`"`) || !strings.Contains(got, tt.detail) || strings.Contains(got, home) {
				t.Errorf("%s of %s: %s", request, tt.brain, got)
			}
		}
	}
	d.expect(t, 409, "POST", "/v1/brains", js, `{"id":"cut"}`)
}
