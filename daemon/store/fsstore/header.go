package fsstore

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"sync"
)

// A log begins with two slots for its header, each in a block of its own, so that no interrupted
// write can damage both. One of them has the latest header, and the next one goes to the other:
//
//	8 bytes   headerMagic
//	8 bytes   generation: greater than the one in the other slot
//	8 bytes   salt of the records, a new one whenever the log is emptied
//	8 bytes   number of the last record that is known to be durable; all before it are, too
//	8 bytes   offset at which that record ends; slotsSize in an empty log
//	4 bytes   CRC-32C of the bytes before it
//
// A commit is acknowledged after the header has it. The header is made durable with the next
// commit. So all records up to the number must be there after a crash of the process, and all but
// perhaps the last one after a crash of the machine.
const (
	headerMagic = "fslog 3\n"
	headerSize  = 8 + 8 + 8 + 8 + 8 + 4
	slotSize    = 4096
	slotsSize   = 2 * slotSize
)

// castagnoli returns the table of the checksums, which takes a while to build.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

type header struct {
	generation, salt uint64
	number           uint64
	end              int64
}

func (h header) encode() []byte {
	data := append(make([]byte, 0, headerSize), headerMagic...)
	for _, n := range []uint64{h.generation, h.salt, h.number, uint64(h.end)} {
		data = binary.BigEndian.AppendUint64(data, n)
	}
	return binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli()))
}

// decodeHeader decodes the header at the beginning of data. ok is false if there is none.
func decodeHeader(data []byte) (h header, ok bool) {
	if len(data) < headerSize || string(data[:len(headerMagic)]) != headerMagic {
		return h, false
	}
	data = data[:headerSize]
	if binary.BigEndian.Uint32(data[headerSize-4:]) != crc32.Checksum(data[:headerSize-4], castagnoli()) {
		return h, false
	}
	field := func(i int) uint64 { return binary.BigEndian.Uint64(data[8*i:]) }
	h = header{generation: field(1), salt: field(2), number: field(3), end: int64(field(4))}
	return h, h.end >= slotsSize
}

// latestHeader returns the latest header of a log with the content data, and its slot. found is the
// number of slots with a header.
func latestHeader(data []byte) (latest header, slot, found int) {
	for i := range 2 {
		h, ok := decodeHeader(data[min(i*slotSize, len(data)):])
		if !ok {
			continue
		}
		if found == 0 || h.generation > latest.generation {
			latest, slot = h, i
		}
		found++
	}
	return latest, slot, found
}

// writeHeader writes a header to the slot that does not have the latest one. It is not durable
// before the next sync of the log.
func (l *log) writeHeader(h header) error {
	h.generation = l.header.generation + 1
	slot := 1 - l.slot
	if _, err := l.file.WriteAt(h.encode(), int64(slot*slotSize)); err != nil {
		return err
	}
	l.header, l.slot = h, slot
	return nil
}

// begin makes the log empty, durably: its records are no longer read. Both slots get the new salt.
// Otherwise damage to one of them would bring back the old records.
func (l *log) begin() error {
	empty := header{salt: rand.Uint64(), number: l.number, end: slotsSize}
	last, slot := l.header, l.slot
	err := l.writeHeader(empty)
	if err == nil {
		err = l.file.datasync()
	}
	if err != nil {
		l.header, l.slot = last, slot // the other slot is still needed
		return err
	}
	l.end = slotsSize
	return l.writeHeader(empty)
}

// renew makes durable what was read from the log. After a write that the disk refused, only the
// memory of the kernel has it: the kernel reports that once, and does not try again. The latest
// header is first, so that an interrupted write leaves one of the two. The next record gets new
// space, see erase.
func (l *log) renew() error {
	data, err := l.content(0, min(l.end, l.size))
	if err != nil {
		return err
	}
	slot := l.slot * slotSize
	for _, part := range [][2]int{{slot, slot + headerSize}, {0, len(data)}} {
		if _, err := l.file.WriteAt(data[part[0]:part[1]], int64(part[0])); err != nil {
			return err
		}
		if err := l.file.datasync(); err != nil {
			return err
		}
	}
	return l.shorten(int64(len(data)))
}

// create makes the log an empty one, whatever its file has.
func (l *log) create() error {
	if err := l.shorten(0); err != nil {
		return err
	}
	l.header, l.slot, l.number = header{}, 1, 0
	if err := l.grow(slotsSize); err != nil {
		return err
	}
	return l.begin()
}
