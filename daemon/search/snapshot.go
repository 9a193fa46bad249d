package search

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sync"
)

// A snapshot holds an index without its deleted chunks. All numbers are little endian. A uvarint is
// as in encoding/binary. A string is its length as a uvarint and its bytes.
//
//	magic     8 bytes
//	parts     each of one kind, see below
//	contents  the table of the parts
//	trailer   offset u64, length u32 and CRC u32 of the contents; version u32; magic
//
// The contents are a time in Unix nanoseconds, the largest size of a chunk, the language of
// Options, and the numbers of documents, chunks, terms, tallies and postings, each u64. Then follow
// for each part: kind u32, CRC u32, offset u64, length u64, its range of all items of its kind
// (first u64, count u64), and the number of chunks that belong to the documents before it, u64.
// CRCs use Castagnoli's polynomial. Parts of a kind follow one another:
//
//	documents  by their first chunk, then those without chunks, see appendDocument
//	order      as in type order: the place of each document among documents, u32
//	terms      by number: name string, number of its postings uvarint
//	tallies    by number: occurrences by field, a byte each; without uncounted
//	postings   by term, then by chunk: chunk number u32
//	counts     of the postings: the number of the tally, a byte
const (
	snapshotMagic   = "evalidx\n"
	snapshotVersion = 13 // to be raised when the layout or the result of Parse changes
)

// partSize is the size at which a part of a snapshot ends: large enough for fast reading, small
// enough to divide the work. Strings of an index that was read keep their part in memory.
const partSize = 1 << 20

type partKind uint32

const (
	documentsPart partKind = iota
	orderPart
	termsPart
	talliesPart
	postingsPart
	countsPart
)

// part is one entry of the contents, as it is stored.
type part struct {
	Kind           partKind
	CRC            uint32
	Offset, Length uint64
	First, Count   uint64
	Chunks         uint64 // of the documents before it
}

// header is the beginning of the contents, as it is stored.
type header struct {
	When                                        int64
	ChunkSize, Language                         uint64
	Documents, Chunks, Terms, Tallies, Postings uint64
}

// contents describes the parts of a snapshot and their places.
type contents struct {
	header
	parts []part
}

// trailer is the end of a snapshot, as it is stored.
type trailer struct {
	Offset               uint64 // of the contents
	Length, CRC, Version uint32
	Magic                [len(snapshotMagic)]byte
}

var (
	trailerSize   = binary.Size(trailer{})
	contentsSize  = binary.Size(header{}) // without parts
	partEntrySize = binary.Size(part{})
)

// castagnoli returns the table of the checksums, which takes a while to build.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// errSnapshot means that a snapshot is damaged, of another version, or made by a different analysis
// of texts. The index must then be built from its documents.
var errSnapshot = errors.New("snapshot of an index cannot be used")
