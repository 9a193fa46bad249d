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
	"evalctl/internal/awaittest"
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

// TestLargeDocument reads a document without holding all of it, while others are written.
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
			if err := s.Write(ctx, "other", buf); err != nil {
				t.Fatal(err)
			}
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
			if d.Content != string(data[read:read+bytesOfEach]) {
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

// TestSlowReaders opens more large documents than there are connections, whose readers pause. They
// occupy none. Each gets the version that it has begun, or an error once that is replaced, even by
// one of the same size.
func TestSlowReaders(t *testing.T) {
	pgstore.Hurry(t, 200*time.Millisecond)
	db := openDB(t, postgrestest.Database(t)+fast+"&pool_max_conns=4")
	s := openStore(t, db, newBrain(t, db))
	ctx := t.Context()
	first := large()[:1<<20]
	second := bytes.Repeat([]byte("2"), len(first))
	for _, name := range []string{"kept", "replaced", "recreated"} {
		if err := s.Write(ctx, name, first); err != nil {
			t.Fatal(err)
		}
	}
	readers := map[string][]io.ReadCloser{}
	for range 4 {
		for _, name := range []string{"kept", "replaced", "recreated"} {
			content, size, err := s.Open(ctx, name)
			if err != nil || size != int64(len(first)) {
				t.Fatalf("%d bytes, %v", size, err)
			}
			readers[name] = append(readers[name], content)
		}
	}
	// Notifications are sent on a connection of the pool as well.
	awaittest.Until(t, "no reader occupies a connection", func() bool { return db.Pool().Stat().AcquiredConns() == 0 })
	if err := errors.Join(s.Write(ctx, "replaced", second), s.Delete(ctx, "recreated"), s.Write(ctx, "recreated", first)); err != nil {
		t.Fatal(err)
	}
	for name, list := range readers {
		for _, content := range list {
			data, err := io.ReadAll(content)
			if !bytes.HasPrefix(first, data) {
				t.Errorf("%s: the %d bytes are not of one version", name, len(data))
			}
			if name == "kept" && (err != nil || len(data) != len(first)) || name != "kept" && !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: %d bytes, %v", name, len(data), err)
			}
			if err := errors.Join(content.Close(), content.Close()); err != nil {
				t.Error(err)
			}
			if _, err := content.Read(make([]byte, 1)); err == nil {
				t.Error("read after Close")
			}
		}
	}
}
