package source

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"testing"

	"evalctl/internal/download"
)

// TestPublished checks the table of benchmarks.
func TestPublished(t *testing.T) {
	names, files := map[string]bool{}, map[string]bool{}
	for _, b := range AllPublished() {
		sum, err := hex.DecodeString(b.SHA256)
		u, urlErr := url.Parse(b.URL)
		if err != nil || len(sum) != sha256.Size || urlErr != nil || u.Scheme != "https" || b.Size == 0 ||
			b.Licence == "" || b.About == "" {
			t.Errorf("%+v: %v %v", b, err, urlErr)
		}
		file, err := download.FileName(b.URL)
		if err != nil || names[b.Name] || files[file] {
			t.Errorf("%s: %s, %v", b.Name, file, err)
		}
		names[b.Name], files[file] = true, true
	}
}
