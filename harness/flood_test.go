package harness

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/daemontest"
	"evalctl/harness/resulttest"
	"evalctl/internal/filetest"
)

// TestFailuresOfAFloodingDaemon checks the size of the files of a run whose daemon sends megabytes
// before it fails.
func TestFailuresOfAFloodingDaemon(t *testing.T) {
	flood := strings.Repeat("x", 1<<20)
	d := openDataset(t, writeDataset(t, 4))
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, event("retrieve", `{"chunks":[{"chunk_id":"c","text":"`+flood+`"}],"effective_mode":"bm25"}`)+
			event("token", `{"token":"`+flood+`"}`)+event("citation", `{"quote":"`+flood+`"}`)+
			event("error", `{"message":"`+flood+`"}`))
	})
	dir := t.TempDir()
	path := setUp(t, s, d, dir).finish(t)
	data := filetest.Read(t, path)
	if err := resulttest.Validate("result", data); err != nil {
		t.Errorf("not valid against the schema: %v", err)
	}
	if n := len(data); n > 4*(64<<10)+64<<10 {
		t.Errorf("%s has %d bytes", filepath.Base(path), n)
	}
}
