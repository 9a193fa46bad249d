package fsstore

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"evalctl/daemon/store"
)

// TestTornRecord cuts a record, or changes a bit in it, at every byte: only a complete one is used.
func TestTornRecord(t *testing.T) {
	when := time.Unix(0, 1_700_000_000_123_456_789).UTC()
	before := []fileSum{{}, sumOfBytes([]byte("x")), {}}
	pieces, _ := encodeRecord(1, 2, when, []store.Op{writeOp("a", "content"), deleteOp("b/c"), writeOp("d", "")}, before)
	data := bytes.Join(pieces, nil)
	for n := range data {
		if _, ok, err := decodeRecord(recordMagic, data[:n]); ok || err != nil {
			t.Errorf("cut at %d: %t, %v", n, ok, err)
		}
		flipped := bytes.Clone(data)
		flipped[n] ^= 0x40
		if _, ok, err := decodeRecord(recordMagic, flipped); ok || err != nil {
			t.Errorf("bit flipped in byte %d: %t, %v", n, ok, err)
		}
	}
	r, ok, err := decodeRecord(recordMagic, append(data, 7))
	if err != nil || !ok || r.salt != 1 || r.number != 2 || !r.when.Equal(when) || r.size != int64(len(data)) || len(r.ops) != 3 {
		t.Fatalf("got %+v, %t, %v", r, ok, err)
	}
	a, b, d := r.ops[0], r.ops[1], r.ops[2]
	if a.before != before[0] || b.before != before[1] || d.before != before[2] {
		t.Errorf("files before: %v, %v, %v", a.before, b.before, d.before)
	}
	if a.path != "a" || a.deleted || string(data[a.offset:a.offset+a.size]) != "content" {
		t.Errorf("got %+v", a)
	}
	if b.path != "b/c" || !b.deleted || d.path != "d" || d.deleted || d.size != 0 {
		t.Errorf("got %+v, %+v", b, d)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, content := range []string{"1", strings.Repeat("x", ownPiece)} {
		pieces, _ := encodeRecord(1, 2, time.Unix(3, 4), []store.Op{writeOp("a", content), deleteOp("b/c")},
			[]fileSum{{}, sumOfBytes(nil)})
		f.Add(bytes.Join(pieces, nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= recordHeader { // so that decoding gets past the checksum
			copy(data, recordMagic)
			binary.BigEndian.PutUint64(data[recordHeader-8:], uint64(len(data)-recordHeader))
			binary.BigEndian.PutUint32(data[4:], crc32.Checksum(data[8:], castagnoli()))
		}
		r, ok, err := decodeRecord(recordMagic, data)
		if ok && err != nil {
			t.Fatal("both a record and an error")
		}
		if !ok {
			return
		}
		var ops []store.Op
		var before []fileSum
		for _, l := range r.ops {
			op := store.Op{Kind: store.OpWrite, Path: l.path, Data: data[l.offset : l.offset+l.size]}
			if l.deleted {
				op = store.Op{Kind: store.OpDelete, Path: l.path}
			}
			ops, before = append(ops, op), append(before, l.before)
		}
		again, _ := encodeRecord(r.salt, r.number, r.when, ops, before)
		if !bytes.Equal(bytes.Join(again, nil), data) {
			t.Fatalf("%q is encoded as %q", data, again)
		}
	})
}
