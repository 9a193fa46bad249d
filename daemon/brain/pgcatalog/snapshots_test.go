package pgcatalog_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/braintest"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres/postgrestest"
)

func TestSnapshots(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	braintest.Snapshots(t, func(t *testing.T, keys ...string) brain.Snapshots {
		_, err := pool.Exec(t.Context(), "TRUNCATE evalctl.brains, evalctl.snapshots, evalctl.snapshot_parts CASCADE")
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			_, err := pool.Exec(t.Context(), "INSERT INTO evalctl.brains (uid, id, tenant, record) "+
				"OVERRIDING SYSTEM VALUE VALUES ($1::text::bigint, $1, '', '{}')", key)
			if err != nil {
				t.Fatal(err)
			}
		}
		return pgcatalog.NewSnapshots(pool)
	})
}

// openPool opens a new database with the tables of the daemon.
func openPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	db, err := pgstore.Open(t.Context(), postgrestest.Database(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db.Pool()
}

// addBrain adds a row for a brain and returns its key.
func addBrain(t testing.TB, pool *pgxpool.Pool, id string) string {
	t.Helper()
	var uid int64
	err := pool.QueryRow(t.Context(),
		"INSERT INTO evalctl.brains (id, tenant, record) VALUES ($1, '', '{}') RETURNING uid", id).Scan(&uid)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(uid)
}

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func readText(t testing.TB, s brain.Snapshots, key string) (text string, seq uint64) {
	t.Helper()
	err := s.Get(t.Context(), key, func(r io.ReaderAt, size int64, at uint64) error {
		data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
		text, seq = string(data), at
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return text, seq
}

func TestSnapshotsKeepTheNewest(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	s := pgcatalog.NewSnapshots(pool)
	put := func(seq, replaces uint64) error {
		return s.Put(t.Context(), key, seq, replaces, writeText(fmt.Sprint("of commit ", seq)))
	}
	if err := put(7, 0); err != nil {
		t.Fatal(err)
	}
	var newer *brain.NewerSnapshotError
	if err := put(9, 6); !errors.As(err, &newer) || newer.Seq != 7 {
		t.Errorf("got %v, want a newer snapshot of commit 7", err)
	}
	if text, seq := readText(t, s, key); text != "of commit 7" || seq != 7 {
		t.Errorf("got %q of commit %d, want that of commit 7", text, seq)
	}
	if err := put(9, 7); err != nil {
		t.Error(err)
	}
	if text, seq := readText(t, s, key); text != "of commit 9" || seq != 9 {
		t.Errorf("got %q of commit %d, want that of commit 9", text, seq)
	}
}

func TestSnapshotsOfTwoWriters(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	first, second := pgcatalog.NewSnapshots(pool), pgcatalog.NewSnapshots(pool)
	if err := first.Put(t.Context(), key, 1, 0, writeText("one")); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("two", 1<<20)
	err := first.Put(t.Context(), key, 2, 1, func(w io.Writer) error {
		err := second.Put(t.Context(), key, 3, 1, func(io.Writer) error {
			t.Error("write was called while another process writes")
			return nil
		})
		if !errors.Is(err, brain.ErrSnapshotBusy) {
			t.Errorf("second writer: got %v, want ErrSnapshotBusy", err)
		}
		if _, err := io.WriteString(w, large); err != nil {
			return err
		}
		if text, seq := readText(t, second, key); text != "one" || seq != 1 {
			t.Errorf("while a snapshot is written: got %d bytes of commit %d, want the one before", len(text), seq)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, seq := readText(t, second, key); text != large || seq != 2 {
		t.Errorf("got %d bytes of commit %d, want %d of commit 2", len(text), seq, len(large))
	}
}

// A reader keeps the snapshot that it began with, although another one takes its place.
func TestSnapshotReplacedWhileRead(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	s := pgcatalog.NewSnapshots(pool)
	long := strings.Repeat("one", 1<<20)
	if err := s.Put(t.Context(), key, 1, 0, writeText(long)); err != nil {
		t.Fatal(err)
	}
	err := s.Get(t.Context(), key, func(r io.ReaderAt, size int64, _ uint64) error {
		if err := s.Put(t.Context(), key, 2, 1, writeText("two")); err != nil {
			return err
		}
		data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
		if string(data) != long {
			t.Errorf("got %d bytes, want the %d of the snapshot before", len(data), len(long))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestSnapshotOfDeletedBrain(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	s := pgcatalog.NewSnapshots(pool)
	err := s.Put(t.Context(), key, 1, 0, func(w io.Writer) error {
		_, err := pool.Exec(t.Context(), "DELETE FROM evalctl.brains")
		return errors.Join(err, writeText("text")(w))
	})
	if !errors.Is(err, brain.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	var parts int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM evalctl.snapshot_parts").Scan(&parts); err != nil || parts > 0 {
		t.Errorf("%d parts are left (%v)", parts, err)
	}
}

// Every range of a snapshot is read exactly, however it lies in the parts.
func TestSnapshotRanges(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	key := addBrain(t, pool, "a")
	s := pgcatalog.NewSnapshots(pool)
	const part = 1 << 20
	text := make([]byte, 3*part+17)
	for i := range text {
		text[i] = byte(i * 7 >> (i % 5))
	}
	err := s.Put(t.Context(), key, 1, 0, func(w io.Writer) error {
		for rest := text; len(rest) > 0; {
			n, err := w.Write(rest[:min(len(rest), 333_333)])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Get(t.Context(), key, func(r io.ReaderAt, size int64, _ uint64) error {
		if size != int64(len(text)) {
			t.Errorf("size %d, want %d", size, len(text))
		}
		edges := []int64{0, 1, part - 1, part, part + 1, 2 * part, 3 * part, size - 1, size}
		for _, from := range edges {
			for _, to := range edges {
				if from > to {
					continue
				}
				got := make([]byte, to-from)
				if n, err := r.ReadAt(got, from); n != len(got) || err != nil || string(got) != string(text[from:to]) {
					t.Errorf("bytes %d to %d: read %d, error %v, or other bytes", from, to, n, err)
				}
			}
		}
		if n, err := r.ReadAt(make([]byte, 10), size-3); n != 3 || err != io.EOF {
			t.Errorf("beyond the end: read %d, %v, want 3 and EOF", n, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
