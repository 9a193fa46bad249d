package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"evalctl/daemon/search/document"
)

var snapshotTime = time.Date(2024, 5, 8, 9, 10, 11, 12, time.UTC)

func snapshot(tb testing.TB, ix *Index) []byte {
	tb.Helper()
	var buf bytes.Buffer
	if err := ix.WriteSnapshot(&buf, snapshotTime); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func readSnapshot(data []byte, opts *Options) (*Index, error) {
	ix, when, err := ReadSnapshot(bytes.NewReader(data), int64(len(data)), opts)
	if err == nil && !when.Equal(snapshotTime) {
		return nil, fmt.Errorf("time %v, want %v", when, snapshotTime)
	}
	return ix, err
}

// documentsOfAllKinds returns documents with everything that a snapshot keeps.
func documentsOfAllKinds() []document.Document {
	return []document.Document{
		{Path: "a/trip.md", Title: "Trip", Tags: []string{"sea", ""}, Date: time.Date(2024, 5, 8, 9, 0, 0, 1, time.FixedZone("", 7200)),
			Metadata: map[string]any{"s": "é", "": 1, "i": -5, "z": nil, "f": 1.5, "b": true, "n": false},
			Text:     "# Trip\n\nBy the sea.\n\n## Day 2\n\n" + strings.Repeat("A museum of tiles. ", 40), Source: "v1"},
		{Path: "a/empty.txt"},
		{Path: "_all.md", Text: "the cats", Generated: true},
		{Path: "b.txt", Text: "cat dog"},
		{Path: "white.txt", Text: " \n"},
		{Path: "bad.md", Text: "dated wrongly", BadDate: true},
	}
}

func TestSnapshot(t *testing.T) {
	opts := &Options{ChunkSize: 64}
	ix := New(opts)
	for _, d := range documentsOfAllKinds() {
		ix.Put(d)
	}
	ix.Delete("b.txt")
	got, err := readSnapshot(snapshot(t, ix), opts)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range ix.docs {
		if diff := gocmp.Diff(want.Document, got.docs[path].Document); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", path, diff)
		}
	}
	for _, x := range []*Index{ix, got} { // both continue in the same way
		x.Put(document.Document{Path: "a/trip.md", Text: "cat museum"})
		x.Put(document.Document{Path: "new.md", Text: "a new word"})
		x.Delete("white.txt")
		checkSequences(t, x)
		checkNeighbours(t, x)
	}
	for _, query := range []string{"cat museum", "new", "tiles", "all"} {
		q := Query{Text: query, Filter: Filter{Generated: true}}
		if diff := gocmp.Diff(ix.Search(q), got.Search(q)); diff != "" {
			t.Errorf("%q differs (-want +got):\n%s", query, diff)
		}
	}
	if got.Len() != ix.Len() {
		t.Errorf("%d documents, want %d", got.Len(), ix.Len())
	}
}

// Many parts of every kind are read concurrently.
func TestSnapshotOfMany(t *testing.T) {
	docs := newCorpus().documents(5_000)
	ix := New(nil)
	for _, d := range docs {
		ix.Put(d)
	}
	data := snapshot(t, ix)
	got, err := readSnapshot(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkNeighbours(t, got)
	for i := range 20 {
		q := Query{Text: docs[i*200].Text, TopK: 20}
		if diff := gocmp.Diff(ix.Search(q), got.Search(q)); diff != "" {
			t.Fatalf("%q differs (-want +got):\n%s", q.Text, diff)
		}
	}
	if again := snapshot(t, got); !bytes.Equal(again, data) {
		t.Error("a snapshot of what was read from a snapshot is another one")
	}
}

func TestSnapshotOfOddMetadata(t *testing.T) {
	ix := New(nil)
	ix.Put(document.Document{Path: "a.md", Text: "cat", Metadata: map[string]any{"list": []any{1}}})
	if err := ix.WriteSnapshot(io.Discard, snapshotTime); err == nil || !strings.Contains(err.Error(), "a.md: metadata list") {
		t.Errorf("error %v, want one that names the document and the key", err)
	}
}

// A snapshot is rejected if any byte is changed, cut or added, or if it has another version or
// another analysis.
func TestDamagedSnapshot(t *testing.T) {
	opts := &Options{ChunkSize: 64}
	ix := New(opts)
	for _, d := range documentsOfAllKinds() {
		ix.Put(d)
	}
	good := snapshot(t, ix)
	refused := func(what string, data []byte, opts *Options) {
		t.Helper()
		if _, err := readSnapshot(data, opts); !errors.Is(err, errSnapshot) {
			t.Errorf("%s: error %v, want errSnapshot", what, err)
		}
	}
	for i := len(snapshotMagic); i < len(good); i++ {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		refused(fmt.Sprintf("byte %d changed", i), bad, opts)
		refused(fmt.Sprintf("cut at %d", i), good[:i], opts)
	}
	refused("empty", nil, opts)
	refused("longer", append(bytes.Clone(good), 0), opts)
	refused("other chunk size", good, &Options{ChunkSize: 100})
	refused("default chunk size", good, nil)
	tiny := New(opts)
	tiny.Put(document.Document{Path: "a.txt", Text: "too short to show the size"})
	refused("other chunk size of short texts", snapshot(t, tiny), nil)
}

// seal corrects the checksums of a snapshot, if it has parts at all.
func seal(data []byte) []byte {
	data = bytes.Clone(data)
	if len(data) < trailerSize {
		return data
	}
	end := len(data) - trailerSize
	offset := binary.LittleEndian.Uint64(data[end:])
	if offset > uint64(end) || end-int(offset) < contentsSize || (end-int(offset)-contentsSize)%partEntrySize != 0 {
		return data
	}
	table := data[offset:end]
	parts := make([]part, (len(table)-contentsSize)/partEntrySize)
	if _, err := binary.Decode(table[contentsSize:], binary.LittleEndian, parts); err != nil {
		panic(err)
	}
	for i, p := range parts {
		if p.Offset <= offset && p.Length <= offset-p.Offset {
			binary.LittleEndian.PutUint32(table[contentsSize+i*partEntrySize+4:], crc32.Checksum(data[p.Offset:p.Offset+p.Length], castagnoli()))
		}
	}
	binary.LittleEndian.PutUint32(data[end+12:], crc32.Checksum(table, castagnoli()))
	return data
}

// Whatever the bytes are, even with correct checksums: no panic, no memory beyond what their number
// allows, and the result is a working index or an error.
func FuzzReadSnapshot(f *testing.F) {
	ix := New(nil)
	f.Add(snapshot(f, ix))
	for _, d := range documentsOfAllKinds() {
		ix.Put(d)
	}
	f.Add(snapshot(f, ix))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, seal(data)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, _, err := ReadSnapshot(bytes.NewReader(data), int64(len(data)), nil)
			runtime.ReadMemStats(&after)
			if took, limit := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+40*len(data)); took > limit {
				t.Errorf("%d bytes take %d bytes of memory", len(data), took)
			}
			if err != nil {
				continue
			}
			got.Search(Query{Text: "cat dog museum sea"})
			checkNeighbours(t, got)
		}
	})
}
