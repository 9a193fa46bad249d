package fsstore

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"evalctl/daemon/store"
)

// entry is the batch in a journal, which holds at most one. It contains the final content of
// every document, so it can be applied more than once.
type entry struct {
	When time.Time
	Ops  []store.Op
}

// A journal file is empty or consists of journalMagic, the CRC-32C and the length of an encoded
// entry (4 and 8 bytes, big-endian), and the entry. An incomplete one is ignored.
const (
	journalMagic  = "fsjrnl1\n"
	journalHeader = len(journalMagic) + 4 + 8
)

// castagnoli returns the table of the checksums, which takes a while to build.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

func encodeEntry(e entry) ([]byte, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(e); err != nil {
		return nil, err
	}
	return addHeader(body.Bytes()), nil
}

// addHeader returns the content of a journal file with an encoded entry.
func addHeader(body []byte) []byte {
	out := make([]byte, 0, journalHeader+len(body))
	out = append(out, journalMagic...)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, castagnoli()))
	out = binary.BigEndian.AppendUint64(out, uint64(len(body)))
	return append(out, body...)
}

// decodeEntry returns false unless data is a complete entry: writing it was interrupted before
// the batch was committed. A complete entry that cannot be decoded is an error, because a
// committed batch must not be lost.
func decodeEntry(data []byte) (entry, bool, error) {
	if len(data) < journalHeader || string(data[:len(journalMagic)]) != journalMagic {
		return entry{}, false, nil
	}
	sum := binary.BigEndian.Uint32(data[len(journalMagic):])
	size := binary.BigEndian.Uint64(data[len(journalMagic)+4:])
	body := data[journalHeader:]
	if size != uint64(len(body)) || sum != crc32.Checksum(body, castagnoli()) {
		return entry{}, false, nil
	}
	var e entry
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&e); err != nil {
		return entry{}, false, store.Damaged(err, "the file %s of the store is damaged: restore the store", journalFile)
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

// clearJournal empties the journal and syncs it. If the old entry reappeared after a later
// commit, it would overwrite that commit.
func (b *backend) clearJournal() error {
	if err := b.journal.Truncate(0); err != nil {
		return err
	}
	return b.journal.Sync()
}
