package fsstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"evalctl/daemon/store"
)

// logContent is what was read from a log.
type logContent struct {
	log     *log
	records []record
	// headers is the number of its headers that can be read, of two.
	headers int
	// torn reports whether the log ends with a record that was being written.
	torn bool
}

// readLog reads a log, whose contents of operations are at offsets of the file. It fails if a record
// that is known to be durable is not there.
func readLog(l *log) (c logContent, err error) {
	data, err := l.content(0, l.size)
	if err != nil {
		return c, err
	}
	c.log = l
	l.header, l.slot, c.headers = latestHeader(data)
	if c.headers == 0 {
		return c, damagedLog(l.name, 0, "it has no header", nil)
	}
	l.number, l.end = l.header.number, slotsSize
	known := l.header.end == slotsSize // whether the last record of the header was read
	for {
		r, ok, err := decodeRecord(recordMagic, data[min(l.end, l.size):])
		if err != nil {
			return c, c.damaged(err)
		}
		if !ok || r.salt != l.header.salt || !c.follows(r) {
			break
		}
		for i := range r.ops {
			r.ops[i].offset += l.end
		}
		c.records = append(c.records, r)
		l.end += r.size
		l.number = max(l.number, r.number)
		known = known || l.end == l.header.end && r.number == l.header.number
	}
	rest := data[min(l.end, l.size):]
	switch {
	case !known, hasLater(recordMagic, rest, l.header.salt, l.number):
		return c, c.damaged(nil)
	case c.headers < 2 && hasUnknown(rest, l.number):
		// The other header had their salt: an interrupted write cannot have damaged it.
		return c, damagedLog(l.name, 0, "its latest header cannot be read", nil)
	}
	c.torn = len(rest) >= 16 && string(rest[:4]) == recordMagic && binary.BigEndian.Uint64(rest[8:]) == l.header.salt
	return c, nil
}

// follows reports whether a record has the number that comes next.
func (c *logContent) follows(r record) bool {
	h := c.log.header
	switch {
	case len(c.records) > 0:
		return r.number == c.records[len(c.records)-1].number+1
	case h.end == slotsSize:
		return r.number > h.number
	}
	return r.number <= h.number
}

// hasLater reports whether there is a complete record with a salt and a greater number. Records are
// written one after the other, each once the one before it is durable.
func hasLater(magic string, data []byte, salt, number uint64) bool {
	return findRecord(magic, data, binary.BigEndian.AppendUint64(nil, salt), 8, number)
}

// hasUnknown is hasLater for records with any salt.
func hasUnknown(data []byte, number uint64) bool {
	return findRecord(recordMagic, data, []byte(recordMagic), 0, number)
}

// findRecord looks for a complete record that has a mark at an offset, and a greater number.
func findRecord(magic string, data, mark []byte, offset int, number uint64) bool {
	for at := 0; ; at += len(mark) {
		i := bytes.Index(data[at:], mark)
		if i < 0 {
			return false
		}
		at += i
		if at < offset {
			continue
		}
		if r, ok, err := decodeRecord(magic, data[at-offset:]); ok && err == nil && r.number > number {
			return true
		}
	}
}

// checkOrder checks that the records of two logs, the older one first, are all that there were.
func checkOrder(older, newer logContent) error {
	last := older.log.number
	switch {
	case len(newer.records) > 0 && newer.records[0].number != last+1:
		return damagedLog(older.log.name, older.log.end, fmt.Sprintf("it ends with write %d, but %s begins with write %d",
			last, newer.log.name, newer.records[0].number), nil)
	case len(newer.records) == 0 && len(older.records) > 0 && newer.log.number > last:
		return damagedLog(older.log.name, 0, fmt.Sprintf("it ends with write %d, but %s was emptied after write %d",
			last, newer.log.name, newer.log.number), nil)
	}
	return nil
}

// damaged is the error for the record after those that were read.
func (c *logContent) damaged(cause error) error {
	return damagedLog(c.log.name, c.log.end, fmt.Sprintf("record %d of it is not complete", len(c.records)+1), cause)
}

// damagedLog is the error for a log that lacks, or may lack, acknowledged writes.
func damagedLog(name string, offset int64, what string, cause error) error {
	return store.Damaged(cause, "the file %s of the store is damaged at byte %d: %s. It has writes that are not in the "+
		"files of the documents yet. Restore the store from a backup, or copy out what can be read with "+
		"evalctl serve --salvage", name, offset, what)
}
