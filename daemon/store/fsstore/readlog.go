package fsstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

type logContent struct {
	log     *log
	records []record
	// headers is the number of its headers that can be read, of two.
	headers int
	// torn reports whether the log ends with a record that was being written.
	torn bool
}

// readLog reads a log, whose contents of operations are at offsets of the file. It fails if a
// record that is known to be durable is missing.
func readLog(l *log) (c logContent, err error) {
	data, err := l.content(0, l.size)
	if err != nil {
		return c, err
	}
	c.log = l
	l.header, l.slot, c.headers = latestHeader(data)
	if c.headers == 0 {
		return c, &logError{l.name, 0, "it has no header", nil}
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
	if !known || hasLater(recordMagic, rest, l.header.salt, l.number) {
		return c, c.damaged(nil)
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
	mark := binary.BigEndian.AppendUint64(nil, salt)
	for at := 0; ; at += len(mark) {
		i := bytes.Index(data[at:], mark)
		if i < 0 {
			return false
		}
		if at += i; at < 8 {
			continue
		}
		if r, ok, err := decodeRecord(magic, data[at-8:]); ok && err == nil && r.number > number {
			return true
		}
	}
}

// order returns the older one of two logs first. It fails if records are missing.
func order(a, b logContent) (older, newer logContent, err error) {
	older, newer = a, b
	if newer.log.number < older.log.number || newer.log.number == older.log.number && len(older.records) > 0 {
		older, newer = newer, older
	}
	switch last := older.log.number; {
	case last == newer.log.number && last > 0:
		err = &logError{older.log.name, 0, fmt.Sprintf("it ends with write %d, and so does %s", last, newer.log.name), nil}
	case len(newer.records) > 0 && newer.records[0].number != last+1:
		err = &logError{older.log.name, older.log.end, fmt.Sprintf("it ends with write %d, but %s begins with write %d",
			last, newer.log.name, newer.records[0].number), nil}
	case len(newer.records) == 0 && len(older.records) > 0 && newer.log.number > last:
		err = &logError{older.log.name, 0, fmt.Sprintf("it ends with write %d, but %s was emptied after write %d",
			last, newer.log.name, newer.log.number), nil}
	}
	return older, newer, err
}

// damaged is the error for the record after those that were read.
func (c *logContent) damaged(cause error) error {
	return &logError{c.log.name, c.log.end, fmt.Sprintf("record %d is incomplete", len(c.records)+1), cause}
}

// logError is the error for a log that lacks, or may lack, acknowledged writes.
type logError struct {
	name   string // of the log
	offset int64
	what   string
	cause  error // or nil
}

func (e *logError) Error() string {
	text := fmt.Sprintf("the file %s of the store is damaged at byte %d: %s", e.name, e.offset, e.what)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}
