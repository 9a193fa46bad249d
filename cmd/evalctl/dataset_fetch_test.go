package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fetchFile runs dataset fetch and returns the exit code, stdout and stderr.
func fetchFile(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return inProcess(t.Context(), append([]string{"dataset", "fetch"}, args...)...)
}

func TestFetchURL(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("a question and its answer\n", 5000)
	sum := sha256.Sum256([]byte(content))
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; r.URL.Path != "/data/set.json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"1"`)
		if requests == 1 { // the first response is cut off
			w.Header().Set("Content-Length", "130000")
			_, _ = w.Write([]byte(content[:50_000]))
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(dir, "set.json")
	args := []string{
		"--url", server.URL + "/data/set.json?key=hidden", "--cache-dir", dir,
		"--sha256", hex.EncodeToString(sum[:]),
	}
	code, stdout, stderr := fetchFile(t, args...)
	if code != 0 || stdout != file+"\n" || !strings.Contains(stderr, "130.0 kB downloaded") ||
		!strings.Contains(stderr, hex.EncodeToString(sum[:])+"  verified") ||
		!strings.Contains(stderr, "retry       unexpected EOF; next attempt in") ||
		strings.Contains(stderr, "hidden") || requests != 2 {
		t.Errorf("%d, %d requests\n%s\n%s", code, requests, stdout, stderr)
	}
	code, stdout, stderr = fetchFile(t, args[:4]...)
	if code != 0 || stdout != file+"\n" || requests != 2 || !strings.Contains(stderr, "already downloaded") ||
		!strings.Contains(stderr, "not verified: give --sha256 if you know what it must be") {
		t.Errorf("%d, %d requests\n%s\n%s", code, requests, stdout, stderr)
	}
	code, stdout, stderr = fetchFile(t, append(args[:4:4], "--quiet", "--sha256", strings.Repeat("0", 64))...)
	if code != exitUsage || stdout != "" || !strings.Contains(stderr, "remove it to download it again") {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, stderr = fetchFile(t, "--url", server.URL+"/nothing.json", "--cache-dir", dir)
	if code != exitUsage || stdout != "" ||
		!strings.Contains(stderr, server.URL+"/nothing.json: the server answered 404 Not Found; check the URL") {
		t.Errorf("%d\n%s\n%s", code, stdout, stderr)
	}
}
