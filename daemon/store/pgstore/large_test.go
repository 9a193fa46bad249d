package pgstore_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

// largeBytes is several times the largest document of the protocol.
const largeBytes = 32 << 20

func large() []byte {
	data := make([]byte, largeBytes)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	return data
}

// TestLargeDocument reads a document without holding all of it, while the document is replaced.
func TestLargeDocument(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	s := openStore(t, db, newBrain(t, db))
	ctx := t.Context()
	want := writeLarge(t, s)
	before := heap()
	content, size, err := s.Open(ctx, "large")
	if err != nil || size != largeBytes {
		t.Fatalf("%d bytes, %v", size, err)
	}
	defer content.Close()
	if err := s.Write(ctx, "large", []byte("replaced")); err != nil {
		t.Fatal(err)
	}
	hash, most := sha256.New(), uint64(0)
	buf := make([]byte, 32<<10)
	for read := 0; ; {
		n, err := content.Read(buf)
		hash.Write(buf[:n])
		if read += n; err == io.EOF && read == largeBytes {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", read, err)
		}
		if read%(8<<20) == 0 {
			most = max(most, heap())
		}
	}
	if err := content.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(hash.Sum(nil), want[:]) {
		t.Error("the content differs")
	}
	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("the reader held %d KiB", grown>>10)
	}
}

// TestReadManyLarge reads documents of which no size is given, and which are together much larger
// than what is held of them.
func TestReadManyLarge(t *testing.T) {
	db := openDB(t, postgrestest.Database(t)+fast)
	s := openStore(t, db, newBrain(t, db))
	const count, bytesOfEach, part, mostHeld = 100, 320 << 10, 1 << 20, 4 << 20
	data := large()
	var rest []store.FileInfo
	for i := range count {
		f := store.FileInfo{Path: fmt.Sprintf("d%03d", i)}
		rest = append(rest, f)
		if err := s.Write(t.Context(), f.Path, data[i:i+bytesOfEach]); err != nil {
			t.Fatal(err)
		}
	}
	before, most := heap(), uint64(0)
	for read := 0; len(rest) > 0; {
		docs, err := s.ReadMany(t.Context(), rest)
		if err != nil || len(docs) != min(part/bytesOfEach, len(rest)) {
			t.Fatalf("%d documents in a part of %d: %v", len(docs), len(rest), err)
		}
		for _, d := range docs {
			if !bytes.Equal(d.Data, data[read:read+bytesOfEach]) {
				t.Fatalf("%s has another content", d.Path)
			}
			read++
		}
		most = max(most, heap())
		rest = rest[len(docs):]
	}
	if grown := int64(most) - int64(before); grown > mostHeld {
		t.Errorf("%d KiB were held", grown>>10)
	}
	runtime.KeepAlive(data)
}

// writeLarge returns the hash of what it writes, which is garbage then.
func writeLarge(t *testing.T, s *store.Store) [sha256.Size]byte {
	t.Helper()
	data := large()
	if err := s.Write(t.Context(), "large", data); err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(data)
}

// heap returns the bytes that are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyReaders opens more large documents than may occupy connections. Others still get one.
func TestManyReaders(t *testing.T) {
	pgstore.Hurry(t, 200*time.Millisecond)
	db := openDB(t, postgrestest.Database(t)+fast+"&pool_max_conns=4") // of which readers may occupy one
	s := openStore(t, db, newBrain(t, db))
	ctx := t.Context()
	if err := s.Write(ctx, "large", large()[:1<<20]); err != nil {
		t.Fatal(err)
	}
	first, _, err := s.Open(ctx, "large")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, _, err := s.Open(ctx, "large"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a second reader: %v, want ErrUnavailable", err)
	}
	if err := s.Write(ctx, "a", nil); err != nil {
		t.Errorf("a write: %v", err)
	}
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	second, _, err := s.Open(ctx, "large")
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(second); err == nil {
		t.Error("read after Close")
	}
}
