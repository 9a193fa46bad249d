package fsstore

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"evalctl/daemon/store"
)

// After its header, a log is a sequence of records. Each record is a commit:
//
//	4 bytes   recordMagic
//	4 bytes   CRC-32C of all that follows, up to the end of the record
//	8 bytes   salt, see header
//	8 bytes   number: greater by one than in the record before it, which can be in the other log
//	8 bytes   time of the commit in nanoseconds of Unix time
//	8 bytes   length of the operations
//
// and for each operation
//
//	1 byte    kind: writeKind or deleteKind
//	4 bytes   length of the path, and the path
//	1 byte    1 if a fileSum of 16 bytes follows, for the file before the commit; else 0
//	8 bytes   of a write: length of the content, and the content
//
// Integers are big-endian. The last record is followed by zeros, or by remains of records with
// another salt, which are ignored. An incomplete record that is not known to be durable is ignored
// too: it was being written when the process or the machine stopped.
const (
	recordMagic  = "fsl3"
	recordHeader = 4 + 4 + 8 + 8 + 8 + 8

	writeKind  = 'w'
	deleteKind = 'd'

	// ownPiece is the size from which on a content is a piece of its own, see encodeRecord.
	ownPiece = 16 << 10
)

// record is a commit in a log.
type record struct {
	salt, number uint64
	when         time.Time
	ops          []loggedOp
	size         int64 // of the whole record
}

// loggedOp is a write or a delete whose content is in a log.
type loggedOp struct {
	path         string
	deleted      bool
	before       fileSum
	offset, size int64 // of the content, from the beginning of the record
}

// encodeRecord returns the bytes of a record in pieces, and the places of the contents in the
// record. Large contents are not copied. before has the sum of the file of each operation.
func encodeRecord(salt, number uint64, when time.Time, ops []store.Op, before []fileSum) (pieces [][]byte, logged []loggedOp) {
	piece := make([]byte, 8, recordHeader+256)
	copy(piece, recordMagic)
	piece = binary.BigEndian.AppendUint64(piece, salt)
	piece = binary.BigEndian.AppendUint64(piece, number)
	piece = binary.BigEndian.AppendUint64(piece, uint64(when.UnixNano()))
	piece = binary.BigEndian.AppendUint64(piece, 0)
	earlier := 0 // bytes of the pieces before this one
	for i, op := range ops {
		l := loggedOp{path: op.Path, deleted: op.Kind == store.OpDelete, before: before[i]}
		piece = appendPath(piece, l)
		piece = l.before.append(piece)
		if !l.deleted {
			piece = binary.BigEndian.AppendUint64(piece, uint64(len(op.Data)))
			l.offset, l.size = int64(earlier+len(piece)), int64(len(op.Data))
			if len(op.Data) < ownPiece {
				piece = append(piece, op.Data...)
			} else {
				pieces = append(pieces, piece, op.Data)
				earlier += len(piece) + len(op.Data)
				piece = nil
			}
		}
		logged = append(logged, l)
	}
	pieces = append(pieces, piece)
	head := pieces[0]
	binary.BigEndian.PutUint64(head[recordHeader-8:], uint64(earlier+len(piece)-recordHeader))
	sum := crc32.Checksum(head[8:], castagnoli())
	for _, p := range pieces[1:] {
		sum = crc32.Update(sum, castagnoli(), p)
	}
	binary.BigEndian.PutUint32(head[4:], sum)
	return pieces, logged
}

// appendPath appends the kind and the path of an operation.
func appendPath(data []byte, op loggedOp) []byte {
	kind := byte(writeKind)
	if op.deleted {
		kind = deleteKind
	}
	data = append(data, kind)
	data = binary.BigEndian.AppendUint32(data, uint32(len(op.path)))
	return append(data, op.path...)
}

// decodeRecord decodes the record at the beginning of data. ok is false if there is no complete
// one. A complete record that cannot be decoded is an error. magic is recordMagic or
// oldRecordMagic.
func decodeRecord(magic string, data []byte) (r record, ok bool, err error) {
	if len(data) < recordHeader || string(data[:4]) != magic {
		return r, false, nil
	}
	length := binary.BigEndian.Uint64(data[recordHeader-8:])
	if length > uint64(len(data)-recordHeader) {
		return r, false, nil
	}
	data = data[:recordHeader+int(length)]
	if binary.BigEndian.Uint32(data[4:]) != crc32.Checksum(data[8:], castagnoli()) {
		return r, false, nil
	}
	r = record{
		salt: binary.BigEndian.Uint64(data[8:]), number: binary.BigEndian.Uint64(data[16:]),
		when: time.Unix(0, int64(binary.BigEndian.Uint64(data[24:]))).UTC(), size: int64(len(data)),
	}
	for at := recordHeader; at < len(data); {
		op, next, err := decodeOp(magic, data, at)
		if err != nil {
			return r, false, err
		}
		r.ops, at = append(r.ops, op), next
	}
	return r, true, nil
}

var errOperation = errors.New("an operation of a record is incomplete")

// decodeOp decodes the operation that begins at an offset, and returns the offset of the next one.
func decodeOp(magic string, data []byte, at int) (op loggedOp, next int, err error) {
	rest := data[at:]
	if len(rest) < 5 || rest[0] != writeKind && rest[0] != deleteKind {
		return op, 0, errOperation
	}
	op.deleted = rest[0] == deleteKind
	length := uint64(binary.BigEndian.Uint32(rest[1:]))
	if rest = rest[5:]; length > uint64(len(rest)) {
		return op, 0, errOperation
	}
	op.path, rest = string(rest[:length]), rest[length:]
	if err := store.ValidPath(op.path); err != nil {
		return op, 0, &store.Error{Op: "apply", Path: op.path, Err: err}
	}
	if magic == recordMagic {
		var ok bool
		if op.before, rest, ok = decodeSum(rest); !ok {
			return op, 0, errOperation
		}
	}
	if op.deleted {
		return op, len(data) - len(rest), nil
	}
	if len(rest) < 8 {
		return op, 0, errOperation
	}
	size := binary.BigEndian.Uint64(rest)
	if rest = rest[8:]; size > uint64(len(rest)) {
		return op, 0, errOperation
	}
	op.offset, op.size = int64(len(data)-len(rest)), int64(size)
	return op, int(op.offset + op.size), nil
}
