package search

import (
	"encoding/binary"
	"math"

	"evalctl/daemon/language"
)

// decoder reads the values of a part. After an incomplete value it returns zero values, and ok
// stays false.
type decoder struct {
	s  string
	ok bool
}

func (d *decoder) fail() {
	d.s, d.ok = "", false
}

func (d *decoder) uvarint() uint64 {
	v, size := uvarint(d.s)
	if size == 0 {
		d.fail()
		return 0
	}
	d.s = d.s[size:]
	return v
}

// atMost reads a number, which must not be above limit.
func (d *decoder) atMost(limit uint64) uint64 {
	v := d.uvarint()
	if v > limit {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.s)) {
		d.fail()
		return ""
	}
	s := d.s[:n]
	d.s = d.s[n:]
	return s
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != "" {
		return b[0]
	}
	return 0
}

func (d *decoder) string() string { return d.bytes(d.uvarint()) }

// document reads a document into doc, and its chunks into the first of chunks. Their term numbers
// must be below terms. It returns the number of chunks.
func (d *decoder) document(doc *entry, chunks []chunk, terms uint64) int {
	doc.Path, doc.Title, doc.Source, doc.Text = d.string(), d.string(), d.string(), d.string()
	flags := d.byte()
	doc.Generated, doc.BadDate = flags&generatedFlag != 0, flags&badDateFlag != 0
	if l := d.byte(); int(l) < language.Count {
		doc.Language = language.Language(l)
	} else {
		d.fail()
	}
	if err := doc.Date.UnmarshalBinary([]byte(d.string())); err != nil {
		d.fail()
	}
	if n := d.atMost(uint64(len(d.s))); n > 0 { // a tag takes at least one byte
		doc.Tags = make([]string, n)
		for i := range doc.Tags {
			doc.Tags[i] = d.string()
		}
	}
	doc.Metadata = d.metadata()
	doc.count = uint32(d.atMost(uint64(len(chunks))))
	for i := range doc.count {
		start := d.atMost(uint64(len(doc.Text)))
		length := d.atMost(uint64(len(doc.Text)) - start)
		ch := &chunks[i]
		*ch = chunk{
			doc: doc, ordinal: i, start: uint32(start), text: doc.Text[start : start+length],
			headings: d.string(),
		}
		for field := range ch.lengths {
			ch.lengths[field] = uint16(d.atMost(math.MaxUint16))
		}
		ch.length = uint16(d.atMost(uint64(ch.lengths[textField])))
		if ch.sequence = sequence(d.string()); !ch.sequence.valid(ch.lengths, terms) {
			d.fail()
		}
	}
	return int(doc.count)
}

func (d *decoder) metadata() map[string]any {
	n := d.atMost(uint64(len(d.s)) / 2) // an empty key and a nil value take two bytes
	if n == 0 {
		return nil
	}
	m := make(map[string]any, n)
	for range n {
		key := d.string()
		switch d.byte() {
		case stringValue:
			m[key] = d.string()
		case intValue:
			u := d.uvarint()
			m[key] = int(int64(u>>1) ^ -int64(u&1)) // as binary.Varint
		case nilValue:
			m[key] = nil
		case floatValue:
			bits := d.bytes(8)
			if !d.ok {
				return nil
			}
			m[key] = math.Float64frombits(binary.LittleEndian.Uint64([]byte(bits)))
		case boolValue:
			m[key] = d.byte() == 1
		default:
			d.fail()
		}
	}
	return m
}
