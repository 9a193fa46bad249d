package store

import (
	"encoding/hex"
	"strings"
)

// A document's file has the names of the document's path. A name is encoded if the file system
// rejects it, if the file system cannot keep it apart from another one, or if it is one of
// leftovers. The encoded name is encodedMark followed by the bytes of the name. All bytes except
// a-z, 0-9, "-", "_" and "." are written as % and two digits. If the encoded form is longer than
// maxPart, the file is in folders: each part but the last begins with partMark and ends with "+".
// So an encoded name
//
//   - is valid on every file system, in any case and normal form,
//   - can be decoded on any file system, without knowing why it was encoded,
//   - is never the name of a file that is not encoded.
const (
	encodedMark = "%="
	partMark    = "%+"
	maxPart     = 120 // bytes; eCryptfs, which has the shortest names, takes 143
)

// EncodeName returns the encoded form of a name, with slashes if it has several parts.
func EncodeName(name string) string {
	var file, part strings.Builder
	for i := range len(name) {
		piece := name[i : i+1]
		if !isPlain(name[i]) || name[i] == '.' && i == len(name)-1 {
			piece = "%" + hex.EncodeToString([]byte(piece))
		}
		if part.Len()+len(piece) > maxPart-len(partMark)-1 {
			file.WriteString(partMark + part.String() + "+/")
			part.Reset()
		}
		part.WriteString(piece)
	}
	return file.String() + encodedMark + part.String()
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// decodeName is the inverse of EncodeName. It accepts nothing else, so a name has one encoded form.
func decodeName(file string) (name string, ok bool) {
	var text strings.Builder
	for part := range strings.SplitSeq(file, "/") {
		if inner, ok := strings.CutPrefix(part, partMark); ok {
			part = strings.TrimSuffix(inner, "+")
		} else {
			part = strings.TrimPrefix(part, encodedMark)
		}
		text.WriteString(part)
	}
	var decoded []byte
	for rest := text.String(); rest != ""; {
		if rest[0] != '%' {
			decoded, rest = append(decoded, rest[0]), rest[1:]
			continue
		}
		if len(rest) < 3 {
			return "", false
		}
		c, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return "", false
		}
		decoded, rest = append(decoded, c...), rest[3:]
	}
	name = string(decoded)
	return name, EncodeName(name) == file
}

// DecodePath returns the path of the document in a file, encoded or not. ok is false if the file
// cannot be a document's.
func DecodePath(file string) (path string, ok bool) {
	var names []string
	part := ""
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		folder := i < len(segments)-1
		switch {
		case folder && strings.HasPrefix(segment, partMark):
			part += segment + "/"
			continue
		case isMarked(segment):
			if segment, ok = decodeName(part + segment); !ok {
				return "", false
			}
		case part != "", isLeftover(segment, folder):
			return "", false
		}
		names, part = append(names, segment), ""
	}
	path = strings.Join(names, "/")
	return path, part == "" && ValidPath(path) == nil
}

// isMarked reports whether only a file with an encoded name can have this one.
func isMarked(name string) bool {
	return strings.HasPrefix(name, encodedMark) || strings.HasPrefix(name, partMark)
}
