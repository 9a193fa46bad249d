package fsstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/daemon/store"
)

// image is the content of the logs of a store.
type image [2][]byte

// documents returns what the logs say about documents.
func (m image) documents() (map[string]string, error) {
	var contents [2]logContent
	for i, data := range m {
		l := &log{name: logFiles[i], file: readOnlyLog{bytes.NewReader(data)}, size: int64(len(data))}
		c, err := readLog(l)
		if err != nil {
			return nil, err
		}
		contents[i] = c
	}
	older, newer, err := order(contents[0], contents[1])
	docs := map[string]string{}
	for _, c := range []logContent{older, newer} {
		for _, r := range c.records {
			for _, op := range r.ops {
				data, _ := c.log.content(op.offset, op.size)
				docs[op.path] = fmt.Sprint(op.deleted, string(data))
			}
		}
	}
	return docs, err
}

func isLogError(err error) bool {
	_, ok := errors.AsType[*logError](err)
	return ok
}

// readImage reads the logs of the store in dir.
func readImage(t *testing.T, dir string) (m image) {
	t.Helper()
	for i, name := range logFiles {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		m[i] = data
	}
	return m
}

// killed returns a folder with a store that was killed. It has documents in both logs if both is set.
// Commits of an earlier round are remains in the logs.
func killed(t *testing.T, both bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	b, err := open(t.Context(), dir, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for i := range 20 {
			commit(t, b, writeOp(fmt.Sprintf("a%d", i), strings.Repeat("old", 10+i)), writeOp("a", fmt.Sprint(round, i)))
		}
		if err := b.settle(); err != nil {
			t.Fatal(err)
		}
	}
	b.settling <- struct{}{}
	for i := range 3 {
		commit(t, b, writeOp(fmt.Sprintf("d/%d", i), "first log"), writeOp("a", fmt.Sprint(i)), deleteOp(fmt.Sprintf("a%d", i)))
	}
	if both {
		if _, _, err := b.fill(); err != nil {
			t.Fatal(err)
		}
		commit(t, b, writeOp("d/1", "second log"), writeOp("e", "1"))
		commit(t, b, writeOp("e", strings.Repeat("2", ownPiece)))
	}
	abandon(b)
	return dir
}

