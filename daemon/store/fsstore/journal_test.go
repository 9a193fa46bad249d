package fsstore

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/store"
)

// encodeEntry returns the content of a journal of version 1 of the layout.
func encodeEntry(t testing.TB, e entry) []byte {
	t.Helper()
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		t.Fatal(err)
	}
	return addHeader(body.Bytes())
}

// addHeader returns the content of a journal file with an encoded entry.
func addHeader(body []byte) []byte {
	out := []byte(journalMagic)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, castagnoli()))
	out = binary.BigEndian.AppendUint64(out, uint64(len(body)))
	return append(out, body...)
}

// oldStore makes a store of version 1 of the layout, with documents and a journal.
func oldStore(t *testing.T, docs map[string]string, journal []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{schemaFile: "1\n", logFiles[0]: string(journal), undoDir + "/0": "old"}
	for path, content := range docs {
		files[documentsDir+"/"+path] = content
	}
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Unix(1_600_000_000, 0)
		if err := os.Chtimes(file, long, long); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOldJournal: a batch that version 1 of the layout has not finished is finished, whatever part of
// it is in the files.
func TestOldJournal(t *testing.T) {
	e := entry{When: time.UnixMilli(1_700_000_000_123), Ops: []store.Op{
		writeOp("a", "new"), deleteOp("d/b"), writeOp("d/c/n", "new"), deleteOp("x/y"),
		writeOp("x", "now a document"), deleteOp("p"), writeOp("p/q", "now below"),
	}}
	want := map[string]string{"./": "", "a": "new", "d/": "", "d/c/": "", "d/c/n": "new", "keep": "1",
		"x": "now a document", "p/": "", "p/q": "now below"}
	for i, docs := range []map[string]string{
		{"a": "old", "d/b": "old", "x/y": "old", "p": "old", "keep": "1"},
		{"a": "n", "d/b": "old", "x/y": "old", "p": "old", "keep": "1"},
		{"a": "new", "d/c/n": "", "x": "now a d", "p": "old", "keep": "1"},
		{"a": "new", "d/c/n": "new", "x": "now a document", "p/q": "", "keep": "1"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := oldStore(t, docs, encodeEntry(t, e))
			b := openBackend(t, dir)
			if diff := cmp.Diff(want, tree(t, filepath.Join(dir, documentsDir))); diff != "" {
				t.Errorf("documents (-want +got):\n%s", diff)
			}
			info, err := b.Stat(t.Context(), "a")
			if err != nil || !info.ModTime.Equal(e.When) {
				t.Errorf("stat: %+v, %v, want time %v", info, err, e.When)
			}
			if schema, err := os.ReadFile(filepath.Join(dir, schemaFile)); string(schema) != "2\n" {
				t.Errorf("schema %q, %v", schema, err)
			}
		})
	}
}

// TestTornJournal cuts the journal, or changes a bit in it, at every byte: only a complete one is
// used.
func TestTornJournal(t *testing.T) {
	data := encodeEntry(t, entry{When: time.Now(), Ops: []store.Op{writeOp("a", "1"), deleteOp("b")}})
	for n := range data {
		if _, ok, err := decodeEntry(data[:n]); ok || err != nil {
			t.Errorf("cut at %d: %t, %v", n, ok, err)
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 0x40
		if _, ok, err := decodeEntry(flipped); ok || err != nil {
			t.Errorf("bit flipped in byte %d: %t, %v", n, ok, err)
		}
	}
	got, ok, err := decodeEntry(data)
	if err != nil || !ok || len(got.Ops) != 2 || got.Ops[0].Path != "a" || string(got.Ops[0].Data) != "1" {
		t.Errorf("got %+v, %t, %v", got, ok, err)
	}
}

func TestJournalWithInvalidPath(t *testing.T) {
	dir := oldStore(t, nil, encodeEntry(t, entry{Ops: []store.Op{writeOp("../out", "x"), writeOp("a", "x")}}))
	if err := os.Mkdir(filepath.Join(dir, documentsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	if b, err := open(t.Context(), dir, nil); !store.IsInvalidPath(err) {
		t.Errorf("got %v, %v", b, err)
	}
}

func FuzzDecodeEntry(f *testing.F) {
	for _, e := range []entry{{}, {Ops: []store.Op{writeOp("a", "1"), deleteOp("b/c")}}} {
		data := encodeEntry(f, e)
		f.Add(data)
		f.Add(data[journalHeader:])
	}
	f.Add([]byte(journalMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, ok, err := decodeEntry(data); ok && err != nil {
			t.Fatal("both an entry and an error")
		}
		// With a valid header, so that decoding gets past the checksum.
		e, ok, err := decodeEntry(addHeader(data))
		if !ok || err != nil {
			return
		}
		if e2, ok, err := decodeEntry(encodeEntry(t, e)); !ok || err != nil || !cmp.Equal(e, e2) {
			t.Fatalf("%+v is decoded as %+v, %v", e, e2, err)
		}
	})
}
