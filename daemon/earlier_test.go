package daemon_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/internal/awaittest"
)

// TestEarlierHomes opens homes that earlier versions of the program have written, see
// testdata/homes/make.py. Every document is there, and the home works as a new one does.
func TestEarlierHomes(t *testing.T) {
	archives, err := filepath.Glob("testdata/homes/*.tar.gz")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	want := map[string]string{
		"notes/a.md": "one\n", "notes/b.md": "two, second version\n", "batch/x.md": "x\n", "batch/y.md": "y\n",
		"d/1.md": "document 1\n", "d/2.md": "document 2\n", "d/3.md": "document 3\n", "d/4.md": "document 4\n",
		"d/5.md": "document 5\n", "d/6.md": "document 6\n", "d/7.md": "document 7\n",
	}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			unpack(t, archive, home)
			store, _, _ := strings.Cut(name, "-")
			cfg := onDisk(home, store, &awaittest.Log{})
			for range 2 { // with the converted home, too
				d := serve(t, cfg)
				list := d.expect(t, 200, "GET", "/v1/brains/ana/documents?recursive=true", "", "")
				for path, content := range want {
					got := d.expect(t, 200, "GET", "/v1/brains/ana/documents/read?path="+url.QueryEscape(path), "", "")
					if got != content || !strings.Contains(list, `"`+path+`"`) {
						t.Errorf("%s is %q", path, got)
					}
				}
				for _, gone := range []string{"gone.md", "d/0.md"} {
					d.expect(t, 404, "GET", "/v1/brains/ana/documents/read?path="+gone, "", "")
				}
				if strings.Contains(list, "edited by hand") {
					t.Errorf("listed: %s", list)
				}
				if !strings.Contains(name, "20261121") { // which had no sessions
					session := d.expect(t, 200, "GET", "/v1/brains/ana/sessions/s1", "", "")
					if !strings.Contains(session, `"messages":1`) {
						t.Errorf("session: %s", session)
					}
				}
				if got := d.expect(t, 200, "GET", "/v1/brains/ana/search?q=version", "", ""); !strings.Contains(got, "notes/b.md") {
					t.Errorf("found: %s", got)
				}
				d.expect(t, 204, "PUT", "/v1/brains/ana/documents?path=new.md", octets, "new")
				if err := d.stop(); err != nil {
					t.Fatal(err)
				}
			}
			if store == "fs" {
				dir := filepath.Join(home, "brains", "ana", ".store")
				var files []string
				entries, err := os.ReadDir(dir)
				for _, e := range entries {
					files = append(files, e.Name())
				}
				want := []string{"closed", "journal", "journal.2", "lock", "names", "schema"}
				if strings.HasSuffix(name, "in-batch") {
					want = slices.Insert(want, 5, "replaced") // the file of a document that the batch deletes
				}
				if diff := cmp.Diff(want, slices.Sorted(slices.Values(files))); diff != "" || err != nil {
					t.Errorf("state (-want +got):\n%s%v", diff, err)
				}
				if version, err := os.ReadFile(filepath.Join(dir, "schema")); string(version) != "3\n" {
					t.Errorf("version %q, %v", version, err)
				}
			}
		})
	}
}

// unpack unpacks an archive of folders and files.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(target, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(target, data, h.FileInfo().Mode())
			}
		}
		if err == nil {
			err = os.Chtimes(target, h.ModTime, h.ModTime)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
