package fsstore

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"evalctl/daemon/store"
)

// entry is the one batch that a journal can hold: the final content of every
// document, so that it can be applied more than once.
type entry struct {
	When time.Time
	Ops  []store.Op
}

// A journal file is empty or holds journalMagic, the CRC-32C and the length of
// an encoded entry, and the entry. Only one that is complete counts.
const (
	journalMagic  = "fsjrnl1\n"
	journalHeader = len(journalMagic) + 4 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeEntry(e entry) ([]byte, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		return nil, err
	}
	return seal(body.Bytes()), nil
}

func seal(body []byte) []byte {
	out := make([]byte, 0, journalHeader+len(body))
	out = append(out, journalMagic...)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, castagnoli))
	out = binary.BigEndian.AppendUint64(out, uint64(len(body)))
	return append(out, body...)
}

// decodeEntry reports false for anything but a complete entry: the write was
// interrupted before the batch was committed. One that is complete and still
// makes no sense is an error, for a committed batch must not be dropped.
func decodeEntry(data []byte) (entry, bool, error) {
	if len(data) < journalHeader || string(data[:len(journalMagic)]) != journalMagic {
		return entry{}, false, nil
	}
	sum := binary.BigEndian.Uint32(data[len(journalMagic):])
	size := binary.BigEndian.Uint64(data[len(journalMagic)+4:])
	body := data[journalHeader:]
	if size != uint64(len(body)) || sum != crc32.Checksum(body, castagnoli) {
		return entry{}, false, nil
	}
	var e entry
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&e); err != nil {
		return entry{}, false, fmt.Errorf("%s: %w", journalFile, err)
	}
	for _, op := range e.Ops {
		if err := store.ValidPath(op.Path); err != nil {
			return entry{}, false, fmt.Errorf("%s: %w", journalFile, &store.Error{Op: "apply", Path: op.Path, Err: err})
		}
	}
	return e, true, nil
}

// writeJournal returns once the entry is on disk.
func writeJournal(f *os.File, e entry) error {
	data, err := encodeEntry(e)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Sync()
}

func readJournal(f *os.File) (entry, bool, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return entry{}, false, err
	}
	return decodeEntry(data)
}

// clearJournal must be on disk before the next commit begins: a journal that
// came back would overwrite what was written since.
func (b *backend) clearJournal() error {
	if err := b.journal.Truncate(0); err != nil {
		return err
	}
	return b.journal.Sync()
}
