package pdf

import (
	"bytes"
	"compress/zlib"
	"io"
	"math"
	"regexp"
	"strconv"
	"sync"

	"evalctl/daemon/convert/budget"
)

const (
	// An object takes several times as much memory as it has bytes. dictionary is the least memory
	// of a map.
	objectByte = 12
	dictionary = 320
	// listed is the memory for a byte of the list of a stream of objects. The list is before the
	// objects.
	listed = 40
)

// listLength finds the length of the list of a stream of objects. If a reference follows, the match
// is something else.
var listLength = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/First\s*(\d+)(\s+\d+\s+R)?`)
})

// objectCost returns an estimate of the memory of parsed objects, in bytes.
func objectCost(text []byte) int64 {
	cost := objectByte*int64(len(text)) + dictionary*int64(bytes.Count(text, []byte("<<")))
	if !bytes.Contains(text, []byte("/")) {
		return cost
	}
	for _, found := range listLength().FindAllSubmatch(unescapeName(text), -1) {
		if found[2] == nil {
			length, err := strconv.ParseInt(string(found[1]), 10, 32)
			if err != nil {
				length = math.MaxInt32
			}
			cost += listed * length
		}
	}
	return cost
}

// source is the file as pdfcpu reads it: it moves to an object or to the content of a stream, and
// reads that in parts. A table may list the same bytes thousands of times, and each time they are
// parsed and kept, so source counts bytes as they are read.
//
// pdfcpu leaves out objects that it cannot read. So the meter keeps the error of a limit.
type source struct {
	file   *bytes.Reader
	data   []byte
	meter  *budget.Meter
	tables map[int64]bool // offsets of tables

	at   int64 // since the last Seek: its offset,
	kind int   // kind of bytes being read,
	text []byte
}

// The kind of bytes read since the last Seek.
const (
	unknown = iota
	other   // the content of a stream, tables, the end of the file
	object  // until its end
	rest    // what follows an object or a content in the same buffer
)

var (
	objectStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*\d+\s+\d+\s+obj`)
	})
	// tableOffset finds where tables are. Where a reference follows, it is something else.
	tableOffset = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:startxref|/Prev|/XRefStm)\s*(\d+)(\s+\d+\s+R)?`)
	})
)

func newSource(m *budget.Meter, data []byte) *source {
	s := &source{file: bytes.NewReader(data), data: data, meter: m, tables: map[int64]bool{}}
	header := int64(max(bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")), 0))
	for _, found := range tableOffset().FindAllSubmatch(data, -1) {
		if offset, err := strconv.ParseInt(string(found[1]), 10, 64); err == nil && found[2] == nil {
			s.tables[offset], s.tables[offset+header] = true, true
		}
	}
	return s
}

func (s *source) Seek(offset int64, whence int) (int64, error) {
	at, err := s.file.Seek(offset, whence)
	s.at, s.kind, s.text = at, unknown, nil
	return at, err
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.file.Read(p)
	if limit := s.count(p[:n]); limit != nil {
		return 0, limit
	}
	return n, err
}

// count counts the memory that the reader of a part will allocate.
func (s *source) count(p []byte) error {
	if s.kind == unknown {
		s.kind = other
		if objectStart().Match(p) {
			s.kind = object
		}
	}
	cost := int64(len(p))
	switch s.kind {
	case object:
		end, stream := len(p), false
		for _, mark := range []string{"endobj", "stream"} {
			if i := bytes.Index(p[:end], []byte(mark)); i >= 0 {
				end, s.kind, stream = i, rest, mark == "stream"
			}
		}
		cost = objectCost(p[:end]) + int64(len(p)-end)/8
		s.text = append(s.text, p[:end]...)
		if stream {
			if err := s.table(); err != nil {
				return err
			}
		}
	case other:
		if i := bytes.Index(p, []byte("endstream")); i >= 0 {
			cost, s.kind = int64(i)+int64(len(p)-i)/8, rest
		}
	}
	// pdfcpu looks through the same bytes for several keywords.
	if err := s.meter.Step(2 * len(p)); err != nil {
		return err
	}
	return s.meter.Hold(cost)
}

var (
	filterName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`/(\w+Decode|Fl|LZW|RL|A85|AHx|CCF|DCT)\b`)
	})
	filterReference = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`/Filter\s*\d`)
	})
)

// table checks a stream that may be a table, because pdfcpu decodes tables without regard to its
// limits. pdfcpu does not decode others.
func (s *source) table() error {
	text := unescapeName(s.text)
	if !s.tables[s.at] && !bytes.Contains(text, []byte("XRef")) {
		return nil
	}
	start := s.at + int64(len(s.text)+len("stream"))
	names := filterName().FindAllSubmatch(text, -1)
	switch {
	case len(names) == 0 && !filterReference().Match(text):
		return nil
	case len(names) != 1 || !bytes.HasPrefix(names[0][1], []byte("Fl")):
		return s.meter.Hold(s.meter.Memory() + 1)
	}
	content := bytes.TrimLeft(s.data[min(start, int64(len(s.data))):], "\r\n ")
	inflated, err := zlib.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil // pdfcpu cannot decode it either
	}
	// The table takes memory for its entries, and for its content, which has grown to twice its
	// size.
	limit := s.meter.Memory() / 8
	n, _ := io.CopyN(io.Discard, s.meter.Reader(inflated), limit+1)
	if n > limit {
		return s.meter.Hold(s.meter.Memory() + 1)
	}
	return s.meter.Err()
}
