package fsstore

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"time"

	"evalctl/daemon/store"
)

// entry is the batch in a journal of version 1 of the layout, which holds at most one.
type entry struct {
	When time.Time
	Ops  []store.Op
}

// A journal of version 1 is empty or consists of journalMagic, the CRC-32C and the length of an
// encoded entry (4 and 8 bytes, big-endian), and the entry. An incomplete one is ignored.
const (
	journalMagic  = "fsjrnl1\n"
	journalHeader = len(journalMagic) + 4 + 8
)

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
		return entry{}, false, damagedLog(logFiles[0], 0, err)
	}
	return e, true, checkPaths(e.Ops)
}