// damages calls use with each damage to one of the logs.
func damages(m image, use func(name string, damaged image)) {
	for i, data := range m {
		change := func(name string, edit func(data []byte) []byte) {
			damaged := m
			damaged[i] = edit(bytes.Clone(data))
			use(logFiles[i]+": "+name, damaged)
		}
		end := len(bytes.TrimRight(data, "\x00"))
		ranges := [][2]int{{0, headerSize}, {slotSize, slotSize + headerSize}, {slotsSize, min(slotsSize+300, len(data))}}
		for _, r := range ranges {
			for at := r[0]; at < r[1]; at++ {
				for _, mask := range []byte{1, 0x80} {
					change(fmt.Sprintf("byte %d ^ %#x", at, mask), func(data []byte) []byte {
						data[at] ^= mask
						return data
					})
				}
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for _, size := range []int{512, 4096, slotsSize} {
			for at := 0; at < min(len(data), 3*slotsSize); at += 512 {
				block := data[at:min(at+size, len(data))]
				change(fmt.Sprintf("%d zeros at %d", size, at), func(data []byte) []byte {
					clear(data[at : at+len(block)])
					return data
				})
				change(fmt.Sprintf("%d random bytes at %d", size, at), func(data []byte) []byte {
					for i := range block {
						data[at+i] = byte(random.Uint32())
					}
					return data
				})
			}
		}
		for size := range data {
			if size > slotsSize && size < min(end+100, slotsSize+700) || size%256 == 0 {
				change(fmt.Sprintf("cut at %d", size), func(data []byte) []byte { return data[:size] })
			}
		}
		change("other log", func([]byte) []byte { return m[1-i] })
	}
}

// TestDamagedLogs damages each log: either all acknowledged documents are there, or opening fails.
func TestDamagedLogs(t *testing.T) {
	for _, both := range []bool{false, true} {
		m := readImage(t, killed(t, both))
		want, err := m.documents()
		if err != nil || len(want) == 0 {
			t.Fatalf("%v, %v", want, err)
		}
		opened, refused := 0, 0
		damages(m, func(name string, damaged image) {
			switch got, err := damaged.documents(); {
			case isLogError(err):
				refused++
			case err != nil:
				t.Errorf("%s: %v", name, err)
			case !maps.Equal(got, want):
				t.Errorf("%s: opens with %v", name, got)
			default:
				opened++
			}
		})
		t.Logf("both %t: %d opened, %d refused", both, opened, refused)
		if opened == 0 || refused == 0 {
			t.Error("not both outcomes")
		}
	}
}

// TestDamagedRecords damages records that no header has, as if headers could not be written or were
// lost with the power: only the last record can be missing, because it can be an interrupted one.
func TestDamagedRecords(t *testing.T) {
	for _, both := range []bool{false, true} {
		m := readImage(t, killed(t, both))
		for i, data := range m {
			h, _, _ := latestHeader(data)
			first, ok, _ := decodeRecord(recordMagic, data[slotsSize:])
			if !ok || first.salt != h.salt {
				continue // the log is empty
			}
			h.number, h.end = first.number-1, slotsSize
			for slot := range 2 {
				copy(data[slot*slotSize:], h.encode())
			}
			last := map[string]string{} // without the last record of this log
			want, err := m.documents()
			if err != nil {
				t.Fatal(err)
			}
			end := len(bytes.TrimRight(data, "\x00"))
			for at := slotsSize; at < min(end, slotsSize+700); at++ {
				damaged := m
				damaged[i] = bytes.Clone(data)
				damaged[i][at] ^= 1
				got, err := damaged.documents()
				switch {
				case isLogError(err):
				case err != nil:
					t.Fatal(err)
				case both && i == 0 && !maps.Equal(got, want):
					t.Fatalf("log %d, byte %d: opens with %v", i, at, got)
				case len(last) == 0:
					last = got
				case !maps.Equal(got, want) && !maps.Equal(got, last):
					t.Fatalf("log %d, byte %d: opens with %v", i, at, got)
				}
			}
		}
	}
}

// TestOtherLog: a log of an earlier time, as from a backup, does not belong to the other one.
func TestOtherLog(t *testing.T) {
	dir := killed(t, true)
	earlier := readImage(t, dir)
	b, err := open(t.Context(), dir, quiet, nil)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, b, writeOp("e", "3"))
	commit(t, b, writeOp("e", "4"))
	b.settling <- struct{}{}
	abandon(b)
	now := readImage(t, dir)
	mixed := image{earlier[0], now[1]}
	if got, err := mixed.documents(); !isLogError(err) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := now.documents(); err != nil {
		t.Error(err)
	}
}

// TestOpenDamaged opens stores whose logs are damaged: a store that does not open is not changed, and
// the error says where the damage is and what to do.
func TestOpenDamaged(t *testing.T) {
	file := func(dir string, log int) string { return filepath.Join(dir, logFiles[log]) }
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   []string
	}{
		"removed": {func(dir string) error { return os.Remove(file(dir, 0)) }, []string{"journal of", "missing"}},
		"spare removed": {func(dir string) error { return os.Remove(file(dir, 1)) },
			[]string{"journal.2 of", "missing"}},
		"emptied":    {func(dir string) error { return os.Truncate(file(dir, 0), 0) }, []string{"byte 0", "no header"}},
		"cut":        {func(dir string) error { return os.Truncate(file(dir, 0), slotsSize) }, []string{"byte 8192", "record 1 "}},
		"no version": {func(dir string) error { return os.WriteFile(filepath.Join(dir, schemaFile), nil, 0o600) }, []string{"schema"}},
		"no schema":  {func(dir string) error { return os.Remove(filepath.Join(dir, schemaFile)) }, []string{"schema", "missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := killed(t, false)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			before := tree(t, dir)
			for range 2 {
				_, err := open(t.Context(), dir, quiet, nil)
				if !errors.Is(err, store.ErrDamaged) {
					t.Fatalf("got %v", err)
				}
				for _, want := range append(c.want, "restore") {
					if !strings.Contains(strings.ToLower(err.Error()), want) {
						t.Errorf("%v does not contain %q", err, want)
					}
				}
				if after := tree(t, dir); !maps.Equal(before, after) {
					t.Error("the store was changed")
				}
			}
		})
	}
}

// TestClosedLogs: the logs of a store that was closed do not matter.
func TestClosedLogs(t *testing.T) {
	for name, damage := range map[string]func(file string) error{
		"removed": os.Remove,
		"emptied": func(file string) error { return os.Truncate(file, 0) },
		"random":  func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte("x"), 20_000), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, log := range []string{logFiles[0], logFiles[1], ""} {
				b := openBackend(t, dir)
				if n := len(contentsOf(t, b)); n != 2*i {
					t.Errorf("%d documents", n)
				}
				commit(t, b, writeOp(fmt.Sprint(i), "1"))
				commit(t, b, writeOp(fmt.Sprint(i, "b"), "1"))
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				if log == "" {
					break
				}
				if err := damage(filepath.Join(dir, log)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// contentsOf reads all documents.
func contentsOf(t *testing.T, b *backend) map[string]string {
	t.Helper()
	files, err := b.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range files {
		data, err := b.Read(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		found[f.Path] = string(data)
	}
	return found
}
